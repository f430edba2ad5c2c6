"""What an error in α or c does to the choice of γ, and what that costs."""

from __future__ import annotations

from dataclasses import dataclass

from losslesscheck.sim.cost.checks import figures
from losslesscheck.sim.cost.speedup import speedup
from losslesscheck.sim.tune.draft_length import draft_lengths
from losslesscheck.tree import LONGEST


@dataclass(frozen=True)
class Mistake:
    """α and c turn out to be these, while γ was chosen for others.

    Attributes:
        chosen, best: γ as chosen, and the best for the true α and c.
        speedup, best_speedup: with each of them, under the true α and c.
    """

    alpha: float
    c: float
    chosen: int
    best: int
    speedup: float
    best_speedup: float

    @property
    def loss(self) -> float:
        """The share of the best speedup that is given away, 0 … 1."""
        return 1.0 - self.speedup / self.best_speedup


def sensitivity(
    alpha: float, c: float, *, alpha_error: float, c_error: float, longest: int = LONGEST
) -> tuple[Mistake, ...]:
    """γ is chosen for ``alpha`` and ``c``; the true ones are off by as much as the errors, or not.

    Args:
        alpha_error, c_error: absolute; what leaves [0, 1], or falls below 0, is cut there.

    Returns:
        All combinations of α − x, α, α + x with c − y, c, c + y, in that order, each once.

    Raises:
        InputError: if a number is out of range.

    >>> worst = max(sensitivity(0.8, 0.05, alpha_error=0.1, c_error=0), key=lambda mistake: mistake.loss)
    >>> worst.alpha, worst.chosen, worst.best, round(worst.loss, 3)
    (0.9, 8, 13, 0.064)
    """
    alpha = float(figures("alpha", alpha, least=0.0, most=1.0))
    c = float(figures("c", c, least=0.0))
    x = float(figures("alpha_error", alpha_error, least=0.0))
    y = float(figures("c_error", c_error, least=0.0))
    chosen = int(draft_lengths(alpha, c, longest=longest)[0])
    rows = []
    # Rounding keeps 0.8 − 0.1 from being a number that no reader would write.
    for true_alpha in sorted({round(min(1.0, max(0.0, alpha + sign * x)), 12) for sign in (-1, 0, 1)}):
        for true_c in sorted({round(max(0.0, c + sign * y), 12) for sign in (-1, 0, 1)}):
            lengths, speedups = draft_lengths(true_alpha, true_c, longest=longest)
            tokens = sum(true_alpha**i for i in range(chosen + 1))
            made = float(speedup(tokens, draft_length=chosen, c=true_c))
            rows.append(Mistake(true_alpha, true_c, chosen, int(lengths), made, float(speedups)))
    return tuple(rows)
