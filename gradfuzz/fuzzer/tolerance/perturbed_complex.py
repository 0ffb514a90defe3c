"""Complex numbers, and functions of real and complex ones, in perturbed arithmetic.

Sums and products are made of real ones and lose what these lose: a part that is 0 stays 0. Other operations
promise only a small error relative to the modulus: quotients, functions and powers err in both directions.

    log        also by the roundoff of 1: many libraries take the logarithm of a rounded modulus
    z ** w     by that of the exponent w log z, as no library has more digits for it

The branch cut of log, sqrt and powers is the negative real axis with 0. The point is undecided where rounding
may carry a number across it, and on it, where the sign of a zero decides.
"""

from __future__ import annotations

from functools import partialmethod
from typing import Any

import numpy as np

from gradfuzz.fuzzer.tolerance.lanes import Array, is_complex, joined, per_point
from gradfuzz.programs.arithmetic.object_namespace import UndecidedError

_CUT = frozenset({"log", "sqrt"})
_QUOTIENTS = {"tan": np.cos, "tanh": np.cosh}
"""Functions that some libraries compute as quotients, with the divisor, which must stay in range."""


_ON_THE_CUT = (
    "a number is on the branch cut of a logarithm, root or power, or as near as rounding may bring it"
)


class ComplexLanes:
    """A part of `PerturbedNamespace`."""

    # No rounding here

    complex, conj = staticmethod(joined), staticmethod(np.conj)

    def real(self: Any, x: Array) -> Array:
        return self._keep(x.real.copy()) if is_complex(x) else x

    def imag(self: Any, x: Array) -> Array:
        return self._keep(x.imag.copy()) if is_complex(x) else np.zeros_like(x)

    # Perturbation

    def _draws(self: Any, x: Array, pool: Array) -> Array:
        """Perturbations for the entries of x, complex for a complex x."""
        draws = self._factors(pool, x.shape) - 1.0
        return joined(draws, self._factors(pool, x.shape) - 1.0) if is_complex(x) else draws

    def _near(self: Any, exact: Array, pool: Array, units: Any = 1.0) -> Array:
        """A result with a small error relative to its modulus."""
        return self._keep(exact * (1.0 + units * self._draws(exact, pool)))

    def _product_of(self: Any, a: Array, b: Array) -> Array:
        """(a + ib)(c + id) = ac - bd + i (ad + bc)."""
        re = self._rough(a.real * b.real), self._rough(a.imag * b.imag)
        im = self._rough(a.real * b.imag), self._rough(a.imag * b.real)
        return self._result(joined(re[0] - re[1], im[0] + im[1]), self._sum)

    def _rough(self: Any, exact: Array) -> Array:
        return exact * self._factors(self._product, exact.shape)

    def _off_the_cut(self: Any, x: Array) -> None:
        by_point = per_point(x)
        exact = by_point[..., :1]
        noise = self._decision * np.abs(by_point - exact).max(axis=-1, keepdims=True)
        if np.any((exact.real <= noise) & (np.abs(exact.imag) <= noise)):
            raise UndecidedError(_ON_THE_CUT)

    # Functions

    def _called(self: Any, name: str, x: Array) -> Array:
        """sin, cos, tan, tanh, exp, log or sqrt."""
        if not is_complex(x):
            return self._result(getattr(np, name)(x), self._product if name == "sqrt" else self._function)
        if name in _CUT:
            self._off_the_cut(x)
        if name in _QUOTIENTS:
            self._keep(_quietly(_QUOTIENTS[name], x))
        exact = _quietly(getattr(np, name), x)
        if name == "log":
            return self._keep(exact + np.maximum(np.abs(exact), 1.0) * self._draws(exact, self._function))
        return self._near(exact, self._function)

    sin, cos = partialmethod(_called, "sin"), partialmethod(_called, "cos")
    tan, tanh = partialmethod(_called, "tan"), partialmethod(_called, "tanh")
    exp = partialmethod(_called, "exp")
    log, sqrt = partialmethod(_called, "log"), partialmethod(_called, "sqrt")

    def _complex_abs(self: Any, x: Array) -> Array:
        """The modulus. Its slope has size 1 in any direction, and near 0 rounding chooses the direction."""
        self._alike(x)
        return self._result(_quietly(np.abs, x), self._function)

    def _complex_pow(self: Any, a: Array, b: Array) -> Array:
        self._off_the_cut(a)
        return self._near(_quietly(np.power, a, b), self._function, _exponent_units(a, np.abs(b)))

    def _complex_integer_pow(self: Any, power: Array, x: Array, n: int) -> Array:
        """`power` = x ** n, computed by products or as any other power."""
        return self._near(power, self._function, _exponent_units(np.where(x == 0.0, 1.0, x), abs(n)))


def _exponent_units(base: Array, exponent: Any) -> Array:
    """The loss in base ** exponent, in units: the exponential's relative error grows with its argument."""
    return 1.0 + exponent * (1.0 + np.abs(_quietly(np.log, base)))


def _quietly(function: Any, *operands: Array) -> Array:
    """The function's value. Floating-point flags that a complex function sets on its way do not count."""
    with np.errstate(all="ignore"):
        result = function(*operands)
    if not np.isfinite(result).all():
        raise FloatingPointError(f"overflow encountered in {function.__name__}")
    return result
