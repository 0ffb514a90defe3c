"""Draws whose quantiles stay where the parameters of their distribution move.

A draw from a gamma or Dirichlet distribution is made by rejection, and libraries differentiate it as if it
were made by the inverse of the distribution: M. Figurnov, S. Mohamed and A. Mnih, "Implicit
Reparameterization Gradients", 2018.
"""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def of_gamma(draws: Array, shapes: Array, moved: Array) -> Array:
    """The draws for the shape parameters `moved` that are the quantiles which `draws` are for `shapes`."""
    from scipy.special import gammainc, gammaincc, gammainccinv, gammaincinv

    below, above = gammainc(shapes, draws), gammaincc(shapes, draws)
    return np.where(below < above, gammaincinv(moved, below), gammainccinv(moved, above))


def of_dirichlet(draws: Array, weights: Array, moved: Array) -> Array:
    """The same for a Dirichlet distribution, up to the first order: as each weight moves, its entry stays a
    quantile of its own beta distribution, whose second parameter is held, and the others share the rest as
    before.
    """
    from scipy.special import betainc, betaincc, betainccinv, betaincinv

    rest = np.sum(weights, axis=-1, keepdims=True) - weights
    below, above = betainc(weights, rest, draws), betaincc(weights, rest, draws)
    quantiles = np.where(below < above, betaincinv(moved, rest, below), betainccinv(moved, rest, above))
    steps = (quantiles - draws) / (1.0 - draws)
    return np.asarray(draws + steps - draws * np.sum(steps, axis=-1, keepdims=True))
