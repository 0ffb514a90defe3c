"""Planted bugs in linear algebra, most after elixir-nx/nx #1748: right for one matrix, wrong for a stack.

Most share one error: the cotangent of each matrix is summed over the batch and given to every instance, as by
a contraction that takes the batch axes for its own. With a batch of 1 it is right. One takes the shape of its
input for that of a matrix and raises. One makes an identity of the input's first two axes, which is right
again for as many instances as rows. One does not sum over the batch axes that an operand lacks. The others
lose a part of the gradient.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from gradfuzz.engine import Rules, broadcast_to, permute_dims
from gradfuzz.engine import sum as total
from gradfuzz.engine.modes.reverse import Cotangent, ReverseMode, Tape
from gradfuzz.engine.rules.value import Value, apply
from gradfuzz.errors import ProgramTypeError
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

    def wrong(self, part: Value) -> Value:
        batch = tuple(range(part.ndim - 2))
        return _spread(total(part, axis=batch, keepdims=True), part) if batch else part


class _MixedLarge(_Mixed):
    """The same, only for matrices with four or more rows."""

    def wrong(self, part: Value) -> Value:
        return super().wrong(part) if part.shape[-1] >= 4 else part


class _DiagonalOnly(_OneOp):
    """Entries off the diagonal are lost."""

    def wrong(self, part: Value) -> Value:
        return _value(apply("tril", apply("triu", part, k=0), k=0))


class _Flat(_OneOp):
    """The shape of the input is unpacked into two axes."""

    def _changed(self, node: Equation, parts: list[Cotangent], tape: Tape) -> list[Cotangent]:
        (x,) = node.inputs
        if len(x.type.shape) != 2:
            raise ProgramTypeError(f"{node.op} of {x.type}: the rule takes a matrix of m rows and n columns")
        return parts


class _WrongEye(_OneOp):
    """The diagonal is removed and put back with identities; the latter has the first two axes' sizes."""

    def wrong(self, part: Value) -> Value:
        n = part.shape[-1]
        return _value(part * (1.0 - np.eye(n)) + part * np.eye(part.shape[0], part.shape[1]))


class _Unreduced(ReverseMode):
    """The cotangent of a right side is not summed over the batch axes that the right side lacks."""

    def equation(self, node: Equation, g: Value, tape: Tape) -> list[Cotangent]:
        parts = super().equation(node, g, tape)
        if node.op not in ("matmul", "solve") or parts[1] is None or not 2 <= parts[1].ndim < g.ndim:
            return parts
        a = self.value(tape.read(node.inputs[0]))
        transposed = permute_dims(a, (*range(a.ndim - 2), a.ndim - 1, a.ndim - 2))
        return [parts[0], _value(apply(node.op, transposed, g))]


class _Regular(_OneOp):
    """The gradient of the determinant as det(a) a^-T, which does not exist for singular matrices."""

    op = "det"

    def _changed(self, node: Equation, parts: list[Cotangent], tape: Tape) -> list[Cotangent]:
        (part,) = parts
        if part is None:
            return parts
        a = self.value(tape.read(node.inputs[0]))
        n = a.shape[-1]
        solved = apply(
            "solve", a, apply("matmul", a, part)
        )  # part itself at regular matrices, NaN at singular ones
        return [_value(solved if n else part)]


class _LostInLoops(ReverseMode):
    """M16. Linear systems solved in the body of a loop have no derivative."""

    def equation(self, node: Equation, g: Value, tape: Tape) -> list[Cotangent]:
        if self.level and node.op in ("solve", "inv", "triangular_solve"):
            return [None] * len(node.inputs)
        return super().equation(node, g, tape)


def _spread(part: Any, like: Value) -> Value:
    return _value(broadcast_to(part, like.shape))


def _value(x: Any) -> Value:
    assert isinstance(x, Value), "made of values"
    return x


def _of(op: str, base: type[_OneOp] = _Mixed) -> Rules:
    return Rules(reverse=type(f"{base.__name__}_{op}", (base,), {"op": op}))


LINALG_MUTANTS: tuple[tuple[str, str, str, str, Rules], ...] = (
    ("M13a", "qr-batch", "batch axes contracted in qr", "Nx #1748 A", _of("qr")),
    ("M13b", "cholesky-batch", "batch axes contracted in cholesky", "Nx #1748 B", _of("cholesky")),
    ("M13c", "lu-batch", "batch axes contracted in lu", "Nx #1748 C", _of("lu")),
    ("M13d", "svd-batch", "batch axes contracted in svd", "Nx #1748 D", _of("svd")),
    (
        "M13e",
        "eigh-diagonal",
        "gradient of eigh off the diagonal lost",
        "Nx #1748 E",
        _of("eigh", _DiagonalOnly),
    ),
    (
        "M13f",
        "triangular-solve-batch",
        "batch instances of triangular_solve mixed",
        "Nx #1748 F",
        _of("triangular_solve"),
    ),
    ("M13g", "inv-batch", "batch axes contracted in inv", "Nx #1748 G", _of("inv")),
    ("M13h", "solve-batch", "batch axes contracted in solve", "Nx #1748 H", _of("solve")),
    ("M13i", "det-batch", "batch axes contracted in det, from 4x4 on", "Nx #1748 I", _of("det", _MixedLarge)),
    ("M13j", "pinv-batch", "batch axes contracted in pinv", "Nx #1748", _of("pinv")),
    ("M13k", "norm-batch", "batch axes contracted in matrix_norm", "Nx #1748", _of("matrix_norm")),
    ("M13l", "svd-shape", "the shape of svd's input matched with two axes", "Nx #1748 D", _of("svd", _Flat)),
    (
        "M13m",
        "cholesky-eye",
        "identity of the wrong shape in cholesky",
        "Nx #1748 B",
        _of("cholesky", _WrongEye),
    ),
    (
        "B2",
        "unbroadcast-forgotten",
        "cotangents keep the batch axes that an operand lacks",
        "common",
        Rules(reverse=_Unreduced),
    ),
    (
        "M16",
        "solve-in-loop",
        "solve and inv in a loop's body without derivative",
        "Enzyme.jl #3004",
        Rules(reverse=_LostInLoops),
    ),
    ("M19", "singular-det", "det differentiated through the inverse", "several", Rules(reverse=_Regular)),
)
"""Id, alias, what is wrong, the report it comes from, rules."""
