from __future__ import annotations

import faulthandler
import os
import time

import pytest

from losslesscheck.budget import Budget, WorkFailed
from losslesscheck.errors import BudgetExceeded, InputError

SMALL = Budget(seconds=1, memory=128 << 20)


def _raise(error: Exception) -> None:
    raise error


def _abort() -> None:
    faulthandler.disable()
    os.abort()


def test_the_result_comes_back() -> None:
    assert SMALL.run(lambda: {"answer": 42}) == {"answer": 42}


def test_time_is_limited() -> None:
    with pytest.raises(BudgetExceeded, match="time budget of 1 s"):
        SMALL.run(lambda: time.sleep(60))


def test_memory_that_grows_is_limited() -> None:
    with pytest.raises(BudgetExceeded, match=r"memory budget of 0\.125 GiB"):
        Budget(seconds=30, memory=128 << 20).run(lambda: len([bytearray(1 << 20) for _ in range(100_000)]))


def test_memory_asked_for_at_once_is_limited() -> None:
    with pytest.raises(BudgetExceeded, match=r"memory budget of 0\.125 GiB"):
        SMALL.run(lambda: len(bytearray(1 << 36)))


def test_an_aborting_library_is_reported() -> None:
    with pytest.raises(BudgetExceeded, match="signal 6"):
        SMALL.run(_abort)


def test_our_own_errors_come_back_as_they_are() -> None:
    with pytest.raises(InputError, match="row 3 is bad"):
        SMALL.run(lambda: _raise(InputError("row 3 is bad")))


def test_other_errors_come_back_with_their_traceback() -> None:
    with pytest.raises(WorkFailed, match="KeyError: 'x'") as caught:
        SMALL.run(lambda: _raise(KeyError("x")))
    assert "Traceback" in caught.value.details


def test_standard_output_stays_clean(capfd: pytest.CaptureFixture[str]) -> None:
    SMALL.run(lambda: os.write(1, b"noise from a rule"))
    out, err = capfd.readouterr()
    assert out == ""
    assert "noise" in err


def test_progress_is_told() -> None:
    told: list[float] = []
    SMALL.run(lambda: time.sleep(0.3), told.append)
    assert told == sorted(told)
    assert told


def test_a_deep_walk_fits() -> None:
    def down(levels: int) -> int:
        return 0 if levels == 0 else 1 + down(levels - 1)

    assert SMALL.run(lambda: down(10_000)) == 10_000


@pytest.mark.parametrize("seconds", [0.0, -1.0, float("nan"), float("inf")])
def test_a_budget_is_a_positive_number(seconds: float) -> None:
    with pytest.raises(InputError, match=r"seconds: .* is not a positive number"):
        Budget(seconds=seconds)


def test_work_that_prints_for_ever_does_not_fill_the_disk() -> None:
    def chatter() -> None:
        while True:
            os.write(1, b"x" * (1 << 20))

    with pytest.raises(WorkFailed, match="File too large"):
        Budget(seconds=30).run(chatter)
