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
