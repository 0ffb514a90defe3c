"""Complex numbers in both references: against each other, against formulas that are differentiated in high
precision, and what they say at kinks, on branch cuts and where a result depends on phases that a
decomposition leaves free.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import flint
import mpmath
import numpy as np
import pytest
import scipy.linalg

from gradfuzz.engine import derivative
from gradfuzz.oracles.base import Mode, Point, Question, Truth
from gradfuzz.oracles.references.arb import ArbNamespace, ArbReference
from gradfuzz.oracles.references.finite_differences import MpmathNamespace, MpmathReference
from gradfuzz.programs.evaluation.interpret import evaluate, interpret
from gradfuzz.programs.text.parse import parse

REFERENCES = (ArbReference(), MpmathReference())


def truths(
    text: str, inputs: dict[str, Any], wrt: tuple[str, ...], order: int = 1, references: Any = REFERENCES
) -> list[Truth]:
    """What the references say of the one output; the direction is all ones."""
    point = Point({name: np.asarray(value, float) for name, value in inputs.items()})
    directions = {name: np.ones(np.shape(inputs[name])) for name in wrt} if order > 1 else {}
    question = Question(
        parse(text), (point,), "float64", wrt, ("rev",) * order, (np.asarray(1.0),), directions
    )
    return [reference.truth(question)[0] for reference in references]


def check(found: list[Truth], value: Any, gradient: list[Any]) -> None:
    """Both are right to within their own bounds. The expected numbers are mpmath's, right to 30 digits."""
    for truth in found:
        assert truth.status == "ok", truth.message
        assert abs(value - float(truth.values[0])) <= truth.value_bounds[0] + 1e-25 * abs(value)
        got = np.concatenate([np.ravel(truth.gradient[name]) for name in truth.gradient])
        bounds = np.concatenate([np.ravel(truth.bounds[name]) for name in truth.gradient])
        for x, want, bound in zip(got.tolist(), gradient, bounds.tolist(), strict=True):
            assert bound <= 1e-14 * (1.0 + abs(x))
            assert abs(want - x) <= bound + 1e-25 * (1.0 + abs(want))


def agree(found: list[Truth]) -> None:
    one, other = found
    assert (one.status, other.status) == ("ok", "ok"), (one.message, other.message)
    assert np.all(np.abs(one.values[0] - other.values[0]) <= one.value_bounds[0] + other.value_bounds[0])
    for name, slope in one.gradient.items():
        bounds = one.bounds[name] + other.bounds[name]
        assert np.all(bounds <= 1e-13 * (1.0 + np.abs(slope)))
        assert np.all(np.abs(slope - other.gradient[name]) <= bounds)


# Entry by entry ---------------------------------------------------------------------------------------------

FORMULAS: dict[str, Callable[[Any, Any], Any]] = {
    "real(sin(z)) * imag(cos(z))": lambda m, z: m.re(m.sin(z)) * m.im(m.cos(z)),
    "real(tan(z)) + imag(tanh(z))": lambda m, z: m.re(m.tan(z)) + m.im(m.tanh(z)),
    "imag(exp(z) * log(z))": lambda m, z: m.im(m.exp(z) * m.log(z)),
    "real(sqrt(z)) + abs(z)": lambda m, z: m.re(m.sqrt(z)) + m.fabs(z),
    "imag(z ** conj(z))": lambda m, z: m.im(m.power(z, m.conj(z))),
    "real(z ** 3) + imag(z ** -2)": lambda m, z: m.re(z**3) + m.im(1 / z**2),
    "real((2.0 - 1.0j) / z)": lambda m, z: m.re(m.mpc(2, -1) / z),
    "abs(prod(stack(z, 1.0j, conj(z) * z * z)))": lambda m, z: m.fabs(z) ** 4,
    "imag(mean(cumulative_sum(stack(z, z * z), axis=0)))": lambda m, z: m.im(2 * z + z * z) / 2,
    "imag(where(z == conj(z), z, z * z))": lambda m, z: m.im(z * z),
}


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("formula", FORMULAS)
def test_functions_of_a_complex_number(formula: str, order: int, seed: int) -> None:
    """The left half plane too: log, sqrt and powers are smooth off the negative real axis."""
    mp = mpmath.MPContext()
    mp.dps = 60
    for sign in (1, -1):
        x, y = np.random.default_rng([seed, order]).normal(size=2).tolist()
        x = sign * abs(x)

        def loss(x: Any, y: Any) -> Any:
            return FORMULAS[formula](mp, mp.mpc(x, y))

        if order == 1:
            gradient = [mp.diff(loss, (x, y), (1, 0)), mp.diff(loss, (x, y), (0, 1))]
        else:
            mixed = mp.diff(loss, (x, y), (1, 1))
            gradient = [mp.diff(loss, (x, y), (2, 0)) + mixed, mixed + mp.diff(loss, (x, y), (0, 2))]
        text = f"def f(x, y):\n z = complex(x, y)\n return {formula}\n"
        check(truths(text, {"x": x, "y": y}, ("x", "y"), order), loss(x, y), gradient)


