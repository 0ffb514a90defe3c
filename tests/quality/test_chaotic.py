"""Chaotic, saturated and cancelling programs: a right answer is agreed with, or rounding is said to hide it;
it is never accused.

In these programs rounding is all that is left of a derivative, or is amplified by every trip. What a fixed
tolerance makes of them is a false alarm each (a relative one of `x - x`, an absolute one of a product of
forty factors).
"""

from __future__ import annotations

import importlib.util
from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np
import pytest

from gradfuzz.fuzzer.questions.weighted import weighted_question
from gradfuzz.fuzzer.results.finding import CheckResult
from gradfuzz.fuzzer.verdict.evaluator import Evaluator
from gradfuzz.fuzzer.verdict.rounding import sustained
from gradfuzz.oracles.base import Mode, Oracle, Point
from gradfuzz.oracles.registry import resolve
from gradfuzz.programs import parse
from gradfuzz.programs.language.precision import FORMATS, Precision


def loop(step: str, trips: int, start: str = "x", result: str = "y") -> str:
    return (
        f"def f(x):\n    y = {start}\n    for i in range({trips}):\n        y = {step}\n    return {result}\n"
    )


def whole(expression: str) -> str:
    return f"def f(x):\n    return {expression}\n"


PROGRAMS = {
    # Chaos: every trip multiplies the rounding so far
    "logistic map, 60 trips": loop("3.9 * y * (1.0 - y)", 60),
    "logistic map at its most chaotic, 60 trips": loop("4.0 * y * (1.0 - y)", 60),
    "logistic map, 12 trips": loop("3.9 * y * (1.0 - y)", 12),
    "logistic map by its parameter": loop("x * y * (1.0 - y)", 60, "0.3"),
    "tent map": loop("where(y < 0.5, 1.9 * y, 1.9 * (1.0 - y))", 50),
    "doubling by sines": loop("sin(3.0 * y)", 40),
    "Henon map": (
        "def f(x):\n    y = x\n    z = 0.1\n    for i in range(50):\n        w = 1.0 - 1.4 * y * y + z\n     "
        "   z = 0.3 * y\n        y = w\n    return y + z\n"
    ),
    "Muller's recurrence": (
        "def f(x):\n    y = x\n    z = x + 0.5\n    for i in range(25):\n        w = 111.0 - 1130.0 / z +"
        " 3000.0 / (z * y)\n        y = z\n        z = w\n    return z\n"
    ),
    # Saturation: the derivative is below the rounding of 1
    "tanh of exp": whole("tanh(exp(x))"),
    "tanh of exp, twice": whole("tanh(exp(tanh(exp(x))))"),
    "tanh of exp, five times": loop("tanh(exp(y))", 5),
    "tanh, forty times": loop("tanh(y)", 40),
    "slope of tanh": whole("1.0 - tanh(x) * tanh(x)"),
    "sigmoid": whole("1.0 / (1.0 + exp(-x))"),
    "softplus less its asymptote": whole("log(1.0 + exp(x)) - x"),
    "Gaussian": whole("exp(-x * x)"),
    # Cancellation: the derivative is rounding
    "x / x": whole("x / x"),
    "x - x": whole("x - x"),
    "cos(x / x)": whole("cos(x / x)"),
    "(1 + x) - 1": whole("(1.0 + x) - 1.0"),
    "(x + 1e8) - 1e8": whole("(x + 1e8) - 1e8"),
    "exp of log": whole("exp(log(x))"),
    "log of exp": whole("log(exp(x))"),
    "square of the root": whole("sqrt(x) * sqrt(x)"),
    "sin^2 + cos^2": whole("sin(x) * sin(x) + cos(x) * cos(x)"),
    "x^2 / x^2": whole("x ** 2 / x ** 2"),
    "difference of squares": whole("(x + 1.0) * (x - 1.0) - x * x"),
    "expanded sixth power": whole(
        "(x - 1.0) ** 6 - (x ** 6 - 6.0 * x ** 5 + 15.0 * x ** 4 - 20.0 * x ** 3 + 15.0 * x ** 2 - 6.0 * x +"
        " 1.0)"
    ),
    "smaller root of a quadratic": whole("1e4 * x - sqrt(1e8 * x * x - 1.0)"),
    "variance by moments": (
        "def f(x):\n    s = 0.0\n    q = 0.0\n    for i in range(10):\n        s = s + (x + 1000.0)\n       "
        " q = q + (x + 1000.0) * (x + 1000.0)\n    return q / 10.0 - (s / 10.0) * (s / 10.0)\n"
    ),
    "series of exp(-x)": (
        "def f(x):\n    y = 1.0\n    t = 1.0\n    k = 0.0\n    for i in range(60):\n        k = k + 1.0\n    "
        "    t = -t * x / k\n        y = y + t\n    return y\n"
    ),
    "sum that telescopes": (
        "def f(x):\n    y = 0.0\n    for i in range(30):\n        y = y + x\n    for i in range(30):\n       "
        " y = y - x\n    return y\n"
    ),
    # Long products and powers
    "product of 40 factors": loop("y * x", 40, "1.0"),
    "product of 40 different factors": (
        "def f(x):\n    y = 1.0\n    k = -2.0\n    for i in range(40):\n        k = k + 0.1\n        y = y *"
        " (x + k)\n    return y\n"
    ),
    "product of 40 factors and their inverses": (
        "def f(x):\n    y = 1.0\n    for i in range(40):\n        y = y * x\n    for i in range(40):\n       "
        " y = y / x\n    return y\n"
    ),
    "forty factors of an array": 'def f(x: "float[40]"):\n    return prod(x)\n',
    "sum of forty with signs": 'def f(x: "float[40]"):\n    return sum(x * x) - sum(flip(x) * x)\n',
    "repeated squares": loop("y * y", 9),
    "x ** 40": whole("x ** 40"),
    "x ** -40": whole("x ** -40"),
    "roots and as many squares": (
        "def f(x):\n    y = x\n    for i in range(30):\n        y = sqrt(y)\n    for i in range(30):\n       "
        " y = y * y\n    return y\n"
    ),
    "tower of powers": loop("x ** y", 12, "1.0"),
    # Iterations that converge: what came before is forgotten
    "Newton for a root": loop("0.5 * (y + x / y)", 20, "1.0"),
    "Newton for a root, until it is good": (
        "def f(x):\n    y = 1.0 + x * x\n    while abs(y * y - x) > 0.001:\n        y = 0.5 * (y + x / y)\n  "
        "  return y\n"
    ),
    "Newton for a cube root": loop("y - (y * y * y - x) / (3.0 * y * y)", 30, "1.0"),
    "Newton that never converges": loop("y - (y * y + 1.0) / (2.0 * y)", 25),
    "cosine to its fixed point": loop("cos(y)", 80),
    "continued fraction": loop("1.0 + 1.0 / y", 40),
    "mean of means": (
        "def f(x):\n    a = x\n    b = 1.0\n    for i in range(12):\n        m = 0.5 * (a + b)\n        b ="
        " sqrt(a * b)\n        a = m\n    return a - b\n"
    ),
}

