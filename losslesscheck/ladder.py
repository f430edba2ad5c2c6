"""The ladder of evidence: from a rule to a verdict."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import Executor
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from losslesscheck import rules, rungs
from losslesscheck.budget import Budget, WorkFailed
from losslesscheck.errors import InputError, RuleError, Undecided
from losslesscheck.rule import Rule, Value
from losslesscheck.rungs import Finding, Plan
from losslesscheck.search import Counterexample
from losslesscheck.tree import Tree
from losslesscheck.trial import trial
from losslesscheck.verdict import NOT_ASKED, TIERS, Evidence, Outcome, Tier, Verdict

if TYPE_CHECKING:
    from losslesscheck.distributions import Distributions
    from losslesscheck.runs import Options
    from losslesscheck.runs.status import Watch

Progress = Callable[[str, float], None]
"""Called with the rung that is being worked on and the seconds it has taken so far."""

VOCABULARY = 3
SAMPLES = 2_000_000
MOST_SAMPLES = 10**12
ABSENT: dict[Tier, str] = {
    "kernel": "a rule was asked about, not a kernel",
}
REFUTED = "refuted by the exact rung: there is nothing to prove"
SAMPLED_VOCABULARY = 8


def verify(
    rule: str | Rule | Callable[..., Any],
    *,
    vocabulary: int | None = None,
    tree: Tree | Sequence[int] | None = None,
    samples: int = SAMPLES,
    seed: int = 0,
    only: Collection[Tier] = (),
    positive_draft: bool = False,
    distributions: str | Path | None = None,
    budget: Budget | None = None,
    certificates: str | Path | None = None,
    progress: Progress | None = None,
    save: str | Path | None = None,
    executor: str | Executor | None = None,
    shard: int | None = None,
    watch: Watch | None = None,
    **parameters: Value | float,
) -> Verdict:
    """Settles whether a rule is lossless, rung by rung.

    Args:
        rule: a rule's name, ``"file.py:function"``, a ``Rule``, or a function that reads like one.
        vocabulary: number of tokens V; by default 3 for the proofs and the exact laws (more if the
            tree needs more) and 8 for the Monte-Carlo rung.
        tree: a token tree, or its widths by depth such as ``(4, 2, 1)``; by default the rule's own,
            of which smaller relatives are searched for counterexamples as well.
        samples: draft-and-verify steps of the Monte-Carlo rung.
        seed: of every random choice.
        only: the tiers to run; all by default.
        positive_draft: suppose that the draft gives every token a positive probability.
        distributions: an ``.npz`` file of real rows to judge the rule on; see
            ``losslesscheck.distributions``.
        budget: time and memory for each rung; 60 s and 2 GiB by default.
        certificates: a file to write the certificates of the proofs to.
        progress: called every now and then while a rung is at work.
        save: a file of rows, one for every shard of samples. The Monte-Carlo rung is then run without
            a budget, in whole shards, and goes on with what the file has; see ``losslesscheck.runs``.
        executor: with ``save``: where shards are computed, ``"processes"`` (the default),
            ``"processes:4"``, ``"serial"``, ``"dask://HOST:PORT"`` or a ``concurrent.futures.Executor``.
            A script that has processes started needs its ``if __name__ == "__main__":``.
        shard: with ``save``: steps of a shard; by default as many as take some 5 to 30 seconds.
        watch: with ``save``: called with a ``runs.Status`` about twice a second.
        **parameters: the rule's own parameters.

    Raises:
        InputError: for bad arguments, before any work is done.
        RuleError: if the rule does what no rule may do.
        KeyboardInterrupt: in the long run, saying that it can be gone on with.

    >>> verify("chain", only=["any-vocabulary"]).verdict
    'lossless'
    """
    bound = rules.resolve(rule).bind(**parameters)
    plan = _plan(bound, vocabulary, tree, samples, seed, only, positive_draft, distributions)
    asked = set(only) or set(TIERS)
    long_run = _long_run(plan.rule, save, executor, shard, watch, asked)
    plan = replace(plan, certify=certificates is not None, long_run=long_run)
    if certificates is not None and not Path(certificates).resolve().parent.is_dir():
        raise InputError(f"certificates: there is no folder {Path(certificates).resolve().parent}")
    trial(plan.rule, plan.tree, min(plan.vocabulary, rungs.LARGEST_EXACT))
    budget = budget or Budget()
    asked = set(only) or set(TIERS)
    findings = _climb(plan, asked, budget, progress)
    verdict = _conclude(plan, budget, findings)
    if certificates is not None:
        from losslesscheck.certificate import write

        write(Path(certificates), plan.rule, [f.certificate for f in findings.values() if f.certificate])
    return verdict


def _plan(
    rule: Rule,
    vocabulary: int | None,
    tree: Tree | Sequence[int] | None,
    samples: int,
    seed: int,
    only: Collection[Tier],
    positive_draft: bool,
    distributions: str | Path | None,
) -> Plan:
    if vocabulary is not None and (not isinstance(vocabulary, int) or vocabulary < 2):
        raise InputError(f"vocabulary: {vocabulary!r} is not an integer of at least 2")
    if not isinstance(samples, int) or not 1 <= samples <= MOST_SAMPLES:
        raise InputError(f"samples: {samples!r} is not an integer from 1 to {MOST_SAMPLES:.0e}")
    if not isinstance(seed, int) or seed < 0:
        raise InputError(f"seed: {seed!r} is not a non-negative integer")
    if isinstance(only, str):
        raise InputError(f"only: give a list of tiers, such as [{only!r}]")
    for tier in only:
        if tier not in TIERS:
            raise InputError(f"only: {tier!r} is none of {', '.join(TIERS)}")
    if distributions is not None:
        from losslesscheck.distributions import load as load_distributions

        if vocabulary is not None or tree is not None:
            raise InputError("distributions: the file gives vocabulary and draft length; leave out both")
        loaded = load_distributions(distributions)
        chosen: Tree | None = Tree.chain(loaded.length) if rule.takes_tree else None
        return Plan(
            rule=rule,
            vocabulary=VOCABULARY,
            sampled_vocabulary=loaded.vocabulary,
            tree=rule.fit(chosen, VOCABULARY),
            chosen_tree=True,
            samples=samples,
            seed=seed,
            positive_draft=positive_draft,
            distributions=loaded,
        )
    chosen = Tree.regular(tuple(tree)) if tree is not None and not isinstance(tree, Tree) else tree
    shape = rule.tree if chosen is None else chosen
    widest = max(shape.tokens, default=0) + 1
    small = vocabulary or max(VOCABULARY, widest, shape.width if rule.fixed_tokens else 0)
    return Plan(
        rule=rule,
        vocabulary=small,
        sampled_vocabulary=vocabulary or max(SAMPLED_VOCABULARY, small),
        tree=rule.fit(chosen, small),
        chosen_tree=chosen is not None,
        samples=samples,
        seed=seed,
        positive_draft=positive_draft,
    )


def _long_run(
    rule: Rule,
    save: str | Path | None,
    executor: str | Executor | None,
    shard: int | None,
    watch: Watch | None,
    asked: Collection[Tier],
) -> Options | None:
    if save is None:
        for name, value in (("executor", executor), ("shard", shard), ("watch", watch)):
            if value is not None:
                raise InputError(f"{name}: needs save, the file that keeps the shards")
        return None
    if "monte-carlo" not in asked:
        raise InputError("save: the monte-carlo tier, which it is about, is not asked for")
    from losslesscheck.runs import Options
    from losslesscheck.runs.rule_source import findable

    options = Options(Path(save), "processes" if executor is None else executor, shard, watch)
    options.check()
    findable(rule)
    return options


def _climb(
    plan: Plan, asked: Collection[Tier], budget: Budget, progress: Progress | None
) -> dict[Tier, Finding]:
    """Every rung's finding. Counterexamples are looked for first: what is refuted needs no proof."""
    findings: dict[Tier, Finding] = {
        tier: _skipped(tier, why if tier in asked else NOT_ASKED) for tier, why in ABSENT.items()
    }
    work: dict[Tier, Callable[[Plan], Finding]] = {
        "exact": rungs.exact,
        "any-vocabulary": rungs.any_vocabulary,
        "all-distributions": rungs.all_distributions,
    }
    for tier, read in work.items():
        if tier not in asked and not (tier == "any-vocabulary" and "theorem" in asked):
            findings[tier] = _skipped(tier, NOT_ASKED)
        elif tier == "all-distributions" and findings["exact"].found is not None:
            findings[tier] = _skipped(tier, REFUTED)
        else:
            findings[tier] = _run(tier, read, plan, budget, progress)
    # A theorem's hypothesis is what the any-vocabulary reading establishes.
    if "theorem" not in asked:
        findings["theorem"] = _skipped("theorem", NOT_ASKED)
    elif findings["exact"].evidence.result == "fails":
        findings["theorem"] = _skipped("theorem", REFUTED)
    else:
        read_before = findings["any-vocabulary"].evidence
        findings["theorem"] = _run(
            "theorem", lambda plan: rungs.theorem(plan, read_before), plan, budget, progress
        )
    # Last, since it is the one that may be interrupted, and comes without a budget if it is long.
    if "monte-carlo" not in asked:
        findings["monte-carlo"] = _skipped("monte-carlo", NOT_ASKED)
    elif plan.long_run is None:
        findings["monte-carlo"] = _run("monte-carlo", rungs.monte_carlo, plan, budget, progress)
    else:
        options = plan.long_run
        findings["monte-carlo"] = _run(
            "monte-carlo", lambda plan: rungs.long_monte_carlo(plan, options), plan, None, None
        )
    return findings


