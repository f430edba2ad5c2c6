"""Acceptance: models of which draft tokens are accepted, exact figures from p and q, the optimum."""

from losslesscheck.sim.acceptance.base import Acceptance
from losslesscheck.sim.acceptance.correlated import Correlated
from losslesscheck.sim.acceptance.models import ByPosition, BySibling, Constant, Mixed

__all__ = ["Acceptance", "ByPosition", "BySibling", "Constant", "Correlated", "Mixed"]
