"""What a sweep says it tested, counted by hand."""

from __future__ import annotations

import dataclasses
import datetime
import importlib.metadata
import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from gradfuzz.fuzzer.questions.tested import added, counted, ordered
from gradfuzz.fuzzer.questions.weighted import plain_question
from gradfuzz.fuzzer.results.environment import environment
from gradfuzz.fuzzer.sweep.batch import WorkItem, drawn, run
from gradfuzz.fuzzer.sweep.totals import Totals
from gradfuzz.oracles.base import Mode, Point, Question
from gradfuzz.programs.arithmetic.numpy_namespace import NumpyNamespace
from gradfuzz.programs.evaluation.interpret import TripCount, interpret
from gradfuzz.programs.language.program import walk
from gradfuzz.programs.language.syntax import Call
from gradfuzz.programs.text.parse import parse


def about(
    text: str, points: Sequence[dict[str, Any]], *, modes: Sequence[tuple[Mode, ...]] = (("rev",),)
) -> list[Question]:
    program = parse(text)
    at = [Point({name: np.asarray(value) for name, value in inputs.items()}) for inputs in points]
    return [plain_question(program, at, "float64", None, each) for each in modes]


COUNTED = (
    'def f(x, n: "int"):\n    acc = 1.0\n    for i in range(n):\n        acc = sin(acc) * x * x\n    return'
    " acc\n"
)


def test_a_program_counts_once_and_its_points_one_by_one() -> None:
    points = [{"x": 0.5, "n": 0}, {"x": 0.25, "n": 3}, {"x": -20.0, "n": 4}, {"x": 0.0, "n": 17}]
    found = counted(about(COUNTED, points, modes=[("rev",), ("fwd",), ("rev", "fwd")]))
    assert found == {
        "op": {"sin": 1, "multiply": 1},
        "loop form": {"for": 1},
        "trips": {"0": 1, "2-4": 1, ">16": 1},
        "dtype": {"float64": 1},
        "order": {"1": 1, "2": 1},
        "size of inputs": {"0": 1, "1e-1": 2, "1e1": 1},
    }


def test_trips_are_told_from_decisions() -> None:
    """Three trips, each with a decision, and an inner loop that takes none, one and two."""
    text = (
        "def f(x):\n    acc = x\n    for i in range(3):\n        if acc > 0.0:\n            acc = acc * x\n  "
        "      k = 0\n        while k < i:\n            acc = acc + x\n            k = k + 1\n    return"
        " acc\n"
    )
    found = counted(about(text, [{"x": 0.5}]))
    assert found["trips"] == {"0": 1, "1": 1, "2-4": 1}
    assert found["loop form"] == {"for": 1, "while": 1}
    trace: list[int] = []
    interpret(parse(text), {"x": np.float64(0.5)}, NumpyNamespace(), trace=trace)
    assert trace == [1, 0, 1, 1, 1, 2, 3]
    assert [isinstance(entry, TripCount) for entry in trace] == [False, True, False, True, False, True, True]


def test_sizes_by_decade() -> None:
    entries = [0.001, 0.00999, 9.99, 1000.0, 1e-300, 1e300, np.inf, 0.0]
    found = counted(about('def f(x: "float[8]"):\n    return sum(x)\n', [{"x": entries}]))
    assert found["size of inputs"] == dict.fromkeys(
        ("1e-3", "1e0", "1e3", "<1e-9", ">=1e10", "not finite", "0"), 1
    )
    assert found["loop form"] == {"none": 1}
    assert "trips" not in found


def test_a_size_of_float32_is_the_one_that_was_written() -> None:
    point = Point({"x": np.asarray([0.01, 0.1, 0.7], np.float32)})
    question = plain_question(
        parse('def f(x: "float[3]"):\n    return sum(x)\n'), [point], "float32", None, ("rev",)
    )
    assert counted([question])["size of inputs"] == {"1e-2": 1, "1e-1": 1}


def test_what_cannot_be_run_has_no_trips() -> None:
    found = counted(
        about(
            "def f(x):\n    acc = x\n    while acc < 3.0:\n        acc = acc * x\n    return acc\n",
            [{"x": 0.5}],
        )
    )
    assert "trips" not in found  # it never ends
    assert found["loop form"] == {"while": 1}


def test_counts_add_up_and_are_told_in_order() -> None:
    parts = [
        {"trips": {">16": 1, "0": 1}, "op": {"sin": 1}},
        {"op": {"add": 2, "sin": 1}, "size of inputs": {"1e1": 3, "0": 1, "1e-2": 2}},
    ]
    found = ordered(added(parts))
    assert list(found) == ["op", "trips", "size of inputs"]
    assert list(found["op"].items()) == [("add", 2), ("sin", 2)]
    assert list(found["trips"]) == ["0", ">16"]
    assert list(found["size of inputs"]) == ["0", "1e-2", "1e1"]


def test_a_sweep_counts_what_it_drew() -> None:
    item = WorkItem(0, 0, 6, "tensor", 0, ("engine",), orders=(1,), checks=("vjp",))
    batch = run(item)
    cases = drawn(item)
    ops = Counter(op for case in cases for op in {n.op for n in walk(case.program) if isinstance(n, Call)})
    assert batch.tested["op"] == ops
    assert batch.tested["dtype"] == Counter(case.precision for case in cases)
    assert batch.tested["order"] == {"1": 6}
    assert sum(batch.tested["loop form"].values()) >= 6
    assert run(item).tested == batch.tested
    met = dataclasses.replace(batch, conventions={"sort-tie": 1, "abs-at-0": 3, "clip-at-its-edge": 3})
    totals = Totals([("engine", "1")], ["tensor"])
    totals.add(met, "tensor")
    totals.add(met, "tensor")
    assert totals.tested["op"] == {op: 2 * n for op, n in sorted(ops.items())}
    assert list(totals.conventions.items()) == [("abs-at-0", 6), ("clip-at-its-edge", 6), ("sort-tie", 2)]


def test_the_environment() -> None:
    started = datetime.datetime(2026, 3, 1, 14, 0, 5, 999, datetime.timezone(datetime.timedelta(hours=2)))
    found = environment(started)
    assert list(found) == ["gradfuzz", "python", "platform", "numpy", "mpmath", "python-flint", "started"]
    assert found["started"] == "2026-03-01T12:00:05Z"
    assert found["numpy"] == np.__version__
    assert found["python-flint"] == importlib.metadata.version("python-flint")
    assert re.fullmatch(r"3\.\d+\.\d+.*", found["python"])
