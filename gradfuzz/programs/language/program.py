"""A program: a name, its inputs, and statements of `syntax`; what stands inside one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from gradfuzz.programs.language.printer import function_text
from gradfuzz.programs.language.syntax import (
    Assign,
    Block,
    Call,
    For,
    If,
    Name,
    Node,
    Param,
    Repeat,
    Return,
    While,
)


@dataclass(frozen=True, slots=True)
class Program:
    """A small typed function. `body` ends with its only `Return`."""

    name: str
    params: tuple[Param, ...]
    body: Block

    @property
    def result(self) -> Return:
        """The closing `return`."""
        last = self.body[-1]
        assert isinstance(last, Return), "a program ends with return"
        return last

    def __str__(self) -> str:
        return function_text(self.name, self.params, self.body)

    def __repr__(self) -> str:
        """The call that makes it, on one line."""
        return f"parse({str(self)!r})"

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """As Hypothesis and IPython show it: the same call, a statement on each line."""
        printer.text('parse("""\n' + str(self) + '""")')


def to_text(program: Program) -> str:
    """The program as a `def`, ending with a newline."""
    return str(program)


def called(node: Node | Block | Program) -> set[str]:
    """The ops of the calls inside `node`."""
    return {inner.op for inner in walk(node) if isinstance(inner, Call)}


def names_in(node: Node | Block | Program) -> set[str]:
    """The variables that are read inside `node`."""
    return {inner.id for inner in walk(node) if isinstance(inner, Name)}


def walk(node: Node | Block | Program) -> Iterator[Node]:
    """All statements and expressions inside `node`, outermost first, in the order of the text."""
    if isinstance(node, Program):
        node = node.body
    stack: list[Node] = list(reversed(node)) if isinstance(node, tuple) else [node]
    while stack:
        here = stack.pop()
        yield here
        if (inner := INNER.get(type(here))) is not None:
            stack += inner(here)[::-1]


INNER: dict[type, Callable[[Any], tuple[Node, ...]]] = {
    Call: lambda call: call.args,
    Assign: lambda assign: (assign.value,),
    While: lambda loop: (loop.condition, *loop.body),
    Repeat: lambda loop: (*loop.body, loop.condition),
    For: lambda loop: (loop.count, *loop.body),
    If: lambda branch: (branch.condition, *branch.body, *branch.orelse),
    Return: lambda stmt: stmt.values,
}
"""What stands one level deeper, in the order of the text."""
