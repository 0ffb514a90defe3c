"""Logistic regression with a quadratic penalty: the loss, and its gradient by the parameters."""

import numpy as np

PENALTY = 0.1


def loss(w, b, x, y):
    """`x` is [m, n], `w` is [n], `b` a number, `y` the m labels, -1 or 1."""
    margins = y * (x @ w + b)
    return np.mean(np.logaddexp(0.0, -margins)) + PENALTY * np.sum(w * w)


def gradient(w, b, x, y):
    """The derivatives by `w` and `b`."""
    pull = -y / (1.0 + np.exp(y * (x @ w + b))) / len(y)
    return x.T @ pull + 2.0 * PENALTY * w, np.sum(pull)
