"""Calls of ops as Python closures: the part that the statements and the functional form have in common.

A program is run many times (every point of a difference stencil is a run), so it is turned into closures
once. A closure reads and writes one flat list, the environment, whose places a `Frame` hands out: first the
namespace's methods and the program's constants, bound when a run starts, then the variables.

Ints and bools are Python's own and are computed here; everything else is asked of the namespace. Here is also
the only place that converts: an int that meets a float becomes a float before the namespace sees it.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from gradfuzz.errors import DomainError
from gradfuzz.programs.arithmetic.namespace import Namespace
from gradfuzz.programs.arithmetic.tensor_numpy import in_range
from gradfuzz.programs.language.axes import normalize_axis
from gradfuzz.programs.language.ops import OPS, defaults_of, operand_dtypes
from gradfuzz.programs.language.syntax import ArrayConst, Const, ParamValue
from gradfuzz.programs.language.tensor_rules import Params
from gradfuzz.programs.language.types import DType, Type

Environment = list[Any]
Read = Callable[[Environment], Any]

DECIDE, TRACE, LIMIT = range(3)
"""Places that every environment has: `namespace.decide`, the branch trace, the trip limit."""

_INT64 = 2**63


class Frame:
    """The layout of an environment, filled in while closures are made."""

    def __init__(self) -> None:
        self.size = 3
        self._methods: dict[tuple[str, tuple[tuple[str, ParamValue], ...]], int] = {}
        self._constants: dict[Const | ArrayConst, int] = {}

    def place(self) -> int:
        """A new place, for a variable."""
        self.size += 1
        return self.size - 1

    def method(self, name: str, params: Params | None = None) -> int:
        """The place of the namespace's method `name` with its static parameters."""
        key = (name, tuple(sorted((params or {}).items())))
        if key not in self._methods:
            self._methods[key] = self.place()
        return self._methods[key]

    def constant(self, value: Const | ArrayConst) -> int:
        """The place of a constant; a scalar one is a float, whatever `value` is."""
        if value not in self._constants:
            self._constants[value] = self.place()
        return self._constants[value]

    def bind(self, namespace: Namespace) -> Environment:
        """An environment in which only the variables, the trace and the limit are still missing."""
        environment: Environment = [None] * self.size
        environment[DECIDE] = namespace.decide
        for (name, params), place in self._methods.items():
            several = name in OPS and OPS[name].parts
            method = functools.partial(namespace.part, name) if several else getattr(namespace, name)
            environment[place] = functools.partial(method, **dict(params)) if params else method
        for value, place in self._constants.items():
            environment[place] = (
                namespace.array(value) if isinstance(value, ArrayConst) else namespace.constant(value.value)
            )
        return environment


@dataclass(frozen=True, slots=True)
class Operand:
    """A value that a closure can read: its type, its place where it has one, and the constant where it is
    one.
    """

    type: Type
    read: Read
    place: int | None = None
    literal: Const | None = None

    @classmethod
    def at(cls, place: int, of: Type) -> Operand:
        return cls(of, operator.itemgetter(place), place)

    @classmethod
    def of(cls, frame: Frame, value: Const | ArrayConst) -> Operand:
        """A constant. Int and bool scalars stay Python's."""
        if isinstance(value, ArrayConst):
            return cls.at(frame.constant(value), Type(value.dtype, value.shape))
        if value.dtype in ("float", "complex"):
            return cls.at(frame.constant(value), Type(value.dtype))
        python = value.value
        return cls(Type(value.dtype), lambda _: python, literal=value)


def _is_python(of: Type) -> bool:
    return not of.is_inexact and not of.shape


def convert(frame: Frame, operand: Operand, dtype: DType) -> Operand:
    """`operand` as `dtype`, which is at least its own."""
    own, read = operand.type.dtype, operand.read
    result = operand.type.with_dtype(dtype)
    if own == dtype:
        return operand
    if operand.type.shape or own == "float":
        return _apply(frame, "astype", [operand], {"dtype": dtype}, result)
    if dtype == "complex":
        return convert(frame, convert(frame, operand, "float"), dtype)
    if own == "bool":
        astype = frame.method("astype", {"dtype": "float"})
        constant = frame.method("constant")

        def number(environment: Environment) -> Any:
            value = read(environment)
            if dtype == "int":
                return int(value if isinstance(value, bool) else environment[DECIDE](value))
            if isinstance(value, bool):
                return environment[constant](int(value))
            return environment[astype](value)

        return Operand(result, number)
    if operand.literal is not None:
        return Operand.at(frame.constant(operand.literal), result)
    constant = frame.method("constant")
    return Operand(result, lambda environment: environment[constant](read(environment)))


def call(frame: Frame, op: str, operands: Sequence[Operand], params: Params, result: Type) -> Operand:
    """`op` on `operands` as a closure; `result` is its type by the op table."""
    row = OPS[op]
    full = {**defaults_of(op), **params}
    dtypes = operand_dtypes(op, [o.type for o in operands], result)
    arguments = [convert(frame, o, dtype) for o, dtype in zip(operands, dtypes, strict=True)]
    if op == "astype" and not result.shape:
        return _cast(frame, arguments[0], result)
    if _is_python(result) and all(_is_python(a.type) for a in arguments):
        return _python(frame, op, arguments, result)
    if row.indices:
        arguments = _gathering(arguments, row.indices, full["axis"])
    if op in ("index", "index_update"):
        return _indexed(frame, op, arguments, full, result)
    return _apply(frame, op, arguments, full, result)


