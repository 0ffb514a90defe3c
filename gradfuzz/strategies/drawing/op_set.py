"""The ops of loop programs, and the options that a set of ops allows."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, TypeVar

from gradfuzz.programs import Expr, Name
from gradfuzz.programs.language.program import called
from gradfuzz.programs.language.recent import Recent
from gradfuzz.strategies.drawing.algebra import ExpressionPattern
from gradfuzz.strategies.drawing.dice import Dice, Odds

T = TypeVar("T")

JOINS = ("multiply", "add", "subtract", "maximum", "minimum", "divide")
"""Ops that join any two floats."""
SCALARS = ("sum", "index", "mean", "prod")
"""Ops that make a scalar of an array."""
INEQUALITIES = ("greater", "less", "greater_equal", "less_equal")
COMPARISONS = (*INEQUALITIES, "equal", "not_equal")
LOOP_OPS = (
    *JOINS,
    *("negative", "sin", "cos", "tan", "tanh", "exp", "log", "sqrt", "integer_pow", "pow", "abs", "sign"),
    *("where", "astype", *COMPARISONS, "logical_and", "logical_or", "logical_not", "remainder", *SCALARS),
    *("index_update", "stack", "concat", "reshape", "broadcast_to", "permute_dims", "flip"),
    *("cumulative_sum", "matmul"),
)
"""All ops of loop programs."""


def ops_of(option: ExpressionPattern | Callable[..., Expr] | Expr | None) -> frozenset[str]:
    """The ops of a table's option: an expression, a pattern, a builder of expressions, or None."""
    return _found.get(option)


def _ops_of(option: ExpressionPattern | Callable[..., Expr] | Expr | None) -> frozenset[str]:
    if option is None:
        return frozenset()
    if isinstance(option, ExpressionPattern):
        option = option.expr
    elif callable(option):
        option = option(*map(Name, inspect.signature(option).parameters))
    return frozenset(called(option))


_found = Recent(_ops_of, 4096)


@functools.lru_cache(maxsize=1024)
def within(table: Odds[T], ops: frozenset[str]) -> Odds[T]:
    """The options of `table` that use only these ops; it may be empty."""
    return table.where(lambda option: ops_of(option) <= ops)  # type: ignore[arg-type]


@functools.lru_cache(maxsize=1024)
def _preferring(table: Odds[T], op: str) -> Odds[T]:
    """The table where options that use `op` have this many times their weight."""

    def weight(option: Any) -> int:
        return _PREFERRED if op in ops_of(option) else 1

    return Odds(*((times * weight(option), option) for times, option in table.rows))


_PREFERRED = 40


def uses(table: Odds[Any], op: str) -> bool:
    """Whether an option of `table` uses `op`."""
    return any(op in ops_of(option) for _, option in table.rows)


def preferred(dice: Dice, table: Odds[T]) -> T:
    """One option of `table`, rather one with the op that the draws are about, until it has been drawn."""
    op = dice.about
    if op is None:
        return dice.weighted(table)
    option: T = dice.weighted(_preferring(table, op))
    if op in ops_of(option):  # type: ignore[arg-type]
        dice.about = None
    return option


def chosen(dice: Dice, table: Odds[T]) -> T:
    """One option of `table` that uses only the ops of `dice`."""
    fitting: Odds[T] = table if dice.ops is None else within(table, dice.ops)
    return preferred(dice, fitting)


def offers(dice: Dice, table: Odds[T]) -> bool:
    """Whether `chosen` has an option to choose."""
    return dice.ops is None or bool(within(table, dice.ops).rows)
