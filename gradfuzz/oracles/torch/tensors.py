"""Tensor ops on torch tensors, by the same text that a reproducer shows."""

from __future__ import annotations

from typing import Any

import torch

from gradfuzz.oracles.emit.linalg_source import compiling
from gradfuzz.oracles.emit.tensor_source import TensorMethods
from gradfuzz.oracles.torch.tensors_source import write


class TorchTensors(TensorMethods):
    """The ops on tensors."""

    tensor_op = staticmethod(compiling(write, {"torch": torch}))

    def operand(self, value: Any) -> torch.Tensor:
        return value if isinstance(value, torch.Tensor) else torch.tensor(value)
