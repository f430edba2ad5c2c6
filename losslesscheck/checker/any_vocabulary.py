"""Rechecks certificates of the any-vocabulary reading.

A certificate of kind ``any-vocabulary`` has the rule (``name``, ``hash``, ``parameters``), the ``theorem``
that speaks of whole trees then (null for a rule that decides over whole paths), whether its
tokens are fixed, whether equal siblings are left out, whether its claim is a greedy one, and one *scene*
for every way in which the rule is called. A scene holds formulas in names such as ``p[y]`` and ``q[x1]``
(entries at tokens), ``S0`` (sums) and ``nu0[y]`` (minima); y is any token that is not otherwise named.

    call         the form; ``tried``: pieces of history; ``siblings``: their names; ``width``: how many
                 drafts
    fixed        names of the fixed tokens: t1, t2, … siblings, a0, … argmaxes that are no siblings
    argmax       vector → the fixed token at which it is largest
    atoms        nu → the formula of which it is min(·, 0)
    sums         S → the formula that is summed over y
    vectors      d → how a vector arose of which the proof only uses that it is non-negative
    target       the law that the next token should have: token → probability
    paths        choices (outcome and probability each) that begin a path, and what all paths that
                 begin so contribute to the law of the next token
    seconds      of a whole rule on one level of drafts: token that may be emitted first → the
                 probability that a second one follows, which has the target's law after it
    obligations  divisor, the outcomes ``after`` which it is first met, the mass of reaching it for given
                 drawn ``tokens``, summed over the others, the divisors met ``before`` it on each of
                 these paths, and the cofactor (numerator, denominator) with
                 mass = divisor · cofactor, or null where 0 ≤ mass ≤ |divisor|

What is checked: (1) the contributions add up to the target as rational functions, atoms and sums free:
at random points modulo a prime. (2) At random distributions, ``interpreter`` finds for every path the
probabilities that the certificate gives, and the same contribution to the law. (3) Every divisor that
the rule meets there is one of the obligations, with the mass that the certificate gives, after the divisors
that it gives; mass = divisor · cofactor as rational functions, and every factor of the cofactor's
denominator is one of a divisor met before, so that it is not zero where the divisor is reached.
(4) The rule's hash, its parameters, and that no scene is missing.

What is not rechecked symbolically: that probabilities lie in [0, 1], and the bounds 0 ≤ mass ≤ |divisor|.
Both are only checked at the random distributions, as is the law of a second token.
"""

from __future__ import annotations

import hashlib
import inspect
import random
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path as File
from typing import Any

from losslesscheck.checker.expression import ExpressionError, evaluate
from losslesscheck.checker.interpreter import Divisor, Path, RuleProblem
from losslesscheck.checker.polynomials import PRIME, Free, factors_among
from losslesscheck.checker.samples import Sample, samples

THEOREMS = {"step": "tree_lossless", "node": "node_lossless", "whole": None}
"""Form of a rule → the machine-checked theorem whose hypothesis a certificate establishes."""

POINTS = 3
SAMPLES = 10

Place = tuple[tuple[str | bool, ...], int]
Event = tuple[Sample, Path, Divisor]


def check(certificate: dict[str, Any], function: Callable[..., Any]) -> list[str]:
    """The problems of a certificate of kind ``any-vocabulary``; empty if it is accepted.

    Args:
        certificate: as described above.
        function: the rule's own function.
    """
    try:
        return list(_problems(certificate, function))
    except (KeyError, TypeError, AttributeError, IndexError, ExpressionError) as error:
        return [f"the certificate is malformed: {type(error).__name__}: {error}"]


def _problems(certificate: dict[str, Any], function: Callable[..., Any]) -> Iterator[str]:
    stated = certificate["rule"]
    if stated["hash"] != _hash(function):
        yield "rule: the hash is not that of the function"
        return
    parameters = {
        name: Fraction(value["number"]) if isinstance(value, dict) else value
        for name, value in stated["parameters"].items()
    }
    declared = inspect.signature(function).parameters
    keyword_only = {name for name, p in declared.items() if p.kind is p.KEYWORD_ONLY}
    if set(parameters) != keyword_only:
        yield f"rule: the parameters are {', '.join(sorted(keyword_only)) or 'none'}"
        return
    yield from _missing(certificate, declared)
    for number, scene in enumerate(certificate["scenes"]):
        where = f"scene {number}"
        yield from (f"{where}: {problem}" for problem in _identity(scene, certificate))
        yield from (f"{where}: {problem}" for problem in _cofactors(scene))
        yield from (f"{where}: {problem}" for problem in _exhausting(scene))
        try:
            yield from (f"{where}: {p}" for p in _runs(scene, certificate, function, parameters))
        except RuleProblem as problem:
            yield f"{where}: {problem}"


