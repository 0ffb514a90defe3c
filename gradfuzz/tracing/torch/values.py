"""What the handlers of ATen ops take and give."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import torch

import gradfuzz.engine as engine
from gradfuzz.engine.rules.value import Operand, Value
from gradfuzz.errors import UntraceableError
from gradfuzz.programs.language.types import DType
from gradfuzz.tracing.common.compositions import MOST_ENTRIES, as_kind
from gradfuzz.tracing.common.graph import bounded

Handler = Callable[..., Any]
"""(out, *arguments of the op) -> a value, or a tuple of them; UNSAID stands for a result that cannot be said,
if nobody asks for it.
"""

UNSAID: Final = object()
"""A result of an op that gradfuzz has not: pivots, codes of errors, what only a derivative reads."""


@dataclass(frozen=True, slots=True)
class Out:
    """What Torch says of the results of an op: their dtypes, as programs know them, and shapes; the op itself
    computes on constants.
    """

    op: Callable[..., Any]
    kinds: tuple[DType, ...]
    shapes: tuple[tuple[int, ...], ...]
    row_major: bool = True
    """Whether the entries of the rows of the first argument lie one after the other in memory."""

    @property
    def kind(self) -> DType:
        return self.kinds[0]

    @property
    def shape(self) -> tuple[int, ...]:
        return self.shapes[0]

    def cast(self, x: Any) -> Any:
        """An argument in the dtype of the result."""
        return as_kind(operand(x), self.kind)


@dataclass(frozen=True, slots=True, eq=False)
class Masked:
    """Values that a constant mask replaces by minus infinity. `value` is what stands there else, of the same
    shape.
    """

    value: Value
    mask: np.ndarray[Any, np.dtype[np.bool_]]

    @property
    def shape(self) -> tuple[int, ...]:
        return self.value.shape


def operand(x: Any) -> Operand:
    """An argument of an op as the engine takes it: a constant tensor as an array, its floats as float64."""
    if x is UNSAID:
        raise UntraceableError(
            "it reads a result of an op that gradfuzz does not compute, beside those that it does"
        )
    if isinstance(x, Masked):
        return engine.where(x.mask, bounded(-math.inf), x.value)
    return bounded(array_of(x) if isinstance(x, torch.Tensor) else x)


def array_of(x: torch.Tensor) -> Operand:
    """A tensor as an array, its floats as float64."""
    if x.numel() > MOST_ENTRIES:
        raise UntraceableError(
            f"a constant of {x.numel():,} entries is too large for a program; the most is {MOST_ENTRIES:,}"
        )
    x = x.detach().cpu().resolve_conj().resolve_neg().clone()  # a known zero has no memory yet
    if x.is_floating_point():
        x = x.double()
    elif x.is_complex():
        x = x.to(torch.complex128)
    elif x.dtype != torch.bool:
        x = x.long()
    return np.asarray(x.numpy())[()]
