"""HIPS autograd, on NumPy's arrays: autograd.grad in reverse mode, autograd.make_jvp in forward mode."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Sequence
from importlib.metadata import version
from typing import Any

import autograd
import autograd.numpy
import autograd.numpy as anp
import numpy as np
from autograd import core
from autograd.builtins import DictBox, SequenceBox
from autograd.tracer import Node, isbox, new_box, trace_stack

from gradfuzz.errors import UsageError
from gradfuzz.libraries.library import (
    ArrayFunction,
    Differentiated,
    Forms,
    LibraryName,
    Scalar,
    Tree,
    Wanted,
    first_line,
)
from gradfuzz.libraries.numpy import NumpyLibrary
from gradfuzz.oracles.base import Array, Mode
from gradfuzz.programs.language.precision import FORMATS

# Shown in scripts -------------------------------------------------------------------------------------------


def leaves(result: Any) -> list[Any]:
    if isinstance(result, (list, tuple, SequenceBox)):
        return [y for k in range(len(result)) for y in leaves(result[k])]
    if isinstance(result, (dict, DictBox)):
        return [y for key in result for y in leaves(result[key])]
    return [result] if hasattr(result, "dtype") and result.dtype.kind in ("f", "c") else []


def total(y: Any) -> Any:
    return autograd.numpy.sum(autograd.numpy.real(y))


def real_parts(ys: Any) -> list[Any]:
    parts = autograd.numpy.real, autograd.numpy.imag
    return [p(y) for y in ys for p in (parts if autograd.numpy.iscomplexobj(y) else (lambda y: y,))]


def doubled(x: Any) -> Any:
    return autograd.numpy.stack([x, 1.25 * x])


def gradient(g: Any, xs: Any) -> Any:
    return autograd.grad(g, tuple(range(len(xs))))(*xs)


def slope(g: Any, xs: Any, directions: Any) -> Any:
    return sum(autograd.make_jvp(g, k)(*xs)(v)[1] for k, v in enumerate(directions))


# ------------------------------------------------------------------------------------------------------------


class AutogradLibrary(NumpyLibrary):
    name: LibraryName = "autograd"
    version = version("autograd")
    forms = Forms(
        header=(
            "import autograd\nimport autograd.numpy\nimport autograd.scipy.linalg\nimport numpy as np\n"
            "from autograd.builtins import DictBox, SequenceBox"
        ),
        sin="autograd.numpy.sin",
        array="np.array({entries}, {dtype})",
        zeros="np.zeros({shape}, {dtype})",
        dtype="np.{name}",
        pair="({re} + 1j * {im})",
        transposed="autograd.numpy.swapaxes({x}, -1, -2)",
        expanded="autograd.numpy.broadcast_to({x}, {shape})",
        seed="np.random.seed(0)",
    )

    def refusal(self, error: Exception, modes: Sequence[Mode], way: str = "") -> str | None:
        """A primitive has no rule; of a first derivative in reverse mode that is told."""
        if lacks_rule(error) and tuple(modes) != ("rev",):
            return first_line(error)
        return super().refusal(error, modes, way)

    def tree(self, value: Any, path: str) -> Tree:
        return super().tree(_unboxed(value), path)

    def constant(self, value: Array) -> Any:
        """`UsageError` for a dtype that NumPy does not have."""
        if value.dtype == FORMATS["bfloat16"].dtype:
            raise UsageError("NumPy has no bfloat16")
        return np.array(value)

    def parts(self, z: Any) -> tuple[Any, Any]:
        return anp.real(z), anp.imag(z)

    def is_complex(self, value: Any) -> bool:
        return bool(anp.iscomplexobj(value))

    def held(self, call: ArrayFunction, xs: Sequence[Any], holding: Sequence[Any]) -> Sequence[Any]:
        return call(*xs)  # it has no word that stops a gradient

    def derivative(self, f: ArrayFunction, xs: Sequence[Any], wanted: Wanted) -> Differentiated:
        scalar = self.nested(f, xs, wanted)
        return f(*xs), gradient(scalar, xs) if wanted.modes[-1] == "rev" else _by_units(scalar, xs)

    def factor(self, value: Array, like: Any) -> Any:
        return value

    def inner(self, xs: Sequence[Any], ys: Sequence[Any], like: Any) -> Any:
        return sum(anp.sum(x * y) for x, y in zip(xs, ys, strict=True))

    def refuses(self, message: str, error: Exception | None) -> bool:
        """No rule in its tables: "Supported and unsupported parts of numpy/scipy", docs/tutorial.md."""
        return error is not None and lacks_rule(error)

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

    def rules(self, f: Callable[..., Any], arrays: Sequence[Any]) -> tuple[str, ...]:
        """The names of the primitives that depend on one of the arrays."""
        found: set[str] = set()
        for k, x in enumerate(arrays):
            with trace_stack.new_trace() as depth:
                f(*arrays[:k], new_box(x, depth, _Noted.new_root(found)), *arrays[k + 1 :])
        return tuple(sorted(found))


def lacks_rule(error: BaseException) -> bool:
    """Whether an exception was raised where autograd looks up a rule that its own tables do not have: of a
    primitive, or of a primitive by one of its arguments. What a rule raises is none, whatever it says.
    """
    steps = list(traceback.walk_tb(error.__traceback__))
    frame = steps[-1][0] if steps else None
    if frame is None or frame.f_globals is not vars(core):
        return False
    names = frame.f_locals
    for node, table in ((core.VJPNode, core.primitive_vjps), (core.JVPNode, core.primitive_jvps)):
        if frame.f_code is node.__init__.__code__:
            return names["fun"] not in table
    rules = names.get("vjps_dict", names.get("jvps_dict"))
    asked = names.get("argnums", (names.get("argnum"),))
    return rules is not None and any(number not in rules for number in asked)


def _unboxed(value: Any) -> Any:
    """A tree whose containers are Python's own: what a primitive of several results returns, such as eigh, is
    one box while autograd follows it.
    """
    if isinstance(value, SequenceBox):
        return [_unboxed(value[k]) for k in range(len(value))]
    if isinstance(value, (dict, DictBox)):
        return {key: _unboxed(value[key]) for key in value}
    if isinstance(value, (list, tuple)):
        parts = [_unboxed(part) for part in value]
        return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
    return value


def _by_units(scalar: Scalar, xs: Sequence[Any]) -> Sequence[Any]:
    """The gradient by a jvp along each unit direction."""
    result = []
    for k, x in enumerate(xs):
        slopes = np.empty(np.shape(x), np.asarray(x).dtype)
        for index in np.ndindex(slopes.shape):
            unit = np.zeros_like(slopes)
            unit[index] = 1.0
            slopes[index] = autograd.make_jvp(scalar, k)(*xs)(unit[()])[1]
        result.append(slopes)
    return result


class _Noted(Node):
    """A node of autograd's graph that notes the name of its primitive."""

    def __init__(
        self, value: Any, fun: Any, args: Any, kwargs: Any, parent_argnums: Any, parents: Any
    ) -> None:
        self.found: set[str] = parents[0].found
        self.found.add(getattr(fun, "__name__", str(fun)))

    def initialize_root(self, found: set[str]) -> None:
        self.found = found
