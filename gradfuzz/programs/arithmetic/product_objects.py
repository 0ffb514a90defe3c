"""Diagonals, triangles and products of object arrays: entries are moved, multiplied and summed."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from gradfuzz.programs.arithmetic.object_namespace import ObjectNamespace

Array = Any
"""An object array of numbers; a single number where a result has no axes."""


class ProductObjects(ObjectNamespace):
    """The ops of matrices that factor nothing."""

    def trace(self, x: Array, *, offset: int) -> Array:
        return self.sum(np.diagonal(x, offset, -2, -1), axis=-1, keepdims=False)

    def diagonal(self, x: Array, *, offset: int) -> Array:
        return np.diagonal(x, offset, -2, -1)

    def tril(self, x: Array, *, k: int) -> Array:
        return self._triangle(x, np.tri(x.shape[-2], x.shape[-1], k) == 1)

    def triu(self, x: Array, *, k: int) -> Array:
        return self._triangle(x, np.tri(x.shape[-2], x.shape[-1], k - 1) == 0)

    def _triangle(self, x: Array, kept: Any) -> Array:
        result = x.copy()
        result[..., ~kept] = self.scalar(0) if x.dtype == object else x.dtype.type(0)
        return result

    def outer(self, a: Array, b: Array) -> Array:
        return self.multiply(a[:, np.newaxis], b[np.newaxis, :])

    def kron(self, a: Array, b: Array) -> Array:
        product = self.multiply(a[..., :, np.newaxis, :, np.newaxis], b[..., np.newaxis, :, np.newaxis, :])
        *batch, m, p, n, q = product.shape
        return product.reshape(*batch, m * p, n * q)

    def einsum(self, *arrays: Array, subscripts: str) -> Array:
        """All products, summed over the letters that the result has not."""
        left, _, out = subscripts.replace(" ", "").partition("->")
        terms = left.split(",")
        letters = out + "".join(sorted(set("".join(terms)) - set(out)))
        operands = [aligned(letters, term, self.as_array(x)) for term, x in zip(terms, arrays, strict=True)]
        product = functools.reduce(self.multiply, operands)
        rest = tuple(range(len(out), len(letters)))
        return self.sum(product, axis=rest, keepdims=False) if rest else self.as_array(product)[()]


def aligned(letters: str, term: str, array: Array) -> Array:
    """An operand of `einsum` with one axis for each of `letters`, of size 1 where it has not that letter. Its
    axes are named by `term`.
    """
    for letter in letters:
        while term.count(letter) > 1:
            i, j = (k for k, c in enumerate(term) if c == letter and term[:k].count(letter) < 2)
            array = np.diagonal(array, 0, i, j)
            term = term[:i] + term[i + 1 : j] + term[j + 1 :] + letter
    order = sorted(range(len(term)), key=lambda k: letters.index(term[k]))
    return np.transpose(array, order).reshape(
        [array.shape[term.index(c)] if c in term else 1 for c in letters]
    )
