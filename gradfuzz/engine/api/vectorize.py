"""Values with named batch axes.

    >>> import numpy as np
    >>> from gradfuzz import engine
    >>> x = engine.vectorize(np.array([2.0, 5.0]), "foo")
    >>> y = engine.vectorize(np.array([3.0, 4.0]), "bar")
    >>> engine.devectorize(engine.grad(lambda x, y: engine.sin(x) * y)(x, y)).shape
    (2, 2)

Every op works on one instance at a time: a sum over all axes leaves the named ones alone. Values with
different axes are aligned to the union of their axes, in the order of first appearance. Differentiation first
aligns the differentiated values, so a gradient has all axes of the result, with one partial derivative for
each instance and nothing summed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from gradfuzz.engine.batching.lanes import Lanes, dtype_of
from gradfuzz.engine.batching.rules import batch_op
from gradfuzz.engine.rules.functions import broadcast_to, permute_dims, reshape
from gradfuzz.engine.rules.value import ACTIVE, Operand, Operators, Value, apply, shape_of
from gradfuzz.errors import UsageError
from gradfuzz.programs.graphs.builder import GraphBuilder
from gradfuzz.programs.graphs.graph import Var
from gradfuzz.programs.language.ops import OPS, defaults_of
from gradfuzz.programs.language.syntax import ParamValue
from gradfuzz.programs.language.types import Type

Sizes = dict[str, int]
"""Named axes and their sizes, in order."""


class Vectorized(Operators):
    """An array of instances: `axes` name the leading axes of `data`, and `shape` is that of one instance."""

    __slots__ = ("axes", "data")

    def __init__(self, data: Operand, axes: tuple[str, ...]) -> None:
        self.data = data if isinstance(data, Value) else np.asarray(data)
        self.axes = axes

    @property
    def sizes(self) -> Sizes:
        """The named axes with their sizes."""
        return dict(zip(self.axes, shape_of(self.data), strict=False))

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of one instance."""
        return shape_of(self.data)[len(self.axes) :]

    @property
    def ndim(self) -> int:
        return len(self.shape)

    def __repr__(self) -> str:
        named = ", ".join(f"{name}: {n}" for name, n in self.sizes.items())
        return f"<vectorized [{named}] {self.data!r}>"

    def __bool__(self) -> bool:
        why = "it may hold for some instances only; use engine.where or cond"
        raise UsageError(f"a Python `if` or `while` on {self!r}: {why}")

    def __float__(self) -> float:
        raise UsageError(f"float() of {self!r}, which is many numbers; devectorize it first")

    def __array__(self, *args: Any, **options: Any) -> Any:
        raise TypeError(f"{self!r} as a NumPy array would lose the names of its axes; devectorize it first")

    def apply_op(self, op: str, operands: Sequence[Operand], params: Mapping[str, ParamValue]) -> Any:
        """`op` on operands, some of them vectorized, instance by instance."""
        seen = [here(o) for o in operands]
        if not is_vectorized(*seen):
            return apply(op, *seen, **params)
        sizes = union(seen)
        arrays = [align(o, sizes) if isinstance(o, Vectorized) else o for o in seen]
        defaults = defaults_of(op) if op in OPS else {}
        flags = [isinstance(o, Vectorized) for o in seen]
        lanes = Lanes(tuple(sizes.values()))
        return Vectorized(batch_op(lanes, op, arrays, flags, {**defaults, **params}), tuple(sizes))


class Trace(GraphBuilder):
    """The graph of a function that is being traced, with its rules for vectorized values from outside.

    A function sees them whole: `foreign` collects their axes. The body of a loop or a branch, and what `vmap`
    maps (`by_instance`), sees one instance: a vectorized value becomes an input of the graph, in `instances`.
    """

    def __init__(self, *, by_instance: bool = False) -> None:
        super().__init__()
        self.by_instance = by_instance
        self.foreign: Sizes = {}
        self.instances: list[tuple[Vectorized, Var]] = []

    def instance(self, outer: Vectorized) -> Var:
        """The input for one instance of `outer`."""
        for known, var in self.instances:
            if known is outer:
                return var
        var = self.input(Type(dtype_of(outer.data), outer.shape), "v")
        self.instances.append((outer, var))
        return var


