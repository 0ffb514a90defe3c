"""The array that records: what NumPy's functions and Python's operators do to it becomes a program.

It stands where an array stands: it has NumPy's methods and protocols, may be written to, and refuses to
become a number. Where Python decides by it, the side is that of the arguments. `numpy.asarray` and
`numpy.array` make arrays of such objects, which NumPy computes with entry by entry. An array whose entries
are also seen through another one cannot be written to: here they would not change together.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

import gradfuzz.engine as engine
from gradfuzz.engine.rules.functions import from_front
from gradfuzz.engine.rules.value import Value
from gradfuzz.errors import EvaluationError, UntraceableError
from gradfuzz.programs.language.precision import format_of, is_float
from gradfuzz.programs.language.types import DType
from gradfuzz.tracing.common.compositions import (
    COMPARISONS,
    MOST_DECISIONS,
    as_kind,
    at_positions,
    check_room,
    common_kind,
    kind_of,
    recorded,
    replaced_at,
    too_many,
)
from gradfuzz.tracing.common.graph import at_arguments, bounded, precision_of

_PYTHON_NUMBERS = (bool, int, float, complex)


def kind_of_dtype(dtype: np.dtype[Any]) -> DType:
    """What programs call the numbers of a NumPy dtype; `UntraceableError` for what are no numbers."""
    if is_float(dtype):
        return "float"
    kinds: dict[str, DType] = {"c": "complex", "i": "int", "u": "int", "b": "bool"}
    if dtype.kind not in kinds:
        raise UntraceableError(f"an array of dtype {dtype}, which are no numbers of a program")
    return kinds[dtype.kind]


class Handlers(NamedTuple):
    """What NumPy's protocols and methods do to an array that records."""

    ufunc: Callable[[NumpyTrace, Any, str, Sequence[Any], dict[str, Any]], Any]
    function: Callable[[NumpyTrace, Any, Sequence[Any], dict[str, Any]], Any]
    method: Callable[[RecordingArray, str], Any]
    namespace: Callable[[NumpyTrace], Any]


