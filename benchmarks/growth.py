"""How much a process grows that checks many different functions: what a long test session keeps.

python -m benchmarks.growth          250 functions each of Torch and JAX
python -m benchmarks.growth 50       or so many each
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import itertools
import os
import sys
import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from benchmarks.gradient_functions import Row, jax_rows, torch_rows
from gradfuzz.oracles.foreign.memory import own
from gradfuzz.testing import GradientMismatch, check_gradient


def resident() -> float:
    """The resident memory of this process in MiB (Linux)."""
    gc.collect()
    return own(os.getpid()) / 2**20


def different(rows: Sequence[Row]) -> Iterator[tuple[Any, list[Any]]]:
    """Functions without end: each row times another constant, in turn."""
    for round_ in itertools.count(1):
        for row in rows:
            yield (lambda *xs, f=row.f, c=1.0 + round_ / 8: f(*xs) * c), list(row.arguments)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("functions", nargs="?", type=int, default=250, help="of each library")
    options = parser.parse_args(arguments)
    import jax
    import torch

    jax.config.update("jax_enable_x64", True)
    libraries = {
        "torch": (torch_rows(), torch.tensor),
        "jax": (jax_rows(), jax.numpy.asarray),
    }
    for name, (rows, array) in libraries.items():
        functions = different(rows)
        begin = 0.0
        for count, (f, xs) in enumerate(itertools.islice(functions, options.functions + 5)):
            if count == 5:  # the libraries, and what is loaded at first use
                begin = resident()
            with contextlib.suppress(GradientMismatch), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                check_gradient(f, *(array(np.asarray(x)) for x in xs))
        print(f"{options.functions} functions of {name}: {resident() - begin:+.0f} MiB", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
