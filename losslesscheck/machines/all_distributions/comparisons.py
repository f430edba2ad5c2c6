"""Comparisons in a rule's text: decided where all points agree, else two branches with an indicator."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from flint import fmpq_mpoly

from losslesscheck.algebra.field import Rational, divide
from losslesscheck.machines.all_distributions.domain import Domain
from losslesscheck.machines.all_distributions.entailment import Condition
from losslesscheck.machines.all_distributions.obligations import Given


@dataclass(frozen=True, slots=True)
class Branch:
    """One answer to a comparison: its weight, an indicator or one minus it, and what it says."""

    answer: bool
    weight: Rational
    given: list[Given]


def decided(domain: Domain, given: Sequence[Given], difference: Rational, strict: bool) -> bool | None:
    """Whether difference < 0 (not ``strict``: ≤ 0), if that is the same wherever all of ``given`` holds."""
    polynomial = domain.signed_numerator(difference)
    sign = domain.sign(polynomial)
    conditions = [g.condition for g in given]
    if sign > 0 and strict:
        return False
    if sign < 0 and not strict:
        return True
    if sign >= 0 and domain.implies(conditions, polynomial, strict=not strict):
        return False
    if sign <= 0 and domain.implies(conditions, -polynomial, strict=strict):
        return True
    return None


def branches(domain: Domain, given: Sequence[Given], difference: Rational, strict: bool) -> list[Branch]:
    """The two answers to difference < 0 (not ``strict``: ≤ 0)."""
    polynomial = domain.signed_numerator(difference)
    core = _core(domain, given, polynomial)
    compared = (core, polynomial)  # as the rule's text has it
    below_strict, below_is_true = strict, True
    if found := domain.atom_sign(core, strict):
        core, below_strict, below_is_true = found
    indicator = domain.indicator(-core if below_strict else core)  # core < 0 is not −core ≤ 0
    symbol = domain.field.symbol(indicator.name)

    def branch(is_below: bool) -> Branch:
        answer = is_below == below_is_true
        value = int(is_below != below_strict)
        said = [_said(core, is_below, below_strict), *(_said(c, answer, strict) for c in compared)]
        weight = symbol if value else domain.field.one - symbol
        return Branch(answer, weight, [Given(condition, (indicator.index, value)) for condition in said])

    return [branch(True), branch(False)]


def _said(polynomial: fmpq_mpoly, below: bool, strict: bool) -> Condition:
    """That polynomial < 0 (not ``strict``: ≤ 0), or that this is not so."""
    if below:
        return Condition(-polynomial, ">" if strict else ">=")
    return Condition(polynomial, ">=" if strict else ">")


def _core(domain: Domain, given: Sequence[Given], polynomial: fmpq_mpoly) -> fmpq_mpoly:
    """The polynomial without the factors that have one sign, and are not zero, where ``given`` holds."""
    conditions = [g.condition for g in given]
    core = polynomial
    for factor, exponent in domain.factors(polynomial):
        known = domain.sign(factor)
        signed = factor if known >= 0 else -factor
        if known and domain.implies(conditions, signed, strict=True):
            for _ in range(exponent):
                core = divide(core, signed)
    return core
