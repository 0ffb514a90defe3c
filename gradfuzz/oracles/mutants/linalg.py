"""Planted bugs in linear algebra, most after elixir-nx/nx #1748: right for one matrix, wrong for a stack.

Most share one error: the cotangent of each matrix is summed over the batch and given to every instance, as by
a contraction that takes the batch axes for its own. With a batch of 1 it is right. One takes the shape of its
input for that of a matrix and raises. One makes an identity of the input's first two axes, which is right
again for as many instances as rows. One does not sum over the batch axes that an operand lacks. The others
lose a part of the gradient.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from gradfuzz.engine import broadcast_to
from gradfuzz.engine import sum as total
from gradfuzz.engine.modes.reverse import Cotangent, ReverseMode, Tape
from gradfuzz.engine.rules.linalg.matrices import transpose
from gradfuzz.engine.rules.value import Value, apply
from gradfuzz.errors import ProgramTypeError
from gradfuzz.oracles.mutants.mutant import Bugs, recorded, row
from gradfuzz.programs.graphs.graph import Equation


class _OneOp(ReverseMode):
    """Changes the cotangents of one op's operands."""

    op: ClassVar[str]

    def equation(self, node: Equation, g: Value, tape: Tape) -> list[Cotangent]:
        parts = super().equation(node, g, tape)
        return self._changed(node, parts, tape) if node.op == self.op else parts

    def equation_of_several(self, node: Equation, gs: Sequence[Cotangent], tape: Tape) -> list[Cotangent]:
        parts = super().equation_of_several(node, gs, tape)
        return self._changed(node, parts, tape) if node.op == self.op else parts

    def _changed(self, node: Equation, parts: list[Cotangent], tape: Tape) -> list[Cotangent]:
        return [None if p is None else self.wrong(p) for p in parts]

    def wrong(self, part: Value) -> Value:
        """The wrong cotangent in place of a right one."""
        raise NotImplementedError


class _Mixed(_OneOp):
    """Every instance of the batch gets the sum over all of them."""

    summary = "batch axes contracted in {op}"

    def wrong(self, part: Value) -> Value:
        batch = tuple(range(part.ndim - 2))
        summed = total(part, axis=batch, keepdims=True)
        return recorded(broadcast_to(summed, part.shape)) if batch else part


class _MixedLarge(_Mixed):
    """The same, only for matrices with four or more rows."""

    summary = "batch axes contracted in {op}, from 4x4 on"

    def wrong(self, part: Value) -> Value:
        return super().wrong(part) if part.shape[-1] >= 4 else part


class _DiagonalOnly(_OneOp):
    """Entries off the diagonal are lost."""

    summary = "gradient of {op} off the diagonal lost"

    def wrong(self, part: Value) -> Value:
        return recorded(apply("tril", apply("triu", part, k=0), k=0))


class _Flat(_OneOp):
    """The shape of the input is unpacked into two axes."""

    summary = "the shape of {op}'s input matched with two axes"

    def _changed(self, node: Equation, parts: list[Cotangent], tape: Tape) -> list[Cotangent]:
        (x,) = node.inputs
        if len(x.type.shape) != 2:
            raise ProgramTypeError(f"{node.op} of {x.type}: the rule takes a matrix of m rows and n columns")
        return parts


class _WrongEye(_OneOp):
    """The diagonal is removed and put back with identities; the latter has the first two axes' sizes."""

    summary = "identity of the wrong shape in {op}"

    def wrong(self, part: Value) -> Value:
        n = part.shape[-1]
        return recorded(part * (1.0 - np.eye(n)) + part * np.eye(part.shape[0], part.shape[1]))


def _of(op: str, base: type[_OneOp] = _Mixed) -> type[_OneOp]:
    return type(f"{base.__name__}_{op}", (base,), {"op": op})


_INSTANCES_MIXED = "batch instances of triangular_solve mixed"

BUGS = Bugs(
    [
        row(_of("qr"), "M13a", "qr-batch", "Nx #1748 A"),
        row(_of("cholesky"), "M13b", "cholesky-batch", "Nx #1748 B"),
        row(_of("lu"), "M13c", "lu-batch", "Nx #1748 C"),
        row(_of("svd"), "M13d", "svd-batch", "Nx #1748 D"),
        row(_of("eigh", _DiagonalOnly), "M13e", "eigh-diagonal", "Nx #1748 E"),
        row(_of("triangular_solve"), "M13f", "triangular-solve-batch", "Nx #1748 F", _INSTANCES_MIXED),
        row(_of("inv"), "M13g", "inv-batch", "Nx #1748 G"),
        row(_of("solve"), "M13h", "solve-batch", "Nx #1748 H"),
        row(_of("det", _MixedLarge), "M13i", "det-batch", "Nx #1748 I"),
        row(_of("pinv"), "M13j", "pinv-batch", "Nx #1748"),
        row(_of("matrix_norm"), "M13k", "norm-batch", "Nx #1748"),
        row(_of("svd", _Flat), "M13l", "svd-shape", "Nx #1748 D"),
        row(_of("cholesky", _WrongEye), "M13m", "cholesky-eye", "Nx #1748 B"),
    ]
)


@BUGS.planted("B2", "unbroadcast-forgotten", "common", "cotangents keep the batch axes that an operand lacks")
class _Unreduced(ReverseMode):
    """The cotangent of a right side is not summed over the batch axes that the right side lacks."""

    def equation(self, node: Equation, g: Value, tape: Tape) -> list[Cotangent]:
        parts = super().equation(node, g, tape)
        if node.op not in ("matmul", "solve") or parts[1] is None or not 2 <= parts[1].ndim < g.ndim:
            return parts
        a = self.value(tape.read(node.inputs[0]))
        return [parts[0], recorded(apply(node.op, transpose(a), g))]


@BUGS.planted("M16", "solve-in-loop", "Enzyme.jl #3004", "solve and inv in a loop's body without derivative")
class _LostInLoops(ReverseMode):
    """Linear systems solved in the body of a loop have no derivative."""

    def equation(self, node: Equation, g: Value, tape: Tape) -> list[Cotangent]:
        if self.level and node.op in ("solve", "inv", "triangular_solve"):
            return [None] * len(node.inputs)
        return super().equation(node, g, tape)


@BUGS.planted("M19", "singular-det", "several", "det differentiated through the inverse")
class _Regular(_OneOp):
    """The gradient of the determinant as det(a) a^-T, which does not exist for singular matrices."""

    op = "det"

    def _changed(self, node: Equation, parts: list[Cotangent], tape: Tape) -> list[Cotangent]:
        (part,) = parts
        if part is None:
            return parts
        a = self.value(tape.read(node.inputs[0]))
        # The part itself at regular matrices, NaN at singular ones.
        solved = apply("solve", a, apply("matmul", a, part))
        return [recorded(solved if a.shape[-1] else part)]
