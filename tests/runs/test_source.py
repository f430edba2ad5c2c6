from __future__ import annotations

import pickle
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from losslesscheck import rules
from losslesscheck.errors import InputError
from losslesscheck.instances import sampling_models
from losslesscheck.machines.monte_carlo.sampling import sample, survey
from losslesscheck.rule import load, rule
from losslesscheck.runs import source
from losslesscheck.runs.rule_source import CODE, RuleSource, _prepare, rule_source
from losslesscheck.runs.source import code_hash, describe, differences, digest, shard_seed
from losslesscheck.runs.texts import runs_its_text, text_hash
from losslesscheck.tree import Tree
from tests.runs.sources import Die

TEXT = """
def lenient(m, p, q, accept, reject, *, slack=0.5):
    x = m.draw(q)
    if m.flip(m.min(m.one, p[x] / (q[x] * slack))):
        return accept(x)
    return reject(m.norm(m.relu(p - q)))
"""


def made(
    name: str = "target_only",
    vocabulary: int = 4,
    tree: Tree | None = None,
    models: int = 0,
    seed: int = 0,
    instance: int = 0,
    steps: int | None = 1000,
    **parameters: Any,
) -> RuleSource:
    bound = (rules.resolve(name) if isinstance(name, str) else name).bind(**parameters)
    fitted = bound.fit(tree, vocabulary)
    target, draft = sampling_models(bound, fitted, vocabulary, models)
    return rule_source(
        bound, target, draft, fitted, choice="context", seed=seed, instance=instance, steps=steps
    )


@pytest.fixture
def own_file(tmp_path: Path) -> Iterator[Path]:
    file = tmp_path / "own_rule_of_a_run.py"
    file.write_text(TEXT)
    yield file
    sys.modules.pop(f"losslesscheck_user_{file.stem}", None)


def changed(before: RuleSource, after: RuleSource) -> str:
    one, other = describe(before), describe(after)
    assert digest(one) != digest(other)
    return differences(one, other)


def test_the_hash_is_the_same_wherever_the_source_is_taken() -> None:
    for name in ("chain", "target_only", "block_verification"):
        one, again = made(name), pickle.loads(pickle.dumps(made(name)))
        assert one == again
        assert digest(describe(one)) == digest(describe(again))


@pytest.mark.parametrize(
    ("change", "entries"),
    [
        ({"threshold_acc": 0.9}, {"parameters"}),
        ({"vocabulary": 5}, {"vocabulary", "target", "counters"}),
        ({"tree": Tree.siblings([1, 0])}, {"tree"}),
        ({"models": 1}, {"target"}),
        ({"seed": 1}, {"seed"}),
        ({"instance": 1}, {"instance"}),
        ({"steps": 1001}, {"steps"}),
        ({"name": "tree_greedy"}, {"rule", "text", "greedy", "parameters"}),
    ],
    ids=lambda value: str(*value) if isinstance(value, dict) else "",
)
def test_whatever_matters_changes_the_hash(change: dict[str, Any], entries: set[str]) -> None:
    assert set(changed(made(), made(**change)).split(", ")) >= entries


def test_the_drafts_rows_matter_bit_by_bit() -> None:
    before = made("chain")
    assert before.draft is not None
    content = np.frombuffer(before.draft.content).copy()
    content[np.argmax(content)] = np.nextafter(content.max(), 0)
    after = replace(before, draft=replace(before.draft, content=content.tobytes()))
    assert changed(before, after) == "draft"
    assert changed(before, replace(before, choice="position")) == "counters, rows_by"


