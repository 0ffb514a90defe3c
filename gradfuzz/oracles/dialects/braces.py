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
    Const,
)
from gradfuzz.programs.language.types import Type


class BraceEmitter(Emitter):
    """Int and bool scalars are the language's own."""

    infix = OPERATORS
    brackets = (" {", "}")
    repeat = "do"
    empty = ""
    step = "  "

    @abc.abstractmethod
    def declaration(self, name: str, of: Type, value: str, *, once: bool) -> str:
        """The declaration of a variable with its first value; `once`: it is assigned only once."""

    @abc.abstractmethod
    def initial(self, of: Type) -> str:
        """A value for a variable that is assigned later."""

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
            case "astype" if result.dtype == "int":
                return f"({x.text} ? 1 : 0)"
            case "astype" if result.dtype == "bool":
                return f"({x.text} != 0)"
        return None

    def body(self, program: Program) -> list[str]:
        """The statements of the program."""
        self.begin(program)
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
            lines += self.block((stmt,), self.step)
        return lines

    def _declared(self, target: str, value: str, *, once: bool) -> str:
        return f"  {self.declaration(self.name(target), self.variables[target], value, once=once)}{self.end}"

    def parameters(self, program: Program) -> Iterator[str]:
        """Statements that turn parameters into variables where needed."""
        return iter(())

    def repeated(self, condition: Piece, indent: str) -> Iterator[str]:
        yield f"{indent}}} while {self.test(condition.text)}{self.end}"