@pytest.mark.parametrize("order", [1, 2])
def test_a_complex_loop(order: int) -> None:
    text = """def f(x, y):
    z = complex(x, y)
    w = 0.5j * z
    k = 0
    while abs(w) < 2.0:
        w = w * w + conj(w) * z + (1.0 + 0.25j)
        k = k + 1
    return abs(w) * k + real(w * conj(z))
"""
    mp = mpmath.MPContext()
    mp.dps = 60

    def loss(t: Any) -> Any:
        """On the diagonal x = 0.3 + t, y = 0.4 + t."""
        z = mp.mpc(mp.mpf(0.3) + t, mp.mpf(0.4) + t)
        w, k = mp.mpc(0, 0.5) * z, 0
        while mp.fabs(w) < 2:
            w, k = w * w + mp.conj(w) * z + mp.mpc(1, 0.25), k + 1
        return mp.fabs(w) * k + mp.re(w * mp.conj(z))

    found = truths(text, {"x": 0.3, "y": 0.4}, ("x", "y"), order)
    agree(found)
    for truth in found:
        slope, bound = (
            sum(float(part[name]) for name in ("x", "y")) for part in (truth.gradient, truth.bounds)
        )
        assert abs(mp.diff(loss, 0, order) - slope) <= bound + 1e-13 * abs(slope)


@pytest.mark.parametrize(
    ("expression", "x", "y", "kink"),
    [
        ("abs(z)", 0.0, 0.0, True),
        ("real(where(z == 0.0j, z, 2.0 * z))", 0.0, 0.0, True),
        ("real(log(z))", -2.0, 0.0, True),
        ("imag(sqrt(z * z))", 0.0, 1.5, True),
        ("real(z ** (0.5 + 0.0j))", -1.0, 0.0, True),
        ("real(sqrt(z))", 0.0, 0.0, False),
        ("real(log(z))", 0.0, 0.0, False),
        ("real(1.0 / z)", 0.0, 0.0, False),
        ("vector_norm(stack(z, z))", 0.0, 0.0, True),
    ],
)
@pytest.mark.parametrize("order", [1, 2])
def test_where_no_derivative_is(expression: str, x: float, y: float, kink: bool, order: int) -> None:
    for truth in truths(
        f"def f(x, y):\n z = complex(x, y)\n return {expression}\n", {"x": x, "y": y}, ("x", "y"), order
    ):
        assert (truth.status, truth.kink) == ("inconclusive", kink), truth.message


