"""Goals of tensor programs: situations in which gradients of array ops have been wrong or have crashed.

A goal is read off the program, the points and the question; nothing is run.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from gradfuzz.programs import ArrayConst, Assign, Call, Const, Expr, For, Name, Type, While, typecheck, walk
from gradfuzz.programs.language.typecheck import expression_type
from gradfuzz.strategies.loop.case import CaseView, GeneratedCase
from gradfuzz.strategies.loop.facts import names
from gradfuzz.strategies.tensor.recipes import TENSOR_OPS


class TensorView(CaseView):
    """A case, its calls with the types of their arguments, and the numbers of its points."""

    def __init__(self, case: GeneratedCase) -> None:
        super().__init__(case)
        self.params = {p.name: p.type for p in case.program.params}

    @functools.cached_property
    def variables(self) -> dict[str, Type]:
        return typecheck(self.case.program).variables

    def operands(self) -> Iterator[tuple[tuple[int | None, ...], ...]]:
        """For each op that broadcasts: the shapes of its array operands, two or more."""
        for call in self.calls:
            if len(call.args) > 1 and call.op in _BROADCASTING:
                yield tuple(
                    expression_type(a, self.variables).shape for a in call.args if not isinstance(a, Const)
                )

    def shapes(self) -> list[tuple[int | None, ...]]:
        """The shapes of the float parameters."""
        return [t.shape for t in self.params.values() if t.is_float]

    def arrays(self) -> Iterator[Any]:
        for point in self.case.points:
            yield from (np.asarray(v) for name, v in point.items() if self.params[name].is_float)

    def has(self, *ops: str, **params: Any) -> bool:
        return any(c.op in ops and all(c.param(k) == v for k, v in params.items()) for c in self.calls)

    def loops(self) -> list[For | While]:
        return [n for n in self.nodes if isinstance(n, (For, While))]

    def indices(self) -> Iterator[Expr]:
        """The index arguments of the gathering ops."""
        yield from (c.args[1] for c in self.calls if c.op in ("take", "take_along_axis", "scatter_add"))

    def dropped(self) -> bool:
        """Whether a computed value is never read by an output, a loop or another value."""
        return any(
            isinstance(n, Assign) and all(n.target not in names(m) for m in self._reading(n))
            for n in self.nodes
        )

    def _reading(self, stmt: Assign) -> Iterator[Any]:
        for other in self.nodes:
            if isinstance(other, Assign) and other.target != stmt.target:
                yield other.value
            elif isinstance(other, While):
                yield other.condition
        yield from self.outputs


_BROADCASTING = {"add", "subtract", "multiply", "divide", "pow", "maximum", "minimum"} | {
    *("clip", "where", "less", "less_equal", "greater")
}


def _ranks(view: TensorView, rank: int) -> bool:
    return any(len(shape) == rank for shape in view.shapes())


def _broadcasts(view: TensorView, kind: str) -> bool:
    for shapes in view.operands():
        rank = max(map(len, shapes), default=0)
        for shape in shapes:
            if kind == "scalar" and rank and not shape:
                return True
            if kind == "missing" and 0 < len(shape) < rank:
                return True
            if kind == "ones" and any(
                n == 1 and any(other[-k - 1] != 1 for other in shapes if len(other) > k)
                for k, n in enumerate(reversed(shape))
            ):
                return True
    return False


def _repeats(e: Expr) -> bool:
    return isinstance(e, ArrayConst) and len({c.value for c in e.values}) < len(e.values)


def _ties(view: TensorView) -> bool:
    return any(a.size > len(np.unique(a)) > 1 for a in view.arrays())


def _by_counter(view: TensorView) -> bool:
    return any(
        loop.target in names(*c.args[1:])
        for loop in view.loops()
        if isinstance(loop, For)
        for c in walk(loop.body)
        if isinstance(c, Call) and c.op in ("index", "index_update", "take", "scatter_add")
    )


def _negative(view: TensorView) -> bool:
    return any(isinstance(v, int) and v < 0 for c in view.calls for k, v in c.params if k == "axis")


def _windows(view: TensorView, param: str, test: Callable[[int], bool]) -> bool:
    """Whether a window has a stride or a padding that `test` accepts."""
    return any(
        bool(np.any(test(np.array(a))))  # type: ignore[arg-type]
        for c in view.calls
        for k, a in c.params
        if k == param and a is not None
    )


TENSOR_GOALS: dict[str, Callable[[TensorView], bool]] = {
    **{f"tensor {op}": lambda v, op=op: v.has(op) for op in TENSOR_OPS},  # type: ignore[misc]
    **{f"rank {n}": lambda v, n=n: _ranks(v, n) for n in range(5)},  # type: ignore[misc]
    "axis of size 0": lambda v: any(0 in shape for shape in v.shapes()),
    "axis of size 1": lambda v: any(1 in shape for shape in v.shapes()),
    "axes of one length": lambda v: any(len(s) > 1 and len(set(s)) == 1 for s in v.shapes()),
    "broadcast scalar": lambda v: _broadcasts(v, "scalar"),
    "broadcast missing axes": lambda v: _broadcasts(v, "missing"),
    "broadcast size 1": lambda v: _broadcasts(v, "ones"),
    "repeated indices": lambda v: any(_repeats(e) for e in v.indices()),
    "indices from an input": lambda v: any(
        isinstance(e, Name) and v.params.get(e.id) is not None for e in v.indices()
    ),
    "negative axis": _negative,
    "several axes": lambda v: any(k == "axis" and isinstance(a, tuple) for c in v.calls for k, a in c.params),
    "reduced axis kept": lambda v: any(k == "keepdims" and a is True for c in v.calls for k, a in c.params),
    "window with strides": lambda v: _windows(v, "strides", lambda n: n > 1),
    "window with padding": lambda v: _windows(v, "padding", lambda n: n > 0),
    "captured matrix": lambda v: any(isinstance(c.args[1], ArrayConst) for c in v.calls if c.op == "matmul"),
    "array carried by a loop": lambda v: any(
        v.variables[s.target].shape for loop in v.loops() for s in walk(loop.body) if isinstance(s, Assign)
    ),
    "place by loop counter": _by_counter,
    "loop that stops by value": lambda v: any(isinstance(n, While) for n in v.loops()),
    "loop of no trips": lambda v: any(isinstance(n, For) and n.count == Const(0) for n in v.loops()),
    "several outputs": lambda v: len(v.outputs) > 1,
    "value dropped": lambda v: v.dropped(),
    "constant input": lambda v: len(v.case.wrt) < sum(t.is_float for t in v.params.values()),
    "entries that tie": _ties,
    "entries all equal": lambda v: any(a.size > 1 and len(np.unique(a)) == 1 for a in v.arrays()),
    "an exact zero": lambda v: any(bool(np.any(a == 0.0)) for a in v.arrays()),
    "float32": lambda v: v.case.precision == "float32",
}
"""The goals by name: ops, shapes, ways to broadcast, gather and slide, loops, unused values, and ties."""
