"""Values that record what is done to them, and the ops as functions of such values.

A `Value` is an operand of a graph under construction with Python's operators; the rules of the engine and the
functions that people trace are written with it. The functions of this module (`sin`, `where`, `sum`, ...)
also take plain numbers and arrays, and then compute at once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextvars import ContextVar
from typing import Any

import numpy as np

from gradfuzz.errors import NotDifferentiableError
from gradfuzz.programs.arithmetic.numpy_namespace import NumpyNamespace
from gradfuzz.programs.graphs.builder import GraphBuilder
from gradfuzz.programs.graphs.graph import Atom, Constant
from gradfuzz.programs.language.functions import FUNCTIONS
from gradfuzz.programs.language.ops import OPS
from gradfuzz.programs.language.precision import is_float
from gradfuzz.programs.language.syntax import ArrayConst, Const, ParamValue
from gradfuzz.programs.language.types import DType, Type

DTYPES: dict[str, DType] = {"b": "bool", "i": "int", "u": "int", "c": "complex"}
"""The dtypes by the kinds of NumPy's; all other numbers are floats."""

CASTS: dict[DType, Callable[[Any], Any]] = {"complex": complex, "float": float, "int": int, "bool": bool}
"""Python's type of a dtype."""

Operand = Any
"""A `Value`, a number or an array."""

ACTIVE: ContextVar[tuple[GraphBuilder, ...]] = ContextVar("active", default=())
"""The graphs that are being traced just now, the innermost last."""

_UFUNCS = {"power": "pow", "absolute": "abs", "true_divide": "divide", "conjugate": "conj"}
_KNOWN = {
    *("add", "subtract", "multiply", "divide", "negative", "pow", "matmul"),
    *("abs", "conj", "sign", "maximum", "minimum"),
    *("less", "less_equal", "greater", "greater_equal", "equal", "not_equal"),
    *("logical_and", "logical_or", "logical_not"),
}


def _op_of(ufunc: str) -> str | None:
    """The op that a function of NumPy's is."""
    op = _UFUNCS.get(ufunc, ufunc)
    if op in _KNOWN:
        return op
    return next((row.name for row in FUNCTIONS.values() if ufunc in row.spelled("ufunc")), None)


def _of_two(op: str) -> Callable[[Any, Operand], Any]:
    return lambda self, other: apply(op, self, other)


def _turned(op: str) -> Callable[[Any, Operand], Any]:
    return lambda self, other: apply(op, other, self)


def _of_one(op: str) -> Callable[[Any], Any]:
    return lambda self: apply(op, self)


class Operators:
    """Python's operators on what records: a `Value`, or many of them at once."""

    __slots__ = ()
    __hash__ = None  # type: ignore[assignment]

    @property
    def shape(self) -> tuple[int, ...]:
        raise NotImplementedError

    def apply_op(self, op: str, operands: Sequence[Operand], params: dict[str, ParamValue]) -> Any:
        """`op` on `operands`, one of which is this; only for what is no `Value`."""
        raise NotImplementedError

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Operand, **options: Any) -> Any:
        op = _op_of(ufunc.__name__)
        if method != "__call__" or options or op is None:
            what = f"numpy.{ufunc.__name__} on {self!r}"
            raise NotDifferentiableError(f"{what} is not an op of gradfuzz; see gradfuzz.programs.OPS")
        return apply(op, *inputs)

    __add__, __radd__ = _of_two("add"), _turned("add")
    __sub__, __rsub__ = _of_two("subtract"), _turned("subtract")
    __mul__, __rmul__ = _of_two("multiply"), _turned("multiply")
    __truediv__, __rtruediv__ = _of_two("divide"), _turned("divide")
    __matmul__, __rmatmul__ = _of_two("matmul"), _turned("matmul")
    __mod__, __rpow__ = _of_two("remainder"), _turned("pow")
    __lt__, __le__, __eq__ = _of_two("less"), _of_two("less_equal"), _of_two("equal")
    __gt__, __ge__, __ne__ = _of_two("greater"), _of_two("greater_equal"), _of_two("not_equal")
    __and__, __or__ = _of_two("logical_and"), _of_two("logical_or")
    __neg__, __abs__, __invert__ = _of_one("negative"), _of_one("abs"), _of_one("logical_not")

    def __pow__(self, other: Operand) -> Any:
        if isinstance(other, int) and not isinstance(other, bool):
            return apply("integer_pow", self, n=other)
        return apply("pow", self, other)

    def __getitem__(self, key: Any) -> Any:
        pattern, indices = index_pattern(key, self.shape)
        return apply("index", self, *indices, pattern=pattern)

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of a traced scalar")
        return self.shape[0]

    def __iter__(self) -> Any:
        return (self[k] for k in range(len(self)))