POINTS = (
    0.3,
    0.77,
    1.0,
    2.0,
    -0.4,
    10.0,
    0.1,
    0.5,
    1.5,
    3.7,
    -1.9,
    1e-3,
    30.0,
    1e-8,
    100.0,
    1e3,
    -25.0,
    0.999999,
    1.0000001,
    1e5,
)
MODES: tuple[tuple[Mode, ...], ...] = (("rev",), ("fwd",), ("rev", "fwd"), ("fwd", "rev"))
FEW = 3


def points(text: str, precision: Precision, some: Sequence[float]) -> Iterator[Point]:
    """Scalars that the format holds; for an array entries that spread around them."""
    for x in some:
        if abs(x) > FORMATS[precision].largest:
            continue
        value = (
            np.asarray(x) * (1.0 + 0.01 * (np.arange(40) % 7 - 3)) if "float[40]" in text else np.asarray(x)
        )
        yield Point({"x": value.astype(FORMATS[precision].dtype)})


def cases(
    oracle: Oracle,
    evaluator: Evaluator,
    name: str,
    precisions: Sequence[Precision],
    modes: Sequence[tuple[Mode, ...]],
    some: Sequence[float],
) -> Iterator[CheckResult]:
    """Every check of one program, measured in full; what seems wrong is asked about as in a sweep."""
    program = parse(PROGRAMS[name])
    for precision in precisions:
        for steps in modes:
            question = weighted_question(
                program, list(points(PROGRAMS[name], precision, some)), precision, steps
            )
            if oracle.supports(question) is None:
                found = evaluator.cases(oracle.name, question, oracle.answer(question), thorough=True)
                for place, case in enumerate(found):
                    wrong = case.verdict.is_wrong
                    yield sustained(case, question, place, oracle, evaluator) if wrong else case