def test_beside_the_cut() -> None:
    """1e-30 above and below the negative real axis the derivative of sqrt is -i / 2 and i / 2, of log -1."""
    for y, side in ((1e-30, 1.0), (-1e-30, -1.0)):
        text = "def f(x, y):\n z = complex(x, y)\n return imag(sqrt(z)) + real(log(z))\n"
        for truth in truths(text, {"x": -1.0, "y": y}, ("x", "y")):
            assert truth.status == "ok", truth.message
            np.testing.assert_allclose(truth.values[0], side, rtol=1e-15)
            np.testing.assert_allclose(truth.gradient["x"], -0.5 * side - 1.0, rtol=1e-15)


def test_what_is_zero_everywhere_has_a_derivative() -> None:
    for truth in truths(
        "def f(x, y):\n z = complex(x, y)\n return abs(z - z) + abs(z)\n", {"x": 3.0, "y": 4.0}, ("x", "y")
    ):
        np.testing.assert_allclose([truth.gradient["x"], truth.gradient["y"]], [0.6, 0.8], rtol=1e-15)


def test_the_square_of_the_modulus_is_smooth_at_zero() -> None:
    for truth in truths(
        "def f(x, y):\n z = complex(x, y)\n return real(z * conj(z))\n", {"x": 0.0, "y": 0.0}, ("x", "y"), 2
    ):
        assert truth.status == "ok", truth.message
        np.testing.assert_allclose([truth.gradient["x"], truth.gradient["y"]], 2.0, rtol=1e-15)


# Matrices ---------------------------------------------------------------------------------------------------

GAUGE_FREE = {
    "qr": (3, 3, "q, r = qr(z)\n return sum(abs(q) ** 4) + sum(abs(r) ** 3) + real(q[0, 1] * conj(q[1, 1]))"),
    "tall qr": (3, 2, "q, r = qr(z)\n return sum(abs(q) ** 4) + sum(abs(r))"),
    "wide qr": (2, 3, "q, r = qr(z)\n return sum(abs(q) ** 4) + sum(abs(r))"),
    "complete qr": (3, 2, "q, r = qr(z, mode='complete')\n return sum(abs(q) ** 4)"),
    "lu": (3, 3, "p, l, u = lu(z)\n return sum(abs(l) ** 2) + real(sum(u))"),
    "wide lu": (2, 3, "p, l, u = lu(z)\n return real(sum(l)) + imag(sum(u))"),
    "svd": (
        3,
        2,
        "u, s, vh = svd(z)\n return sum(abs(u) ** 4) + sum(s ** 3) + sum(abs(vh) ** 4) + real(sum(u @ vh))",
    ),
    "full svd": (
        2,
        3,
        "u, s, vh = svd(z, full_matrices=True)\n return sum(abs(u) ** 4) + sum(abs(vh[2]) ** 4)",
    ),
    "svdvals": (2, 3, "s = svdvals(z)\n return s[0] ** 3 - s[1]"),
    "eigh": (3, 3, "w, v = eigh(z)\n return sum(abs(v) ** 4 * w)"),
    "eigvalsh": (3, 3, "w = eigvalsh(z)\n return w[0] * w[2] - w[1]"),
    "eig": (3, 3, "w, v = eig(z)\n return real(sum(abs(v) ** 4 * w)) + sum(abs(w))"),
    "eig of a real matrix": (3, 3, "w, v = eig(real(z))\n return real(sum(abs(v) ** 4 * w)) + sum(abs(w))"),
    "eigvals": (3, 3, "w = eigvals(z)\n return sum(abs(w) ** 3) + imag(w[0] * w[1] * w[2])"),
    "cholesky": (3, 3, "return imag(sum(cholesky(z @ conj(permute_dims(z, axes=(1, 0))))))"),
    "upper cholesky": (
        2,
        2,
        "return imag(sum(cholesky(z @ conj(permute_dims(z, axes=(1, 0))), upper=True)))",
    ),
    "solve": (3, 3, "return imag(sum(solve(z, z @ z) * z)) + real(sum(solve(z, z[0])))"),
    "triangular_solve": (
        2,
        2,
        "return imag(sum(triangular_solve(z, z, lower=False, transposed=True, left=False)))",
    ),
    "inv": (3, 3, "return imag(sum(inv(z)))"),
    "det": (3, 3, "return real(det(z)) + abs(det(z))"),
    "slogdet": (3, 3, "unit, size = slogdet(z)\n return size * imag(unit)"),
    "pinv": (3, 2, "return imag(sum(pinv(z)))"),
    "wide pinv": (2, 3, "return imag(sum(pinv(z)))"),
    "lstsq": (3, 2, "return imag(sum(lstsq(z, z * z)))"),
    "expm": (2, 2, "return imag(sum(expm(z)))"),
    "matrix_power": (2, 2, "return imag(sum(matrix_power(z, n=3) + matrix_power(z, n=-2)))"),
    "matrix norms": (
        3,
        2,
        "return matrix_norm(z) + matrix_norm(z, ord=1) * matrix_norm(z, ord='nuc') + matrix_norm(z, ord=-2)",
    ),
    "vector norms": (
        2,
        2,
        (
            "return vector_norm(z, ord=3) * vector_norm(z, ord=4) + vector_norm(z, ord='inf') +"
            " vector_norm(z, ord=-1)"
        ),
    ),
    "products": (
        2,
        2,
        "return imag(sum(kron(z, z)) + einsum('ij,jk->', z, z) + trace(z) + sum(outer(z[0], z[1])))",
    ),
}
LINE = (
    'def f(t, a: "float[{0}]", b: "float[{0}]", c: "float[{0}]", d: "float[{0}]"):\n z = complex(a + t * c, b'
    " + t * d)\n {1}\n"
)
"""A loss of the matrix (a + i b) + t (c + i d)."""


