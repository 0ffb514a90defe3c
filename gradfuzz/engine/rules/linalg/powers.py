"""matrix_power and expm of matrices (..., n, n).

Powers: by the product rule along the binary digits of the exponent; a negative power is a power of the
inverse. The exponential: its Frechet derivative L(A, E) is a block of the exponential of a matrix of twice
the size (Mathias 1996, theorem 2.1), and its adjoint is L(A^H, .) (Higham 2008, section 10.6).
"""

from __future__ import annotations

from typing import Any

from gradfuzz.engine.rules.functions import concat
from gradfuzz.engine.rules.linalg.matrices import Rule, Rules, adjoint, columns, rows, zeros
from gradfuzz.engine.rules.value import apply


def _matrix_power(x: Any, *, n: int) -> Any:
    """By the products that the rules need, too."""
    return None if n == 0 else _power(x if n > 0 else apply("inv", x), abs(n))


def _power(x: Any, n: int) -> Any:
    """X^n, n > 0, along the binary digits of n from the highest downwards."""
    if n == 1:
        return x
    if n % 2:
        return _power(x, n - 1) @ x
    half = _power(x, n // 2)
    return half @ half


FORTH: dict[str, Rule] = {"matrix_power": _matrix_power}

# vjp --------------------------------------------------------------------------------------------------------


def _matrix_power_vjp(g: Any, ans: Any, x: Any, *, n: int) -> Any:
    if n == 0:
        return None
    if n > 0:
        return _positive_vjp(g, x, n)
    inverse = apply("inv", x)
    back = adjoint(inverse)
    return -(back @ _positive_vjp(g, inverse, -n) @ back)


def _positive_vjp(g: Any, x: Any, n: int) -> Any:
    """Y = Z Z has Z_bar = Y_bar Z^H + Z^H Y_bar, and Y = X Z has X_bar = Y_bar Z^H and Z_bar = X^H Y_bar."""
    if n == 1:
        return g
    if n % 2:
        rest = adjoint(_power(x, n - 1))
        return g @ rest + _positive_vjp(adjoint(x) @ g, x, n - 1)
    half = adjoint(_power(x, n // 2))
    return _positive_vjp(g @ half + half @ g, x, n // 2)


def _expm_vjp(g: Any, ans: Any, x: Any) -> Any:
    """L(A^H, G) above the diagonal of exp [[A^H, G], [0, A^H]]."""
    n, back = x.shape[-1], adjoint(x)
    block = concat([concat([back, g], axis=-1), concat([zeros(x, x.shape), back], axis=-1)], axis=-2)
    return columns(rows(apply("expm", block), 0, n), n, 2 * n)


VJP: Rules = {"matrix_power": (_matrix_power_vjp,), "expm": (_expm_vjp,)}


# jvp --------------------------------------------------------------------------------------------------------


def _matrix_power_jvp(t: Any, ans: Any, x: Any, *, n: int) -> Any:
    if n == 0:
        return None
    if n < 0:
        x = apply("inv", x)
        t = -(x @ (t @ x))
    return _power_with_tangent(x, t, abs(n))[1]


def _power_with_tangent(x: Any, t: Any, n: int) -> tuple[Any, Any]:
    """X^n and its tangent, from the highest digit of n downwards."""
    power, dot = x, t
    for digit in bin(n)[3:]:
        power, dot = power @ power, dot @ power + power @ dot
        if digit == "1":
            power, dot = power @ x, dot @ x + power @ t
    return power, dot


def _expm_jvp(t: Any, ans: Any, x: Any) -> Any:
    """L(A, dA) below the diagonal of exp [[A, 0], [dA, A]]."""
    n = x.shape[-1]
    upper, lower = concat([x, zeros(t, x.shape)], axis=-1), concat([t, x], axis=-1)
    return columns(rows(apply("expm", concat([upper, lower], axis=-2)), n, 2 * n), 0, n)


JVP: Rules = {"matrix_power": (_matrix_power_jvp,), "expm": (_expm_jvp,)}
