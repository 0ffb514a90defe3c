"""Named batch axes, `vmap` and `check_vectorized`."""

from __future__ import annotations

import functools
import itertools
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import mpmath
import numpy as np
import pytest

from gradfuzz import engine
from gradfuzz.engine import check_vectorized, devectorize, grad, rename, value_and_grad, vectorize, vmap
from gradfuzz.engine.rules.value import apply
from gradfuzz.errors import NotDifferentiableError, UsageError
from gradfuzz.programs import OPS, parse

EPS = float(np.finfo(np.float64).eps)

# The recorded cases -----------------------------------------------------------------------------------------

RECORDED = json.loads(
    (Path(__file__).parents[2] / "data" / "nx_vectorized.json").read_text(encoding="utf-8")
)["cases"]
X, Y = vectorize(np.array([2.0, 5.0]), "foo"), vectorize(np.array([3.0, 4.0]), "bar")
SAME = vectorize(np.array([3.0, 4.0]), "foo")
ROWS = vectorize(np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]), "foo")
MATRICES = np.array([[[4.0, 2.0], [2.0, 5.0]], [[9.0, 3.0], [3.0, 10.0]]])
GENERAL = np.array([[[1.0, 2.0], [3.0, 4.0]], [[5.0, 6.0], [7.0, 8.0]]])
SQUARES = vectorize(MATRICES, "batch")
FOO_BAR = {"foo": 2, "bar": 2}


@dataclass(frozen=True)
class Case:
    """A recorded case: the function, its arguments, the true gradients (computed here) and their axes."""

    f: Callable[..., Any]
    args: tuple[Any, ...]
    true: Callable[[], list[Any]]
    axes: dict[str, int]
    needs: tuple[str, ...] = ()
    symmetric: bool = False
    """Only the symmetric part of the gradient is determined: the function is one of symmetric matrices."""

    def determined(self, gradient: Any) -> Any:
        return gradient + np.swapaxes(gradient, -1, -2) if self.symmetric else gradient


def outer(f: Callable[[float, float], float]) -> np.ndarray:
    return np.array([[f(x, y) for y in (3.0, 4.0)] for x in (2.0, 5.0)])


def differences(f: Callable[[Any], Any], matrices: Any = MATRICES) -> list[Any]:
    """The gradient of a function of a 2 x 2 mpmath matrix at both of `matrices`, by central differences with
    60 digits.
    """
    gradients = []
    with mpmath.workdps(60):
        h = mpmath.mpf(10) ** -20
        for a in matrices:
            result = np.zeros((2, 2))
            for i, j in np.ndindex(2, 2):
                sides = []
                for sign in (1, -1):
                    m = mpmath.matrix(a.tolist())
                    m[i, j] += sign * h
                    sides.append(f(m))
                result[i, j] = float((sides[0] - sides[1]) / (2 * h))
            gradients.append(result)
    return [np.array(gradients)]


def total(m: Any) -> Any:
    return mpmath.fsum(list(m))


def cholesky_of_lower(m: Any) -> Any:
    """Of the symmetric matrix that has the lower triangle of `m`."""
    a, b, d = m[0, 0], m[1, 0], m[1, 1]
    return mpmath.sqrt(a) + b / mpmath.sqrt(a) + mpmath.sqrt(d - b * b / a)


