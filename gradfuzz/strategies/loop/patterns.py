"""Tables of patterns: small expressions with places for other expressions."""

from __future__ import annotations

import functools

from gradfuzz.programs.language.functions import FUNCTIONS, Function
from gradfuzz.strategies.drawing.algebra import ExpressionPattern, numbers, pattern, patterns
from gradfuzz.strategies.drawing.dice import Odds
from gradfuzz.strategies.drawing.op_set import INEQUALITIES, LOOP_OPS, ops_of, within
from gradfuzz.strategies.drawing.validation import check_choices, reject

NUMBERS = numbers(
    *((6, 2.0), (4, 1.0), (5, 0.5), (3, 3.0), (2, -1.0), (2, 1.5), (2, 0.25), (1, -0.5), (1, 0.1), (1, 10.0))
)
REDUCTIONS = patterns((5, "sum(v)"), (2, "mean(v)"), (2, "prod(v)"), (1, "sum(v * v)"))
POSITIVE = patterns((3, "2.0 + sin(e)"), (2, "1.0 + e * e"), (1, "exp(sin(e))"))

_TERMS: Odds[ExpressionPattern | None] = Odds(
    (26, None),  # a leaf
    *patterns(
        *((14, "a * b"), (12, "a + b"), (7, "a - b"), (8, "sin(e)"), (4, "cos(e)"), (5, "tanh(e)")),
        *((3, "-e"), (3, "e * e"), (1, "e ** 3"), (3, "a / (2.0 + sin(b))"), (2, "a / (1.0 + b * b)")),
        *((2, "exp(-(e * e))"), (2, "exp(sin(e))"), (2, "log(1.0 + e * e)"), (2, "sqrt(1.0 + e * e)")),
        *((1, "(1.0 + a * a) ** sin(b)"), (1, "tan(tanh(e))")),
        *((2, "maximum(a, b)"), (2, "minimum(a, b)"), (2, "abs(e)"), (2, "where(a > b, a * d, b)")),
        *((1, "a * sign(b)"), (2, "a * float(a < b)")),
        *((3, "a / x"), (2, "a * log(x)"), (2, "a * sqrt(x)"), (1, "a * x ** -2"), (1, "a * exp(-x)")),
        (1, "x ** e"),
    ).rows,
)
VECTORS = patterns(
    *((3, "flip(v)"), (3, "cumulative_sum(v)")),
    *((2, "v / (1.0 + sum(v * v))"), (1, "v - mean(v, keepdims=True)")),
)
MATRICES = patterns(
    *((3, "permute_dims(m, axes=(1, 0))"), (2, "m @ m")),
    *((1, "m / (1.0 + sum(m * m, axis=0))"), (1, "cumulative_sum(m, axis=1)")),
)

_UPDATES: Odds[ExpressionPattern | None] = Odds(
    *patterns(
        *((18, "c * p"), (6, "c + p"), (8, "sin(c * p)"), (9, "c * p + q"), (6, "c * c + p")),
        *((5, "sin(c) + p"), (4, "c * (p - 2.0)"), (3, "c * -p"), (3, "c * (p - q)"), (6, "c / x")),
        *((3, "tanh(c + p)"), (3, "sin(c) * p + q"), (2, "cos(c) * p"), (2, "p * exp(-(c * c))")),
        *((2, "p / (1.0 + c * c)"), (1, "c * (p * p)"), (1, "maximum(c * p, p)")),
        *((1, "where(c > p, c * p, c + p)"), (1, "tanh(exp(sin(c))) * p"), (1, "(c + p) ** 2")),
        *((1, "c + log(x)"), (1, "c * sqrt(x)"), (1, "x ** sin(c)")),
    ).rows,
    (16, None),  # built from the forms above
)
"""The next value of a carry `c`. Most of the weight is on bodies from real bug reports."""

CARRIED = patterns(
    *((5, "c"), (2, "sin(c)"), (1, "tanh(c)"), (1, "c * c"), (1, "cos(c)")),
    *((1, "c / (2.0 + sin(c))"), (1, "log(1.0 + c * c)")),
)
JOINED = patterns(
    *((5, "a * b"), (4, "a + b"), (2, "a - b"), (1, "maximum(a, b)"), (1, "minimum(a, b)")),
    (1, "a / (2.0 + sin(b))"),
)


