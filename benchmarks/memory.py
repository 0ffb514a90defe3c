"""The memory that reverse mode needs for long loops, by checkpoint.

Each row is a fresh process: what its peak resident size grew by in the first call of the compiled derivative,
the time of the faster of two calls over the same of the value alone, and, in a process of its own because it
slows everything down, the peak of what Python allocated (`--objects`). Gradients must be the same to the last
bit, whatever the checkpoint. A row above `GOAL` MiB is marked where its memory is meant to be bounded.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import resource
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gradfuzz import engine, programs
from gradfuzz.programs.graphs.graph import Checkpoint

GOAL = 256
"""MiB that a long loop may need."""


@dataclass(frozen=True)
class Case:
    """A loop, and the input that it is differentiated in."""

    title: str
    text: str
    x: Any
    checkpoints: tuple[Checkpoint, ...]


CASES = {
    "scalar": Case(
        "1,000,000 trips of acc = sin(acc*x), scalar",
        "def f(x):\n acc = 1.0\n for i in range(1000000):\n  acc = sin(acc*x)\n return acc\n",
        1.5,
        ("none", "sqrt", 1000, 100, 10),
    ),
    "while": Case(
        "1,000,000 trips of acc = sin(acc*x), scalar, in a while loop",
        "def f(x):\n acc = 1.0\n i = 0\n while i < 1000000:\n  acc = sin(acc*x)\n  i = i + 1\n return acc\n",
        1.5,
        ("none", "sqrt", 100),
    ),
    "matrix": Case(
        "10,000 trips of acc = tanh(acc @ x), 64 by 64",
        "def f(x: float[64, 64]):\n acc = x\n for i in range(10000):\n  acc = tanh(acc @ x)\n return"
        " sum(acc)\n",
        np.random.default_rng(0).standard_normal((64, 64)) / 8,
        ("none", "sqrt", 100, 10),
    ),
}


def gradient(case: Case, checkpoint: Checkpoint) -> engine.Compiled:
    program = programs.parse(case.text)
    return engine.compile(engine.derivative(program, wrt=("x",), modes=("rev",), checkpoint=checkpoint))


def peak() -> float:
    """The largest resident size of this process so far, in MiB."""
    size = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return size / (2**20 if sys.platform == "darwin" else 2**10)


def measure(case: Case, checkpoint: Checkpoint, *, objects: bool) -> dict[str, Any]:
    """One row, in this process."""
    primal, derivative = engine.compile(programs.lower(programs.parse(case.text))), gradient(case, checkpoint)
    if objects:
        tracemalloc.start()
        derivative(case.x, 1.0)
        return {"objects": tracemalloc.get_traced_memory()[1] / 2**20}
    result: list[Any] = []
    value = min(seconds(lambda: primal(case.x)) for _ in range(2))
    before = peak()
    first = seconds(lambda: derivative(case.x, 1.0))
    memory = peak() - before
    second = seconds(lambda: result.append(np.asarray(derivative(case.x, 1.0)[1])))
    gradient_hash = hashlib.sha256(result[0].tobytes()).hexdigest()
    return {"memory": memory, "seconds": min(first, second), "value": value, "gradient": gradient_hash}


def seconds(call: Callable[[], Any]) -> float:
    """How long one call takes."""
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def apart(name: str, checkpoint: Checkpoint, *options: str) -> dict[str, Any]:
    """The same in a fresh process."""
    command = [sys.executable, __file__, "--row", name, str(checkpoint), *options]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout  # noqa: S603 - this very file
    row: dict[str, Any] = json.loads(output)
    return row


def table(name: str, *, objects: bool) -> None:
    case = CASES[name]
    print(
        f"{case.title}\n  {'checkpoint':12}{'memory':>12}{'time':>10}{'over value':>12}"
        + ("     objects" if objects else "")
    )
    gradients = set()
    for checkpoint in case.checkpoints:
        row = apart(name, checkpoint)
        gradients.add(row["gradient"])
        traced = f"{apart(name, checkpoint, '--objects')['objects']:8.1f} MiB" if objects else ""
        note = "  above the goal" if checkpoint != "none" and row["memory"] > GOAL else ""
        print(
            f"  {checkpoint:<12}{row['memory']:8.1f} MiB{row['seconds']:8.2f}"
            f" s{row['seconds'] / row['value']:11.1f}x{traced}{note}",
            flush=True,
        )
    print("  the same gradient in all rows\n" if len(gradients) == 1 else "  THE GRADIENTS DIFFER\n")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description="The memory that reverse mode needs for long loops, by checkpoint."
    )
    parser.add_argument("cases", nargs="*", metavar="case", help=f"of {', '.join(CASES)}; all unless named")
    parser.add_argument(
        "--objects", action="store_true", help="also the peak of what Python allocated (tracemalloc)"
    )
    parser.add_argument(
        "--row", nargs=2, metavar=("CASE", "CHECKPOINT"), help="one row as JSON, measured in this process"
    )
    options = parser.parse_args(arguments)
    unknown = {*options.cases} - {*CASES}
    if unknown:
        parser.error(f"no case {', '.join(sorted(unknown))}; there are {', '.join(CASES)}")
    if options.row:
        name, text = options.row
        checkpoint: Checkpoint = int(text) if text.isdigit() else "sqrt" if text == "sqrt" else "none"
        print(json.dumps(measure(CASES[name], checkpoint, objects=options.objects)))
        return
    for name in options.cases or CASES:
        table(name, objects=options.objects)


if __name__ == "__main__":
    main()
