"""Linear algebra in both references: against NumPy, against each other, against closed forms, and what they
say where none exists.
"""

from __future__ import annotations

import itertools
import time
from dataclasses import replace
from typing import Any

import flint
import mpmath
import numpy as np
import pytest

from gradfuzz.errors import DomainError
from gradfuzz.fuzzer.conventions.ties import ties
from gradfuzz.fuzzer.tolerance.allowed import wide_tolerances
from gradfuzz.fuzzer.verdict.truth import Truths
from gradfuzz.oracles.base import Mode, Point, Question, Truth
from gradfuzz.oracles.references.arb import ArbNamespace, ArbReference
from gradfuzz.oracles.references.finite_differences import MpmathNamespace, MpmathReference
from gradfuzz.programs.arithmetic.numpy_namespace import NumpyNamespace
from gradfuzz.programs.text.parse import parse

BITS = 256
NUMPY = NumpyNamespace()


@pytest.fixture
def namespaces() -> Any:
    mp = mpmath.MPContext()
    mp.prec = BITS
    before, flint.ctx.prec = flint.ctx.prec, BITS
    yield MpmathNamespace(mp), ArbNamespace()
    flint.ctx.prec = before


# Values -----------------------------------------------------------------------------------------------------

SHAPES = [(3, 3), (4, 2), (2, 4), (2, 3, 3), (1, 2, 3, 2), (1, 1), (0, 3, 3), (2, 0, 3), (2, 0), (0, 0)]
ANY = {
    "qr": [{"mode": "reduced"}, {"mode": "complete"}],
    "lu": [{}],
    "svd": [{"full_matrices": False}, {"full_matrices": True}],
    "svdvals": [{}],
    "pinv": [{}],
    "matrix_norm": [
        {"ord": o, "keepdims": k} for o in ("fro", "nuc", 1, -1, 2, -2, "inf", "-inf") for k in (False, True)
    ],
    "tril": [{"k": k} for k in (-1, 0, 1)],
    "diagonal": [{"offset": k} for k in (-1, 0, 1)],
    "trace": [{"offset": 1}],
}
SQUARE: dict[str, list[dict[str, Any]]] = {
    **{op: [{}] for op in ("eigh", "eigvalsh", "inv", "det", "slogdet", "expm", "cofactor")},
    "cholesky": [{"upper": False}, {"upper": True}],
    "matrix_power": [{"n": n} for n in (-2, 0, 1, 5)],
}


def _matrices(generator: np.random.Generator, shape: tuple[int, ...]) -> list[Any]:
    """A random one, and one with zeros and equal entries, whose eigenvalues and singular values are
    distinct.
    """
    m, n = shape[-2:]
    structured = np.broadcast_to(np.triu(np.ones((m, n))) + np.diag(range(1, 1 + max(m, n)))[:m, :n], shape)
    return [generator.normal(size=shape), structured]


def _parts(result: Any) -> tuple[Any, ...]:
    return result if isinstance(result, tuple) else (result,)


