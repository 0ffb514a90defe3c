"""The way "vectorize" into Nx, by the 39 cases that were recorded of Nx, and what needs no Nx.

The command of an adapter with Nx is in GRADFUZZ_NX. What was recorded are facts about Nx before and after its
PR #1731: the truth about the cases is in `tests/unit/engine/test_vectorize.py`. Programs are about one
instance; all 39 are asked in Elixir by `benchmarks/nx_vectorized.py`.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks import nx_vectorized
from gradfuzz.fuzzer.questions.weighted import plain_question
from gradfuzz.oracles.base import Oracle, Point, Question
from gradfuzz.oracles.registry import resolve
from gradfuzz.programs import parse

VARIABLE = "GRADFUZZ_NX"
RECORDED = nx_vectorized.recorded()
needs_nx = pytest.mark.skipif(
    VARIABLE not in os.environ, reason=f"{VARIABLE} is not set: the command of the adapter, where there is Nx"
)

INSIDE = {
    "devectorize inside, sum",
    "devectorize then re-vectorize other name",
    "hidden vec rename a:4,b:2",
    "cross-instance: devectorize, cumulative product over batch",
}
"""A program is about one instance, so it cannot mix them."""


@dataclass(frozen=True)
class Asked:
    """A recorded case as a question: a program, the points along axes, and the inputs by which it is."""

    text: str
    points: Sequence[Mapping[str, Any]]
    wrt: tuple[str, ...] = ("x",)
    modes: tuple[Any, ...] = ("rev",)
    way: str = "vectorize"


def grid(xs: Any, ys: Any) -> list[dict[str, Any]]:
    """Points at which x varies along the rows and y along the columns."""
    return [{"x": x, "y": y} for x, y in product(xs, ys)]


def line(xs: Any, **shared: Any) -> list[dict[str, Any]]:
    return [{"x": x, **shared} for x in xs]


def of(body: str, params: str = "x") -> str:
    return f"def f({params}):\n    {body}\n"


X, Y = (2.0, 5.0), (3.0, 4.0)
ROWS = ([1.0, 2.0, 3.0], [4.0, 5.0, 6.0])
MATRICES = ([[4.0, 2.0], [2.0, 5.0]], [[9.0, 3.0], [3.0, 10.0]])
GENERAL = ([[1.0, 2.0], [3.0, 4.0]], [[5.0, 6.0], [7.0, 8.0]])
ROW, SQUARE, BOTH = "x: 'float[3]'", "x: 'float[2, 2]'", ("x", "y")
SAME = [{"x": x, "y": y} for x, y in zip(X, Y, strict=True)]
POWER = """
def f(x):
    acc = 1.0
    i = 0
    while i < 3:
        acc = acc * x
        i = i + 1
    return acc
"""

CASES = {
    "het mul sum(x*y)": Asked(of("return sum(x * y)", "x, y"), grid(X, Y), BOTH),
    "het mul no sum": Asked(of("return x * y", "x, y"), grid(X, Y), BOTH),
    "het mul 2x3": Asked(of("return x * y", "x, y"), grid(X, (3.0, 4.0, 7.0)), BOTH),
    "het add": Asked(of("return x + y", "x, y"), grid(X, Y), BOTH),
    "het sin(add)": Asked(of("return sin(x + y)", "x, y"), grid(X, Y), BOTH),
    "het x^2*y": Asked(of("return x ** 2 * y", "x, y"), grid(X, Y), BOTH),
    "same-axis mul": Asked(of("return x * y", "x, y"), SAME, BOTH),
    "vec * nonvec scalar": Asked(of("return x * y", "x, y"), line(X, y=1.5), BOTH),
    "vec inner dim sum(x*x)": Asked(of("return sum(x * x)", ROW), line(ROWS)),
    "vec inner * scalar, sum": Asked(of("return sum(x * y)", f"{ROW}, y"), line(ROWS, y=1.5), BOTH),
    "vec mean": Asked(of("return mean(x * x)", ROW), line(ROWS)),
    "vec softmax-like logsumexp": Asked(of("return log(sum(exp(x)))", ROW), line(ROWS)),
    "vec prod": Asked(of("return prod(x)", ROW), line(ROWS)),
    "vec max": Asked(of("return amax(x)", ROW), line(ROWS)),
    "vec second order x^3": Asked(of("return x ** 3"), line(X), modes=("rev", "rev")),
    "vec while x^3": Asked(POWER, line(X)),
    "value_and_grad vec": Asked(of("return x * x"), line(X)),
    "nonvec in, vec capture out": Asked(of("return y * x", "x, y"), line(X, y=3.0), ("y",)),
    "vec capture, vec target (same axis)": Asked(of("return x * x * y", "x, y"), SAME),
    "two vec axes sum(x*x)": Asked(
        of("return sum(x * x)", "x: 'float[2]'"), line(np.arange(1.0, 9.0).reshape(4, 2))
    ),
    "vec qr": Asked(of("q, r = qr(x)\n    return sum(q) + sum(r)", SQUARE), line(GENERAL)),
    "vec cholesky": Asked(of("return sum(cholesky(x))", SQUARE), line(MATRICES)),
    "vec eigh sum(s)": Asked(of("return sum(eigvalsh(x))", SQUARE), line(MATRICES)),
    "vec eigh sum(s^2)": Asked(of("w = eigvalsh(x)\n    return sum(w * w)", SQUARE), line(MATRICES)),
    "vec invert": Asked(of("return sum(inv(x))", SQUARE), line(MATRICES)),
    "vec triangular_solve": Asked(
        of("return sum(triangular_solve(x, ones((2, 1))))", SQUARE), line(MATRICES)
    ),
    "vec determinant": Asked(of("return det(x)", SQUARE), line(MATRICES)),
    "vec gather/take": Asked(of("return sum(take(x, array([0, 2, 0]), axis=0))", ROW), line(ROWS)),
    "vec index a[1]": Asked(of("return x[1] ** 2", ROW), line(ROWS)),
    "vec concatenate": Asked(of("return sum(concat([x, x * 2.0]))", ROW), line(ROWS)),
    "vec sort weighted": Asked(
        of("return sum(sort(x) * array([1.0, 10.0, 100.0]))", ROW), line([r[::-1] for r in ROWS])
    ),
    "vec dot capture": Asked(of("return matmul(x, array([1.0, 2.0, 3.0]))", ROW), line(ROWS)),
    "het outer via dot vec len3": Asked(
        of("return sum(x * y)", "x: 'float[2]', y: 'float[2]'"),
        grid(([1.0, 2.0], [3.0, 4.0]), ([5.0, 6.0], [7.0, 8.0], [9.0, 10.0])),
        BOTH,
    ),
    "het with unused second var": Asked(of("return x * x + 0.0 * y", "x, y"), grid(X, Y), BOTH),
    "clip grad": Asked(of("return sum(clip(x, 1.0, 4.0) * 3.0)", ROW), line([[2.0, 0.0, 5.0]]), way="while"),
}

BEFORE = {
    "het with unused second var": "the second one is used here: a derivative by what is not used has no axes",
}
"""Where Nx before #1731 was asked another thing."""


