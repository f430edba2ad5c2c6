from __future__ import annotations

import os

import pytest

from losslesscheck.errors import NotInstalled
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
def _own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Checks note in the user's cache that they passed: not in the real one."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
