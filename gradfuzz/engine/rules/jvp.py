"""Forward-mode rules: for each op and each argument, the tangent of the result along that argument's tangent.

A rule takes the tangent `t` of one argument, the result `ans` and the arguments; the tangents of several
arguments add up. None is a tangent that is zero; one of a smaller shape is broadcast by whoever calls.
`_linear` marks arguments in which the op is linear: the op itself is the rule.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gradfuzz.engine.rules import linalg as linalg_rules
from gradfuzz.engine.rules import tensor_jvp as tensor
from gradfuzz.engine.rules.elementwise import jvp_rules
from gradfuzz.engine.rules.functions import conj, log, pow, prod, where
from gradfuzz.engine.rules.value import apply, axes_of, zeros_as
from gradfuzz.programs.language.functions import Function, for_each

JVPRule = Callable[..., Any]


def _linear(op: str) -> JVPRule:
    return lambda t, ans, *args, **params: apply(op, t, **params)


def _prod(t: Any, ans: Any, x: Any, *, axis: Any, keepdims: Any) -> Any:
    """Leibniz: the sum over k of the product with entry k replaced by its tangent."""
    axes = axes_of(axis, x.ndim)
    total: Any = None
    for position in np.ndindex(*(x.shape[a] for a in axes)):
        here = np.zeros([x.shape[a] if a in axes else 1 for a in range(x.ndim)], dtype=bool)
        here[tuple(position[axes.index(a)] if a in axes else 0 for a in range(x.ndim))] = True
        term = prod(where(here, t, x), axis=axis, keepdims=keepdims)
        total = term if total is None else total + term
    return total if total is not None else zeros_as(t, ans.type)


def _abs(t: Any, ans: Any, x: Any) -> Any:
    """|z|^2 = conj(z) z, so |z| changes by Re(conj(z) t) / |z|; by 0 where z is 0."""
    if x.type.is_complex:
        return apply("real", conj(x) * t) / where(ans == 0.0, 1.0, ans)
    return where(x > 0.0, t, where(x < 0.0, -t, 0.0))


def _join(op: str) -> JVPRule:
    def rule(k: int, t: Any, ans: Any, *xs: Any, axis: Any) -> Any:
        return apply(op, *[t if j == k else zeros_as(t, x.type) for j, x in enumerate(xs)], axis=axis)

    return rule


def _index(t: Any, ans: Any, x: Any, *indices: Any, pattern: Any) -> Any:
    return apply("index", t, *indices, pattern=pattern)


def _index_update_array(t: Any, ans: Any, x: Any, value: Any, *indices: Any, pattern: Any) -> Any:
    return apply("index_update", t, zeros_as(t, value.type), *indices, pattern=pattern)


def _index_update_value(t: Any, ans: Any, x: Any, value: Any, *indices: Any, pattern: Any) -> Any:
    return apply("index_update", zeros_as(t, x.type), t, *indices, pattern=pattern)


# One line per op, as in `vjp_rules`.
JVP: dict[str, tuple[JVPRule, ...] | JVPRule] = {
    "add": (lambda t, ans, x, y: t, lambda t, ans, x, y: t),
    "subtract": (lambda t, ans, x, y: t, lambda t, ans, x, y: -t),
    "multiply": (lambda t, ans, x, y: t * y, lambda t, ans, x, y: x * t),
    "divide": (lambda t, ans, x, y: t / y, lambda t, ans, x, y: -(x / y) * (t / y)),
    "negative": (_linear("negative"),),
    "integer_pow": (lambda t, ans, x, *, n: _power_slope(x, n) * t if n else None,),
    "pow": (lambda t, ans, x, y: y * pow(x, y - 1.0) * t, lambda t, ans, x, y: log(x) * ans * t),
    "softmax": (tensor.softmax,),
    "log_softmax": (tensor.log_softmax,),
    "abs": (_abs,),
    "complex": (
        lambda t, ans, re, im: apply("complex", t, 0.0),
        lambda t, ans, re, im: apply("complex", 0.0, t),
    ),
    "conj": (_linear("conj"),),
    "real": (_linear("real"),),
    "imag": (_linear("imag"),),
    "maximum": (
        lambda t, ans, x, y: where(x == y, 0.5 * t, where(x > y, t, 0.0)),
        lambda t, ans, x, y: where(x == y, 0.5 * t, where(x > y, 0.0, t)),
    ),
    "minimum": (
        lambda t, ans, x, y: where(x == y, 0.5 * t, where(x < y, t, 0.0)),
        lambda t, ans, x, y: where(x == y, 0.5 * t, where(x < y, 0.0, t)),
    ),
    "clip": (tensor.clip_x, tensor.clip_lower, tensor.clip_upper),
    "where": (
        lambda t, ans, c, x, y: None,
        lambda t, ans, c, x, y: where(c, t, 0.0),
        lambda t, ans, c, x, y: where(c, 0.0, t),
    ),
    "sum": (_linear("sum"),),
    "mean": (_linear("mean"),),
    "prod": (_prod,),
    "cumulative_sum": (_linear("cumulative_sum"),),
    "cumulative_prod": (tensor.cumulative_prod,),
    "cumulative_max": (tensor.cumulative_max,),
    "amax": (tensor.extreme,),
    "amin": (tensor.extreme,),
    "logsumexp": (tensor.logsumexp,),
    "window_sum": (_linear("window_sum"),),
    "astype": (_linear("astype"),),
    "reshape": (_linear("reshape"),),
    "broadcast_to": (_linear("broadcast_to"),),
    "permute_dims": (_linear("permute_dims"),),
    "flip": (_linear("flip"),),
    "concat": _join("concat"),
    "stack": _join("stack"),
    "index": (_index,),
    "index_update": (_index_update_array, _index_update_value),
    "sort": (tensor.sort,),
    "take": (
        lambda t, ans, x, i, *, axis: apply("take", t, i, axis=axis),
        lambda t, ans, x, i, *, axis: None,
    ),
    "take_along_axis": (
        lambda t, ans, x, i, *, axis: apply("take_along_axis", t, i, axis=axis),
        lambda t, ans, x, i, *, axis: None,
    ),
    "scatter_add": (
        lambda t, ans, x, i, u, *, axis: t,
        lambda t, ans, x, i, u, *, axis: None,
        tensor.scatter_update,
    ),
    "conv": (
        lambda t, ans, x, kernel, **windows: apply("conv", t, kernel, **windows),
        lambda t, ans, x, kernel, **windows: apply("conv", x, t, **windows),
    ),
    "matmul": (lambda t, ans, x, y: apply("matmul", t, y), lambda t, ans, x, y: apply("matmul", x, t)),
    **linalg_rules.JVP,
}


@for_each
def _add(row: Function) -> None:
    if not row.step:
        JVP[row.name] = jvp_rules(row, JVP)


def _power_slope(x: Any, n: int) -> Any:
    return 1.0 if n == 1 else float(n) * x ** (n - 1)
