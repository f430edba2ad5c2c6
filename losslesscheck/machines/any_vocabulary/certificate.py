"""What an any-vocabulary proof leaves: facts for a report, and a certificate for the checker.

``losslesscheck.checker.any_vocabulary`` documents the format and shares no code with this module.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from losslesscheck.algebra.field import Rational
from losslesscheck.machines.any_vocabulary.coordinates import PLACE
from losslesscheck.machines.any_vocabulary.decisions import Entries, Node, Signature, groups
from losslesscheck.machines.any_vocabulary.generic import Generic
from losslesscheck.proof import THEOREM_OF
from losslesscheck.rule import Rule

MOST_TERMS = 8
"""The most terms that a formula for people shows."""


@dataclass(frozen=True)
class Obligation:
    """A divisor that is zero only where its mass is: mass = divisor · cofactor, or 0 ≤ mass ≤ |divisor|.

    The mass is for given values of the drawn ``tokens``, summed over all others. The cofactor's denominator
    has no factor that is not one of the divisors ``before``, which were met on every path to this one.
    """

    divisor: Rational
    mass: Rational
    tokens: tuple[str, ...]
    after: tuple[Signature, ...]
    before: tuple[Rational, ...]
    cofactor: Rational | None

    def __str__(self) -> str:
        if self.cofactor is None:
            return f"0 <= {self.mass} <= |{self.divisor}|"
        return f"{self.mass} = ({self.divisor}) * ({self.cofactor})"


@dataclass(frozen=True)
class Settled:
    """A scene that is proved.

    Attributes:
        call: how the rule was called.
        target: the law that the next token was to have.
        seconds: token that may be emitted first → the probability that another one follows it.
    """

    call: dict[str, Any]
    machine: Generic
    root: Node
    target: Entries
    seconds: dict[str, Rational]
    obligations: list[Obligation]


def facts(settled: list[Settled]) -> dict[str, Any]:
    """Counts and formulas for a report; the formulas are those of the first scene of a step rule and
    of the last scene of any other."""
    shown = settled[0] if settled[0].call["form"] == "step" else settled[-1]
    m = shown.machine
    terms = [part.smooth for _, part in groups(shown.root, m.coordinates) if not part.smooth.is_zero()]
    if len(terms) > MOST_TERMS:
        terms = [sum(terms, m.field.zero)]
    identity = " + ".join(f"({term})" if len(terms) > 1 else str(term) for term in terms) or "0"
    return {
        "scenes": len(settled),
        "paths": sum(done.root.leaves() for done in settled),
        "atoms": [f"{name} = min({of}, 0)" for name, of in _atoms(m).items()],
        "sums": [f"{name} = sum over {PLACE} of {what}" for name, what in m.coordinates.sums.items()],
        "identity": f"{identity} = {shown.target.smooth}",
        "obligations": [str(obligation) for done in settled for obligation in done.obligations],
    }


def certificate(rule: Rule, settled: list[Settled]) -> dict[str, Any] | None:
    """The proof for the checker, or ``None`` if the rule stands in no file that could be named."""
    try:
        text = rule.hash
    except OSError:
        return None
    return {
        "kind": "any-vocabulary",
        "theorem": THEOREM_OF.get(rule.form),
        "rule": {
            "name": rule.name,
            "hash": text,
            "parameters": {
                name: {"number": str(value)} if isinstance(value, Fraction) else value
                for name, value in rule.settings.items()
            },
        },
        "fixed_tokens": rule.fixed_tokens,
        "greedy": rule.greedy,
        "distinct_siblings": rule.distinct_siblings,
        "scenes": [_scene(done) for done in settled],
    }


def _scene(done: Settled) -> dict[str, Any]:
    m = done.machine
    return {
        "call": done.call,
        "fixed": list(m.fixed),
        "argmax": m.largest,
        "atoms": _atoms(m),
        "sums": dict(m.coordinates.sums),
        "vectors": m.definitions,
        "target": _written(done.target),
        "paths": [
            {"choices": _choices(done.root, signature), "law": _written(part)}
            for signature, part in groups(done.root, m.coordinates)
        ],
        "seconds": {first: str(mass) for first, mass in done.seconds.items()},
        "obligations": [
            {
                "divisor": str(o.divisor),
                "mass": str(o.mass),
                "tokens": list(o.tokens),
                "after": [list(signature) for signature in o.after],
                "before": [str(earlier) for earlier in o.before],
                "cofactor": None
                if o.cofactor is None
                else [o.cofactor.text(o.cofactor.numerator), o.cofactor.text(o.cofactor.denominator)],
            }
            for o in done.obligations
        ],
    }


def _atoms(m: Generic) -> dict[str, str]:
    return {f"{a.name}[{PLACE}]" if a.vector else a.name: str(a.of) for a in m.signs.atoms.values()}


def _written(entries: Entries) -> dict[str, str]:
    return {PLACE: str(entries.smooth)} | {token: str(value) for token, value in entries.at.items()}


def _choices(root: Node, signature: Signature) -> list[list[str | bool]]:
    """The outcomes of a path with their probabilities."""
    result: list[list[str | bool]] = []
    node = root
    for outcome in signature:
        weight, node = next((w, below) for o, w, below in node.edges if o is outcome or o == outcome)
        result.append([outcome, str(weight)])
    return result
