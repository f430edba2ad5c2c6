from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from losslesscheck.errors import NotInstalled
from losslesscheck.proofs.audit import standing
from losslesscheck.proofs.coq import Coq, find


@pytest.fixture(scope="session")
def coq() -> Coq:
    """The Coq of this machine; on a continuous-integration machine it must be there."""
    try:
        return find()
    except NotInstalled as missing:
        if os.environ.get("CI"):
            raise
        pytest.skip(str(missing))


@pytest.fixture(autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Checks note in the user's cache that they passed: not in the real one, nor for other tests."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
    standing.cache_clear()
    yield
    standing.cache_clear()