def on_a_line(shape: tuple[int, ...], body: str, seed: int) -> tuple[str, dict[str, Any]]:
    generator = np.random.default_rng([seed, *shape])
    text = LINE.format(", ".join(map(str, shape)), body)
    return text, {"t": 0.25, **{name: generator.normal(size=shape) for name in "abcd"}}


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("name", GAUGE_FREE)
def test_both_references_agree_on_complex_matrices(name: str, order: int, seed: int) -> None:
    m, n, body = GAUGE_FREE[name]
    agree(truths(*on_a_line((m, n), body, seed), ("t",), order))


@pytest.mark.parametrize("modes", [("rev",), ("fwd", "rev")], ids="-".join)
@pytest.mark.parametrize("name", GAUGE_FREE)
def test_the_rules_of_complex_matrices_hold_to_many_digits(
    name: str, modes: tuple[Mode, ...], seed: int
) -> None:
    """The engine's derivative graph, computed in balls, meets the coefficients of Taylor series, to which no
    rule leads.
    """
    m, n, body = GAUGE_FREE[name]
    text, inputs = on_a_line((m, n), body, seed)
    truth = truths(text, inputs, ("t",), len(modes), REFERENCES[:1])[0]
    namespace = ArbNamespace()
    arrays = [np.frompyfunc(namespace.constant, 1, 1)(x) for x in (*inputs.values(), *[1.0] * len(modes))]
    with flint.ctx.workprec(256):
        value, slope = evaluate(derivative(parse(text), wrt=("t",), modes=modes), arrays, namespace)
        for ball, middle, bound in (
            (value, truth.values[0], truth.value_bounds[0]),
            (slope, truth.gradient["t"], truth.bounds["t"]),
        ):
            assert ball.rad() < 1e-50 * (1 + abs(ball))
            assert abs(ball - float(middle)) <= float(bound) + 1e-50


def _half_gap(m: Any, z: Any) -> Any:
    """Half the distance of the eigenvalues of a 2 x 2 matrix, squared."""
    return (z[0, 0] - z[1, 1]) ** 2 / 4 + z[0, 1] * z[1, 0]


def _det(z: Any) -> Any:
    return z[0, 0] * z[1, 1] - z[0, 1] * z[1, 0]


