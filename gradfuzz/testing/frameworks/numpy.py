"""Functions of NumPy arrays. Their only derivative is hand-written; `subject.Subject` asks it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gradfuzz.oracles.base import Array, Mode
from gradfuzz.programs.language.program import Program
from gradfuzz.testing.frameworks.framework import Call, Framework, FrameworkName


class NumpyFunctions(Framework):
    name: FrameworkName = "numpy"
    version = np.__version__

    def is_array(self, value: Any) -> bool:
        return isinstance(value, (np.ndarray, np.generic))

    def array(self, value: Array, like: Any = None) -> Any:
        return np.array(value)[()]

    def like(self, value: Array, other: Any) -> Any:
        dtype = getattr(other, "dtype", None)
        return np.asarray(value, dtype if isinstance(dtype, np.dtype) else None)[()]

    def pair(self, re: Any, im: Any) -> Any:
        return re + 1j * im

    def parts(self, z: Any) -> tuple[Any, Any]:
        return np.real(z), np.imag(z)

    def is_complex(self, value: Any) -> bool:
        return bool(np.iscomplexobj(value))

    def derivative(
        self,
        f: Call,
        xs: Sequence[Any],
        weights: Sequence[Array | None],
        directions: Sequence[Array],
        modes: Sequence[Mode],
    ) -> tuple[Sequence[Any], Sequence[Any]]:
        raise NotImplementedError("NumPy has no derivatives")

    def traced(self, call: Call, arrays: Sequence[Array]) -> Program:
        from gradfuzz.tracing.numpy.trace import traced

        return traced(call, arrays)
