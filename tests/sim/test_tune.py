"""Best draft lengths, by batch size, under errors, and as settings of the engines."""

from __future__ import annotations

import itertools
import json
import re
from fractions import Fraction

import numpy as np
import pytest

from losslesscheck.errors import InputError
from losslesscheck.sim.acceptance import Acceptance, ByPosition, BySibling, Constant, Mixed
from losslesscheck.sim.cost import Cost, Draft, Linear, Roofline, Sequential, exact, hardware, transformer
from losslesscheck.sim.tokens.prediction import predict
from losslesscheck.sim.tune import (
    SGLang,
    best_draft_length,
    by_batch_size,
    draft_lengths,
    eagle_values,
    exact_draft_length,
    sensitivity,
    sglang,
    speculative_config,
    vllm,
)
from losslesscheck.tree import Tree

LOADED = Cost(Linear(10.0, per_token=0.05), Sequential(Linear(0.5, per_token=0.005)))


def test_exact_choice_is_the_best_of_all_lengths() -> None:
    for alpha, c in itertools.product(
        (Fraction(n, 7) for n in range(8)), (Fraction(n, 9) for n in range(12))
    ):
        best = exact_draft_length(alpha, c, longest=30)
        speedups = [exact.speedup(alpha, length, c) for length in range(31)]
        assert best.speedup == max(speedups)
        assert best.draft_length == speedups.index(max(speedups))
        assert best.tokens_per_step == exact.tokens(alpha, best.draft_length)
        assert best.limited == (best.draft_length == 30)


def test_floats_agree_with_fractions() -> None:
    alphas, costs = np.linspace(0, 1, 21), np.array([0.003, 0.02, 0.11, 0.4, 1.3])
    lengths, speedups = draft_lengths(alphas[:, None], costs, longest=60)
    assert lengths.shape == (21, 5)
    for row, alpha in enumerate(alphas):
        for column, c in enumerate(costs):
            best = exact_draft_length(Fraction(alpha), Fraction(c), longest=60)
            choice = best_draft_length(Constant(alpha), Cost.relative(c), longest=60)
            assert lengths[row, column] == choice.draft_length == best.draft_length
            assert speedups[row, column] == pytest.approx(float(best.speedup), rel=1e-12)
            assert choice.speedup == pytest.approx(float(best.speedup), rel=1e-12)
            assert choice.limited == best.limited


def test_nothing_is_drafted_where_alpha_does_not_exceed_c() -> None:
    assert exact_draft_length(Fraction(1, 3), Fraction(1, 3)).draft_length == 0
    assert exact_draft_length(Fraction(1, 3), Fraction(1, 4)).draft_length == 1


def test_free_drafting_is_limited_by_the_longest_allowed() -> None:
    choice = best_draft_length(Constant(0.9), Cost.relative(0.0), longest=12)
    assert (choice.draft_length, choice.limited) == (12, True)


@pytest.mark.parametrize(
    "model", [ByPosition((0.9, 0.2, 0.9, 0.9)), Mixed(0.7, 2.0, per="step"), Constant(0.6)], ids=repr
)
def test_choice_is_the_best_prediction(model: Acceptance) -> None:
    """Acceptances that rise again along the chain included: no early stop at the first loss."""
    found = {}
    for length in range(5):
        tokens = predict(model, draft_length=length).tokens_per_step
        found[length] = float(LOADED.speedup(tokens, Draft.chain(length), batch=4, context=9))
    choice = best_draft_length(model, LOADED, longest=4, batch=4, context=9)
    assert choice.draft_length == max(found, key=lambda length: found[length])
    assert choice.speedup == pytest.approx(max(found.values()), rel=1e-12)


def test_by_position_is_tried_as_far_as_it_goes() -> None:
    assert best_draft_length(ByPosition((0.9, 0.9, 0.9)), Cost.relative(0.01)).draft_length == 3


def test_every_batch_size_has_its_own_best_length() -> None:
    rows = by_batch_size(Constant(0.8), LOADED, up_to=200, longest=20)
    assert [row.first for row in rows] == [1] + [row.last + 1 for row in rows[:-1]]
    assert rows[-1].last == 200
    for row in rows:
        speedups = []
        for batch in range(row.first, row.last + 1):
            choice = best_draft_length(Constant(0.8), LOADED, longest=20, batch=batch)
            assert choice.draft_length == row.draft_length
            speedups.append(choice.speedup)
        assert (min(speedups), max(speedups)) == pytest.approx((row.slowest, row.fastest), rel=1e-12)
    lengths = [row.draft_length for row in rows]
    assert lengths == sorted(lengths, reverse=True)
    assert len(lengths) > 3


