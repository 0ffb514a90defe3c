"""Two ops that only derivatives are made of, on arrays of floats or complex numbers: `cofactor` and
`divide_by_gaps`.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from gradfuzz.programs.arithmetic.per_matrix import each, not_a_number
from gradfuzz.programs.arithmetic.triangular_numpy import batch_first, batch_last

GAP_UNITS = 4.0
"""Times the number of values and the machine epsilon: a smaller gap, in terms of the largest value, is
rounding.
"""

_NEXT, _LAST = np.array([1, 2, 0]), np.array([2, 0, 1])
"""Of each of three places the one that follows, and the one after that."""


def divide_by_gaps(k: Any, x: Any, y: Any, *, hollow: bool) -> Any:
    """k_ij / (y_j - x_i), for k of shape (..., m, n), x of (..., m), y of (..., n); the diagonal is 0 where
    `hollow`.

    A gap within rounding of 0 (a repeated eigenvalue, a singular value that is 0) leaves a zero in k zero,
    and makes NaN of anything else.
    """
    gaps = y[..., np.newaxis, :] - x[..., :, np.newaxis]
    if k.size == 0:
        return k / gaps
    largest = np.maximum(np.abs(x).max(-1), np.abs(y).max(-1))[..., np.newaxis, np.newaxis]
    least = (GAP_UNITS * max(k.shape[-2:]) * np.finfo(k.dtype).eps) * largest
    with np.errstate(all="ignore"):
        result = np.where(np.abs(gaps) > least, k / gaps, np.where(k == 0, k, not_a_number(k.dtype)))
    if hollow:
        np.einsum("...ii->...i", result)[...] = 0
    return result.astype(k.dtype, copy=False)


def cofactor(a: Any, *directions: Any) -> Any:
    """The mixed derivative of the cofactor matrix of `a` along `directions`, all of shape (..., n, n): right
    at every rank of `a`.

    Up to n = 3 it is minors. Beyond, in the coordinates of the singular value decomposition a = u diag(s) vh
    it is a sum of products of the other singular values and minors of the directions: nothing is divided by a
    singular value. The cofactor matrix of a product is that of the cofactor matrices, and that of a unitary u
    is det(u) conj(u).
    """
    n = a.shape[-1]
    order = len(directions)
    if order >= n or a.size == 0:
        return np.zeros_like(a) if n != 1 or order else np.ones_like(a)
    if n <= 3:
        return _small(a, *directions)
    ready = _by_inverse(a) if order == 0 else None
    if ready is not None:
        return ready
    bad = ~np.isfinite(a).all((-2, -1))
    if bad.any():
        a = np.where(bad[..., np.newaxis, np.newaxis], not_a_number(a.dtype), a)
    try:
        u, s, vh = np.linalg.svd(np.where(bad[..., np.newaxis, np.newaxis], np.eye(n, dtype=a.dtype), a))
    except np.linalg.LinAlgError:
        return np.full_like(a, not_a_number(a.dtype))
    turned = [np.swapaxes(u, -1, -2).conj() @ e @ np.swapaxes(vh, -1, -2).conj() for e in directions]
    middle = _diagonal_case(s, turned)
    sign = np.linalg.det(u) * np.linalg.det(vh)
    sign = np.where(bad, not_a_number(a.dtype), np.sign(sign))[..., np.newaxis, np.newaxis]
    return (sign * (u.conj() @ middle @ vh.conj())).astype(a.dtype, copy=False)


def _small(a: Any, *directions: Any) -> Any:
    """For n = 1, 2, 3 and fewer directions than n: the cofactor matrix is constant, linear, or quadratic
    (cross products of the rows).
    """
    if a.shape[-1] == 1:
        return np.ones_like(a)
    if a.shape[-1] == 2:
        (e,) = directions or (a,)
        return np.flip(e, (-2, -1)) * np.array([[1, -1], [-1, 1]], e.dtype)
    if not directions:
        return _crossed(a, a)
    first, second = (a, *directions)[-2:]
    return _crossed(first, second) + _crossed(second, first)


def _crossed(x: Any, y: Any) -> Any:
    """Rows x_1 x y_2, x_2 x y_0, x_0 x y_1."""
    batch = x.shape[:-2]
    x, y = batch_last(x), batch_last(y)
    x, y = x[_NEXT], y[_LAST]
    return batch_first(x[:, _NEXT] * y[:, _LAST] - x[:, _LAST] * y[:, _NEXT], batch)


def _by_inverse(a: Any) -> Any:
    """det(a) a^-T where every matrix is far from singular, otherwise None."""
    inverse, determinant = each(np.linalg.inv, a), np.linalg.det(a)
    squared_condition = _squared_norm(a) * _squared_norm(inverse)
    if not (squared_condition < np.finfo(a.dtype).eps ** -0.5).all():
        return None
    if not np.isfinite(determinant).all() or (determinant == 0).any():
        return None
    return determinant[..., np.newaxis, np.newaxis] * np.swapaxes(inverse, -1, -2)


def _squared_norm(x: Any) -> Any:
    return np.einsum("...ij,...ij->...", x, x.conj()).real


def _diagonal_case(s: Any, directions: list[Any]) -> Any:
    """The same for a = diag(s): over the subsets of k + 1 rows and columns, minors of the directions times
    the other entries of s.
    """
    n, order = s.shape[-1], len(directions)
    result = np.zeros((*s.shape[:-1], n, n), np.result_type(s, *directions))
    if order == 0:
        products = [np.prod(np.delete(s, i, -1), -1) for i in range(n)]
        np.einsum("...ii->...i", result)[...] = np.stack(products, -1)
        return result
    if order == 1:
        (e,) = directions
        others = _pair_products(s)
        off = -others * np.swapaxes(e, -1, -2)
        np.einsum("...ii->...i", off)[...] = np.einsum("...ij,...ii->...j", others, e)
        return off
    subsets = np.array(list(itertools.combinations(range(n), order + 1)))
    others = [[i for i in range(n) if i not in chosen] for chosen in subsets.tolist()]
    rest = np.array(others, int).reshape(len(subsets), -1)
    weights = np.prod(s[..., rest], -1)
    blocks = [e[..., subsets[:, :, np.newaxis], subsets[:, np.newaxis, :]] for e in directions]
    for free in range(order + 1):
        rows = [r for r in range(order + 1) if r != free]
        part: Any = 0
        for owners in itertools.permutations(range(order)):
            minor = np.zeros_like(blocks[0])
            for r, owner in zip(rows, owners, strict=True):
                minor[..., r, :] = blocks[owner][..., r, :]
            part = part + _row_of_cofactors(minor, free)
        part = part * weights[..., np.newaxis]
        places: Any = (..., subsets[:, free, np.newaxis], subsets)
        np.add.at(result, places, part)
    return result


def _pair_products(s: Any) -> Any:
    """p_ij: the product of the entries of s but those at i and j; 0 on the diagonal."""
    n = s.shape[-1]
    kept = np.ones((n, n, n), bool)
    for i in range(n):
        kept[i, :, i] = kept[:, i, i] = False
    products = np.prod(np.where(kept, s[..., np.newaxis, np.newaxis, :], s.dtype.type(1)), -1)
    np.einsum("...ii->...i", products)[...] = 0
    return products


def _row_of_cofactors(matrices: Any, row: int) -> Any:
    """The cofactors of one row, by the minors of the others."""
    size = matrices.shape[-1]
    others = np.delete(matrices, row, -2)
    minors = [np.linalg.det(np.delete(others, c, -1)) * (-1) ** (row + c) for c in range(size)]
    return np.stack(minors, -1)