def symmetrized(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda m: f((m + m.T) / 2)


def eigenvalue_squares(m: Any) -> Any:
    return mpmath.fsum(w * w for w in mpmath.eigsy(m, eigvals_only=True))


def qr_sum(m: Any) -> Any:
    """The sum of all entries of Q and R, where R has a positive diagonal: signs are not unique."""
    q, r = mpmath.qr(m)
    return mpmath.fsum(mpmath.sign(r[k, k]) * (q[i, k] + r[k, i]) for k in range(2) for i in range(2))


def our_qr_sum(a: Any) -> Any:
    q, r = op("qr", a, part=0), op("qr", a, part=1)
    signs = engine.sign(op("diagonal", r))
    return engine.sum(q * signs) + engine.sum(engine.reshape(signs, (2, 1)) * r)


def lower_solution(m: Any) -> Any:
    """The sum of the solution of the lower triangular system with a right side of ones."""
    first = 1 / m[0, 0]
    return first + (1 - m[1, 0] * first) / m[1, 1]


def op(name: str, *args: Any, **params: Any) -> Any:
    return apply(name, *args, **params)


def power_loop(x: Any) -> Any:
    return engine.while_loop(lambda c: c[1] < 3, lambda c: (c[0] * x, c[1] + 1), (1.0, 0))[0]


BATCHED_ONES = [np.ones((2, 3))]
CASES: dict[str, Case] = {
    "het mul sum(x*y)": Case(
        lambda x, y: engine.sum(x * y),
        (X, Y),
        lambda: [outer(lambda x, y: y), outer(lambda x, y: x)],
        FOO_BAR,
    ),
    "het mul no sum": Case(
        lambda x, y: x * y, (X, Y), lambda: [outer(lambda x, y: y), outer(lambda x, y: x)], FOO_BAR
    ),
    "het mul 2x3": Case(
        lambda x, y: x * y,
        (X, vectorize(np.array([3.0, 4.0, 7.0]), "bar")),
        lambda: [np.array([[3.0, 4.0, 7.0]] * 2), np.array([[2.0] * 3, [5.0] * 3])],
        {"foo": 2, "bar": 3},
    ),
    "het add": Case(lambda x, y: x + y, (X, Y), lambda: [np.ones((2, 2))] * 2, FOO_BAR),
    "het sin(add)": Case(
        lambda x, y: engine.sin(x + y),
        (X, Y),
        lambda: [outer(lambda x, y: float(mpmath.cos(x + y)))] * 2,
        FOO_BAR,
    ),
    "het x^2*y": Case(
        lambda x, y: x**2 * y,
        (X, Y),
        lambda: [outer(lambda x, y: 2 * x * y), outer(lambda x, y: x * x)],
        FOO_BAR,
    ),
    "same-axis mul": Case(
        lambda x, y: x * y, (X, SAME), lambda: [np.array([3.0, 4.0]), np.array([2.0, 5.0])], {"foo": 2}
    ),
    "vec * nonvec scalar": Case(
        lambda x, s: x * s, (X, 1.5), lambda: [np.array([1.5, 1.5]), np.array([2.0, 5.0])], {"foo": 2}
    ),
    "vec inner dim sum(x*x)": Case(lambda x: engine.sum(x * x), (ROWS,), lambda: [2 * ROWS.data], {"foo": 2}),
    "vec inner * scalar, sum": Case(
        lambda x, s: engine.sum(x * s),
        (ROWS, 1.5),
        lambda: [np.full((2, 3), 1.5), np.array([6.0, 15.0])],
        {"foo": 2},
    ),
    "vec mean": Case(lambda x: engine.mean(x * x), (ROWS,), lambda: [2 * ROWS.data / 3], {"foo": 2}),
    "vec softmax-like logsumexp": Case(
        lambda x: engine.log(engine.sum(engine.exp(x))),
        (ROWS,),
        lambda: [
            np.array(
                [[float(mpmath.exp(a) / sum(map(mpmath.exp, r))) for a in r] for r in ROWS.data.tolist()]
            )
        ],
        {"foo": 2},
    ),
    "vec prod": Case(
        engine.prod, (ROWS,), lambda: [np.array([[6.0, 3.0, 2.0], [30.0, 24.0, 20.0]])], {"foo": 2}
    ),
    "vec max": Case(
        lambda x: op("amax", x), (ROWS,), lambda: [np.array([[0.0, 0.0, 1.0]] * 2)], {"foo": 2}, ("amax",)
    ),
    "vec second order x^3": Case(grad(lambda x: x**3), (X,), lambda: [np.array([12.0, 30.0])], {"foo": 2}),
    "vec while x^3": Case(power_loop, (X,), lambda: [np.array([12.0, 75.0])], {"foo": 2}),
    "value_and_grad vec": Case(lambda x: x * x, (X,), lambda: [np.array([4.0, 10.0])], {"foo": 2}),
    "nonvec in, vec capture out": Case(lambda s: s * X, (3.0,), lambda: [np.array([2.0, 5.0])], {"foo": 2}),
    "vec capture, vec target (same axis)": Case(
        lambda x: x * x * SAME, (X,), lambda: [np.array([12.0, 40.0])], {"foo": 2}
    ),
    "devectorize inside, sum": Case(
        lambda x: engine.sum(devectorize(x) * 2.0), (ROWS,), lambda: [np.full((2, 3), 2.0)], {"foo": 2}
    ),
    "devectorize then re-vectorize other name": Case(
        lambda x: engine.sum(vectorize(devectorize(x), "other") * 3.0),
        (ROWS,),
        lambda: [np.full((2, 3), 3.0)],
        {"foo": 2},
    ),
    "hidden vec rename a:4,b:2": Case(
        lambda x: engine.sum(vectorize(devectorize(x), "a", "b")),
        (vectorize(np.arange(24.0).reshape(4, 2, 3), "batch"),),
        lambda: [np.ones((4, 2, 3))],
        {"batch": 4},
    ),
    "cross-instance: devectorize, cumulative product over batch": Case(
        lambda x: engine.prod(devectorize(x)), (X,), lambda: [np.array([5.0, 2.0])], {"foo": 2}
    ),
    "two vec axes sum(x*x)": Case(
        lambda x: engine.sum(x * x),
        (vectorize(np.arange(1.0, 9.0).reshape(2, 2, 2), "a", "b"),),
        lambda: [2 * np.arange(1.0, 9.0).reshape(2, 2, 2)],
        {"a": 2, "b": 2},
    ),
    "vec qr": Case(
        our_qr_sum,
        (vectorize(GENERAL, "batch"),),
        lambda: differences(qr_sum, GENERAL),
        {"batch": 2},
        ("qr",),
    ),
    "vec cholesky": Case(
        lambda a: engine.sum(op("cholesky", a)),
        (SQUARES,),
        lambda: differences(cholesky_of_lower),
        {"batch": 2},
        ("cholesky",),
        True,
    ),
    "vec eigh sum(s)": Case(
        lambda a: engine.sum(op("eigh", a, part=0)),
        (SQUARES,),
        lambda: [np.stack([np.eye(2)] * 2)],
        {"batch": 2},
        ("eigh",),
        True,
    ),
    "vec eigh sum(s^2)": Case(
        lambda a: engine.sum(op("eigh", a, part=0) ** 2),
        (SQUARES,),
        lambda: differences(symmetrized(eigenvalue_squares)),
        {"batch": 2},
        ("eigh",),
        True,
    ),
    "vec invert": Case(
        lambda a: engine.sum(op("inv", a)),
        (SQUARES,),
        lambda: differences(lambda m: total(m**-1)),
        {"batch": 2},
        ("inv",),
    ),
    "vec triangular_solve": Case(
        lambda a: engine.sum(op("triangular_solve", a, np.ones((2, 1)))),
        (SQUARES,),
        lambda: differences(lower_solution),
        {"batch": 2},
        ("triangular_solve",),
    ),
    "vec determinant": Case(
        lambda a: op("det", a), (SQUARES,), lambda: differences(mpmath.det), {"batch": 2}, ("det",)
    ),
    "vec gather/take": Case(
        lambda x: engine.sum(op("take", x, np.array([0, 2, 0]), axis=0)),
        (ROWS,),
        lambda: [np.array([[2.0, 0.0, 1.0]] * 2)],
        {"foo": 2},
        ("take",),
    ),
    "vec index a[1]": Case(
        lambda x: x[1] ** 2, (ROWS,), lambda: [np.array([[0.0, 4.0, 0.0], [0.0, 10.0, 0.0]])], {"foo": 2}
    ),
    "vec concatenate": Case(
        lambda x: engine.sum(engine.concat([x, x * 2.0])), (ROWS,), lambda: [np.full((2, 3), 3.0)], {"foo": 2}
    ),
    "vec sort weighted": Case(
        lambda x: engine.sum(op("sort", x) * np.array([1.0, 10.0, 100.0])),
        (vectorize(np.array([[3.0, 2.0, 1.0], [6.0, 5.0, 4.0]]), "foo"),),
        lambda: [np.array([[100.0, 10.0, 1.0]] * 2)],
        {"foo": 2},
        ("sort",),
    ),
    "vec dot capture": Case(
        lambda x: x @ np.array([1.0, 2.0, 3.0]),
        (ROWS,),
        lambda: [np.array([[1.0, 2.0, 3.0]] * 2)],
        {"foo": 2},
    ),
    "het outer via dot vec len3": Case(
        lambda x, y: engine.sum(x * y),
        (
            vectorize(np.array([[1.0, 2.0], [3.0, 4.0]]), "foo"),
            vectorize(np.array([[5.0, 6.0], [7.0, 8.0], [9.0, 10.0]]), "bar"),
        ),
        lambda: [
            np.array([[[5.0, 6.0], [7.0, 8.0], [9.0, 10.0]]] * 2),
            np.array([[[1.0, 2.0]] * 3, [[3.0, 4.0]] * 3]),
        ],
        {"foo": 2, "bar": 3},
    ),
    "het with unused second var": Case(
        lambda x, y: x * x, (X, Y), lambda: [outer(lambda x, y: 2 * x), np.zeros((2, 2))], FOO_BAR
    ),
    "clip grad": Case(
        lambda x: engine.sum(op("clip", x, 1.0, 4.0) * 3.0),
        (np.array([2.0, 0.0, 5.0]),),
        lambda: [np.array([3.0, 0.0, 0.0])],
        {},
        ("clip",),
    ),
}


def test_every_recorded_case_is_here() -> None:
    assert {c["case"] for c in RECORDED} == set(CASES)


def test_the_truth_beside_what_was_recorded() -> None:
    for recorded in RECORDED:
        case = CASES[recorded["case"]]
        assert recorded.get("symmetric", False) == case.symmetric
        for kept, true in zip(recorded["truth"], case.true(), strict=True):
            assert kept == pytest.approx(np.ravel(true), rel=1e-12)


def gradients(case: Case) -> list[Any]:
    return list(grad(case.f, range(len(case.args)))(*case.args))


@pytest.mark.parametrize("name", CASES)
def test_recorded_case(name: str) -> None:
    case = CASES[name]
    for needed in case.needs:
        if needed not in OPS:
            pytest.skip(f"the language has no {needed}")
    for got, expected in zip(gradients(case), case.true(), strict=True):
        assert (got.sizes if case.axes else {}) == case.axes
        # A few dozen roundings at most in any of them, all of numbers no larger than the gradient's largest
        # by ten.
        allowed = 1000 * EPS * np.max(np.abs(expected))
        assert case.determined(devectorize(got)) == pytest.approx(
            case.determined(expected), rel=0, abs=allowed
        )


WRONG = {
    "vec while x^3": "the loop's cotangents swept in forward order",
    "vec eigh sum(s^2)": "the off-diagonal entries lost",
    "clip grad": "the cotangent squared",
}


def test_where_the_recorded_figures_were_wrong_the_true_ones_differ() -> None:
    for recorded in RECORDED:
        case, after = CASES[recorded["case"]], recorded["after_1731"]
        if any(needed not in OPS for needed in case.needs) or "exception" in after:
            continue
        parts = after if isinstance(after, list) else [after]
        if recorded["case"] == "value_and_grad vec":
            parts = parts[1:]
        agree = all(
            np.allclose(
                case.determined(true),
                case.determined(np.reshape(part["values"], np.shape(true))),
                rtol=1e-4,
                atol=1e-4,
            )
            for true, part in zip(case.true(), parts, strict=True)
        )
        assert agree == (recorded["case"] not in WRONG), recorded["case"]


# What else holds --------------------------------------------------------------------------------------------


def test_value_and_gradient() -> None:
    value, gradient = value_and_grad(lambda x: x * x)(X)
    assert value.axes == gradient.axes == ("foo",)
    assert np.array_equal(value.data, [4.0, 25.0])
    assert np.array_equal(gradient.data, [4.0, 10.0])


def test_axes_are_in_the_order_of_first_appearance() -> None:
    assert (X * Y).axes == ("foo", "bar")
    assert (Y * X).axes == ("bar", "foo")
    assert np.array_equal((Y * X).data, np.outer([3.0, 4.0], [2.0, 5.0]))
    gx, gy = grad(lambda x, y: y * x, (0, 1))(X, Y)
    assert gx.axes == gy.axes == ("foo", "bar")


def test_every_instance_takes_as_many_trips_as_it_wants() -> None:
    def grow(x: Any) -> Any:
        return engine.while_loop(lambda a: a < 20.0, lambda a: a * x, 1.0)

    def double(x: Any) -> Any:
        return engine.repeat_while(lambda a: a * x, lambda a: a < 10.0, x)

    xs = vectorize(np.array([2.0, 5.0, 30.0, 1.5]), "foo")
    # x^5, x^2, x^1 and x^8
    assert np.array_equal(grad(grow)(xs).data, [5 * 2.0**4, 10.0, 1.0, 8 * 1.5**7])
    assert np.array_equal(grow(xs).data, [32.0, 25.0, 30.0, 1.5**8])
    # x^4, x^2, x^2 and x^6
    assert np.array_equal(grad(double)(xs).data, [4 * 2.0**3, 10.0, 60.0, 6 * 1.5**5])
    counts = vectorize(np.array([3, 0, 1, 2]), "foo")
    powers = grad(lambda x: engine.fori_loop(0, counts, lambda i, a: a * x, 1.0))
    assert np.array_equal(powers(xs).data, [12.0, 0.0, 1.0, 3.0])
    assert np.array_equal(grad(grad(grow))(xs).data, [20 * 2.0**3, 2.0, 0.0, 56 * 1.5**6])


def test_loops_outside_of_a_trace() -> None:
    assert np.array_equal(engine.while_loop(lambda a: a < 20.0, lambda a: a * X, 1.0).data, [32.0, 25.0])
    assert np.array_equal(engine.fori_loop(0, 3, lambda i, a: a * X, 1.0).data, [8.0, 125.0])
    assert np.array_equal(engine.cond(X > 3.0, lambda: X, lambda: -X).data, [-2.0, 5.0])
    carry, ys = engine.scan(lambda c, row: (c * X + row, c), 1.0, np.array([1.0, 2.0]))
    assert np.array_equal(carry.data, [2.0 * 3 + 2, 5.0 * 6 + 2])
    assert np.array_equal(ys.data, [[1.0, 3.0], [1.0, 6.0]])


def test_a_branch_that_instances_take_to_different_sides() -> None:
    f = grad(lambda x: engine.cond(x > 3.0, lambda: engine.sqrt(x - 3.0), lambda: engine.log(3.0 - x)))
    xs = vectorize(np.array([2.0, 7.0]), "foo")
    assert np.array_equal(f(xs).data, [-1.0, 0.25])
    assert np.array_equal(grad(f)(xs).data, [-1.0, -1 / 32])


def test_no_nan_from_an_instance_that_is_done(seed: int) -> None:
    """n - k is 0 where an instance has stopped."""

    def f(x: Any, n: Any) -> Any:
        return engine.while_loop(
            lambda c: c[1] < n,
            lambda c: (c[0] * x / (n - c[1]) + engine.sqrt(x * (n - c[1])), c[1] + 1),
            (x, 0),
        )[0]

    xs = vectorize(np.random.default_rng(seed).uniform(0.5, 2.0, 4), "foo")
    ns = vectorize(np.array([3, 2, 0, 1]), "foo")
    check_vectorized(f, xs, ns)
    check_vectorized(lambda x, n: grad(f)(x, n), xs, ns)
    assert np.all(np.isfinite(grad(f)(xs, ns).data))


def test_a_finished_instance_with_an_infinite_derivative_of_its_own() -> None:
    """sqrt at 0: the third instance's derivative is infinite and must not touch the others."""

    def f(x: Any, n: Any) -> Any:
        return engine.fori_loop(0, n, lambda i, a: engine.sqrt(a), x)

    xs, ns = vectorize(np.array([4.0, 16.0, 0.0]), "foo"), vectorize(np.array([1, 2, 1]), "foo")
    got = grad(f)(xs, ns).data
    assert np.array_equal(got[:2], [0.25, 0.5 / 4 * 0.5 / 2])
    assert not np.isfinite(got[2])


def test_hidden_axes_are_split_merged_and_renamed() -> None:
    x = vectorize(np.arange(24.0).reshape(4, 2, 3), "batch")

    def split(x: Any) -> Any:
        return engine.sum(vectorize(engine.reshape(devectorize(x), (2, 2, 2, 3)), "a", "b") ** 2)

    def merge(x: Any) -> Any:
        return engine.sum(vectorize(engine.reshape(devectorize(x), (8, 3)), "ab") ** 3)

    def back_again(x: Any) -> Any:
        hidden = engine.sum(vectorize(devectorize(x), "a", "b") ** 2)
        return engine.sum(vectorize(devectorize(hidden), "batch"))

    for f, expected in ((split, 2 * x.data), (merge, 3 * x.data**2), (back_again, 2 * x.data)):
        got = grad(f)(x)
        assert got.sizes == {"batch": 4}
        assert np.array_equal(got.data, expected)
    assert rename(x, {"batch": "other"}).axes == ("other",)
    got = grad(lambda x: engine.sum(rename(x, {"batch": "other"}) ** 2))(x)
    assert got.axes == ("batch",)
    assert np.array_equal(got.data, 2 * x.data)


def test_second_order_with_different_axes() -> None:
    mixed = grad(grad(lambda x, y: x**3 * y**2, 0), 1)
    got = mixed(X, Y)
    assert got.sizes == {"foo": 2, "bar": 2}
    assert np.array_equal(got.data, outer(lambda x, y: 6 * x * x * y))
    unused = grad(grad(lambda x, y: x**2, 0), 1)(X, Y)
    assert np.array_equal(unused.data, np.zeros((2, 2)))


def test_a_capture_that_reaches_no_result_adds_no_axis() -> None:
    got = grad(lambda s: s * engine.sum(devectorize(Y * 2.0)))(3.0)
    assert got == 14.0


def test_jacobian_hessian_vjp_and_jvp_of_instances() -> None:
    v = ROWS.data
    jacobian = engine.jacobian(lambda v: v * v[0])(ROWS)
    assert np.array_equal(jacobian.data, [np.diag([r[0]] * 3) + np.outer(r, [1, 0, 0]) for r in v])
    assert np.array_equal(engine.jacobian(lambda v: v * v[0], mode="fwd")(ROWS).data, jacobian.data)
    assert np.array_equal(engine.hessian(lambda v: engine.sum(v**3))(ROWS).data, [np.diag(6 * r) for r in v])
    value, pullback = engine.vjp(lambda x, y: x * y, X, Y)
    assert np.array_equal(value.data, np.outer([2.0, 5.0], [3.0, 4.0]))
    assert np.array_equal(pullback(Y)[1].data, outer(lambda x, y: x * y))
    value, slope = engine.jvp(lambda x, y: x * y, (X, Y), (1.0, X))
    assert np.array_equal(slope.data, outer(lambda x, y: y + x * x))


def test_a_program_of_vectorized_arguments() -> None:
    program = parse("def f(x: float, y: float):\n    while x < 9.0:\n        x = x * y\n    return x\n")
    check_vectorized(lambda x, y: grad(program, (0, 1))(x, y)[0], X, Y)
    got = grad(program)(X, Y)
    assert np.array_equal(got.data, [[9.0, 16.0], [3.0, 4.0]])


def test_float32_stays_float32() -> None:
    x = vectorize(np.array([2.0, 5.0], np.float32), "foo")
    assert grad(lambda x: engine.sin(x) * x)(x).data.dtype == np.float32


def test_no_instances_at_all() -> None:
    none = vectorize(np.zeros((0, 3)), "foo")
    assert grad(lambda x: engine.sum(engine.while_loop(lambda a: engine.sum(a) < 9.0, lambda a: a * x, x)))(
        none
    ).data.shape == (
        0,
        3,
    )


def test_what_is_refused() -> None:
    with pytest.raises(UsageError, match="2 instances in one value and 3"):
        X * vectorize(np.zeros(3), "foo")
    with pytest.raises(UsageError, match="a name of its own"):
        vectorize(np.zeros((2, 2)), "a", "a")
    with pytest.raises(UsageError, match="fewer axes"):
        vectorize(X, "b")
    with pytest.raises(UsageError, match="rename of the axis 'bar'"):
        rename(X, {"bar": "b"})
    with pytest.raises(UsageError, match="some instances only"):
        grad(lambda x: x if x > 0.0 else -x)(X)
    with pytest.raises(TypeError, match="devectorize it first"):
        np.asarray(X)
    with pytest.raises(UsageError, match="float\\(\\)"):
        float(X)
    with pytest.raises(UsageError, match="vectorized inside"):
        grad(lambda x: engine.fori_loop(0, 2, lambda i, a: vectorize(a, "b"), x))(np.ones(2))
    with pytest.raises(NotDifferentiableError, match="one float scalar"):
        grad(lambda x: x)(ROWS)


# vmap -------------------------------------------------------------------------------------------------------


def test_vmap_over_any_axis() -> None:
    a, v = np.arange(6.0).reshape(2, 3), np.array([1.0, 2.0])
    assert np.array_equal(vmap(lambda row: engine.sum(row))(a), a.sum(1))
    assert np.array_equal(vmap(lambda column: column * v, in_axes=1, out_axes=-1)(a), a * v[:, None])
    assert np.array_equal(vmap(lambda x, y: x @ y, in_axes=(1, None))(a, v), a.T @ v)
    first, second = vmap(lambda x: (x * 2.0, 1.0), out_axes=(1, 0))(a)
    assert np.array_equal(first, (2 * a).T)
    assert np.array_equal(second, [1.0, 1.0])
    assert np.array_equal(vmap(vmap(lambda x, y: x * y, (0, None)), (None, 0))(v, v), np.outer(v, v))


def test_vmap_of_grad_and_grad_of_vmap() -> None:
    xs = np.array([2.0, 5.0, 30.0])

    def grow(x: Any) -> Any:
        return engine.while_loop(lambda a: a < 20.0, lambda a: a * x, 1.0)

    expected = [5 * 2.0**4, 10.0, 1.0]
    assert np.array_equal(vmap(grad(grow))(xs), expected)
    assert np.array_equal(grad(lambda xs: engine.sum(vmap(grow)(xs)))(xs), expected)
    assert np.array_equal(vmap(grad(grad(grow)))(xs), [20 * 2.0**3, 2.0, 0.0])
    assert np.array_equal(grad(lambda xs: engine.sum(vmap(grad(grow))(xs)))(xs), [20 * 2.0**3, 2.0, 0.0])
    weight = grad(lambda w: engine.sum(vmap(lambda x: engine.sin(w * x))(xs)))(0.5)
    assert weight == pytest.approx(float(sum(x * mpmath.cos(0.5 * x) for x in xs)), rel=8 * EPS)


@pytest.mark.parametrize("checkpoint", ["sqrt", 2])
def test_checkpoints_change_nothing(checkpoint: Any) -> None:
    xs = np.array([2.0, 5.0, 30.0, 1.01])

    def grow(x: Any) -> Any:
        return engine.while_loop(lambda a: a < 20.0, lambda a: a * x + engine.sin(a) ** 2, 1.0)

    expected = grad(grow)(vectorize(xs, "foo")).data
    assert np.array_equal(vmap(grad(grow, checkpoint=checkpoint))(xs), expected)
    assert np.array_equal(grad(grow, checkpoint=checkpoint)(vectorize(xs, "foo")).data, expected)


def test_vmap_of_a_program_and_of_vectorized_values() -> None:
    program = parse(
        "def f(x: float, n: int):\n    y = 1.0\n    for i in range(n):\n        y = y * x\n    return y\n"
    )
    assert np.array_equal(vmap(program)(np.array([2.0, 3.0]), np.array([3, 2])), [8.0, 9.0])
    mapped = vmap(lambda a: a * Y)(ROWS)
    assert mapped.sizes == {"foo": 2, "bar": 2}
    assert np.array_equal(mapped.data, ROWS.data[:, None, :] * np.array([3.0, 4.0])[:, None])


def test_vmap_says_what_does_not_fit() -> None:
    with pytest.raises(UsageError, match="2 and 3 instances"):
        vmap(lambda x, y: x)(np.zeros(2), np.zeros(3))
    with pytest.raises(UsageError, match="no such axis"):
        vmap(lambda x: x, in_axes=1)(np.zeros(2))
    with pytest.raises(UsageError, match="no instances"):
        vmap(lambda x: x, in_axes=None)(np.zeros(2))
    with pytest.raises(UsageError, match="one entry for each"):
        vmap(lambda x: x, in_axes=(0, 0))(np.zeros(2))
    with pytest.raises(UsageError, match="one entry for each"):
        vmap(lambda x: x, out_axes=(0, 0))(np.zeros(2))


# check_vectorized -------------------------------------------------------------------------------------------

FUNCTIONS: dict[str, Callable[..., Any]] = {
    "exp": lambda x, y: engine.sum(engine.exp(x) * y),
    "two reductions": lambda x, y: engine.mean(engine.sum(x * y, axis=0) ** 2),
    "reshape": lambda x, y: engine.sum(engine.reshape(x, (3, 2)) * engine.reshape(y, (3, 2))),
    "concat": lambda x, y: engine.prod(engine.concat([x[0], y[1]])),
    "matmul": lambda x, y: engine.sum(engine.matmul(x, np.arange(6.0).reshape(3, 2)) @ y),
    "sigmoid(x @ w + b)": lambda x, y: engine.sum(1.0 / (1.0 + engine.exp(-(x @ np.arange(3.0) + y[0, 0])))),
    "cumulative sum": lambda x, y: engine.sum(engine.cumulative_sum(x, axis=1) * y),
    "index by a loop counter": lambda x, y: engine.fori_loop(0, 3, lambda i, a: a * x[0, i] + y[1, i], 1.0),
    "update": lambda x, y: engine.sum(engine.index_update(x, (slice(None), 1), y[:, 0]) ** 2),
    "while": lambda x, y: engine.while_loop(
        lambda a: a < 30.0, lambda a: a * (1.5 + x[0, 0] ** 2) + y[0, 1] ** 2, 1.0
    ),
    "nested": lambda x, y: engine.fori_loop(
        0,
        2,
        lambda i, a: engine.repeat_while(lambda b: b * 1.5 + x[i, 0] ** 2, lambda b: b < 5.0 + y[i, 1], a),
        1.0,
    ),
    "branch": lambda x, y: engine.cond(
        x[0, 0] > y[0, 0], lambda: engine.log(x[0, 0] - y[0, 0]), lambda: engine.sum(y)
    ),
    "scan": lambda x, y: engine.sum(engine.scan(lambda c, r: (c + engine.sum(r), c * r), 1.0, x)[1] * y),
    "no float at all": lambda x, y: engine.sum(engine.where(x > y, 1.0, 0.0)),
}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize(
    "axes", [(("batch",), ("batch",)), (("a", "b"), ("b",)), (("a",), ("b", "c")), ((), ("a",))]
)
def test_vectorized_is_stacked(name: str, axes: tuple[tuple[str, ...], tuple[str, ...]], seed: int) -> None:
    rng = np.random.default_rng(seed)
    sizes = {"batch": 3, "a": 2, "b": 3, "c": 1}
    args = []
    for names in axes:
        array = rng.normal(size=(*(sizes[n] for n in names), 2, 3))
        args.append(vectorize(array, *names) if names else vectorize(array[None], "one"))
    f = FUNCTIONS[name]
    check_vectorized(f, *args)
    if name in ("exp", "while", "branch"):
        check_vectorized(lambda x, y: engine.sum(grad(f)(x, y) ** 2), *args)


def test_check_vectorized_names_the_worst_entry() -> None:
    def mixing(x: Any) -> Any:
        return engine.sum(x * x) + 0.5 * engine.sum(devectorize(x))

    with pytest.raises(
        AssertionError, match=r"the (value|gradient with respect to argument 0) of instance foo=\d"
    ):
        check_vectorized(mixing, ROWS)

    def wrong(x: Any) -> Any:
        weights = np.ones((2, 3))
        weights[1, 2] = 1.5
        return (
            engine.sum(x * vectorize(weights, "foo"))
            if isinstance(x, engine.Vectorized) and x.axes
            else engine.sum(x)
        )

    with pytest.raises(
        AssertionError,
        match=r"argument 0 of instance foo=1, entry \(2,\) is .*1\.5.* vectorized, .*1\.0.* alone",
    ):
        check_vectorized(
            lambda x: wrong(x) - engine.sum(devectorize(x)) * 0.0, vectorize(np.zeros((2, 3)), "foo")
        )
    with pytest.raises(UsageError, match="needs an argument"):
        check_vectorized(lambda x: x, 2.0)


def test_alignment_of_many_axes_is_that_of_numpy(seed: int) -> None:
    """The same sum of products with every order of three axes."""
    rng = np.random.default_rng(seed)
    arrays = {name: rng.normal(size=n) for name, n in (("a", 2), ("b", 3), ("c", 4))}
    for order in itertools.permutations(arrays):
        product = functools.reduce(lambda u, v: u * v, [vectorize(arrays[n], n) for n in order])
        assert product.axes == order
        expected = np.einsum("i,j,k->ijk", *(arrays[n] for n in order))
        assert np.allclose(product.data, expected, rtol=4 * EPS)
