"""NumPy's reductions, scans and products on arrays that record."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

import gradfuzz.engine as engine
from gradfuzz.engine.rules.value import apply
from gradfuzz.tracing.common.compositions import (
    as_kind,
    ascending,
    by_name,
    flat,
    kind_of,
    recorded,
    variance,
)
from gradfuzz.tracing.numpy.array import NumpyTrace

Axis = int | tuple[int, ...] | None
Handler = Callable[..., Any]


# Reductions -------------------------------------------------------------------------------------------------


def _number(x: Any) -> Any:
    """Bools are counted as ints."""
    return as_kind(x, "int") if kind_of(x) == "bool" else x


def _axes(axis: Any) -> Axis:
    return tuple(axis) if isinstance(axis, (list, tuple)) else axis


def no_options(trace: NumpyTrace, options: dict[str, Any]) -> None:
    given = [k for k, v in options.items() if v is not None and v is not True]
    if given:
        raise trace.refuse(f"the option {given[0]} of a NumPy function, which gradfuzz has not")


def _over(op: str, x: Any, axis: Any, keepdims: Any) -> Any:
    """An op over axes; of a scalar, the scalar."""
    return apply(op, x, axis=_axes(axis), keepdims=keepdims is True) if np.shape(x) else x


def _asked(name: str, handler: Handler, known: str) -> Handler:
    """A handler that is given the array and the options that are `known`, by the names that NumPy has for
    them.
    """
    signature, names = inspect.signature(getattr(np, name)), known.split()

    def called(trace: NumpyTrace, *args: Any, **options: Any) -> Any:
        (_, a), *said = signature.bind(*args, **options).arguments.items()
        given = {option: v for option, v in said if v is not signature.parameters[option].default}
        no_options(trace, {option: v for option, v in given.items() if option not in names})
        return handler(trace, a, **{option: v for option, v in given.items() if option in names})

    return called


def _reduction(op: str) -> Handler:
    def handler(trace: NumpyTrace, a: Any, axis: Any = None, dtype: Any = None, keepdims: Any = False) -> Any:
        no_options(trace, {"dtype": None if dtype is None or np.dtype(dtype) == trace.dtype else dtype})
        result = _over(op, _number(trace.raw(a)), axis, keepdims)
        return as_kind(result, "float") if op == "mean" else result

    return handler


def _extreme(op: str, of_two: str, neutral: float) -> Handler:
    def handler(
        trace: NumpyTrace, a: Any, axis: Any = None, keepdims: Any = False, initial: Any = None
    ) -> Any:
        result = _over(op, trace.raw(a), axis, keepdims)
        return result if initial is None or initial == neutral else apply(of_two, result, trace.raw(initial))

    return handler


def _quantifier(op: str) -> Handler:
    def handler(trace: NumpyTrace, a: Any, axis: Any = None, keepdims: Any = False) -> Any:
        return _over(op, as_kind(trace.raw(a), "bool"), axis, keepdims)

    return handler


def _arg(op: str) -> Handler:
    def handler(trace: NumpyTrace, a: Any, axis: int | None = None, keepdims: Any = False) -> Any:
        return apply(op, _number(trace.raw(a)), axis=axis, keepdims=keepdims is True)

    return handler


def _var(
    trace: NumpyTrace, a: Any, axis: Any = None, ddof: Any = 0, correction: Any = None, keepdims: Any = False
) -> Any:
    axes: Any = (axis,) if isinstance(axis, int) else _axes(axis)
    chosen = ddof if correction is None else correction
    return variance(trace.raw(a), axis=axes, correction=chosen, keepdims=keepdims is True)


def _std(trace: NumpyTrace, a: Any, **options: Any) -> Any:
    return engine.sqrt(_var(trace, a, **options))


def _ptp(trace: NumpyTrace, a: Any, axis: Any = None, keepdims: Any = False) -> Any:
    x, over = trace.raw(a), {"axis": _axes(axis), "keepdims": keepdims is True}
    return apply("amax", x, **over) - apply("amin", x, **over)


def _average(
    trace: NumpyTrace,
    a: Any,
    axis: Any = None,
    weights: Any = None,
    returned: bool = False,
    keepdims: Any = False,
) -> Any:
    if weights is None or returned:
        raise trace.refuse(
            "numpy.average in a form that gradfuzz has not; use numpy.mean, or the quotient of two sums"
        )
    x, w = trace.raw(a), trace.raw(weights)
    shape, over = np.shape(x), {"axis": _axes(axis), "keepdims": keepdims is True}
    if np.shape(w) != shape:
        w = engine.reshape(w, tuple(n if k == axis % len(shape) else 1 for k, n in enumerate(shape)))
    total = apply("sum", x * w, **over)
    return total / apply(
        "sum", recorded(w) if np.shape(w) == shape else engine.broadcast_to(w, shape), **over
    )


def _scan(op: str) -> Handler:
    def handler(trace: NumpyTrace, a: Any, axis: int | None = None) -> Any:
        x = _number(trace.raw(a))
        return apply(op, flat(x) if axis is None and len(np.shape(x)) != 1 else x, axis=axis or 0)

    return handler


def _count_nonzero(trace: NumpyTrace, a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    return engine.sum(as_kind(as_kind(trace.raw(a), "bool"), "int"), axis=_axes(axis), keepdims=keepdims)


def _sort(trace: NumpyTrace, a: Any, axis: int | None = -1, **options: Any) -> Any:
    descending = options.pop("descending", False)
    x = trace.raw(a)
    return ascending(flat(x) if axis is None else x, -1 if axis is None else axis, descending=descending)[0]


def _argsort(trace: NumpyTrace, a: Any, axis: int | None = -1, **options: Any) -> Any:
    x = trace.raw(a)
    return engine.argsort(flat(x) if axis is None else x, axis=-1 if axis is None else axis)


def _median(trace: NumpyTrace, a: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """The mean of the two in the middle, or the one."""
    if isinstance(axis, tuple) or keepdims:
        raise trace.refuse("numpy.median over several axes, or with keepdims")
    x = trace.raw(a)
    rows = engine.sort(flat(x) if axis is None else x, axis=0 if axis is None else axis)
    place = 0 if axis is None else axis % len(np.shape(x))
    count = np.shape(rows)[place]
    low, high = (rows[(*[slice(None)] * place, k)] for k in ((count - 1) // 2, count // 2))
    return low if count % 2 else (low + high) / 2.0


# Products ---------------------------------------------------------------------------------------------------


def _dot(trace: NumpyTrace, a: Any, b: Any, out: Any = None) -> Any:
    x, y = trace.raw(a), trace.raw(b)
    if not np.ndim(x) or not np.ndim(y):
        return x * y
    return engine.matmul(x, y) if np.ndim(y) < 3 else trace.raw(np.tensordot(a, b, (-1, -2)))


def _outer(trace: NumpyTrace, a: Any, b: Any, out: Any = None) -> Any:
    return engine.linalg.outer(flat(recorded(trace.raw(a))), flat(recorded(trace.raw(b))))


def _kron(trace: NumpyTrace, a: Any, b: Any) -> Any:
    matrices = np.ndim(a) == np.ndim(b) == 2
    return engine.linalg.kron(trace.raw(a), trace.raw(b)) if matrices else flat(_outer(trace, a, b))


def _inner(trace: NumpyTrace, a: Any, b: Any) -> Any:
    x, y = trace.raw(a), trace.raw(b)
    return x * y if not np.ndim(x) or not np.ndim(y) else trace.raw(np.tensordot(a, b, (-1, -1)))


def _tensordot(trace: NumpyTrace, a: Any, b: Any, axes: Any = 2) -> Any:
    """By letters, as an einsum."""
    x, y = trace.raw(a), trace.raw(b)
    m, n = len(np.shape(x)), len(np.shape(y))
    if isinstance(axes, int):
        axes = (list(range(m - axes, m)), list(range(axes)))
    first, second = ([o] if isinstance(o, int) else list(o) for o in axes)
    left = [chr(97 + k) for k in range(m)]
    right = [chr(97 + m + k) for k in range(n)]
    for i, j in zip(first, second, strict=True):
        right[j] = left[i]
    kept = [c for c in left if c not in right] + [c for c in right if c not in left]
    return engine.linalg.einsum(f"{''.join(left)},{''.join(right)}->{''.join(kept)}", x, y)


def _einsum(trace: NumpyTrace, *operands: Any, **options: Any) -> Any:
    subscripts, *arrays = operands
    if not isinstance(subscripts, str):
        raise trace.refuse("numpy.einsum with lists of axes; write the subscripts as text")
    raws = [trace.raw(a) for a in arrays]
    terms, _, result = subscripts.replace(" ", "").partition("->")
    free = [c for c in (chr(k) for k in range(65, 91)) if c not in subscripts]
    named = list(zip(terms.split(","), raws, strict=True))
    more = [np.ndim(x) - len(t.replace("...", "")) if "..." in t else 0 for t, x in named]
    spread = ["".join(free[:count]) for count in more]
    if len({s for s in spread if s}) > 1:
        raise trace.refuse("numpy.einsum with ellipses for different numbers of axes")
    all_spread = max(spread, key=len)
    written = ",".join(t.replace("...", s) for t, s in zip(terms.split(","), spread, strict=True))
    if "->" in subscripts:
        out = result.replace("...", all_spread)
    else:
        letters = written.replace(",", "")
        out = all_spread + "".join(sorted(c for c in set(letters) - set(all_spread) if letters.count(c) == 1))
    product = engine.linalg.einsum(f"{written}->{out}", *raws)
    return arrays[0].sharing(product) if len(arrays) == 1 and len(set(written)) == len(out) else product


def _trace(trace: NumpyTrace, a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    x = trace.raw(a)
    rank = len(np.shape(x))
    if (axis1 % rank, axis2 % rank) != (rank - 2, rank - 1):
        raise trace.refuse("numpy.trace over other axes than the last two; use numpy.linalg.trace")
    return engine.linalg.trace(x, offset=offset)


_ASKED: dict[str, tuple[Handler, str]] = {
    **{name: (_reduction(name), "axis dtype keepdims") for name in ("sum", "prod", "mean")},
    "max": (_extreme("amax", "maximum", -np.inf), "axis keepdims initial"),
    "min": (_extreme("amin", "minimum", np.inf), "axis keepdims initial"),
    **{name: (_quantifier(name), "axis keepdims") for name in ("all", "any")},
    **{name: (_arg(name), "axis keepdims") for name in ("argmax", "argmin")},
    "var": (_var, "axis ddof correction keepdims"),
    "std": (_std, "axis ddof correction keepdims"),
    "ptp": (_ptp, "axis keepdims"),
    "average": (_average, "axis weights returned keepdims"),
    "median": (_median, "axis keepdims"),
    "trace": (_trace, "offset axis1 axis2"),
    **dict.fromkeys(("cumsum", "cumulative_sum"), (_scan("cumulative_sum"), "axis")),
    **dict.fromkeys(("cumprod", "cumulative_prod"), (_scan("cumulative_prod"), "axis")),
}
"""Handlers, and the options of NumPy's function that they know."""

HANDLERS: dict[str, Handler] = {
    **{name: _asked(name, *handler) for name, handler in _ASKED.items() if hasattr(np, name)},
    **by_name(_count_nonzero, _sort, _argsort, _dot, _outer, _inner, _tensordot, _einsum, _kron),
    "vdot": lambda trace, a, b: engine.matmul(engine.conj(flat(trace.raw(a))), flat(trace.raw(b))),
    "tril": lambda trace, m, k=0: engine.linalg.tril(trace.raw(m), k=k),
    "triu": lambda trace, m, k=0: engine.linalg.triu(trace.raw(m), k=k),
}
"""By the name of the function in numpy."""