def _hash(function: Callable[..., Any]) -> str:
    content = File(inspect.getsourcefile(function) or "").read_bytes()
    return hashlib.sha256(content + b"\0" + function.__qualname__.encode()).hexdigest()


def _exhausting(scene: dict[str, Any]) -> Iterator[str]:
    """Uniform distributions that may have no token left, though a node has fewer siblings than tokens."""
    for name, definition in scene["vectors"].items():
        names = definition.get("uniform without", [])
        own = [n for n in names if not n.startswith("h")]
        if len(own) < len(names) and len(own) > 1:
            yield f"{name} leaves out the tokens tried before and {len(own)} more"


def _missing(certificate: dict[str, Any], declared: Any) -> Iterator[str]:
    """Scenes that the form of the rule asks for and the certificate lacks."""
    order = [name for name, p in declared.items() if p.kind is not p.KEYWORD_ONLY and name != "tried"]
    calls = [scene["call"] for scene in certificate["scenes"]]
    if not calls:
        yield "there is no scene"
        return
    if certificate.get("theorem") != (named := THEOREMS[calls[0]["form"]]):
        yield f"the theorem is {certificate.get('theorem')!r}, not {named!r}"
    if order[3:] == ["accept", "reject"]:
        expected: list[dict[str, Any]] = [{"form": "step"}]
        if "tried" in declared:
            expected = [{"form": "step", "tried": pieces} for pieces in (0, 1, 2)]
    elif order[3:] == ["accept", "end"]:
        most = max(len(call["siblings"]) for call in calls)
        expected = [
            {"form": "node", "siblings": names}
            for count in range(most + 1)
            for names in _siblings(count, certificate["distinct_siblings"])
        ]
    elif order[3:] == ["tree"]:
        expected = [
            {"form": "whole", "width": count} | ({"siblings": names} if names else {})
            for count in range(1, max(call["width"] for call in calls) + 1)
            for names in (
                _siblings(count, certificate["distinct_siblings"]) if certificate["fixed_tokens"] else [[]]
            )
        ]
    else:
        expected = [{"form": "whole", "width": None}]
    yield from (f"there is no scene for {call}" for call in expected if call not in calls)
    yield from (f"the scene for {call} is none of this rule" for call in calls if call not in expected)
    for call in expected:
        yield from _cases([scene for scene in certificate["scenes"] if scene["call"] == call], call)


def _siblings(count: int, distinct: bool) -> list[list[str]]:
    """Names for ``count`` fixed siblings, equal names for equal tokens."""
    if distinct:
        return [[f"t{i + 1}" for i in range(count)]]
    if count == 0:
        return [[]]
    shorter = _siblings(count - 1, distinct)
    return [[*names, f"t{i + 1}"] for names in shorter for i in range(len(set(names)) + 1)]


def _cases(scenes: list[dict[str, Any]], call: dict[str, Any]) -> Iterator[str]:
    """Whether the scenes of one call cover every case of what the argmaxes are."""
    found = {tuple(scene["argmax"].items()) for scene in scenes}
    for case in found:
        for place, (vector, _) in enumerate(case):
            before = case[:place]
            siblings = {token for scene in scenes for token in scene["fixed"] if token.startswith("t")}
            options = siblings | {token for _, token in before} | {f"a{place}"}
            for token in options:
                if not any(other[: place + 1] == (*before, (vector, token)) for other in found):
                    yield f"for {call} there is no scene in which {vector} is largest at {token}"


