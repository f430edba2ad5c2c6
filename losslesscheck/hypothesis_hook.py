"""What Hypothesis runs when it is imported, so that ``st.from_type`` knows the types of losslesscheck.

It imports the types, and through them NumPy, but no strategy before one is asked for. (It stands here
since importing ``losslesscheck.testing`` imports much more.)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from losslesscheck.instances import Instance
from losslesscheck.model import Model
from losslesscheck.tree import Tree

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy


def register() -> None:
    """Registers strategies for ``Tree``, ``Model`` and ``Instance``."""
    # Imported here: whoever imports this module first would have Hypothesis ask for it half made.
    from hypothesis.strategies import register_type_strategy

    register_type_strategy(Tree, _trees)
    register_type_strategy(Model, _models)
    register_type_strategy(Instance, _instances)


def _trees(kind: type) -> SearchStrategy[Any]:
    from losslesscheck.testing.strategies import trees

    return trees()


def _models(kind: type) -> SearchStrategy[Any]:
    from hypothesis.strategies import integers

    from losslesscheck.testing.strategies import models

    return models(integers(2, 4), depth=3)


def _instances(kind: type) -> SearchStrategy[Any]:
    from losslesscheck.testing.strategies import instances

    # One rule whose drafts are drawn, and one whose draft tokens are fixed.
    return instances("specinfer") | instances("target_only")