# Some ops alone ---------------------------------------------------------------------------------------------

_PLAIN = patterns(
    *((2, "exp(x)"), (2, "log(x)"), (2, "sqrt(x)"), (2, "tan(x)"), (1, "sign(e)")),
    *((2, "where(a > b, a, d)"), (2, "where(a < b, a, d)")),
    *((1, "where(a >= b, a, d)"), (1, "where(a <= b, a, d)")),
    *((1, "float(a > b)"), (1, "float(a < b)"), (1, "float(a >= b)"), (1, "float(a <= b)")),
)
"""Used where the allowed ops leave no other pattern with one of these ops."""
_ALONE = patterns((4, "sin(c)"), (2, "cos(c)"), (2, "tanh(c)"), (1, "-c"), (1, "abs(c)"))
"""The next value of a carry where no op joins it to another expression."""
_OTHERS = 3
"""So many times as often as an elementwise function of weight 1 is a pattern of weight 1 drawn."""


def _called(row: Function) -> ExpressionPattern:
    """A function of an expression that is brought into its domain, beside another one where it takes two."""
    arguments = [*("a" if len(row.arguments) == 2 else ""), row.inside, *(f"{p}=1" for p in row.params)]
    return pattern(f"{row.name}({', '.join(arguments)})")


@functools.cache
def _functions(names: tuple[str, ...]) -> Odds[ExpressionPattern | None]:
    """`_TERMS`, and the elementwise functions of `names`."""
    rows = [(FUNCTIONS[name].weight, _called(FUNCTIONS[name])) for name in names if FUNCTIONS[name].weight]
    return Odds(*((weight * _OTHERS, form) for weight, form in _TERMS.rows), *rows)


def terms(ops: frozenset[str] | None, scalar: bool) -> Odds[ExpressionPattern | None]:
    """The patterns of terms, scalars or arrays, that need no op but `ops` (None: all); always with
    the leaf.
    """
    every = _functions(tuple(FUNCTIONS))
    if ops is None:
        return every
    kept = within(every, ops)
    reached: frozenset[str] = frozenset().union(*(ops_of(pattern) for _, pattern in kept.rows))
    more = within(_PLAIN, ops).where(lambda p: not ops_of(p) <= reached | {*INEQUALITIES})
    return Odds(*kept.rows, *more.where(lambda p: scalar or p.positive < p.arity).rows)


@functools.lru_cache(maxsize=1024)
def updates(ops: frozenset[str] | None) -> Odds[ExpressionPattern | None]:
    """The patterns of updates that use only `ops` (None: all); empty where no carry can be updated."""
    if ops is None:
        return _UPDATES
    joined = bool(within(JOINED, ops).rows)
    kept = within(_UPDATES, ops).where(lambda pattern: pattern is not None or joined)
    if joined:
        return kept
    reached: frozenset[str] = frozenset().union(*(ops_of(pattern) for _, pattern in kept.rows))
    return Odds(*kept.rows, *within(_ALONE, ops).where(lambda p: not ops_of(p) <= reached).rows)


def check_ops(ops: object) -> frozenset[str] | None:
    """`ops` as a set; `InvalidArgument` unless it is a tuple of ops of loop programs."""
    if ops is None:
        return None
    check_choices("ops", ops, dict.fromkeys((*LOOP_OPS, *FUNCTIONS)))
    assert isinstance(ops, tuple), "it has been checked"
    return frozenset(ops)


def check_carried(ops: tuple[str, ...] | None) -> frozenset[str] | None:
    """`check_ops`, and these ops must be able to update a float carry."""
    chosen = check_ops(ops)
    if chosen is not None and not updates(chosen).rows:
        enough = ", ".join(repr(op) for op in LOOP_OPS if updates(frozenset((op,))).rows)
        reject(f"ops={ops!r}: these alone give a float carry no next value; add one of {enough}")
    return chosen