class Value(Operators):
    """An operand of the graph that `builder` makes."""

    __slots__ = ("atom", "builder", "level")

    def __init__(self, builder: GraphBuilder, atom: Atom, level: int = 0) -> None:
        self.builder = builder
        self.atom = atom
        self.level = level

    @property
    def type(self) -> Type:
        return self.atom.type

    @property
    def shape(self) -> tuple[int, ...]:
        shape = self.atom.type.shape
        return tuple([n for n in shape if n is not None]) if None in shape else shape  # type: ignore[return-value]

    @property
    def ndim(self) -> int:
        return len(self.shape)

    def __repr__(self) -> str:
        return f"<traced {self.atom.type}>"

    def __bool__(self) -> bool:
        why = "its value is not known while the function is traced"
        instead = "use engine.cond, engine.where or engine.while_loop"
        raise NotDifferentiableError(f"a Python `if` or `while` on {self!r}: {why}; {instead}")

    def __float__(self) -> float:
        instead = "use the functions of gradfuzz.engine"
        raise NotDifferentiableError(f"float() of {self!r} would lose its derivative; {instead}")


def index_pattern(key: Any, shape: tuple[int, ...]) -> tuple[tuple[ParamValue, ...], list[Operand]]:
    """What stands between brackets as an index pattern of `programs.ops` and its int arguments."""
    entries = key if isinstance(key, tuple) else (key,)
    if len(entries) > len(shape):
        raise IndexError(f"{len(entries)} indices for an array of rank {len(shape)}")
    pattern: list[ParamValue] = []
    indices: list[Operand] = []
    for entry, n in zip((*entries, *[slice(None)] * (len(shape) - len(entries))), shape, strict=True):
        if isinstance(entry, slice):
            start, stop, step = entry.indices(n)
            if step != 1:
                raise IndexError(f"a slice with step {step}: only step 1 is an op of gradfuzz")
            pattern.append(("slice", start, max(start, stop)))
        else:
            pattern.append("at")
            indices.append(entry + n if isinstance(entry, int) and entry < 0 else entry)
    return tuple(pattern), indices


def as_atom(value: Operand) -> Constant:
    """A number or an array as a constant operand."""
    if isinstance(value, np.generic) and (value.dtype.kind in "biuc" or is_float(value.dtype)):
        value = value.item()
    if isinstance(value, (bool, int, float, complex)):
        return Constant(Const(value))
    array = np.asarray(value)
    if array.dtype.kind not in "biuc" and not is_float(array.dtype):
        known = "a number gradfuzz knows; use float, complex, int or bool"
        raise TypeError(f"{value!r} of dtype {array.dtype} is not {known}")
    dtype = DTYPES.get(array.dtype.kind, "float")
    entries = tuple(Const(CASTS[dtype](x)) for x in array.ravel())
    return Constant(entries[0]) if array.ndim == 0 else Constant(ArrayConst(dtype, array.shape, entries))


def shape_of(x: Operand) -> tuple[int, ...]:
    """The shape of a value, a number or an array."""
    return x.shape if isinstance(x, Value) else np.shape(x)


def innermost(operands: Sequence[Operand]) -> Value | None:
    """The traced operand of the innermost trace."""
    traced = [o for o in operands if isinstance(o, Value)]
    return max(traced, key=lambda v: v.level) if traced else None


def zeros_as(home: Value, type: Type) -> Value:
    """Zeros of a type in the trace of a value."""
    return Value(home.builder, home.builder.zeros(type), home.level)


_numpy = NumpyNamespace("float64")


def apply(op: str, *operands: Operand, **params: ParamValue) -> Any:
    """`op` on values: recorded where one of them is traced, computed at once otherwise."""
    home: Value | None = None
    for operand in operands:
        if isinstance(operand, Value):
            if home is None or operand.level > home.level:
                home = operand
        elif isinstance(operand, Operators):
            return operand.apply_op(op, operands, params)
    if home is None:
        return _compute(op, operands, params)
    atoms = [o.atom if isinstance(o, Value) else as_atom(o) for o in operands]
    builder, level = home.builder, home.level
    stack = ACTIVE.get()
    if builder in stack:  # what the body of a loop computes stays in the body, even from outer values alone
        builder, level = stack[-1], len(stack)
    return Value(builder, builder.emit_as("t", op, *atoms, **params), level)


def _compute(op: str, operands: Sequence[Operand], params: dict[str, ParamValue]) -> Any:
    builder = GraphBuilder()
    atoms = [as_atom(o) for o in operands]
    out = builder.emit(op, *atoms, **params)
    if isinstance(out, Constant):
        return operands[0]
    full: dict[str, Any] = dict(builder.nodes[-1].params)  # type: ignore[union-attr]
    wanted = out.type.is_inexact and op not in ("index", "index_update", "where")
    with np.errstate(all="ignore"):
        ready = [
            np.asarray(o, np.float64)[()]
            if wanted and isinstance(o, (int, float)) and k not in OPS[op].indices
            else o
            for k, o in enumerate(operands)
        ]
        if OPS[op].parts:
            return _numpy.part(op, *ready, **full)
        return getattr(_numpy, op)(*ready, **full)


def axes_of(axis: ParamValue, rank: int) -> tuple[int, ...]:
    """Reduction axes as a sorted tuple counted from the front."""
    if axis is None:
        return tuple(range(rank))
    given = axis if isinstance(axis, tuple) else (axis,)
    return tuple(sorted(a % rank for a in given if isinstance(a, int)))
