"""A target whose set-up is broken: it raises whatever it is asked, or only where a program has a sine."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "gradfuzz" / "adapters"))

import kit
from toy_adapter import Toy


class Unfit(Toy):
    def differentiate(self, f, xs, weights, directions, modes):
        raise OSError("libtoy.so.3: cannot open shared object file")


def no_sine(x):
    raise OSError("libtoy.so.3: cannot open shared object file")


class Partly(Toy):
    ops = dict(Toy.ops, sin=no_sine)  # noqa: RUF012 - as an adapter has it


if __name__ == "__main__":
    kit.serve("unfit", "1", [Partly() if sys.argv[1:] == ["partly"] else Unfit()])
