"""What options are made of: counts, widths, trees, and a rule's own parameters."""

from __future__ import annotations

from typing import Any

import click


class Count(click.ParamType[int]):
    """A whole number that may be written 1e6."""

    name = "count"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        try:
            number = float(value)
        except ValueError:
            self.fail(f"{value!r} is not a number", param, ctx)
        if not 1 <= number < float("inf") or number != int(number):
            self.fail(f"{value!r} is not a positive whole number", param, ctx)
        return int(number)


class Widths(click.ParamType[tuple[int, ...]]):
    """Widths of a tree by depth: 4,2,1."""

    name = "widths"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[int, ...]:
        if isinstance(value, tuple):
            return value
        try:
            return tuple(int(part) for part in str(value).split(","))
        except ValueError:
            self.fail(f"{value!r} is no list of widths such as 4,2,1", param, ctx)


def tree_of(options: dict[str, Any]) -> Any:
    from losslesscheck.errors import InputError
    from losslesscheck.tree import Tree

    given = [o for o in ("tree", "parents") if options[o] is not None]
    if options["width"] is not None or options["depth"] is not None:
        given.append("width")
    if len(given) > 1:
        raise InputError("tree: give one of --tree, --parents, or --width and --depth")
    if options["tokens"] is not None and options["parents"] is None:
        raise InputError("tokens: --tokens needs --parents")
    if options["parents"] is not None:
        tokens = None if options["tokens"] is None else integers("tokens", options["tokens"])
        return Tree.from_parents(integers("parents", options["parents"]), tokens)
    if "width" in given:
        return Tree.regular((options["width"] or 1,) * (options["depth"] or 1))
    return options["tree"]


def integers(name: str, text: str) -> list[int]:
    from losslesscheck.errors import InputError

    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise InputError(f"{name}: {text!r} is no list of integers") from None


def parameters_of(arguments: list[str]) -> dict[str, str]:
    """The rule's own parameters among the command line's left-over arguments."""
    from losslesscheck.errors import InputError

    found: dict[str, str] = {}
    rest = list(arguments)
    while rest:
        option = rest.pop(0)
        if not option.startswith("--"):
            raise InputError(f"unexpected argument {option!r}")
        name, equals, value = option[2:].partition("=")
        if not equals:
            if not rest:
                raise InputError(f"option --{name} needs a value")
            value = rest.pop(0)
        found[name.replace("-", "_")] = value
    return found