def is_vectorized(*operands: Operand) -> bool:
    """Whether one of `operands` is vectorized, also inside tuples."""
    return any(is_vectorized(*o) if isinstance(o, tuple) else isinstance(o, Vectorized) for o in operands)


def here(operand: Operand) -> Operand:
    """`operand` in the innermost trace: one instance, if it was made before a traced body was entered."""
    if not isinstance(operand, Vectorized):
        return operand
    stack = ACTIVE.get()
    own = -1
    if isinstance(operand.data, Value) and operand.data.builder in stack:
        own = stack.index(operand.data.builder)
    for level, builder in enumerate(stack[own + 1 :], own + 2):
        if isinstance(builder, Trace):
            if builder.by_instance:
                return Value(builder, builder.instance(operand), level)
            builder.foreign.update((k, n) for k, n in operand.sizes.items() if k not in builder.foreign)
    return operand


def settled(operand: Operand) -> Operand:
    """The result of the body of a loop or branch, as a value of one instance.

    Raises `UsageError` where the body has vectorized a value and not devectorized it again.
    """
    seen = here(operand)
    if isinstance(seen, Vectorized):
        what = f"{seen!r}, vectorized inside; devectorize it before it is returned"
        raise UsageError(f"the body of a loop or branch returns {what}")
    return seen


def union(operands: Sequence[Operand]) -> Sizes:
    """The axes of all vectorized `operands`, in order of first appearance. `UsageError` if sizes differ."""
    sizes: Sizes = {}
    for operand in operands:
        if isinstance(operand, Vectorized):
            for name, n in operand.sizes.items():
                if sizes.setdefault(name, n) != n:
                    counts = f"{sizes[name]} instances in one value and {n} in another"
                    raise UsageError(f"the axis {name!r} has {counts}; rename one")
    return sizes


def align(operand: Operand, sizes: Sizes) -> Operand:
    """The data of `operand` with exactly the axes `sizes` in front, repeated along missing ones."""
    target = tuple(sizes.values())
    if not isinstance(operand, Vectorized):
        return broadcast_to(operand, (*target, *shape_of(operand)))
    own = operand.sizes
    missing = [name for name in own if name not in sizes]
    if missing:
        known = ", ".join(sizes) or "no axes"
        raise UsageError(f"{operand!r} has the axis {missing[0]!r}; only {known} can be here")
    data, rank = operand.data, len(operand.axes)
    order = [operand.axes.index(name) for name in sizes if name in own]
    if order != sorted(order):
        data = permute_dims(data, (*order, *range(rank, len(shape_of(data)))))
    if len(own) < len(sizes):
        data = reshape(data, (*(n if name in own else 1 for name, n in sizes.items()), *operand.shape))
        data = broadcast_to(data, (*target, *operand.shape))
    return data


def vectorize(x: Operand, *names: str) -> Vectorized:
    """`x` with its leading axes as named batch axes, after its existing ones.

    Raises `UsageError` where there are fewer axes than names, or a name is taken.
    """
    axes = x.axes if isinstance(x, Vectorized) else ()
    if len({*axes, *names}) != len(axes) + len(names):
        given = ", ".join(map(repr, names))
        rule = f"every axis needs a name of its own, {x!r} has {axes}"
        raise UsageError(f"vectorize with the names {given}: {rule}")
    if len(names) > len(shape_of(x)):
        count = f"{len(names)} names; it has fewer axes"
        raise UsageError(f"vectorize of an array of shape {shape_of(x)} with {count}")
    return Vectorized(x.data if isinstance(x, Vectorized) else x, (*axes, *names)) if names else x


def devectorize(x: Operand) -> Operand:
    """The whole array of `x`, its batch axes first; anything not vectorized is unchanged."""
    return x.data if isinstance(x, Vectorized) else x


def rename(x: Vectorized, names: Mapping[str, str]) -> Vectorized:
    """`x` with other names for some of its axes: `rename(x, {"old": "new"})`."""
    for old in names:
        if old not in x.axes:
            raise UsageError(f"rename of the axis {old!r}: {x!r} has {', '.join(map(repr, x.axes))}")
    return vectorize(x.data, *(names.get(name, name) for name in x.axes))
