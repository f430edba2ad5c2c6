"""The rules that losslesscheck knows, one file each, and the broken patterns, all in one.

``rules.chain`` is the rule itself; the module it stands in is hidden behind it.
"""

from __future__ import annotations

from collections.abc import Callable
from difflib import get_close_matches
from typing import Any

from losslesscheck.errors import InputError
from losslesscheck.rule import Rule, load, rule
from losslesscheck.rules.block_verification import block_verification
from losslesscheck.rules.blockwise import blockwise
from losslesscheck.rules.broken import PATTERNS
from losslesscheck.rules.chain import chain
from losslesscheck.rules.chain_kernel import chain_kernel
from losslesscheck.rules.naive_sampling import naive_sampling
from losslesscheck.rules.point_mass import point_mass
from losslesscheck.rules.specinfer import specinfer
from losslesscheck.rules.standalone import standalone
from losslesscheck.rules.target_only import target_only
from losslesscheck.rules.tree_greedy import tree_greedy
from losslesscheck.rules.without_replacement import without_replacement

_RULES = {
    rule.name: rule
    for rule in (
        blockwise,
        chain,
        specinfer,
        naive_sampling,
        target_only,
        tree_greedy,
        standalone,
        chain_kernel,
        without_replacement,
        point_mass,
        block_verification,
    )
}


def names() -> list[str]:
    """The names of the rules that claim, with their parameters as they come, to follow the target's law
    or to equal its greedy decoding."""
    return list(_RULES)


def broken() -> list[str]:
    """The names of the broken patterns."""
    return list(PATTERNS)


def get(name: str) -> Rule:
    """The rule, or the broken pattern, of that name.

    Raises:
        InputError: if there is none; the message names close ones.

    >>> get("chain").claims_lossless
    True
    """
    known = _RULES | PATTERNS
    if name not in known:
        close = get_close_matches(name, known, n=3)
        hint = f"did you mean {' or '.join(close)}?" if close else f"known: {', '.join(_RULES)}"
        raise InputError(f"rule: there is no rule {name!r}; {hint}")
    return known[name]


def resolve(reference: str | Rule | Callable[..., Any]) -> Rule:
    """The rule that a name, ``file.py:function``, a function or a rule stands for.

    Raises:
        InputError: if there is none.
        RuleError: if the file does not import.
    """
    if isinstance(reference, Rule):
        return reference
    if callable(reference):
        return rule(reference)
    if not isinstance(reference, str):
        raise InputError(f"rule: {reference!r} is no name, function or rule")
    return load(reference) if ":" in reference else get(reference)