class NumpyTrace:
    """One run of a function: its precision, and the first thing that it did that no program says, whatever it
    did with the exception.
    """

    def __init__(self, dtype: np.dtype[Any], handlers: Handlers) -> None:
        self.dtype = dtype
        self.handlers = handlers
        self.complex_dtype = np.dtype(format_of(dtype).complex_dtype)
        self.refused: UntraceableError | None = None
        self.decisions: list[tuple[Value, bool]] = []
        """What Python decided by, and how."""
        self.spoilt: list[tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]] = []

    def refuse(self, reason: str, *, detached: bool = False) -> UntraceableError:
        self.refused = self.refused or UntraceableError(reason, detached=detached)
        return self.refused

    def decide(self, x: Value) -> bool:
        """Which side Python takes by a number, at the arguments of the trace."""
        if len(self.decisions) >= MOST_DECISIONS:
            raise self.refuse(too_many().reason)
        try:
            (asked,) = at_arguments(x, precision_of(self.dtype)).ravel()
        except EvaluationError as error:
            raise self.refuse(f"Python decides by what cannot be computed: {error}") from error
        self.decisions.append((as_kind(engine.reshape(x, ()), "bool"), bool(asked)))
        return bool(asked)

    def dtype_of(self, kind: DType) -> np.dtype[Any]:
        own = {"float": self.dtype, "complex": self.complex_dtype}
        return own[kind] if kind in own else np.dtype(np.int64 if kind == "int" else bool)

    def check(self, dtype: np.dtype[Any]) -> DType:
        """The kind of a result that NumPy says is of `dtype`; `UntraceableError` where that is another
        precision than the arguments have.
        """
        kind = kind_of_dtype(dtype)
        if kind in ("float", "complex") and dtype != self.dtype_of(kind):
            raise self.refuse(
                f"an operation gives {dtype} where the arguments are {self.dtype}: a program has one"
                " precision; convert the constants of the function"
            )
        return kind

    def raw(self, x: Any) -> Any:
        """An operand of any form as the engine takes it: a value, a number or an array of numbers."""
        if isinstance(x, RecordingArray):
            return x.value
        if isinstance(x, (list, tuple)):
            x = np.array(x)
        if isinstance(x, np.ndarray) and x.dtype == object:
            entries = [self.raw(entry) for entry in x.ravel().tolist()]
            if not any(isinstance(entry, Value) for entry in entries):
                return np.array(entries).reshape(x.shape)
            kind = common_kind(*entries)
            return engine.reshape(engine.stack([as_kind(entry, kind) for entry in entries]), x.shape)
        if isinstance(x, (np.ndarray, np.generic)):
            kind_of_dtype(x.dtype)
        elif not isinstance(x, _PYTHON_NUMBERS):
            raise self.refuse(f"{type(x).__name__} {x!r:.60} as a number")
        if np.any(np.isnan(x)):
            raise self.refuse("a constant is NaN, with which nothing can be computed exactly")
        return bounded(x)

    def numpy_dtype(self, x: Any) -> Any:
        """The dtype of an operand as NumPy promotes it: a number of Python has only a type."""
        if isinstance(x, RecordingArray):
            return x.dtype
        if isinstance(x, _PYTHON_NUMBERS) and not isinstance(x, np.generic):
            return type(x) if not isinstance(x, bool) else np.dtype(bool)
        array = np.asarray(x)
        if array.dtype != object:
            return array.dtype
        return self.dtype_of(
            common_kind(*(self.raw(entry) for entry in array.ravel().tolist())) if array.size else "float"
        )

    def wrapped(self, result: Any) -> Any:
        """What the engine computed as NumPy would give it: recorded, or a constant."""
        if isinstance(result, (tuple, list)):
            parts = [self.wrapped(r) for r in result]
            return type(result)(*parts) if hasattr(result, "_fields") else type(result)(parts)
        check_room()
        return RecordingArray(self, result) if isinstance(result, Value) else result


