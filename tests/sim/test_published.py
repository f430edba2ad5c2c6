"""The simulator against every published table."""

from __future__ import annotations

import json
from fractions import Fraction
from importlib import resources
from pathlib import Path

import pytest

from losslesscheck.errors import InputError
from losslesscheck.sim.acceptance import Constant
from losslesscheck.sim.published import (
    Comparison,
    blockwise,
    chen,
    leviathan,
    load,
    names,
    sequoia,
    serving,
    spec_bench,
    specinfer,
)
from losslesscheck.sim.published.comparison import compare, rounding, rounds_to
from losslesscheck.sim.published.invert import alpha_of
from losslesscheck.sim.tokens.prediction import predict
from reports import published as report


def verdicts(rows: tuple[Comparison, ...], what: str | None = None) -> list[str]:
    return [row.verdict for row in rows if what in (None, row.what)]


def figures(rows: tuple[Comparison, ...], what: str) -> list[float]:
    return [float(row.computed) for row in rows if row.what.startswith(what)]


@pytest.mark.parametrize("name", names())
def test_every_table_has_rows_and_a_source(name: str) -> None:
    table = load(name)
    assert table.source
    assert table.rows
    assert {"source", "arxiv", "table", "note", "rows"} == set(
        json.loads((resources.files("losslesscheck.sim.published") / "data" / f"{name}.json").read_text())
    )


def test_every_table_is_in_the_report() -> None:
    assert {name for section in report.SECTIONS for name in section.tables} == set(names())


def test_the_report_is_the_one_that_is_kept() -> None:
    assert Path(report.FILE).read_text(encoding="utf-8") == report.render()


def test_leviathans_table_1_to_the_printed_digits() -> None:
    assert verdicts(leviathan.operations()) == ["follows"] * 12


def test_leviathans_predicted_speedups() -> None:
    rows = leviathan.speedups()
    assert sorted(verdicts(rows, "Exp")) == ["follows"] * 9 + ["within rounding"] * 3
    assert [row.row for row in rows if (row.what, row.verdict) == ("Exp", "within rounding")] == [
        "EnDe base, T = 1",
        "EnDe large, T = 1",
        "CNNDM large, T = 1",
    ]


def test_four_measured_speedups_imply_a_negative_cost() -> None:
    impossible = ("EnDe small, T = 1", "CNNDM small, T = 0", "CNNDM small, T = 1", "CNNDM base, T = 1")
    assert leviathan.impossible() == impossible
    measured = {row.row: row.verdict for row in leviathan.speedups() if row.what == "Emp"}
    # With α up to .625 the first could have c = .003; no rounding rescues the others.
    assert [measured[row] for row in impossible] == ["within rounding"] + ["does not follow"] * 3
    assert sum(verdict == "derived" for verdict in measured.values()) == 8


def test_leviathans_acceptances_agree_between_the_tables() -> None:
    assert verdicts(leviathan.acceptance()) == ["follows"] * 16


def test_lenience_follows_at_temperature_0_and_not_at_1() -> None:
    rows = {(row.row, row.printed): row for row in leviathan.lenience()}
    assert rows["T = 0, l = 1", "3.3"].verdict == "follows"
    assert [rows[f"T = 1, l = {lenience}", claim].verdict for lenience, claim in CLAIMS] == [
        "does not follow"
    ] * 4
    assert [rows[f"T = 1, l = {lenience}", claim].computed for lenience, claim in CLAIMS] == [
        "2.33",
        "2.94",
        "3.45",
        "4.79",
    ]
    # As printed, without a decimal, the last one does.
    assert rows["T = 1, l = 0.1", "5"].verdict == "follows"
    needed = [row.computed for row in leviathan.lenience() if row.verdict == "derived"]
    assert needed == ["0.745 to 0.755", "0.799 to 0.807", "0.867 to 0.872"]


CLAIMS = (("1", "2.5"), ("0.5", "3.1"), ("0.3", "3.6"), ("0.1", "5.0"))


def test_the_best_draft_lengths_to_the_printed_digits() -> None:
    assert verdicts(leviathan.optimal_draft_lengths()) == ["follows"] * 48


def test_no_single_alpha_explains_blockwise_decoding() -> None:
    assert verdicts(blockwise.one_alpha()) == ["does not follow"] * 16
    both = [float(row.computed) for row in blockwise.block_sizes() if row.row.startswith("both, k")]
    assert both == [0.88, 0.867, 0.853, 0.839, 0.829]
    for setting in ("regular", "distillation", "fine-tuning", "both, top-2", "both, top-3"):
        alphas = [
            float(row.computed) for row in blockwise.block_sizes() if row.row.startswith(f"{setting}, k")
        ]
        assert alphas == sorted(alphas, reverse=True)


def test_the_iterations_of_blockwise_decoding_grow() -> None:
    assert figures(blockwise.wall_clock(), "iteration") == [1.093, 1.216, 1.348, 1.417, 1.628]


