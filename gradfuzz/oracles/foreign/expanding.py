"""Programs for ways that lack elementwise functions: their compositions in their places.

An operand that is more than a name or a number becomes a variable of its own before the statement, so that it
is computed once. In the condition of a loop, which has no statement before it, it is written out.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from gradfuzz.programs.arithmetic.elementwise import expression
from gradfuzz.programs.language.functions import FUNCTIONS
from gradfuzz.programs.language.program import Program, walk
from gradfuzz.programs.language.syntax import (
    Assign,
    Block,
    Call,
    Const,
    Expr,
    For,
    If,
    Name,
    Repeat,
    Return,
    Stmt,
    While,
)
from gradfuzz.programs.language.typecheck import expression_type, typecheck
from gradfuzz.programs.language.types import Type

NORMALIZED = frozenset({"softmax", "log_softmax"})
"""What has a composition, too: it subtracts logsumexp."""


def functions_of(program: Program) -> frozenset[str]:
    """The elementwise functions that a program calls, and those that their compositions call."""
    found: set[str] = set()
    waiting = [node.op for node in walk(program) if isinstance(node, Call)]
    while waiting:
        op = waiting.pop()
        if op in FUNCTIONS and op not in found:
            found.add(op)
            text = FUNCTIONS[op].composition
            waiting += [n.op for n in walk(expression(text)) if isinstance(n, Call)] if text else []
    return frozenset(found)


def expanded(program: Program, lacking: Collection[str]) -> Program:
    """`program` with the composition of every function of `lacking` that has one; itself where none has."""
    rows = {op: FUNCTIONS[op] for op in lacking if op not in NORMALIZED}
    composed = NORMALIZED.intersection(lacking).union(
        op for op, row in rows.items() if row.composition and not row.params
    )
    if not any(isinstance(node, Call) and node.op in composed for node in walk(program)):
        return program
    writer = _Expansion(dict(typecheck(program).variables), composed)
    return Program(program.name, program.params, writer.block(program.body))


class _Expansion:
    def __init__(self, variables: dict[str, Type], composed: frozenset[str]) -> None:
        self._variables = variables
        self._composed = composed
        self._before: list[Stmt] | None = None
        """The assignments before the statement at hand; None where there can be none."""

    # Expressions

    def _expression(self, expr: Expr, names: Mapping[str, Expr]) -> Expr:
        if isinstance(expr, Name):
            return names.get(expr.id, expr)
        if not isinstance(expr, Call):
            return expr
        args = tuple(self._expression(a, names) for a in expr.args)
        if expr.op not in self._composed:
            return Call(expr.op, args, expr.params)
        if expr.op in NORMALIZED:
            x = self._operand(args[0])
            axis = dict(expr.params).get("axis", -1)
            total = Call("logsumexp", (x,), (("axis", axis), ("keepdims", True)))
            log = Call("subtract", (x, total), ())
            return log if expr.op == "log_softmax" else Call("exp", (log,), ())
        row = FUNCTIONS[expr.op]
        operands = dict(zip(row.arguments, map(self._operand, args), strict=True))
        return self._expression(expression(row.composition), operands)

    def _operand(self, expr: Expr) -> Expr:
        """An operand as a float, which is written as often as the composition reads it."""
        own = expression_type(expr, self._variables)
        if isinstance(expr, Const):
            return Const(float(expr.number))
        if own.dtype != "float":
            expr = Call("astype", (expr,), (("dtype", "float"),))
        if isinstance(expr, Name) or self._before is None:
            return expr
        name = next(n for k in range(len(self._variables) + 1) if (n := f"t{k}") not in self._variables)
        self._variables[name] = own.with_dtype("float")
        self._before.append(Assign(name, expr))
        return Name(name)

    def _condition(self, expr: Expr) -> Expr:
        """An expression with no statement before it."""
        kept, self._before = self._before, None
        written = self._expression(expr, {})
        self._before = kept
        return written

    # Statements

    def block(self, block: Block) -> Block:
        written: list[Stmt] = []
        for statement in block:
            before: list[Stmt] = []
            self._before = before
            now = self._statement(statement)
            written += [*before, now]
        return tuple(written)

    def _statement(self, statement: Stmt) -> Stmt:
        match statement:
            case Assign(target, value):
                return Assign(target, self._expression(value, {}))
            case Return(values):
                return Return(tuple(self._expression(v, {}) for v in values))
            case If(condition, then, orelse):
                test = self._expression(condition, {})
                return If(test, self.block(then), self.block(orelse))
            case While(condition, body):
                return While(self._condition(condition), self.block(body))
            case Repeat(body, condition):
                return Repeat(self.block(body), self._condition(condition))
            case For(target, count, body):
                return For(target, self._expression(count, {}), self.block(body))
        return statement
