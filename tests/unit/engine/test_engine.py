"""The engine's public functions against closed forms and against mpmath's own differentiation."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest

from gradfuzz import engine
from gradfuzz.engine import compile, derivative, to_source
from gradfuzz.engine.rules.jvp import JVP
from gradfuzz.engine.rules.vjp import VJP, VJP_SEVERAL
from gradfuzz.errors import (
    DomainError,
    GradfuzzError,
    NotDifferentiableError,
    ProgramTypeError,
    TripLimitError,
    UsageError,
)
from gradfuzz.programs import OPS, interpret, loop_program, lower, parse, to_text, typecheck
from gradfuzz.programs.arithmetic.numpy_namespace import NumpyNamespace
from gradfuzz.programs.language.functions import FUNCTIONS

BODIES: dict[str, Callable[[Any, Any], Any]] = {
    "acc*x": lambda a, x: a * x,
    "acc/x + x**3": lambda a, x: a / x + x**3,
    "sin(acc*x)": lambda a, x: mpmath.sin(a * x),
    "t = acc*x; acc = tanh(t) + t*t": lambda a, x: mpmath.tanh(a * x) + (a * x) ** 2,
    "exp(acc*x) - log(1.0 + x*x)": lambda a, x: mpmath.exp(a * x) - mpmath.log(1 + x * x),
    "sqrt(acc*acc + x) * cos(x)": lambda a, x: mpmath.sqrt(a * a + x) * mpmath.cos(x),
    "tan(x) + (1.0 + acc*acc)**x": lambda a, x: mpmath.tan(x) + (1 + a * a) ** x,
}


def _iterated(body: Callable[[Any, Any], Any], trips: int) -> Callable[[Any], Any]:
    def f(x: Any) -> Any:
        acc = mpmath.mpf(1)
        for _ in range(trips):
            acc = body(acc, x)
        return acc

    return f


@pytest.mark.parametrize("text", BODIES)
@pytest.mark.parametrize("trips", [0, 1, 3])
@pytest.mark.parametrize("loop", ["for", "while", "repeat"])
def test_every_mix_of_modes_to_third_order(text: str, trips: int, loop: Any) -> None:
    if loop == "repeat" and trips == 0:
        with pytest.raises(Exception, match="at least once"):
            loop_program(text, trips=0, loop="repeat")
        return
    program = loop_program(text, trips=trips, loop=loop)
    with mpmath.workdps(40):
        f = _iterated(BODIES[text], trips)
        expected = [float(mpmath.diff(f, mpmath.mpf(0.625), k)) for k in (1, 2, 3)]
    for order in (1, 2, 3):
        for modes in itertools.product(("fwd", "rev"), repeat=order):
            weights = [1.0] if order == 1 else [1.0, 1.0]
            got = compile(derivative(program, wrt=("x",), modes=modes))(0.625, *weights)[1]
            # A few hundred roundings of terms no larger than the largest derivative: 1e-11 of it is far above
            # them.
            assert abs(got - expected[order - 1]) <= 1e-11 * max(map(abs, expected)), modes


def test_every_op_has_both_rules_or_none() -> None:
    smooth = {name for name, op in OPS.items() if op.smooth}
    assert smooth == {*VJP, *VJP_SEVERAL}
    assert smooth == set(JVP)


def cube(x: Any) -> Any:
    return engine.fori_loop(0, 3, lambda i, acc: acc * x, 1.0)


def test_derivatives_compose() -> None:
    assert engine.grad(cube)(0.5) == 0.75
    assert engine.grad(engine.grad(cube))(0.5) == 3.0
    assert engine.grad(engine.grad(engine.grad(cube)))(0.5) == 6.0
    assert engine.hessian(cube)(0.5) == 3.0
    assert engine.value_and_grad(cube)(2) == (8.0, 12.0)


def test_a_derivative_inside_a_function_that_closes_over_the_outer_argument() -> None:
    def f(x: Any) -> Any:
        return x * engine.grad(lambda y: x * y * y)(2.0)  # x * 4x

    assert engine.grad(f)(3.0) == 24.0


def test_jacobian_by_both_modes_and_hessian() -> None:
    v = np.array([0.25, 0.75, -1.5])

    def f(v: Any) -> Any:
        return v * v[1]

    expected = np.diag([v[1]] * 3) + np.outer(v, [0, 1, 0])
    assert np.array_equal(engine.jacobian(f)(v), expected)
    assert np.array_equal(engine.jacobian(f, mode="fwd")(v), expected)
    assert np.array_equal(engine.hessian(lambda v: engine.sum(v * v * v))(v), np.diag(6 * v))


def test_vjp_and_jvp_with_several_outputs() -> None:
    def f(x: Any, y: Any) -> Any:
        return x * y, x

    values, pullback = engine.vjp(f, 2.0, 3.0)
    assert values == (6.0, 2.0)
    assert pullback(1.0, 0.5) == (3.5, 2.0)
    assert engine.jvp(f, (2.0, 3.0), (1.0, None)) == ((6.0, 2.0), (3.0, 1.0))
    with pytest.raises(UsageError, match="2 cotangents"):
        pullback(1.0)


@pytest.mark.parametrize("x", [-1e4, -800.0, -3.0, 1e-3, 0.5, 710.0, 1e4])
@pytest.mark.parametrize("n", [0, 1])
def test_scaled_bessel_functions_beyond_the_range_of_exp(n: int, x: float) -> None:
    """exp(-|x|) I_n(x) to second order, where exp(|x|) leaves the range, too."""
    f = parse(f"def f(x):\n    return i{n}e(x)\n")
    first = engine.grad(f)
    with mpmath.workdps(60):

        def exact(t: Any) -> Any:
            return mpmath.exp(-abs(t)) * mpmath.besseli(n, t)

        expected = [float(mpmath.diff(exact, x, k)) for k in (1, 2)]
    lost = max(1.0, abs(x))  # the terms of each order cancel to a share of 1 / x
    assert first(x) == pytest.approx(expected[0], rel=1e-14 * lost)
    assert engine.grad(first)(x) == pytest.approx(expected[1], rel=1e-14 * lost**2)


def test_loops_run_plainly_and_traced() -> None:
    def grow(x: Any) -> Any:
        return engine.while_loop(lambda c: c[0] < 10.0, lambda c: (c[0] * x + 1.0, c[1] + 1), (1, 0))[0]

    # 1 -> x+1 -> x^2+x+1 -> ... at 1.5: 2.5, 4.75, 8.125, 13.1875; the derivative of x^4+x^3+x^2+x+1
    assert grow(1.5) == 13.1875
    assert engine.grad(grow)(1.5) == 4 * 1.5**3 + 3 * 1.5**2 + 2 * 1.5 + 1
    double = engine.grad(lambda x: engine.repeat_while(lambda c: c * x, lambda c: c < 10.0, x))
    assert double(2.0) == 4 * 2.0**3
    assert double(11.0) == 22.0, "one trip at least"


def test_cond_differentiates_the_side_that_runs() -> None:
    f = engine.grad(lambda x: engine.cond(x > 1.0, lambda: engine.sqrt(x - 1.0), lambda: engine.sin(x)))
    assert f(2.0) == 0.5
    assert f(0.5) == math.cos(0.5), "the root of a negative number is never taken"


def test_scan_is_horner() -> None:
    xs = np.array([1.0, 2.0, 3.0])

    def f(x: Any) -> Any:
        carry, ys = engine.scan(lambda c, xi: (c * x + xi, c * xi), 1.0, xs)
        return carry + engine.sum(ys)

    x = 0.5
    # carry: x^3 + x^2 + 2x + 3; ys: 1, 2(x+1), 3(x^2+x+2)
    assert engine.grad(f)(x) == (3 * x**2 + 2 * x + 2) + 2 + 3 * (2 * x + 1)


def test_numpy_functions_on_traced_values() -> None:
    assert engine.grad(lambda x: np.sin(x) * 2.0)(0.0) == 2.0
    assert engine.grad(lambda x: np.arctan(x))(0.0) == 1.0
    with pytest.raises(NotDifferentiableError, match="spacing"):
        engine.grad(lambda x: np.spacing(x))(0.5)


def test_trace_makes_a_program() -> None:
    program = engine.trace(cube, 0.5)
    assert parse(to_text(program)) == program
    assert interpret(program, {"x": np.float64(0.5)}, NumpyNamespace()) == (0.125,)


@pytest.mark.parametrize(
    ("f", "error", "message"),
    [
        (lambda x: 1.0 if x > 0 else 2.0, NotDifferentiableError, "engine.cond"),
        (lambda x: (x, x), NotDifferentiableError, "one float scalar"),
        (lambda x: x + "a", Exception, "a"),
        (lambda x: engine.while_loop(lambda c: c, lambda c: c, x), ProgramTypeError, "bool"),
        (lambda x: engine.fori_loop(0, 2, lambda i, c: (c, c), x), ProgramTypeError, "2 values"),
    ],
)
def test_what_cannot_be_differentiated_says_so(f: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        engine.grad(f)(1.0)


def test_wrong_names_and_trip_limits() -> None:
    program = loop_program("acc*x", trips=3)
    with pytest.raises(UsageError, match="float and complex parameters are x"):
        derivative(program, wrt=("y",), modes=("rev",))
    endless = parse("def f(x):\n    while x < 2.0:\n        x = x * 1.0\n    return x\n")
    with pytest.raises(TripLimitError, match="100 trips"):
        compile(lower(endless), trip_limit=100)(1.0)
    outside = parse('def f(v: "float[3]", n: "int"):\n    return v[n]\n')
    with pytest.raises(DomainError, match="inside its array"):
        compile(lower(outside))(np.ones(3), 3)


@pytest.mark.parametrize(
    ("body", "x", "value", "gradient"),
    [
        ("acc / x", 0.0, math.inf, -math.inf),
        ("exp(acc * x)", 1e4, math.inf, math.inf),
        ("log(x)", 0.0, -math.inf, math.inf),
        ("acc + x*x", 1e200, math.inf, 2e200),
    ],
)
def test_scalars_keep_ieee_semantics(body: str, x: float, value: float, gradient: float) -> None:
    got = compile(derivative(loop_program(body, trips=1), wrt=("x",), modes=("rev",)))(x, 1.0)
    assert got == (value, gradient)


def _of_scalars() -> list[str]:
    """A use of every op that makes a scalar of float scalars."""
    found = []
    for op, arguments in itertools.product(OPS, ("x", "x, y", "x, y, 2.0")):
        try:
            (output,) = typecheck(parse(f"def f(x, y):\n    return {op}({arguments})\n")).outputs
        except GradfuzzError:
            continue
        found += [f"{op}({arguments})"] if not output.shape else []
    return found


@pytest.mark.parametrize("expression", _of_scalars())
def test_what_an_op_says_of_scalars_does_not_depend_on_the_dialect(expression: str) -> None:
    """Python's floats against NumPy's, with and without a derivative."""
    program = parse(f"def f(x, y):\n    return {expression}\n")
    types = typecheck(program).outputs
    graphs = [lower(program), *(derivative(program, wrt=("x",), modes=("rev",)) for t in types if t.is_float)]
    for graph in graphs:
        arguments = [0.75, 0.5] + [1.0] * (len(graph.inputs) - 2)
        careful = compile(graph)
        careful._fast = None
        for fast, slow in zip(compile(graph)(*arguments), careful(*arguments), strict=True):
            # The kernels of special functions differ by some roundings between `math` and SciPy.
            row = FUNCTIONS.get(expression.partition("(")[0])
            rtol = 4e-15 if row is not None and row.conditioned else 1e-15
            np.testing.assert_allclose(fast, slow, rtol=rtol)


def test_float32_is_float32() -> None:
    function = compile(
        derivative(loop_program("acc*x + 0.1", trips=3), wrt=("x",), modes=("rev",)), precision="float32"
    )
    assert [type(r) for r in function(0.5, 1.0)] == [np.float32, np.float32]


def test_source_is_what_a_person_would_write() -> None:
    text = to_source(derivative(loop_program("sin(acc*x)", trips=3), wrt=("x",), modes=("rev",)))
    assert text == (
        "def run(x, weight):\n"
        "    acc = 1.0\n"
        "    acc_1 = []\n"
        "    push_acc_1 = acc_1.append\n"
        "    for _ in range(3):\n"
        "        push_acc_1(acc)\n"
        "        acc = sin(acc * x)\n"
        "    x_bar, acc_bar = 0.0, weight\n"
        "    for acc_2 in reversed(acc_1):\n"
        "        t = acc_bar * cos(acc_2 * x)\n"
        "        x_bar, acc_bar = x_bar + (t * acc_2), t * x\n"
        "    return (acc, x_bar, )\n"
    )
