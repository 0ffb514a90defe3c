"""`logistic` with a mistake in the gradient: the slope of w * w is taken for w."""

import numpy as np
from logistic import PENALTY, loss

__all__ = ["gradient", "loss"]


def gradient(w, b, x, y):
    pull = -y / (1.0 + np.exp(y * (x @ w + b))) / len(y)
    return x.T @ pull + PENALTY * w, np.sum(pull)
