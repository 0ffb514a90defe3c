"""Derivatives of eigenvectors and singular vectors of complex matrices, which may be turned by any phase.

A decomposition of a library picks one phase, and so do its derivatives: they leave out what turns a vector
alone. Of eigenvectors v^H v' is 0, or its real part is. Of a pair of singular vectors u^H u' - v^H v' is
i Im(u^H a' v) / s, and u takes a share of it (Z.-Q. Wan and S.-X. Zhang, arXiv:1909.02659).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from gradfuzz.fuzzer.conventions.accepted import UNDEFINED, Accepted, Span
from gradfuzz.fuzzer.conventions.situation import OfCall
from gradfuzz.fuzzer.results.call import Argument, Call
from gradfuzz.fuzzer.results.views import pulled, seen
from gradfuzz.fuzzer.tolerance.perturbed import unit_roundoff
from gradfuzz.oracles.base import Array

Tangents = Callable[[Array], list[Array]]
"""The derivatives of the complex or real results along a change of the matrix."""

Read = Callable[[Array], Array]
"""How a function reads its matrix."""

_ROUNDINGS = 64.0
"""Of the largest entry of a gradient: its parts are sums over all entries of the vectors."""

_SHARES = (0.5, 0.0, 1.0)
"""The shares of a phase that left singular vectors take."""


def turned(at: OfCall) -> Accepted:
    """The gradients by vectors whose phase is left as it is."""
    argument, names = next(at.named())
    if not (argument.is_complex or _has_complex_eigenvectors(at.call, seen(argument))):
        return None
    whole = _complex(at.case.answer.values, seen(argument).ndim)
    if not at.is_plain or whole is None:
        return UNDEFINED
    matrix = seen(argument).astype(np.complex128)
    choices = _choices(at.call, matrix, whole)
    weights = _complex(at.cotangents, matrix.ndim)
    assert weights is not None, "weights have the shapes of the values"
    unit, alternatives = unit_roundoff(at.case.question.precision), []
    for tangents, read in choices:
        parts = _gradient(argument, tangents, read, weights)
        off = _ROUNDINGS * unit * max(np.max(np.abs(one)) for one in parts)
        alternatives.append({n: Span(g - off, g + off) for n, g in zip(names, parts, strict=False)})
    return alternatives or UNDEFINED


def _has_complex_eigenvectors(call: Call, x: Array) -> bool:
    """Whether a real matrix has eigenvalues that are not real. Of a call between smooth functions the matrix
    that arrives is looked at, too.
    """
    is_of_any = call.function.lower().endswith("eig")
    return is_of_any and any(np.any(np.linalg.eigvals(y).imag) for y in (x, x * (1 + np.sin(x) / 16)))


def _complex(values: Sequence[Array], ndim: int) -> list[Array] | None:
    """The results from their real and imaginary parts: singular values and those of `eigh` are real."""
    parts = [np.asarray(y, np.float64) for y in values]
    vectors = [y for y in parts if y.ndim == ndim]
    others = [y for y in parts if y.ndim == ndim - 1]
    if len(vectors) not in (2, 4) or len(vectors) + len(others) != len(parts) or len(others) > 2:
        return None
    return [re + 1j * im for re, im in zip(vectors[::2], vectors[1::2], strict=True)] + (
        [others[0] + 1j * others[1]] if len(others) == 2 else others
    )


def _gradient(argument: Argument, tangents: Tangents, read: Read, weights: Sequence[Array]) -> list[Array]:
    """The gradient by the real and by the imaginary part of a matrix, or of each of a stack."""
    x = seen(argument)
    found = np.zeros((2, *x.shape))
    for row, column in np.ndindex(*x.shape[-2:]):
        for part, unit in enumerate((1.0, 1j)):
            moved = np.zeros(x.shape, np.complex128)
            moved[..., row, column] = unit
            for w, y in zip(weights, tangents(read(moved)), strict=True):
                slopes = np.real(np.conj(w) * y)
                found[part, ..., row, column] += slopes.sum(axis=tuple(range(x.ndim - 2, slopes.ndim)))
    return [pulled(argument, one) for one in found]


def _choices(call: Call, x: Array, values: Sequence[Array]) -> list[tuple[Tangents, Read]]:
    if len(values) == 3 or "svd" in call.function.lower():
        of_torch = call.function.startswith("torch.") and ".linalg." not in call.function
        return _of_svd(x, values, returns_v=of_torch or call.function.startswith("tensorflow."))
    (v, *_) = values
    if "eigh" in call.function or "SelfAdjoint" in call.function:
        reads: list[Read] = [_symmetric, _lower, lambda a: _lower(_adjoint(a))]
        inverse = _adjoint(v)
        fitting = [r for r in reads if np.allclose(v @ (inverse @ r(x) @ v * np.eye(v.shape[-1])), r(x) @ v)]
        return [(_eigenvectors(inverse, x=r(x), v=v, keep=0.0, count=len(values)), r) for r in fitting]
    kept = [(np.linalg.inv(v), keep) for keep in (0.0, 1j)]
    return [(_eigenvectors(i, x=x, v=v, keep=keep, count=len(values)), lambda a: a) for i, keep in kept]


def _symmetric(a: Array) -> Array:
    """The Hermitian part."""
    return np.asarray((a + _adjoint(a)) / 2.0)


def _lower(a: Array) -> Array:
    """The Hermitian matrix of which the lower triangle is read."""
    return np.asarray(np.tril(a, -1) + _adjoint(np.tril(a, -1)) + np.real(a) * np.eye(a.shape[-1]))


def _eigenvectors(inverse: Array, *, x: Array, v: Array, keep: complex, count: int) -> Tangents:
    """Of v and the eigenvalues; `keep` is the unit of the part of v^H v' that is kept as it comes."""
    w = np.diagonal(inverse @ x @ v, axis1=-2, axis2=-1)
    gaps = _inverted(w[..., None, :] - w[..., :, None])

    def tangents(moved: Array) -> list[Array]:
        c = inverse @ moved @ v
        dv = v @ (gaps * c)
        along = np.sum(np.conj(v) * dv, axis=-2, keepdims=True)
        dv = dv - v * (np.real(along) if keep else along)
        return [dv, np.diagonal(c, axis1=-2, axis2=-1)][:count]

    return tangents


