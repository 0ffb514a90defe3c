"""What the ATen ops compute, said with the functions of the engine: elementwise ops here, all others in the
modules beside.

A handler takes what Torch says of the results (`Out`) and the op's own arguments, in which tensors are
recording values, or Torch's tensors where they are constant.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

import gradfuzz.engine as engine
from gradfuzz.engine.rules.value import apply
from gradfuzz.errors import UntraceableError
from gradfuzz.programs.language.functions import Function
from gradfuzz.testing.tracing.compositions import (
    as_kind,
    elementwise,
    engine_compare,
    inside,
    log_sigmoid,
    power,
    recorded,
    row_of,
)
from gradfuzz.testing.tracing.torch import indexing as trace_torch_indexing
from gradfuzz.testing.tracing.torch import linalg as trace_torch_linalg
from gradfuzz.testing.tracing.torch import masks
from gradfuzz.testing.tracing.torch import moves as trace_torch_moves
from gradfuzz.testing.tracing.torch import reductions as trace_torch_reductions
from gradfuzz.testing.tracing.torch.reductions import times
from gradfuzz.testing.tracing.torch.values import UNSAID, Handler, Out, operand

Axes = Sequence[int] | int | None


# Elementwise ------------------------------------------------------------------------------------------------


def _arithmetic(op: str) -> Handler:
    """An op whose operands are converted to the dtype of the result; the product of bools is that
    both hold.
    """

    def handler(out: Out, *operands: Any, **options: Any) -> Any:
        return apply(
            "logical_and" if op == "multiply" and out.kind == "bool" else op,
            *(as_kind(operand(o), out.kind) for o in operands),
        )

    return handler


def _function(row: Function, of_ints: Handler | None) -> Handler:
    """An elementwise function of floats or complex numbers; `of_ints` is what the op is otherwise."""

    def handler(out: Out, *operands: Any, **options: Any) -> Any:
        if of_ints is not None and (out.kind not in ("float", "complex") or options):
            return of_ints(out, *operands, **options)
        return elementwise(row, *(as_kind(operand(o), out.kind) for o in operands), **options)

    return handler


def _comparison(op: str) -> Handler:
    return lambda out, x, y: engine_compare(op, operand(x), operand(y))


def _logic(op: str) -> Handler:
    """Of bools; numbers are true where they are not 0. The bitwise ops mean the same of bools, and no other
    is known.
    """

    def handler(out: Out, *operands: Any) -> Any:
        if out.kind != "bool":
            raise UntraceableError("bits of ints; gradfuzz has logic on bools alone")
        return apply(op, *(as_kind(operand(o), "bool") for o in operands))

    return handler


def _add(out: Out, x: Any, y: Any, *, alpha: Any = 1) -> Any:
    hidden = masks.plus(out, x, y) if alpha == 1 else None
    if hidden is not None:
        return hidden
    return _sum_of(out, x, y, alpha)


def _sub(out: Out, x: Any, y: Any, *, alpha: Any = 1) -> Any:
    return apply("subtract", as_kind(operand(x), out.kind), times(as_kind(operand(y), out.kind), alpha))


def _sum_of(out: Out, x: Any, y: Any, alpha: Any) -> Any:
    return apply("add", as_kind(operand(x), out.kind), times(as_kind(operand(y), out.kind), alpha))


def _div(out: Out, x: Any, y: Any, *, rounding_mode: str | None = None) -> Any:
    if out.kind == "int":
        raise UntraceableError("a division of ints that is rounded; gradfuzz has none")
    quotient = apply("divide", as_kind(operand(x), out.kind), as_kind(operand(y), out.kind))
    return quotient if rounding_mode is None else apply(rounding_mode, quotient)


def _remainder(out: Out, x: Any, y: Any) -> Any:
    x, y = as_kind(operand(x), out.kind), as_kind(operand(y), out.kind)
    return apply("remainder", x, y) if out.kind == "int" else x - apply("floor", x / y) * y


def _round(out: Out, x: Any, *, decimals: int = 0) -> Any:
    if out.kind == "int":
        return operand(x)
    scale = 10.0 ** abs(decimals)
    if decimals < 0:
        return apply("round", operand(x) / scale) * scale
    return apply("round", operand(x) * scale) / scale


def _pow(out: Out, x: Any, y: Any) -> Any:
    if out.kind == "int":
        raise UntraceableError("a power of ints; gradfuzz has those of floats")
    exponent = operand(y)
    return power(
        as_kind(operand(x), out.kind),
        exponent if isinstance(exponent, (int, float, np.ndarray)) else as_kind(exponent, out.kind),
    )


def _where(out: Out, condition: Any, x: Any, y: Any) -> Any:
    """A side that is NaN is outside of every domain: the other one is what is computed, where it is chosen
    everywhere.
    """
    hidden = masks.masked(out, condition, x, y) or (
        masks.masked(out, ~condition, y, x) if isinstance(condition, torch.Tensor) else None
    )
    if hidden is not None:
        return hidden
    chosen = as_kind(operand(condition), "bool")
    for side, other, wanted in ((x, y, engine_compare("equal", chosen, False)), (y, x, chosen)):
        if _is_undefined(side):
            return inside(wanted, engine.broadcast_to(recorded(as_kind(operand(other), out.kind)), out.shape))
    return engine.where(chosen, as_kind(operand(x), out.kind), as_kind(operand(y), out.kind))


def _is_undefined(x: Any) -> bool:
    return isinstance(x, (float, torch.Tensor)) and bool(torch.as_tensor(x).isnan().all())


def _clamp(out: Out, x: Any, low: Any = None, high: Any = None, *, min: Any = None, max: Any = None) -> Any:
    low, high = (min if low is None else low), (max if high is None else high)
    value = as_kind(operand(x), out.kind)
    if low is not None and high is not None and out.kind == "float":
        return engine.clip(value, as_kind(operand(low), out.kind), as_kind(operand(high), out.kind))
    if low is not None:
        value = engine.maximum(value, as_kind(operand(low), out.kind))
    return value if high is None else engine.minimum(value, as_kind(operand(high), out.kind))


def _leaky_relu(out: Out, x: Any, slope: float = 0.01) -> Any:
    return engine.where(operand(x) > 0.0, operand(x), operand(x) * slope)


def _elu(out: Out, x: Any, alpha: float = 1.0, scale: float = 1.0, input_scale: float = 1.0) -> Any:
    x = operand(x)
    return engine.where(x > 0.0, x * scale, engine.expm1(x * input_scale) * (alpha * scale))


def _softplus(out: Out, x: Any, beta: float = 1.0, threshold: float = 20.0) -> Any:
    """Beyond the threshold Torch takes the argument itself."""
    x = operand(x)
    return engine.where(x * beta > threshold, x, apply("logaddexp", x * beta, 0.0) / beta)


def _gelu(out: Out, x: Any, *, approximate: str = "none") -> Any:
    return apply("gelu_tanh" if approximate == "tanh" else "gelu", operand(x))


def _to_copy(out: Out, x: Any, **options: Any) -> Any:
    return as_kind(operand(x), out.kind)


def _whole(out: Out, x: Any) -> Any:
    """A rounding of ints."""
    return operand(x)


def _view_as_complex(out: Out, x: Any) -> Any:
    x = operand(x)
    whole = (slice(None),) * len(out.shape)
    return engine.complex(x[(*whole, 0)], x[(*whole, 1)])


def _complex_abs(out: Out, x: Any) -> Any:
    return engine.abs(operand(x))


def _sign(out: Out, x: Any) -> Any:
    return engine.sign(operand(x))


_COMPARISONS = {
    "eq": "equal",
    "ne": "not_equal",
    "lt": "less",
    "le": "less_equal",
    "gt": "greater",
    "ge": "greater_equal",
}
_LOGIC = {"logical_and": "logical_and", "logical_or": "logical_or", "logical_not": "logical_not"}
_BITS = {"bitwise_and": "logical_and", "bitwise_or": "logical_or", "bitwise_not": "logical_not"}
_SAME = {"neg": "negative", "maximum": "maximum", "minimum": "minimum", "mul": "multiply"}
HANDLERS: dict[str, Handler] = {
    **{name: _comparison(op) for name, op in _COMPARISONS.items()},
    **{name: _logic(op) for name, op in {**_LOGIC, **_BITS}.items()},
    **{name: _arithmetic(op) for name, op in _SAME.items()},
    "logical_xor": lambda out, x, y: engine_compare(
        "not_equal", as_kind(operand(x), "bool"), as_kind(operand(y), "bool")
    ),
    "add": _add,
    "sub": _sub,
    "rsub": lambda out, x, y, alpha=1: _sub(out, y, x, alpha=alpha),
    "div": _div,
    "remainder": _remainder,
    "pow": _pow,
    "abs": _complex_abs,
    "sign": _sign,
    "where": _where,
    "clamp": _clamp,
    **dict.fromkeys(("floor", "ceil", "trunc"), _whole),
    "round": _round,
    "floor_divide": lambda out, x, y: _div(out, x, y, rounding_mode="floor"),
    "frac": lambda out, x: operand(x) - apply("trunc", operand(x)),
    "polygamma": lambda out, n, x: apply("polygamma", as_kind(operand(x), "float"), n=n),
    "clamp_min": lambda out, x, low: _clamp(out, x, low),
    "clamp_max": lambda out, x, high: _clamp(out, x, None, high),
    "fmax": _arithmetic("maximum"),
    "fmin": _arithmetic("minimum"),
    "relu": lambda out, x: engine.maximum(operand(x), as_kind(0, out.kind)),
    "leaky_relu": _leaky_relu,
    "elu": _elu,
    "softplus": _softplus,
    "log_sigmoid_forward": lambda out, x: (log_sigmoid(operand(x)), UNSAID),
    "gelu": _gelu,
    "_to_copy": _to_copy,
    "convert_element_type": _to_copy,
    "polar": lambda out, x, angle: engine.complex(
        operand(x) * engine.cos(operand(angle)), operand(x) * engine.sin(operand(angle))
    ),
    "view_as_complex": _view_as_complex,
    "complex": lambda out, x, y: engine.complex(operand(x), operand(y)),
    "conj_physical": lambda out, x: engine.conj(operand(x)),
    "_conj": lambda out, x: engine.conj(operand(x)),
    "angle": lambda out, x: apply("atan2", engine.imag(operand(x)), engine.real(operand(x))),
    "view_as_real": lambda out, x: engine.stack([engine.real(operand(x)), engine.imag(operand(x))], axis=-1),
    **trace_torch_reductions.HANDLERS,
    **trace_torch_moves.HANDLERS,
    **trace_torch_indexing.HANDLERS,
    **trace_torch_linalg.HANDLERS,
}
"""By the name of an op without its overload; of elementwise functions, what they are of ints."""


def handler_of(name: str) -> Handler | None:
    """What an op is; None where gradfuzz has nothing for it."""
    row, handler = row_of("aten", name), HANDLERS.get(name)
    return handler if row is None else _function(row, handler)