def test_on_a_loaded_accelerator_it_is_best_not_to_speculate() -> None:
    card = hardware("A100-80GB")
    cost = Cost(
        Roofline(transformer("LLaMA-2-7B"), card), Sequential(Roofline(transformer("LLaMA-68M"), card))
    )
    rows = by_batch_size(Constant(0.6), cost, up_to=1024, longest=8)
    assert rows[0].draft_length == 8
    assert rows[-1].draft_length == 0
    assert rows[-1].fastest == 1.0


def test_sensitivity_has_every_combination_and_no_loss_where_nothing_is_wrong() -> None:
    rows = sensitivity(0.7, 0.1, alpha_error=0.05, c_error=0.02)
    assert [(row.alpha, row.c) for row in rows] == list(
        itertools.product((0.65, 0.7, 0.75), (0.08, 0.1, 0.12))
    )
    for row in rows:
        best = exact_draft_length(Fraction(str(row.alpha)), Fraction(str(row.c)))
        chosen = exact.speedup(Fraction(str(row.alpha)), row.chosen, Fraction(str(row.c)))
        assert row.chosen == 4
        assert row.best == best.draft_length
        assert row.speedup == pytest.approx(float(chosen), rel=1e-12)
        assert row.loss == pytest.approx(float(1 - chosen / best.speedup), abs=1e-12)
    assert next(row for row in rows if (row.alpha, row.c) == (0.7, 0.1)).loss == 0.0


def test_sensitivity_stays_in_range() -> None:
    rows = sensitivity(0.95, 0.01, alpha_error=0.1, c_error=0.05)
    assert sorted({row.alpha for row in rows}) == [0.85, 0.95, 1.0]
    assert sorted({row.c for row in rows}) == [0.0, 0.01, 0.06]


def drafted(model: Acceptance, steps: int, topk: int, draft_tokens: int) -> Tree:
    """SGLang's tree, node by node: topk children of the topk best of every level, then the best of all."""
    nodes: list[tuple[float, tuple[int, ...]]] = []
    frontier = [(1.0, ())]
    for depth in range(steps):
        chances = model.siblings(depth, topk)
        level = [
            (value * float(chances[rank]), (*path, rank)) for value, path in frontier for rank in range(topk)
        ]
        nodes += level
        frontier = sorted(level, key=lambda node: -node[0])[:topk]
    chosen = [path for _, path in sorted(nodes, key=lambda node: -node[0])[: draft_tokens - 1]]
    chosen.sort()
    return Tree.from_parents([chosen.index(path[:-1]) if path[:-1] else -1 for path in chosen])


@pytest.mark.parametrize(
    "model",
    [Constant(0.6), BySibling(((0.5, 0.3, 0.1, 0.05), (0.4, 0.2, 0.2, 0.1))), Mixed(0.6, 5.0)],
    ids=["constant", "by-sibling", "mixed"],
)
@pytest.mark.parametrize(("steps", "topk", "draft_tokens"), [(3, 1, 4), (5, 4, 8), (3, 2, 9), (4, 4, 40)])
def test_sglangs_tree_has_the_tokens_that_it_is_credited_with(
    model: Acceptance, steps: int, topk: int, draft_tokens: int
) -> None:
    values = eagle_values(model, steps=steps, topk=topk)
    assert len(values) == topk + (steps - 1) * topk**2
    tree = drafted(model, steps, topk, draft_tokens)
    assert tree.size == draft_tokens - 1
    expected = predict(model, tree=tree).tokens_per_step
    assert 1 + values[: draft_tokens - 1].sum() == pytest.approx(expected, rel=1e-12)


