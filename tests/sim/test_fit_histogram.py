"""Histograms of accepted lengths: what is counted, with the bonus token or without."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from losslesscheck.errors import InputError
from losslesscheck.sim.fit import Histogram, total


def test_both_conventions_mean_the_same() -> None:
    accepted = Histogram.of([20, 30, 50], counted="accepted")
    tokens = Histogram.of([0, 20, 30, 50], counted="tokens")
    mapping = Histogram.of({1: 20, 3: 50, 2: 30}, counted="tokens", draft_length=2)
    assert accepted == tokens == mapping
    assert accepted.counts(counted="accepted") == [20, 30, 50]
    assert accepted.counts(counted="tokens") == [0, 20, 30, 50]
    for counted in ("accepted", "tokens"):
        assert Histogram.of(accepted.counts(counted=counted), counted=counted) == accepted


def test_figures() -> None:
    histogram = Histogram((20, 30, 50))
    assert histogram.draft_length == 2
    assert histogram.steps == 100
    assert histogram.mean_accepted == pytest.approx(1.3)
    assert histogram.tokens_per_step == pytest.approx(2.3)
    assert histogram.tried == (100, 80)
    assert histogram.passed == (80, 50)
    assert histogram.lengths.tolist() == [0.2, 0.3, 0.5]


def test_a_cut_list_is_filled_up() -> None:
    assert Histogram.of([5, 5], counted="accepted", draft_length=4).accepted == (5, 5, 0, 0, 0)
    assert Histogram.of(np.array([5, 5]), counted="accepted").draft_length == 1


def test_total() -> None:
    first, second = Histogram((1, 2), ("a",)), Histogram((3, 4), ("a", "b"))
    assert total([first, second]).accepted == (4, 6)
    assert total([first, second]).notes == ("a", "b")


@pytest.mark.parametrize(
    ("counts", "options", "message"),
    [
        ([1, 2, 3], {"counted": "tokens"}, r"counts\[0\] = 1: no step has 0 tokens .* counted='accepted'"),
        (
            [1, 2, 3, 4],
            {"counted": "accepted", "draft_length": 2},
            r"counts\[3\] = 4: .* above 2; if the bonus token is counted, say counted='tokens'",
        ),
        ([0, 1, 2, 3, 4], {"counted": "tokens", "draft_length": 2}, r"counts\[4\] = 4: .* above 3$"),
        ({1: 5}, {"counted": "accepted"}, "draft_length: needed"),
        ([1, 2], {"counted": "both"}, "counted: 'both'"),
        ([1.5, 2], {"counted": "accepted"}, r"counts\[0\] = 1.5 is not a whole"),
        ([float("nan"), 2], {"counted": "accepted"}, r"counts\[0\] = nan is not"),
        ([1, float("inf")], {"counted": "accepted"}, r"counts\[1\] = inf is not"),
        ([1, -2], {"counted": "accepted"}, r"counts\[1\] = -2 is not"),
        ([1, None], {"counted": "accepted"}, r"counts\[1\] = None is not"),
        ([1, True], {"counted": "accepted"}, r"counts\[1\] = True is not"),
        ({-1: 3}, {"counted": "accepted", "draft_length": 2}, "length: -1"),
        ([0, 0], {"counted": "accepted"}, "no step was counted"),
        ([3], {"counted": "accepted"}, "1 entries are too few"),
        ([0, 3], {"counted": "tokens"}, "2 entries are too few"),
        ([], {"counted": "accepted"}, "0 entries are too few"),
        ([3], {"counted": "accepted", "draft_length": 0}, "draft_length: 0"),
        ("123", {"counted": "accepted"}, "counts: '123'"),
    ],
    ids=str,
)
def test_bad_input(counts: Any, options: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Histogram.of(counts, **options)


def test_bad_total() -> None:
    with pytest.raises(InputError, match="there is none"):
        total([])
    with pytest.raises(InputError, match=r"histograms\[1\]: draft length 2"):
        total([Histogram((1, 2)), Histogram((1, 2, 3))])
