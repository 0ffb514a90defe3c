"""NumPy. The only derivatives are hand-written; `subject.Subject` asks them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gradfuzz.libraries.library import ArrayFunction, Library, LibraryName
from gradfuzz.oracles.base import Array
from gradfuzz.programs.language.precision import Precision
from gradfuzz.programs.language.program import Program


class NumpyLibrary(Library):
    name: LibraryName = "numpy"
    version = np.__version__
    classes = (np.ndarray, np.generic)

    def array(self, value: Array, like: Any = None) -> Any:
        return np.array(value)[()]

    def like(self, value: Array, other: Any) -> Any:
        dtype = getattr(other, "dtype", None)
        return np.asarray(value, dtype if isinstance(dtype, np.dtype) else None)[()]

    def pair(self, re: Any, im: Any) -> Any:
        return re + 1j * im

    def parts(self, z: Any) -> tuple[Any, Any]:
        return np.real(z), np.imag(z)

    def dtype(self, name: str) -> Any:
        return np.dtype(name)

    def is_complex(self, value: Any) -> bool:
        return bool(np.iscomplexobj(value))

    def held(self, call: ArrayFunction, xs: Sequence[Any], holding: Sequence[Any]) -> Sequence[Any]:
        return call(*xs)  # nothing stops a gradient

    def traced(
        self, call: ArrayFunction, arrays: Sequence[Array], rounded: Precision | None = None
    ) -> Program:
        from gradfuzz.tracing.numpy.trace import traced

        return traced(call, arrays)
