"""HIPS autograd, as it would be if it took the mean where it sums over what was broadcast."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "gradfuzz" / "adapters"))

import autograd_adapter
import kit
from autograd import numpy as anp
from autograd.numpy import numpy_vjps


def unbroadcast(x, target_meta, broadcast_idx=0):
    shape, *_ = target_meta
    while anp.ndim(x) > len(shape):
        x = anp.mean(x, axis=broadcast_idx)
    for axis, size in enumerate(shape):
        if size == 1:
            x = anp.mean(x, axis=axis, keepdims=True)
    return x


numpy_vjps.unbroadcast = unbroadcast

if __name__ == "__main__":
    warnings.simplefilter("ignore")
    kit.serve("averaging", "1", [autograd_adapter.Eager()])
