"""Graphs as nested Python functions: the common part of dialects with functional loops.

A body, a condition and a side of a branch each become a function that closes over what it reads from outside.
A value that is read once is written in place; others get a name.
"""

from __future__ import annotations

import abc
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from gradfuzz.oracles.emit.op_source import Items
from gradfuzz.oracles.emit.statements import Emitter, Piece
from gradfuzz.programs.graphs.graph import Atom, Branch, Equation, Graph, Loop, Var
from gradfuzz.programs.language.ops import OPS

_WIDTH = 72
"""A longer expression gets a name of its own."""


@dataclass(slots=True)
class FunctionScope:
    """The inside of one Python function: its lines, the names already used, and the known values."""

    indent: str
    taken: set[str]
    lines: list[str]
    values: dict[Var, Piece]

    def add(self, line: str) -> None:
        self.lines.append(self.indent + line)

    def name(self, hint: str) -> str:
        """A new name."""
        name, k = hint, 2
        while name in self.taken:
            name, k = f"{hint}_{k}", k + 1
        self.taken.add(name)
        return name


class GraphWriter(abc.ABC):
    """Writes one graph; a dialect writes its loops and branches."""

    def __init__(self, emitter: Emitter) -> None:
        self.emitter = emitter

    @abc.abstractmethod
    def branch(self, scope: FunctionScope, node: Branch) -> None:
        """Adds a branch to `scope` and names its outputs."""

    @abc.abstractmethod
    def loop(self, scope: FunctionScope, node: Loop) -> None:
        """Adds a loop to `scope` and names its outputs."""

    def function(self, graph: Graph, name: str) -> str:
        """`graph` as a function `name` that returns the output, or a tuple of several."""
        scope = FunctionScope("    ", {*self.emitter.reserved, name}, [], {})
        params = [self.new(scope, v) for v in graph.inputs]
        self.nodes(scope, graph)
        scope.add(f"return {', '.join(self.emitter.value(self.piece(scope, a)).text for a in graph.outputs)}")
        return "\n".join([f"def {name}({', '.join(params)}):", *scope.lines]) + "\n"

    def new(self, scope: FunctionScope, var: Var) -> str:
        """A name for `var`."""
        name = scope.name(self.emitter.name(var.name.rstrip("?")))
        scope.values[var] = Piece(name, var.type, host=self.emitter.is_host(var.type))
        return name

    def piece(self, scope: FunctionScope, atom: Atom) -> Piece:
        return scope.values[atom] if isinstance(atom, Var) else self.emitter.expression(atom.value)

    def nodes(self, scope: FunctionScope, graph: Graph) -> None:
        """Adds the graph's nodes to `scope`, which already has the inputs."""
        readers = _readers(graph)
        equations = [node for node in graph.nodes if isinstance(node, Equation)]
        together = Counter(_computation(node) for node in equations if OPS[node.op].parts)
        names: dict[_Computation, str] = {}
        for node in graph.nodes:
            match node:
                case Equation(op, inputs, params, output):
                    pieces, key = [self.piece(scope, a) for a in inputs], _computation(node)
                    if together[key] > 1 and key not in names:
                        names[key] = scope.name(f"{op}_1")
                        scope.add(f"{names[key]} = {self.emitter.several(op, pieces, dict(params))}")
                    piece = self.emitter.apply(op, pieces, dict(params), names.get(key))
                    if readers[output] == 1 and len(piece.text) <= _WIDTH:
                        scope.values[output] = replace(piece, type=output.type)
                    else:
                        scope.add(f"{self.new(scope, output)} = {piece.text}")
                case Branch():
                    self.branch(scope, node)
                case Loop():
                    self.loop(scope, node)

    def inner(self, scope: FunctionScope, inputs: Sequence[Var], atoms: Sequence[Atom]) -> FunctionScope:
        """The inside of a function in `scope`, where the outer values `atoms` are known as `inputs`."""
        shared = {v: self.piece(scope, a) for v, a in zip(inputs, atoms, strict=True)}
        return FunctionScope(
            scope.indent + "    ", {*self.emitter.reserved, *(p.text for p in shared.values())}, [], shared
        )

    def named(self, inner: FunctionScope, loop: Loop, outputs: Sequence[str]) -> list[str]:
        """The names of the new carries of a body-first loop, for its condition, which is written next."""
        assert loop.condition is not None, "a body-first loop has a condition"
        inputs, shared = loop.condition.inputs, len(loop.constants)
        for var, same in zip(inputs[:shared], loop.body.inputs, strict=False):
            inner.values[var] = inner.values[same]
        for var, text in zip(inputs[shared:], outputs, strict=True):
            if text.isidentifier():
                inner.values[var] = Piece(text, var.type)
            else:
                inner.add(f"{self.new(inner, var)} = {text}")
        return [inner.values[var].text for var in inputs[shared:]]

    def define(
        self, scope: FunctionScope, hint: str, params: Sequence[str], inner: FunctionScope, result: str
    ) -> str:
        """Adds `def hint(params)` with the lines of `inner`; returns its actual name."""
        name = scope.name(hint)
        if scope.lines and scope.lines[-1]:
            scope.lines.append("")
        scope.add(f"def {name}({', '.join(params)}):")
        scope.lines += [*inner.lines, f"{inner.indent}return {result}", ""]
        return name


_Computation = tuple[str, tuple[Atom, ...], Items]


def _computation(node: Equation) -> _Computation:
    """The common key of all results of one computation, for ops with several."""
    return node.op, node.inputs, tuple(item for item in node.params if item[0] != "part")


def _readers(graph: Graph) -> Counter[Atom]:
    """How many places read each value. A reading in an inner graph counts twice: it needs a name."""
    counts: Counter[Atom] = Counter(a for a in graph.outputs if isinstance(a, Var))
    for node in graph.nodes:
        inner: Sequence[Atom] = ()
        outer: Sequence[Atom] = node.inputs
        if isinstance(node, Loop):
            inner, outer = node.constants, (*node.initial, *(() if node.count is None else (node.count,)))
        elif isinstance(node, Branch):
            inner, outer = node.operands, (node.predicate,)
        counts.update(a for a in (*outer, *inner, *inner) if isinstance(a, Var))
    return counts
