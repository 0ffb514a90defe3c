"""The derivative rules of elementwise functions, from the slopes or the composition that their rows give.

With the slope s of an argument the cotangent is conj(s) g and the tangent s t. A slope that is a quotient
divides, so that no rounding is added: t / x, and not t times 1 / x. A composition is pulled back, or pushed
forward, op by op by the rules of those ops.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

from gradfuzz.engine.rules.functions import conj
from gradfuzz.engine.rules.value import apply
from gradfuzz.programs.arithmetic.elementwise import computed, expression
from gradfuzz.programs.language.functions import Function
from gradfuzz.programs.language.syntax import Call, Const, Expr, Name

Rule = Callable[..., Any]
Rules = Mapping[str, Any]


class _Recorded:
    """The arithmetic of expressions that are recorded."""

    def __getattr__(self, op: str) -> Rule:
        return functools.partial(apply, op)

    def constant(self, value: float) -> float:
        return value


_RECORDED = _Recorded()


def vjp_rules(row: Function, table: Rules) -> tuple[Rule, ...]:
    """The cotangent of each argument."""
    turn = conj if row.complex else None
    return tuple(_scaled(row, s, turn) for s in row.slopes) or _walked(row, table, forward=False)


def jvp_rules(row: Function, table: Rules) -> tuple[Rule, ...]:
    """The tangent of the result along the tangent of each argument."""
    slopes = row.forward or row.slopes
    return tuple(_scaled(row, s, None) for s in slopes) or _walked(row, table, forward=True)


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
        return over / _turned(below, names, turn)
    return g * _turned(slope, names, turn)


def _turned(expr: Expr, names: Mapping[str, Any], turn: Rule | None) -> Any:
    value = computed(expr, _RECORDED, names)
    return turn(value) if turn else value


def _walked(row: Function, table: Rules, *, forward: bool) -> tuple[Rule, ...]:
    """The rule of each argument, by the rules of the ops of the composition."""
    body = expression(row.composition)

    def by(argument: str) -> Rule:
        def rule(seed: Any, ans: Any, *args: Any) -> Any:
            names = dict(zip(row.arguments, args, strict=True))

            def walk(expr: Expr, seed: Any) -> Any:
                """The tangent of `expr`, or what it contributes with the cotangent `seed`; None where that
                is 0.
                """
                if isinstance(expr, Name):
                    return seed if expr.id == argument else None
                if not isinstance(expr, Call) or expr.op not in table:
                    return None
                params = dict(expr.params)
                values = [computed(a, _RECORDED, names) for a in expr.args]
                known = (apply(expr.op, *values, **params), *values)
                total = None
                for arg, one in zip(expr.args, table[expr.op], strict=True):
                    part = walk(arg, seed) if forward else None if isinstance(arg, Const) else seed
                    part = None if part is None else one(part, *known, **params)
                    if not forward and part is not None:
                        part = walk(arg, part)
                    total = part if total is None else total if part is None else total + part
                return total

            return walk(body, seed)

        return rule

    return tuple(map(by, row.arguments))
