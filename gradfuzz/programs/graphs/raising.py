"""From the functional form back to statements, for graphs without stacks."""

from __future__ import annotations

import dataclasses

from gradfuzz.programs.graphs.graph import Atom, Branch, Equation, Graph, Loop, Node, Var
from gradfuzz.programs.language.program import Program
from gradfuzz.programs.language.syntax import (
    ArrayConst,
    Assign,
    Call,
    Const,
    Expr,
    For,
    If,
    Name,
    Param,
    ParamValue,
    Repeat,
    Return,
    Stmt,
    While,
)
from gradfuzz.programs.language.typecheck import RESERVED, typecheck
from gradfuzz.programs.language.types import DType, Type, fail

_DEEPEST = 24
"""How deep an expression is nested before its value gets a name: programs may be nested some 80 levels, loops
and branches included.
"""


def to_program(graph: Graph, named: frozenset[Var] = frozenset()) -> Program:
    """A program that computes what `graph` computes. The values that are `named` get a statement each.

    A loop over the rows of arrays reads and writes them at the place of its counter. Raises
    `ProgramTypeError` where the graph has a loop that reads or writes stacks: derivatives do, and have no
    program.
    """
    writer = _Writer(named)
    params = tuple(Param(writer.bind(v), v.type) for v in graph.inputs)
    body = writer.block(graph)
    name = graph.name if graph.name.isidentifier() and graph.name not in RESERVED else "f"
    program = Program(name, params, (*body, Return(tuple(writer.read(a) for a in graph.outputs))))
    typecheck(program)
    return program


def _parts(value: Const | ArrayConst) -> tuple[tuple[Const, ...], tuple[Const, ...]]:
    """The real and the imaginary parts of a complex constant."""
    numbers = [complex(c.value) for c in (value.values if isinstance(value, ArrayConst) else [value])]
    return tuple(Const(z.real) for z in numbers), tuple(Const(z.imag) for z in numbers)


