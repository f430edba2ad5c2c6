"""A first run of a rule, along single paths, to see that it runs at all."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

from losslesscheck import instances
from losslesscheck.budget import Budget, WorkFailed
from losslesscheck.errors import BudgetExceeded, LosslesscheckError, RuleError, Undefined, raised
from losslesscheck.machines.exact import Exact, vectors
from losslesscheck.machines.vocabulary import Outcome
from losslesscheck.rule import Rule
from losslesscheck.tree import Tree

PATHS = 24
SECONDS = 5.0


class _OnePath(Exact):
    """Follows one random path instead of all of them."""

    def __init__(self, vocabulary: int, rng: random.Random) -> None:
        super().__init__(vocabulary)
        self.rng = rng

    def choose(self, options: Sequence[tuple[Any, Any]]) -> Any:
        weights = [float(int(w.p) / int(w.q)) for _, w in options]
        return self.rng.choices([value for value, _ in options], weights)[0]

    def call(self, state: tuple[Any, ...], continuation: Callable[[], Outcome]) -> Any:
        return continuation()


def run_once(rule: Rule, tree: Tree, vocabulary: int, seed: int) -> Outcome:
    """What one random path on one random instance emits; ``None`` where it is undefined.

    Raises:
        RuleError: if the rule misbehaves.
    """
    target, draft = instances.arbitrary(rule, tree, vocabulary, seed).models()
    m = _OnePath(vocabulary, random.Random(seed))
    p = vectors(target)
    q = p if draft is None else vectors(draft)
    try:
        result = rule.run(m, p, q, tree)
    except (Undefined, ZeroDivisionError):
        return None
    except LosslesscheckError:
        raise
    except Exception as error:
        raise raised(error) from error
    m.check_outcome(result)
    return result


def trial(rule: Rule, tree: Tree, vocabulary: int) -> None:
    """Runs the rule along a few random paths before any work is done on it.

    Fixed tokens are renumbered 0, 1, …, and the vocabulary is at least as large as they need.

    Raises:
        RuleError: naming the rule, if it raises, returns what is no tuple of tokens, draws from
            what is no distribution, is not a function of its draws, or does not come to an end.
    """
    number = {token: rank for rank, token in enumerate(sorted(tree.tokens))}
    tree = _renumbered(tree, number)
    vocabulary = max(vocabulary, len(number))

    count = max(2, min(PATHS, instances.LARGEST_TABLE // (4 * vocabulary)))  # fewer of the long ones

    def paths() -> None:
        for seed in range(count):
            first, again = (run_once(rule, tree, vocabulary, seed) for _ in range(2))
            if first != again:
                raise RuleError(
                    f"the same draws gave {first} and then {again}; a rule must take all its randomness "
                    "from the machine and keep nothing between runs"
                )

    try:
        Budget(seconds=SECONDS).run(paths)
    except BudgetExceeded as error:
        raise RuleError(
            f"rule {rule.name}: {count} draft-and-verify steps over {vocabulary} tokens did not end: {error}"
        ) from None
    except (RuleError, WorkFailed) as error:
        raise RuleError(f"rule {rule.name}: {error}") from error


def _renumbered(tree: Tree, number: dict[int, int]) -> Tree:
    token = None if tree.token is None else number[tree.token]
    return Tree(tuple(_renumbered(child, number) for child in tree.children), token)