def _compare(namespaces: Any, op: str, arrays: list[Any], params: dict[str, Any]) -> None:
    """NumPy to 1e-12 of the greatest entry, the references to 1e-60."""
    found = []
    for namespace in namespaces:
        boxed = [np.frompyfunc(namespace.constant, 1, 1)(a) for a in arrays]
        found.append([namespace.as_array(y) for y in _parts(getattr(namespace, op)(*boxed, **params))])
    for want, by_mpmath, by_arb in zip(_parts(getattr(NUMPY, op)(*arrays, **params)), *found, strict=True):
        assert np.shape(want) == by_mpmath.shape == by_arb.shape
        size = float(np.max(np.abs(want), initial=1e-3))
        for x, y, z in zip(
            np.ravel(want).tolist(), by_mpmath.ravel().tolist(), by_arb.ravel().tolist(), strict=True
        ):
            mantissa, exponent = z.mid().man_exp()
            assert abs(float(y) - x) <= 1e-12 * size, (op, params)
            assert abs(y - mpmath.mpf(int(mantissa)) * mpmath.mpf(2) ** int(exponent)) <= 1e-60 * size
            assert float(z.rad()) <= 1e-60 * size


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_both_references_compute_what_numpy_computes(
    namespaces: Any, seed: int, shape: tuple[int, ...]
) -> None:
    generator = np.random.default_rng([seed, *shape])
    with mpmath.workprec(BITS):
        for x in _matrices(generator, shape):
            for op, choices in ANY.items():
                for params in choices:
                    _compare(namespaces, op, [x], params)
            if shape[-1] != shape[-2]:
                continue
            for op, choices in SQUARE.items():
                a = (
                    x @ np.swapaxes(x, -1, -2) + np.eye(shape[-1])
                    if op == "cholesky"
                    else 0.25 * x
                    if op == "expm"
                    else x
                )
                for params in choices:
                    _compare(namespaces, op, [a], params)


def test_systems_of_equations(namespaces: Any, seed: int) -> None:
    generator = np.random.default_rng(seed)
    with mpmath.workprec(BITS):
        for left, right in [
            ((3, 3), (3, 2)),
            ((3, 3), (3,)),
            ((2, 3, 3), (1, 3, 1)),
            ((2, 1, 2, 2), (3, 2, 2)),
            ((0, 3, 3), (3, 2)),
        ]:
            a, b = generator.normal(size=left), generator.normal(size=right)
            _compare(namespaces, "solve", [a, b], {})
            _compare(namespaces, "lstsq", [a[..., :-1], b], {})
            for lower, transposed, unit, on_left in itertools.product((False, True), repeat=4):
                params = {"lower": lower, "transposed": transposed, "unit_diagonal": unit, "left": on_left}
                if len(right) > 1:
                    _compare(
                        namespaces, "triangular_solve", [a, b if on_left else np.swapaxes(b, -1, -2)], params
                    )


def test_products(namespaces: Any, seed: int) -> None:
    generator = np.random.default_rng(seed)
    with mpmath.workprec(BITS):
        for subscripts, shapes in [
            ("ij,jk->ik", [(2, 3), (3, 4)]),
            ("iji,j->j", [(2, 3, 2), (3,)]),
            ("jiij->ji", [(2, 3, 3, 2)]),
            (",i->i", [(), (3,)]),
            ("i,j->", [(2,), (0,)]),
        ]:
            _compare(
                namespaces, "einsum", [generator.normal(size=s) for s in shapes], {"subscripts": subscripts}
            )
        _compare(
            namespaces, "kron", [generator.normal(size=(2, 1, 2, 3)), generator.normal(size=(3, 1, 2))], {}
        )
        for order in (0, 1, 2, 3, -1, -2, 4, "inf", "-inf"):
            for axis in (None, 0, -1):
                _compare(
                    namespaces,
                    "vector_norm",
                    [generator.normal(size=(2, 3))],
                    {"ord": order, "axis": axis, "keepdims": False},
                )


def test_cofactors_are_the_derivative_of_minors(namespaces: Any) -> None:
    """Of 3 x 3 matrices cof is quadratic: its mixed derivative is a mixed difference, exact in integers. Rank
    1 here.
    """
    a, e, f = np.ones((3, 3)), np.diag([1.0, 2.0, -1.0]), np.arange(9.0).reshape(3, 3)

    def cof(x: Any) -> Any:
        return np.array(
            [
                [(-1) ** (i + j) * np.linalg.det(np.delete(np.delete(x, i, 0), j, 1)) for j in range(3)]
                for i in range(3)
            ]
        )

    mixed = np.round(cof(a + e + f) - cof(a + e) - cof(a + f) + cof(a))
    for namespace in namespaces:
        boxed = [np.frompyfunc(namespace.constant, 1, 1)(x) for x in (a, e, f)]
        assert np.all(namespace.cofactor(*boxed) == mixed)
        assert np.all(namespace.cofactor(boxed[0]) == 0.0)


