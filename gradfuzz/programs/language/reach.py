"""The part of a program that one entry of an input reaches, as a smaller program.

Along the line on which only that entry moves, all else stands still: of a layer x @ w + b an entry of w
reaches one column, and one column of w decides it. Sets of entries are boxes: the places along each axis.
Boxes of what the entry changes go forward through the program, and boxes of what is needed come back.

An op passes boxes on if its result goes along with the axes of its arguments (`_links`). Any other op is
taken whole. What is added to an output at the end and does not move is left out, as other terms of a loss:
the derivative by the entry is the program's, the values are not. Programs with loops or branches have no such
part.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from gradfuzz.programs.language.axes import normalize_axes
from gradfuzz.programs.language.ops import OPS, defaults_of, result_type
from gradfuzz.programs.language.program import Program, walk
from gradfuzz.programs.language.syntax import (
    ArrayConst,
    Assign,
    Block,
    Call,
    Const,
    Expr,
    Name,
    Param,
    ParamValue,
    Return,
)
from gradfuzz.programs.language.typecheck import typecheck
from gradfuzz.programs.language.types import Type

Box = tuple[tuple[int, ...] | None, ...]
"""The places along each axis of an array; None for all of them."""

_Links = tuple[int | None, ...]
"""For each axis of an argument the axis of the result that goes along with it; None where all of the argument
is needed.
"""

_BROADCASTING = ("arithmetic", "function", "selection", "comparison", "logic")

_COPIES = 8
"""A part of so many times the program's calls would be no smaller."""


@dataclass(frozen=True, slots=True)
class Cut:
    """A parameter of the part: `box` of the program's parameter `source`."""

    name: str
    source: str
    box: Box


@dataclass(frozen=True, slots=True)
class Part:
    """The part: its inputs, and for each of its outputs the number of the program's output and the box of
    it.
    """

    program: Program
    inputs: tuple[Cut, ...]
    outputs: tuple[tuple[int, Box], ...]


@dataclass(frozen=True, slots=True, eq=False)
class _Value:
    """A value of the program, and the box of what the entry changes in it; None where it changes nothing."""

    type: Type
    reached: Box | None
    source: Param | Const | ArrayConst | None = None
    op: str = ""
    args: tuple[_Value, ...] = ()
    params: Mapping[str, ParamValue] = field(default_factory=dict)


def part_reached(program: Program, name: str, index: Sequence[int]) -> Part | None:
    """The part that the entry `index` of the input `name` reaches; None where there is none, or where it is
    not known.
    """
    values = _values(program, name, index)
    if values is None:
        return None
    builder = _Builder(program)
    outputs, results = [], []
    for number, value in enumerate(values):
        if value.reached is not None and value.type.is_float:
            outputs.append((number, value.reached))
            results.append(builder.moving(value, value.reached))
    if not outputs or builder.is_large:
        return None
    params = tuple(Param(cut.name, kind) for cut, kind in builder.inputs)
    body: Block = (*builder.body, Return(tuple(results)))
    return Part(Program(program.name, params, body), tuple(c for c, _ in builder.inputs), tuple(outputs))


def cut(array: np.ndarray, box: Box) -> np.ndarray:
    """The entries of an array that are in a box."""
    places = [range(n) if own is None else own for n, own in zip(array.shape, box, strict=True)]
    return array[np.ix_(*places)] if places else array


def _values(program: Program, name: str, index: Sequence[int]) -> list[_Value] | None:
    """The values of the outputs; None where a statement is no assignment."""
    types = typecheck(program).variables
    known: dict[str, _Value] = {}
    for param in program.params:
        box: Box | None = None
        if param.name == name:
            box = tuple(None if n == 1 else (i,) for n, i in zip(param.type.sizes, index, strict=True))
        known[param.name] = _Value(param.type, box, param)

    def value_of(expr: Expr) -> _Value:
        if isinstance(expr, Name):
            return known[expr.id]
        if isinstance(expr, Const):
            return _Value(Type(expr.dtype), None, expr)
        if isinstance(expr, ArrayConst):
            return _Value(Type(expr.dtype, expr.shape), None, expr)
        return _called(expr.op, tuple(map(value_of, expr.args)), dict(expr.params))

    for statement in program.body[:-1]:
        if not isinstance(statement, Assign):
            return None
        value, wanted = value_of(statement.value), types[statement.target]
        if value.type.dtype != wanted.dtype:
            value = _called("astype", (value,), {"dtype": wanted.dtype})
        known[statement.target] = value
    return [value_of(expr) for expr in program.result.values]