def test_the_code_matters(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    before = made()
    (tmp_path / "walk.py").write_text("one")
    monkeypatch.setattr(source, "files", lambda package: tmp_path)
    code_hash.cache_clear()
    one = code_hash(("walk.py",))
    (tmp_path / "walk.py").write_text("two")
    code_hash.cache_clear()
    assert code_hash(("walk.py",)) != one
    code_hash.cache_clear()
    monkeypatch.undo()
    assert describe(before)["code"] == describe(made())["code"] != one


@pytest.mark.parametrize("name", rules.names())
def test_the_code_is_all_that_sampling_runs_through(name: str) -> None:
    """A module that a shard calls into and that ``CODE`` does not name could change unnoticed."""
    used = set()

    def trace(frame: Any, event: str, argument: Any) -> None:
        used.add(frame.f_code.co_filename)

    subject = made(name)
    seed = shard_seed(subject, 0)
    sys.setprofile(trace)
    try:
        subject.shard(seed)
    finally:
        sys.setprofile(None)
    package = Path(source.__file__).parents[1]
    inside = {Path(file).relative_to(package).as_posix() for file in used if file.startswith(str(package))}
    others = {"rules/target_only.py"} if name == "standalone" else set()
    assert inside - set(CODE) == {f"rules/{name}.py"} | others  # which text_hash takes in


def test_shards_have_random_numbers_of_their_own() -> None:
    sources = [made("chain", seed=seed, instance=instance) for seed in (0, 1) for instance in (0, 1)]
    states = {tuple(shard_seed(one, number).generate_state(4)) for one in sources for number in (0, 1, 2)} | {
        tuple(np.random.SeedSequence(s, spawn_key=(i,)).generate_state(4)) for s in (0, 1) for i in (0, 1)
    }
    assert len(states) == 4 * 3 + 4


def test_a_shard_is_what_the_sampling_machine_counts() -> None:
    one = made("chain", steps=3000)
    bound = rules.get("chain")
    tree = bound.fit(None, 4)
    target, draft = sampling_models(bound, tree, 4, 0)
    seed = shard_seed(one, 2)
    counts = sample(bound, target, draft, tree, 3000, np.random.default_rng(seed), plan=one.plan())
    again = one.shard(shard_seed(one, 2))
    assert np.array_equal(counts.counts, again.counts)
    assert counts.lengths == again.lengths
    assert not np.array_equal(again.counts, one.shard(shard_seed(one, 3)).counts)


def test_the_steps_of_a_shard_follow_the_work_of_a_step_not_the_clock() -> None:
    assert made("chain", steps=None).steps == made("chain", steps=None).steps
    longer = made("chain", tree=Tree.chain(8), steps=None)
    wider = made("without_replacement", vocabulary=200, tree=Tree.regular((4,)), steps=None)
    assert made("chain", steps=None).steps > longer.steps > wider.steps
    bound = rules.get("chain")
    tree = bound.fit(None, 4)
    models = sampling_models(bound, tree, 4, 0)
    _, work = survey(bound, *models, tree, np.random.default_rng(0))
    assert 5 < work < 40  # primitives a step: two drafts, each drawn, looked up, divided, flipped


def test_a_rule_of_ones_own_is_found_again_by_its_file(own_file: Path) -> None:
    one = made(f"{own_file}:lenient", slack=1)
    assert one.reference == f"{own_file}:lenient"
    assert pickle.loads(pickle.dumps(one)).shard(shard_seed(one, 0)).samples == 1000
    assert changed(one, made(f"{own_file}:lenient", slack=0.5)) == "parameters"


def test_another_text_is_another_problem_and_the_old_one_is_refused(own_file: Path) -> None:
    before = made(f"{own_file}:lenient")
    own_file.write_text(TEXT.replace("slack=0.5", "slack=0.75"))
    after = made(f"{own_file}:lenient")
    assert "text" in changed(before, after)
    _prepare.cache_clear()  # as in a worker that starts now
    with pytest.raises(InputError, match="has changed since the run began"):
        before.shard(shard_seed(before, 0))
    assert after.shard(shard_seed(after, 0)).samples == 1000


@pytest.mark.parametrize(
    ("imported", "call"), [("from helping import ratio", "ratio"), ("import helping", "helping.ratio")]
)
def test_the_files_that_a_rule_calls_into_are_its_text(
    imported: str, call: str, own_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    helper = own_file.with_name("helping.py")
    helper.write_text("def ratio(m, p, q):\n    return m.min(m.one, p / q)\n")
    monkeypatch.syspath_prepend(str(helper.parent))
    monkeypatch.setitem(sys.modules, "helping", None)  # what is imported meanwhile goes away with the test
    del sys.modules["helping"]
    own_file.write_text(
        f"{imported}\n" + TEXT.replace("m.min(m.one, p[x] / (q[x] * slack))", f"{call}(m, p[x], q[x])")
    )
    held = load(f"{own_file}:lenient")
    before = text_hash(held)
    assert runs_its_text(held)
    helper.write_text(helper.read_text().replace("p / q", "p / p"))
    assert text_hash(held) != before
    assert not runs_its_text(held)


def test_a_text_that_is_not_what_runs_is_refused(own_file: Path) -> None:
    held = load(f"{own_file}:lenient")
    own_file.write_text(TEXT.replace("m.min(m.one, p[x] / (q[x] * slack))", "m.one"))
    with pytest.raises(InputError, match="has changed since it was imported"):
        made(held)  # type: ignore[arg-type]


def test_a_rule_that_no_other_process_could_find_is_refused() -> None:
    @rule
    def hidden(m: Any, p: Any, q: Any, accept: Any, reject: Any) -> Any:
        return accept(m.draw(q))

    with pytest.raises(InputError, match="hidden; put it at the top level of a file"):
        made(hidden)  # type: ignore[arg-type]


def test_a_function_that_its_file_has_twice_is_refused(own_file: Path) -> None:
    own_file.write_text(TEXT + "first = lenient\n" + TEXT.replace("p[x] /", "2 * p[x] /"))
    with pytest.raises(InputError, match="is another function than the rule at hand"):
        made(f"{own_file}:first")


def test_facts_that_the_file_does_not_give_are_refused(own_file: Path) -> None:
    held = replace(load(f"{own_file}:lenient"), greedy=True)
    with pytest.raises(InputError, match="greedy = False, but the rule at hand True"):
        made(held)  # type: ignore[arg-type]


def test_a_source_needs_no_rule() -> None:
    fair: source.Source = Die()
    assert describe(fair)["steps"] == 100
    assert fair.shard(shard_seed(fair, 0)).samples == 100
