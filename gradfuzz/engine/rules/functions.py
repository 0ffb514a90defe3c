"""The ops as functions, for rules and for functions that people trace: `sin(x)`, `where(c, a, b)`, `sum(x,
axis=0)`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gradfuzz.engine.rules.value import Operand, Operators, Value, apply, axes_of, index_pattern, shape_of

Axis = int | tuple[int, ...] | None


def sin(x: Operand) -> Any:
    """Sine, elementwise."""
    return apply("sin", x)


def cos(x: Operand) -> Any:
    """Cosine, elementwise."""
    return apply("cos", x)


def tan(x: Operand) -> Any:
    """Tangent, elementwise."""
    return apply("tan", x)


def tanh(x: Operand) -> Any:
    """Hyperbolic tangent, elementwise."""
    return apply("tanh", x)


def exp(x: Operand) -> Any:
    """Exponential, elementwise."""
    return apply("exp", x)


def log(x: Operand) -> Any:
    """Natural logarithm of x > 0, elementwise."""
    return apply("log", x)


def sqrt(x: Operand) -> Any:
    """Square root of x >= 0, elementwise."""
    return apply("sqrt", x)


def abs(x: Operand) -> Any:
    """Absolute value, elementwise; its derivative at 0 is 0."""
    return apply("abs", x)


def complex(re: Operand, im: Operand) -> Any:
    """The complex number re + i im, elementwise."""
    return apply("complex", re, im)


def conj(z: Operand) -> Any:
    """The complex conjugate, elementwise; what is real stays as it is."""
    return apply("conj", z)


def real(z: Operand) -> Any:
    """The real part, elementwise; what is real stays as it is."""
    return apply("real", z)


def imag(z: Operand) -> Any:
    """The imaginary part, elementwise."""
    return apply("imag", z)


def sign(x: Operand) -> Any:
    """-1, 0 or 1, elementwise; its derivative is 0."""
    return apply("sign", x)


def pow(x: Operand, y: Operand) -> Any:
    """x**y for x > 0, elementwise. For an int y write `x ** y`, which is defined for every x."""
    return apply("pow", x, y)


def maximum(x: Operand, y: Operand) -> Any:
    """The greater of two, elementwise; at a tie each gets half the derivative."""
    return apply("maximum", x, y)


def minimum(x: Operand, y: Operand) -> Any:
    """The smaller of two, elementwise; at a tie each gets half the derivative."""
    return apply("minimum", x, y)


def where(condition: Operand, x: Operand, y: Operand) -> Any:
    """x where the condition holds, else y. The side not chosen gets the derivative 0, whatever its value."""
    return apply("where", condition, x, y)


def sum(x: Operand, *, axis: Axis = None, keepdims: bool = False) -> Any:
    """Sum over axes (None: all)."""
    return apply("sum", x, axis=axis, keepdims=keepdims)


def mean(x: Operand, *, axis: Axis = None, keepdims: bool = False) -> Any:
    """Mean over axes (None: all)."""
    return apply("mean", x, axis=axis, keepdims=keepdims)


def prod(x: Operand, *, axis: Axis = None, keepdims: bool = False) -> Any:
    """Product over axes (None: all); differentiable where entries are 0."""
    return apply("prod", x, axis=axis, keepdims=keepdims)


def cumulative_sum(x: Operand, *, axis: int = 0) -> Any:
    """Running sum along an axis."""
    return apply("cumulative_sum", x, axis=axis)


def reshape(x: Operand, shape: tuple[int, ...]) -> Any:
    """The same entries, row-major, in another shape."""
    return apply("reshape", x, shape=shape)


def broadcast_to(x: Operand, shape: tuple[int, ...]) -> Any:
    """x repeated along axes of size 1 and new leading axes."""
    return apply("broadcast_to", x, shape=shape)


def permute_dims(x: Operand, axes: tuple[int, ...]) -> Any:
    """x with its axes in another order."""
    return apply("permute_dims", x, axes=axes)


def flip(x: Operand, *, axis: int = 0) -> Any:
    """x with one axis reversed."""
    return apply("flip", x, axis=axis)


def concat(arrays: Sequence[Operand], *, axis: int = 0) -> Any:
    """Arrays joined along an axis that they have."""
    return apply("concat", *arrays, axis=axis)


def stack(arrays: Sequence[Operand], *, axis: int = 0) -> Any:
    """Arrays of one shape joined along a new axis."""
    return apply("stack", *arrays, axis=axis)


def matmul(x: Operand, y: Operand) -> Any:
    """Matrix product with the batch and vector rules of the array API standard."""
    return apply("matmul", x, y)


def index_update(x: Operand, key: Any, value: Operand) -> Any:
    """x with x[key] replaced by `value`; x itself stays as it is."""
    indices = list(key) if isinstance(key, tuple) else [key]
    traced = any(isinstance(o, Operators) for o in (x, value, *indices))
    pattern, found = index_pattern(key, shape_of(x))
    region = tuple(e[2] - e[1] for e in pattern if isinstance(e, tuple))  # type: ignore[operator]
    if traced and shape_of(value) != region:
        value = broadcast_to(value, region)
    return apply("index_update", x, value, *found, pattern=pattern)


def unbroadcast(x: Any, shape: tuple[int, ...]) -> Any:
    """The transpose of broadcasting `shape` to x.shape: sums over the axes that grew."""
    if x.shape == shape:
        return x
    extra = len(x.shape) - len(shape)
    grown = tuple(range(extra)) + tuple(
        extra + k for k, n in enumerate(shape) if n == 1 and x.shape[extra + k] != 1
    )
    summed = sum(x, axis=grown) if grown else x
    return summed if summed.shape == shape else reshape(summed, shape)


def from_front(indices: Operand, size: int) -> Any:
    """Indices into an axis, with negative ones counted from its end."""
    if isinstance(indices, Operators):
        return where(indices < 0, indices + size, indices)
    array = np.asarray(indices)
    return np.where(array < 0, array + size, array)[()]


def expand_reduced(x: Any, shape: tuple[int, ...], axis: Any, keepdims: Any) -> Any:
    """A reduction's result, spread again over the axes that were reduced."""
    if not keepdims:
        axes = axes_of(axis, len(shape))
        x = reshape(x, tuple(1 if k in axes else n for k, n in enumerate(shape)))
    return broadcast_to(x, shape)


def is_complex(x: Operand) -> bool:
    """Whether `x` has complex entries."""
    return x.type.is_complex if isinstance(x, Value) else np.iscomplexobj(x)