# Derivatives ------------------------------------------------------------------------------------------------


def question(body: str, x: Any, order: int = 1, seed: int = 0, mode: Mode = "rev") -> Question:
    """The gradient of `body`, a loss of the matrix x and of weights w of its shape."""
    x = np.asarray(x, float)
    shape = ", ".join(map(str, x.shape))
    generator = np.random.default_rng([seed, *x.shape, order])
    program = parse(f'def f(x: "float[{shape}]", w: "float[{shape}]"):\n {body}\n')
    point = Point({"x": x, "w": generator.normal(size=x.shape)})
    directions = {"x": generator.normal(size=x.shape)} if order > 1 else {}
    return Question(program, (point,), "float64", ("x",), (mode,) * order, (np.asarray(1.0),), directions)


SMOOTH = {
    "qr": ((3, 3), "q, r = qr(x)\n return sum(q * w) + sum(r * r * w)"),
    "tall qr": ((4, 2), "q, r = qr(x)\n return sum(q * w) + sum(r * r)"),
    "wide qr": ((2, 3), "q, r = qr(x)\n return sum(r * w) + sum(q)"),
    "complete qr": ((3, 2), "q, r = qr(x, mode='complete')\n return sum(q[:, 1:] * w) + sum(r * w)"),
    "lu": ((3, 3), "p, l, u = lu(x)\n return sum(l * w) + sum(u * w * w) + sum(p @ w)"),
    "tall lu": ((4, 2), "p, l, u = lu(x)\n return sum(l * w) + sum(u * u)"),
    "wide lu": ((2, 4), "p, l, u = lu(x)\n return sum(u * w) + sum(l * l)"),
    "svd": ((3, 2), "u, s, vh = svd(x)\n return sum(u * w) + sum(s * s * s) + sum(vh)"),
    "full svd": ((2, 3), "u, s, vh = svd(x, full_matrices=True)\n return sum(vh[1:] * w) + sum(u)"),
    "eigh": ((3, 3), "l, v = eigh(x)\n return sum(v * w) + sum(l * l * l)"),
    "cholesky": ((3, 3), "return sum(cholesky(x @ permute_dims(x, axes=(1, 0)), upper=True) * w)"),
    "triangular_solve": ((2, 2, 2), "return sum(triangular_solve(x, w, lower=False, transposed=True))"),
    "solve": ((3, 3), "return sum(solve(x, w))"),
    "inv": ((2, 2, 2), "return sum(inv(x) * w)"),
    "pinv": ((2, 3), "return sum(pinv(x) * permute_dims(w, axes=(1, 0)))"),
    "lstsq": ((3, 2), "return sum(lstsq(x, w))"),
    "det": ((4, 4), "return det(x)"),
    "slogdet": ((3, 3), "s, d = slogdet(x)\n return s * d"),
    "expm": ((2, 2), "return sum(expm(x) * w)"),
    "power": ((3, 3), "return sum(matrix_power(x, n=-2) * w)"),
    "norms": (
        (3, 3),
        "return matrix_norm(x, ord=1) * matrix_norm(x, ord='nuc') + matrix_norm(x, ord=-2) + matrix_norm(x)",
    ),
    "vector norms": (
        (2, 3),
        "return sum(vector_norm(x, ord=3, axis=0)) + vector_norm(x, ord='-inf') + vector_norm(x, ord=-1)",
    ),
    "einsum": ((2, 2), "return einsum('ij,jk,ki->', x, w, x) + sum(kron(x, w) * kron(x, x))"),
}


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("name", SMOOTH)
def test_both_references_agree_on_derivatives(name: str, order: int, seed: int) -> None:
    shape, body = SMOOTH[name]
    x = np.random.default_rng([seed, 7, *shape]).normal(size=shape)
    (reference_value,) = Truths().confirmed(question(body, x, order, seed))
    assert reference_value.truth.status == "ok", reference_value.truth.message
    assert reference_value.references == ("arb", "mpmath")
    gradient, bound = reference_value.truth.gradient["x"], reference_value.truth.bounds["x"]
    assert np.any(gradient != 0.0)
    assert np.all(bound <= 2 * np.spacing(np.abs(gradient)) + 1e-60)


