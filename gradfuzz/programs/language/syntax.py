"""The program language: what strategies draw, oracles run, the engine differentiates and reports show.

A program is data. Its text form is plain Python that a person would write (see `parse` and `to_text`):

    program   ::= def NAME(param, ...): statement+          the last statement is the only `return`
    param     ::= NAME | NAME: "type"                       no annotation means a float scalar
    type      ::= ("float" | "complex" | "int" | "bool") [ "[" n, ... "]" ]
    statement ::= NAME = expr                               Assign
                | NAME[index] = expr                        Assign of index_update(NAME, expr, ...)
                | while expr: statement+                    While: test first
                | while True: statement+; if not expr: break    Repeat: body first, no `continue`
                | for NAME in range(expr): statement+       For
                | if expr: statement+ [else: statement+]    If
                | break | continue | pass
                | return expr, ...                          Return
    expr      ::= NAME | constant | array([...])
                | op(expr, ..., param=value)  and Python's operators, subscripts and comparisons for them

Statements assign; nothing else has an effect. A name has one dtype and shape throughout (an int that meets a
float becomes a float, a float that meets a complex number becomes complex); a name assigned on one way only
may not be read after the ways meet. Nodes are frozen and hashable, so programs can be compared, deduplicated
and used as keys. `line` is where the node stood in the text it was parsed from (0: nowhere) and takes no part
in comparison.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from gradfuzz.programs.language.types import DType, Type

ParamValue = int | bool | str | None | tuple["ParamValue", ...]
"""A static parameter of an op: an axis, a shape, an index pattern. Hashable."""


@dataclass(frozen=True, slots=True)
class Name:
    """A variable."""

    id: str
    line: int = field(default=0, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Const:
    """A scalar constant. A complex one stands only in graphs; a program writes complex(re, im).

    Two constants are equal when they are the same bit for bit (so NaN equals NaN, 0.0 is not -0.0).
    """

    value: float | int | bool | complex
    line: int = field(default=0, compare=False, repr=False)

    @property
    def dtype(self) -> DType:
        if type(self.value) is float:  # most are
            return "float"
        if isinstance(self.value, bool):
            return "bool"
        if isinstance(self.value, int):
            return "int"
        return "complex" if isinstance(self.value, complex) else "float"

    @property
    def number(self) -> float | int | bool:
        """The value of a constant that is not complex."""
        assert not isinstance(self.value, complex), "programs have no complex constants"
        return self.value

    def _key(self) -> tuple[str, ...]:
        if isinstance(self.value, complex):
            return self.dtype, self.value.real.hex(), self.value.imag.hex()
        return self.dtype, self.value.hex() if isinstance(self.value, float) else str(self.value)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Const):
            return False
        a, b = self.value, other.value
        plainly = type(a) is float and type(b) is float and a == b and a != 0.0
        return plainly or self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self.value) if self.value == self.value else 0  # NaN has a hash by identity


_HASHED = 16
"""So many entries tell most arrays apart: a program is hashed more often than it is made."""


@dataclass(frozen=True, slots=True)
class ArrayConst:
    """A constant array: row-major entries and a shape."""

    dtype: DType
    shape: tuple[int, ...]
    values: tuple[Const, ...]
    line: int = field(default=0, compare=False, repr=False)

    def __hash__(self) -> int:
        return hash((self.dtype, self.shape, self.values[:_HASHED]))


@dataclass(frozen=True, slots=True)
class Call:
    """An op of `programs.ops` on expressions. `params` are its static parameters, sorted by name."""

    op: str
    args: tuple[Expr, ...]
    params: tuple[tuple[str, ParamValue], ...] = ()
    line: int = field(default=0, compare=False, repr=False)

    def param(self, name: str) -> ParamValue:
        """The static parameter `name`; KeyError where the call has none of that name."""
        return dict(self.params)[name]


Expr = Name | Const | ArrayConst | Call


@dataclass(frozen=True, slots=True)
class Assign:
    """`target = value`."""

    target: str
    value: Expr
    line: int = field(default=0, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class While:
    """Test first: zero trips are possible."""

    condition: Expr
    body: Block
    line: int = field(default=0, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Repeat:
    """Body first, then `condition` decides whether to go round again; it may read what the body assigned.

    The body has no `continue` of its own: in the text form, which is Python, it would skip the condition.
    """

    body: Block
    condition: Expr
    line: int = field(default=0, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class For:
    """`for target in range(count)`. `count` is an int expression, evaluated once, before the first trip.

    `target` is an int, local to the loop: assigning it in the body, or reading it after the loop, is an
    error.
    """

    target: str
    count: Expr
    body: Block
    line: int = field(default=0, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class If:
    """A branch on a bool scalar."""

    condition: Expr
    body: Block
    orelse: Block = ()
    line: int = field(default=0, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Break:
    """Leave the innermost loop."""

    line: int = field(default=0, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Continue:
    """Go on with the next trip of the innermost loop."""

    line: int = field(default=0, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Return:
    """The outputs, in order; at least one."""

    values: tuple[Expr, ...]
    line: int = field(default=0, compare=False, repr=False)


Stmt = Assign | While | Repeat | For | If | Break | Continue | Return
Block = tuple[Stmt, ...]
Node = Stmt | Expr


@dataclass(frozen=True, slots=True)
class Param:
    """An input of a program."""

    name: str
    type: Type


def own_statements(body: Block) -> Iterator[Stmt]:
    """The statements of a body, those of its branches included and those of inner loops not."""
    for stmt in body:
        yield stmt
        if isinstance(stmt, If):
            yield from own_statements((*stmt.body, *stmt.orelse))
