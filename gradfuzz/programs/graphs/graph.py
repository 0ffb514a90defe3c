"""The functional form of a program: single assignment, loops and branches as equations on graphs.

`lower` makes it from a program; the engine differentiates it, and the targets that want functional loops
(scan, while_loop, cond) are driven from it. It is closed under differentiation: the derivative of a loop is
again a loop, run over the stacks of values that the first one saved.

    Graph     inputs, equations in order, outputs
    Equation  op of the table, or
    Loop      carries, closed-over constants, stacks read (one entry per trip), stacks written
    Branch    two graphs of one signature and a bool
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeVar

from gradfuzz.programs.language.syntax import ArrayConst, Const, ParamValue
from gradfuzz.programs.language.types import Type

LoopForm = Literal["while", "repeat", "for"]
Checkpoint = Literal["none", "sqrt"] | int
_counter = itertools.count()
_T = TypeVar("_T")


TEMPORARY = "_t"
"""The name of a value that no name of the program has: a part of an expression."""


@dataclass(frozen=True, slots=True, eq=False)
class Var:
    """A value of a graph. Compared by identity; `name` is a hint for the printer, or `TEMPORARY`."""

    type: Type
    name: str = "t"
    number: int = field(default_factory=lambda: next(_counter))


@dataclass(frozen=True, slots=True)
class Constant:
    """A constant operand with its type."""

    value: Const | ArrayConst

    @property
    def type(self) -> Type:
        if isinstance(self.value, Const):
            return Type(self.value.dtype)
        return Type(self.value.dtype, self.value.shape)


Atom = Var | Constant


@dataclass(frozen=True, slots=True, eq=False)
class Equation:
    """`output = op(*inputs, **params)`; `op` is a row of the op table."""

    op: str
    inputs: tuple[Atom, ...]
    params: tuple[tuple[str, ParamValue], ...]
    output: Var

    @property
    def outputs(self) -> tuple[Var, ...]:
        return (self.output,)


@dataclass(frozen=True, slots=True, eq=False)
class Loop:
    """The one loop primitive: a scan of dynamic length.

    `body` takes (constants, carries, one entry of each stack read[, counter]) and returns (carries, one entry
    of each stack written). The loop's outputs are the final carries and the stacks written.

    form "while"   `condition` takes (constants, carries): tested before each trip.
    form "repeat"  the same, tested after each trip on the new carries.
    form "for"     `count` trips (an int scalar); where stacks are read, their common length instead (`count`
                   is None then). The body gets the trip's index 0, 1, ... as its last input.

    An array may stand where a stack is read: its rows are the entries. A loop whose trips are known may write
    arrays, too; the type of the output says which it is.

    reverse        (for only) the trips run from the last index to the first; stacks written keep the order of
                   the indices, so entry k always belongs to index k.
    checkpoint     how the stacks written are kept, never what is in them: "none" every entry; "sqrt" or an
                   int k only some of the carries, from which the entries are computed again where they are
                   read (see `rematerialize`).
    """

    form: LoopForm
    constants: tuple[Atom, ...]
    initial: tuple[Atom, ...]
    stacks: tuple[Var, ...]
    body: Graph
    condition: Graph | None
    count: Atom | None
    outputs: tuple[Var, ...]
    reverse: bool = False
    checkpoint: Checkpoint = "none"

    @property
    def inputs(self) -> tuple[Atom, ...]:
        count = () if self.count is None else (self.count,)
        return (*self.constants, *self.initial, *self.stacks, *count)

    def split(self, values: Sequence[_T]) -> tuple[Sequence[_T], Sequence[_T], Sequence[_T], Sequence[_T]]:
        """`values` for the inputs of the loop or its body: of constants, carries, stacks, and the rest."""
        first, second = len(self.constants), len(self.constants) + len(self.initial)
        third = second + len(self.stacks)
        return values[:first], values[first:second], values[second:third], values[third:]

    @property
    def carries(self) -> tuple[Var, ...]:
        """The outputs that are final carries."""
        return self.outputs[: len(self.initial)]

    @property
    def written(self) -> tuple[Var, ...]:
        """The outputs that are stacks."""
        return self.outputs[len(self.initial) :]

    @property
    def lengths(self) -> tuple[int | None, ...]:
        """Of each output that is written: the number of rows of an array, None for a stack."""
        return tuple(v.type.shape[0] for v in self.written)


@dataclass(frozen=True, slots=True, eq=False)
class Branch:
    """`outputs = (then if predicate else otherwise)(*operands)`; both graphs take all operands."""

    predicate: Atom
    operands: tuple[Atom, ...]
    then: Graph
    otherwise: Graph
    outputs: tuple[Var, ...]

    @property
    def inputs(self) -> tuple[Atom, ...]:
        return (self.predicate, *self.operands)


Node = Equation | Loop | Branch


@dataclass(frozen=True, slots=True, eq=False)
class Graph:
    """A pure function: `inputs` -> `nodes` in order -> `outputs`. Closed: it reads nothing but its inputs."""

    inputs: tuple[Var, ...]
    nodes: tuple[Node, ...]
    outputs: tuple[Atom, ...]
    name: str = "f"

    def walk(self) -> Iterator[Node]:
        """All nodes, those of inner graphs included."""
        for node in self.nodes:
            yield node
            if isinstance(node, Loop):
                yield from node.body.walk()
                if node.condition is not None:
                    yield from node.condition.walk()
            elif isinstance(node, Branch):
                yield from node.then.walk()
                yield from node.otherwise.walk()


def numbers_in(graph: Graph) -> int:
    """How many numbers the values of a graph are, those of inner graphs once; a stack counts one entry."""
    values = itertools.chain(graph.inputs, *(node.outputs for node in graph.walk()))
    return sum(math.prod(n for n in v.type.shape if n is not None) for v in values)
