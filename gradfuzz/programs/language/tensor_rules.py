"""Type rules of elementwise and tensor ops: what is done entry by entry, over axes and along one; extremes,
windows, convolution, gathering and scattering.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from gradfuzz.programs.language.axes import normalize_axes, normalize_axis
from gradfuzz.programs.language.syntax import ParamValue
from gradfuzz.programs.language.types import DType, Type, broadcast_shapes, fail, promote
from gradfuzz.programs.language.windows import padding_of, places, sizes_of, strides_of

Params = Mapping[str, ParamValue]
Rule = Callable[[str, tuple[Type, ...], Params], Type]
"""(name of the op, types of the operands, static parameters) -> the type of the result."""
Shape = tuple[int, ...]
Check = Callable[[str, tuple[Type, ...]], None]
"""`ProgramTypeError` where the op of this name takes no operands of these types."""
Result = Callable[[Sequence[DType]], DType]
"""The dtype of a result from those of the operands."""


def numbers(op: str, types: tuple[Type, ...]) -> None:
    for t in types:
        if t.dtype == "bool":
            fail(f"{op} takes numbers, not {t}; use where(condition, a, b) to choose by a bool")


def reals(op: str, types: tuple[Type, ...]) -> None:
    numbers(op, types)
    for t in types:
        if t.is_complex:
            fail(f"{op} takes real numbers, not {t}; use abs(z), real(z) or imag(z)")


def bools(op: str, types: tuple[Type, ...]) -> None:
    for t in types:
        if t.dtype != "bool":
            fail(f"{op} takes bools, not {t}; compare it first")


def always(dtype: DType) -> Result:
    """One dtype, whatever the operands have."""
    return lambda dtypes: dtype


def broadcast(op: str, types: tuple[Type, ...]) -> Shape:
    """The shape to which operands broadcast."""
    shape = broadcast_shapes(*(t.shape for t in types))
    if shape is None:
        fail(f"{op} cannot broadcast {' with '.join(map(str, types))}; make the shapes equal or 1")
    return shape


def entrywise(dtype: Result = promote, check: Check = numbers) -> Rule:
    """An op of the entries of operands that broadcast."""

    def rule(op: str, types: tuple[Type, ...], params: Params) -> Type:
        check(op, types)
        return Type(dtype([t.dtype for t in types]), broadcast(op, types))

    return rule


def over_axes(dtype: Result = promote, check: Check = numbers, nonempty: str = "") -> Rule:
    """A reduction. `nonempty` says what is missing where an axis to be reduced has no entries."""

    def rule(op: str, types: tuple[Type, ...], params: Params) -> Type:
        check(op, types)
        (t,) = types
        axes = normalize_axes(params["axis"], t.rank, op)
        if nonempty and any(t.shape[a] == 0 for a in axes):
            fail(f"{op} of {t} over axis {params['axis']!r}: no entries, and so {nonempty}")
        keep = params["keepdims"]
        shape = tuple(1 if a in axes else n for a, n in enumerate(t.shape) if keep or a not in axes)
        return Type(dtype([t.dtype]), shape)

    return rule


def along_axis(dtype: Result = promote, check: Check = numbers) -> Rule:
    """An op along one axis that keeps the shape."""

    def rule(op: str, types: tuple[Type, ...], params: Params) -> Type:
        check(op, types)
        normalize_axis(params["axis"], types[0].rank, op)
        return types[0].with_dtype(dtype([types[0].dtype]))

    return rule


extreme = over_axes(promote, reals, "no extreme")
"""The greatest or smallest entry over axes, none of which may be empty."""


def argextreme(op: str, types: tuple[Type, ...], params: Params) -> Type:
    """Where the first extreme stands: along one axis, or (axis None) in the row-major order of all
    entries.
    """
    reals(op, types)
    if not types[0].shape or isinstance(params["axis"], tuple):
        fail(f"{op} of {types[0]} over axis {params['axis']!r}: give an array, and one axis or None")
    return extreme(op, types, params).with_dtype("int")


def window_sum(op: str, types: tuple[Type, ...], params: Params) -> Type:
    """Sums over windows: one size, stride and pair of paddings per axis."""
    reals(op, types)
    (t,) = types
    if not t.shape:
        fail(f"{op} of a scalar; a window slides over the axes of an array")
    window = sizes_of(params["window"], t.rank, op, "the window")
    strides = strides_of(params["strides"], t.rank, op)
    padding = padding_of(params["padding"], t.rank, op)
    axes = zip(t.sizes, window, strides, padding, strict=True)
    return Type("float", tuple(places(n, w, s, p, op) for n, w, s, p in axes))


def conv(op: str, types: tuple[Type, ...], params: Params) -> Type:
    """An array (N, C, spatial...) and a kernel (O, C, spatial...) of the same rank, with one or two spatial
    axes.
    """
    reals(op, types)
    x, kernel = types
    if x.rank not in (3, 4) or kernel.rank != x.rank:
        axes = "(batch, channels, spatial...), with 1 or 2 spatial"
        fail(f"{op} of {x} and {kernel}: both have the axes {axes}")
    (batch, channels, *sizes), (outputs, inputs, *window) = x.sizes, kernel.sizes
    if channels != inputs:
        fail(f"{op} of {x} and {kernel}: {channels} channels meet a kernel for {inputs}")
    count = len(sizes)
    if 0 in window:
        fail(f"{op} with the kernel {kernel}: a kernel has entries along every spatial axis")
    strides = strides_of(params["strides"], count, op)
    padding = padding_of(params["padding"], count, op)
    spatial = (places(n, w, s, p, op) for n, w, s, p in zip(sizes, window, strides, padding, strict=True))
    return Type("float", (batch, outputs, *spatial))


def _indices(t: Type, op: str) -> None:
    if t.dtype != "int":
        fail(f"{op} by {t}: indices are ints, as in array([0, 2])")


def _taken(x: Type, indices: Type, params: Params, op: str) -> Shape:
    _indices(indices, op)
    axis = normalize_axis(params["axis"], x.rank, op)
    shape = x.sizes
    return (*shape[:axis], *indices.sizes, *shape[axis + 1 :])


def take(op: str, types: tuple[Type, ...], params: Params) -> Type:
    """The axis is replaced by the axes of the indices."""
    x, indices = types
    return Type(x.dtype, _taken(x, indices, params, op))


def scatter_add(op: str, types: tuple[Type, ...], params: Params) -> Type:
    """The updates have the shape of `take(array, indices, axis)`."""
    x, indices, updates = types
    numbers(op, (x, updates))
    expected = _taken(x, indices, params, op)
    if updates.shape != expected:
        fail(f"{op} to {x} at {indices}: the places have shape {expected}, the updates are {updates}")
    return Type(promote((x.dtype, updates.dtype)), x.shape)


def take_along_axis(op: str, types: tuple[Type, ...], params: Params) -> Type:
    """Array and indices have the same rank and broadcast along all axes but one."""
    x, indices = types
    _indices(indices, op)
    axis = normalize_axis(params["axis"], x.rank, op)
    others = [tuple(n for a, n in enumerate(t.shape) if a != axis) for t in (x, indices)]
    shape = broadcast_shapes(*others) if x.rank == indices.rank else None
    if shape is None:
        rule = f"but for axis {axis} the shapes must broadcast, axis by axis"
        fail(f"{op} of {x} by {indices}: {rule}")
    return Type(x.dtype, (*shape[:axis], indices.sizes[axis], *shape[axis:]))