def quick(body: str, x: Any, order: int = 1) -> Truth:
    (reference_value,) = Truths().quick(question(body, x, order))
    return reference_value.truth


def test_smooth_functions_of_repeated_eigenvalues() -> None:
    """At the identity: d tr f(X) = f'(1) dX, for symmetric parts, and the nuclear norm is the trace
    nearby.
    """
    e = float(np.e)
    for body, slope in [
        ("return sum(eigvalsh(x))", 1.0),
        ("l, v = eigh(x)\n return trace((v * exp(l)) @ permute_dims(v, axes=(1, 0)))", e),
        ("return sum(svdvals(x))", 1.0),
        ("return matrix_norm(x, ord='nuc')", 1.0),
    ]:
        truth = quick(body, np.eye(3))
        assert truth.status == "ok"
        np.testing.assert_allclose(truth.gradient["x"], slope * np.eye(3), rtol=1e-15, atol=1e-60)


def test_one_of_several_equal_eigenvalues_is_a_kink() -> None:
    """The smallest eigenvalue of I + h E, E one entry on the diagonal, is 1 + min(h, 0)."""
    truth = quick("return eigvalsh(x)[0]", np.eye(2))
    assert (truth.status, truth.kink) == ("inconclusive", True)
    assert truth.left is not None
    assert truth.right is not None
    np.testing.assert_allclose(np.diag(truth.left["x"]), [1.0, 1.0], rtol=1e-15)
    np.testing.assert_allclose(np.diag(truth.right["x"]), [0.0, 0.0], atol=1e-60)


def _cofactors(x: Any) -> list[list[int]]:
    """Of a matrix of integers, by Leibniz's formula, exactly."""

    def det(rows: list[list[int]]) -> int:
        if not rows:
            return 1
        rest = rows[1:]
        return sum(
            (-1) ** j * entry * det([r[:j] + r[j + 1 :] for r in rest])
            for j, entry in enumerate(rows[0])
            if entry
        )

    n, rows = len(x), x.astype(int).tolist()
    return [
        [(-1) ** (i + j) * det([r[:j] + r[j + 1 :] for k, r in enumerate(rows) if k != i]) for j in range(n)]
        for i in range(n)
    ]


@pytest.mark.parametrize(
    "x", [np.arange(9.0).reshape(3, 3), np.diag([2.0, 3.0, 0.0, 5.0]), np.ones((3, 3)), np.zeros((3, 3))]
)
def test_the_slope_of_a_determinant_at_singular_matrices(x: Any) -> None:
    (reference_value,) = Truths().confirmed(question("return det(x)", x))
    assert (reference_value.truth.status, reference_value.references) == ("ok", ("arb", "mpmath"))
    assert reference_value.truth.values[0] == 0.0
    np.testing.assert_array_equal(reference_value.truth.gradient["x"], np.array(_cofactors(x), float))


def test_a_determinant_of_more_than_six_rows() -> None:
    x = np.tri(7, 7, 1) + np.diag([3.0, -1.0, 2.0, 4.0, 0.0, 1.0, 5.0])
    truth = ArbReference().truth(question("return det(x)", x))[0]
    np.testing.assert_array_equal(truth.gradient["x"], np.array(_cofactors(x), float))


