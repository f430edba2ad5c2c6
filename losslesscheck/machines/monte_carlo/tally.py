"""Counts of emitted sequences, in memory that does not grow with the number of samples.

What the criterion asks for is how often a context w was emitted and then followed by y. Counts of
that kind are kept for every context as long as they fit, and they determine the law. Where they do
not fit (two tokens of a vocabulary of 32000 make 10⁹ sequences) the contexts that a pilot run reached
most keep counts of their own, and all others are pooled: at the same length, with the same row of
the target. Next tokens that should follow the same row may be added up, whatever their contexts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from losslesscheck.errors import Undecided
from losslesscheck.law import UNDEFINED
from losslesscheck.model import Model

CountArray = npt.NDArray[np.int64]

CELLS = 2**21
"""Default bound on the number of counters."""

SUBSAMPLE = 2**18
"""Codes that are gathered before they are counted."""


@dataclass(frozen=True, slots=True)
class Pool:
    """The contexts of one length after which the target has the same row, without those kept apart."""

    length: int
    row: int


class Plan:
    """Which contexts get counters.

    Args:
        target: gives the row that a context selects.
        pilot: emitted sequences of a pilot run, which is not counted.
        longest: the length of the longest sequence to expect.
        cells: bound on the number of counters, contexts times V.

    Attributes:
        contexts: the contexts with counters of their own, the empty one first.
        pools: the pools, whose counters come after those of the contexts.
        complete: all contexts up to this length have counters of their own.
    """

    def __init__(
        self, target: Model, pilot: Counter[tuple[int, ...]], longest: int, cells: int = CELLS
    ) -> None:
        vocabulary = target.vocabulary
        slots = max(2, cells // vocabulary)
        self.target, self.vocabulary = target, vocabulary
        self.contexts: list[tuple[int, ...]] = [()]
        level: list[tuple[int, ...]] = [()]
        self.complete = 0
        while self.complete + 1 < longest and len(self.contexts) + len(level) * vocabulary <= slots:
            level = [(*context, token) for context in level for token in range(vocabulary)]
            self.contexts += level
            self.complete += 1

        reached: Counter[tuple[int, ...]] = Counter()
        for emitted, count in pilot.items():
            for length in range(self.complete + 1, len(emitted)):
                reached[emitted[:length]] += count
        # A context is found through its prefixes, so the shorter ones come first among equals; one
        # that was reached once tells nothing.
        order = sorted((w for w in reached if reached[w] > 1), key=lambda w: (-reached[w], len(w), w))
        left = slots - len(self.contexts)
        self._keep(order, left // 2)
        pools: Counter[Pool] = Counter()
        for context in set(reached) - set(self.contexts):
            pools[Pool(len(context), int(target.index(context)))] += reached[context]
        ranked = sorted(pools, key=lambda pool: (-pools[pool], pool.length, pool.row))
        self.pools = ranked[: slots - len(self.contexts)]
        self._keep(order, slots - len(self.contexts) - len(self.pools))

        self.slots = len(self.contexts) + len(self.pools)
        number = {context: slot for slot, context in enumerate(self.contexts)}
        self.child = np.full(len(self.contexts) * vocabulary, -1, dtype=np.intp)
        for context, slot in number.items():
            if context:
                self.child[number[context[:-1]] * vocabulary + context[-1]] = slot
        self._pool_slots: dict[int, npt.NDArray[np.intp]] = {}
        for place, pool in enumerate(self.pools):
            table = self._pool_slots.setdefault(pool.length, np.full(target.count, -1, dtype=np.intp))
            table[pool.row] = len(self.contexts) + place

    def _keep(self, order: list[tuple[int, ...]], count: int) -> None:
        """Gives ``count`` more contexts counters of their own, the first in ``order`` that can."""
        known = set(self.contexts)
        for context in order:
            if count > 0 and context not in known and context[:-1] in known:
                self.contexts.append(context)
                known.add(context)
                count -= 1

    def pool(self, context: tuple[Any, ...]) -> Any:
        """The slot of the pool of every lane's context, −1 where there is none."""
        table = self._pool_slots.get(len(context))
        return -1 if table is None else table[self.target.index(context)]


