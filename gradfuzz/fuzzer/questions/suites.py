"""Canonical cases for a report card: fixed programs at fixed points, in tables.

The loop suite has the cases of the report that made loop gradients a topic (elixir-nx/nx #1747), and further
ones that later proved to matter.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from gradfuzz.fuzzer.results.report_card import Value
from gradfuzz.oracles.base import Array
from gradfuzz.programs.language.precision import Precision
from gradfuzz.programs.language.program import Program
from gradfuzz.programs.language.types import FLOAT, Type
from gradfuzz.programs.text.loop_body import loop_program
from gradfuzz.programs.text.parse import parse


@dataclass(frozen=True, slots=True, eq=False)
class CanonicalCase:
    """One row: its leading cells, its question, and the `entry` of the gradient that it shows."""

    cells: tuple[Value, ...]
    program: Program
    inputs: Mapping[str, Array]
    precision: Precision = "float64"
    wrt: tuple[str, ...] = ("x",)
    order: int = 1
    entry: tuple[str, tuple[int, ...]] = ("x", ())


@dataclass(frozen=True, slots=True)
class CanonicalTable:
    """The rows of one table, with the names of their leading cells. `tried` describes what they cover."""

    title: str
    columns: tuple[str, ...]
    cases: tuple[CanonicalCase, ...]
    tried: str
    by_form: bool = False
    """Whether the column "form" is compared: which loop forms differ for the same body."""


BODIES: tuple[tuple[str, str], ...] = (
    ("acc + x", "1"),
    ("acc * 2", "2"),
    ("sin(acc)", "cos(acc)"),
    ("acc * acc", "2*acc"),
    ("acc + x^2", "1"),
    ("acc * x", "x"),
    ("acc / x", "1/x"),
    ("sin(acc * x)", "cos(acc*x)*x"),
    ("acc + acc*x", "1 + x"),
    ("acc * (x-2)", "x - 2"),
    ("acc * (-x)", "-x"),
    ("acc*acc + x", "2*acc"),
    ("sin(acc) + x", "cos(acc)"),
    ("acc * 2 + x", "2"),
    ("acc + x*i", "1"),
    ("acc * 0.5 + 0.1*x*x", "0.5"),
    ("init=x: acc * acc", "2*acc"),
    ("init=x: sin(acc)", "cos(acc)"),
    ("init=x: acc * x", "x"),
    ("init=x: acc * (i+2)", "i + 2"),
)
"""Loop bodies and their derivative by the carry. `^` is power; the carry starts at 1, or at init=x."""


def body_program(text: str, trips: int, loop: str = "for", **params: Type) -> Program:
    """The program of a body in the notation of the tables."""
    start, _, body = text.rpartition(": ")
    init = {"acc": start.removeprefix("init=")} if start else None
    form = next(known for known in ("for", "while", "repeat") if known == loop)
    params = params or {"x": FLOAT}
    return loop_program(body.replace("^", "**"), trips=trips, loop=form, init=init, params=params)


def inputs_at(precision: Precision = "float64", /, **values: float | Sequence[float]) -> dict[str, Array]:
    """Inputs by name, in a precision."""
    return {name: np.asarray(value, precision) for name, value in values.items()}


# The loop suite ---------------------------------------------------------------------------------------------


def _case(
    cells: tuple[Value, ...],
    body: str,
    trips: int,
    values: Mapping[str, float],
    *,
    form: str = "for",
    precision: Precision = "float32",
    wrt: tuple[str, ...] = ("x",),
    order: int = 1,
    by: str = "x",
) -> CanonicalCase:
    """A body at scalar inputs."""
    program = body_program(body, trips, form, **dict.fromkeys(values, FLOAT))
    return CanonicalCase(cells, program, inputs_at(precision, **values), precision, wrt, order, (by, ()))


def _loop_bodies() -> CanonicalTable:
    cases = tuple(
        _case((body, slope, x, n), body, n, {"x": x})
        for body, slope in BODIES
        for x in (0.5, 1.7)
        for n in range(5)
    )
    tried = (
        f"{len(BODIES)} bodies, x = 0.5 and 1.7, n = 0 to 4 trips of a for loop, float32. "
        "acc starts at 1, or at x where the body says init=x; ^ is power; i counts the trips from 0."
    )
    return CanonicalTable("Loop bodies", ("body", "d body/d acc", "x", "n"), cases, tried)


def _near_zero() -> CanonicalTable:
    cases = tuple(_case(("acc * x", x, 3), "acc * x", 3, {"x": x}) for x in (0.001, 0.01, 0.1, 0.5, 1.0, 2.0))
    tried = "acc * x, 3 trips, x from 0.001 to 2, float32."
    return CanonicalTable("Near zero", ("body", "x", "n"), cases, tried)


def _sign_flips() -> CanonicalTable:
    rows = (("acc * (x-2)", 0.5, 2), ("acc * (x-2)", 1.5, 4), ("acc * (-x)", 0.3, 3), ("acc * (-x)", 0.7, 3))
    cases = tuple(_case((body, x, n), body, n, {"x": x}) for body, x, n in rows)
    tried = "two bodies whose slope is negative, float32; the class says which flip."
    return CanonicalTable("Sign flips", ("body", "x", "n"), cases, tried)


_OF_TWO, _OF_TWO_COLUMNS = "acc*x + y", ("body", "x", "y", "n", "by")
"""A body of two inputs, and the leading cells of its tables."""


def _per_variable() -> CanonicalTable:
    cases = tuple(
        _case((_OF_TWO, x, y, n, name), _OF_TWO, n, {"x": x, "y": y}, wrt=("x", "y"), by=name)
        for n, x, y in ((2, 0.5, 0.25), (3, 0.5, 0.25), (3, 1.5, -0.7), (4, 0.5, 0.25))
        for name in ("x", "y")
    )
    tried = f"{_OF_TWO} by x and by y, both asked at once, float32."
    return CanonicalTable("Per variable", _OF_TWO_COLUMNS, cases, tried)


def _one_at_a_time() -> CanonicalTable:
    at = {"x": 0.5, "y": 0.25}
    cases = tuple(
        _case((_OF_TWO, *at.values(), n, name), _OF_TWO, n, at, precision="float64", wrt=(name,), by=name)
        for n in (2, 3)
        for name in ("x", "y")
    )
    tried = f"{_OF_TWO} by one input, the other a constant, float64."
    return CanonicalTable("One variable alone", _OF_TWO_COLUMNS, cases, tried)


def _second_order() -> CanonicalTable:
    cases = tuple(
        _case(("acc * x", x, n), "acc * x", n, {"x": x}, order=2) for x in (0.5, 2.0) for n in (2, 3, 4)
    )
    tried = "the second derivative of x^n through the loop, n = 2, 3, 4, float32."
    return CanonicalTable("Second order", ("body", "x", "n"), cases, tried)


def _vector_valued() -> CanonicalTable:
    xs = (0.001, 0.1, 0.5, 1.0, 2.0, -0.5)
    program = body_program("acc * x", 3, x=Type("float", (len(xs),)))
    inputs = inputs_at("float32", x=xs)
    cases = tuple(
        CanonicalCase(("acc * x", k, x, 3), program, inputs, "float32", entry=("x", (k,)))
        for k, x in enumerate(xs)
    )
    tried = f"acc * x, 3 trips, one x of {len(xs)} entries, the sum of the result, float32."
    return CanonicalTable("Vector-valued x", ("body", "entry", "x", "n"), cases, tried)


def _loop_forms() -> CanonicalTable:
    both = {"x": 0.5, "y": 0.25}
    bodies = {"acc*x": {"x": 0.5}, "t = acc*x; acc = sin(t)": {"x": 0.5}, "t = acc*x; acc = t + t*y": both}
    cases = tuple(
        _case((body, form, n), body, n, values, form=form, precision="float64")
        for body, values in bodies.items()
        for n in (1, 2, 3)
        for form in ("while", "for", "repeat")
    )
    tried = (
        "three bodies, two of them with a temporary, written test-first (while), counted (for) and body-first"
        " (repeat); x = 0.5, y = 0.25, float64."
    )
    return CanonicalTable("Loop forms", ("body", "form", "n"), cases, tried, by_form=True)


def _dtypes() -> CanonicalTable:
    precisions: tuple[Precision, ...] = ("float32", "float64")
    cases = tuple(
        _case((body, precision, 0.5, 3), body, 3, {"x": 0.5}, precision=precision)
        for body in ("acc * x", "sin(acc * x)", "acc + acc*x")
        for precision in precisions
    )
    tried = "three bodies, x = 0.5, 3 trips, float32 and float64."
    return CanonicalTable("Dtypes", ("body", "dtype", "x", "n"), cases, tried)


_EARLY_EXIT = {
    "break when acc > 3": """
        def f(x):
            acc = 1.0
            for i in range(8):
                acc = acc * x
                if acc > 3.0:
                    break
            return acc""",
    "while acc < 3": """
        def f(x):
            acc = 1.0
            while acc < 3.0:
                acc = acc * x
            return acc""",
    "continue on odd trips": """
        def f(x):
            acc = 1.0
            for i in range(4):
                if i % 2 == 1:
                    continue
                acc = acc * x + x
            return acc""",
}

_NESTED = {
    "acc * x in an inner loop": """
        def f(x):
            acc = 1.0
            for i in range(2):
                for j in range(2):
                    acc = acc * x
            return acc""",
    "the inner loop reads the outer carry": """
        def f(x):
            acc = 1.0
            for i in range(2):
                s = acc
                for j in range(2):
                    s = s * x + acc
                acc = sin(s)
            return acc""",
    "a loop after a loop": """
        def f(x):
            acc = 1.0
            for i in range(2):
                acc = acc * x
            b = acc
            for j in range(2):
                b = b * x + acc
            return b""",
}


def _texts(title: str, texts: Mapping[str, str], xs: Sequence[float]) -> CanonicalTable:
    cases = tuple(
        CanonicalCase((name, x), parse(text), inputs_at(x=x)) for name, text in texts.items() for x in xs
    )
    points = ", ".join(f"{x:g}" for x in xs)
    return CanonicalTable(title, ("program", "x"), cases, f"{len(texts)} programs, x = {points}, float64.")


def _loops() -> tuple[CanonicalTable, ...]:
    of_bodies = (
        *(_loop_bodies, _near_zero, _sign_flips, _per_variable, _one_at_a_time, _second_order),
        *(_vector_valued, _loop_forms, _dtypes),
    )
    return (
        *(table() for table in of_bodies),
        _texts("Early exit", _EARLY_EXIT, (1.25, 1.5)),
        _texts("Nested and chained loops", _NESTED, (0.5, 1.7)),
    )


SUITES: Mapping[str, Callable[[], tuple[CanonicalTable, ...]]] = {"loops": _loops}
"""The tables of each suite, by its name."""
