"""Every faulty implementation of a greedy rule fails."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from losslesscheck.testing import assert_lossless, cases
from tests.testing.faulty_greedy import FAULTS, IN_TREES, Verifier


@pytest.fixture(autouse=True, scope="module")
def _problems() -> Any:
    """The problems are made once."""
    made: dict[Any, Any] = {}
    make = cases.problem

    def problem(rule: Any, kind: str, **facts: Any) -> Any:
        key = rule.name, kind, *facts.values()
        if key not in made:
            made[key] = make(rule, kind, **facts)
        return made[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cases, "problem", problem)
        yield


@pytest.mark.parametrize("vocabulary", [3, 8, 33])
@pytest.mark.parametrize("rule", ["tree_greedy", "blockwise"])
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
def test_faulty_implementations_fail(fault: Callable[[], Verifier], rule: str, vocabulary: int) -> None:
    if rule == "blockwise" and fault in IN_TREES:
        pytest.skip("right on a chain")
    with pytest.raises(AssertionError) as caught:
        assert_lossless(fault(), rule, vocabulary=vocabulary)
    lines = str(caught.value).splitlines()
    assert fault().__qualname__ in lines[0]
    assert "No chance is involved: " in lines[-1]
    assert max(map(len, lines)) <= 80
    assert all(line == line.rstrip() for line in lines)
