"""What Hypothesis runs when it is imported, so that ``st.from_type`` knows the types of losslesscheck.

It imports the types, and through them NumPy, but no strategy before one is asked for. (It stands here
since importing ``losslesscheck.testing`` imports much more.)
"""

from __future__ import annotations

from typing import Any

from hypothesis.strategies import SearchStrategy, integers, register_type_strategy

from losslesscheck.instances import Instance
from losslesscheck.model import Model
from losslesscheck.tree import Tree


def register() -> None:
    """Registers strategies for ``Tree``, ``Model`` and ``Instance``."""
    register_type_strategy(Tree, _trees)
    register_type_strategy(Model, _models)
    register_type_strategy(Instance, _instances)


def _trees(kind: type) -> SearchStrategy[Any]:
    from losslesscheck.testing.strategies import trees

    return trees()


def _models(kind: type) -> SearchStrategy[Any]:
    from losslesscheck.testing.strategies import models

    return models(integers(2, 4), depth=3)


def _instances(kind: type) -> SearchStrategy[Any]:
    from losslesscheck.testing.strategies import instances

    # One rule whose drafts are drawn, and one whose draft tokens are fixed.
    return instances("specinfer") | instances("target_only")
