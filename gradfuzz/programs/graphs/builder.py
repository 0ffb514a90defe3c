"""Builds graphs, one equation at a time.

A builder owns the values it makes. A value of an outer builder that is used inside becomes an input of the
inner graph, so closing over is never written down: it happens where the value is used.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from gradfuzz.programs.graphs.graph import (
    TEMPORARY,
    Atom,
    Branch,
    Checkpoint,
    Constant,
    Equation,
    Graph,
    Loop,
    LoopForm,
    Node,
    Var,
)
from gradfuzz.programs.language.ops import OPS, defaults_of, result_type
from gradfuzz.programs.language.syntax import Const, ParamValue
from gradfuzz.programs.language.types import DType, Type, inexact

_KEEPS_INTS = frozenset({"index", "index_update", "astype"})


@functools.lru_cache(maxsize=1 << 14)
def _signature(
    op: str, types: tuple[Type, ...], items: tuple[tuple[str, ParamValue], ...]
) -> tuple[Type, tuple[DType, ...] | None]:
    """The type of the result, and the dtypes that the operands are converted to (None: no operand is)."""
    result = result_type(op, types, dict(items))
    given = tuple([t.dtype for t in types])
    wanted = given
    if result.is_inexact and op not in _KEEPS_INTS:
        kept, common = OPS[op].indices, inexact(given)
        wanted = tuple([d if d == "bool" or k in kept else common for k, d in enumerate(given)])
    elif op == "index_update" and result.is_inexact:
        wanted = (result.dtype, result.dtype, *given[2:])
    elif OPS[op].kind == "comparison" and "complex" in given:
        wanted = (inexact(given),) * len(given)
    return result, None if wanted == given else wanted


def constant(value: float | int | bool | complex) -> Constant:
    """A scalar constant operand."""
    return Constant(Const(value))


_ONES = (constant(1.0), constant(1.0 + 0.0j))
_ZEROS: dict[DType, float | complex] = {"complex": 0j, "float": 0.0, "int": 0, "bool": False}


class GraphBuilder:
    """A graph in the making.

    With `simplify` an equation that was made before is found again instead of made twice, and products with
    the constant 1.0 vanish: for derivative graphs, where both come in crowds.
    """

    def __init__(self, *, simplify: bool = False) -> None:
        self.simplify = simplify
        self.nodes: list[Node] = []
        self.captured: dict[Var, Var] = {}
        self._own: set[Var] = set()
        self._known: dict[tuple[Any, ...], Atom] = {}

    def input(self, type: Type, name: str = "x") -> Var:
        """A new value that the graph will take as an input; the caller keeps the order."""
        var = Var(type, name)
        self._own.add(var)
        return var

    def use(self, atom: Atom) -> Atom:
        """`atom` as seen from inside: itself, or the input that stands for it."""
        if isinstance(atom, Constant) or atom in self._own:
            return atom
        if atom not in self.captured:
            self.captured[atom] = self.input(atom.type, atom.name)
        return self.captured[atom]

    def emit(self, op: str, /, *inputs: Atom, **params: ParamValue) -> Atom:
        """`op(*inputs, **params)`. Ints that meet floats, and floats that meet complex numbers, are converted
        by an `astype` of their own.
        """
        return self.emit_as(TEMPORARY, op, *inputs, **params)

    def emit_as(self, name: str, op: str, /, *inputs: Atom, **params: ParamValue) -> Atom:
        """The same, with a hint for the name of the result."""
        if op in ("conj", "real") and inputs[0].type.is_float:
            return self.use(inputs[0])
        items = tuple(sorted({**defaults_of(op), **params}.items())) if params or defaults_of(op) else ()
        result, wanted = _signature(op, tuple([a.type for a in inputs]), items)
        if wanted is not None:
            inputs = tuple([self.to(a, dtype) for a, dtype in zip(inputs, wanted, strict=True)])
        atoms = tuple([self.use(a) for a in inputs])
        if self.simplify and op == "multiply":
            for one, other in (atoms, atoms[::-1]):
                if isinstance(one, Constant) and one in _ONES and other.type == result:
                    return other
        key = (op, items, atoms)
        if self.simplify and key in self._known:
            return self._known[key]
        output = self.input(result, name)
        self.nodes.append(Equation(op, atoms, items, output))
        if self.simplify:
            self._known[key] = output
        return output

    def to(self, atom: Atom, dtype: DType) -> Atom:
        """`atom` as `dtype`, which is at least its own."""
        if atom.type.dtype == dtype:
            return atom
        if isinstance(atom, Constant) and isinstance(atom.value, Const) and dtype in ("float", "complex"):
            return constant(complex(atom.value.value) if dtype == "complex" else float(atom.value.number))
        return self.emit("astype", atom, dtype=dtype)

    def zeros(self, type: Type) -> Atom:
        """A constant zero of a type."""
        zero = constant(_ZEROS[type.dtype])
        return self.emit("broadcast_to", zero, shape=type.shape) if type.shape else zero

    def loop(
        self,
        form: LoopForm,
        *,
        constants: Sequence[Atom],
        initial: Sequence[Atom],
        body: Graph,
        stacks: Sequence[Atom] = (),
        condition: Graph | None = None,
        count: Atom | None = None,
        reverse: bool = False,
        checkpoint: Checkpoint = "none",
        lengths: Sequence[int | None] = (),
    ) -> tuple[Var, ...]:
        """A loop; its outputs are named after what the body returns in their place.

        `lengths`: of each output that is written, the number of trips where it is to be an array, None for a
        stack; without, all are stacks.
        """
        carries = len(initial)
        for a, b in zip(initial, body.outputs, strict=False):
            assert a.type == b.type, f"a carry is {a.type} before the body of a loop and {b.type} after it"
        names = [v.name for v in body.inputs[len(constants) : len(constants) + carries]]
        outputs = [self.input(a.type, n) for a, n in zip(initial, names, strict=True)]
        written = body.outputs[carries:]
        for a, n in zip(written, lengths or [None] * len(written), strict=True):
            outputs.append(self.input(a.type.stacked(n), a.name if isinstance(a, Var) else "s"))
        read = []
        for stack in stacks:
            if isinstance(stack, Constant):
                stack = self.emit("broadcast_to", stack, shape=stack.type.shape)
            row = self.use(stack)
            assert isinstance(row, Var), "a stack is never a constant, and of an array one has just been made"
            read.append(row)
        fixed, starts = tuple(self.use(a) for a in constants), tuple(self.use(a) for a in initial)
        trips = None if count is None else self.use(count)
        ends = tuple(outputs)
        loop = Loop(form, fixed, starts, tuple(read), body, condition, trips, ends, reverse, checkpoint)
        self.nodes.append(loop)
        return ends

    def loop_as(self, node: Loop, arguments: Sequence[Atom], **changes: Any) -> tuple[Var, ...]:
        """`node` with other arguments, and with what else `loop` takes where that changes."""
        constants, initial, stacks, count = node.split(arguments)
        own = {
            name: getattr(node, name) for name in ("body", "condition", "reverse", "checkpoint", "lengths")
        }
        own |= {"constants": constants, "initial": initial, "stacks": stacks}
        return self.loop(node.form, **{**own, "count": count[0] if count else None, **changes})

    def branch(
        self, predicate: Atom, operands: Sequence[Atom], then: Graph, otherwise: Graph, names: Sequence[str]
    ) -> tuple[Var, ...]:
        """A branch between two graphs that take all `operands`."""
        outputs = tuple(self.input(a.type, n) for a, n in zip(then.outputs, names, strict=True))
        chosen, taken = self.use(predicate), tuple(self.use(a) for a in operands)
        self.nodes.append(Branch(chosen, taken, then, otherwise, outputs))
        return outputs

    def stand_ins(self, outer: Sequence[Var]) -> list[Var]:
        """An input for each value of an outer builder: the one that stands for it, or one that is not
        read.
        """
        return [self.captured.get(v) or self.input(v.type, v.name) for v in outer]

    def join(self, predicate: Atom, then: Side, otherwise: Side, names: Sequence[str]) -> tuple[Var, ...]:
        """A branch between what was built in two builders, on all that these have captured."""
        sides = [(inner, [inner.use(a) for a in outputs]) for inner, outputs in (then, otherwise)]
        operands = list(dict.fromkeys(v for inner, _ in sides for v in inner.captured))
        graphs = [
            inner.finish(inner.stand_ins(operands), outputs, name)
            for (inner, outputs), name in zip(sides, ("then", "otherwise"), strict=True)
        ]
        return self.branch(predicate, operands, graphs[0], graphs[1], names)

    def join_loop(self, form: LoopForm, body: Part, condition: Part | None, **more: Any) -> tuple[Var, ...]:
        """A loop of what was built in one or two builders, whose constants are all that these have captured.
        `more` is what `loop` takes.
        """
        parts = [body] if condition is None else [body, condition]
        ends = [[inner.use(a) for a in outputs] for inner, _, outputs in parts]
        constants = list(dict.fromkeys(v for inner, _, _ in parts for v in inner.captured))
        graphs = [
            inner.finish([*inner.stand_ins(constants), *inputs], end, name)
            for (inner, inputs, _), end, name in zip(parts, ends, ("body", "condition"), strict=False)
        ]
        check = None if condition is None else graphs[1]
        return self.loop(form, constants=constants, body=graphs[0], condition=check, **more)

    def finish(self, inputs: Sequence[Var], outputs: Sequence[Atom], name: str = "f") -> Graph:
        """The graph of what was built; everything captured must be among `inputs`."""
        return Graph(tuple(inputs), tuple(self.nodes), tuple(self.use(a) for a in outputs), name)


Side = tuple[GraphBuilder, Sequence[Atom]]
"""A builder, and the outputs of what was built in it."""
Part = tuple[GraphBuilder, Sequence[Var], Sequence[Atom]]
"""A builder with its own inputs, and the outputs."""
