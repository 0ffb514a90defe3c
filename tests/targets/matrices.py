"""HIPS autograd, without arrays of more than two axes. This shows only when it is asked."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "gradfuzz" / "adapters"))

import autograd_adapter
import kit


class Matrices(autograd_adapter.Eager):
    def array(self, dtype, shape, entries):
        if len(shape) > 2:
            raise kit.Unsupported("there are matrices, and no arrays of more axes")
        return super().array(dtype, shape, entries)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    kit.serve("matrices", "1", [Matrices()])
