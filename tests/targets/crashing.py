"""A target with a bug that ends the process: the sine of a number beyond 1."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "gradfuzz" / "adapters"))

import kit
from toy_adapter import Toy, dual, sin


def crashing(x):
    if dual(x).value > 1:
        os.kill(os.getpid(), signal.SIGSEGV)
    return sin(x)


class Crashing(Toy):
    ops = dict(Toy.ops, sin=crashing)  # noqa: RUF012 - as an adapter has it


if __name__ == "__main__":
    kit.serve("crashing", "1", [Crashing()])
