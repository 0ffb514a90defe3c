"""The report card against figures recorded from the real Nx, and against an mpmath computation that shares
nothing with gradfuzz.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mpmath
import numpy as np
import pytest

from gradfuzz.fuzzer.probe.report import probe
from gradfuzz.fuzzer.results.report_card import Label, ProbeReport
from gradfuzz.oracles.registry import resolve

GOLDEN = json.loads((Path(__file__).parents[1] / "data" / "nx_while.json").read_text(encoding="utf-8"))

U = 2.0**-24
OPS = 32
"""At most 4 trips of at most 4 operations, forward and backward: so many roundings may a float32 figure have
gathered.
"""

Step = Callable[[mpmath.mpf, mpmath.mpf, int], mpmath.mpf]

BODIES: dict[str, Step] = {
    "acc + x": lambda acc, x, i: acc + x,
    "acc * 2": lambda acc, x, i: acc * 2,
    "sin(acc)": lambda acc, x, i: mpmath.sin(acc),
    "acc * acc": lambda acc, x, i: acc * acc,
    "acc + x^2": lambda acc, x, i: acc + x**2,
    "acc * x": lambda acc, x, i: acc * x,
    "acc / x": lambda acc, x, i: acc / x,
    "sin(acc * x)": lambda acc, x, i: mpmath.sin(acc * x),
    "acc + acc*x": lambda acc, x, i: acc + acc * x,
    "acc * (x-2)": lambda acc, x, i: acc * (x - 2),
    "acc * (-x)": lambda acc, x, i: acc * (-x),
    "acc*acc + x": lambda acc, x, i: acc * acc + x,
    "sin(acc) + x": lambda acc, x, i: mpmath.sin(acc) + x,
    "acc * 2 + x": lambda acc, x, i: acc * 2 + x,
    "acc + x*i": lambda acc, x, i: acc + x * i,
    "acc * 0.5 + 0.1*x*x": lambda acc, x, i: acc * 0.5 + mpmath.mpf(float(np.float32(0.1))) * x * x,
}
"""The bodies by hand; those with init=x are among them without it."""


def step_of(body: str) -> tuple[Step, bool]:
    """The body, and whether its carry starts at x."""
    start, _, rest = body.rpartition(": ")
    if rest == "acc * (i+2)":
        return (lambda acc, x, i: acc * (i + 2)), bool(start)
    return BODIES[rest], bool(start)


def true_slope(body: str, x: float, n: int) -> mpmath.mpf:
    """d/dx of the loop, by mpmath's own differentiation of a Python loop."""
    step, from_x = step_of(body)

    def loop(at: mpmath.mpf) -> mpmath.mpf:
        acc = at if from_x else mpmath.mpf(1)
        for i in range(n):
            acc = step(acc, at, i)
        return acc

    with mpmath.workdps(60):
        return mpmath.diff(loop, mpmath.mpf(float(np.float32(x))))


def swept(body: str, x: float, n: int, *, forward: bool) -> tuple[float, float]:
    """The gradient that a backward pass gathers, and the sum of the sizes of what it adds up.

    With `forward` the passes over the trips run from the first to the last: what the golden file says of the
    buggy Nx.
    """
    step, from_x = step_of(body)
    with mpmath.workdps(40):
        at = mpmath.mpf(float(np.float32(x)))
        acc = at if from_x else mpmath.mpf(1)
        slopes = []
        for i in range(n):
            by_acc = mpmath.diff(lambda a, acc=acc, i=i: step(a, at, i), acc)
            by_x = mpmath.diff(lambda a, acc=acc, i=i: step(acc, a, i), at)
            slopes.append((by_acc, by_x))
            acc = step(acc, at, i)
        adjoint, total, size = mpmath.mpf(1), mpmath.mpf(0), mpmath.mpf(0)
        for by_acc, by_x in slopes if forward else reversed(slopes):
            total += adjoint * by_x
            size += abs(adjoint * by_x)
            adjoint *= by_acc
        if from_x:
            total, size = total + adjoint, size + abs(adjoint)
        return float(total), float(size)


@pytest.fixture(scope="module")
def nx() -> ProbeReport:
    return probe("mutant:nx-1747", resolve("mutant:nx-1747"))


