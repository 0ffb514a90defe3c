"""What the ATen ops compute, said with the functions of the engine: elementwise ops, reductions, products and the softmax family.

A handler takes what Torch says of the results (`Out`) and the op's own arguments, in which tensors are recording values, or Torch's tensors where they are constant.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from gradfuzz import engine
from gradfuzz.engine.value import Value, apply
from gradfuzz.errors import UntraceableError
from gradfuzz.testing import trace_torch_linalg, trace_torch_moves
from gradfuzz.testing.compositions import (
    as_kind,
    ascending,
    convolution,
    elementwise,
    engine_compare,
    norm,
    power,
    recorded,
    variance,
)
from gradfuzz.testing.trace_torch_values import UNSAID, Handler, Out, operand

__all__ = ["HANDLERS"]

Axes = Sequence[int] | int | None


# Elementwise ---------------------------------------------------------------------------------------------------------------------------


def _arithmetic(op: str) -> Handler:
    """An op whose operands are converted to the dtype of the result."""

    def handler(out: Out, *operands: Any, **options: Any) -> Any:
        return apply(op, *(as_kind(operand(o), out.kind) for o in operands))

    return handler


def _function(f: Callable[..., Any]) -> Handler:
    def handler(out: Out, *operands: Any, **options: Any) -> Any:
        return f(*(as_kind(operand(o), out.kind) for o in operands))

    return handler


def _comparison(op: str) -> Handler:
    return lambda out, x, y: engine_compare(op, operand(x), operand(y))


def _logic(op: str) -> Handler:
    """Of bools; numbers are true where they are not 0. The bitwise ops mean the same of bools, and no other is known."""

    def handler(out: Out, *operands: Any) -> Any:
        if out.kind != "bool":
            raise UntraceableError("bits of ints; gradfuzz has logic on bools alone")
        return apply(op, *(as_kind(operand(o), "bool") for o in operands))

    return handler


def _add(out: Out, x: Any, y: Any, *, alpha: Any = 1) -> Any:
    return _sum_of(out, x, y, alpha)


def _sub(out: Out, x: Any, y: Any, *, alpha: Any = 1) -> Any:
    return apply("subtract", as_kind(operand(x), out.kind), _times(as_kind(operand(y), out.kind), alpha))


def _sum_of(out: Out, x: Any, y: Any, alpha: Any) -> Any:
    return apply("add", as_kind(operand(x), out.kind), _times(as_kind(operand(y), out.kind), alpha))


def _times(x: Any, factor: Any) -> Any:
    return x if isinstance(factor, (int, float)) and factor == 1 else x * operand(factor)


def _div(out: Out, x: Any, y: Any, *, rounding_mode: str | None = None) -> Any:
    if rounding_mode is not None:
        raise UntraceableError("a division that is rounded; gradfuzz has none")
    return apply("divide", as_kind(operand(x), out.kind), as_kind(operand(y), out.kind))


def _remainder(out: Out, x: Any, y: Any) -> Any:
    if out.kind != "int":
        raise UntraceableError("a remainder of floats; gradfuzz has that of ints")
    return apply("remainder", as_kind(operand(x), "int"), as_kind(operand(y), "int"))


def _pow(out: Out, x: Any, y: Any) -> Any:
    if out.kind == "int":
        raise UntraceableError("a power of ints; gradfuzz has those of floats")
    exponent = operand(y)
    return power(
        as_kind(operand(x), out.kind), exponent if isinstance(exponent, (int, float, np.ndarray)) else as_kind(exponent, out.kind)
    )


def _where(out: Out, condition: Any, x: Any, y: Any) -> Any:
    """Where one condition chooses a constant that is NaN, that side is a branch, which is computed only where it is taken."""
    if not out.shape and isinstance(condition, Value) and (_is_undefined(x) or _is_undefined(y)):
        return engine.cond(condition, lambda: _defined(x), lambda: _defined(y))
    return engine.where(operand(condition), as_kind(operand(x), out.kind), as_kind(operand(y), out.kind))


def _defined(x: Any) -> Any:
    """What is computed where a side is taken; that which is NaN is out of the domain there."""
    return engine.log(recorded(-1.0)) if _is_undefined(x) else recorded(as_kind(operand(x), "float"))


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
    return engine.where(x * beta > threshold, x, elementwise["logaddexp"](x * beta, 0.0) / beta)


def _gelu(out: Out, x: Any, *, approximate: str = "none") -> Any:
    if approximate != "tanh":
        raise UntraceableError("gelu by the error function, which gradfuzz has not; approximate='tanh' it has")
    x = operand(x)
    inner = (x + (x * x * x) * 0.044715) * math.sqrt(2.0 / math.pi)
    return (1.0 + engine.tanh(inner)) * (x * 0.5)


def _to_copy(out: Out, x: Any, **options: Any) -> Any:
    return as_kind(operand(x), out.kind)


def _view_as_complex(out: Out, x: Any) -> Any:
    x = operand(x)
    whole = (slice(None),) * len(out.shape)
    return engine.complex(x[(*whole, 0)], x[(*whole, 1)])


def _complex_abs(out: Out, x: Any) -> Any:
    return engine.abs(operand(x))


def _sign(out: Out, x: Any) -> Any:
    return engine.sign(operand(x))


# Reductions ----------------------------------------------------------------------------------------------------------------------------


def axes_of(axes: Axes) -> tuple[int, ...] | None:
    """Torch's axes; an empty list means all."""
    if isinstance(axes, int):
        return (axes,)
    return tuple(axes) if axes else None