def _skipped(tier: Tier, why: str) -> Finding:
    return Finding(Evidence(tier, "skipped", why))


def _run(
    tier: Tier, read: Callable[[Plan], Finding], plan: Plan, budget: Budget | None, progress: Progress | None
) -> Finding:
    start = time.perf_counter()
    tick = None if progress is None else lambda seconds: progress(tier, seconds)
    try:
        finding = read(plan) if budget is None else budget.run(lambda: read(plan), tick)
    except Undecided as reason:
        finding = Finding(Evidence(tier, "undecided", str(reason)))
    except (RuleError, WorkFailed) as error:
        if tier == "exact":
            raise RuleError(f"rule {plan.rule.name}: {error}") from error
        # The rule runs on plain numbers, as the trial has shown; this reading has no word for it.
        finding = Finding(Evidence(tier, "undecided", f"cannot read the rule: {error}"))
    seconds = time.perf_counter() - start
    return replace(finding, evidence=replace(finding.evidence, seconds=seconds))


def _conclude(plan: Plan, budget: Budget, findings: dict[Tier, Finding]) -> Verdict:
    found, largest = findings["exact"].found, findings["exact"].largest
    evidence = {tier: findings[tier].evidence for tier in TIERS}
    if found is None and evidence["monte-carlo"].result == "fails":
        with contextlib.suppress(Undecided, RuleError, WorkFailed):  # the refutation stands without
            found = largest = budget.run(lambda: rungs.confirm(plan))
    failed = [e for e in evidence.values() if e.result == "fails"]
    proofs = [findings[tier] for tier in TIERS if findings[tier].evidence.proof]
    scope = proofs[0].scope if proofs else ""
    outcome: Outcome = "lossy" if failed else "lossless" if proofs else "undecided"
    return Verdict(
        rule=plan.rule,
        verdict=outcome,
        summary=_sentence(plan, outcome, failed, scope, found, largest),
        scope=scope if outcome == "lossless" else "",
        evidence=tuple(evidence[tier] for tier in TIERS),
        counterexample=found,
        largest=largest,
        settings={
            "vocabulary": plan.vocabulary,
            "sampled_vocabulary": plan.sampled_vocabulary,
            "tree": str(plan.tree),
            "samples": plan.samples,
            "seed": plan.seed,
            "positive_draft": plan.positive_draft,
            "budget_seconds": budget.seconds,
            "budget_bytes": budget.memory,
            "rule_hash": plan.rule.hash,
        },
        warnings=(
            *(() if plan.distributions is None else _notes(plan.distributions)),
            *findings["monte-carlo"].notes,
        ),
    )