def test_chens_tokens_and_acceptances_from_the_times() -> None:
    rows = chen.times()
    assert figures(rows, "tokens per loop") == [2.832, 3.043, 3.717]
    assert figures(rows, "α") == [0.711, 0.749, 0.851]
    assert verdicts(rows, "speedup") == ["does not follow", "follows", "follows"]


def test_depth_decides_what_chens_draft_costs() -> None:
    target, draft, deep = figures(chen.wide_and_shallow(), "ms")
    assert 0.05 < target < draft < 0.2
    assert deep > 2 * 1.8


def test_specinfers_width_1_does_not_follow_from_its_top_1() -> None:
    rows = specinfer.width_one()
    assert verdicts(rows) == ["does not follow"] * 10
    assert all(float(row.computed) > float(row.printed) for row in rows)
    stochastic = [row for row in rows if row.row.startswith("stochastic")]
    assert all(2.0 < float(row.computed) < 2.4 for row in stochastic)


def test_specinfers_table_3_repeats_table_2() -> None:
    rows = specinfer.sampling()
    assert verdicts(rows, "MSS") == ["follows"] * 5
    assert all(1.26 <= ratio <= 1.28 for ratio in figures(rows, "MSS over naive"))


def test_sequoias_steps_leave_room_for_verifying() -> None:
    rows = sequoia.step_times()
    assert figures(rows, "t(128)") == [1.051]
    assert all(9 < depth < 12 for depth in figures(rows, "greatest depth"))


def test_acceptance_by_depth_needs_a_vector() -> None:
    one, linear, through = sequoia.by_depth()
    assert (one.verdict, linear.verdict) == ("follows", "follows")
    assert float(through.computed) < float(linear.computed) < float(one.computed)


def test_no_step_of_spec_bench_is_shorter_than_a_decoding_step() -> None:
    steps = figures(spec_bench.steps(), "step")
    assert len(steps) == 41
    assert all(1.0 < step < 2.0 for step in steps)


def test_peak_rates_do_not_tell_the_cards_apart_at_64_tokens_but_at_128() -> None:
    small_3090, large_3090, small_a100, large_a100 = figures(spec_bench.verifying_trees(), "t(")
    assert small_3090 == pytest.approx(small_a100, abs=0.001)
    assert large_3090 > 1.5 > 1.01 > large_a100


def test_eagles_ratio_rises_again_where_no_linear_cost_can() -> None:
    rows = serving.eagle_by_batch()
    assert [row.row for row in rows if row.verdict == "does not follow"] == [
        "EAGLE, batch 56",
        "EAGLE-3, batch 48",
        "EAGLE-3, batch 64",
    ]
    assert verdicts(rows).count("within rounding") == 2


def test_sglang_stays_below_the_roofline() -> None:
    assert verdicts(serving.sglang_documented()) == ["follows"] * 2
    rows = serving.sglang()
    for row, entry in zip(
        [row for row in rows if row.what.startswith("most")], load("sglang_throughput").rows, strict=True
    ):
        assert float(entry["alone"]) < float(row.computed)
    (step,) = figures(rows, "step")
    (least,) = figures(serving.standalone_bound(), "least")
    assert least < step


def test_best_lengths_fall_with_the_batch_as_measured() -> None:
    lengths = figures(serving.lengths_by_batch(), "best γ")
    assert lengths == sorted(lengths, reverse=True)
    assert lengths[0] >= 6
    assert lengths[-1] <= 2


def test_rounding_and_verdicts() -> None:
    assert rounding("0.80") == (Fraction("0.795"), Fraction("0.805"))
    assert rounding("5") == (Fraction("4.5"), Fraction("5.5"))
    assert rounds_to(Fraction("1.25"), "1.2")
    assert rounds_to(Fraction("1.25"), "1.3")
    assert not rounds_to(Fraction("1.251"), "1.2")

    def twice(x: Fraction) -> Fraction:
        return 2 * x

    assert compare("", "", "1.0", twice, "0.5", arithmetic="").verdict == "follows"
    assert compare("", "", "1.1", twice, "0.5", arithmetic="").verdict == "within rounding"
    assert compare("", "", "1.3", twice, "0.5", arithmetic="").verdict == "does not follow"
    assert compare("", "", "1.2", lambda: Fraction(1), arithmetic="").verdict == "does not follow"


def test_alpha_is_inverted() -> None:
    for alpha in (0.0, 0.3, 0.99, 1.0):
        tokens = predict(Constant(alpha), draft_length=6).tokens_per_step
        assert alpha_of(tokens, 6) == pytest.approx(alpha, abs=1e-9)
    assert alpha_of(7.5, 6) != alpha_of(7.5, 6)


def test_an_unknown_table_is_named_with_those_that_there_are() -> None:
    with pytest.raises(InputError, match=r"table: 'x' is unknown; known are acceptance_by_depth, "):
        load("x")