@pytest.fixture(scope="module")
def swift() -> ProbeReport:
    return probe("mutant:swift-78264", resolve("mutant:swift-78264"))


def rows(report: ProbeReport, title: str) -> list[dict[str, Any]]:
    (table,) = (table for table in report.tables if table.title == title)
    return [dict(zip(table.columns, row, strict=True)) for row in table.rows]


def close(a: float, b: float, size: float) -> bool:
    """Whether two float32 figures may be the same, where terms of this total size were added up."""
    return abs(a - b) <= OPS * U * max(size, abs(b))


# The loop body table ----------------------------------------------------------------------------------------


def test_every_recorded_gradient_is_reproduced(nx: ProbeReport) -> None:
    table = {(row["body"], row["x"], row["n"]): row for row in rows(nx, "Loop bodies")}
    assert len(GOLDEN["rows"]) == len(table) == 200
    for record in GOLDEN["rows"]:
        row = table[record["body"], record["x"], record["n"]]
        recipe, size = swept(record["body"], record["x"], record["n"], forward=True)
        assert close(row["got"], record["nx_gradient"], size), (record, row)
        assert close(row["got"], recipe, size), (record, row)


def test_the_truth_is_the_fixed_nx_and_an_independent_computation(nx: ProbeReport) -> None:
    table = {(row["body"], row["x"], row["n"]): row for row in rows(nx, "Loop bodies")}
    for record in GOLDEN["rows"]:
        row = table[record["body"], record["x"], record["n"]]
        truth = float(true_slope(record["body"], record["x"], record["n"]))
        _, size = swept(record["body"], record["x"], record["n"], forward=False)
        assert math.isclose(row["expected"], truth, rel_tol=1e-14, abs_tol=1e-25 * size), (record, row)
        assert close(record["nx_fixed_gradient"], row["expected"], size), (record, row)


def test_no_row_of_the_loop_bodies_is_left_open(nx: ProbeReport) -> None:
    assert {row["label"] for row in rows(nx, "Loop bodies")} <= {
        label.value for label in (Label.DIFFERS, Label.AGREES, Label.COINCIDENCE, Label.VACUOUS)
    }


def test_labels_follow_from_the_figures(nx: ProbeReport) -> None:
    """A row differs exactly where the buggy recipe and the truth do, by more than float32 could."""
    for row in rows(nx, "Loop bodies"):
        recipe, size = swept(row["body"], row["x"], row["n"], forward=True)
        apart = not close(recipe, row["expected"], size)
        assert (row["label"] == Label.DIFFERS.value) == apart, row


# What the report that started it got wrong ------------------------------------------------------------------


def test_sin_of_the_product_at_three_trips(nx: ProbeReport) -> None:
    (row,) = (r for r in rows(nx, "Loop bodies") if (r["body"], r["x"], r["n"]) == ("sin(acc * x)", 0.5, 3))
    assert round(row["expected"], 5) == 0.67859
    assert round(row["got"], 5) == 1.13218
    assert row["label"] == "differs"


def test_a_negative_slope_may_come_with_the_other_sign(nx: ProbeReport) -> None:
    found = {(r["body"], r["x"], r["n"]): r for r in rows(nx, "Sign flips")}
    assert [(round(r["expected"], 4), round(r["got"], 4), r["class"]) for r in found.values()] == [
        (-3.0, 3.25, "sign_flip"),
        (-0.5, 1.3281, "sign_flip"),
        (-0.27, -1.0981, "wrong_value"),
        (-1.47, -1.7301, "wrong_value"),
    ]
    for record in GOLDEN["sign_flip"]:
        row = found[record["body"], record["x"], record["n"]]
        assert close(row["got"], record["grad"], abs(record["grad"]))


@pytest.mark.parametrize("body", ["acc*acc + x", "sin(acc) + x"])
def test_bodies_that_the_printed_criterion_misses_differ(nx: ProbeReport, body: str) -> None:
    labels = {r["n"]: r["label"] for r in rows(nx, "Loop bodies") if r["body"] == body and r["x"] == 0.5}
    assert labels[3] == "differs"
    assert labels[1] == "agrees"
    assert labels[0] == "vacuous"


