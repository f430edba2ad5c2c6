from __future__ import annotations

import json
import socket
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result

from losslesscheck import InputError, Verdict, rules, verify
from losslesscheck.cli import main
from losslesscheck.instances import sampling_models
from losslesscheck.machines.monte_carlo import judge
from losslesscheck.machines.monte_carlo.tally import Counts
from losslesscheck.runs import rule_source
from tests.runs.sources import content, rows

NEEDS_DASK = pytest.mark.skipif(find_spec("distributed") is None, reason="distributed is not installed")

OWN = """
def lenient(m, p, q, accept, reject, *, lenience=0.8):
    x = m.draw(q)
    if m.flip(m.min(m.one, p[x] / (q[x] * lenience))):
        return accept(x)
    return reject(m.norm(m.relu(p - q)))
"""


def sampled(rule: Any, path: Path, samples: int = 40_000, **options: Any) -> Verdict:
    shard = options.pop("shard", 5_000)
    options = {"executor": "serial", "vocabulary": 3} | options
    return verify(rule, only=["monte-carlo"], samples=samples, shard=shard, save=path, **options)


def evidence(verdict: Verdict) -> Any:
    (found,) = (e for e in verdict.evidence if e.tier == "monte-carlo")
    return found


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["verify", *arguments])


def test_a_rule_that_holds(tmp_path: Path) -> None:
    found = evidence(sampled("chain", tmp_path / "runs.jsonl"))
    assert found.result == "holds"
    assert found.data["steps"] == 40_000
    assert found.data["false_alarm"] == pytest.approx(1e-9)
    assert found.data["run"]["rounds"] == found.data["run"]["rounds_planned"] == 2
    assert set(found.data["run"]["problems"]) == {row["hash"] for row in rows(tmp_path / "runs.jsonl")}


def test_the_rung_judges_what_the_machine_judges(tmp_path: Path) -> None:
    """The rows of the file, added up by hand, give the figures of the verdict."""
    data = evidence(sampled("chain", tmp_path / "runs.jsonl")).data
    rule, found = rules.get("chain"), rows(tmp_path / "runs.jsonl")
    results = []
    for instance in range(4):
        target, draft = sampling_models(rule, rule.fit(None, 3), 3, instance)
        source = rule_source(
            rule, target, draft, rule.fit(None, 3), choice="context", seed=0, instance=instance, steps=5000
        )
        mine = [row for row in found if row["problem"]["instance"] == instance]
        counts = np.sum([np.ravel(row["counts"]) for row in mine], axis=0)
        lengths: Counter[int] = Counter()
        for row in mine:
            lengths.update({int(length): steps for length, steps in row["lengths"].items()})
        total = Counts(source.plan(), counts, 10_000, 0, dict(lengths), 0)
        results.append(judge(total, target, False, 1e-9 / 4, 1.0))
    assert data["log_e"] == max(result.log_e for result in results)
    assert data["detectable_tv"] == max(result.detectable_tv for result in results)
    assert data["tokens_per_step"] == np.mean([result.tokens_per_step for result in results])


def test_a_broken_rule_is_refuted_and_the_run_ends_there(tmp_path: Path) -> None:
    verdict = sampled("resample_target", tmp_path / "runs.jsonl", 10**8)
    found = evidence(verdict)
    assert verdict.verdict == "lossy"
    assert verdict.counterexample is not None
    assert f"{found.data['steps']:,} steps" in found.detail
    assert "against the target's law; stopped there, " in found.detail
    assert "of 5000 rounds of shards being enough" in found.detail
    assert found.data["steps"] < 10**6


def test_a_greedy_rule(tmp_path: Path) -> None:
    assert evidence(sampled("tree_greedy", tmp_path / "runs.jsonl")).result == "holds"


