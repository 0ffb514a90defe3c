"""The two references share no arithmetic: on random programs each must lie within the other's bound."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from gradfuzz.oracles.base import Point, Question, Truth
from gradfuzz.oracles.references.arb import ArbReference
from gradfuzz.oracles.references.finite_differences import MpmathReference
from gradfuzz.programs.language.precision import Precision
from gradfuzz.programs.text.parse import parse

ARB, MPMATH = ArbReference(), MpmathReference()
PRECISIONS: list[Precision] = ["float32", "float64"]
NUMBERS = st.sampled_from([0.0, 1e-12, -1e-12, 0.5, -0.5, 1.0, 2.0, -3.25, 17.0]) | st.floats(
    -4.0, 4.0, width=32
)
LEAVES = st.sampled_from(["acc", "x", "y", "i", "2.0", "0.1", "-1.5", "3"])
ONE = [
    "sin({a})",
    "cos({a})",
    "tanh({a})",
    "exp(-{a})",
    "log({a}*{a} + 1.5)",
    "sqrt({a}*{a} + 0.5)",
    "abs({a})",
    "-{a}",
    "{a}**2",
    "{a}**-1",
]
TWO = [
    "{a} + {b}",
    "{a} - {b}",
    "{a} * {b}",
    "{a} / {b}",
    "maximum({a}, {b})",
    "minimum({a}, {b})",
    "where({a} < {b}, {b}, -{a})",
]


def _larger(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.builds(
        lambda template, a, b: template.format(a=f"({a})", b=f"({b})"),
        st.sampled_from(ONE + TWO),
        inner,
        inner,
    )


EXPRESSIONS = st.recursive(LEAVES, _larger, max_leaves=5)

LOOPS = {
    "for": "for i in range({n}):\n  t = {e}\n  acc = {f}\n",
    "while": "i = 0\n while i < {n}:\n  t = {e}\n  acc = {f}\n  i = i + 1\n",
    "repeat": "i = 0\n while True:\n  t = {e}\n  acc = {f}\n  i = i + 1\n  if not i < {n}:\n   break\n",
    "by value": "i = 0\n while i < 6 and acc < 2.0:\n  t = {e}\n  acc = {f}\n  i = i + 1\n",
    "branch": (
        "for i in range({n}):\n  t = {e}\n  acc = {f}\n  if acc > x:\n   acc = acc - y\n  else:\n   acc = acc"
        " * 0.5\n"
    ),
    "break": "for i in range({n}):\n  t = {e}\n  if t > 1.5:\n   break\n  acc = {f}\n",
    "vector": (
        "v = stack(acc, y)\n for i in range({n}):\n  acc = v[1]\n  t = {e}\n  v = stack({f}, v[0]*x)\n acc ="
        " sum(v)\n"
    ),
}


@st.composite
def questions(draw: st.DrawFn) -> Question:
    """A loop of some form, differentiated up to three times, with respect to one input or both."""
    body = draw(st.sampled_from(list(LOOPS.values())))
    filled = body.format(
        n=draw(st.integers(0, 4)), e=draw(EXPRESSIONS), f=draw(EXPRESSIONS).replace("acc", "t")
    )
    start = draw(st.sampled_from(["1.0", "x", "1", "x * y"]))
    program = parse(f"def f(x, y):\n acc = {start}\n {filled} return acc, acc * x\n")
    precision = draw(st.sampled_from(PRECISIONS))
    wrt = draw(st.sampled_from([("x",), ("y",), ("x", "y")]))
    points = tuple(
        Point({name: np.asarray(draw(NUMBERS), precision) for name in ("x", "y")}) for _ in range(2)
    )
    weights = (np.asarray(1.0), np.asarray(draw(st.sampled_from([0.0, -0.75, 2.0]))))
    directions = {name: np.asarray(draw(st.sampled_from([1.0, -0.5, 2.0, 0.0]))) for name in wrt}
    return Question(program, points, precision, wrt, ("rev",) * draw(st.integers(0, 3)), weights, directions)


def _pairs(one: Truth, other: Truth) -> list[tuple[float, float, float]]:
    """(value, value, sum of the bounds) for every number that both give."""
    rows = list(zip(one.values, one.value_bounds, other.values, other.value_bounds, strict=True))
    rows += [
        (g, one.bounds[name], other.gradient[name], other.bounds[name]) for name, g in one.gradient.items()
    ]
    return [(float(a), float(b), float(p) + float(q)) for a, p, b, q in rows]


@settings(max_examples=300)
@given(questions())
def test_arb_and_mpmath_agree_within_their_bounds(question: Question) -> None:
    for arb, mpmath in zip(ARB.truth(question), MPMATH.truth(question), strict=True):
        for truth in (arb, mpmath):
            assert truth.status in ("ok", "inconclusive")
            assert truth.kink == truth.message.startswith("kink")
            assert truth.message.split(":")[0] in ("", "kink", "domain", "range", "trip limit")
        if arb.status == "ok" == mpmath.status:
            assert set(arb.gradient) == set(mpmath.gradient)
            assert all(abs(a - b) <= bound for a, b, bound in _pairs(arb, mpmath))
            assert arb.trace == mpmath.trace
        elif arb.status == "ok":
            assert mpmath.message.startswith(
                "range"
            )  # what arb encloses is smooth; mpmath may only shy away from its numbers