def test_every_recorded_case_is_here() -> None:
    assert set(CASES) | INSIDE == set(RECORDED)


def question(asked: Asked) -> Question:
    points = [Point({n: np.asarray(v, "float32") for n, v in p.items()}) for p in asked.points]
    return plain_question(parse(asked.text), points, "float32", asked.wrt, asked.modes)


def way(name: str) -> Oracle:
    return next(o for o in resolve(f"cmd:{os.environ[VARIABLE]}") if o.name.endswith(f"#{name}"))


PAGE = Path(__file__).parents[3] / "docs" / "nx.md"
CHANGED = "vec invert"
"""It raised at 37901d74 when it was recorded. It may also return the numbers of other instances."""


def test_the_page_says_of_each_case_what_was_recorded() -> None:
    rows = [
        [c.strip() for c in line.split("|")[1:-1]] for line in PAGE.read_text(encoding="utf-8").splitlines()
    ]
    shown = {row[0]: row[1:] for row in rows if row and row[0] in RECORDED}
    commits = list(nx_vectorized.RECORDED)
    assert shown.keys() == RECORDED.keys()
    for name, case in RECORDED.items():
        told = [nx_vectorized.judged(case, case[commit]) for commit in commits]
        assert shown[name][:2] == told[:2]
        assert shown[name][2] == told[2] or name == CHANGED


def test_another_number_shape_or_axis_is_not_what_was_recorded() -> None:
    case = RECORDED["vec prod"]
    (good,) = nx_vectorized.parts(case["newest"])
    assert nx_vectorized.judged(case, [good]) == "right"
    assert nx_vectorized.repeats([good], [good])
    for other in ({"values": [6.0, 3.0, 2.0, 30.0, 24.0, 20.1]}, {"shape": "{2, 3}"}, {"vec": "[]"}):
        assert not nx_vectorized.repeats([good | other], [good])
    assert nx_vectorized.judged(case, [good | {"values": [6.0] * 6}]) == "wrong: 6, 6, 6, 6, 6, 6"
    assert not nx_vectorized.repeats({"exception": "ArgumentError"}, [good])


@needs_nx
def test_nx_says_of_all_39_cases_what_was_recorded() -> None:
    """In Nx 0.11.0 what it said before #1731, later what the newest said."""
    said = nx_vectorized.asked(shlex.split(os.environ[VARIABLE]))
    old = way("vectorize").version == "0.11.0"
    key = "before_1731" if old else "newest"
    other = {name for name, case in RECORDED.items() if not nx_vectorized.repeats(said[name], case[key])}
    assert other <= (set() if old else {CHANGED})
    assert old or nx_vectorized.judged(RECORDED[CHANGED], said[CHANGED]) != "right"


@needs_nx
@pytest.mark.parametrize("name", CASES)
def test_nx_vectorized_says_what_was_recorded_of_it(name: str) -> None:
    """In Nx 0.11 what it said before #1731, numbers or an exception, later what the newest said."""
    asked = CASES[name]
    oracle = way(asked.way)
    old = oracle.version.startswith("0.11")
    if old and name in BEFORE:
        pytest.skip(BEFORE[name])
    recorded = RECORDED[name]["before_1731" if old else "newest"]
    answers = oracle.answer(question(asked))
    if name == CHANGED and not old:
        right = [-np.linalg.inv(m).T @ np.ones((2, 2)) @ np.linalg.inv(m).T for m in MATRICES]
        assert not all(
            a.status == "ok" and a.gradient["x"] == pytest.approx(r, rel=1e-4)
            for a, r in zip(answers, right, strict=True)
        )
        return
    if "exception" in recorded:
        assert {a.status for a in answers} == {"error"}
        assert {a.message.partition(":")[0] for a in answers} == {recorded["exception"]}
        return
    assert [a.message for a in answers if a.status != "ok"] == []
    parts = recorded if isinstance(recorded, list) else [recorded]
    for n, part in zip(asked.wrt, parts[-len(asked.wrt) :], strict=True):
        got = np.array([a.gradient[n] for a in answers])
        expected = np.reshape(part["values"], got.shape)
        if name == "vec cholesky":  # the adapter gives it the symmetric part, and half of each to either side
            expected = (expected + np.swapaxes(expected, -1, -2)) / 2
        assert got == pytest.approx(expected, rel=2e-5, abs=1e-5)
