"""Hypothesis strategies for distributions, models, token trees, coins and whole problems.

They shrink to cases that a person can read, and that print so that they can be copied into a test. A
property test of a rule of one's own (this one is wrong, as its last line draws from p):

>>> from hypothesis import find, given, settings
>>> from losslesscheck.rule import rule
>>> from losslesscheck.search import examine
>>> from losslesscheck.testing.strategies import instances
>>> @rule
... def resample(m, p, q, accept, reject):
...     x = m.draw(q)
...     return accept(x) if m.flip(m.min(m.one, p[x] / q[x])) else reject(p)
>>> @settings(max_examples=500)
... @given(instances(resample))
... def test_lossless(instance):
...     assert examine(resample, instance) is None

It fails, and prints this:

    test_lossless(
        instance=Instance(vocabulary=2,
         tree=Tree.from_parents([-1]),
         target={(): [Fraction(1, 2), Fraction(1, 2)]},
         draft={(): [Fraction(1, 1), Fraction(0, 1)]}),
    )

Or ask for the example itself:

>>> find(instances(resample), lambda instance: examine(resample, instance) is not None).target
{(): [Fraction(1, 2), Fraction(1, 2)]}

With the package installed, ``st.from_type`` knows ``Tree``, ``Model`` and ``Instance``.
"""

from losslesscheck.testing.problem import by_context
from losslesscheck.testing.strategies.distributions import distributions
from losslesscheck.testing.strategies.floats import coins, float_distributions
from losslesscheck.testing.strategies.instances import instances
from losslesscheck.testing.strategies.models import models
from losslesscheck.testing.strategies.pairs import pairs
from losslesscheck.testing.strategies.trees import trees

__all__ = [
    "by_context",
    "coins",
    "distributions",
    "float_distributions",
    "instances",
    "models",
    "pairs",
    "trees",
]
