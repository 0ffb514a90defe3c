"""Whether a matrix of a jaxpr is symmetric by the way it is made.

Of a matrix that is taken to be symmetric LAPACK reads one triangle, and a gradient by it may stand in either,
or in both halves: so what is asked is only sure where the matrix is symmetric whatever the arguments are.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

import numpy as np
from jax.extend import core

_TWO_OF_A_KIND = ("add", "add_any", "mul", "max", "min")
"""Elementwise functions of two matrices that do not change where these change places."""

_ELEMENTWISE = (
    *("abs", "copy", "cos", "div", "exp", "integer_pow", "log", "neg", "pow", "sin", "sqrt", "stop_gradient"),
    *("square", "sub", "tanh", *_TWO_OF_A_KIND),
)


def is_symmetric(
    variable: Any, made: Callable[[Any], Any], known: Callable[[Any], Any], given: Collection[Any] = ()
) -> bool:
    """Whether the last two axes of a variable may change places. `made` gives the equation of a variable,
    `known` its constant, or None.

    The variables that are `given` are known to be symmetric.
    """
    constant = known(variable)
    if constant is not None:
        array = np.asarray(constant)
        return array.ndim < 2 or bool(np.array_equal(array, np.swapaxes(array, -1, -2)))
    if not variable.aval.shape:
        return True
    equation = None if isinstance(variable, core.Literal) else made(variable)
    if equation is None:
        return not isinstance(variable, core.Literal) and variable in given
    name, operands = equation.primitive.name, equation.invars
    if name in _TWO_OF_A_KIND and (
        _transposed(operands[1], made) is operands[0] or _transposed(operands[0], made) is operands[1]
    ):
        return True
    if name == "transpose":
        source = _transposed(variable, made)
        return source is not None and is_symmetric(source, made, known, given)
    if name in _ELEMENTWISE:
        return all(is_symmetric(v, made, known, given) for v in operands)
    if name in ("broadcast_in_dim", "reshape"):
        return not operands[0].aval.shape
    return name == "dot_general" and _is_gram(equation, made)


def _transposed(variable: Any, made: Callable[[Any], Any]) -> Any:
    """The variable of which this one is the transpose; None where it is no transpose."""
    equation = None if isinstance(variable, core.Literal) else made(variable)
    if equation is None or equation.primitive.name != "transpose":
        return None
    rank = len(variable.aval.shape)
    swapped = (*range(rank - 2), rank - 1, rank - 2)
    return equation.invars[0] if tuple(equation.params["permutation"]) == swapped else None


def _is_gram(equation: Any, made: Callable[[Any], Any]) -> bool:
    """Whether a product of matrices is one of a matrix and its own transpose."""
    x, y = equation.invars
    (of_x, of_y), (batch_x, batch_y) = equation.params["dimension_numbers"]
    if batch_x or batch_y or len(x.aval.shape) != 2 or len(y.aval.shape) != 2:
        return False
    if x is y:
        return tuple(of_x) == tuple(of_y)
    return tuple(of_x) != tuple(of_y) and (_transposed(x, made) is y or _transposed(y, made) is x)
