"""Tensor ops in a library's dialect: the namespace runs the same text that a reproducer shows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gradfuzz.oracles.emit.linalg_source import Compiled
from gradfuzz.programs.language.syntax import ParamValue


def _method(op: str) -> Callable[..., Any]:
    def call(self: TensorMethods, *args: Any, **params: ParamValue) -> Any:
        operands = [self.operand(a) for a in args]
        return self.tensor_op(op, tuple([tuple(np.shape(a)) for a in operands]), tuple(params.items()))(
            *operands
        )

    return call


class TensorMethods:
    """The tensor ops of a namespace. A subclass defines `tensor_op` for operands of given shapes."""

    tensor_op: Compiled

    def operand(self, value: Any) -> Any:
        """`value`, which may be a plain int or bool, in the form that the library takes."""
        return value

    softmax = _method("softmax")
    log_softmax = _method("log_softmax")
    clip = _method("clip")
    argmax = _method("argmax")
    argmin = _method("argmin")
    argsort = _method("argsort")
    cumulative_prod = _method("cumulative_prod")
    cumulative_max = _method("cumulative_max")
    amax = _method("amax")
    amin = _method("amin")
    logsumexp = _method("logsumexp")
    all = _method("all")
    any = _method("any")
    window_sum = _method("window_sum")
    sort = _method("sort")
    take = _method("take")
    take_along_axis = _method("take_along_axis")
    scatter_add = _method("scatter_add")
    conv = _method("conv")


_OPS = frozenset(vars(TensorMethods)) - {"operand"}


def is_tensor_op(op: str) -> bool:
    """Whether an op is written here."""
    return op in _OPS