def _exponential(m: Any, z: Any) -> Any:
    """The sum of the entries of exp(Z): with s = tr(Z) / 2 and q^2 = s^2 - det(Z), exp(Z) = e^s (cosh q I +
    sinh q / q (Z - s I)).
    """
    s, q = (z[0, 0] + z[1, 1]) / 2, m.sqrt(_half_gap(m, z))
    return m.exp(s) * (2 * m.cosh(q) + m.sinh(q) / q * (sum(z) - 2 * s))


def _eigenvector(m: Any, z: Any) -> Any:
    """The sum of |v|^4 over both eigenvectors (b, w - a) / norm."""
    s, q = (z[0, 0] + z[1, 1]) / 2, m.sqrt(_half_gap(m, z))
    total = m.zero
    for w in (s + q, s - q):
        one, two = abs(z[0, 1]) ** 2, abs(w - z[0, 0]) ** 2
        total += (one**2 + two**2) / (one + two) ** 2
    return total


CLOSED: dict[str, Callable[[Any, Any], Any]] = {
    "return sum(abs(eigvals(z)) ** 2)": lambda m, z: sum(
        abs((z[0, 0] + z[1, 1]) / 2 + sign * m.sqrt(_half_gap(m, z))) ** 2 for sign in (1, -1)
    ),
    "return imag(sum(eigvals(z) ** 3))": lambda m, z: m.im((z**3)[0, 0] + (z**3)[1, 1]),
    "w, v = eig(z)\n return sum(abs(v) ** 4)": _eigenvector,
    "return abs(det(z)) ** 2": lambda m, z: abs(_det(z)) ** 2,
    "unit, size = slogdet(z)\n return size + imag(unit)": lambda m, z: (
        m.log(abs(_det(z))) + m.im(_det(z) / abs(_det(z)))
    ),
    "return real(sum(expm(z)))": lambda m, z: m.re(_exponential(m, z)),
    # (s0 + s1)^2 = |Z|^2 + 2 |det Z|
    "return sum(svdvals(z))": lambda m, z: m.sqrt(sum(abs(x) ** 2 for x in z) + 2 * abs(_det(z))),
    # r_00 r_11 = |det|, r_00 = the norm of the first column
    "q, r = qr(z)\n return abs(r[1, 1])": lambda m, z: (
        abs(_det(z)) / m.sqrt(abs(z[0, 0]) ** 2 + abs(z[1, 0]) ** 2)
    ),
    # of the Hermitian part: w_1 - w_0
    "w = eigvalsh(z)\n return w[1] - w[0]": lambda m, z: m.sqrt(
        m.re(z[0, 0] - z[1, 1]) ** 2 + abs(z[0, 1] + m.conj(z[1, 0])) ** 2
    ),
}


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("body", CLOSED, ids=lambda body: body.replace("\n", ";"))
def test_closed_forms_of_two_by_two_matrices(body: str, order: int, seed: int) -> None:
    text, inputs = on_a_line((2, 2), body, seed)
    mp = mpmath.MPContext()
    mp.dps = 60
    a, b, c, d = (mp.matrix(inputs[name].tolist()) for name in "abcd")

    def loss(t: Any) -> Any:
        return CLOSED[body](mp, (a + t * c) + mp.mpc(0, 1) * (b + t * d))

    check(truths(text, inputs, ("t",), order), loss(mp.mpf(0.25)), [mp.diff(loss, mp.mpf(0.25), order)])


MATRIX = 'def f(a: "float[2, 2]", b: "float[2, 2]"):\n z = complex(a, b)\n {}\n'