KINKS = {
    "fro at zero": ("return matrix_norm(x)", np.zeros((2, 2)), (-np.ones((2, 2)), np.ones((2, 2)))),
    "equal columns": (
        "return matrix_norm(x, ord=1)",
        [[1.0, 2.0], [2.0, 1.0]],
        (np.zeros((2, 2)), np.ones((2, 2))),
    ),
    "equal entries": (
        "return vector_norm(x, ord='inf')",
        [[1.0, -2.0], [2.0, 1.0]],
        ([[0, -1], [0, 0]], [[0, 0], [1, 0]]),
    ),
    "an entry of 0": ("return vector_norm(x, ord=1)", [[0.0, 3.0]], ([[-1, 1]], [[1, 1]])),
}


@pytest.mark.parametrize("name", KINKS)
def test_where_a_norm_chooses_is_a_kink(name: str) -> None:
    body, x, (left, right) = KINKS[name]
    arb = ArbReference().truth(question(body, x))[0]
    assert (arb.status, arb.kink) == ("inconclusive", True)
    truth = quick(body, x)
    assert truth.kink
    assert truth.left is not None
    assert truth.right is not None
    np.testing.assert_allclose(truth.left["x"], left, atol=1e-60)
    np.testing.assert_allclose(truth.right["x"], right, atol=1e-60)
    asked = question(body, x)
    assert ties(asked.program, asked.points[0], "float64").count == 1


def test_what_is_not_chosen_makes_no_kink() -> None:
    """Zeros beside the greatest row, and rows that are equal but smaller."""
    x = [[4.0, 3.0, 2.0], [0.0, 1.0, 0.0], [0.0, -1.0, 0.0]]
    (reference_value,) = Truths().confirmed(
        question("return matrix_norm(x, ord='inf') + vector_norm(x, ord='inf')", x)
    )
    assert (reference_value.truth.status, reference_value.references) == ("ok", ("arb", "mpmath"))
    np.testing.assert_array_equal(reference_value.truth.gradient["x"], [[2, 1, 1], [0, 0, 0], [0, 0, 0]])


@pytest.mark.parametrize(
    ("body", "x"),
    [
        ("return lu(x)[2][0, 0]", [[1.0, 2.0], [-1.0, 1.0]]),
        ("return svdvals(x)[1]", [[1.0, 0.0], [0.0, 0.0]]),
        ("return eigh(x)[1][0, 0]", np.eye(2)),
        ("return sum(solve(x, w))", np.ones((2, 2))),
        ("return sum(pinv(x))", np.ones((2, 2))),
        ("return sum(cholesky(x))", np.ones((2, 2))),
        ("return sum(qr(x)[0] * w)", np.ones((2, 2))),
        ("return slogdet(x)[1]", np.ones((2, 2))),
    ],
)
def test_no_derivative_is_given_where_there_is_none(body: str, x: Any) -> None:
    for reference in (ArbReference(), MpmathReference()):
        assert reference.truth(question(body, x))[0].status == "inconclusive"


@pytest.mark.parametrize("entry", ["nan", "inf"])
def test_a_matrix_that_is_not_finite_has_no_factors(namespaces: Any, entry: str) -> None:
    by_mpmath, _ = namespaces
    a = np.full((2, 2), by_mpmath.mp.mpf(entry), object)
    for factors in (
        by_mpmath.qr_of,
        by_mpmath.cholesky_of,
        by_mpmath.eig_of,
        lambda a: by_mpmath.solve_of(a, a),
    ):
        with pytest.raises(DomainError, match="no finite numbers"):
            factors(a)


@pytest.mark.parametrize("rows", [([0, 1, 2], [0, 3, 1], [0, 1, 1]), ([1, 1, 1], [1, 1, 2], [1, 1, 3])])
def test_a_matrix_with_a_column_of_zeros_is_not_solved(namespaces: Any, rows: Any) -> None:
    """No row is zero, at once or after a step of elimination: there mpmath finds no pivot."""
    by_mpmath, _ = namespaces
    a = np.array([[by_mpmath.mp.mpf(k) for k in row] for row in rows], object)
    with pytest.raises(DomainError, match="singular"):
        by_mpmath.solve_of(a, a)


