"""A target whose documentation says that it does not differentiate loops; then its sine has no slope."""

from __future__ import annotations

import math
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "gradfuzz" / "adapters"))

import kit
from toy_adapter import Dual, Toy

LIMIT = {"name": "loops", "what": "loops are not differentiated", "link": "https://example.org/manual#loops"}


class Limited(Toy):
    ops = dict(Toy.ops, sin=lambda x: Dual(math.sin(x.value)))  # noqa: RUF012 - as an adapter has it

    def limit(self, program, request):
        return LIMIT if request["modes"] and any("for" in s for s in program.form["body"]) else None


if __name__ == "__main__":
    kit.serve("limited", "1", [Limited()])
