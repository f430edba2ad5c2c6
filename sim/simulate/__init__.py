"""Simulation: draft-and-verify steps by throwing coins, until tokens per step are known well enough."""

from losslesscheck.sim.simulate.acceptance import of_acceptance
from losslesscheck.sim.simulate.rule import of_rule, standalone

__all__ = ["of_acceptance", "of_rule", "standalone"]
