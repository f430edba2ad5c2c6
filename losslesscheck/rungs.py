"""The rungs of the ladder: each reads the rule in one way and says in one line what that established."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from losslesscheck import instances
from losslesscheck.errors import RuleError, Undecided
from losslesscheck.model import Model
from losslesscheck.proof import THEOREM_OF, Proof
from losslesscheck.rule import Rule
from losslesscheck.search import Counterexample, examine, search, simplify, worst
from losslesscheck.tree import Tree
from losslesscheck.verdict import Evidence, Result

if TYPE_CHECKING:
    from losslesscheck.distributions import Distributions
    from losslesscheck.machines.monte_carlo import MonteCarloResult
    from losslesscheck.runs import Options, Sampled

INSTANCES = 4
"""How many random instances the Monte-Carlo rung shares its samples among."""

FALSE_ALARM = 1e-9
"""Bound on the probability that the Monte-Carlo rung fails a lossless rule."""

SUSPICIOUS = 1e4
"""Odds against the target's law (an e-value) beyond which sampling no longer speaks for a rule."""

USELESS_TV = 0.5
"""A test that would miss even this bias says nothing."""

LARGEST_EXACT = 8
"""The largest vocabulary on which whole laws and all distributions are attempted."""


@dataclass(frozen=True)
class Plan:
    """What to verify, and at which size.

    Attributes:
        rule: with its parameters bound.
        vocabulary: V of the proofs for all distributions and of the exact laws.
        sampled_vocabulary: V of the Monte-Carlo rung.
        tree: the tree, as the rule needs it.
        chosen_tree: the user asked for this very tree; smaller relatives are no substitute.
        samples: draft-and-verify steps of the Monte-Carlo rung.
        seed: of every random choice.
        positive_draft: suppose that the draft gives every token a positive probability.
        distributions: real rows to judge the rule on, or ``None``.
        certify: keep certificates of the proofs.
        long_run: how the Monte-Carlo rung is done as a long run, or ``None``.
    """

    rule: Rule
    vocabulary: int
    sampled_vocabulary: int
    tree: Tree
    chosen_tree: bool
    samples: int
    seed: int
    positive_draft: bool = False
    distributions: Distributions | None = None
    certify: bool = False
    long_run: Options | None = None


@dataclass(frozen=True)
class Finding:
    """What a rung hands back: its evidence, and a counterexample or a certificate if it has one.

    ``scope`` says for what a proof holds, ``notes`` what the user should know about the input.
    """

    evidence: Evidence
    scope: str = ""
    found: Counterexample | None = None
    largest: Counterexample | None = None
    certificate: dict[str, Any] | None = None
    notes: tuple[str, ...] = ()


def any_vocabulary(plan: Plan) -> Finding:
    """The step identity for every vocabulary at once."""
    from losslesscheck.machines.any_vocabulary import prove

    proof = prove(plan.rule, siblings=_siblings(plan))
    covers = (
        proof.every_tree
        or plan.rule.form == "node"
        or (plan.rule.form == "whole" and plan.rule.takes_tree and plan.tree.depth == 1)
    )
    return _proved("any-vocabulary", proof, covers)


def _siblings(plan: Plan) -> int:
    return max(plan.tree.width, 3) if plan.rule.form != "step" else 1


def theorem(plan: Plan, read: Evidence) -> Finding:
    """The machine-checked theorem that speaks of the rule.

    Of a rule that is written as a step or as a node the general theorem speaks, if the any-vocabulary rung
    has established its hypothesis from the rule's text. Of some texts a theorem of their own speaks, which is
    about their mechanical translation.

    Args:
        read: what the any-vocabulary rung established.
    """
    from losslesscheck.proofs import theorems, translate
    from losslesscheck.proofs.audit import standing

    now = standing()
    if not now.by:
        why = "the theories are not the audited ones; `losslesscheck proofs check` says how they differ"
        return _no_theorem("undecided", why)
    general = THEOREM_OF.get(plan.rule.form)
    established = general is not None and read.proof
    own = translate.matching(plan.rule)
    if not established and own is None:
        if general is None:
            return _no_theorem("skipped", f"no theorem speaks of this text{_why_none(plan.rule)}")
        return _no_theorem("undecided", f"the hypothesis of {general} was not established: {read.detail}")
    data: dict[str, Any] = {}
    if established:
        assert general is not None
        name, scope = general, _every_tree(plan, read.data["suppositions"])
        data["hypothesis"] = {
            "of": general,
            "established_by": read.tier,
            "identity": read.data["identity"],
            "suppositions": read.data["suppositions"],
        }
    if own is not None:
        data["translation_of"] = own
        if not established or plan.rule.form == "node" or read.data["suppositions"]:  # it says more
            name, scope = theorems.of_text(own), theorems.SCOPES[own]
    if name not in now.theorems:
        return _no_theorem("undecided", f"{name} is none of the theorems that were checked")
    data |= {"theorem": name, "checked": {"by": now.by, **now.facts}}
    evidence = Evidence("theorem", "holds", f"{name}: {scope}; {now}", proof=True, data=data)
    return Finding(evidence, scope=f"{scope} (theorem {name})")