class RecordingArray:
    """An array or a scalar of NumPy that records."""

    __slots__ = ("__weakref__", "family", "home", "source", "value")
    __hash__ = None  # type: ignore[assignment]
    __array_priority__ = 1000.0

    def __init__(
        self, trace: NumpyTrace, value: Value, family: list[weakref.ref[RecordingArray]] | None = None
    ) -> None:
        self.home = trace
        self.value = value
        self.family: list[weakref.ref[RecordingArray]] = [] if family is None else family
        """All that see the same entries, this one included."""
        self.source: tuple[RecordingArray, Any] | None = None
        """Of a part of another array: that, and which of its entries."""
        self.family.append(weakref.ref(self))

    # What an array says of itself

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.home.dtype_of(self.value.type.dtype)

    @property
    def shape(self) -> tuple[int, ...]:
        return self.value.shape

    @property
    def ndim(self) -> int:
        return len(self.value.shape)

    @property
    def size(self) -> int:
        return int(np.prod(self.value.shape, dtype=int))

    @property
    def itemsize(self) -> int:
        return self.dtype.itemsize

    @property
    def flat(self) -> Iterator[Any]:
        return iter(self.ravel())

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of unsized object")
        return self.shape[0]

    def __iter__(self) -> Iterator[Any]:
        if not self.shape:
            raise TypeError("iteration over a 0-d array")
        return (self[k] for k in range(len(self)))

    def __bool__(self) -> bool:
        if self.size != 1:
            raise ValueError(f"{self!r} is neither true nor false; use numpy.any or numpy.all")
        return self.home.decide(self.value)

    def __repr__(self) -> str:
        return f"<traced {self.value.type}>"

    def __format__(self, spec: str) -> str:
        return repr(self)

    # NumPy's protocols

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        return self.home.handlers.ufunc(self.home, ufunc, method, inputs, options)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return self.home.handlers.function(self.home, function, args, kwargs)

    def __array_namespace__(self, *, api_version: str | None = None) -> Any:
        return self.home.handlers.namespace(self.home)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(f"{self!r} has no attribute {name!r}")
        return self.home.handlers.method(self, name)

    # Reading and writing entries

    def sharing(self, value: Value) -> RecordingArray:
        """Another array with entries of this one; a scalar has its own."""
        return RecordingArray(self.home, value, self.family if value.shape else None)

    def __getitem__(self, key: Any) -> Any:
        check_room()
        keys = key if isinstance(key, tuple) else (key,)
        if any(isinstance(k, RecordingArray) for k in keys):
            return RecordingArray(self.home, _taken(self, keys))
        if isinstance(key, list):
            key = np.array(key)
        places = np.arange(self.size).reshape(self.shape)[key]
        if _is_plain(keys, self.shape):
            part = self.sharing(self.value[keys])
        elif places.base is None:
            return RecordingArray(self.home, at_positions(self.value, places))
        else:
            part = self.sharing(at_positions(self.value, places))
        part.source = (self, places)
        return part

    def __setitem__(self, key: Any, value: Any) -> None:
        new, kind = self.home.raw(value), self.value.type.dtype
        if common_kind(new, self.value) != kind and kind_of(new) != kind:
            raise self.home.refuse(
                f"{kind_of(new)} numbers are written to an array of {kind}, which would cut them"
            )
        new = as_kind(new, kind)
        is_mask = isinstance(key, RecordingArray) and key.value.type.dtype == "bool"
        if is_mask and not np.shape(new) and key.shape == self.shape:
            self.replace(engine.where(key.value, new, self.value))
            return
        keys = key if isinstance(key, tuple) else (key,)
        if any(isinstance(k, RecordingArray) for k in keys):
            raise self.home.refuse("an assignment to places that depend on the arguments; use numpy.where")
        places = np.arange(self.size).reshape(self.shape)[key]
        source = value.source if isinstance(value, RecordingArray) else None
        if source is not None and source[0] is self and np.array_equal(source[1], places):
            return  # the end of x[key] += y, which has been written already
        sizes = np.shape(places)
        if np.ndim(new) > len(sizes):
            new = engine.reshape(recorded(new), np.shape(new)[np.ndim(new) - len(sizes) :])
        if _is_plain(keys, self.shape) and self.size:
            spread = new if np.shape(new) == sizes else engine.broadcast_to(new, sizes)
            whole = keys + (slice(None),) * (self.ndim - len(keys))
            self.replace(engine.index_update(self.value, whole, spread))
        else:
            self.replace(recorded(replaced_at(self.value, places, new)))

    def replace(self, value: Value) -> None:
        """Writes all entries. `UntraceableError` where they are seen through another array, too."""
        check_room()
        self.family[:] = [ref for ref in self.family if ref() is not None]
        base, places = self.source or (None, None)
        if base is not None and len(self.family) == 2 and any(ref() is base for ref in self.family):
            base.value = recorded(replaced_at(base.value, places, value))
        elif len(self.family) > 1:
            raise self.home.refuse(
                "an array is written to whose entries are also seen through another one (a view); write to a"
                " copy"
            )
        self.value = value

    def written_by(self, ufunc: Any, other: Any) -> Any:
        """What an operator in place makes: the array itself, or another scalar."""
        result = ufunc(self, other)
        if not self.shape:
            return result
        if result.shape != self.shape or result.dtype != self.dtype:
            raise ValueError(
                f"{ufunc.__name__} in place of an array of {self.value.type} gives {result.value.type}"
            )
        self.replace(result.value)
        return self


_BECOMES = {
    **{f"__{name}__": f"{name}()" for name in ("float", "int", "complex")},
    **{name: f"{name}()" for name in ("item", "tolist")},
    "__contains__": "`in`",
    "__index__": "an index or a count",
}
"""Methods that would make a number of Python, and what people call them."""


def _ufuncs(names: str) -> dict[str, Any]:
    """Operators by the names of their methods, and their ufuncs: "sub=subtract", or one name for both."""
    pairs = (name.partition("=") for name in names.split())
    return {method: getattr(np, ufunc or method) for method, _, ufunc in pairs}


