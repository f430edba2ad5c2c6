"""The command `tune`."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import click

from losslesscheck.cli.acceptance import SUPPOSED, acceptance_options, models
from losslesscheck.cli.options import Count
from losslesscheck.cli.outcome import guarded, json_text, plain

STEPS = 8
"""Draft passes of SGLang's that are tried, at most."""

COST_NOTE = """\
Supposed: verifying takes one target pass, however much is drafted. --hardware
prices that, and the batch."""
ROOFLINE_NOTE = """\
Times are rooflines, from below: peak rates, and no time between kernels. Measure
c where you can."""

HARDWARE = ("hardware", "target_model", "draft_model")
ROOFLINE = ("tensor_parallel", "per_layer", "context", "batch", "batches")


@click.command(context_settings={"show_default": True})
@acceptance_options
@click.option("--cost", type=float, metavar="C", help="Draft pass over target pass, in time.")
@click.option("--hardware", metavar="NAME", help="Instead of --cost: an accelerator, such as H100-SXM.")
@click.option("--target-model", metavar="NAME", help="With --hardware: such as Llama-3.1-70B.")
@click.option("--draft-model", metavar="NAME", help="With --hardware: such as Llama-3.2-1B.")
@click.option("--tensor-parallel", type=Count(), metavar="N", help="Accelerators for a layer.  [default: 1]")
@click.option(
    "--per-layer",
    type=float,
    metavar="US",
    help="Microseconds a layer costs whatever its size.  [default: 0]",
)
@click.option("--batch", type=Count(), metavar="B", help="Sequences decoded together.  [default: 1]")
@click.option("--context", type=Count(), metavar="T", help="Tokens in the KV cache of each.  [default: 0]")
@click.option("--batches", type=Count(), metavar="B", help="γ for every batch size up to this one.")
@click.option("--longest", type=Count(), metavar="N", help="γ that is tried, at most.")
@click.option(
    "--budget", type=Count(), metavar="N", help="The best token tree of so many draft tokens at most."
)
@click.option("--depth", type=Count(), default="32", metavar="N", help="With --budget: its levels, at most.")
@click.option("--alpha-error", type=float, default=0.05, metavar="X", help="What if α is off by this?")
@click.option("--cost-error", type=float, metavar="X", help="And c by this?  [default: a fifth of c]")
@click.option("--json", "as_json", is_flag=True, help="One JSON object on standard output.")
@click.option("--debug", is_flag=True, help="Show tracebacks.")
def tune(as_json: bool, debug: bool, **options: Any) -> None:
    """Choose draft length, token tree and engine settings.

    What drafting and verifying cost is said by c alone (--cost: verifying costs one target pass whatever
    it takes in), or computed from a roofline of known hardware and models, from below.
    """
    found = guarded(lambda: _tuned(options), debug)
    click.echo(json_text(found) if as_json else "\n".join(_lines(found, options)))


def _tuned(options: dict[str, Any]) -> dict[str, Any]:
    from losslesscheck.errors import InputError
    from losslesscheck.sim import tune

    named = models(options)
    if len(named) > 1:
        raise InputError(f"alpha: {len(named)} values; tune for one at a time")
    alpha, acceptance = named[0]
    cost = _cost(options)
    where: dict[str, Any] = {"batch": options["batch"] or 1, "context": options["context"] or 0}
    choice = tune.best_draft_length(acceptance, cost, longest=options["longest"], **where)
    c = float(cost.c(**where))
    inputs = {name: value for name, value in options.items() if value is not None}
    found: dict[str, Any] = {
        "inputs": plain(inputs),
        "c": c,
        **asdict(choice),
        "tree": None,
        "by_batch": None,
        "sensitivity": None,
    }
    if options["budget"] is not None:
        if options["beta"] is not None:
            raise InputError("budget: a token tree needs the acceptances of siblings; --beta has none")
        tree = tune.best_size(acceptance, cost, budget=options["budget"], depth=options["depth"], **where)
        found["tree"] = None if tree is None else asdict(tree) | {"tree": str(tree.tree)}
    found["sglang"] = _sglang(acceptance, cost, where, options["budget"])
    settings = tune.vllm(acceptance, cost, longest=options["longest"], **where, batches=options["batches"])
    found["vllm"] = settings
    if options["batches"] is not None:
        ranges = tune.by_batch_size(
            acceptance, cost, up_to=options["batches"], longest=options["longest"], context=where["context"]
        )
        found["by_batch"] = [asdict(row) for row in ranges]
    if alpha is not None and options["hardware"] is None:
        error = c / 5 if options["cost_error"] is None else options["cost_error"]
        mistakes = tune.sensitivity(alpha, c, alpha_error=options["alpha_error"], c_error=error)
        found["sensitivity"] = [asdict(m) | {"loss": m.loss} for m in mistakes]
    return found


