"""Complex matrices with a structure, as their real and imaginary parts, exact in their dtype.

general         any; each part with usual condition numbers, the imaginary one sometimes 0
unitary         signed permutations whose signs are powers of i
singular        Gaussian integers of rank below the smaller side
repeated        Hermitian Gaussian integers with an eigenvalue of multiplicity n - 1 or n
near repeated   the same, with the eigenvalues separated by a small power of two
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from gradfuzz.programs.language.precision import Precision
from gradfuzz.strategies.drawing.dice import Dice
from gradfuzz.strategies.drawing.shape import Shape
from gradfuzz.strategies.inputs.matrix import draw_matrix, repeated

ComplexStructure = Literal["general", "unitary", "singular", "repeated", "near repeated"]

Matrix = npt.NDArray[np.complex128]
Parts = tuple[npt.NDArray[Any], npt.NDArray[Any]]


def _integers(rng: np.random.Generator, shape: tuple[int, ...]) -> Matrix:
    """Gaussian integers from -2 - 2i to 2 + 2i."""
    return np.asarray(rng.integers(-2, 3, shape) + 1j * rng.integers(-2, 3, shape), np.complex128)


def _unitary(rng: np.random.Generator, shape: tuple[int, ...]) -> Matrix:
    *batch, m, n = shape
    k = max(m, n)
    order = np.argsort(rng.random((*batch, k)), -1)
    result: Matrix = np.eye(k)[order] * np.array([1, 1j, -1, -1j])[rng.integers(0, 4, (*batch, 1, k))]
    return result[..., :m, :n]


def _singular(rng: np.random.Generator, shape: tuple[int, ...]) -> Matrix:
    """Mostly of corank 1, where the gradient of the determinant is not 0."""
    *batch, m, n = shape
    k = max(min(m, n) - 1 - int(rng.random() < 0.2), 0)
    result: Matrix = _integers(rng, (*batch, m, k)) @ _integers(rng, (*batch, k, n))
    return result


_FIXED: Mapping[str, Callable[[np.random.Generator, Shape], npt.NDArray[Any]]] = {
    "unitary": _unitary,
    "singular": _singular,
    "repeated": functools.partial(repeated, _integers),
    "near repeated": functools.partial(repeated, _integers, nearest=10),
}


def draw_complex_matrix(
    dice: Dice,
    shape: tuple[int, ...],
    structure: ComplexStructure = "general",
    precision: Precision = "float64",
) -> Parts:
    """The real and the imaginary parts of a stack of matrices of `shape`."""
    if structure == "general":
        real, imag = (draw_matrix(dice, shape, "general", precision) for _ in range(2))
        return real, np.zeros_like(imag) if dice.chance(8) else imag
    rng = np.random.default_rng([dice.below(1 << 16), *shape])
    values = _FIXED[structure](rng, shape) if 0 not in shape else np.zeros(shape, np.complex128)
    return values.real.astype(precision), values.imag.astype(precision)