@pytest.mark.parametrize("body", ["acc * 2", "sin(acc)", "acc * acc"])
def test_bodies_without_x_are_vacuous(nx: ProbeReport, body: str) -> None:
    assert {r["label"] for r in rows(nx, "Loop bodies") if r["body"] == body} == {"vacuous"}


def test_the_fixed_point_of_the_near_zero_table_is_a_coincidence(nx: ProbeReport) -> None:
    table = rows(nx, "Near zero")
    assert [(r["x"], r["label"]) for r in table] == [
        (0.001, "differs"),
        (0.01, "differs"),
        (0.1, "differs"),
        (0.5, "differs"),
        (1.0, "agrees by coincidence"),
        (2.0, "differs"),
    ]
    assert [r["class"] for r in table[:4]] == ["ratio_blowup"] * 3 + ["wrong_value"]
    assert round(table[0]["ratio"]) == 333_334 or abs(table[0]["ratio"] - 333_334) < 333_334 * OPS * U
    for row, record in zip(table, GOLDEN["near_zero"], strict=True):
        assert close(row["got"], record["grad"], abs(record["grad"]))


# The other tables -------------------------------------------------------------------------------------------


def test_per_variable(nx: ProbeReport) -> None:
    table = {(r["x"], r["y"], r["n"], r["by"]): r for r in rows(nx, "Per variable")}
    for record in GOLDEN["per_variable"]:
        x, y, n = record["x"], record["y"], record["n"]
        for name, figure in zip(("x", "y"), record["grad_x_grad_y"], strict=True):
            row = table[x, y, n, name]
            assert close(row["got"], figure, abs(figure))
            assert row["label"] == ("differs" if name == "x" else "agrees"), row


def test_second_order(nx: ProbeReport) -> None:
    table = {(r["x"], r["n"]): r for r in rows(nx, "Second order")}
    for record in GOLDEN["second_order"]:
        x, n = record["x"], record["n"]
        row = table[x, n]
        assert row["expected"] == n * (n - 1) * x ** (n - 2)
        assert close(row["got"], record["second"], abs(record["second"])), (record, row)
        assert row["label"] == "differs"


def test_every_entry_of_a_vector_has_its_own_label(nx: ProbeReport) -> None:
    table = rows(nx, "Vector-valued x")
    for row, figure in zip(table, GOLDEN["vector_x"]["nx_gradient"], strict=True):
        assert close(row["got"], figure, abs(figure))
    assert [r["label"] for r in table] == ["differs"] * 3 + ["agrees by coincidence"] + ["differs"] * 2
    assert [r["class"] for r in table] == ["ratio_blowup"] * 2 + ["wrong_value", None] + ["wrong_value"] * 2


def test_the_body_first_form_alone_is_wrong_for_swift(swift: ProbeReport) -> None:
    table = rows(swift, "Loop forms")
    wrong = {(r["body"], r["form"], r["n"]) for r in table if r["label"] == "differs"}
    assert wrong
    assert {form for _, form, _ in wrong} == {"repeat"}
    assert {n for *_, n in wrong} == {2, 3}, "one trip leaves nothing over for the next"
    assert {r["label"] for r in table if r["form"] != "repeat"} == {"agrees"}
    (sentence,) = (s for s in swift.summary if "body-first" in s)
    assert "wrong in the body-first form (repeat) only; while and for agree" in sentence
    assert all(body in sentence for body, *_ in wrong)


def test_a_correct_oracle_has_a_clean_card() -> None:
    report = probe("engine", resolve("engine"))
    labels = {row[-1] for table in report.tables for row in table.rows}
    assert labels == {"agrees", "vacuous"}


def test_several_ways_share_rows_where_they_say_the_same() -> None:
    ways = [*resolve("engine"), *resolve("mutant:nx-1747")]
    near_zero = rows(probe("both", ways), "Near zero")
    assert [(r["x"], r["way"]) for r in near_zero if r["x"] in (0.5, 2.0)] == [
        (0.5, "engine"),
        (0.5, "mutant:nx-1747"),
        (2.0, "engine"),
        (2.0, "mutant:nx-1747"),
    ]


def test_what_was_tried_is_said_and_no_more(nx: ProbeReport) -> None:
    for table in nx.tables:
        assert table.notes[0].startswith("Tried: ")
        assert table.columns[-1] == "label"
        assert not any("exactly when" in note for note in table.notes)
