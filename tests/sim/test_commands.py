"""The commands simulate, tune and fit, as a user types them."""

from __future__ import annotations

import csv
import json
import math
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from losslesscheck.cli import main
from losslesscheck.tree import Tree


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, arguments)


def as_json(*arguments: str) -> Any:
    result = run(*arguments, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def test_a_chain() -> None:
    found = as_json("simulate", "--alpha", ".8", "--gamma", "4", "--cost", ".05")
    assert found["tokens_per_step"] == pytest.approx(3.3616)
    assert found["speedup"] == pytest.approx(3.3616 / 1.2)
    assert found["operations_factor"] == pytest.approx((4 * 0.05 + 5) / 3.3616)
    assert found["method"] == "closed-form"
    assert found["interval"] is None
    assert found["accepted"] == pytest.approx([0.2, 0.16, 0.128, 0.1024, 0.4096])
    assert found["inputs"]["alpha"] == 0.8


def test_a_vector_says_the_draft_length() -> None:
    found = as_json("simulate", "--alphas", ".75,.69,.67")
    assert found["tokens_per_step"] == pytest.approx(1 + 0.75 + 0.75 * 0.69 + 0.75 * 0.69 * 0.67)
    assert found["draft_length"] == 3
    assert found["inputs"]["alphas"] == [0.75, 0.69, 0.67]


def test_a_tree_of_measured_siblings() -> None:
    found = as_json("simulate", "--siblings", ".6,.3;.5,.2", "--tree", "2,2", "--cost", ".1")
    assert found["tokens_per_step"] == pytest.approx(1 + 0.9 + 0.9 * 0.7)
    assert found["draft_tokens"] == 6
    assert found["speedup"] == pytest.approx(found["tokens_per_step"] / 1.2)
    text = run("simulate", "--siblings", ".6,.3;.5,.2", "--tree", "2,2").stdout
    assert "Supposed" not in text
    assert "Supposed" in run("simulate", "--alpha", ".6", "--tree", "2,2").stdout


def test_heads_draft_in_one_pass() -> None:
    found = as_json(
        "simulate", "--alpha", ".8", "--gamma", "4", "--cost", ".1", "--parallel", "--verify", "1.5"
    )
    assert found["speedup"] == pytest.approx(3.3616 / 1.6)


def test_a_rule_is_followed_exactly() -> None:
    given = ("--rule", "chain", "--target", "1/2,1/4,1/4", "--draft", "1/4,1/2,1/4", "--gamma", "2")
    found = as_json("simulate", *given)
    assert found["tokens_per_step"] == 1 + 3 / 4 + 9 / 16
    assert found["method"] == "exact"
    thrown = as_json("simulate", *given, "--simulate", "--precision", ".02")
    assert thrown["method"] == "simulated"
    low, high = thrown["interval"]
    assert low < 1 + 3 / 4 + 9 / 16 < high


def test_block_verification_accepts_more_than_the_chain() -> None:
    given = ("--target", ".5,.3,.2", "--draft", ".2,.5,.3", "--gamma", "3")
    block, chain = (as_json("simulate", "--rule", rule, *given) for rule in ("block_verification", "chain"))
    assert block["tokens_per_step"] > chain["tokens_per_step"] + 0.1


def test_a_sweep(tmp_path: Path) -> None:
    table, picture = tmp_path / "sweep.csv", tmp_path / "sweep.svg"
    where = ("--csv", str(table), "--plot", str(picture))
    found = as_json("simulate", "--alpha", ".6:.8:.1", "--gamma", "1:5", "--cost", ".05,.1", *where)
    assert len(found["points"]) == 3 * 5 * 2
    rows = list(csv.DictReader(table.read_text().splitlines()))
    assert len(rows) == 30
    for row, point in zip(rows, found["points"], strict=True):
        alpha, gamma, c = float(row["alpha"]), int(row["draft_length"]), float(row["c"])
        tokens = math.fsum(alpha**i for i in range(gamma + 1))
        assert float(row["speedup"]) == pytest.approx(tokens / (gamma * c + 1))
        assert float(row["speedup"]) == point["speedup"]
        assert row["lowest"] == ""
    assert {point["alpha"] for point in found["points"]} == {0.6, 0.7, 0.8}
    svg = picture.read_text()
    assert svg.startswith("<?xml")
    assert "<svg" in svg


def test_a_long_sweep_shows_the_best_ones() -> None:
    text = run("simulate", "--alpha", ".5,.8", "--gamma", "1:30", "--cost", ".05").stdout
    assert text.startswith("The best γ for every α.")
    assert [line.split()[:2] for line in text.splitlines()[3:]] == [["0.5", "3"], ["0.8", "8"]]


@pytest.mark.parametrize(
    "arguments", [("--alpha", ".8", "--gamma", "4"), ("--alpha", ".5:.9:.1", "--gamma", "1:9")]
)
def test_lines_fit_in_80_columns(arguments: tuple[str, ...]) -> None:
    assert max(map(len, run("simulate", *arguments).stdout.splitlines())) <= 80


def test_tuning_a_chain() -> None:
    found = as_json("tune", "--alpha", ".8", "--cost", ".05")
    assert found["draft_length"] == 8
    assert found["speedup"] == pytest.approx(3.0921, abs=5e-5)
    assert found["vllm"] == {"num_speculative_tokens": 8}
    assert found["sglang"]["flags"].split()[1::2] == ["8", "1", "9"]
    assert len(found["sensitivity"]) == 9
    text = run("tune", "--alpha", ".8", "--cost", ".05").stdout
    assert "--speculative-num-draft-tokens 9" in text
    assert '{"num_speculative_tokens": 8}' in text
    assert max(map(len, text.splitlines())) <= 80


def test_tuning_a_tree() -> None:
    found = as_json("tune", "--siblings", ".6,.2,.1", "--cost", ".05", "--budget", "16")
    assert 1 <= found["tree"]["draft_tokens"] <= 16
    assert found["tree"]["speedup"] > found["speedup"]
    assert found["sglang"]["speculative_eagle_topk"] > 1
    assert (
        found["sglang"]["speedup"] <= found["tree"]["speedup"] + 1e-12 or found["tree"]["draft_tokens"] == 16
    )


def test_tuning_by_batch_size() -> None:
    models = ("--target-model", "Llama-3.1-70B", "--draft-model", "Llama-3.2-1B")
    found = as_json(
        "tune",
        "--alpha",
        ".7",
        "--hardware",
        "H100-SXM",
        *models,
        "--tensor-parallel",
        "4",
        "--batches",
        "64",
    )
    rows = found["by_batch"]
    assert (rows[0]["first"], rows[-1]["last"]) == (1, 64)
    lengths = [row["draft_length"] for row in rows]
    assert lengths == sorted(lengths, reverse=True)
    assert found["vllm"]["num_speculative_tokens"] == max(lengths)


def test_nothing_gained() -> None:
    assert run("tune", "--alpha", ".2", "--cost", ".5").stdout.startswith("Don't speculate")
    assert (
        "Slower than plain decoding."
        in run("simulate", "--alpha", ".2", "--gamma", "4", "--cost", ".5").stdout
    )


def test_fitting_what_comes_from_standard_input() -> None:
    arguments = ["fit", "-", "--counted", "tokens", "--json"]
    result = CliRunner().invoke(main, arguments, input="[0, 200, 160, 640]")
    assert json.loads(result.stdout)["accepted"] == [200, 160, 640]


def test_fitting_a_histogram(tmp_path: Path) -> None:
    file = tmp_path / "lengths.json"
    file.write_text("[200, 160, 640]")
    found = as_json("fit", str(file), "--counted", "accepted")
    assert found["tokens_per_step"] == 2.44
    assert found["alpha"]["value"] == 0.8
    assert [a["value"] for a in found["alphas"]] == [0.8, 0.8]
    assert all(a["interval"][0] < 0.8 < a["interval"][1] for a in found["alphas"])
    text = run("fit", str(file), "--counted", "accepted").stdout
    assert "losslesscheck simulate --alphas 0.8000,0.8000" in text


def test_standalone_drafts_its_own_tree() -> None:
    given = ("simulate", "--rule", "standalone", "--target", ".4,.3,.2,.1", "--draft", ".3,.4,.2,.1")
    chain = as_json(*given, "--steps", "5", "--topk", "1", "--draft-tokens", "6")
    assert (chain["draft_length"], chain["draft_tokens"]) == (5, 5)
    tree = as_json(*given, "--topk", "2", "--draft-tokens", "8")
    assert tree["draft_tokens"] == 7
    refused = run(*given, "--gamma", "7")
    assert refused.exit_code == 2
    assert "builds its own token tree" in refused.stderr


def test_operations_count_what_the_drafter_takes_in() -> None:
    siblings = ",".join(["0.125"] * 8)
    found = as_json("simulate", "--siblings", siblings, "--tree", "8", "--cost", ".5")
    assert found["operations_factor"] == pytest.approx((1 * 0.5 + 8 + 1) / 2)


BAD = {
    "a division by zero": ("simulate --alpha 1/0 --gamma 4", "1/0"),
    "an endless exponent": ("simulate --alpha 1e99999999 --gamma 4", "1e99999999"),
    "a tree without siblings": ("tune --beta .8,10 --cost .05 --budget 8", "budget"),
    "a model that does not fit": (
        "tune --alpha .8 --hardware RTX-3090 --target-model Llama-3.1-70B --draft-model Llama-3.2-1B",
        "--tensor-parallel",
    ),
    "alpha out of range": ("simulate --alpha 1.2 --gamma 4", "alpha: 1.2"),
    "no number": ("simulate --alpha x --gamma 4", "'x'"),
    "no draft": ("simulate --alpha .8", "gamma"),
    "chain and tree": ("simulate --alpha .8 --gamma 3 --tree 2,1", "gamma"),
    "two models": ("simulate --alpha .8 --alphas .5,.4", "--alpha and --alphas"),
    "negative cost": ("simulate --alpha .8 --gamma 4 --cost -1", "c[0]: -1"),
    "empty tree": ("simulate --alpha .8 --tree 0", "width 0"),
    "empty range": ("simulate --alpha .9:.5:.1 --gamma 4", "empty"),
    "vector too short": ("simulate --alphas .5,.4 --gamma 3", "position 3"),
    "a rule and a model": ("simulate --rule chain --alpha .8 --gamma 3", "--target"),
    "a rule without rows": ("simulate --rule chain --gamma 3", "--target"),
    "rows that do not sum to one": ("simulate --rule chain --target .5,.5 --draft .5,.6", "draft[0]"),
    "precision without coins": ("simulate --alpha .8 --gamma 3 --precision .1", "--simulate"),
    "unknown option": ("simulate --alpha .8 --gamma 3 --gama 4", "--gama"),
    "a plot of a point": ("simulate --alpha .8 --gamma 3 --plot a.png", "single point"),
    "a plot of another kind": ("simulate --alpha .8 --gamma 1:3 --plot a.bmp", ".bmp"),
    "a plot nowhere": ("simulate --alpha .8 --gamma 1:3 --plot /nowhere/a.png", "/nowhere"),
    "a table nowhere": ("simulate --alpha .8 --gamma 1:3 --csv /nowhere/a.csv", "/nowhere"),
    "no cost": ("tune --alpha .8", "--cost"),
    "two costs": ("tune --alpha .8 --cost .1 --hardware H200", "both"),
    "batch without hardware": ("tune --alpha .8 --cost .1 --batch 8", "--hardware"),
    "unknown hardware": ("tune --alpha .8 --hardware X --target-model a --draft-model b", "H100-SXM"),
    "hardware without models": ("tune --alpha .8 --hardware H200", "target_model"),
    "several alphas": ("tune --alpha .5,.8 --cost .1", "one at a time"),
    "no file": ("fit /nowhere/metrics.txt", "/nowhere"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_gets_one_line(case: str) -> None:
    command, said = BAD[case]
    result = run(*command.split())
    assert result.exit_code == 2
    assert result.stdout == ""
    assert said in result.stderr
    assert "Traceback" not in result.stderr


def test_metrics_with_missing_counters(tmp_path: Path) -> None:
    file = tmp_path / "metrics.txt"
    file.write_text('vllm:spec_decode_num_drafts_total{model_name="m"} 100\n')
    result = run("fit", str(file))
    assert result.exit_code == 2
    assert result.stderr.startswith("error: ")
    assert len(result.stderr.splitlines()) == 1


def test_a_tree_by_parents() -> None:
    found = as_json("simulate", "--siblings", ".5,.25", "--parents", "-1,-1,0")
    assert found["draft_tokens"] == Tree.from_parents([-1, -1, 0]).size
    assert found["tokens_per_step"] == 1 + 0.5 + 0.25 + 0.5 * 0.5