def _called(op: str, args: tuple[_Value, ...], params: Mapping[str, ParamValue]) -> _Value:
    kind = result_type(op, tuple(a.type for a in args), params)
    reached: Box | None = None
    if any(a.reached is not None for a in args):
        links = _links(op, args, params, kind)
        boxes = [_forward(kind, own, a.reached) for own, a in zip(links, args, strict=True) if a.reached]
        scalars = [a for a in args if a.reached == ()]
        everywhere: Box = (None,) * kind.rank
        reached = everywhere if scalars else tuple(map(_joined, zip(*boxes, strict=True)))
    return _Value(kind, reached, None, op, args, params)


def _forward(kind: Type, links: _Links, reached: Box | None) -> Box:
    """What an argument changes in a result."""
    assert reached is not None, "only what is reached goes on"
    along = {link: box for link, box in zip(links, reached, strict=True) if link is not None}
    return tuple(along.get(axis) for axis in range(kind.rank))


def _joined(boxes: Sequence[tuple[int, ...] | None]) -> tuple[int, ...] | None:
    """Along one axis: the places of any."""
    known = [box for box in boxes if box is not None]
    return tuple(sorted(set(itertools.chain(*known)))) if len(known) == len(boxes) else None


def _links(
    op: str, args: Sequence[_Value], params: Mapping[str, ParamValue], kind: Type
) -> tuple[_Links, ...]:
    """How the axes of each argument go along with those of the result."""
    row, shapes = OPS[op], [a.type.sizes for a in args]
    full = {**defaults_of(op), **params}
    if op == "broadcast_to" or op == "astype" or (row.kind in _BROADCASTING and "axis" not in full):
        return tuple(_aligned(shape, kind.sizes) for shape in shapes)
    if op == "matmul":
        return _of_matmul(shapes, kind.sizes)
    if op == "permute_dims":
        places = full["axes"]
        assert isinstance(places, tuple), "the type checker lets no other axes through"
        return (tuple(places.index(axis) for axis in range(len(places))),)
    if op == "reshape":
        return (_regrouped(shapes[0], kind.sizes),)
    if row.kind == "reduction" and "keepdims" in full:
        gone = normalize_axes(full["axis"], len(shapes[0]), op)
        kept = [axis for axis in range(len(shapes[0])) if axis not in gone]
        left = {axis: axis if full["keepdims"] else k for k, axis in enumerate(kept)}
        return (tuple(left.get(axis) for axis in range(len(shapes[0]))),)
    return tuple((None,) * len(shape) for shape in shapes)


def _aligned(shape: Sequence[int], result: Sequence[int]) -> _Links:
    """Broadcasting: axes are counted from the end, and one of size 1 meets any."""
    ahead = len(result) - len(shape)
    return tuple(k + ahead if n == result[k + ahead] else None for k, n in enumerate(shape))


def _of_matmul(shapes: Sequence[Sequence[int]], result: Sequence[int]) -> tuple[_Links, ...]:
    a, b = shapes
    own = (len(a) > 1) + (len(b) > 1)
    batch = result[: len(result) - own]
    left: _Links = (*_aligned(a[:-2], batch), *([len(batch)] if len(a) > 1 else []), None)
    right: _Links = (*_aligned(b[:-2], batch), None, *([len(result) - 1] if len(b) > 1 else []))
    return left, right


def _regrouped(shape: Sequence[int], result: Sequence[int]) -> _Links:
    """A reshape that adds or drops axes of size 1 alone."""
    ours = [axis for axis, n in enumerate(shape) if n != 1]
    theirs = [axis for axis, n in enumerate(result) if n != 1]
    if [shape[axis] for axis in ours] != [result[axis] for axis in theirs]:
        return (None,) * len(shape)
    places = dict(zip(ours, theirs, strict=True))
    return tuple(places.get(axis) for axis in range(len(shape)))


