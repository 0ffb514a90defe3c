"""The derivative rules of elementwise functions, from the slopes or the composition that their rows give.

With the slope s of an argument the cotangent is conj(s) g and the tangent s t. A slope that is a quotient
divides, so that no rounding is added: t / x, and not t times 1 / x. A composition is pulled back, or pushed
forward, op by op by the rules of those ops.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from gradfuzz.engine.rules.functions import conj
from gradfuzz.engine.rules.value import apply
from gradfuzz.programs.arithmetic.elementwise import expression
from gradfuzz.programs.language.functions import Function
from gradfuzz.programs.language.syntax import Call, Const, Expr, Name

Rule = Callable[..., Any]
Rules = Mapping[str, Any]


def vjp_rules(row: Function, table: Rules) -> tuple[Rule, ...]:
    """The cotangent of each argument."""
    count = range(len(row.arguments))
    if not row.slopes:
        return tuple(_pulled(row, table, k) for k in count)
    turn = conj if row.complex else None
    return tuple(_scaled(row, row.slopes[k], turn) for k in count)


def jvp_rules(row: Function, table: Rules) -> tuple[Rule, ...]:
    """The tangent of the result along the tangent of each argument."""
    count = range(len(row.arguments))
    if not row.slopes:
        return tuple(_pushed(row, table, k) for k in count)
    return tuple(_scaled(row, (row.forward or row.slopes)[k], None) for k in count)


def _scaled(row: Function, slope: str, turn: Rule | None) -> Rule:
    def rule(g: Any, ans: Any, *args: Any, **params: int) -> Any:
        text = slope.format(**params, next=params["n"] + 1, last=params["n"] - 1) if params else slope
        return _times(g, expression(text), {**dict(zip(row.arguments, args, strict=True)), "ans": ans}, turn)

    return rule


def _times(g: Any, slope: Expr, names: Mapping[str, Any], turn: Rule | None) -> Any:
    """`slope` times g, or `turn(slope)` times g."""
    if isinstance(slope, Call) and slope.op == "negative":
        return -_times(g, slope.args[0], names, turn)
    if isinstance(slope, Call) and slope.op == "divide":
        above, below = slope.args
        over = g if above == Const(1.0) else _times(g, above, names, turn)
        factor = _value(below, names)
        return over / (turn(factor) if turn else factor)
    factor = _value(slope, names)
    return g * (turn(factor) if turn else factor)


def _value(expr: Expr, names: Mapping[str, Any]) -> Any:
    """An expression, recorded."""
    if isinstance(expr, Name):
        return names[expr.id]
    if isinstance(expr, Const):
        return expr.value
    assert isinstance(expr, Call), "the expressions of rows have no arrays"
    return apply(expr.op, *(_value(a, names) for a in expr.args), **dict(expr.params))


def _pulled(row: Function, table: Rules, place: int) -> Rule:
    body = expression(row.composition)

    def rule(g: Any, ans: Any, *args: Any) -> Any:
        names = dict(zip(row.arguments, args, strict=True))

        def pull(expr: Expr, g: Any) -> Any:
            """What `expr`, with the cotangent g, contributes to the argument."""
            if isinstance(expr, Name):
                return g if expr.id == row.arguments[place] else None
            if not isinstance(expr, Call) or expr.op not in table:
                return None
            values = [_value(a, names) for a in expr.args]
            result = apply(expr.op, *values, **dict(expr.params))
            total = None
            for arg, one in zip(expr.args, table[expr.op], strict=True):
                part = None if isinstance(arg, Const) else one(g, result, *values, **dict(expr.params))
                part = None if part is None else pull(arg, part)
                total = part if total is None else total if part is None else total + part
            return total

        return pull(body, g)

    return rule


def _pushed(row: Function, table: Rules, place: int) -> Rule:
    body = expression(row.composition)

    def rule(t: Any, ans: Any, *args: Any) -> Any:
        names = dict(zip(row.arguments, args, strict=True))

        def push(expr: Expr) -> Any:
            """The tangent of `expr`; None where it is 0."""
            if isinstance(expr, Name):
                return t if expr.id == row.arguments[place] else None
            if not isinstance(expr, Call) or expr.op not in table:
                return None
            values = [_value(a, names) for a in expr.args]
            result = apply(expr.op, *values, **dict(expr.params))
            total = None
            for arg, one in zip(expr.args, table[expr.op], strict=True):
                tangent = push(arg)
                part = None if tangent is None else one(tangent, result, *values, **dict(expr.params))
                total = part if total is None else total if part is None else total + part
            return total

        return push(body)

    return rule
