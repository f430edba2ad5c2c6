"""Leviathan, Kalman and Matias 2023: Tables 1 to 5, the lenience claims, the best draft lengths."""

from __future__ import annotations

from fractions import Fraction

from losslesscheck.sim.cost import exact
from losslesscheck.sim.published.comparison import Comparison, Verdict, compare, derived, rounding, show
from losslesscheck.sim.published.invert import alpha_of
from losslesscheck.sim.published.tables import load
from losslesscheck.sim.tune.draft_length import exact_draft_length


def operations() -> tuple[Comparison, ...]:
    """Table 1: operations (Theorem 3.11) and speed (Theorem 3.8) at c = ĉ = 0."""
    rows = []
    for entry in load("leviathan_operations").rows:
        alpha, gamma = Fraction(entry["alpha"]), entry["gamma"]
        where = f"α = {entry['alpha']}, γ = {gamma}"
        factor = exact.operations_factor(alpha, gamma, Fraction(0))
        speed = exact.speedup(alpha, gamma, Fraction(0))
        rows += [
            compare(
                where,
                "operations",
                entry["operations"],
                lambda factor=factor: factor,
                arithmetic="(1 − α)(γ + 1)/(1 − α^(γ+1))",
            ),
            compare(
                where,
                "speed",
                entry["speed"],
                lambda speed=speed: speed,
                arithmetic="(1 − α^(γ+1))/(1 − α)",
            ),
        ]
    return tuple(rows)


def speedups() -> tuple[Comparison, ...]:
    """Tables 2 and 4: the predicted speedups, and the c that would explain the measured ones."""
    rows = []
    for entry in load("leviathan_speedups").rows:
        gamma, alpha, c = entry["gamma"], entry["alpha"], entry["c"]
        where = f"{entry['task']} {entry['draft']}, T = {entry['temperature']}"
        rows.append(
            compare(
                where,
                "Exp",
                entry["expected"],
                lambda a, cost, gamma=gamma: exact.speedup(a, gamma, cost),
                alpha,
                c,
                arithmetic=f"(1 − {alpha}^{gamma + 1})/(1 − {alpha}) / ({gamma}·{c} + 1)",
            )
        )
        rows.append(_implied_cost(where, gamma, alpha, entry["measured"]))
    return tuple(rows)


def impossible() -> tuple[str, ...]:
    """The rows of Tables 2 and 4 whose measured speedup exceeds the tokens per step: c < 0."""
    return tuple(row.row for row in speedups() if row.computed.startswith("c = -"))


def acceptance() -> tuple[Comparison, ...]:
    """Table 3 against the α that Tables 2 and 4 use, and Table 5's α at l = 1."""
    printed = {
        (entry["task"], entry["draft"], str(temperature)): entry[f"alpha_{temperature}"]
        for entry in load("leviathan_acceptance").rows
        for temperature in (0, 1)
    }
    rows = []
    for entry in load("leviathan_speedups").rows:
        key = entry["task"], entry["draft"], str(entry["temperature"])
        rows.append(
            compare(
                f"{key[0]} {key[1]}, T = {key[2]}",
                "α",
                printed[key],
                lambda a: a,
                entry["alpha"],
                arithmetic="the α of Tables 2 and 4",
            )
        )
    for entry in load("leviathan_lenience").rows:
        key = "EnDe", entry["draft"], "1"
        rows.append(
            compare(
                f"EnDe {entry['draft']}, T = 1",
                "α",
                printed[key],
                lambda a: a,
                entry["l=1"],
                arithmetic="the α of Table 5 at l = 1",
            )
        )
    return tuple(rows)


def lenience() -> tuple[Comparison, ...]:
    """The speedups that Appendix A.5 claims with lenience, for EnDe small at c = 0.015."""
    alphas = next(entry for entry in load("leviathan_lenience").rows if entry["draft"] == "small")
    strict = next(
        entry["alpha_0"]
        for entry in load("leviathan_acceptance").rows
        if (entry["task"], entry["draft"]) == ("EnDe", "small")
    )
    rows = []
    for entry in load("leviathan_lenience_speedups").rows:
        where = f"T = {entry['temperature']}, l = {entry['lenience']}"
        printed, c, gamma = entry["speedup"], entry["c"], entry["gamma"]
        if entry["temperature"] == 1:
            alpha = alphas[f"l={entry['lenience']}"]
            rows.append(_at_best(where, printed, alpha, c))
            if "." not in printed:
                rows.append(_at_best(where, f"{printed}.0", alpha, c))
        elif entry["lenience"] == "1":
            rows.append(
                compare(
                    where,
                    "speedup",
                    printed,
                    lambda a, cost, gamma=gamma: exact.speedup(a, gamma, cost),
                    strict,
                    c,
                    arithmetic=f"α = {strict} (Table 3), γ = {gamma}, c = {c}",
                )
            )
        else:
            low, high = (alpha_of(bound * (gamma * Fraction(c) + 1), gamma) for bound in rounding(printed))
            rows.append(
                derived(
                    where,
                    f"α from speedup {printed}",
                    f"{show(low)} to {show(high)}",
                    arithmetic=f"Σ α^i, i ≤ {gamma}, = {printed}·({gamma}·{c} + 1); no table has this α",
                )
            )
    return tuple(rows)


def optimal_draft_lengths() -> tuple[Comparison, ...]:
    """The best γ and its speedup."""
    rows = []
    for entry in load("optimal_draft_lengths").rows:
        best = exact_draft_length(Fraction(entry["alpha"]), Fraction(entry["c"]))
        where = f"α = {entry['alpha']}, c = {entry['c']}"
        rows += [
            compare(
                where,
                "γ",
                str(entry["gamma"]),
                lambda best=best: Fraction(best.draft_length),
                arithmetic="the best for Theorem 3.8, in fractions",
            ),
            compare(
                where,
                "speedup",
                entry["speedup"],
                lambda best=best: best.speedup,
                arithmetic="Theorem 3.8, in fractions",
            ),
        ]
    return tuple(rows)


def _at_best(where: str, printed: str, alpha: str, c: str) -> Comparison:
    """A claimed speedup against the greatest that any γ gives."""
    best = exact_draft_length(Fraction(alpha), Fraction(c)).draft_length
    return compare(
        where,
        "speedup",
        printed,
        lambda a, cost: exact_draft_length(a, cost).speedup,
        alpha,
        c,
        arithmetic=f"the best γ for α = {alpha} (Table 5), c = {c} is {best}",
    )


def _implied_cost(where: str, gamma: int, alpha: str, measured: str) -> Comparison:
    """c = (tokens / Emp − 1) / γ; if that is negative, whether rounding could make it positive."""
    tokens = exact.tokens(Fraction(alpha), gamma)
    implied = (tokens / Fraction(measured) - 1) / gamma
    most = (exact.tokens(rounding(alpha)[1], gamma) / rounding(measured)[0] - 1) / gamma
    arithmetic = f"({show(tokens)}/{measured} − 1)/{gamma}"
    verdict: Verdict = "derived"
    if implied < 0:
        verdict = "within rounding" if most >= 0 else "does not follow"
        arithmetic += (
            "; faster than the tokens per step allow: no cost c ≥ 0 explains it at the printed α; "
            f"with inputs that round to these c is at most {show(most)}"
        )
    return Comparison(where, "Emp", measured, f"c = {show(implied)}", verdict, arithmetic)