def test_real_rows(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    file = tmp_path / "rows.npz"
    target, draft = (rng.dirichlet(np.ones(300), size=(2, n)) for n in (2, 1))
    np.savez(file, target=target, draft=draft, draft_tokens=rng.integers(300, size=(2, 1)))
    options = {"vocabulary": None, "distributions": file}
    found = evidence(sampled("chain", tmp_path / "runs.jsonl", 20_000, **options))
    assert found.result in ("holds", "undecided")
    assert found.data["vocabulary"] == 300
    assert {row["problem"]["instance"] for row in rows(tmp_path / "runs.jsonl")} == {0, 1}
    assert {row["problem"]["rows_by"] for row in rows(tmp_path / "runs.jsonl")} == {"position"}
    again = evidence(sampled("chain", tmp_path / "runs.jsonl", 20_000, **options))
    assert again.detail == found.detail


def test_a_rule_of_ones_own_runs_in_other_processes(tmp_path: Path) -> None:
    file = tmp_path / "own_rule_of_a_long_run.py"
    file.write_text(OWN)
    reference, path = f"{file}:lenient", tmp_path / "runs.jsonl"
    found = sampled(reference, path, executor="processes:2", lenience=1)
    assert evidence(found).result == "holds"
    sampled(reference, tmp_path / "serial", lenience=1)
    assert content(path) == content(tmp_path / "serial")

    file.write_text(OWN.replace("m.norm(m.relu(p - q))", "p"))
    changed = sampled(reference, path, lenience=1)
    assert evidence(changed).result == "fails"
    (note,) = changed.warnings
    assert "4 other problems, which do not count here (the nearest differs in: text)" in note


def test_an_executor_of_ones_own(tmp_path: Path) -> None:
    with ThreadPoolExecutor(2) as threads:
        found = sampled("chain", tmp_path / "runs.jsonl", executor=threads)
    assert evidence(found).data["run"]["workers"] == "ThreadPoolExecutor"
    sampled("chain", tmp_path / "serial")
    assert content(tmp_path / "runs.jsonl") == content(tmp_path / "serial")


def test_a_rule_that_raises_leaves_the_rung_undecided(tmp_path: Path) -> None:
    file = tmp_path / "rule_that_raises_in_a_run.py"
    file.write_text(
        "def odd(m, p, q, accept, reject):\n"
        "    if type(m).__name__ == 'Lanes':\n"
        "        raise ValueError('no lanes')\n"
        "    return accept(m.draw(p))\n"
    )
    found = evidence(sampled(f"{file}:odd", tmp_path / "runs.jsonl"))
    assert found.result == "undecided"
    assert "no lanes" in found.detail


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"save": None, "executor": "serial"}, "executor: needs save"),
        ({"save": None, "executor": None}, "shard: needs save"),
        ({"only": ["exact"]}, "save: the monte-carlo tier"),
        ({"shard": 0}, "shard: 0"),
        ({"executor": "everywhere"}, "executor: 'everywhere'"),
        ({"save": "/nowhere/at/all/runs.jsonl"}, "save: there is no folder /nowhere"),
    ],
)
def test_bad_options_are_refused(tmp_path: Path, options: dict[str, Any], why: str) -> None:
    given = {"only": ["monte-carlo"], "save": tmp_path / "runs.jsonl", "executor": "serial", "shard": 10}
    with pytest.raises(InputError, match=why):
        verify("chain", **(given | options))
    assert list(tmp_path.iterdir()) == []


def test_a_rule_that_no_other_process_finds_is_refused_before_any_work(tmp_path: Path) -> None:
    def hidden(m: Any, p: Any, q: Any, accept: Any, reject: Any) -> Any:
        raise AssertionError("it was run")

    with pytest.raises(InputError, match="cannot find the rule"):
        sampled(hidden, tmp_path / "runs.jsonl")


def closed_port() -> int:
    with socket.socket() as one:
        one.bind(("localhost", 0))
        return int(one.getsockname()[1])


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["--save", "{tmp}/no/runs.jsonl"], "save: there is no folder"),
        (["--save", "{tmp}/letter.txt"], "save: line 1 of"),
        (["--save", "{tmp}/runs.jsonl", "--executor", "sometimes"], "executor: 'sometimes' is none of"),
        pytest.param(
            ["--save", "{tmp}/runs.jsonl", "--executor", "dask://localhost:{port}"],
            "executor: no Dask scheduler",
            marks=NEEDS_DASK,
        ),
        pytest.param(
            ["--save", "{tmp}/runs.jsonl", "--executor", "dask://localhost:99999"],
            "executor: no Dask scheduler",
            marks=NEEDS_DASK,
        ),
        (["--executor", "serial"], "executor: needs save"),
        (["--save", "{tmp}/runs.jsonl", "--shard", "2e9"], "shard: 2000000000 is not"),
        (["--save", "{tmp}/runs.jsonl", "--only", "exact"], "save: the monte-carlo tier"),
    ],
    ids=lambda value: " ".join(value).replace("{tmp}/", "") if isinstance(value, list) else "",
)
def test_bad_input_is_one_line_before_any_work(tmp_path: Path, arguments: list[str], why: str) -> None:
    (tmp_path / "letter.txt").write_text("Dear all,\nnot a run.\n")
    filled = [a.format(tmp=tmp_path, port=closed_port()) for a in arguments]
    result = run("--rule", "chain", *filled)
    assert result.exit_code == 2
    assert result.stdout == ""
    (line,) = result.stderr.splitlines()
    assert line.startswith(f"error: {why}")
    assert [file.name for file in tmp_path.iterdir()] == ["letter.txt"]


def test_json_is_all_there_is_on_standard_output(tmp_path: Path) -> None:
    path = tmp_path / "runs.jsonl"
    result = run(
        *("--rule", "chain", "--only", "monte-carlo", "--vocab", "3", "--samples", "2e4", "--shard", "5e3"),
        *("--save", str(path), "--executor", "serial", "--json"),
    )
    found = json.loads(result.stdout)
    assert found["evidence"][4]["data"]["run"]["workers"] == "serial"
    assert "chain: 4/4 shards" in result.stderr