def _every_tree(plan: Plan, supposed: Sequence[str]) -> str:
    scope = "any vocabulary and any tree"
    if plan.rule.form == "node":
        kind = "distinct " if plan.rule.distinct_siblings else ""
        scope += f" with up to {_siblings(plan)} {kind}siblings at a node"
    return scope + (f", supposing that {' and '.join(supposed)}" if supposed else "")


def _why_none(rule: Rule) -> str:
    from losslesscheck.proofs.translate import translate

    try:
        translate(rule)
    except Undecided as reason:
        return f", which is not translated: {reason}"
    return ", which decides over whole paths and is none of those in texts.v"


def _no_theorem(result: Result, why: str) -> Finding:
    return Finding(Evidence("theorem", result, why))


def all_distributions(plan: Plan) -> Finding:
    """Every target and every draft over a small vocabulary, on the whole tree."""
    if plan.vocabulary > LARGEST_EXACT:
        return Finding(
            Evidence(
                "all-distributions",
                "skipped",
                f"V = {plan.vocabulary} has too many symbols; --vocab up to {LARGEST_EXACT} is proved",
            )
        )
    from losslesscheck.machines.all_distributions import prove

    proof = prove(
        plan.rule,
        plan.tree,
        plan.vocabulary,
        assume_positive_draft=plan.positive_draft,
        certify=plan.certify,
    )
    return _proved("all-distributions", proof, True)


def _proved(tier: Any, proof: Proof, covers: bool) -> Finding:
    detail = proof.statement if proof.holds else proof.reason or f"not proved: {proof.statement}"
    detail = detail.removeprefix("any vocabulary: ")
    evidence = Evidence(
        tier, "holds" if proof.holds else "undecided", detail, proof=proof.holds and covers, data=proof.facts
    )
    certificate = proof.certificate and {**proof.certificate, "statement": proof.statement}
    return Finding(evidence, certificate=certificate, scope=proof.statement)


