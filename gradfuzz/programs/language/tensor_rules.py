"""Type rules of the tensor ops: extremes, scans, windows, convolution, sorting, gathering and scattering."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from gradfuzz.programs.language.axes import normalize_axes, normalize_axis
from gradfuzz.programs.language.syntax import ParamValue
from gradfuzz.programs.language.types import DType, Type, broadcast_shapes, fail, promote
from gradfuzz.programs.language.windows import padding_of, places, sizes_of, strides_of

Params = Mapping[str, ParamValue]
Rule = Callable[[tuple[Type, ...], Params], Type]
Shape = tuple[int, ...]


def _numbers(types: tuple[Type, ...], op: str) -> None:
    for t in types:
        if t.dtype == "bool":
            fail(f"{op} takes numbers, not {t}; use where(condition, a, b) to choose by a bool")


def _reals(types: tuple[Type, ...], op: str) -> None:
    _numbers(types, op)
    for t in types:
        if t.is_complex:
            fail(f"{op} takes real numbers, not {t}; use abs(z), real(z) or imag(z)")


def _reduced(t: Type, params: Params, op: str, *, nonempty: str = "") -> Shape:
    """The shape after a reduction. `nonempty` says what is missing where an axis to be reduced has no
    entries.
    """
    axes = normalize_axes(params["axis"], t.rank, op)
    shape = t.sizes
    if nonempty and any(shape[a] == 0 for a in axes):
        fail(f"{op} of {t} over axis {params['axis']!r}: no entries, and so {nonempty}")
    if params["keepdims"]:
        return tuple(1 if a in axes else n for a, n in enumerate(shape))
    return tuple(n for a, n in enumerate(shape) if a not in axes)


def extreme(op: str) -> Rule:
    """The greatest or smallest entry over axes, none of which may be empty."""

    def rule(types: tuple[Type, ...], params: Params) -> Type:
        _reals(types, op)
        return Type(types[0].dtype, _reduced(types[0], params, op, nonempty="no extreme"))

    return rule


def logsumexp(types: tuple[Type, ...], params: Params) -> Type:
    """log(sum(exp(x))) over axes, none of which may be empty."""
    _reals(types, "logsumexp")
    return Type("float", _reduced(types[0], params, "logsumexp", nonempty="minus infinity"))


def quantifier(op: str) -> Rule:
    """All or any of bools, over axes."""

    def rule(types: tuple[Type, ...], params: Params) -> Type:
        if types[0].dtype != "bool":
            fail(f"{op} takes bools, not {types[0]}; compare it first")
        return Type("bool", _reduced(types[0], params, op))

    return rule


def argextreme(op: str) -> Rule:
    """Where the first extreme stands: along one axis, or (axis None) in the row-major order of all
    entries.
    """

    def rule(types: tuple[Type, ...], params: Params) -> Type:
        _reals(types, op)
        (t,) = types
        if not t.shape or isinstance(params["axis"], tuple):
            fail(f"{op} of {t} over axis {params['axis']!r}: give an array, and one axis or None")
        return Type("int", _reduced(t, params, op, nonempty="no extreme"))

    return rule


def along_axis(op: str, dtype: DType | None = None) -> Rule:
    """An op along one axis that keeps the shape; the dtype is the argument's where none is given."""

    def rule(types: tuple[Type, ...], params: Params) -> Type:
        _reals(types, op)
        normalize_axis(params["axis"], types[0].rank, op)
        return types[0] if dtype is None else types[0].with_dtype(dtype)

    return rule


def ordering(op: str) -> Rule:
    """The positions of the entries of an axis in ascending order."""
    return along_axis(op, "int")


def softmax(op: str) -> Rule:
    """Normalised exponentials along one axis."""
    return along_axis(op, "float")


def clip(types: tuple[Type, ...], params: Params) -> Type:
    """Three operands that broadcast."""
    _reals(types, "clip")
    shape = broadcast_shapes(*(t.shape for t in types))
    if shape is None:
        fail(f"clip cannot broadcast {' with '.join(map(str, types))}; make the shapes equal or 1")
    return Type("float", shape)


def window_sum(types: tuple[Type, ...], params: Params) -> Type:
    """Sums over windows: one size, stride and pair of paddings per axis."""
    _reals(types, "window_sum")
    (t,) = types
    if not t.shape:
        fail("window_sum of a scalar; a window slides over the axes of an array")
    window = sizes_of(params["window"], t.rank, "window_sum", "the window")
    strides = strides_of(params["strides"], t.rank, "window_sum")
    padding = padding_of(params["padding"], t.rank, "window_sum")
    axes = zip(t.sizes, window, strides, padding, strict=True)
    return Type("float", tuple(places(n, w, s, p, "window_sum") for n, w, s, p in axes))


def conv(types: tuple[Type, ...], params: Params) -> Type:
    """An array (N, C, spatial...) and a kernel (O, C, spatial...) of the same rank, with one or two spatial
    axes.
    """
    _reals(types, "conv")
    x, kernel = types
    if x.rank not in (3, 4) or kernel.rank != x.rank:
        axes = "(batch, channels, spatial...), with 1 or 2 spatial"
        fail(f"conv of {x} and {kernel}: both have the axes {axes}")
    (batch, channels, *sizes), (outputs, inputs, *window) = x.sizes, kernel.sizes
    if channels != inputs:
        fail(f"conv of {x} and {kernel}: {channels} channels meet a kernel for {inputs}")
    count = len(sizes)
    if 0 in window:
        fail(f"conv with the kernel {kernel}: a kernel has entries along every spatial axis")
    strides = strides_of(params["strides"], count, "conv")
    padding = padding_of(params["padding"], count, "conv")
    spatial = (places(n, w, s, p, "conv") for n, w, s, p in zip(sizes, window, strides, padding, strict=True))
    return Type("float", (batch, outputs, *spatial))


def _indices(t: Type, op: str) -> None:
    if t.dtype != "int":
        fail(f"{op} by {t}: indices are ints, as in array([0, 2])")


def _taken(x: Type, indices: Type, params: Params, op: str) -> Shape:
    _indices(indices, op)
    axis = normalize_axis(params["axis"], x.rank, op)
    shape = x.sizes
    return (*shape[:axis], *indices.sizes, *shape[axis + 1 :])


def take(types: tuple[Type, ...], params: Params) -> Type:
    """The axis is replaced by the axes of the indices."""
    x, indices = types
    return Type(x.dtype, _taken(x, indices, params, "take"))


def scatter_add(types: tuple[Type, ...], params: Params) -> Type:
    """The updates have the shape of `take(array, indices, axis)`."""
    x, indices, updates = types
    _numbers((x, updates), "scatter_add")
    expected = _taken(x, indices, params, "scatter_add")
    if updates.shape != expected:
        fail(f"scatter_add to {x} at {indices}: the places have shape {expected}, the updates are {updates}")
    return Type(promote((x.dtype, updates.dtype)), x.shape)


def take_along_axis(types: tuple[Type, ...], params: Params) -> Type:
    """Array and indices have the same rank and broadcast along all axes but one."""
    x, indices = types
    _indices(indices, "take_along_axis")
    axis = normalize_axis(params["axis"], x.rank, "take_along_axis")
    others = [tuple(n for a, n in enumerate(t.shape) if a != axis) for t in (x, indices)]
    shape = broadcast_shapes(*others) if x.rank == indices.rank else None
    if shape is None:
        rule = f"but for axis {axis} the shapes must broadcast, axis by axis"
        fail(f"take_along_axis of {x} by {indices}: {rule}")
    return Type(x.dtype, (*shape[:axis], indices.sizes[axis], *shape[axis:]))
