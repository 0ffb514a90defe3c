"""Statements with braces, for Swift and JavaScript. Loops are the language's own, as in the program.

A variable is declared where it is first assigned; if that is inside a loop or branch, before it.
"""

from __future__ import annotations

import abc
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from gradfuzz.errors import ProgramSyntaxError
from gradfuzz.oracles.dialects.numbers import decimal
from gradfuzz.oracles.emit.statements import (
    AND,
    ATOM,
    NOT,
    OPERATORS,
    OR,
    UNARY,
    Emitter,
    Piece,
    Pieces,
    Written,
)
from gradfuzz.programs.language.program import Program, walk
from gradfuzz.programs.language.syntax import (
    Assign,
    Block,
    Break,
    Const,
    Continue,
    For,
    If,
    Repeat,
    Return,
    Stmt,
    While,
)
from gradfuzz.programs.language.typecheck import typecheck
from gradfuzz.programs.language.types import Type


class BraceEmitter(Emitter):
    """Int and bool scalars are the language's own."""

    infix = OPERATORS
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
            return replace(piece, text=str(piece.literal).lower())
        if isinstance(piece.literal, float):
            return replace(piece, text=decimal(piece.literal))
        return piece

    def to_complex(self, piece: Piece) -> str:
        raise AssertionError("complex programs are refused")

    def plain(self, op: str, args: Pieces, result: Type) -> Written | None:
        """An op on plain ints and bools; None where the language has no such form."""
        x, texts = args[0], [a.text for a in args]
        match op:
            case "where":
                return f"({texts[0]} ? {texts[1]} : {texts[2]})"
            case "logical_and":
                return Piece(f"{x.at(AND)} && {args[1].at(NOT)}", result, AND)
            case "logical_or":
                return Piece(f"{x.at(OR)} || {args[1].at(AND)}", result, OR)
            case "logical_not":
                return Piece(f"!{x.at(ATOM)}", result, UNARY)
            case "remainder":
                return f"modulo({', '.join(texts)})"
            case "astype" if result.dtype == x.type.dtype:
                return x
            case "astype" if result.dtype == "int":
                return f"({x.text} ? 1 : 0)"
            case "astype" if result.dtype == "bool":
                return f"({x.text} != 0)"
            case "index_update":
                return args[1]
        return None

    def body(self, program: Program) -> list[str]:
        """The statements of the program."""
        self.variables = typecheck(program).variables
        times = Counter(node.target for node in walk(program) if isinstance(node, Assign))
        lines, known = [*self.parameters(program)], {p.name for p in program.params}
        for stmt in program.body:
            if isinstance(stmt, Assign) and stmt.target not in known:
                known.add(stmt.target)
                value = self.assigned(stmt.target, stmt.value)
                lines.append(self._declared(stmt.target, value, once=times[stmt.target] == 1))
                continue
            inside = [node.target for node in walk(stmt) if isinstance(node, Assign)]
            for target in dict.fromkeys(t for t in inside if t not in known):
                known.add(target)
                lines.append(self._declared(target, self.initial(self.variables[target]), once=False))
            lines += self._statement(stmt, "  ")
        return lines

    def _declared(self, target: str, value: str, *, once: bool) -> str:
        return f"  {self.declaration(self.name(target), self.variables[target], value, once=once)}{self.end}"

    def parameters(self, program: Program) -> Iterator[str]:
        """Statements that turn parameters into variables where needed."""
        return iter(())

    def _inside(self, body: Block, indent: str) -> Iterator[str]:
        for stmt in body:
            yield from self._statement(stmt, f"{indent}  ")

    def _statement(self, stmt: Stmt, indent: str) -> Iterator[str]:
        match stmt:
            case Assign(target, value):
                yield f"{indent}{self.name(target)} = {self.assigned(target, value)}{self.end}"
            case While(condition, inner):
                yield f"{indent}while {self.test(self.expression(condition).text)} {{"
                yield from self._inside(inner, indent)
                yield f"{indent}}}"
            case Repeat(inner, condition):
                yield f"{indent}{self.repeat} {{"
                yield from self._inside(inner, indent)
                yield f"{indent}}} while {self.test(self.expression(condition).text)}{self.end}"
            case For(target, count, inner):
                yield f"{indent}{self.counted(self.name(target), self.expression(count))} {{"
                yield from self._inside(inner, indent)
                yield f"{indent}}}"
            case If(condition, inner, orelse):
                yield f"{indent}if {self.test(self.expression(condition).text)} {{"
                yield from self._inside(inner, indent)
                if orelse:
                    yield f"{indent}}} else {{"
                    yield from self._inside(orelse, indent)
                yield f"{indent}}}"
            case Break():
                yield f"{indent}break{self.end}"
            case Continue():
                yield f"{indent}continue{self.end}"
            case Return(values):
                yield f"{indent}{self.returned([self.value(self.expression(v)) for v in values])}{self.end}"

    repeat = "do"
    """The word before the body of a loop that is tested after it."""