def _apply(frame: Frame, op: str, arguments: Sequence[Operand], params: Params, result: Type) -> Operand:
    """The namespace's method on the arguments: one closure per common arity and way of reading, as this is
    the inner loop.
    """
    f = frame.method(op, params)
    reads = [a.read for a in arguments]
    places = [a.place for a in arguments]
    read: Read
    match places:
        case [int(i)]:
            read = lambda environment: environment[f](environment[i])  # noqa: E731
        case [None]:
            (a,) = reads
            read = lambda environment: environment[f](a(environment))  # noqa: E731
        case [int(i), int(j)]:
            read = lambda environment: environment[f](environment[i], environment[j])  # noqa: E731
        case [int(i), None]:
            b = reads[1]
            read = lambda environment: environment[f](environment[i], b(environment))  # noqa: E731
        case [None, int(j)]:
            a = reads[0]
            read = lambda environment: environment[f](a(environment), environment[j])  # noqa: E731
        case [None, None]:
            a, b = reads
            read = lambda environment: environment[f](a(environment), b(environment))  # noqa: E731
        case _:
            read = lambda environment: environment[f](*[r(environment) for r in reads])  # noqa: E731
    if result.dtype == "int" and not result.shape:
        return Operand(result, lambda environment: int(read(environment)))
    return Operand(result, read)


# Indices ----------------------------------------------------------------------------------------------------


def _indexed(frame: Frame, op: str, arguments: Sequence[Operand], params: Params, result: Type) -> Operand:
    """`index` and `index_update`, with every index checked and counted from the front."""
    array = arguments[0].type
    values = 1 if op == "index" else 2
    pattern = params["pattern"]
    assert isinstance(pattern, tuple), "the type checker lets no other pattern through"
    axes = [axis for axis, entry in enumerate(pattern) if entry == "at"]
    sizes = [array.shape[axis] or 0 for axis in axes]
    indices = zip(arguments[values:], sizes, axes, strict=True)
    checked = [_checked_index(index, n, axis, array) for index, n, axis in indices]
    return _apply(frame, op, [*arguments[:values], *checked], params, result)


def _checked_index(operand: Operand, size: int, axis: int, array: Type) -> Operand:
    read = operand.read

    def checked(environment: Environment) -> int:
        index: int = read(environment)
        if -size <= index < size:
            return index if index >= 0 else index + size
        raise DomainError(f"index {index} is outside axis {axis} of {array}; it has entries 0 to {size - 1}")

    return Operand(operand.type, checked)


def _gathering(arguments: Sequence[Operand], indices: Sequence[int], axis: ParamValue) -> list[Operand]:
    """The arguments, those at `indices` with every entry checked: it is an index of an entry of the first
    argument's axis.
    """
    array = arguments[0].type
    size = array.shape[normalize_axis(axis, array.rank, "indices")] or 0

    def checked(operand: Operand) -> Operand:
        read = operand.read
        return Operand(operand.type, lambda environment: in_range(read(environment), size))

    return [checked(a) if k in indices else a for k, a in enumerate(arguments)]


# Ints and bools ---------------------------------------------------------------------------------------------


def _bounded(value: int) -> int:
    if -_INT64 <= value < _INT64:
        return value
    raise DomainError(f"the int {value} does not fit into 64 bits; use floats for numbers of this size")


def _remainder(a: int, b: int) -> int:
    if b == 0:
        raise DomainError(f"remainder of {a} by 0; the divisor must not be 0")
    return a % b


_ON_INTS: dict[str, Callable[..., Any]] = {
    "add": lambda a, b: _bounded(a + b),
    "subtract": lambda a, b: _bounded(a - b),
    "multiply": lambda a, b: _bounded(a * b),
    "negative": lambda a: _bounded(-a),
    "remainder": _remainder,
    "abs": lambda a: _bounded(abs(a)),
    "sign": lambda a: (a > 0) - (a < 0),
    "maximum": max,
    "minimum": min,
    "less": operator.lt,
    "less_equal": operator.le,
    "greater": operator.gt,
    "greater_equal": operator.ge,
    "equal": operator.eq,
    "not_equal": operator.ne,
}
_ON_BOOLS: dict[str, Callable[..., bool]] = {
    "logical_and": lambda a, b: a and b,
    "logical_or": lambda a, b: a or b,
    "logical_not": operator.not_,
}
"""On Python's bools; a bool that the namespace made stays with the namespace."""


def _python(frame: Frame, op: str, arguments: Sequence[Operand], result: Type) -> Operand:
    """An op whose arguments and result are int and bool scalars."""
    reads = [a.read for a in arguments]
    first = reads[0]
    if op in _ON_INTS:
        f = _ON_INTS[op]
        if len(reads) == 1:
            return Operand(result, lambda environment: f(first(environment)))
        second = reads[1]
        return Operand(result, lambda environment: f(first(environment), second(environment)))
    if op in _ON_BOOLS:
        g, method = _ON_BOOLS[op], frame.method(op)

        def logic(environment: Environment) -> Any:
            values = [r(environment) for r in reads]
            return g(*values) if all(isinstance(v, bool) for v in values) else environment[method](*values)

        return Operand(result, logic)
    if op == "where":
        _, then, otherwise = reads

        def choose(environment: Environment) -> Any:
            condition, *values = first(environment), then(environment), otherwise(environment)
            decided = condition if isinstance(condition, bool) else environment[DECIDE](condition)
            environment[TRACE].append(int(decided))
            return values[0] if decided else values[1]

        return Operand(result, choose)
    # What is left are reductions, reshapes and indices of a scalar to a scalar: they change nothing.
    return arguments[1] if op == "index_update" else arguments[0]


def _cast(frame: Frame, operand: Operand, result: Type) -> Operand:
    """`astype` of a scalar."""
    own, read = operand.type.dtype, operand.read
    if own == result.dtype:
        return operand
    if result.dtype == "bool":
        return Operand(result, lambda environment: read(environment) != 0)
    return convert(frame, operand, result.dtype)