def _identity(scene: dict[str, Any], certificate: dict[str, Any]) -> Iterator[str]:
    largest = next(iter(scene["argmax"].values()), None)
    expected = {"y": "0", largest: "1"} if certificate["greedy"] else {"y": "p[y]"}
    if scene["target"] != expected:
        yield f"target: it is {scene['target']}, not {expected}"
    for token in ("y", *scene["fixed"]):
        target = _at(scene["target"], token)
        parts = [_at(path["law"], token) for path in scene["paths"]]
        for _ in range(POINTS):
            free = Free()
            try:
                total = sum(int(evaluate(part, free.at(token_), PRIME)) for part, token_ in parts)
                expected_value = int(evaluate(target[0], free.at(target[1]), PRIME))
            except ZeroDivisionError:
                yield f"identity at {token}: a denominator is zero"
                break
            if (total - expected_value) % PRIME:
                yield f"identity at {token}: the paths do not add up to the target"
                break


def _at(entries: dict[str, str], token: str) -> tuple[str, str]:
    """The formula of a vector at a token, and the token that y stands for in it."""
    return (entries[token], "y") if token in entries else (entries["y"], token)


def _cofactors(scene: dict[str, Any]) -> Iterator[str]:
    for o in scene["obligations"]:
        if o["cofactor"] is None:
            continue
        up, down = o["cofactor"]
        for _ in range(POINTS):
            free = Free()
            try:
                mass, divisor, a, b = (
                    int(evaluate(text, free, PRIME)) for text in (o["mass"], o["divisor"], up, down)
                )
            except ZeroDivisionError:
                yield f"obligation {o['divisor']}: a denominator is zero"
                break
            if (mass * b - divisor * a) % PRIME or not b:
                yield f"obligation {o['divisor']}: the mass is not the divisor times the cofactor"
                break
        else:
            if not factors_among(down, o["before"]):
                yield f"obligation {o['divisor']}: the cofactor may be infinite where the divisor is zero"


def _runs(
    scene: dict[str, Any],
    certificate: dict[str, Any],
    function: Callable[..., Any],
    parameters: dict[str, Any],
) -> Iterator[str]:
    drawn = list(samples(scene, certificate["fixed_tokens"], SAMPLES, random.Random(0)))
    if not drawn:
        yield "no distributions were found that are in this case"
        return
    runs = [(sample, sample.run(function, parameters)) for sample in drawn]
    for sample, paths in runs:
        yield from _same_law(scene, sample, paths)
        if scene["call"].get("width"):
            yield from _same_seconds(scene, certificate["greedy"], sample, paths)
    met: dict[Place, list[Event]] = {}
    for sample, paths in runs:
        for path in paths:
            for place, divisor in _places(path):
                met.setdefault(place, []).append((sample, path, divisor))
    matched: dict[Place, int] = {}
    for place, events in met.items():
        values = {divisor.value for _, _, divisor in events}
        if values == {1} or (len(values) == 1 and len(events) > 1 and 0 not in values):
            continue  # a constant
        found = (
            number
            for number, o in enumerate(scene["obligations"])
            if any(list(place[0][: len(after)]) == after for after in o["after"])
            and all(_is(o, *event) for event in events)
        )
        number = next(found, None)
        if number is not None:
            matched[place] = number
        elif not any(
            all(_gives_way(vector, *event) for event in events) for vector in scene["vectors"].values()
        ):
            yield f"after {list(place[0])}: a division or comparison is not among the obligations"
    for sample, paths in runs:
        yield from _masses(scene["obligations"], matched, sample, paths)


def _same_seconds(scene: dict[str, Any], greedy: bool, sample: Sample, paths: list[Path]) -> Iterator[str]:
    joint: dict[tuple[str, int], list[Fraction]] = {}
    for path in paths:
        if len(path.emitted) > 1:
            first, second = path.emitted[:2]
            label = next(label for label, token in path.labels.items() if token == first)
            joint.setdefault((label, first), [Fraction(0)] * sample.vocabulary)[second] += path.mass
    for (label, first), found in joint.items():
        row = sample.row("p", (first,))
        law = [Fraction(t == row.index(max(row))) for t in range(sample.vocabulary)] if greedy else row
        mass = sample.evaluate(scene["seconds"].get(label, "0"), {**sample.fixed, label: first})
        if mass is not None and found != [mass * a for a in law]:
            yield f"after {label} the second token does not have the target's law"