_PROPERTIES: dict[str, Any] = {"T": np.transpose, "mT": np.matrix_transpose, "real": np.real, "imag": np.imag}
_UNARY = _ufuncs("neg=negative pos=positive abs=absolute invert")
_IN_PLACE = _ufuncs("add sub=subtract mul=multiply truediv=divide pow=power matmul")
_REFLECTED = _IN_PLACE | _ufuncs("floordiv=floor_divide mod=remainder and=bitwise_and or=bitwise_or")
_REFLECTED |= _ufuncs("xor=bitwise_xor")
_COMPARISONS = {name: getattr(np, op) for name, op in COMPARISONS.items()}


def _has_operators() -> None:
    """Gives the array Python's operators, each of which is a ufunc, and properties that are functions."""

    def becoming(what: str) -> Any:
        def refuse(self: RecordingArray, *args: Any) -> Any:
            raise self.home.refuse(
                f"{what} of {self!r}: it becomes a number of Python, which would be a constant of the traced"
                " program. This comes from math.sin instead of numpy.sin, range(n), or an assignment to an"
                " array of plain NumPy (make that array with numpy.zeros_like or numpy.stack)"
            )

        return refuse

    methods: dict[str, Any] = {name: property(function) for name, function in _PROPERTIES.items()}
    methods |= {name: becoming(what) for name, what in _BECOMES.items()}
    for name, ufunc in _UNARY.items():
        methods[f"__{name}__"] = lambda x, ufunc=ufunc: ufunc(x)
    for name, ufunc in (_REFLECTED | _COMPARISONS).items():
        methods[f"__{name}__"] = lambda x, y, ufunc=ufunc: ufunc(x, y)
    for name, ufunc in _REFLECTED.items():
        methods[f"__r{name}__"] = lambda x, y, ufunc=ufunc: ufunc(y, x)
    for name, ufunc in _IN_PLACE.items():
        methods[f"__i{name}__"] = lambda x, y, ufunc=ufunc: x.written_by(ufunc, y)
    for name, method in methods.items():
        setattr(RecordingArray, name, method)


_has_operators()


def _is_plain(keys: Sequence[Any], shape: tuple[int, ...]) -> bool:
    """Whether a key is one of the engine's: ints and slices with step 1, no more than axes."""
    return len(keys) <= len(shape) and all(
        (isinstance(k, (int, np.integer)) and not isinstance(k, (bool, np.bool_)) and -n <= k < n)
        or (isinstance(k, slice) and k.step in (None, 1))
        for k, n in zip(keys, shape, strict=False)
    )


def _taken(x: RecordingArray, keys: Sequence[Any]) -> Any:
    """Entries at indices that depend on the arguments: one index array among slices that take all, or index
    arrays that stand first.
    """
    raws = [x.home.raw(k) if isinstance(k, RecordingArray) else k for k in keys]
    if any(isinstance(k, Value) and k.type.dtype != "int" for k in raws):
        raise x.home.refuse(
            "a mask as an index makes an array whose size depends on numbers; use numpy.where"
        )
    given = [k for k, raw in enumerate(raws) if not (isinstance(raw, slice) and raw == slice(None))]
    if any(not isinstance(raws[k], (Value, int, np.integer, np.ndarray)) for k in given):
        raise x.home.refuse("an index that depends on the arguments, beside slices or None")
    if len(given) == 1:
        return engine.take(x.value, raws[given[0]], axis=given[0])
    if given != list(range(len(given))):
        raise x.home.refuse("several indices that depend on the arguments and do not stand first")
    total: Any = 0
    for raw, size in zip((raws[k] for k in given), x.shape, strict=False):
        total = total * size + from_front(raw, size)
    rest = x.shape[len(given) :]
    return engine.take(engine.reshape(x.value, (int(np.prod(x.shape[: len(given)])), *rest)), total, axis=0)