def exact(plan: Plan) -> Finding:
    """Exact laws of instances: small ones, one after the other, and random ones."""
    if plan.distributions is not None:
        return _exact_on(plan.rule, plan.distributions)
    if plan.vocabulary > LARGEST_EXACT:
        return _exact_wide(plan)
    outcomes = plan.vocabulary ** (plan.tree.depth + 1) * max(plan.tree.width, 1)
    seen = search(
        plan.rule,
        plan.tree if plan.chosen_tree else None,
        plan.vocabulary,
        random_instances=max(4, min(64, 100_000 // outcomes)),
        seed=plan.seed,
        positive_draft=plan.positive_draft,
    )
    count = seen.small + seen.random
    if seen.found is None:
        return Finding(
            Evidence(
                "exact",
                "holds",
                f"the law is the target's on {count} instances "
                f"({seen.small} small, {seen.random} random, V ≤ {plan.vocabulary})",
                data={"small": seen.small, "random": seen.random},
            )
        )
    found = seen.found
    again = examine(plan.rule, found.instance)
    if again is None or again.emitted != found.emitted:
        raise RuleError(
            "the same instance gave two different laws; a rule must take all its randomness from the "
            "machine and keep nothing between runs"
        )
    largest = found if found.undefined else worst(plan.rule, found, positive_draft=plan.positive_draft)
    evidence = Evidence("exact", "fails", _failure(found, count), data={"examined": count})
    return Finding(evidence, found=found, largest=largest)


def _failure(found: Counterexample, count: int) -> str:
    where = f"V = {found.instance.vocabulary}, tree {found.instance.tree}"
    if found.undefined:
        return f"undefined with probability {found.undefined} at {where}, after {count} instances"
    return f"TV {found.tv} at {where}, after {count} instances"


def _exact_wide(plan: Plan) -> Finding:
    """One node at a large vocabulary, on random rows."""
    from losslesscheck.machines.wide import IntegerRow, node_law

    if plan.rule.form == "whole":
        return Finding(
            Evidence(
                "exact",
                "skipped",
                f"V = {plan.vocabulary}: only step and node rules have an exact law at this size",
            )
        )
    target, draft = instances.sampling_models(plan.rule, plan.tree, plan.vocabulary, plan.seed)
    width = plan.tree.width
    siblings: int | Sequence[int] = (
        [c.token or 0 for c in plan.tree.children] if plan.rule.fixed_tokens else width
    )
    try:
        law = node_law(
            plan.rule,
            IntegerRow.from_floats(target.floats[0]),
            None if draft is None else IntegerRow.from_floats(draft.floats[0]),
            siblings,
        )
    except Undecided as reason:
        return Finding(Evidence("exact", "undecided", str(reason)))
    where = f"one node with {width} siblings at V = {plan.vocabulary}, random rows"
    if law.tv == 0 and law.undefined == 0:
        return Finding(Evidence("exact", "holds", f"the law is the target's: {where}"))
    return Finding(Evidence("exact", "fails", f"{_off(law.tv, law.undefined)}: {where}"))


def _off(tv: Fraction, undefined: Fraction) -> str:
    return f"undefined with probability {float(undefined):.4g}" if undefined else f"TV {float(tv):.4g}"


def _exact_on(rule: Rule, distributions: Distributions) -> Finding:
    """The exact next-token law at every position along the drafted paths of real rows."""
    from losslesscheck.distributions import analyse, tokens_per_step

    results = analyse(rule, distributions)
    if not results:
        return Finding(
            Evidence("exact", "skipped", f"{rule.name} decides over whole paths: no exact law at this size")
        )
    failed = [r for r in results if not r.holds]
    positions = [
        {
            "case": r.case,
            "position": r.position,
            "acceptance": float(r.acceptance),
            "tv": float(r.tv),
            "undefined": float(r.undefined),
        }
        for r in results
    ]
    data = {
        "positions": positions,
        "tokens_per_step": [float(tokens) for tokens in tokens_per_step(results)],
    }
    size = f"{len(results)} positions at V = {distributions.vocabulary}"
    if failed:
        most = max(failed, key=lambda r: (r.undefined, r.tv))
        detail = (
            f"{_off(most.tv, most.undefined)} at case {most.case}, draft {most.position + 1}; "
            f"{len(failed)} of {size} are off"
        )
        return Finding(Evidence("exact", "fails", detail, data=data))
    detail = f"the law is the target's, exactly, at {size}"
    return Finding(Evidence("exact", "holds", detail, proof=True, data=data), scope="these distributions")


def monte_carlo(plan: Plan) -> Finding:
    """The rule run for many lanes, its emitted tokens held against the target."""
    from losslesscheck.machines.monte_carlo import monte_carlo as run

    rng = np.random.default_rng(plan.seed)
    vocabulary, problems = _sampled_problems(plan)
    steps = max(plan.samples // len(problems), 1)
    outcomes = [
        run(plan.rule, target, draft, tree, steps, rng, alpha=FALSE_ALARM / len(problems))
        for target, draft, tree in problems
    ]
    return _sampled(outcomes, vocabulary)


def long_monte_carlo(plan: Plan, options: Options) -> Finding:
    """The same in shards that are kept in a file."""
    from losslesscheck.runs import collect, rule_source

    vocabulary, problems = _sampled_problems(plan)
    sources = [
        rule_source(
            plan.rule,
            target,
            draft,
            tree,
            choice="context" if plan.distributions is None else "position",
            seed=plan.seed,
            instance=number,
            steps=options.shard,
        )
        for number, (target, draft, tree) in enumerate(problems)
    ]
    run = collect(sources, plan.samples, FALSE_ALARM, options)
    return _with_run(_sampled(list(run.results), vocabulary), run)


def _with_run(finding: Finding, run: Sampled) -> Finding:
    evidence = finding.evidence
    facts = {
        "rounds": run.counted,
        "rounds_planned": run.rounds,
        "problems": list(run.hashes),
        "workers": run.workers,
    }
    detail = evidence.detail
    if run.stopped_early:
        detail += f"; stopped there, {run.counted} of {run.rounds} rounds of shards being enough"
    evidence = replace(evidence, detail=detail, data=evidence.data | {"run": facts})
    return replace(finding, evidence=evidence, notes=run.notes)


def _sampled_problems(plan: Plan) -> tuple[int, list[tuple[Model, Model | None, Tree]]]:
    """The vocabulary, and the instances or the cases that the samples are shared among."""
    if plan.distributions is None:
        vocabulary = plan.sampled_vocabulary
        count = INSTANCES if vocabulary <= instances.SMALL_VOCABULARY else 1
        return vocabulary, [(*_sampling_models(plan, number), plan.tree) for number in range(count)]
    return plan.distributions.vocabulary, [
        (*plan.distributions.models(case), _drafted(plan, plan.distributions, case))
        for case in range(plan.distributions.cases)
    ]


def _drafted(plan: Plan, distributions: Distributions, case: int) -> Tree:
    """The plan's tree, or for a rule of fixed tokens the path that was drafted in this case."""
    if not plan.rule.fixed_tokens:
        return plan.tree
    tokens = [int(token) for token in distributions.draft_tokens[case]]
    return plan.rule.fit(Tree.from_parents(range(-1, len(tokens) - 1), tokens), distributions.vocabulary)


def _sampling_models(plan: Plan, number: int) -> tuple[Model, Model | None]:
    return instances.sampling_models(
        plan.rule,
        plan.tree,
        plan.sampled_vocabulary,
        plan.seed * INSTANCES + number,
        positive_draft=plan.positive_draft,
    )


def _sampled(outcomes: list[MonteCarloResult], vocabulary: int) -> Finding:
    worst_outcome = max(outcomes, key=lambda o: o.log_e)
    steps = sum(o.samples for o in outcomes)
    undefined = sum(o.undefined for o in outcomes)
    detectable = max(o.detectable_tv for o in outcomes)
    tokens = sum(o.tokens_per_step * o.samples for o in outcomes) / steps
    data = {
        "steps": steps,
        "vocabulary": vocabulary,
        "log_e": worst_outcome.log_e,
        "detectable_tv": detectable,
        "detectable_by_length": [o.detectable_by_length for o in outcomes],
        "tv_bound": max(o.tv_bound for o in outcomes),
        "false_alarm": sum(o.alpha for o in outcomes),
        "unjudged": sum(o.unjudged for o in outcomes),
        "undefined": undefined,
        "tokens_per_step": tokens,
        "steps_per_second": steps / max(sum(o.seconds for o in outcomes), 1e-9),
    }
    head = f"{steps:,} steps at V = {vocabulary}, {tokens:.3f} tokens a step"
    if all(o.holds for o in outcomes):
        if detectable >= USELESS_TV:
            detail = f"{head}: too few to see anything"
        elif worst_outcome.log_e > np.log(SUSPICIOUS):
            detail = f"{head}: {_odds(worst_outcome.log_e)}; more samples would tell"
        else:
            detail = f"{head}; a bias of TV {detectable:.2g} in the first one would have shown"
            return Finding(Evidence("monte-carlo", "holds", detail, data=data))
        return Finding(Evidence("monte-carlo", "undecided", detail, data=data))
    if undefined:
        what = f"undefined in {undefined:,} steps"
    elif np.isinf(worst_outcome.log_e):
        what = "tokens that the target never emits were seen"
    else:
        what = _odds(worst_outcome.log_e)
    detail = f"{head}: {what}"
    return Finding(Evidence("monte-carlo", "fails", detail, data=data))


def _odds(log_e: float) -> str:
    return f"odds of 10^{log_e / np.log(10):.1f} to 1 against the target's law"


def confirm(plan: Plan) -> Counterexample | None:
    """The first of the Monte-Carlo rung's instances that fails exactly, made simpler."""
    if plan.sampled_vocabulary > instances.SMALL_VOCABULARY or plan.distributions is not None:
        return None
    for number in range(INSTANCES):
        target, draft = _sampling_models(plan, number)
        found = examine(plan.rule, instances.tabulate(plan.rule, target, draft, plan.tree))
        if found is not None:
            return simplify(plan.rule, found, positive_draft=plan.positive_draft)
    return None