class Tally:
    """The counters of one thread."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.counts = np.zeros(plan.slots * plan.vocabulary, dtype=np.int64)
        self.lengths: Counter[int] = Counter()
        self.skipped = 0
        self._codes: list[Any] = []
        self._waiting = 0
        self._limit = max(SUBSAMPLE, len(self.counts))

    def add(self, outcome: list[Any], lanes: int) -> None:
        """Counts an outcome: for every place one token, or an array of tokens, one a lane."""
        self.lengths[len(outcome)] += lanes
        vocabulary, plan = self.plan.vocabulary, self.plan
        node: Any = 0
        for length, token in enumerate(outcome):
            slot = node
            if length > plan.complete and np.min(node) < 0:
                context = [np.full(lanes, t) if isinstance(t, int) else t for t in outcome[:length]]
                slot = np.where(np.less(node, 0), plan.pool(tuple(context)), node)
            self._count(slot, token, lanes)
            if length + 1 < len(outcome):
                code = (
                    np.maximum(node, 0) * vocabulary + token
                    if length > plan.complete
                    else (node * vocabulary + token)
                )
                child = plan.child[code]
                node = np.where(np.less(node, 0), -1, child) if length > plan.complete else child

    def _count(self, slot: Any, token: Any, lanes: int) -> None:
        code = slot * self.plan.vocabulary + token
        if np.ndim(code) == 0:
            if slot < 0:
                self.skipped += lanes
            else:
                self.counts[code] += lanes
            return
        if np.min(slot) < 0:
            code = code[np.broadcast_to(np.greater_equal(slot, 0), code.shape)]
            self.skipped += lanes - len(code)
        self._codes.append(code)
        self._waiting += len(code)
        if self._waiting >= self._limit:
            self.flush()

    def flush(self) -> None:
        """Brings ``counts`` up to date."""
        for code in self._codes:
            np.add.at(self.counts, code, 1)
        self._codes, self._waiting = [], 0


@dataclass(frozen=True, slots=True)
class Group:
    """The next tokens that were emitted after one context, or after the contexts of one pool.

    Attributes:
        context: the context or the pool.
        length: its number of tokens.
        row: the row of the target that applies.
        counts: how often every token followed, shape [V].
    """

    context: tuple[int, ...] | Pool
    length: int
    row: int
    counts: CountArray


@dataclass(frozen=True)
class Counts:
    """What the sampled steps emitted.

    Attributes:
        samples: how many draft-and-verify steps were run, undefined ones included.
        undefined: how many reached an undefined value.
        lengths: how many steps emitted so many tokens.
        skipped: emitted tokens that no counter was kept for: those after contexts whose row of the
            target the pilot run had not reached.
    """

    plan: Plan
    counts: CountArray
    samples: int
    undefined: int
    lengths: dict[int, int]
    skipped: int

    def groups(self) -> Iterator[Group]:
        """Every context of the plan, then every pool; some may have counted nothing."""
        plan = self.plan
        table = self.counts.reshape(plan.slots, plan.vocabulary)
        for context, counts in zip(plan.contexts, table, strict=False):
            yield Group(context, len(context), int(plan.target.index(context)), counts)
        for pool, counts in zip(plan.pools, table[len(plan.contexts) :], strict=True):
            yield Group(pool, pool.length, pool.row, counts)

    def rows(self) -> Iterator[tuple[tuple[int, ...], CountArray]]:
        """Context w → how often w was emitted and followed by every token, as in ``law.rows``.

        Contexts that were never reached are left out, and so are pooled ones (see ``Plan``), of which
        a small vocabulary has none.
        """
        for group in self.groups():
            if not isinstance(group.context, Pool) and group.counts.any():
                yield group.context, group.counts

    def law(self) -> dict[tuple[Any, ...], int]:
        """Emitted sequence → how often, with ``law.UNDEFINED`` for the undefined steps.

        Raises:
            Undecided: if not every context has counters of its own.
        """
        pooled = int(self.counts[len(self.plan.contexts) * self.plan.vocabulary :].sum())
        if pooled or self.skipped:
            raise Undecided(
                f"counts: {pooled + self.skipped} emitted tokens follow contexts that are too many to "
                f"be counted one by one, so the law of whole sequences was not kept"
            )
        found = dict(self.rows())
        law: dict[tuple[Any, ...], int] = {}
        for context, counts in found.items():
            for token in np.flatnonzero(counts).tolist():
                emitted = (*context, token)
                # Whatever followed w began with w; the rest of the times, w was all.
                ended = int(counts[token]) - int(found[emitted].sum() if emitted in found else 0)
                if ended:
                    law[emitted] = ended
        if self.undefined:
            law[UNDEFINED] = self.undefined
        return law


def gather(emitted: Counter[tuple[int, ...]]) -> Callable[[list[Any], int], None]:
    """An ``emit`` for ``Lanes.run`` that adds single sequences to ``emitted``; for small runs."""

    def emit(outcome: list[Any], lanes: int) -> None:
        columns = [t.tolist() if isinstance(t, np.ndarray) else [t] * lanes for t in outcome]
        emitted.update(zip(*columns, strict=True))

    return emit
