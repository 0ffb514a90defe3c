"""Calls of the functions of HIPS autograd: its arrays are NumPy's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import autograd.numpy as anp
import numpy as np
from autograd.tracer import Node, isbox, new_box, trace_stack

from gradfuzz.calls.libraries.contract import Library
from gradfuzz.calls.libraries.numbers import nested
from gradfuzz.errors import UnsupportedError, UsageError
from gradfuzz.fuzzer.results.call import Layout
from gradfuzz.oracles.base import Array
from gradfuzz.programs.language.precision import FORMATS
from gradfuzz.testing.frameworks.autograd import lacks_rule
from gradfuzz.testing.frameworks.detect import framework_named
from gradfuzz.testing.frameworks.framework import FrameworkName


class AutogradLibrary(Library):
    name: FrameworkName = "autograd"

    def refuses(self, message: str, error: Exception | None) -> bool:
        """No rule in its tables: "Supported and unsupported parts of numpy/scipy", docs/tutorial.md."""
        return error is not None and lacks_rule(error)

    def array(self, value: Array) -> Any:
        """`UsageError` for a dtype that NumPy does not have."""
        if value.dtype == FORMATS["bfloat16"].dtype:
            raise UsageError("NumPy has no bfloat16")
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

    def followed(self, f: Callable[..., Any], arrays: Sequence[Any]) -> tuple[int, ...] | None:
        results: Sequence[Any] = ()
        found = set()
        for k, x in enumerate(arrays):
            with trace_stack.new_trace() as depth:
                box = new_box(x, depth, _Noted.new_root(set()))
                results = f(*arrays[:k], box, *arrays[k + 1 :])
                found |= {place for place, y in enumerate(results) if isbox(y)}
        return tuple(sorted(found)) if len(found) < len(results) else None

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

    def rules(self, f: Callable[..., Any], arrays: Sequence[Any]) -> tuple[str, ...]:
        """The names of the primitives that depend on one of the arrays."""
        found: set[str] = set()
        for k, x in enumerate(arrays):
            with trace_stack.new_trace() as depth:
                f(*arrays[:k], new_box(x, depth, _Noted.new_root(found)), *arrays[k + 1 :])
        return tuple(sorted(found))

    header = "import autograd\nimport autograd.numpy\nimport autograd.scipy.linalg\nimport numpy as np"
    sin_code, map_code = "autograd.numpy.sin", ""
    compile_code = ""
    seed_code = "np.random.seed(0)"
    helpers_code = """from autograd.builtins import isinstance, list, tuple


def leaves(result):
    if isinstance(result, (list, tuple)):
        return [y for k in range(len(result)) for y in leaves(result[k])]
    return [result] if hasattr(result, "dtype") and result.dtype.kind in "fc" else []


def total(y):
    return autograd.numpy.sum(autograd.numpy.real(y))


def real_parts(ys):
    parts = autograd.numpy.real, autograd.numpy.imag
    return [p(y) for y in ys for p in (parts if autograd.numpy.iscomplexobj(y) else (lambda y: y,))]


def doubled(x):
    return autograd.numpy.stack([x, 1.25 * x])
"""
    slope_code = """
def slope_rev(g, xs, v):
    slopes = autograd.grad(g, list(range(len(xs))))(*xs)
    return sum((s * w).sum() for s, w in zip(slopes, v))


def slope_fwd(g, xs, v):
    slopes = [autograd.make_jvp(g, k)(*xs)(w.astype(xs[k].dtype))[1] for k, w in enumerate(v)]
    return sum(slopes)
"""

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

    def complex_code(self, re: str, im: str) -> str:
        return f"({re} + 1j * {im})"


class _Noted(Node):  # type: ignore[misc] # autograd has no types
    """A node of autograd's graph that notes the name of its primitive."""

    def __init__(
        self, value: Any, fun: Any, args: Any, kwargs: Any, parent_argnums: Any, parents: Any
    ) -> None:
        self.found: set[str] = parents[0].found
        self.found.add(getattr(fun, "__name__", str(fun)))

    def initialize_root(self, found: set[str]) -> None:
        self.found = found


LIBRARY = AutogradLibrary()
