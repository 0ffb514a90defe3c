"""Functions of HIPS autograd's NumPy: reverse mode by autograd.grad, forward mode by autograd.make_jvp."""

from __future__ import annotations

import itertools
import traceback
from collections.abc import Callable, Sequence
from importlib.metadata import version
from typing import Any

import autograd
import autograd.numpy as anp
import numpy as np
from autograd import core
from autograd.builtins import DictBox, SequenceBox

from gradfuzz.oracles.base import Array, Mode
from gradfuzz.testing.frameworks.framework import Call, FrameworkName, Tree, first_line
from gradfuzz.testing.frameworks.numpy import NumpyFunctions

Scalar = Callable[..., Any]


class AutogradFunctions(NumpyFunctions):
    name: FrameworkName = "autograd"
    version = version("autograd")

    def refusal(self, error: Exception, modes: Sequence[Mode]) -> str | None:
        """A primitive has no rule; of a first derivative in reverse mode that is told."""
        if lacks_rule(error) and tuple(modes) != ("rev",):
            return first_line(error)
        return super().refusal(error, modes)

    def tree(self, value: Any, path: str) -> Tree:
        return super().tree(_unboxed(value), path)

    def parts(self, z: Any) -> tuple[Any, Any]:
        return anp.real(z), anp.imag(z)

    def is_complex(self, value: Any) -> bool:
        return bool(anp.iscomplexobj(value))

    def derivative(
        self,
        f: Call,
        xs: Sequence[Any],
        weights: Sequence[Array | None],
        directions: Sequence[Array],
        modes: Sequence[Mode],
    ) -> tuple[Sequence[Any], Sequence[Any]]:
        def objective(*xs: Any) -> Any:
            return _inner(weights, f(*xs))

        scalar: Scalar = objective
        for mode in modes[:-1]:
            scalar = _along(scalar, directions, mode)
        return f(*xs), _gradient(scalar, xs, modes[-1])


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


def _inner(weights: Sequence[Array | None], ys: Sequence[Any]) -> Any:
    """The sum of weight * y."""
    return sum(anp.sum(w * y) for w, y in zip(weights, ys, strict=True) if w is not None)


def _along(scalar: Scalar, directions: Sequence[Array], mode: Mode) -> Scalar:
    """The derivative of a scalar function along `directions`, as a function."""

    def slope(*xs: Any) -> Any:
        if mode == "rev":
            return _inner(directions, _gradient(scalar, xs, "rev"))
        return _push(scalar, xs, directions)

    return slope


def _push(scalar: Scalar, xs: Sequence[Any], tangents: Sequence[Array]) -> Any:
    """The derivative along `tangents`, by one jvp per argument."""
    return sum(autograd.make_jvp(scalar, k)(*xs)(tangent)[1] for k, tangent in enumerate(tangents))


def _gradient(scalar: Scalar, xs: Sequence[Any], mode: Mode) -> Sequence[Any]:
    """The gradient: by one vjp, or by a jvp along each unit direction."""
    if mode == "rev":
        return tuple(autograd.grad(scalar, tuple(range(len(xs))))(*xs))
    result = []
    for k, x in enumerate(xs):
        slopes = np.empty(np.shape(x), np.asarray(x).dtype)
        for index in itertools.product(*map(range, np.shape(x))):
            unit = np.zeros_like(slopes)
            unit[index] = 1.0
            slopes[index] = autograd.make_jvp(scalar, k)(*xs)(unit[()])[1]
        result.append(slopes)
    return result