def _reduction(op: str) -> Handler:
    def handler(out: Out, x: Any, dim: Axes = None, keepdim: bool = False, **options: Any) -> Any:
        x = as_kind(operand(x), out.kind)
        return x if not np.ndim(x) else apply(op, x, axis=axes_of(dim), keepdims=keepdim)

    return handler


def _quantifier(op: str) -> Handler:
    def handler(out: Out, x: Any, dim: Axes = None, keepdim: bool = False) -> Any:
        x = as_kind(operand(x), "bool")
        return x if not np.ndim(x) else apply(op, x, axis=axes_of(dim), keepdims=keepdim)

    return handler


def _extreme(op: str, other: str, index: str) -> Handler:
    """max and min: of all, along an axis with the places, or of two tensors."""

    def handler(out: Out, x: Any, dim: Any = None, keepdim: bool = False) -> Any:
        x = as_kind(operand(x), out.kinds[0])
        if isinstance(dim, int):
            if not np.ndim(x):
                return x, np.int64(0)
            return apply(op, x, axis=dim, keepdims=keepdim), apply(index, x, axis=dim, keepdims=keepdim)
        if dim is not None:
            return apply(other, x, as_kind(operand(dim), out.kinds[0]))
        return x if not np.ndim(x) else apply(op, x)

    return handler


def _arg(op: str) -> Handler:
    def handler(out: Out, x: Any, dim: int | None = None, keepdim: bool = False) -> Any:
        x = operand(x)
        return np.int64(0) if not np.ndim(x) else apply(op, x, axis=dim, keepdims=keepdim)

    return handler


def _logsumexp(out: Out, x: Any, dim: Axes = None, keepdim: bool = False) -> Any:
    x = as_kind(operand(x), "float")
    return x if not np.ndim(x) else engine.logsumexp(x, axis=axes_of(dim), keepdims=keepdim)


def _var(
    out: Out, x: Any, dim: Any = None, *options: Any, correction: float | None = 1, keepdim: bool = False, **more: Any
) -> Any:
    if options or more or isinstance(dim, bool):
        raise UntraceableError("an old form of var and std; give dim, correction and keepdim")
    return variance(operand(x), axis=axes_of(dim), correction=1 if correction is None else correction, keepdims=keepdim)


def _std(out: Out, x: Any, dim: Any = None, *options: Any, **more: Any) -> Any:
    return engine.sqrt(_var(out, x, dim, *options, **more))


def _var_mean(out: Out, x: Any, dim: Any = None, *, correction: float | None = 1, keepdim: bool = False) -> Any:
    return _var(out, x, dim, correction=correction, keepdim=keepdim), engine.mean(operand(x), axis=axes_of(dim), keepdims=keepdim)


