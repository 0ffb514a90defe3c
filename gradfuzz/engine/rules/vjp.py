"""Reverse-mode rules: for each op and each argument, the cotangent of that argument.

A cotangent of z = a + ib is dL/da + i dL/db for the real L that is differentiated; so a holomorphic op with
slope s has the cotangent conj(s) g, and `conj` is nothing on real values. A rule takes the cotangent `g` of
the result, the result `ans` and the arguments; static parameters by keyword. It may return None for a
derivative that is zero, and a cotangent in the shape of the result: broadcasting is undone by whoever calls.
The table names no forward rule and `jvp_rules` no reverse one, so that <J v, u> = <v, J^T u> is a test of
both.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gradfuzz.engine.rules import linalg as linalg_rules
from gradfuzz.engine.rules import tensor_vjp as tensor
from gradfuzz.engine.rules.elementwise import vjp_rules
from gradfuzz.engine.rules.functions import (
    broadcast_to,
    conj,
    cumulative_sum,
    expand_reduced,
    flip,
    log,
    permute_dims,
    pow,
    prod,
    real,
    reshape,
    sign,
    unbroadcast,
    where,
)
from gradfuzz.engine.rules.linalg.matrices import adjoint
from gradfuzz.engine.rules.value import apply, axes_of, zeros_as
from gradfuzz.programs.language.functions import Function, for_each

VJPRule = Callable[..., Any]


def _size(x: Any) -> float:
    """The number of entries, as a float."""
    return float(np.prod(x.shape, dtype=int))


def _pick(mask: Any, g: Any) -> Any:
    return where(mask, g, 0.0)


def _abs(g: Any, ans: Any, x: Any) -> Any:
    """|z| grows along z / |z|; where z is 0 the derivative is 0."""
    return g * (x / where(ans == 0.0, 1.0, ans)) if x.type.is_complex else g * sign(x)


def _prod(g: Any, ans: Any, x: Any, *, axis: Any, keepdims: Any) -> Any:
    """d prod / d x_k is the product of the others: right where entries are 0, at every order."""
    axes = axes_of(axis, x.ndim)
    rest = tuple(a for a in range(x.ndim) if a not in axes)
    moved = permute_dims(x, rest + axes) if rest + axes != tuple(range(x.ndim)) else x
    kept = tuple(x.shape[a] for a in rest)
    n = int(np.prod([x.shape[a] for a in axes], dtype=int))
    rows = broadcast_to(reshape(moved, (*kept, 1, n)), (*kept, n, n))
    others = prod(where(np.eye(n, dtype=bool), 1.0, rows), axis=-1) if n else reshape(moved, (*kept, n))
    back = reshape(others, tuple(x.shape[a] for a in rest + axes))
    order = tuple(int(k) for k in np.argsort(rest + axes))
    others = permute_dims(back, order) if order != tuple(range(x.ndim)) else back
    return expand_reduced(g, x.shape, axis, keepdims) * conj(others)


def _matmul_left(g: Any, ans: Any, x: Any, y: Any) -> Any:
    """Y = X B: X_bar = Y_bar B^H (Giles 2008, section 2.2.1), with the vector cases written as matrices."""
    if y.ndim == 1:
        return reshape(g, (*g.shape, 1)) * conj(y) if x.ndim > 1 else g * conj(y)
    if x.ndim > 1:
        return apply("matmul", g, adjoint(y))
    row = apply("matmul", reshape(g, (*g.shape[:-1], 1, g.shape[-1])), adjoint(y))
    return reshape(row, (*row.shape[:-2], row.shape[-1]))


def _matmul_right(g: Any, ans: Any, x: Any, y: Any) -> Any:
    """Y = A X: X_bar = A^H Y_bar."""
    if x.ndim == 1:
        if y.ndim == 1:
            return g * conj(x)
        return reshape(conj(x), (x.shape[0], 1)) * reshape(g, (*g.shape[:-1], 1, g.shape[-1]))
    column = reshape(g, (*g.shape, 1)) if y.ndim == 1 else g
    result = apply("matmul", adjoint(x), column)
    return reshape(result, result.shape[:-1]) if y.ndim == 1 else result


def _concat(k: int, g: Any, ans: Any, *xs: Any, axis: Any) -> Any:
    axis %= ans.ndim
    start = 0
    for x in xs[:k]:
        start += x.shape[axis]
    return g[
        tuple(slice(start, start + xs[k].shape[axis]) if a == axis else slice(None) for a in range(ans.ndim))
    ]


def _stack(k: int, g: Any, ans: Any, *xs: Any, axis: Any) -> Any:
    return g[tuple(k if a == axis % ans.ndim else slice(None) for a in range(ans.ndim))]


def _index(g: Any, ans: Any, x: Any, *indices: Any, pattern: Any) -> Any:
    return apply("index_update", zeros_as(g, x.type), g, *indices, pattern=pattern)


def _updated(g: Any, ans: Any, x: Any, value: Any, *indices: Any, pattern: Any) -> Any:
    return apply("index_update", g, zeros_as(g, value.type.tangent()), *indices, pattern=pattern)


def _update(g: Any, ans: Any, x: Any, value: Any, *indices: Any, pattern: Any) -> Any:
    return apply("index", g, *indices, pattern=pattern)


def _integer_pow(g: Any, ans: Any, x: Any, *, n: int) -> Any:
    return None if n == 0 else g if n == 1 else g * conj(float(n) * x ** (n - 1))


# One line per op; a tuple has one rule per argument, a single function of (k, g, ans, *args) serves any
# number of them.
VJP: dict[str, tuple[VJPRule, ...] | VJPRule] = {
    "add": (lambda g, ans, x, y: g, lambda g, ans, x, y: g),
    "subtract": (lambda g, ans, x, y: g, lambda g, ans, x, y: -g),
    "multiply": (lambda g, ans, x, y: g * conj(y), lambda g, ans, x, y: g * conj(x)),
    "divide": (lambda g, ans, x, y: g / conj(y), lambda g, ans, x, y: -g * conj(ans) / conj(y)),
    "negative": (lambda g, ans, x: -g,),
    "integer_pow": (_integer_pow,),
    "pow": (lambda g, ans, x, y: g * conj(y * pow(x, y - 1.0)), lambda g, ans, x, y: g * conj(ans * log(x))),
    "softmax": (tensor.softmax,),
    "log_softmax": (tensor.log_softmax,),
    "abs": (_abs,),
    "complex": (lambda g, ans, re, im: real(g), lambda g, ans, re, im: apply("imag", g)),
    "conj": (lambda g, ans, x: conj(g),),
    "real": (lambda g, ans, x: g,),
    "imag": (lambda g, ans, x: apply("complex", 0.0, g) if x.type.is_complex else None,),
    "maximum": (
        lambda g, ans, x, y: where(x > y, g, _pick(x == y, 0.5 * g)),
        lambda g, ans, x, y: where(y > x, g, _pick(x == y, 0.5 * g)),
    ),
    "minimum": (
        lambda g, ans, x, y: where(x < y, g, _pick(x == y, 0.5 * g)),
        lambda g, ans, x, y: where(y < x, g, _pick(x == y, 0.5 * g)),
    ),
    "clip": (tensor.clip_x, tensor.clip_lower, tensor.clip_upper),
    "where": (
        lambda g, ans, c, x, y: None,
        lambda g, ans, c, x, y: where(c, g, 0.0),
        lambda g, ans, c, x, y: where(c, 0.0, g),
    ),
    "sum": (lambda g, ans, x, *, axis, keepdims: expand_reduced(g, x.shape, axis, keepdims),),
    "mean": (
        lambda g, ans, x, *, axis, keepdims: (
            expand_reduced(g, x.shape, axis, keepdims) * (_size(ans) / max(_size(x), 1.0))
        ),
    ),
    "prod": (_prod,),
    "cumulative_sum": (
        lambda g, ans, x, *, axis: flip(cumulative_sum(flip(g, axis=axis), axis=axis), axis=axis),
    ),
    "cumulative_prod": (tensor.cumulative_prod,),
    "cumulative_max": (tensor.cumulative_max,),
    "amax": (tensor.extreme,),
    "amin": (tensor.extreme,),
    "logsumexp": (tensor.logsumexp,),
    "window_sum": (tensor.window_sum,),
    "astype": (lambda g, ans, x, *, dtype: real(g) if x.type.is_float else g,),
    "reshape": (lambda g, ans, x, *, shape: reshape(g, x.shape),),
    "broadcast_to": (lambda g, ans, x, *, shape: unbroadcast(g, x.shape),),
    "permute_dims": (lambda g, ans, x, *, axes: permute_dims(g, tuple(int(k) for k in np.argsort(axes))),),
    "flip": (lambda g, ans, x, *, axis: flip(g, axis=axis),),
    "concat": _concat,
    "stack": _stack,
    "index": (_index,),
    "index_update": (_updated, _update),
    "sort": (tensor.sort,),
    "take": (tensor.take, lambda g, ans, x, i, *, axis: None),
    "take_along_axis": (tensor.take_along_axis, lambda g, ans, x, i, *, axis: None),
    "scatter_add": (
        lambda g, ans, x, i, u, *, axis: g,
        lambda g, ans, x, i, u, *, axis: None,
        lambda g, ans, x, i, u, *, axis: apply("take", g, i, axis=axis),
    ),
    "conv": (tensor.conv_x, tensor.conv_kernel),
    "matmul": (_matmul_left, _matmul_right),
    **linalg_rules.VJP,
}


@for_each
def _add(row: Function) -> None:
    if not row.step:
        VJP[row.name] = vjp_rules(row, VJP)


VJP_SEVERAL = linalg_rules.VJP_SEVERAL
"""Rules of ops with several results; see `engine.rules.linalg`."""