class _Writer:
    def __init__(self, named: frozenset[Var]) -> None:
        self.named = named
        self.expressions: dict[Var, Expr] = {}
        self.depths: dict[Var, int] = {}
        self.taken: set[str] = set(RESERVED)

    def bind(self, var: Var) -> str:
        """A name of its own for `var`."""
        base = "".join(c for c in var.name if c.isascii() and (c.isalnum() or c == "_")).strip("_") or "t"
        base = base if base[0].isalpha() else f"t{base}"
        name, k = base, 0
        while name in self.taken:
            k += 1
            name = f"{base}_{k}"
        self.taken.add(name)
        self.expressions[var] = Name(name)
        return name

    def read(self, atom: Atom) -> Expr:
        if isinstance(atom, Var):
            return self.expressions[atom]
        value = atom.value
        if value.dtype != "complex":
            return value
        parts = [
            dataclasses.replace(value, dtype="float", values=p) if isinstance(value, ArrayConst) else p[0]
            for p in _parts(value)
        ]
        return Call("complex", tuple(parts))

    def block(self, graph: Graph) -> tuple[Stmt, ...]:
        """The statements of a graph; a value used once is written where it is used."""
        uses: dict[Var, int] = {}
        for node in graph.nodes:
            for atom in node.inputs:
                if isinstance(atom, Var):
                    uses[atom] = uses.get(atom, 0) + (1 if isinstance(node, Equation) else 2)
        for atom in graph.outputs:
            if isinstance(atom, Var):
                uses[atom] = uses.get(atom, 0) + 2
        statements: list[Stmt] = []
        for node in graph.nodes:
            if isinstance(node, Equation):
                call = Call(node.op, tuple(self.read(a) for a in node.inputs), node.params)
                depth = 1 + max((self.depths.get(a, 0) for a in node.inputs if isinstance(a, Var)), default=0)
                inline = uses.get(node.output) == 1 and node.output not in self.named
                if inline and depth <= _DEEPEST:
                    self.expressions[node.output] = call
                    self.depths[node.output] = depth
                else:
                    statements.append(Assign(self.bind(node.output), call))
            else:
                statements += self.compound(node)
        return tuple(statements)

    def compound(self, node: Node) -> list[Stmt]:
        if isinstance(node, Branch):
            names = [self.bind(v) for v in node.outputs]
            sides = []
            for graph in (node.then, node.otherwise):
                for var, operand in zip(graph.inputs, node.operands, strict=True):
                    self.expressions[var] = self.read(operand)
                body = self.block(graph)
                results = zip(names, graph.outputs, strict=True)
                sides.append((*body, *(Assign(n, self.read(a)) for n, a in results)))
            return [If(self.read(node.predicate), sides[0], sides[1])]
        assert isinstance(node, Loop), "a node is an equation, a loop or a branch"
        if node.reverse or any(v.type.is_stack for v in (*node.stacks, *node.written)):
            fail("a loop that reads or writes stacks has no program; print the graph with engine.to_source")
        return self.loop(node)

    def loop(self, node: Loop) -> list[Stmt]:
        nc, ni = len(node.constants), len(node.initial)
        for var, operand in zip(node.body.inputs[:nc], node.constants, strict=True):
            self.expressions[var] = self.read(operand)
        carries = [self.bind(v) for v in node.body.inputs[nc : nc + ni]]
        before: list[Stmt] = [Assign(n, self.read(a)) for n, a in zip(carries, node.initial, strict=True)]
        counter = self.bind(node.body.inputs[-1]) if node.form == "for" else ""
        for var, rows in zip(node.body.inputs[nc + ni :], node.stacks, strict=False):
            self.expressions[var] = Call("index", (self.read(rows), Name(counter)), _row(rows.type))
        filled = [self.bind(v) for v in node.written]
        before += [Assign(n, _zeros(v.type)) for n, v in zip(filled, node.written, strict=True)]
        body = list(self.block(node.body))
        updates = [(n, self.read(a)) for n, a in zip(carries, node.body.outputs[:ni], strict=True)]
        updates = [(n, e) for n, e in updates if e != Name(n)]
        for name, var, atom in zip(filled, node.written, node.body.outputs[ni:], strict=True):
            arguments = (Name(name), self.read(atom), Name(counter))
            body.append(Assign(name, Call("index_update", arguments, _row(var.type))))
        if len(updates) > 1:  # all at once: each new value gets a name before any carry changes
            pairs = zip(updates, node.body.outputs, strict=False)
            fresh = [self.bind(Var(v.type, f"new_{n}")) for (n, _), v in pairs]
            body += [Assign(f, e) for f, (_, e) in zip(fresh, updates, strict=True)]
            body += [Assign(n, Name(f)) for f, (n, _) in zip(fresh, updates, strict=True)]
        else:
            body += [Assign(n, e) for n, e in updates]
        for var, name in zip(node.carries, carries, strict=True):
            self.expressions[var] = Name(name)
        if node.form == "for":
            count = Const(node.stacks[0].type.sizes[0]) if node.count is None else self.read(node.count)
            return [*before, For(counter, count, tuple(body))]
        assert node.condition is not None, "while and repeat have a condition"
        for var, other in zip(node.condition.inputs, node.body.inputs, strict=True):
            self.expressions[var] = self.expressions[other]
        test = list(self.block(node.condition))
        verdict = self.read(node.condition.outputs[0])
        if node.form == "repeat":
            return [*before, Repeat((*body, *test), verdict)]
        if not test:
            return [*before, While(verdict, tuple(body))]
        leave = self.bind(Var(node.condition.outputs[0].type, "go"))
        test.append(Assign(leave, verdict))
        return [*before, *test, While(Name(leave), (*body, *test))]


def _row(array: Type) -> tuple[tuple[str, ParamValue], ...]:
    """The pattern of one row of an array."""
    return (("pattern", ("at", *(("slice", 0, n) for n in array.sizes[1:]))),)


def _zeros(type: Type) -> Expr:
    """An array of zeros."""
    zeros: dict[DType, Expr] = {"float": Const(0.0), "int": Const(0), "bool": Const(False)}
    zero = Call("complex", (Const(0.0), Const(0.0))) if type.is_complex else zeros[type.dtype]
    return Call("broadcast_to", (zero,), (("shape", type.sizes),))