def _notes(distributions: Distributions) -> tuple[str, ...]:
    changed = distributions.normalised
    notes = tuple(distributions.warnings)
    if changed.rows:
        notes += (
            f"{changed.rows} rows do not sum to exactly 1 (off by up to {changed.largest:.1e}); "
            "each was divided by its exact sum",
        )
    return notes


def _sentence(
    plan: Plan,
    outcome: Outcome,
    failed: Sequence[Evidence],
    scope: str,
    found: Counterexample | None,
    largest: Counterexample | None,
) -> str:
    rule = plan.rule
    name = rule.name + _changed(rule)
    whose = "the target's greedy decoding" if rule.greedy else "the target's law"
    if outcome == "lossless":
        supposed = ", supposing that every draft probability is positive" if plan.positive_draft else ""
        return f"{name} reproduces {whose}{supposed}. This is proved for {scope}."
    if outcome == "undecided":
        return f"Nothing speaks against {name}, but no rung that was run proves that it is lossless."
    if found is not None and found.undefined:
        return (
            f"{name} is not defined everywhere: on the distributions below it reaches 0/0 or an empty "
            f"support with probability {found.undefined}. If that value is never used, compute it only "
            "where it is, or give m.norm an `otherwise`."
        )
    if largest is not None:
        purpose = "" if rule.claims_lossless or rule.broken else ", as its parameters intend"
        return (
            f"{name} does not reproduce {whose}{purpose}. "
            f"The largest bias found is TV {_size(largest)}, {_where(largest)}."
        )
    return f"{name} does not reproduce {whose}: {failed[0].detail}."


def _changed(rule: Rule) -> str:
    changed = [
        f"{name} = {value}" for name, value in rule.settings.items() if value != rule.parameters[name].default
    ]
    return f" ({', '.join(changed)})" if changed else ""


def _size(found: Counterexample) -> str:
    return f"{found.tv} = {float(found.tv):.4g}" if found.tv.denominator > 1 else str(found.tv)


def _where(found: Counterexample) -> str:
    rows = f"at p = {vector(found.target)}"
    if found.draft is not None:
        rows += f", q = {vector(found.draft)}"
    if found.context:
        rows += f", after {list(found.context)}"
    if found.reached != 1:
        rows += f" (reached with probability {found.reached})"
    return rows


def vector(values: Sequence[Fraction]) -> str:
    """A row of fractions in parentheses: ``(1/2, 1/2)``."""
    return f"({', '.join(map(str, values))})"
