"""Types of program values: a dtype and a shape.

A program does not fix its working precision: `float` is one of `precision.FORMATS` (or a multi-precision
number, or a ball) as whoever evaluates the program decides; `complex` is a pair of such floats. `int` is a
64-bit integer, `bool` a truth value.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, NoReturn

from gradfuzz.errors import ProgramTypeError

DType = Literal["complex", "float", "int", "bool"]
_RANK: dict[str, int] = {"bool": 0, "int": 1, "float": 2, "complex": 3}


@dataclass(frozen=True, slots=True)
class Type:
    """A dtype and a shape; `()` is a scalar.

    In the functional form (`programs.graph`) a leading axis may be `None`: a stack, one entry per trip of a
    loop, whose length is known only at run time. The program language itself has no such axes.
    """

    dtype: DType
    shape: tuple[int | None, ...] = ()

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def sizes(self) -> tuple[int, ...]:
        """The shape as ints, for types that are no stacks; the open axis of a stack counts 0."""
        return tuple(n or 0 for n in self.shape)

    @property
    def is_float(self) -> bool:
        return self.dtype == "float"

    @property
    def is_complex(self) -> bool:
        return self.dtype == "complex"

    @property
    def is_inexact(self) -> bool:
        """Whether values of this type have derivatives: float or complex."""
        return self.dtype in ("float", "complex")

    @property
    def is_stack(self) -> bool:
        return bool(self.shape) and self.shape[0] is None

    def stacked(self, trips: int | None = None) -> Type:
        """The type of one such value per trip: an array where the number of trips is known."""
        return Type(self.dtype, (trips, *self.shape))

    def element(self) -> Type:
        """The type of one entry of a stack, or of one row of an array."""
        return Type(self.dtype, self.shape[1:])

    def tangent(self) -> Type:
        """The type of tangents and cotangents: of what is exact, floats."""
        return self if self.is_inexact else self.with_dtype("float")

    def with_dtype(self, dtype: DType) -> Type:
        return Type(dtype, self.shape)

    def __str__(self) -> str:
        if not self.shape:
            return self.dtype
        return f"{self.dtype}[{', '.join('n' if n is None else str(n) for n in self.shape)}]"


def fail(message: str, line: int = 0) -> NoReturn:
    """`ProgramTypeError`: what the rules of types say where operands or parameters do not fit."""
    raise ProgramTypeError(message, line=line)


FLOAT = Type("float")
INT = Type("int")
BOOL = Type("bool")


def promote(dtypes: Iterable[DType]) -> DType:
    """The dtype that all of `dtypes` convert to: bool < int < float < complex."""
    return max(dtypes, key=lambda d: _RANK[d])


def inexact(dtypes: Iterable[DType]) -> DType:
    """The dtype that an op on `dtypes` works in where its result is not exact: complex where one of them is,
    else float.
    """
    return "complex" if "complex" in dtypes else "float"


def broadcast_shapes(*shapes: tuple[int | None, ...]) -> tuple[int, ...] | None:
    """The NumPy broadcast of `shapes`, or None where they do not fit."""
    rank = max((len(s) for s in shapes), default=0)
    result: list[int] = []
    for axis in range(rank):
        size = 1
        for shape in shapes:
            offset = axis - (rank - len(shape))
            n = 1 if offset < 0 else shape[offset]
            if n is None:
                return None
            if n != 1:
                if size not in (1, n):
                    return None
                size = n
        result.append(size)
    return tuple(result)
