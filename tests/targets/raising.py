"""A target whose sine raises as Paddle does, below the heading "In user code:", and whose cosine raises as
Dr.Jit does, whose message says that the cause stands above.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "gradfuzz" / "adapters"))

import kit
from toy_adapter import Toy


def sin(_):
    heading = 'In user code:\n\n    File "model.py", line 3\n      y = f(x)\n\n'
    raise RuntimeError(f"{heading}    InvalidArgumentError: no sine today.\n      [Hint: x]\n")


def cos(_):
    try:
        raise TypeError("state variable changed its type")
    except TypeError as error:
        raise RuntimeError("drjit.while_loop(): encountered an exception (see above).") from error


class Raising(Toy):
    ops = dict(Toy.ops, sin=sin, cos=cos)  # noqa: RUF012 - as an adapter has it


if __name__ == "__main__":
    kit.serve("raising", "1", [Raising()])