class _Builder:
    """Makes the statements of the part, each value once for each box of it that is needed."""

    def __init__(self, program: Program) -> None:
        self.body: list[Assign] = []
        self.inputs: list[tuple[Cut, Type]] = []
        self._made: dict[tuple[_Value, Box], Expr] = {}
        self._names = (f"v{k}" for k in itertools.count())
        self._most = _COPIES * (1 + sum(isinstance(node, Call) for node in walk(program)))

    @property
    def is_large(self) -> bool:
        return len(self.body) > self._most

    def expression(self, value: _Value, box: Box) -> Expr:
        """The entries of a value that are in `box`."""
        if (value, box) not in self._made:
            self._made[value, box] = self._new(value, box)
        return self._made[value, box]

    def moving(self, value: _Value, box: Box) -> Expr:
        """The same, but for terms that do not move."""
        args = value.args
        links = _links(value.op, args, value.params, value.type) if args else ()
        moving = [k for k, a in enumerate(args) if a.reached is not None]
        if value.op in ("sum", "mean"):
            return self._terms(value, args[0], box)
        if any(args[k].type != value.type for k in moving):
            return self.expression(value, box)
        if value.op in ("add", "subtract"):
            first, *rest = [self.moving(args[k], box) for k in moving]
            if rest:
                return self._named(value.op, [first, *rest], {})
            return self._named("negative", [first], {}) if (value.op, *moving) == ("subtract", 1) else first
        if (value.op in ("multiply", "negative") and len(moving) == 1) or (value.op, *moving) == (
            "divide",
            0,
        ):
            made = [
                self.moving(a, box) if k in moving else self.expression(a, _wanted(own, box))
                for k, (own, a) in enumerate(zip(links, args, strict=True))
            ]
            return self._named(value.op, made, {})
        return self.expression(value, box)

    def _terms(self, value: _Value, first: _Value, box: Box) -> Expr:
        """A sum of what moves; a mean is divided by all."""
        assert first.reached is not None, "only what moves is added up"
        (links,) = _links(value.op, value.args, value.params, value.type)
        own = tuple(r if k is None else box[k] for k, r in zip(links, first.reached, strict=True))
        params = {**defaults_of(value.op), **value.params}
        total = self._named("sum", [self.moving(first, own)], params)
        if value.op == "sum":
            return total
        count = math.prod(first.type.sizes) // max(1, math.prod(value.type.sizes))
        return self._named("divide", [total, Const(float(count))], {})

    def _new(self, value: _Value, box: Box) -> Expr:
        source = value.source
        if isinstance(source, Const):
            return source
        if isinstance(source, ArrayConst):
            places = cut(np.arange(len(source.values)).reshape(source.shape), box)
            entries = tuple(source.values[k] for k in places.ravel().tolist())
            return ArrayConst(source.dtype, places.shape, entries) if places.shape else entries[0]
        if isinstance(source, Param):
            name = next(self._names)
            self.inputs.append((Cut(name, source.name, box), Type(value.type.dtype, _shape(value.type, box))))
            return Name(name)
        return self._call(value, box)

    def _call(self, value: _Value, box: Box) -> Expr:
        links = _links(value.op, value.args, value.params, value.type)
        linked = {axis for own in links for axis in own}
        free = value.op == "broadcast_to"
        made: Box = tuple(own if free or axis in linked else None for axis, own in enumerate(box))
        args = []
        for argument, own in zip(value.args, links, strict=True):
            args.append(self.expression(argument, _wanted(own, made)))
        params = dict(value.params)
        if "shape" in params:
            params["shape"] = _shape(value.type, made)
        found = self._named(value.op, args, params)
        for axis, places in enumerate(box):
            if places is not None and made[axis] is None:
                indices = ArrayConst("int", (len(places),), tuple(map(Const, places)))
                found = self._named("take", [found, indices], {"axis": axis})
        return found

    def _named(self, op: str, args: Sequence[Expr], params: Mapping[str, ParamValue]) -> Expr:
        target = next(self._names)
        self.body.append(Assign(target, Call(op, tuple(args), tuple(sorted(params.items())))))
        return Name(target)


def _wanted(links: _Links, box: Box) -> Box:
    """What is needed of an argument for a box of the result."""
    return tuple(None if axis is None else box[axis] for axis in links)


def _shape(kind: Type, box: Box) -> tuple[int, ...]:
    return tuple(n if own is None else len(own) for n, own in zip(kind.sizes, box, strict=True))
