"""What a process of its own costs: the same question asked of an oracle here, and in a supervised worker by
the protocol.

    python benchmarks/workers.py [TARGET...] [--seconds S]

A TARGET is the engine, a mutant, or a way into a library; where none is named they are the engine, which a
sweep asks here as its answers take least, and "jax:scan" and "torch:eager", which it asks in workers. A
question is about one point or 64, of a program that is tiny (a loop of five trips) or small (one of two
hundred). The two are asked in turns, and the fastest tenth of the answers is compared: a machine with other
work makes a process wait for its turn twice in each request, and that is no cost of the worker's. The last
column is what an answer costs more in processor time of both processes.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from gradfuzz.fuzzer.questions.weighted import plain_question
from gradfuzz.oracles.base import Oracle, Point, Question
from gradfuzz.oracles.foreign.oracle import ForeignOracle
from gradfuzz.oracles.registry import resolve
from gradfuzz.programs import loop_program

POINTS = (1, 64)
TRIPS = (5, 200)
LEAST = 10
"""Answers that are timed at least."""


def question(trips: int, count: int) -> Question:
    program = loop_program("acc*x + sin(acc)", loop="for", trips=trips)
    points = [Point({"x": np.asarray(0.25 + k / 256)}) for k in range(count)]
    return plain_question(program, points, "float64", ("x",), ("rev",))


def timed(f: Callable[[], object]) -> float:
    started = time.perf_counter()
    f()
    return time.perf_counter() - started


def fastest(here: Oracle, there: Oracle, asked: Question, seconds: float) -> tuple[float, float]:
    """Seconds of an answer here and there, in turns: the tenth percentile of each."""
    for oracle in (here, there):
        oracle.answer(asked)
    times: tuple[list[float], list[float]] = ([], [])
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or len(times[1]) < LEAST:
        for oracle, found in zip((here, there), times, strict=True):
            found.append(timed(lambda oracle=oracle: oracle.answer(asked)))  # type: ignore[misc]
    return statistics.quantiles(times[0], n=10)[0], statistics.quantiles(times[1], n=10)[0]


def processor(oracle: Oracle, asked: Question, count: int) -> float:
    """Seconds of processor time that an answer takes, in this process and in the worker's."""

    def used() -> float:
        own = time.process_time()
        if not isinstance(oracle, ForeignOracle) or oracle.worker.pid is None:
            return own
        fields = (
            Path(f"/proc/{oracle.worker.pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
        )
        return own + (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    before = used()
    for _ in range(count):
        oracle.answer(asked)
    return (used() - before) / count


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("target", nargs="*", default=["engine", "jax:scan", "torch:eager"])
    parser.add_argument("--seconds", type=float, default=2.0, help="of measuring for each row")
    arguments = parser.parse_args()
    print(
        f"{'':14}{'trips':>6}{'points':>8}{'here':>12}{'worker':>12}{'more':>12}{'a point':>12}{'more':>9}"
        f"{'processor':>14}"
    )
    for target in arguments.target:
        measure(target, arguments.seconds)


def measure(target: str, seconds: float) -> None:
    """Prints the rows of a target."""
    here = resolve(target)[0]
    there, *_ = resolve(f"cmd:{sys.executable} -m gradfuzz.oracles.server {target}")
    for trips in TRIPS:
        for count in POINTS:
            asked = question(trips, count)
            a, b = fastest(here, there, asked, seconds)
            more = b - a
            turns = max(LEAST, int(seconds / b / 2))
            cpu = processor(there, asked, turns) - processor(here, asked, turns)
            micro = [f"{t * 1e6:,.0f} us" for t in (a, b, more, more / count)]
            print(
                f"{target:14}{trips:>6}{count:>8}{''.join(f'{text:>12}' for text in micro)}{more / a:>9.0%}"
                f"{cpu * 1e6:>11,.0f} us"
            )
    there.close()


if __name__ == "__main__":
    main()
