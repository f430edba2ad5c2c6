"""When a simulation stops, and why its interval holds although it chose when to stop.

The looks are fixed in advance: after N₁, 2 N₁, 4 N₁, … units, the last after as many as are allowed. Each of
the K looks has an interval of its own at level 1 − δ/K, from the empirical Bernstein bound (Maurer & Pontil
2009, Theorem 4): for n independent values in a range of width R with sample variance V, the mean is off by at
most √(2 V L / n) + 7 R L / (3 (n − 1)), L = log(2/δ'), with probability at least 1 − δ' on either side. It
holds for every n and every law, nothing is asymptotic. With probability at least 1 − δ all K intervals hold
at once, hence also the one at which the simulation stops, however it was chosen.

The values must be independent and identically distributed. They are steps where the steps are, and means over
whole sequences where the steps of a sequence depend on one another.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from threading import Event

import numpy as np

from losslesscheck.errors import InputError
from losslesscheck.machines.monte_carlo.sampling import cores
from losslesscheck.sim.acceptance.base import FloatArray, IntArray, check_count, finite
from losslesscheck.sim.tokens.prediction import Prediction
from losslesscheck.statistics.arguments import check_open_unit

FIRST_LOOK = 2**14
"""Steps before the first look."""

BETWEEN_LOOKS = 2
"""The factor by which the number of steps grows from look to look."""


@dataclass(frozen=True)
class Source:
    """What is simulated.

    Attributes:
        draw: ``draw(units, rng)`` runs so many independent units. It gives how many of all their steps
            accepted 0, 1, … ``depth`` draft tokens, and Σ (mean accepted draft tokens of the unit)².
        depth: the most draft tokens that a step can accept.
        unit: steps of a unit.
        batch: units that are drawn in one call, which bounds the memory.
        streams: of random numbers, over which the units between two looks are shared out, whatever threads
            there are.
    """

    draw: Callable[[int, np.random.Generator], tuple[IntArray, float]]
    depth: int
    unit: int = 1
    batch: int = 2**20
    streams: int = 16


def simulate(
    source: Source,
    *,
    precision: float,
    confidence: float,
    most_steps: int,
    seed: int,
    threads: int | None = None,
) -> Prediction:
    """Runs a source until the interval's half width is at most ``precision``, or ``most_steps`` are run.

    The result depends on the seed and on the sizes, not on the number of threads.

    Args:
        precision: in tokens per step. If ``most_steps`` come first the interval is wider, and just as valid.
        confidence: the probability with which the interval covers the expected tokens per step, at least.
        threads: by default as many as there are cores to run on.

    Raises:
        InputError: for a precision that is not positive, a confidence outside (0, 1), a negative seed, less
            than one thread, or too few steps for two units.
    """
    if finite("precision", precision) <= 0:
        raise InputError(f"precision: {precision} is not positive")
    check_open_unit(confidence=confidence)
    check_count("most_steps", most_steps, least=2 * source.unit)
    check_count("seed", seed)
    workers = cores() if threads is None else threads
    check_count("threads", workers, least=1)

    looks = schedule(most_steps // source.unit, max(2, FIRST_LOOK // source.unit))
    share = (1 - confidence) / len(looks)
    seeds = np.random.SeedSequence(seed)
    lengths, squares, units = np.zeros(source.depth + 1, dtype=np.int64), 0.0, 0
    interval = (1.0, source.depth + 1.0)
    cancelled = Event()
    with ThreadPoolExecutor(workers) as pool:
        try:
            for look in looks:
                count = source.streams
                sizes = [(look - units + place) // count for place in range(count)]
                streams = [np.random.Generator(np.random.SFC64(s)) for s in seeds.spawn(count)]
                runs = pool.map(lambda n, rng: _run(source, n, rng, cancelled), sizes, streams)
                for counts, square in runs:
                    lengths += counts
                    squares += square
                units = look
                interval = _interval(lengths, squares, units, share)
                if interval[1] - interval[0] <= 2 * precision:
                    break
        finally:
            cancelled.set()
    steps = units * source.unit
    law: FloatArray = lengths / steps
    return Prediction(
        tokens_per_step=1.0 + _mean(lengths),
        method="simulated",
        lengths=law,
        interval=interval,
        confidence=confidence,
        steps=steps,
    )


def schedule(most: int, first: int) -> list[int]:
    """After how many units one looks: first, 2 · first, 4 · first, …, most.

    >>> schedule(100, 16)
    [16, 32, 64, 100]
    """
    looks = []
    while first < most:
        looks.append(first)
        first *= BETWEEN_LOOKS
    return [*looks, most]


def bernstein(variance: float, samples: int, width: float, delta: float) -> float:
    """How far the mean of independent values may be from their expectation, on either side together with
    probability at most ``delta`` (Maurer & Pontil 2009, Theorem 4, with half of it for each side).

    Args:
        variance: the sample variance, with divisor ``samples`` − 1.
        samples: at least 2.
        width: of the range in which the values lie.
    """
    log = math.log(4 / delta)
    return math.sqrt(2 * variance * log / samples) + 7 * width * log / (3 * (samples - 1))


def _interval(lengths: IntArray, squares: float, units: int, delta: float) -> tuple[float, float]:
    depth = len(lengths) - 1
    mean = _mean(lengths)
    variance = max(0.0, (squares - units * mean * mean) / (units - 1))
    half = bernstein(variance, units, depth, delta)
    return 1 + max(0.0, mean - half), 1 + min(float(depth), mean + half)


def _mean(lengths: IntArray) -> float:
    """Accepted draft tokens of a step, on average: all units have equally many steps."""
    return float(lengths @ np.arange(len(lengths)) / lengths.sum())


def _run(source: Source, units: int, rng: np.random.Generator, cancelled: Event) -> tuple[IntArray, float]:
    lengths, squares = np.zeros(source.depth + 1, dtype=np.int64), 0.0
    for start in range(0, units, source.batch):
        if cancelled.is_set():
            break
        counts, square = source.draw(min(source.batch, units - start), rng)
        lengths += counts
        squares += square
    return lengths, squares
