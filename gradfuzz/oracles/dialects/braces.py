"""Statements with braces, for Swift and JavaScript. Loops are the language's own, as in the program.

A variable is declared where it is first assigned; if that is inside a loop or branch, before it.
"""

from __future__ import annotations

import abc
from collections import Counter
from collections.abc import Iterator, Mapping

from gradfuzz.errors import ProgramSyntaxError
from gradfuzz.oracles.dialects.numbers import decimal
from gradfuzz.oracles.emit.statements import AND, ATOM, INFIX, NOT, OR, UNARY, Emitter, Piece
from gradfuzz.programs.language.syntax import (
    Assign,
    Block,
    Break,
    Const,
    Continue,
    Expr,
    For,
    If,
    Program,
    Repeat,
    Return,
    Stmt,
    While,
    walk,
)
from gradfuzz.programs.language.typecheck import typecheck
from gradfuzz.programs.language.types import Type

_OPERATORS: Mapping[str, tuple[str, int, int, int]] = {
    op: row for op, row in INFIX.items() if op not in ("matmul", "remainder")
}


class BraceEmitter(Emitter):
    """Int and bool scalars are the language's own."""

    infix = _OPERATORS
    end = ""
    """The end of a statement."""

    @abc.abstractmethod
    def test(self, condition: str) -> str:
        """A condition after `while` and `if`."""

    @abc.abstractmethod
    def declaration(self, name: str, of: Type, value: str, *, once: bool) -> str:
        """The declaration of a variable with its first value; `once`: it is assigned only once."""

    @abc.abstractmethod
    def initial(self, of: Type) -> str:
        """A value for a variable that is assigned later."""

    @abc.abstractmethod
    def counted(self, name: str, count: Piece) -> str:
        """The head of a counting loop."""

    @abc.abstractmethod
    def returned(self, values: list[Piece]) -> str:
        """The statement that returns the outputs."""

    def name(self, name: str) -> str:
        if not name.isidentifier():
            raise ProgramSyntaxError(f"{name!r} is not a name; use letters, digits and underscores")
        return f"{name}_" if name in self.reserved else name

    def literal(self, const: Const) -> Piece:
        piece = super().literal(const)
        if isinstance(piece.literal, bool):
            return Piece(str(piece.literal).lower(), piece.type, ATOM, piece.literal, host=True)
        if isinstance(piece.literal, float):
            text = decimal(piece.literal)
            return Piece(text, piece.type, UNARY if text[0] == "-" else ATOM, piece.literal)
        return piece

    def plain(self, op: str, args: list[Piece], result: Type) -> Piece | None:
        """An op on plain ints and bools; None where the language has no such form."""
        x, texts = args[0], [a.text for a in args]
        match op:
            case "where":
                return Piece(f"({texts[0]} ? {texts[1]} : {texts[2]})", result)
            case "logical_and":
                return Piece(f"{x.at(AND)} && {args[1].at(NOT)}", result, AND)
            case "logical_or":
                return Piece(f"{x.at(OR)} || {args[1].at(AND)}", result, OR)
            case "logical_not":
                return Piece(f"!{x.at(ATOM)}", result, UNARY)
            case "remainder":
                return Piece(f"modulo({', '.join(texts)})", result)
            case "astype" if result.dtype == x.type.dtype:
                return x
            case "astype" if result.dtype == "int":
                return Piece(f"({x.text} ? 1 : 0)", result)
            case "astype" if result.dtype == "bool":
                return Piece(f"({x.text} != 0)", result)
            case "index_update":
                return args[1]
        return None

    def body(self, program: Program) -> list[str]:
        """The statements of the program."""
        self.variables = typecheck(program).variables
        params = {p.name for p in program.params}
        times = Counter(node.target for node in walk(program) if isinstance(node, Assign))
        lines, known = [*self.parameters(program)], set(params)
        for stmt in program.body:
            if isinstance(stmt, Assign) and stmt.target not in known:
                known.add(stmt.target)
                of = self.variables[stmt.target]
                value = self._value(stmt.target, stmt.value)
                once = times[stmt.target] == 1
                lines.append(f"  {self.declaration(self.name(stmt.target), of, value, once=once)}{self.end}")
                continue
            inside = [node.target for node in walk(stmt) if isinstance(node, Assign)]
            for target in dict.fromkeys(t for t in inside if t not in known):
                known.add(target)
                of = self.variables[target]
                lines.append(
                    f"  {self.declaration(self.name(target), of, self.initial(of), once=False)}{self.end}"
                )
            lines += self._statement(stmt, "  ")
        return lines

    def parameters(self, program: Program) -> Iterator[str]:
        """Statements that turn parameters into variables where needed."""
        return iter(())

    def _value(self, target: str, value: Expr) -> str:
        piece = self.expression(value)
        of = self.variables[target]
        return (self.converted(piece, of.dtype) if of.is_inexact else self.value(piece)).text

    def _block(self, body: Block, indent: str) -> Iterator[str]:
        for stmt in body:
            yield from self._statement(stmt, indent)

    def _statement(self, stmt: Stmt, indent: str) -> Iterator[str]:
        deeper = f"{indent}  "
        match stmt:
            case Assign(target, value):
                yield f"{indent}{self.name(target)} = {self._value(target, value)}{self.end}"
            case While(condition, inner):
                yield f"{indent}while {self.test(self.expression(condition).text)} {{"
                yield from self._block(inner, deeper)
                yield f"{indent}}}"
            case Repeat(inner, condition):
                yield f"{indent}{self.repeat} {{"
                yield from self._block(inner, deeper)
                yield f"{indent}}} while {self.test(self.expression(condition).text)}{self.end}"
            case For(target, count, inner):
                yield f"{indent}{self.counted(self.name(target), self.expression(count))} {{"
                yield from self._block(inner, deeper)
                yield f"{indent}}}"
            case If(condition, inner, orelse):
                yield f"{indent}if {self.test(self.expression(condition).text)} {{"
                yield from self._block(inner, deeper)
                if orelse:
                    yield f"{indent}}} else {{"
                    yield from self._block(orelse, deeper)
                yield f"{indent}}}"
            case Break():
                yield f"{indent}break{self.end}"
            case Continue():
                yield f"{indent}continue{self.end}"
            case Return(values):
                yield f"{indent}{self.returned([self.value(self.expression(v)) for v in values])}{self.end}"

    repeat = "do"
    """The word before the body of a loop that is tested after it."""
