"""What the rules are written with besides the ops themselves: the form of their tables, and moving entries of
matrices about. All leading axes are batch axes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gradfuzz.engine.rules.functions import broadcast_to, concat, conj, is_complex, permute_dims, reshape
from gradfuzz.engine.rules.value import apply, zeros_as
from gradfuzz.programs.language.types import Type

Rule = Callable[..., Any]

Rules = dict[str, tuple[Rule, ...] | Rule]
"""By op: one rule per argument, or one for all that takes the argument's number first."""


def transpose(x: Any) -> Any:
    """The last two axes exchanged."""
    return permute_dims(x, (*range(x.ndim - 2), x.ndim - 1, x.ndim - 2))


def adjoint(x: Any) -> Any:
    """The conjugate of the transpose."""
    return transpose(conj(x))


def hermitian_part(x: Any) -> Any:
    """(x + x^H) / 2."""
    return 0.5 * (x + adjoint(x))


def below(x: Any) -> Any:
    """The entries below the diagonal, zeros elsewhere."""
    return apply("tril", x, k=-1)


def half_of_lower(x: Any) -> Any:
    """The lower triangle with half of the diagonal: plus its adjoint, it is Hermitian with the lower triangle
    and real diagonal of x.
    """
    return 0.5 * (apply("tril", x) + below(x))


def solve_adjoint(a: Any, b: Any, **how: Any) -> Any:
    """`triangular_solve` with the adjoint of the triangle of `a`."""
    return apply("triangular_solve", conj(a), b, transposed=True, **how)


def to_dtype_of(like: Any, x: Any) -> Any:
    """`x`, as complex numbers where `like` is complex."""
    return apply("astype", x, dtype="complex") if is_complex(like) and not is_complex(x) else x


def column(x: Any) -> Any:
    """Vectors (..., n) as matrices of one column (..., n, 1); times it, each row of a matrix is multiplied by
    its entry.
    """
    return reshape(x, (*x.shape, 1))


def row(x: Any) -> Any:
    """Vectors (..., n) as matrices of one row (..., 1, n); times it from the right, each column is multiplied
    by its entry.
    """
    return reshape(x, (*x.shape[:-1], 1, x.shape[-1]))


def expand(x: Any) -> Any:
    """A batch of numbers (...) as matrices (..., 1, 1)."""
    return reshape(x, (*x.shape, 1, 1))


def zeros(like: Any, shape: tuple[int, ...]) -> Any:
    """Zeros in the trace of `like`."""
    return zeros_as(like, Type(like.type.dtype, shape))


def on_diagonal(d: Any, m: int, n: int, offset: int = 0) -> Any:
    """The matrices (..., m, n) with `d` on a diagonal, and zeros elsewhere."""
    batch, length = d.shape[:-1], d.shape[-1]
    size = m if offset >= 0 else n
    if length < size:
        d = concat([d, zeros(d, (*batch, size - length))], axis=-1)
    spread = broadcast_to(column(d) if offset >= 0 else row(d), (*batch, m, n))
    return apply("triu", apply("tril", spread, k=offset), k=offset)


def _part(x: Any, start: int, stop: int, *, axis: int) -> Any:
    key = [slice(None)] * x.ndim
    key[axis] = slice(start, stop)
    return x[tuple(key)]


def rows(x: Any, start: int, stop: int) -> Any:
    """Some rows of each matrix."""
    return x if (start, stop) == (0, x.shape[-2]) else _part(x, start, stop, axis=x.ndim - 2)


def columns(x: Any, start: int, stop: int) -> Any:
    """Some columns of each matrix."""
    return x if (start, stop) == (0, x.shape[-1]) else _part(x, start, stop, axis=x.ndim - 1)
