"""Tensor ops in a library's dialect: the namespace runs the same text that a reproducer shows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gradfuzz.oracles.emit.linalg_source import Compiled
from gradfuzz.programs.language.syntax import ParamValue

_NAMES = (
    "all amax amin any argmax argmin argsort clip conv cumulative_max cumulative_prod log_softmax logsumexp"
    " scatter_add softmax sort take take_along_axis window_sum"
)
TENSOR_OPS = frozenset(_NAMES.split())


def _method(op: str) -> Callable[..., Any]:
    def call(self: TensorMethods, *args: Any, **params: ParamValue) -> Any:
        operands = [self.operand(a) for a in args]
        shapes = tuple([tuple(np.shape(a)) for a in operands])
        return self.tensor_op(op, shapes, tuple(params.items()))(*operands)

    return call


class TensorMethods:
    """The tensor ops of a namespace. A subclass defines `tensor_op` for operands of given shapes."""

    tensor_op: Compiled

    def operand(self, value: Any) -> Any:
        """`value`, which may be a plain int or bool, in the form that the library takes."""
        return value


for _op in TENSOR_OPS:
    setattr(TensorMethods, _op, _method(_op))


def is_tensor_op(op: str) -> bool:
    """Whether an op is written here."""
    return op in TENSOR_OPS
