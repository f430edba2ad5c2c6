"""Finding rules by name, and what their parameters may be."""

import subprocess
import sys

import pytest

from losslesscheck import rules
from losslesscheck.errors import InputError
from losslesscheck.rules.standalone import standalone
from tests.rules.laws import law, row

NAMES = [
    "blockwise",
    "chain",
    "specinfer",
    "naive_sampling",
    "target_only",
    "tree_greedy",
    "standalone",
    "chain_kernel",
    "without_replacement",
    "point_mass",
    "block_verification",
]


def test_names() -> None:
    assert rules.names() == NAMES


@pytest.mark.parametrize("name", [*NAMES, *rules.broken()])
def test_every_rule_is_found_and_tells_what_it_is(name: str) -> None:
    rule = rules.get(name)
    assert rule.name == name
    assert rule.text.startswith("@rule(")
    if name in NAMES:
        assert rule.claims_lossless
        assert rule.paper
        assert rule.claim.endswith(".")
        assert rule.conditions
        assert rule.function.__doc__
    assert all(p.description for p in rule.parameters.values())


def test_an_unknown_name_suggests_close_ones() -> None:
    with pytest.raises(InputError, match=r"there is no rule 'specinfr'; did you mean specinfer\?"):
        rules.get("specinfr")
    with pytest.raises(InputError, match="there is no rule 'zzz'; known: blockwise, chain, "):
        rules.get("zzz")


@pytest.mark.parametrize(
    ("name", "parameters", "message"),
    [
        ("target_only", {"threshold_acc": 0}, "threshold_acc: 0 is below 1/1000000000"),
        ("target_only", {"threshold_single": "1.5"}, "threshold_single: 1.5 is above 1"),
        ("standalone", {"threshold_acc": -1}, "threshold_acc: -1 is below 1/1000000000"),
        ("standalone", {"steps": 0}, "steps: 0 is below 1"),
        ("standalone", {"draft_tokens": 1}, "draft_tokens: 1 is below 2"),
        ("blockwise", {"top_k": 0}, "top_k: 0 is below 1"),
        ("blockwise", {"distance": -1}, "distance: -1 is below 0"),
        ("without_replacement", {"exhausted": "no"}, "exhausted: 'no' is not one of uniform, undefined"),
        ("chain", {"gamma": 3}, r"gamma: chain has no such parameter \(it has: none\)"),
    ],
)
def test_bad_parameters(name: str, parameters: dict, message: str) -> None:
    with pytest.raises(InputError, match=message):
        rules.get(name).bind(**parameters)


def test_more_draft_tokens_than_are_proposed() -> None:
    rule = standalone.bind(draft_tokens=5)
    with pytest.raises(InputError, match="steps = 3 and topk = 1 propose only 3 tokens"):
        law(rule, row(".5", ".5"), row(".5", ".5"))


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("target_only", {"threshold_acc": ".9"}),
        ("standalone", {"threshold_single": ".9"}),
        ("blockwise", {"top_k": 2}),
        ("without_replacement", {"exhausted": "undefined"}),
    ],
)
def test_lossy_settings_are_not_claimed_to_be_lossless(name: str, parameters: dict) -> None:
    assert not rules.get(name).bind(**parameters).claims_lossless


def test_the_registry_imports_nothing_heavy() -> None:
    code = (
        "import sys, losslesscheck.rules as rules; rules.broken(); "
        "print([m for m in ('numpy', 'sympy', 'flint', 'z3', 'scipy') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
