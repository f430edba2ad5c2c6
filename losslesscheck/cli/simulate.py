"""The command `simulate`."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import click

from losslesscheck.cli.acceptance import MODELS, SUPPOSED, acceptance_options, models
from losslesscheck.cli.numbers import Numbers, Rows
from losslesscheck.cli.options import Count, Widths, parameters_of, tree_of
from losslesscheck.cli.outcome import guarded, json_text, plain
from losslesscheck.cli.points import as_dict, table, text

SIMULATION = ("precision", "confidence", "most_steps")


@click.command(
    context_settings={"ignore_unknown_options": True, "allow_extra_args": True, "show_default": True}
)
@acceptance_options
@click.option("--rule", "-r", metavar="NAME|FILE:FUNCTION", help="A rule, with --target and --draft.")
@click.option(
    "--target", type=Rows(), metavar="P;P;…", help="Rows of the target by position; the last goes on."
)
@click.option("--draft", type=Rows(), metavar="Q;Q;…", help="Rows of the draft.")
@click.option("--gamma", type=Numbers(whole=True), metavar="N", help="Draft length; a list or range sweeps.")
@click.option("--tree", type=Widths(), metavar="4,2,1", help="Draft tokens per node, by depth.")
@click.option("--width", type=Count(), metavar="K", help="Siblings at every node; with --depth.")
@click.option("--depth", type=Count(), metavar="N", help="Levels of the tree; with --width.")
@click.option(
    "--parents", metavar="-1,0,0", help="Any tree: for each draft token the index of the one above."
)
@click.option(
    "--tokens", metavar="7,3,5", help="With --parents: the draft tokens, where the rule fixes them."
)
@click.option(
    "--cost", type=Numbers(), default="0", metavar="C", help="Draft pass over target pass, in time; sweeps."
)
@click.option("--operations", type=float, metavar="Ĉ", help="The same in operations.  [default: as --cost]")
@click.option(
    "--verify", type=float, default=1.0, metavar="T", help="Time of the verifying pass, in target passes."
)
@click.option("--parallel", is_flag=True, help="One draft pass drafts everything, as Medusa's heads do.")
@click.option("--simulate", "thrown", is_flag=True, help="Throw coins even where a formula exists.")
@click.option("--precision", type=float, metavar="H", help="Half width of the interval.  [default: .001]")
@click.option("--confidence", type=float, metavar="L", help="Of the interval.  [default: .99]")
@click.option("--most-steps", type=Count(), metavar="N", help="Simulated steps, at most.  [default: 2**30]")
@click.option("--seed", type=click.IntRange(min=0), default=0)
@click.option(
    "--plot", type=click.Path(dir_okay=False), metavar="FILE", help="Plot a sweep: .svg, .png or .pdf."
)
@click.option("--csv", type=click.Path(dir_okay=False), metavar="FILE", help="Write every point of a sweep.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object on standard output.")
@click.option("--debug", is_flag=True, help="Show tracebacks.")
@click.pass_context
def simulate(context: click.Context, /, as_json: bool, debug: bool, **options: Any) -> None:
    """Predict tokens per step and speedup.

    Acceptance comes from a model (--alpha, --alphas, --siblings, --beta) or from a rule on given p and q
    (--rule, --target, --draft). A formula is used where there is one, a rule is followed exactly where
    that is quick; else coins are thrown. Tokens per step count the bonus token.
    """

    def run() -> str:
        own = parameters_of(context.args)
        found, predictions = _points(own, options)
        inputs = _inputs(options, own)
        branches = bool((found.draft_tokens > found.draft_length).any())
        supposed = branches and options["siblings"] is None and options["rule"] is None
        note = SUPPOSED if supposed else ""
        if len(found) > 1:
            return json_text({"points": found.rows(), "inputs": inputs}) if as_json else table(found, note)
        (prediction,) = predictions
        return json_text(as_dict(found, prediction, inputs)) if as_json else text(found, prediction, note)

    click.echo(guarded(run, debug))


def _points(own: dict[str, str], options: dict[str, Any]) -> tuple[Any, list[Any]]:
    """The sweep, and the prediction for every acceptance and shape."""
    from losslesscheck.errors import InputError
    from losslesscheck.sim.plot import check_folder, check_path, plot
    from losslesscheck.sim.sweep import sweep

    if options["plot"] is not None:
        check_path(Path(options["plot"]))
    if options["csv"] is not None:
        check_folder("csv", Path(options["csv"]))
    rule = None
    if options["rule"] is not None:
        from losslesscheck import rules

        rule = rules.resolve(options["rule"]).bind(**own)
    elif own:
        raise InputError(f"there is no option --{next(iter(own)).replace('_', '-')}")
    shapes, predictors, costs = _shapes(rule, options), _predictors(rule, options), options["cost"]
    if options["plot"] is not None and len(predictors) * len(shapes) * len(costs) == 1:
        raise InputError("plot: a single point; sweep over --alpha, --gamma or --cost")
    predictions: list[Any] = []

    def kept(predict: Any) -> Any:
        def predicted(shape: Any) -> Any:
            predictions.append(predict(shape))
            return predictions[-1]

        return predicted

    found = sweep(
        [(alpha, kept(predict)) for alpha, predict in predictors],
        shapes,
        costs,
        c_hat=options["operations"],
        verify=options["verify"],
        parallel=options["parallel"],
    )
    if options["csv"] is not None:
        with open(options["csv"], "w", encoding="utf-8", newline="") as file:
            found.write_csv(file)
    if options["plot"] is not None:
        plot(found, Path(options["plot"]))
    return found, predictions


def _shapes(rule: Any, options: dict[str, Any]) -> list[Any]:
    from losslesscheck.errors import InputError
    from losslesscheck.sim.sweep import Shape
    from losslesscheck.tree import Tree

    tree = tree_of(options)
    if rule is not None and not rule.takes_tree and options["draft"] is not None:
        from losslesscheck.sim.acceptance.rows import model
        from losslesscheck.testing.drafting import own_tree

        if tree is not None or options["gamma"] is not None:
            raise InputError(f"tree: {rule.name} builds its own token tree; see its own parameters")
        return [Shape(tree=own_tree(rule, model("draft", options["draft"])))]
    if options["gamma"] is not None:
        if tree is not None:
            raise InputError("gamma: give a draft length or a tree, not both")
        return [Shape(length) for length in options["gamma"]]
    if tree is not None:
        return [Shape(tree=tree if isinstance(tree, Tree) else Tree.regular(tree))]
    if options["alphas"] is not None:
        return [Shape(len(options["alphas"]))]
    if rule is not None:
        return [Shape(tree=rule.tree)]
    raise InputError("gamma: give a draft length (--gamma) or a tree (--tree)")


def _predictors(rule: Any, options: dict[str, Any]) -> list[tuple[float | None, Any]]:
    """What predicts, for every acceptance that is asked for."""
    from losslesscheck.errors import InputError
    from losslesscheck.sim import predict, predict_rule

    how = {name: options[name] for name in SIMULATION if options[name] is not None}
    how["seed"] = options["seed"]
    if rule is None:
        if options["target"] is not None or options["draft"] is not None:
            raise InputError("rule: --target and --draft need a --rule")
        if not options["thrown"]:
            for name in SIMULATION:
                if options[name] is not None:
                    raise InputError(f"{name}: nothing is simulated; --simulate throws coins")

        function: Any = predict
        if options["thrown"]:
            from losslesscheck.sim.simulate import of_acceptance

            function = partial(of_acceptance, **how)

        def of(model: Any) -> Any:
            return lambda shape: function(model, draft_length=shape.draft_length, tree=shape.tree)

        return [(alpha, of(model)) for alpha, model in models(options)]

    if model := next((name for name in MODELS if options[name] is not None), None):
        raise InputError(
            f"{model}: a rule's acceptance follows from --target and --draft; --{model} is another model"
        )
    if options["target"] is None:
        raise InputError(f"target: {options['rule']} needs --target, and --draft if it draws from one")
    exact: dict[str, Any] = {"seconds": 0.0} if options["thrown"] else {}

    def of_rule(shape: Any) -> Any:
        tree = rule.fit(shape.drafted, len(options["target"][0])) if rule.takes_tree else None
        return predict_rule(rule, options["target"], options["draft"], tree=tree, **exact, **how)

    return [(None, of_rule)]


def _inputs(options: dict[str, Any], own: dict[str, str]) -> dict[str, Any]:
    """The options as JSON has them, without those that were not given or only say where results go."""
    places = ("plot", "csv")
    given = {
        name: plain(v)
        for name, v in options.items()
        if v is not None and v is not False and name not in places
    }
    given.pop("thrown", None)
    if options["alphas"] is not None:
        given["alphas"] = list(options["alphas"])
    return given | own