def _along(op: str) -> Handler:
    """A scan, softmax or the like along one axis."""

    def handler(out: Out, x: Any, dim: int, *rest: Any, **options: Any) -> Any:
        x = as_kind(operand(x), out.kinds[0])
        if np.ndim(x):
            return apply(op, x, axis=dim)
        return {"softmax": 1.0, "log_softmax": 0.0}.get(op, x)

    return handler


def _cumulative_extreme(sign: int) -> Handler:
    def handler(out: Out, x: Any, dim: int) -> Any:
        x = operand(x)
        if not np.ndim(x):
            return x, UNSAID
        return (engine.cumulative_max(x, axis=dim) if sign > 0 else -engine.cumulative_max(-x, axis=dim)), UNSAID

    return handler


def _logcumsumexp(out: Out, x: Any, dim: int) -> Any:
    x = operand(x)
    return engine.log(engine.cumulative_sum(engine.exp(x), axis=dim)) if np.ndim(x) else x


def _sort(out: Out, x: Any, *options: Any, stable: bool | None = None, dim: int = -1, descending: bool = False) -> Any:
    if options and isinstance(options[0], int) and not isinstance(options[0], bool):
        dim, descending = options[0], options[1] if len(options) > 1 else descending
    x = operand(x)
    return ascending(x, dim, descending=descending) if np.ndim(x) else (x, np.int64(0))


def _argsort(out: Out, x: Any, *options: Any, **more: Any) -> Any:
    return _sort(out, x, *options, **more)[1]


