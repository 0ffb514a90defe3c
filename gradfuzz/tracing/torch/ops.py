"""What the ATen ops compute, said with the functions of the engine: elementwise ops here, all others in the
modules beside.

A handler takes what Torch says of the results (`Out`) and the op's own arguments, in which tensors are
recording values, or Torch's tensors where they are constant.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

import gradfuzz.engine as engine
from gradfuzz.engine.rules.value import Value, apply
from gradfuzz.errors import UntraceableError
from gradfuzz.programs.language.functions import Function
from gradfuzz.tracing.common import incomplete
from gradfuzz.tracing.common.compositions import (
    COMPARISONS,
    as_kind,
    by_name,
    elementwise,
    engine_compare,
    inside,
    kind_of,
    log_sigmoid,
    power,
    recorded,
    row_of,
)
from gradfuzz.tracing.common.integers import frexp, truncated
from gradfuzz.tracing.torch import (
    fourier,
    indexing,
    kernels,
    linalg,
    lists,
    masks,
    moves,
    reductions,
    windows,
)
from gradfuzz.tracing.torch.reductions import times
from gradfuzz.tracing.torch.values import Handler, Out, operand

# Elementwise ------------------------------------------------------------------------------------------------


def _arithmetic(op: str) -> Handler:
    """An op whose operands are converted to the dtype of the result; the product of bools is that
    both hold.
    """

    def handler(out: Out, *operands: Any, **options: Any) -> Any:
        both = op == "multiply" and out.kind == "bool"
        return apply("logical_and" if both else op, *map(out.cast, operands))

    return handler


def _function(row: Function, of_ints: Handler | None) -> Handler:
    """An elementwise function of floats or complex numbers; `of_ints` is what the op is otherwise."""

    def handler(out: Out, *operands: Any, **options: Any) -> Any:
        if of_ints is not None and (out.kind not in ("float", "complex") or options):
            return of_ints(out, *operands, **options)
        return elementwise(row, *map(out.cast, operands), **options)

    return handler


def _comparison(op: str) -> Handler:
    """A number is equal to itself: what is none has no truth."""

    def handler(out: Out, x: Any, y: Any) -> Any:
        if x is y and isinstance(x, Value):
            return np.full(out.shape, op in ("equal", "less_equal", "greater_equal"))
        return engine_compare(op, operand(x), operand(y))

    return handler


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
    return apply("add", out.cast(x), times(out.cast(y), alpha)) if hidden is None else hidden


def _sub(out: Out, x: Any, y: Any, alpha: Any = 1) -> Any:
    return apply("subtract", out.cast(x), times(out.cast(y), alpha))


def _div(out: Out, x: Any, y: Any, *, rounding_mode: str | None = None) -> Any:
    if out.kind == "int":
        raise UntraceableError("a division of ints that is rounded; gradfuzz has none")
    quotient = apply("divide", out.cast(x), out.cast(y))
    return quotient if rounding_mode is None else apply(rounding_mode, quotient)


def _remainder(out: Out, x: Any, y: Any) -> Any:
    x, y = out.cast(x), out.cast(y)
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
    constant = isinstance(exponent, (int, float, np.ndarray))
    return power(out.cast(x), exponent if constant else as_kind(exponent, out.kind))


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
            return inside(wanted, engine.broadcast_to(recorded(out.cast(other)), out.shape))
    return engine.where(chosen, out.cast(x), out.cast(y))


def _is_undefined(x: Any) -> bool:
    return isinstance(x, (float, torch.Tensor)) and bool(torch.as_tensor(x).isnan().all())


def _clamp(out: Out, x: Any, low: Any = None, high: Any = None, *, min: Any = None, max: Any = None) -> Any:
    low, high = (min if low is None else low), (max if high is None else high)
    value = out.cast(x)
    if low is not None and high is not None and out.kind == "float":
        return engine.clip(value, out.cast(low), out.cast(high))
    if low is not None:
        value = engine.maximum(value, out.cast(low))
    return value if high is None else engine.minimum(value, out.cast(high))


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


_BITS = 53
"""Floats that are made ints are less than 2 to this power."""


def _to_copy(out: Out, x: Any, **options: Any) -> Any:
    x = operand(x)
    return truncated(x, _BITS) if out.kind == "int" and kind_of(x) == "float" else out.cast(x)


def _shrink_backward(out: Out, cotangent: Any, x: Any, bound: Any) -> Any:
    """0 between -bound and bound."""
    cotangent = out.cast(cotangent)
    return engine.where(engine.abs(out.cast(x)) <= operand(bound), cotangent * 0.0, cotangent)


def _log_sigmoid(out: Out, x: Any) -> Any:
    """And exp(-|x|), which the derivative reads on a CPU."""
    return log_sigmoid(operand(x)), engine.exp(-engine.abs(operand(x)))


def _series(name: str) -> Handler:
    return lambda out, *operands: getattr(incomplete, name)(*map(out.cast, operands))


def _ndtri(x: Any) -> Any:
    """Where the normal distribution has reached x."""
    return engine.sqrt(recorded(2.0)) * apply("erfinv", 2.0 * x - 1.0)


def _glu_jvp(out: Out, glu: Any, x: Any, dx: Any, dim: int) -> Any:
    """The forward derivative of a sigmoid(b), where a and b are the halves of x."""
    half = np.shape(operand(x))[dim] // 2
    parts = [engine.take(operand(t), np.arange(half) + k * half, axis=dim) for t in (x, dx) for k in (0, 1)]
    _, b, da, db = parts
    gate = 1.0 / (1.0 + engine.exp(-b))
    return da * gate + operand(glu) * (1.0 - gate) * db


def _of(f: Callable[..., Any]) -> Handler:
    """A function of the engine."""
    return lambda out, *operands: f(*map(operand, operands))


def _view_as_complex(out: Out, x: Any) -> Any:
    x = operand(x)
    whole = (slice(None),) * len(out.shape)
    return engine.complex(x[(*whole, 0)], x[(*whole, 1)])


_LOGIC = {
    f"{kind}_{name}": f"logical_{name}" for kind in ("logical", "bitwise") for name in ("and", "or", "not")
}
_ARITHMETIC = {"neg": "negative", "maximum": "maximum", "minimum": "minimum", "mul": "multiply"}
_ARITHMETIC.update({"fmax": "maximum", "fmin": "minimum"})
HANDLERS: dict[str, Handler] = {
    **{name: _comparison(op) for name, op in COMPARISONS.items()},
    **{name: _logic(op) for name, op in _LOGIC.items()},
    **{name: _arithmetic(op) for name, op in _ARITHMETIC.items()},
    "logical_xor": _of(lambda x, y: engine_compare("not_equal", as_kind(x, "bool"), as_kind(y, "bool"))),
    **by_name(_add, _sub, _div, _remainder, _pow, _where, _clamp, _round, _leaky_relu, _elu, _softplus),
    **by_name(_gelu, _view_as_complex),
    "rsub": lambda out, x, y, alpha=1: _sub(out, y, x, alpha=alpha),
    "abs": _of(engine.abs),
    "sign": _of(engine.sign),
    **dict.fromkeys(("floor", "ceil", "trunc"), _of(lambda x: x)),
    "floor_divide": lambda out, x, y: _div(out, x, y, rounding_mode="floor"),
    "frac": _of(lambda x: x - apply("trunc", x)),
    "polygamma": lambda out, n, x: apply("polygamma", as_kind(operand(x), "float"), n=n),
    "clamp_min": lambda out, x, low: _clamp(out, x, low),
    "clamp_max": lambda out, x, high: _clamp(out, x, None, high),
    "relu": lambda out, x: engine.maximum(operand(x), as_kind(0, out.kind)),
    "log_sigmoid_forward": _log_sigmoid,
    **dict.fromkeys(("hardshrink_backward", "softshrink_backward"), _shrink_backward),
    "glu_jvp": _glu_jvp,
    **{name: _series(name) for name in ("igamma", "igammac")},
    "special_erfcx": _of(lambda x: engine.exp(x * x) * apply("erfc", x)),
    "special_entr": _of(lambda x: -x * engine.log(x)),
    "special_ndtri": _of(_ndtri),
    **dict.fromkeys(("_to_copy", "convert_element_type"), _to_copy),
    "polar": _of(lambda x, angle: engine.complex(x * engine.cos(angle), x * engine.sin(angle))),
    "complex": _of(engine.complex),
    **dict.fromkeys(("conj_physical", "_conj", "_conj_copy", "_conj_physical"), _of(engine.conj)),
    **dict.fromkeys(("_neg_view", "_neg_view_copy"), lambda out, x: apply("negative", out.cast(x))),
    "frexp": _of(frexp),
    "angle": _of(lambda x: apply("atan2", engine.imag(x), engine.real(x))),
    **dict.fromkeys(
        ("view_as_real", "view_as_real_copy"),
        _of(lambda x: engine.stack([engine.real(x), engine.imag(x)], axis=-1)),
    ),
    **reductions.HANDLERS,
    **moves.HANDLERS,
    **indexing.HANDLERS,
    **linalg.HANDLERS,
    **fourier.HANDLERS,
    **windows.HANDLERS,
    **kernels.HANDLERS,
    **lists.HANDLERS,
}
"""By the name of an op without its overload; of elementwise functions, what they are of ints."""


def handler_of(name: str) -> Handler | None:
    """What an op is; None where gradfuzz has nothing for it."""
    row, handler = row_of("aten", name), HANDLERS.get(name)
    return handler if row is None else _function(row, handler)
