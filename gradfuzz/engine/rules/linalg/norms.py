"""matrix_norm over the last two axes, and vector_norm over one axis or all.

Choices where a norm has no derivative: where several columns, rows, entries or singular values are extreme
together, each gets an equal share; an entry's absolute value grows along the entry over it, and not at all
where the entry is 0; at the zero vector or matrix the gradient of the orders 2 and above, and of "fro", is 0.
The order 0, a count, has the derivative 0.
"""

from __future__ import annotations

from typing import Any

from gradfuzz.engine.rules.functions import conj, expand_reduced, is_complex, real, sign, sum, where
from gradfuzz.engine.rules.linalg.matrices import Rule, Rules, adjoint, expand, row
from gradfuzz.engine.rules.value import apply

_LINES = {1: (-2, "inf"), -1: (-2, "-inf"), "inf": (-1, "inf"), "-inf": (-1, "-inf")}
"""Orders that are the extreme sum of absolute values over an axis: that axis, and which extreme."""

_SPECTRAL = {2: "inf", -2: "-inf"}
"""Orders that are an extreme singular value."""


def _extreme(values: Any, which: Any) -> Any:
    """Where `values`, none of them negative, are greatest or least along the last axis."""
    return values == apply("vector_norm", values, ord=which, axis=-1, keepdims=True)


def _matrix_norm(x: Any, *, ord: Any, keepdims: bool) -> Any:
    """Norms of singular values, by the decomposition that has the vectors, too."""
    if (ord != "nuc" and ord not in _SPECTRAL) or _is_empty(x):
        return None
    s = apply("svd", x, full_matrices=False, part=1)
    total = sum(s, axis=-1) if ord == "nuc" else apply("vector_norm", s, ord=_SPECTRAL[ord], axis=-1)
    return expand(total) if keepdims else total


def _is_empty(x: Any) -> bool:
    """Whether a matrix has no entries; its norms are 0, and constant."""
    return 0 in x.shape[-2:]


FORTH: dict[str, Rule] = {"matrix_norm": _matrix_norm}

# vjp --------------------------------------------------------------------------------------------------------


def _share(values: Any, which: Any) -> Any:
    """The gradient of the extreme of `values` along the last axis."""
    chosen = where(_extreme(values, which), 1.0, 0.0)
    return chosen / sum(chosen, axis=-1, keepdims=True)


def _unit(x: Any) -> Any:
    """The gradient of |x|, entry by entry: x / |x|, 0 where x is."""
    return _direction(x, abs(x)) if is_complex(x) else sign(x)


def _matrix_norm_vjp(g: Any, ans: Any, x: Any, *, ord: Any, keepdims: bool) -> Any:
    if _is_empty(x):
        return None
    g, ans = (g, ans) if keepdims else (expand(g), expand(ans))
    if ord == "fro":
        return g * _direction(x, ans)
    if ord in _LINES:
        axis, which = _LINES[ord]
        share = _share(sum(abs(x), axis=axis), which)
        spread = row(share) if axis == -2 else apply("reshape", share, shape=(*share.shape, 1))
        return g * (_unit(x) * spread)
    u, s, vh = (apply("svd", x, full_matrices=False, part=k) for k in range(3))
    weighted = u if ord == "nuc" else u * row(_share(s, _SPECTRAL[ord]))
    return g * (weighted @ vh)


def _direction(x: Any, norm: Any) -> Any:
    """x / norm, or a slope over it, 0 where the norm is."""
    zero = norm == 0.0
    return where(zero, 0.0, x / where(zero, 1.0, norm))


def _attained(x: Any, norm: Any, which: Any, axis: Any) -> Any:
    """Where |x| is its extreme along an axis, `norm`. What |x| is of a complex x may be rounded in several
    ways, so it is computed once.
    """
    size = abs(x)
    if is_complex(x):
        norm = apply("vector_norm", size, ord=which, axis=axis, keepdims=True)
    return size == norm


def _vector_norm_vjp(g: Any, ans: Any, x: Any, *, ord: Any, axis: Any, keepdims: bool) -> Any:
    if ord == 0:
        return None
    g, norm = (expand_reduced(y, x.shape, axis, keepdims) for y in (g, ans))
    if ord == 1:
        return g * _unit(x)
    if isinstance(ord, str):
        chosen = where(_attained(x, norm, ord, axis), 1.0, 0.0)
        count = expand_reduced(sum(chosen, axis=axis, keepdims=keepdims), x.shape, axis, keepdims)
        return g * (_unit(x) * (chosen / count))
    unit = _direction(x, norm)
    return g * (unit if ord == 2 else unit * abs(unit) ** (ord - 2))


VJP: Rules = {"matrix_norm": (_matrix_norm_vjp,), "vector_norm": (_vector_norm_vjp,)}


# jvp --------------------------------------------------------------------------------------------------------


def _mean_slope(slopes: Any, values: Any, which: Any) -> Any:
    """The mean of the slopes of those values that are extreme along the last axis, which stays."""
    chosen = _extreme(values, which)
    total, count = (sum(where(chosen, x, 0.0), axis=-1, keepdims=True) for x in (slopes, 1.0))
    return total / count


def _along(x: Any, t: Any) -> Any:
    """The tangent of |x|."""
    if is_complex(x):
        return _direction(real(conj(x) * t), abs(x))
    return where(x < 0.0, -t, where(x == 0.0, 0.0, t))


def _matrix_norm_jvp(t: Any, ans: Any, x: Any, *, ord: Any, keepdims: bool) -> Any:
    if _is_empty(x):
        return None
    if ord == "fro":
        return _direction(sum(real(conj(x) * t), axis=(-2, -1), keepdims=keepdims), ans)
    if ord in _LINES:
        axis, which = _LINES[ord]
        slope = _mean_slope(sum(_along(x, t), axis=axis), sum(abs(x), axis=axis), which)
    else:
        u, s, vh = (apply("svd", x, full_matrices=False, part=k) for k in range(3))
        slopes = sum(real(conj(u) * (t @ adjoint(vh))), axis=-2)
        slope = (
            sum(slopes, axis=-1, keepdims=True) if ord == "nuc" else _mean_slope(slopes, s, _SPECTRAL[ord])
        )
    return apply("reshape", slope, shape=ans.shape)


def _vector_norm_jvp(t: Any, ans: Any, x: Any, *, ord: Any, axis: Any, keepdims: bool) -> Any:
    """d |x|_p = sum of sign(x_i) |x_i|^(p-1) dx_i over |x|_p^(p-1), with quotients before powers."""
    if ord == 0:
        return None
    if ord == 1:
        return sum(_along(x, t), axis=axis, keepdims=keepdims)
    if ord == 2:
        return _direction(sum(real(conj(x) * t), axis=axis, keepdims=keepdims), ans)
    spread = expand_reduced(ans, x.shape, axis, keepdims)
    if isinstance(ord, str):
        chosen = _attained(x, spread, ord, axis)
        slopes = sum(where(chosen, _along(x, t), 0.0), axis=axis, keepdims=keepdims)
        return slopes / sum(where(chosen, 1.0, 0.0), axis=axis, keepdims=keepdims)
    nonzero = where(spread == 0.0, 1.0, spread)
    slopes = _along(x, t) * (abs(x) / nonzero) ** (ord - 1)
    return sum(slopes, axis=axis, keepdims=keepdims)


JVP: Rules = {"matrix_norm": (_matrix_norm_jvp,), "vector_norm": (_vector_norm_jvp,)}
