"""Calls of the functions of HIPS autograd: its arrays are NumPy's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import autograd.numpy as anp
import numpy as np

from gradfuzz.calls.library import Library
from gradfuzz.calls.numbers import nested
from gradfuzz.errors import UnsupportedError
from gradfuzz.fuzzer.results.call import Layout
from gradfuzz.oracles.base import Array
from gradfuzz.testing.frameworks.detect import framework_named
from gradfuzz.testing.frameworks.framework import FrameworkName


class AutogradLibrary(Library):
    name: FrameworkName = "autograd"

    def array(self, value: Array) -> Any:
        return np.array(value)

    def dtype(self, name: str) -> Any:
        return np.dtype(name)

    def view(self, x: Any, layout: Layout) -> Any:
        if layout == "transposed":
            return anp.swapaxes(x, -1, -2)
        if layout == "stepped":
            return x[..., ::2]
        return anp.broadcast_to(x, (2, *x.shape[1:])) if layout == "expanded" else x

    def leaves(self, result: Any) -> list[Any]:
        found = [y for _, y in framework_named("autograd").tree(result, "")[0]]
        return [y for y in found if getattr(getattr(y, "dtype", None), "kind", "") in ("f", "c")]

    def check(self, f: Callable[..., Any], arrays: Sequence[Any]) -> None:
        with np.errstate(all="ignore"):
            f(*arrays)

    def sin(self, x: Any) -> Any:
        return anp.sin(x)

    def total(self, x: Any) -> Any:
        return anp.sum(anp.real(x))

    def vectorized(self, f: Callable[..., Any]) -> Callable[..., Any]:
        raise UnsupportedError("autograd does not map functions over an axis")

    def doubled(self, x: Any) -> Any:
        return anp.stack([x, 1.25 * x])

    def seed(self) -> None:
        np.random.seed(0)  # noqa: NPY002 - what the functions of SciPy draw from

    @property
    def header(self) -> str:
        return "import autograd\nimport autograd.numpy\nimport autograd.scipy.linalg\nimport numpy as np"

    def array_code(self, value: Array) -> str:
        array = np.asarray(value)
        if not array.size:  # nested lists do not tell its shape
            return f"np.zeros({array.shape}, np.{array.dtype.name})"
        return f"np.array({nested(array)}, np.{array.dtype.name})"

    def dtype_code(self, name: str) -> str:
        return f"np.{name}"

    def view_code(self, x: str, layout: Layout, rank: int) -> str:
        if layout == "transposed":
            return f"autograd.numpy.swapaxes({x}, -1, -2)"
        if layout == "stepped":
            return f"{x}[..., ::2]"
        return f"autograd.numpy.broadcast_to({x}, (2, *{x}.shape[1:]))" if layout == "expanded" else x

    def gradient_code(self, forward: bool) -> str:
        if forward:
            return "def derivative(f, x, v):\n    return float(autograd.make_jvp(f)(x)(v)[1])\n"
        return "def derivative(f, x, v):\n    return float((autograd.grad(f)(x) * v).sum().real)\n"


LIBRARY = AutogradLibrary()
