"""The map: claim → theorem → file → test."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches

from losslesscheck import rules
from losslesscheck.errors import InputError
from losslesscheck.proofs import FOLDER


@dataclass(frozen=True)
class Theorem:
    """A theorem.

    Attributes:
        theory: the file, without ``.v``.
        name: as it stands there.
        claim: what it says, in one sentence.
        test: the test that holds the claim, or the translated rule, against the exact machine.
        source: paper, with theorem or equation; empty for what no paper states.
    """

    theory: str
    name: str
    claim: str
    test: str
    source: str = ""


_TREES = "any vocabulary and any tree"
_CHAINS = "any vocabulary and any draft length"

SCOPES: Mapping[str, str] = {
    "chain": _TREES,
    "specinfer": _TREES,
    "without_replacement": f"{_TREES} in which no node has more siblings than there are tokens",
    "point_mass": _TREES,
    "naive_sampling": _TREES,
    "target_only": f"{_TREES} of distinct siblings",
    "tree_greedy": _TREES,
    "blockwise": _CHAINS,
    "chain_kernel": _CHAINS,
    "block_verification": _CHAINS,
}
"""Rule whose text ``texts.v`` has, translated → for what ``faithful.v`` proves it lossless."""


def of_text(rule: str) -> str:
    """The theorem about the translated text of a rule."""
    return f"{rule}_text_lossless"


def _listed() -> tuple[Theorem, ...]:
    with (FOLDER / "theorems.toml").open("rb") as file:
        theories = tomllib.load(file)
    listed = [
        Theorem(theory, name, **facts) for theory, found in theories.items() for name, facts in found.items()
    ]
    for rule, scope in SCOPES.items():
        test = f"tests/proofs/test_translation.py::test_the_laws_agree[{rule}]"
        text = f"The text of {rule}, translated mechanically from Python,"
        same = f"{text} has the law of the form to be read in rules.v."
        listed.append(Theorem("faithful", f"{rule}_text_law", same, test))
        what = "is greedy decoding" if rules.get(rule).greedy else "is lossless"
        listed.append(Theorem("faithful", of_text(rule), f"{text} {what}, for {scope}.", test))
        sound = f"What is emitted by the text of {rule}, translated mechanically from Python, is a law."
        listed.append(Theorem("texts_sound", f"{rule}_text_sound", sound, test))
    return tuple(listed)


THEOREMS = _listed()


def get(name: str) -> Theorem:
    """The theorem of that name.

    Raises:
        InputError: if there is none; the message names close ones.
    """
    for theorem in THEOREMS:
        if theorem.name == name:
            return theorem
    close = get_close_matches(name, [t.name for t in THEOREMS], n=3)
    hint = f"did you mean {' or '.join(close)}?" if close else "`losslesscheck proofs` lists them"
    raise InputError(f"theorem: there is no theorem {name!r}; {hint}")
