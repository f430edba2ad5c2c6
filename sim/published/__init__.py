"""The published tables as data, and what the simulator says of each of their figures."""

from losslesscheck.sim.published import blockwise, chen, leviathan, sequoia, serving, spec_bench, specinfer
from losslesscheck.sim.published.comparison import Comparison, Verdict
from losslesscheck.sim.published.tables import Published, load, names

__all__ = [
    "Comparison",
    "Published",
    "Verdict",
    "blockwise",
    "chen",
    "leviathan",
    "load",
    "names",
    "sequoia",
    "serving",
    "spec_bench",
    "specinfer",
]