def _places(path: Path) -> Iterator[tuple[Place, Divisor]]:
    """Where on a path something is divided by or compared: the outcomes so far, and a running number."""
    counts: dict[int, int] = {}
    for divisor in path.divisors:
        counts[divisor.before] = counts.get(divisor.before, 0) + 1
        outcomes = tuple(outcome for outcome, _ in path.choices[: divisor.before])
        yield (outcomes, counts[divisor.before]), divisor


def _is(obligation: dict[str, Any], sample: Sample, path: Path, divisor: Divisor) -> bool:
    if not set(obligation["tokens"]) <= set(path.labels):
        return False
    value = sample.evaluate(obligation["divisor"], path.labels)
    return value in (divisor.value, -divisor.value)


def _gives_way(vector: dict[str, Any], sample: Sample, path: Path, divisor: Divisor) -> bool:
    """Whether it is a sum with an alternative, and the certificate takes either for one vector."""
    return (
        divisor.alternative and "norm" in vector and sample.sum(vector["norm"], path.labels) == divisor.value
    )


def _masses(
    obligations: list[dict[str, Any]], matched: dict[Place, int], sample: Sample, paths: list[Path]
) -> Iterator[str]:
    """Whether the divisors are reached with the masses stated, and never where they are zero."""
    found: list[dict[tuple[int, ...], Fraction]] = [{} for _ in obligations]
    counted: set[tuple[int, tuple[int, ...]]] = set()
    for path in paths:
        first: set[int] = set()
        earlier: set[Fraction] = set()
        for place, divisor in _places(path):
            number, before = matched.get(place), len(place[0])
            met_before = set(earlier)
            earlier |= {divisor.value, -divisor.value}
            if number is None or number in first:
                continue
            first.add(number)
            for text in obligations[number]["before"]:
                if sample.evaluate(text, path.labels) not in met_before:
                    yield f"obligation {obligations[number]['divisor']}: {text} is not met before it"
            if (number, tuple(path.values[:before])) not in counted:
                counted.add((number, tuple(path.values[:before])))
                key = tuple(path.labels[label] for label in obligations[number]["tokens"])
                found[number][key] = found[number].get(key, Fraction(0)) + path.mass_before(before)
    for o, masses in zip(obligations, found, strict=True):
        for key, mass in masses.items():
            labels = {**sample.fixed, **dict(zip(o["tokens"], key, strict=True))}
            stated, value = sample.evaluate(o["mass"], labels), sample.evaluate(o["divisor"], labels)
            if stated is not None and stated != mass:
                yield f"obligation {o['divisor']}: the mass is {mass}, not {o['mass']}"
            if value is not None and (value == 0 or (o["cofactor"] is None and mass > abs(value))):
                yield f"obligation {o['divisor']}: it is {value} where the mass is {mass}"


def _same_law(scene: dict[str, Any], sample: Sample, paths: list[Path]) -> Iterator[str]:
    begins = [[choice[0] for choice in entry["choices"]] for entry in scene["paths"]]
    found = [[Fraction(0)] * sample.vocabulary for _ in begins]
    for path in paths:
        outcomes = [outcome for outcome, _ in path.choices]
        places = [i for i, begin in enumerate(begins) if outcomes[: len(begin)] == begin]
        if len(places) != 1:
            yield f"path {outcomes}: {len(places)} entries of the certificate cover it"
            continue
        entry = scene["paths"][places[0]]
        for (outcome, probability), (_, text) in zip(path.choices, entry["choices"], strict=False):
            if sample.evaluate(text, path.labels) != probability:
                yield f"path {outcomes}: the probability of {outcome} is {probability}, not {text}"
        for token, weight in enumerate(path.law):
            found[places[0]][token] += path.mass * weight
    labels = {token: label for label, token in sample.fixed.items()}
    for entry, law in zip(scene["paths"], found, strict=True):
        for token, value in enumerate(law):
            text = entry["law"].get(labels.get(token, "y"), entry["law"]["y"])
            stated = sample.evaluate(text, {**sample.fixed, "y": token})
            if stated != value and not (stated is None and value == 0):
                yield f"path {[c[0] for c in entry['choices']]}: it contributes {value}, not {text}"