def _sglang(acceptance: Any, cost: Any, where: dict[str, Any], budget: int | None) -> dict[str, Any] | None:
    from losslesscheck.sim import tune
    from losslesscheck.sim.acceptance import BySibling

    tokens = 64 if budget is None else budget + 1  # the root counts
    if isinstance(acceptance, BySibling):
        widest = max(map(len, acceptance.rows))
        settings = tune.sglang(acceptance, cost, topk=min(widest, 8), draft_tokens=tokens, **where)
    else:  # nothing but measured acceptances of siblings speaks for a tree
        longest = min(STEPS, tokens - 1, len(getattr(acceptance, "alphas", range(STEPS))))
        best = tune.best_draft_length(acceptance, cost, longest=longest, **where)
        length, gain = best.draft_length, (best.tokens_per_step, best.speedup)
        settings = tune.SGLang(length, 1, length + 1, *gain) if length else None
    return None if settings is None else asdict(settings) | {"flags": " ".join(settings.flags)}


def _cost(options: dict[str, Any]) -> Any:
    from losslesscheck.errors import InputError
    from losslesscheck.sim.cost import Cost, Roofline, Sequential, hardware, transformer

    if options["hardware"] is None:
        for name in (*HARDWARE[1:], *ROOFLINE):
            if options[name] is not None:
                raise InputError(
                    f"{name}: needs --hardware; with --cost a pass costs the same whatever it takes in"
                )
        if options["cost"] is None:
            raise InputError("cost: give c (--cost), or --hardware with --target-model and --draft-model")
        return Cost.relative(options["cost"])
    if options["cost"] is not None:
        raise InputError("cost: give --cost or --hardware, not both")
    for name in HARDWARE:
        if options[name] is None:
            raise InputError(f"{name}: --hardware needs --target-model and --draft-model")
    device = hardware(options["hardware"])
    target, draft = (
        Roofline(
            transformer(options[name]),
            device,
            tensor_parallel=options["tensor_parallel"] or 1,
            per_layer=(options["per_layer"] or 0.0) * 1e-6,
        )
        for name in HARDWARE[1:]
    )
    batch, context = options["batch"] or 1, options["context"] or 0
    if (needed := float(target.memory(batch=batch, context=context))) > device.memory:
        raise InputError(
            f"target_model: {needed / 1e9:.0f} GB on each accelerator, but {device.name} has "
            f"{device.memory / 1e9:.0f} GB; share it out with --tensor-parallel"
        )
    return Cost(target, Sequential(draft))


def _lines(found: dict[str, Any], options: dict[str, Any]) -> list[str]:
    lines = []
    if found["draft_length"]:
        lines.append(
            f"draft length γ = {found['draft_length']}: {found['speedup']:.3f} times as fast, "
            f"{found['tokens_per_step']:.3f} tokens per step (c = {found['c']:.3g})"
        )
        if found["limited"]:
            lines.append("That is the longest that was tried: a longer one may be better.")
    else:
        lines.append(f"Don't speculate: no draft length gains anything at c = {found['c']:.3g}.")
    if options["budget"] is not None:
        lines += ["", *_tree(found["tree"], options["budget"])]
        if options["siblings"] is None:
            lines.append(SUPPOSED)
    if found["by_batch"]:
        lines += ["", "    batch size    γ   speedup"]
        for row in found["by_batch"]:
            batches = f"{row['first']}" if row["first"] == row["last"] else f"{row['first']} … {row['last']}"
            speeds = sorted({f"{row['slowest']:.3f}", f"{row['fastest']:.3f}"})
            lines.append(f"  {batches:>12}  {row['draft_length']:>3}   {' … '.join(speeds)}")
    lines.append("")
    if found["sglang"] is not None:
        s = found["sglang"]
        lines.append(
            f"SGLang, up to {STEPS} steps ({s['speedup']:.3f} times as fast, accept length "
            f"{s['tokens_per_step']:.3f})"
        )
        lines += [f"  --{flag.strip()}" for flag in s["flags"].split("--") if flag.strip()]
    if found["vllm"] is not None:
        lines += ["vLLM, in --speculative-config", f"  {_vllm(found['vllm'])}"]
    if found["sensitivity"]:
        lines += ["", *_sensitivity(found["sensitivity"])]
    return [*lines, "", ROOFLINE_NOTE if options["hardware"] else COST_NOTE]


def _tree(tree: dict[str, Any] | None, budget: int) -> list[str]:
    if tree is None:
        return [f"No token tree of up to {budget} draft tokens gains anything."]
    shape = tree["tree"] if len(tree["tree"]) <= 60 else f"{tree['tree'][:57]}… (--json has all of it)"
    return [
        f"token tree: {tree['draft_tokens']} draft tokens in {tree['depth']} levels, "
        f"{tree['speedup']:.3f} times as fast, {tree['tokens_per_step']:.3f} tokens per step",
        f"  {shape}",
    ]


def _vllm(settings: dict[str, Any]) -> str:
    import json

    return json.dumps({name: value for name, value in settings.items() if not isinstance(value, list)})


def _sensitivity(rows: list[dict[str, Any]]) -> list[str]:
    lines = [f"If α and c are others than was thought when γ = {rows[0]['chosen']} was chosen:"]
    lines.append("        α         c   best γ   speedup with it   with yours   given away")
    return lines + [
        f"  {row['alpha']:7.4g}  {row['c']:8.4g}   {row['best']:6}   {row['best_speedup']:15.3f}   "
        f"{row['speedup']:10.3f}   {100 * max(row['loss'], 0.0):8.1f} %"
        for row in rows
    ]
