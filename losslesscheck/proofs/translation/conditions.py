"""Conditions of a rule's text as branches: ``and``, ``or`` and chains of comparisons are left as soon as
they are decided, and what follows is written out for both answers."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence

from losslesscheck.proofs.translation.calls import Calls
from losslesscheck.proofs.translation.expressions import ORDER
from losslesscheck.proofs.translation.gallina import (
    Term,
    alternatives,
    beside,
    branches,
    identifiers,
    let,
    operated,
    related,
    renamed,
)
from losslesscheck.proofs.translation.values import (
    Constant,
    Function,
    Names,
    Special,
    Value,
    assigned,
    kind_of,
    shown,
    special,
)


class Conditions(Calls):
    """The conditions of one function."""

    def branch(self, node: ast.expr, names: Names, yes: Callable[[], str], no: Callable[[], str]) -> str:
        """The program that evaluates the condition and goes on as it says."""
        self.count(node)
        return self.limited(node, self.condition(node, names, yes, no))

    def condition(self, node: ast.expr, names: Names, yes: Callable[[], str], no: Callable[[], str]) -> str:
        """The same, of whatever length."""
        match node:
            case ast.BoolOp(op=op, values=[first, *rest]) if rest:
                others = ast.copy_location(ast.BoolOp(op, rest), node) if len(rest) > 1 else rest[0]
                if isinstance(op, ast.And):
                    return self.branch(first, names, lambda: self.branch(others, names, yes, no), no)
                return self.branch(first, names, yes, lambda: self.branch(others, names, yes, no))
            case ast.UnaryOp(op=ast.Not(), operand=of):
                return self.branch(of, names, no, yes)
            case ast.IfExp(test=test, body=a, orelse=b):
                return self.branch(
                    test,
                    names,
                    lambda: self.branch(a, names, yes, no),
                    lambda: self.branch(b, names, yes, no),
                )
            case ast.Compare(left=left, ops=[ast.Lt() | ast.LtE() as op], comparators=[bound]):
                found = self.coin(left, names)
                if found is not None:
                    return self.coin_below(*found, op, bound, names, yes, no)
                return self.chain(node, names, yes, no)
            case ast.Compare():
                return self.chain(node, names, yes, no)
            case ast.Call(func=ast.Attribute(value=m, attr="flip")) if special(m, names) == "machine":
                (probability,) = self.arguments(node, 1)
                return self.typed(
                    probability, "number", names, lambda a: alternatives(f"Flip {a.within(0)}", yes(), no())
                )
            case ast.Call(func=ast.Name(id=name) as called):
                if self.is_builtin(called, "bool", names):
                    (of,) = self.arguments(node, 1)
                    return self.branch(of, names, yes, no)
                own = names.get(name)
                if isinstance(own, Function):
                    return self.inlined(node, own, names, yes, no)
        return self.value(node, names, lambda v: self.decided(node, v, yes, no))

    def decided(self, node: ast.AST, value: Value, yes: Callable[[], str], no: Callable[[], str]) -> str:
        if isinstance(value, Constant) and isinstance(value.value, bool):
            return yes() if value.value else no()
        return branches(self.as_type(node, value, "bool"), yes(), no())

    def chain(self, node: ast.Compare, names: Names, yes: Callable[[], str], no: Callable[[], str]) -> str:
        """Comparisons that share operands, each operand evaluated once."""

        def go_on(left: Value, place: int) -> str:
            def with_right(right: Value) -> str:
                compared = self.compared(node, left, node.ops[place], right)
                last = place + 1 == len(node.ops)
                return self.decided(node, compared, yes if last else lambda: go_on(right, place + 1), no)

            return self.value(node.comparators[place], names, with_right)

        return self.value(node.left, names, lambda left: go_on(left, 0))

    def coin(self, node: ast.expr, names: Names) -> tuple[Term, ast.expr | None] | None:
        """The coin that the expression is, and the factor that it is multiplied by, if any."""
        if self.is_new_coin(node, names):
            return Term("fresh coin", ""), None
        if isinstance(node, ast.Name):
            value = names.get(node.id)
            return (value, None) if isinstance(value, Term) and value.type == "coin" else None
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
            for coin, factor in ((node.left, node.right), (node.right, node.left)):
                found = self.coin(coin, names)
                if found is not None and found[1] is None:
                    return found[0], factor
        return None

    def coin_below(
        self,
        coin: Term,
        factor: ast.expr | None,
        op: ast.cmpop,
        bound: ast.expr,
        names: Names,
        yes: Callable[[], str],
        no: Callable[[], str],
    ) -> str:
        """``coin < bound``, or ``coin * factor < bound``, which does not ask the coin if the factor is 0."""

        def narrowed(low: str, high: str, goes_on: Callable[[], str]) -> str:
            body = goes_on()
            if coin.text in identifiers(body):
                body = let(coin.text, Term("coin", f"({low}, {high})"), body)
            return beside("fun bound =>", body)

        def below(threshold: Term) -> str:
            low, high = (f"{coin.text}.1", f"{coin.text}.2") if coin.text else ("0", "1")
            return alternatives(
                f"below {low} {high} {threshold.within(0)}",
                narrowed(low, "bound", yes),
                narrowed("bound", high, no),
            )

        if factor is None:
            return self.typed(bound, "number", names, below)

        def scaled(values: list[Value]) -> str:
            a = self.as_type(factor, values[0], "number")
            b = self.as_type(bound, values[1], "number")
            zero = Term("number", "0")
            return branches(
                related(zero, "<", a),
                below(operated("number", b, "/", a)),
                branches(related(zero, ORDER[type(op)], b), yes(), no()),
            )

        return self.values([factor, bound], names, scaled)

    def inlined(
        self,
        node: ast.Call,
        function: Function,
        names: Names,
        yes: Callable[[], str],
        no: Callable[[], str],
    ) -> str:
        """A condition that is a call of the rule's own function, with its text in place of the call.

        Its arguments and variables are bound to names that nothing else has; see ``bound_as``. Of the
        rule's names it sees all but coins, which it would have to narrow for the rule.
        """
        definition = function.definition
        arguments = [argument.arg for argument in definition.args.args]
        given = self.arguments(node, len(arguments))
        local = {*assigned(definition.body), *arguments}
        scope = names if function.scope is None else function.scope
        scope = {n: v for n, v in scope.items() if n != definition.name and kind_of(v) != "coin"}
        outer = {
            n: Function(v.definition, scope) if isinstance(v, Function) else v
            for n, v in scope.items()
            if n not in local
        }
        if any(isinstance(scope.get(name), Special) for name in local):
            self.refuse(definition, f"`{definition.name}` gives another meaning to an argument of the rule")

        def body(statements: Sequence[ast.stmt], inner: Names) -> str:
            if not statements:
                self.refuse(definition, f"`{definition.name}` may end without a value")
            self.count(statements[0])
            rest = statements[1:]
            match statements[0]:
                case ast.Expr(value=ast.Constant(value=str())) | ast.Pass():
                    return body(rest, inner)
                case ast.Assign(targets=[ast.Name(id=name)], value=value):
                    return self.value(
                        value,
                        inner,
                        lambda v: self.bound_as(value, v, inner, lambda b: body(rest, {**inner, name: b})),
                    )
                case ast.If(test=test, body=first, orelse=second):
                    return self.branch(
                        test,
                        inner,
                        lambda: body([*first, *rest], inner),
                        lambda: body([*second, *rest], inner),
                    )
                case ast.Return(value=ast.expr() as value):
                    return self.branch(value, inner, yes, no)
            self.refuse_this(statements[0])

        def called(values: Sequence[Value], inner: Names) -> str:
            if not values:
                return body(definition.body, inner)
            place = len(given) - len(values)
            return self.bound_as(
                given[place],
                values[0],
                names,
                lambda b: called(values[1:], {**inner, arguments[place]: b}),
            )

        return self.values(given, names, lambda values: called(values, outer))

    def bound_as(self, at: ast.expr, value: Value, names: Names, then: Callable[[Value], str]) -> str:
        """What follows with the value of an argument, or of a variable, of the rule's own function.

        It is bound, so that what Python evaluates stands in the text even if the value is used in one
        branch only, or nowhere. What cannot fail and is short is put in where it is used.
        """
        if not isinstance(value, (Term, Constant)) or kind_of(value) in ("coin", "fresh coin"):
            self.refuse(at, f"`{shown(at)}` is a {kind_of(value)}, which must keep its name")
        if isinstance(value, Constant) or value.text.isidentifier() or self.cannot_fail(at, names):
            return then(value)
        name, body = self.with_name(lambda name: then(renamed(value, name)))
        return let(name, value, body)

    def cannot_fail(self, node: ast.expr, names: Names) -> bool:
        """Whether it is a name, m.one or (), a model's vector after such, or the best token of such."""
        match node:
            case ast.Name() | ast.Attribute() | ast.Tuple(elts=[]):
                return True  # a name has a value, which is bound, or put in as it cannot fail either
            case ast.Call(func=ast.Attribute(value=m, attr="argmax"), args=[of]):
                return special(m, names) == "machine" and self.cannot_fail(of, names)
            case ast.Call(func=ast.Name(id=model), args=[ast.Name() | ast.Tuple(elts=[])]):
                return kind_of(names[model]) == "model"
        return False