@pytest.mark.parametrize(
    "matrix", [np.zeros((2, 2)), np.eye(2), [[0, 1j], [0, 0]], [[1j, 2j], [2, 4]]], ids=str
)
def test_determinants_of_singular_matrices_and_others(matrix: Any) -> None:
    """d Re det = Re tr(cof^T dZ), in a and b; along the direction of ones the second derivative is that of
    the bilinear form.
    """
    z = np.asarray(matrix, complex)
    cof = np.array([[z[1, 1], -z[1, 0]], [-z[0, 1], z[0, 0]]])
    for truth in truths(MATRIX.format("return real(det(z))"), {"a": z.real, "b": z.imag}, ("a", "b")):
        assert np.array_equal(truth.gradient["a"], cof.real)
        assert np.array_equal(truth.gradient["b"], -cof.imag)
    for truth in truths(MATRIX.format("return real(det(z))"), {"a": z.real, "b": z.imag}, ("a", "b"), 2):
        # The direction is (1 + i) E with E all ones: cof((1 + i) E) has entries +-(1 + i), as has its
        # derivative.
        signs = np.array([[1.0, -1.0], [-1.0, 1.0]])
        assert np.array_equal(truth.gradient["a"], signs)
        assert np.array_equal(truth.gradient["b"], -signs)


@pytest.mark.parametrize("matrix", [np.zeros((2, 2)), np.eye(2), [[1.0, 1.0], [0.0, 1.0]]], ids=str)
def test_repeated_eigenvalues(matrix: Any) -> None:
    """Arb cannot tell; differences see that the sum of the squares is tr(Z^2), with the gradient 2 Z^T in a,
    also where Z is defective.
    """
    inputs = {"a": np.asarray(matrix), "b": np.zeros((2, 2))}
    one, other = truths(MATRIX.format("return real(sum(eigvals(z) ** 2))"), inputs, ("a", "b"))
    assert (one.status, one.kink) == ("inconclusive", True)
    assert other.status == "ok", other.message
    np.testing.assert_allclose(other.gradient["a"], 2 * inputs["a"].T, atol=1e-15)
    np.testing.assert_allclose(other.gradient["b"], 0.0, atol=1e-15)


@pytest.mark.parametrize(
    "body",
    [
        "w, v = eig(z)\n return real(sum(v))",
        "w, v = eig(a)\n return real(sum(v))",
        "w, v = eigh(z)\n return imag(v[0, 1] * v[1, 0])",
        "u, s, vh = svd(z)\n return real(u[0, 0])",
    ],
)
def test_a_loss_that_depends_on_free_phases_has_no_truth(body: str, seed: int) -> None:
    a, b = np.random.default_rng(seed).normal(size=(2, 2, 2))
    for truth in truths(MATRIX.format(body), {"a": a, "b": b}, ("a", "b")):
        assert truth.status == "inconclusive"


def test_pivots_are_those_of_lapack() -> None:
    """The first column's greatest modulus is 4.2 and stands first; its greatest |re| + |im| is 5.5."""
    z = np.array([[4.2j, 1.0], [3.0 + 2.5j, 2.0]])
    p, lower, upper = scipy.linalg.lu(z)
    assert np.array_equal(p, [[0.0, 1.0], [1.0, 0.0]])
    program = parse(MATRIX.format("p, l, u = lu(z)\n return p, real(l), imag(u)"))
    for namespace in (ArbNamespace(), MpmathNamespace(mpmath.MPContext())):
        boxed = {
            name: np.frompyfunc(namespace.constant, 1, 1)(part)
            for name, part in (("a", z.real), ("b", z.imag))
        }
        got = [np.array([[float(x) for x in row] for row in y]) for y in interpret(program, boxed, namespace)]
        for found, want in zip(got, (p, lower.real, upper.imag), strict=True):
            np.testing.assert_allclose(found, want, atol=1e-15)


def test_equal_pivots_are_a_kink() -> None:
    """|re| + |im| of 3 + i and of -4i are equal."""
    z = np.array([[3.0 + 1.0j, 1.0], [-4.0j, 2.0]])
    for truth in truths(
        MATRIX.format("p, l, u = lu(z)\n return sum(abs(u))"), {"a": z.real, "b": z.imag}, ("a", "b")
    ):
        assert (truth.status, truth.kink) == ("inconclusive", True), truth.message