def check(found: Sequence[CheckResult]) -> Counter[str]:
    """Nothing is accused. The counts of verdicts, and of reasons."""
    for case in found:
        assert not case.verdict.is_wrong, (
            f"{case.oracle}: {case.kind} {case.message} expected {case.expected} got {case.got}, error over"
            f" allowed {case.error_over_allowed}, at {case.point.inputs} {case.question.precision}"
            f" {case.question.modes}\n{case.question.program}"
        )
    return Counter(c.verdict.value if c.reason is None else f"inconclusive: {c.reason.name}" for c in found)


@pytest.fixture(scope="module")
def evaluator() -> Evaluator:
    return Evaluator()


needs = {
    name: pytest.mark.skipif(importlib.util.find_spec(name) is None, reason=f"{name} is not installed")
    for name in ("jax", "torch")
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_engine(name: str, evaluator: Evaluator) -> None:
    (engine,) = resolve("engine")
    found = list(cases(engine, evaluator, name, ("float64", "float32"), MODES[:3], POINTS[:FEW]))
    assert len(found) == 2 * 3 * FEW
    check(found)


@needs["torch"]
@pytest.mark.parametrize("name", list(PROGRAMS)[::3])
def test_torch(name: str, evaluator: Evaluator) -> None:
    (torch,) = resolve("torch:eager")
    check(list(cases(torch, evaluator, name, ("float32",), MODES[:2], POINTS[:FEW])))


@needs["jax"]
@pytest.mark.parametrize(
    "name", ["logistic map, 60 trips", "tanh of exp, twice", "x / x", "product of 40 factors"]
)
def test_jax(name: str, evaluator: Evaluator) -> None:
    (jax,) = resolve("jax:unrolled")
    check(list(cases(jax, evaluator, name, ("float32",), MODES[:1], POINTS[:2])))


@pytest.mark.slow
@pytest.mark.parametrize(
    "way",
    [
        "engine",
        *(pytest.param(way, marks=needs["torch"]) for way in ("torch:eager", "torch:func")),
        pytest.param("jax:unrolled", marks=needs["jax"]),
    ],
)
def test_all_of_them(way: str, evaluator: Evaluator) -> None:
    """Every program at every point: in four formats and all modes by the engine and Torch, in two and first
    order by JAX.
    """
    (oracle,) = resolve(way)
    precisions: tuple[Precision, ...] = (
        ("float64", "float32") if way == "jax:unrolled" else ("float64", "float32", "bfloat16", "float16")
    )
    modes = MODES[:2] if way == "jax:unrolled" else MODES
    total: Counter[str] = Counter()
    for name in PROGRAMS:
        total += check(list(cases(oracle, evaluator, name, precisions, modes, POINTS)))
    print(f"\n{way}: {total.total():,} checks, {dict(total.most_common())}")
    assert total["agree"] > 0.25 * total.total()