def _topk(out: Out, x: Any, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> Any:
    """Torch promises no order where `sorted` is false."""
    x = operand(x)
    if not np.ndim(x):
        return x, np.int64(0)
    if not sorted and k > 1:
        raise UntraceableError("topk with sorted=False, whose order Torch does not promise")
    key = (*[slice(None)] * (dim % np.ndim(x)), slice(0, k))
    return tuple(part[key] for part in ascending(x, dim, descending=largest))


def _kth(out: Out, x: Any, k: int, dim: int = -1, keepdim: bool = False) -> Any:
    x = operand(x)
    if not np.ndim(x):
        return x, np.int64(0)
    axis = dim % np.ndim(x)
    key = (*[slice(None)] * axis, slice(k - 1, k) if keepdim else k - 1)
    return tuple(part[key] for part in ascending(x, axis))


def _median(out: Out, x: Any, dim: int | None = None, keepdim: bool = False) -> Any:
    """The lower of two in the middle."""
    x = operand(x)
    if dim is None:
        row = engine.reshape(x, (math.prod(np.shape(x)),))
        return engine.sort(row, axis=0)[(math.prod(np.shape(x)) - 1) // 2]
    return _kth(out, x, (np.shape(x)[dim] + 1) // 2 if np.ndim(x) else 1, dim, keepdim)


def _vector_norm(out: Out, x: Any, ord: Any = 2, dim: Axes = None, keepdim: bool = False, **options: Any) -> Any:
    return norm(operand(x), float(ord), axes=axes_of(dim), keepdims=keepdim)


# Products and convolutions -------------------------------------------------------------------------------------------------------------


def _matmul(out: Out, x: Any, y: Any) -> Any:
    return engine.matmul(as_kind(operand(x), out.kind), as_kind(operand(y), out.kind))


def _plus_product(out: Out, base: Any, x: Any, y: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """beta base + alpha x y."""
    product = _times(_matmul(out, x, y), alpha)
    return product if beta == 0 else _times(as_kind(operand(base), out.kind), beta) + product


def _vdot(out: Out, x: Any, y: Any) -> Any:
    return engine.matmul(engine.conj(operand(x)), operand(y))


def _convolution(
    out: Out,
    x: Any,
    kernel: Any,
    bias: Any,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    transposed: bool,
    output_padding: Sequence[int],
    groups: int,
) -> Any:
    if transposed:
        raise UntraceableError("a transposed convolution; gradfuzz has none")
    count = len(np.shape(operand(x))) - 2

    def each(sizes: Sequence[int]) -> tuple[int, ...]:
        return tuple(sizes) if len(sizes) == count else tuple(sizes) * count

    pairs = tuple((n, n) for n in each(padding))
    result = convolution(operand(x), operand(kernel), strides=each(stride), padding=pairs, dilation=each(dilation), groups=groups)
    return (
        result if bias is None else result + engine.reshape(operand(bias), (-1 if not out.shape else out.shape[1], *[1] * count))
    )


_COMPARISONS = {"eq": "equal", "ne": "not_equal", "lt": "less", "le": "less_equal", "gt": "greater", "ge": "greater_equal"}
_LOGIC = {"logical_and": "logical_and", "logical_or": "logical_or", "logical_not": "logical_not"}
_BITS = {"bitwise_and": "logical_and", "bitwise_or": "logical_or", "bitwise_not": "logical_not"}
_SAME = {"neg": "negative", "maximum": "maximum", "minimum": "minimum", "mul": "multiply"}
_FUNCTIONS = ("sin", "cos", "tan", "tanh", "exp", "log", "sqrt", "log1p", "expm1")
_COMPOSED = (
    "acos",
    "acosh",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "cosh",
    "exp2",
    "hypot",
    "log10",
    "log2",
    "logaddexp",
    "reciprocal",
    "rsqrt",
    "sigmoid",
    "sinh",
    "square",
)

HANDLERS: dict[str, Handler] = {
    **{name: _comparison(op) for name, op in _COMPARISONS.items()},
    **{name: _logic(op) for name, op in {**_LOGIC, **_BITS}.items()},
    **{name: _arithmetic(op) for name, op in _SAME.items()},
    **{name: _arithmetic(name) for name in _FUNCTIONS},
    **{name: _function(elementwise[name]) for name in _COMPOSED},
    "logical_xor": lambda out, x, y: engine_compare("not_equal", as_kind(operand(x), "bool"), as_kind(operand(y), "bool")),
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
    "clamp_min": lambda out, x, low: _clamp(out, x, low),
    "clamp_max": lambda out, x, high: _clamp(out, x, None, high),
    "fmax": _arithmetic("maximum"),
    "fmin": _arithmetic("minimum"),
    "relu": lambda out, x: engine.maximum(operand(x), as_kind(0, out.kind)),
    "leaky_relu": _leaky_relu,
    "elu": _elu,
    "softplus": _softplus,
    "silu": lambda out, x: operand(x) * elementwise["sigmoid"](operand(x)),
    "log_sigmoid_forward": lambda out, x: (elementwise["log_sigmoid"](operand(x)), UNSAID),
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
    "angle": lambda out, x: elementwise["atan2"](engine.imag(operand(x)), engine.real(operand(x))),
    "view_as_real": lambda out, x: engine.stack([engine.real(operand(x)), engine.imag(operand(x))], axis=-1),
    "sum": _reduction("sum"),
    "mean": _reduction("mean"),
    "prod": _reduction("prod"),
    "amax": _reduction("amax"),
    "amin": _reduction("amin"),
    "all": _quantifier("all"),
    "any": _quantifier("any"),
    "max": _extreme("amax", "maximum", "argmax"),
    "min": _extreme("amin", "minimum", "argmin"),
    "argmax": _arg("argmax"),
    "argmin": _arg("argmin"),
    "logsumexp": _logsumexp,
    "var": _var,
    "std": _std,
    "var_mean": _var_mean,
    "softmax": _along("softmax"),
    "_softmax": _along("softmax"),
    "_safe_softmax": _along("softmax"),
    "log_softmax": _along("log_softmax"),
    "_log_softmax": _along("log_softmax"),
    "cumsum": _along("cumulative_sum"),
    "cumprod": _along("cumulative_prod"),
    "cummax": _cumulative_extreme(1),
    "cummin": _cumulative_extreme(-1),
    "logcumsumexp": _logcumsumexp,
    "sort": _sort,
    "argsort": _argsort,
    "topk": _topk,
    "kthvalue": _kth,
    "median": _median,
    "linalg_vector_norm": _vector_norm,
    "mm": _matmul,
    "bmm": _matmul,
    "mv": _matmul,
    "dot": _matmul,
    "matmul": _matmul,
    "vdot": _vdot,
    "addmm": _plus_product,
    "addmv": _plus_product,
    "baddbmm": _plus_product,
    "convolution": _convolution,
    **trace_torch_moves.HANDLERS,
    **trace_torch_linalg.HANDLERS,
}
"""By the name of an op without its overload."""
