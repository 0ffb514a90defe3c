"""The numbers of the reference `arb`: balls, and Taylor series whose coefficients are balls; the same with
complex balls.

The variable of a series is real, so the real part of a series has the real parts of its coefficients, and so
on.
"""

from __future__ import annotations

import itertools
from typing import TypeAlias

from flint import acb, acb_series, arb, arb_series

from gradfuzz.errors import DomainError
from gradfuzz.programs.arithmetic.object_namespace import OutOfRangeError, UndecidedError

Real: TypeAlias = arb | arb_series
Complex: TypeAlias = acb | acb_series
Number: TypeAlias = Real | Complex


class WideError(UndecidedError):
    """Undecided only because a ball is too wide: more bits may help."""


def constant_term(x: Number) -> arb | acb:
    return x if isinstance(x, (arb, acb)) else x[0]


def is_complex(x: Number) -> bool:
    return isinstance(x, (acb, acb_series))


def pair(re: Real, im: Real) -> Complex:
    """re + i im."""
    if isinstance(re, arb) and isinstance(im, arb):
        return acb(re, im)
    coefficients = [[x] if isinstance(x, arb) else x.coeffs() for x in (re, im)]
    return acb_series([acb(a, b) for a, b in itertools.zip_longest(*coefficients, fillvalue=arb(0))])


def parts(z: Complex) -> tuple[Real, Real]:
    """The real and the imaginary part."""
    if isinstance(z, acb):
        return z.real, z.imag
    coefficients = z.coeffs()
    return arb_series([c.real for c in coefficients]), arb_series([c.imag for c in coefficients])


def nonzero(z: Complex) -> bool:
    """Whether z is not 0; a series is 0 where all its coefficients are."""
    here = constant_term(z)
    if not here.contains(0):
        return True
    if all(c.is_zero() for c in ([z] if isinstance(z, acb) else z.coeffs())):
        return False
    if here.is_zero():
        raise UndecidedError("a complex number is 0 here, but may not be nearby", tie=True)
    if not here.is_finite():
        raise OutOfRangeError(f"a complex number of unknown size, {here.str(5)}")
    raise WideError(f"a complex number may be 0: {here.str(5)}", tie=True)


def off_the_cut(z: Complex, op: str) -> None:
    """The ops that jump across the negative real axis, and have no derivative at 0."""
    here = constant_term(z)
    if here.real > 0 or not here.imag.contains(0):
        return
    if not here.is_finite():
        raise OutOfRangeError(f"{op} of a complex number of unknown size, {here.str(5)}")
    if here.is_zero():
        raise DomainError(f"{op} of 0; the argument must not be 0")
    message = f"{op} of {here.str(5)}: it jumps across the negative real axis"
    if here.imag.is_zero() and here.real < 0:
        raise UndecidedError(message, tie=True)
    raise WideError(message, tie=True)


def complex_function(name: str, z: Complex, order: int) -> Complex:
    """The functions of the language by FLINT, which has no tanh of a series."""
    if name == "log" or (name == "sqrt" and not (order == 0 and z.is_zero())):
        off_the_cut(z, name)
    if name == "tanh" and isinstance(z, acb_series):
        return _tanh(z)
    return getattr(z, name)()


def _tanh(z: acb_series) -> acb_series:
    """(1 - e) / (1 + e) with e = exp(-2 z); to the left of the imaginary axis it is -tanh(-z), so that e is
    never large.
    """
    left = z[0].real.mid() < 0
    e = (2 * z if left else -2 * z).exp()
    divisor = 1 + e
    if divisor[0].contains(0):
        raise WideError(f"tanh of {z[0].str(5)}, which may be a pole")
    quotient = (1 - e) / divisor
    return -quotient if left else quotient
