"""How many programs a core draws and checks in a second where no reference is asked, and how many draws are
thrown away.

    python benchmarks/generation.py --programs 1000
    python benchmarks/generation.py --family linalg --family tensor --seed 3

A check is that of the float twins: the engine's gradient by reverse mode g and its derivative by forward mode
along a direction v, which must be the same number, <g, v>. Where they differ by more than rounding is likely
to do, a sweep asks the references; the last column is the share of such programs. Programs without a finite
value or derivative count as checked. All figures are of CPU time in one thread; the last line says how long a
fixed loop of Python takes meanwhile, as other work on the machine makes CPU time longer, too.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Sequence
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from hypothesis import strategies as st

from gradfuzz.engine import compile
from gradfuzz.engine.modes.forward import pushforward
from gradfuzz.engine.modes.prune import prune
from gradfuzz.fuzzer.questions.weighted import questions
from gradfuzz.oracles.base import Question
from gradfuzz.oracles.engine.oracle import EngineOracle
from gradfuzz.programs.graphs.lower import lower
from gradfuzz.strategies import FAMILIES, GeneratedCase, draw_many
from gradfuzz.strategies.inputs.point import PRECISIONS

GOAL = 200.0
"""Programs per second."""

WARM_UP = 100


def twins_agree(question: Question) -> bool:
    """Whether both modes give the same slope along the question's directions, to half of the digits, at every
    point.
    """
    program, precision = question.program, question.precision
    names = [p.name for p in program.params]
    graph = pushforward(lower(program), [k for k, name in enumerate(names) if name in question.wrt])
    slope = compile(prune(graph), precision=precision)
    along = [question.directions[name].astype(precision) for name in names if name in question.wrt]
    least = float(np.sqrt(np.finfo(precision).eps))
    for point, answer in zip(question.points, EngineOracle().answer(question), strict=True):
        slopes = slope(*(point.inputs[name] for name in names), *along)[len(question.weights) :]
        forward = pairs(question.weights, slopes)
        backward = pairs(
            [question.directions[name] for name in question.wrt],
            [answer.gradient[name] for name in question.wrt],
        )
        with np.errstate(all="ignore"):
            scale = np.abs(forward).sum() + np.abs(backward).sum()
            if np.isfinite(scale) and abs(forward.sum() - backward.sum()) > least * scale:
                return False
    return True


def pairs(weights: Sequence[Any], values: Sequence[Any]) -> Any:
    """All products of an entry and its weight."""
    with np.errstate(all="ignore"):
        products = [
            np.ravel(np.asarray(w, np.float64) * np.asarray(v, np.float64))
            for w, v in zip(weights, values, strict=True)
            if w is not None
        ]
    return np.concatenate(products) if products else np.zeros(0)


def drawn(family: str, count: int, seed: str) -> tuple[list[GeneratedCase], int]:
    """Cases, and how many were begun to get them."""
    begun = 0
    cases = FAMILIES[family].cases(PRECISIONS)

    @st.composite
    def counted(draw: Any) -> GeneratedCase:
        nonlocal begun
        begun += 1
        case: GeneratedCase = draw(cases)
        return case

    return draw_many(counted(), count, seed), begun


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--programs", type=int, default=1000)
    parser.add_argument("--family", action="append", choices=FAMILIES)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    print(
        f"{'family':10} {'programs':>8} {'draw ms':>8} {'check ms':>8} {'per s':>7} {'goal':>5}"
        f" {'rejected':>8} {'referred':>8}"
    )
    for family in options.family or ["linalg", "tensor"]:
        for index, case in enumerate(drawn(family, WARM_UP, f"{options.seed}/warm-up")[0]):
            twins_agree(questions(case, index, options.seed, orders=(1,), checks=("vjp",))[0])
        start = time.process_time()
        cases, begun = drawn(family, options.programs, str(options.seed))
        between = time.process_time()
        referred = sum(
            not twins_agree(questions(case, index, options.seed, orders=(1,), checks=("vjp",))[0])
            for index, case in enumerate(cases)
        )
        end = time.process_time()
        n = len(cases)
        figures = (
            f"{1e3 * (between - start) / n:8.2f} {1e3 * (end - between) / n:8.2f} {n / (end - start):7.0f}"
            f" {GOAL:5.0f}"
        )
        print(f"{family:10} {n:8,} {figures} {100 * (begun - n) / begun:6.1f} % {100 * referred / n:6.1f} %")
    print(f"ten million additions in a Python loop: {additions():.2f} s")
    return 0


def additions() -> float:
    """CPU seconds."""
    start, x = time.process_time(), 0
    for k in range(10_000_000):
        x += k
    return time.process_time() - start


if __name__ == "__main__":
    sys.exit(main())