def test_sglang_settings_are_the_best_of_all() -> None:
    model = Constant(0.65)
    best = sglang(model, LOADED, steps=4, topk=3, draft_tokens=12, batch=2)
    found = []
    for steps, topk, draft_tokens in itertools.product(range(1, 5), range(1, 4), range(2, 13)):
        values = eagle_values(model, steps=steps, topk=topk)
        if draft_tokens - 1 <= len(values) and (topk > 1 or draft_tokens == steps + 1):
            tokens = 1 + float(values[: draft_tokens - 1].sum())
            draft = Draft((1,) + (topk,) * (steps - 1), draft_tokens - 1)
            speedup = float(LOADED.speedup(tokens, draft, batch=2))
            found.append((speedup, (steps, topk, draft_tokens), tokens))
    assert best is not None
    speedup, settings, tokens = max(found)
    assert (best.speedup, best.tokens_per_step) == pytest.approx((speedup, tokens), rel=1e-12)
    assert settings == (
        best.speculative_num_steps,
        best.speculative_eagle_topk,
        best.speculative_num_draft_tokens,
    )


def test_sglang_with_one_branch_drafts_a_chain() -> None:
    best = sglang(Constant(0.8), Cost.relative(0.1), steps=12, topk=1)
    chain = best_draft_length(Constant(0.8), Cost.relative(0.1), longest=12)
    assert best == SGLang(
        chain.draft_length,
        1,
        chain.draft_length + 1,
        pytest.approx(chain.tokens_per_step),
        pytest.approx(chain.speedup),
    )


def test_sglang_tries_no_more_siblings_than_are_known() -> None:
    model = BySibling(((0.5, 0.3, 0.1), (0.5, 0.4)))
    best = sglang(model, Cost.relative(0.01), steps=3, topk=8)
    assert best is not None
    assert best.speculative_eagle_topk <= 2
    with pytest.raises(InputError, match="at depth 1 there are 2 siblings, 3 are asked for"):
        eagle_values(model, steps=2, topk=3)


def test_nothing_is_set_where_nothing_pays() -> None:
    assert sglang(Constant(0.1), Cost.relative(0.9)) is None
    assert vllm(Constant(0.1), Cost.relative(0.9)) is None
    assert vllm(Constant(0.1), Cost.relative(0.9), batches=8) is None


def test_vllm_by_batch_size_is_contiguous_json() -> None:
    settings = vllm(Constant(0.8), LOADED, longest=6, batches=300)
    assert settings is not None
    written = json.loads(speculative_config(settings, method="eagle3", model="some/model"))
    assert written["method"] == "eagle3"
    ranges = written["num_speculative_tokens_per_batch_size"]
    assert written["num_speculative_tokens"] == max(length for _, _, length in ranges) == 6
    assert [first for first, _, _ in ranges] == [1] + [last + 1 for _, last, _ in ranges[:-1]]
    assert ranges[-1][1] == 300
    for first, last, length in ranges:
        for batch in (first, last):
            assert length == best_draft_length(Constant(0.8), LOADED, longest=6, batch=batch).draft_length


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: exact_draft_length(Fraction(5, 4), Fraction(0)), "alpha: 5/4 is outside [0, 1]"),
        (lambda: exact_draft_length(Fraction(1, 2), Fraction(-1, 9)), "c: -1/9 is negative"),
        (lambda: exact_draft_length(Fraction(1, 2), Fraction(0), longest=-1), "longest: -1 is below 0"),
        (lambda: draft_lengths([0.5, 1.5], 0.1), "alpha[1]: 1.5 is above 1"),
        (lambda: draft_lengths(0.5, [0.1, float("nan")]), "c[1]: nan is not finite"),
        (lambda: best_draft_length(0.5, Cost.relative(0.1)), "acceptance: 0.5 is no acceptance model"),  # type: ignore[arg-type]
        (lambda: best_draft_length(ByPosition((0.5,)), Cost.relative(0.1), longest=2), "alphas: 1 are given"),
        (lambda: by_batch_size(Constant(0.5), LOADED, up_to=0), "up_to: 0 is below 1"),
        (lambda: sensitivity(1.5, 0, alpha_error=0, c_error=0), "alpha: 1.5 is above 1"),
        (lambda: sensitivity(0.5, 0, alpha_error=-1, c_error=0), "alpha_error: -1 is below 0"),
        (lambda: sglang(Constant(0.5), LOADED, draft_tokens=1), "draft_tokens: 1 is below 2"),
        (
            lambda: sglang(BySibling(((0.1, 0.5),)), LOADED, topk=2),
            "acceptance: at depth 0 it rises with the rank",
        ),
        (lambda: vllm(Constant(0.5), LOADED, batches=0), "up_to: 0 is below 1"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_bad_input_is_named(call: object, message: str) -> None:
    assert callable(call)
    with pytest.raises(InputError, match=f"^{re.escape(message)}"):
        call()
