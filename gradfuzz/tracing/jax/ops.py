"""JAX's elementwise primitives, as ops.

A rule takes the equation and its operands: recording values, or NumPy arrays where ints or bools are known.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import jax
import numpy as np

import gradfuzz.engine as engine
from gradfuzz.engine.rules.value import Operand, Value, apply
from gradfuzz.errors import UntraceableError
from gradfuzz.programs.language.functions import FUNCTIONS
from gradfuzz.programs.language.types import DType
from gradfuzz.tracing.common import incomplete
from gradfuzz.tracing.common.compositions import (
    COMPARISONS,
    as_kind,
    elementwise,
    engine_compare,
    inside,
    kind_of,
    power,
    row_of,
    spread,
)
from gradfuzz.tracing.common.integers import truncated

Rule = Callable[..., Any]


def _op(name: str) -> Rule:
    """An op of the table on the same operands."""
    return lambda equation, *operands: apply(name, *operands)


def function_of(name: str) -> Rule | None:
    """An elementwise function of floats or complex numbers."""
    row = row_of("jax primitive", name)
    return None if row is None else lambda equation, *operands: elementwise(row, *operands)


# Elementwise ------------------------------------------------------------------------------------------------


def _same(equation: Any, x: Operand, *rest: Operand) -> Any:
    return x


def _multiply(equation: Any, x: Operand, y: Operand) -> Any:
    if np.dtype(equation.outvars[0].aval.dtype).kind == "u":
        raise UntraceableError("products of unsigned ints wrap around; the ints of a program do not")
    return apply("multiply", x, y)


def _quotient(x: Operand, y: Operand) -> Any:
    """The whole part of x / y of ints, rounded towards 0: how often |y| can be taken from |x|."""
    size = engine.abs(y)
    shape = np.broadcast_shapes(np.shape(x), np.shape(y))
    left = spread(engine.abs(x), shape)

    def again(state: tuple[Operand, Operand]) -> Any:
        enough = state[0] >= size
        return engine.any(enough) if shape else enough

    def step(state: tuple[Operand, Operand]) -> tuple[Any, Any]:
        enough = state[0] >= size
        return engine.where(enough, state[0] - size, state[0]), engine.where(enough, state[1] + 1, state[1])

    _, times = engine.while_loop(again, step, (left, np.zeros(shape, np.int64)))
    return engine.sign(x) * engine.sign(y) * times


def _divide(equation: Any, x: Operand, y: Operand) -> Any:
    return _quotient(x, y) if kind_of(x) == "int" else apply("divide", x, y)


def _remainder(equation: Any, x: Operand, y: Operand) -> Any:
    """Of ints; the remainder has the sign of x, as in C."""
    return engine.sign(x) * apply("remainder", engine.abs(x), engine.abs(y))


def _rounded(equation: Any, x: Operand) -> Any:
    """The nearest whole number; of two the one that is further from 0."""
    return apply("trunc", x + engine.where(apply("less", x, 0.0), -0.5, 0.5))


def _polygamma(equation: Any, n: Operand, x: Operand) -> Any:
    """A derivative of `digamma`; how often it is taken is a constant."""
    return incomplete.polygamma(_orders(equation, n, 0), x)


def _zeta(equation: Any, s: Operand, q: Operand) -> Any:
    return incomplete.zeta(_orders(equation, s, 2), q)


def _orders(equation: Any, n: Operand, least: int) -> Any:
    if isinstance(n, Value) or np.any(n < least) or np.any(n != np.round(n)):
        raise UntraceableError(
            f"JAX's {equation.primitive.name} of numbers that are no constant whole numbers from {least} on"
        )
    return n


def _extreme(op: str, logic: str, neutral: float) -> Rule:
    """The greater or smaller of two; an infinity that never is it stays out of the program."""

    def rule(equation: Any, x: Operand, y: Operand) -> Any:
        if kind_of(x) == "bool":
            return apply(logic, x, y)
        for one, other in ((x, y), (y, x)):
            if _constant(one) == neutral and np.shape(other) == equation.outvars[0].aval.shape:
                return other
        return apply(op, x, y)

    return rule


def _constant(x: Operand) -> float | None:
    """The number that a recorded constant scalar is."""
    value = getattr(getattr(getattr(x, "atom", None), "value", None), "value", None)
    return value if isinstance(value, float) else None


def _is_nan(x: Operand) -> bool:
    """Whether a case is chosen only to say that there is no number."""
    value = getattr(getattr(x, "atom", None), "value", None)
    numbers = [c.value for c in getattr(value, "values", [value]) if hasattr(c, "value")]
    return bool(numbers) and all(isinstance(n, float) and math.isnan(n) for n in numbers)


def _series(name: str) -> Rule:
    return lambda equation, *operands: getattr(incomplete, name)(*operands)


def _compare(op: str) -> Rule:
    return lambda equation, x, y: engine_compare(op, x, y)


def _logic(of_bools: Callable[..., Any]) -> Rule:
    def rule(equation: Any, *operands: Operand) -> Any:
        name = equation.primitive.name
        if kind_of(operands[0]) != "bool":
            raise UntraceableError(f"JAX's {name} of the bits of ints; gradfuzz has no op for it")
        return of_bools(*operands)

    return rule


def _finite(equation: Any, x: Operand) -> Any:
    """Whether x can be written in its dtype: the references know numbers beyond."""
    largest = float(jax.numpy.finfo(equation.invars[0].aval.dtype).max)
    return apply("less_equal", engine.abs(x), largest)


def _counted(equation: Any) -> Any:
    """Ints along an axis."""
    shape, axis = tuple(equation.params["shape"]), equation.params["dimension"]
    if np.dtype(equation.params["dtype"]).kind not in "iu":
        raise UntraceableError("JAX's iota of floats")
    along = np.arange(shape[axis]).reshape([n if a == axis else 1 for a, n in enumerate(shape)])
    return np.broadcast_to(along, shape)


def _power(equation: Any, x: Operand, y: Operand) -> Any:
    constant = _constant(y)
    return power(x, y if constant is None else constant)


def _integer_pow(equation: Any, x: Operand) -> Any:
    n = int(equation.params["y"])
    if kind_of(x) == "int":
        if n < 0:
            raise UntraceableError(f"a power {n} of ints")
        return math.prod([x] * n) if n else apply("add", x * 0, 1)
    return apply("integer_pow", x, n=n)


def _clamp(equation: Any, lower: Operand, x: Operand, upper: Operand) -> Any:
    if kind_of(x) == "int":
        return engine.minimum(engine.maximum(x, lower), upper)
    return engine.clip(x, lower, upper)


def _select(equation: Any, which: Operand, *cases: Operand) -> Any:
    shape = equation.outvars[0].aval.shape
    if not isinstance(which, Value) and np.max(which, initial=0) >= len(cases):
        raise UntraceableError("JAX's select_n of a case that is not there")
    if not isinstance(which, Value) and np.unique(which).size == 1:
        return cases[int(np.ravel(which)[0])]
    if kind_of(which) == "bool":
        nothing = [_is_nan(c) for c in cases]
        if any(nothing) and not all(nothing):
            holds = which if nothing[0] else apply("logical_not", which)
            chosen = inside(holds, cases[1] if nothing[0] else cases[0])
        else:
            chosen = engine.where(which, cases[1], cases[0])
    else:
        chosen = cases[-1]
        for k in range(len(cases) - 2, -1, -1):
            chosen = engine.where(apply("equal", which, k), cases[k], chosen)
    return spread(chosen, shape)


def _convert(equation: Any, x: Operand) -> Any:
    own, dtype = equation.invars[0].aval.dtype, np.dtype(equation.params["new_dtype"])
    kinds: dict[str, DType] = {"b": "bool", "i": "int", "u": "int", "c": "complex"}
    wanted = kinds.get(dtype.kind, "float")
    if kind_of(x) == "float" and wanted == "float" and np.dtype(own) != dtype:
        raise UntraceableError(f"the function rounds {own} to {dtype}: a program has one precision")
    if kind_of(x) == "float" and wanted == "int":
        return truncated(x, int(jax.numpy.finfo(own).nmant) + 1)
    if kind_of(x) == "complex" and wanted == "float":
        return engine.real(x)
    return as_kind(x, wanted)


def _conjugate(equation: Any, x: Operand) -> Any:
    """Real numbers come out as complex ones."""
    return as_kind(x, "complex") if kind_of(x) == "float" else engine.conj(x)


def _precision(equation: Any, x: Operand) -> Any:
    format = jax.numpy.finfo(equation.invars[0].aval.dtype)
    if (equation.params["exponent_bits"], equation.params["mantissa_bits"]) != (format.nexp, format.nmant):
        raise UntraceableError("JAX's reduce_precision rounds: a program has one precision")
    return x


_ARITHMETIC = {"add": "add", "add_any": "add", "sub": "subtract", "neg": "negative"}

OF_ORDERS = ("polygamma", "zeta")
"""Primitives whose first argument is an order: its numbers are known where it is constant."""

OPS: dict[str, Rule] = {
    **{name: _op(name) for name in ("abs", "sign", "real", "imag", "complex")},
    **{name: _op(op) for name, op in _ARITHMETIC.items()},
    **{name: _compare(op) for name, op in COMPARISONS.items()},
    **{f"{name}_to": _compare(COMPARISONS[name]) for name in ("eq", "le", "lt")},  # as sorting has them
    **{name: _logic(functools.partial(apply, f"logical_{name}")) for name in ("and", "or", "not")},
    "xor": _logic(functools.partial(engine_compare, "not_equal")),
    **dict.fromkeys(("accum_grad_in_ref", "copy", "copy_p", "name"), _same),
    "tie": lambda equation, x, y: y,
    **dict.fromkeys(("device_put", "optimization_barrier"), lambda equation, *operands: list(operands)),
    "clamp": _clamp,
    "conj": _conjugate,
    "convert_element_type": _convert,
    "div": _divide,
    "integer_pow": _integer_pow,
    "iota": _counted,
    "is_finite": _finite,
    "log2": lambda equation, x: elementwise(FUNCTIONS["log2"], x),
    "max": _extreme("maximum", "logical_or", -math.inf),
    "min": _extreme("minimum", "logical_and", math.inf),
    "mul": _multiply,
    **{name: _series(name) for name in ("igamma", "igammac", "igamma_grad_a", "random_gamma_grad")},
    "one_minus_square": lambda equation, x: 1.0 - apply("multiply", x, x),
    "polygamma": _polygamma,
    "polynomial": lambda equation, x, *a: functools.reduce(lambda y, c: y * x + c, reversed(a)),
    "regularized_incomplete_beta": lambda equation, a, b, x: incomplete.betainc(a, b, x),
    "zeta": _zeta,
    "pow": _power,
    "reduce_precision": _precision,
    "rem": _remainder,
    "round": _rounded,
    "select_n": _select,
    "square": lambda equation, x: apply("multiply", x, x),
}
"""Primitives by name; of those that are elementwise functions, what they are of ints."""