def test_a_basis_that_the_matrix_does_not_determine_has_no_derivative(seed: int) -> None:
    x = np.random.default_rng(seed).normal(size=(4, 2))
    loose = question("q, r = qr(x, mode='complete')\n return sum(q[:, 2:] * w)", x)
    assert MpmathReference().truth(loose)[0].status == "inconclusive"
    fixed = (
        "q, r = qr(x, mode='complete')\n return sum((q[:, 2:] @ permute_dims(q[:, 2:], axes=(1, 0)) @ w)"
        " ** 2)"
    )
    (reference_value,) = Truths().confirmed(question(fixed, x))
    assert (reference_value.truth.status, reference_value.references) == ("ok", ("arb", "mpmath"))


def test_a_pseudo_inverse_of_constant_rank(seed: int) -> None:
    """Of the outer product y = a b^T: its pseudo-inverse is b a^T / (|a|^2 |b|^2)."""
    x = np.random.default_rng(seed).normal(size=(2, 3))
    outer = quick("return sum(pinv(outer(x[0], x[1])) * outer(w[0], w[1]))", x)
    closed = quick("return sum(x[1] * w[0]) * sum(x[0] * w[1]) / (sum(x[0] * x[0]) * sum(x[1] * x[1]))", x)
    assert outer.status == closed.status == "ok"
    np.testing.assert_allclose(outer.gradient["x"], closed.gradient["x"], rtol=1e-15)


# What is allowed --------------------------------------------------------------------------------------------


def test_the_allowed_error_grows_with_the_condition() -> None:
    """|A^-1| |A| of the Hilbert matrix is 1.5e4 for n = 4 and 4.8e5 for n = 5: so many roundings, times the
    size of the gradient.
    """
    for n in (4, 5):
        hilbert = 1.0 / (1.0 + np.add.outer(np.arange(n), np.arange(n)))
        asked = question("return sum(inv(x) * w)", hilbert)
        (tolerance,), (truth,) = wide_tolerances(asked), ArbReference().truth(asked)
        relative = np.max(tolerance.noise["x"]) / np.max(np.abs(truth.gradient["x"])) / 2.0**-53
        condition = np.linalg.cond(hilbert)
        assert 0.1 * condition < relative < 30 * condition


@pytest.mark.parametrize("x", [np.ones((3, 3)), np.diag([1.0, 2.0, 0.0]), np.arange(9.0).reshape(3, 3)])
def test_singular_determinants_have_a_tolerance(x: Any) -> None:
    """In float32 too, where what float64 leaves of a 0 would be out of range: the noise is some roundings of
    the greatest minor.
    """
    double = question("return det(x)", x)
    (point,) = double.points
    single = replace(
        double,
        precision="float32",
        points=(Point({name: np.asarray(a, np.float32) for name, a in point.inputs.items()}),),
        weights=(np.asarray(1.0, np.float32),),
    )
    for asked, unit in ((double, 2.0**-53), (single, 2.0**-24)):
        (tolerance,) = wide_tolerances(asked)
        assert tolerance.reason is None, tolerance.message
        assert np.max(tolerance.noise["x"]) < 100 * unit * np.max(np.abs(x)) ** 2


# Time -------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("name", ["qr", "eigh", "svd"])
def test_time_of_a_gradient_of_a_six_by_six_matrix(name: str, seed: int) -> None:
    asked = question(SMOOTH[name][1], np.random.default_rng(seed).normal(size=(6, 6)))
    for reference in (ArbReference(), MpmathReference()):
        start = time.process_time()
        assert reference.truth(asked)[0].status == "ok"
        print(f"\n{name} of 6 x 6, gradient by {reference.name}: {time.process_time() - start:.3f} s")