def _of_svd(x: Array, values: Sequence[Array], *, returns_v: bool) -> list[tuple[Tangents, Read]]:
    """`returns_v`: v is returned and not v^H, where the values fit both, as those of 1x1 matrices may."""
    if len(values) != 3 or values[0].shape[-1] != values[2].shape[-1]:
        return []
    u, other, s = values

    def fits(v: Array) -> bool:
        return v.shape[-1] == s.shape[-1] and np.allclose((u * s[..., None, :]) @ _adjoint(v), x)

    is_adjoint = fits(_adjoint(other)) and not (returns_v and fits(other))
    v = _adjoint(other) if is_adjoint else other
    if not fits(v):
        return []

    def of_share(share: float) -> Tangents:
        squares = s * s
        gaps = _inverted(squares[..., None, :] - squares[..., :, None])
        row, column = s[..., None, :], s[..., :, None]

        def tangents(moved: Array) -> list[Array]:
            c = _adjoint(u) @ moved @ v
            phase = 1j * np.imag(c) / row * np.eye(s.shape[-1])
            p = gaps * (c * row + column * _adjoint(c)) + share * phase
            q = gaps * (column * c + _adjoint(c) * row) + (share - 1.0) * phase
            du = u @ p + (moved @ v - u @ c) / row
            dv = v @ q + (_adjoint(moved) @ u - v @ _adjoint(c)) / row
            return [du, _adjoint(dv) if is_adjoint else dv, np.real(np.diagonal(c, axis1=-2, axis2=-1))]

        return tangents

    return [(of_share(share), lambda a: a) for share in _SHARES]


def _inverted(gaps: Array) -> Array:
    """1 over what is not on the diagonal."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.where(np.eye(gaps.shape[-1], dtype=bool), 0.0, 1.0 / gaps))


def _adjoint(a: Array) -> Array:
    return np.conj(np.swapaxes(a, -1, -2))
