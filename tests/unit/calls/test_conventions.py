"""Calls that a library's documents leave undefined are no findings, and their neighbours are."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import autograd.extend
import numpy as np
import pytest

from gradfuzz.calls.judging import conventions
from gradfuzz.calls.judging.judge import judged
from gradfuzz.fuzzer.results.call import Argument, Call
from gradfuzz.fuzzer.results.finding import CheckResult, Class, Verdict
from tests.releases import is_from


def array(*entries: object, dtype: str = "float64") -> Argument:
    return Argument(array=np.array(entries, dtype))


def call(function: str, *arguments: Argument) -> Call:
    return Call("torch", f"torch.{function}", arguments)


def literal(text: str, keyword: str = "") -> Argument:
    return Argument(keyword, literal=text)


def indices(*entries: int) -> Argument:
    return Argument(items=(array(*entries, dtype="int64"),))


FULL = array([2.0, 1.0], [0.5, 3.0])
TALL = array([0.33203125], [3.0])
WEIGHT = array([1.0, -1.0], [0.5, 2.0])


@pytest.mark.parametrize(
    ("undefined", "why"),
    [
        (call("index_put", array(2.0, 1.0), indices(0, 0), array(0.5, 3.0)), "repeated index"),
        (call("normal", array(1.0), array(2.0)), "no derivative by the parameters"),
        (call("normal", array(1.0), array(0, dtype="int64")), "no derivative by the parameters"),
        (call("cholesky_inverse", FULL), "triangle"),
        (call("linalg.svd", TALL, literal("True")), "any basis"),
        (call("svd", TALL, literal("False", "some")), "any basis"),
        (call("linalg.cholesky_ex", array([-4.0])), "info"),
        (
            call(
                "nn.functional.embedding",
                array(0, 0, 1, dtype="int64"),
                WEIGHT,
                literal("True", "scale_grad_by_freq"),
            ),
            "divided by the count",
        ),
        (
            call("nn.functional.embedding", array(0, 1, dtype="int64"), WEIGHT, literal("1.0", "max_norm")),
            "renormalized in place",
        ),
        (call("cholesky_inverse", array([0.5, 2.0], [0.0, 0.5])), "triangle"),
        (call("cholesky_inverse", array([0.5, 0.0], [2.0, 0.5]), literal("True")), "triangle"),
        (call("cholesky_inverse", array([0.5, 0.0], [2.0, 0.5])), "triangle"),
        (call("cholesky_inverse", array([1], dtype="complex128")), "its diagonal is real"),
        (call("cholesky_inverse", array([1 + 0.5j], dtype="complex128")), "its diagonal is real"),
        (
            call(
                "affine_grid_generator",
                Argument(array=np.ones((1, 4, 4))),
                *(literal("(1, 1, 0, 2, 2)"), literal("True")),
            ),
            "not checked where the grid is empty",
        ),
        (
            call("scatter", array(0.5), literal("0"), array(0, dtype="int64"), array(1.0, 2.0)),
            "have one shape",
        ),
        (
            call(
                "nn.functional.max_unpool2d",
                array([[0.5]]),
                Argument(array=np.zeros((1, 1, 1), np.int64)),
                literal("(0, 0)"),
            ),
            "an index lies outside",
        ),
    ],
)
def test_what_the_documents_leave_undefined_is_a_convention(undefined: Call, why: str) -> None:
    (found,) = judged(undefined, [("rev",)]).verdicts
    assert found.case.verdict is Verdict.CONVENTION
    assert why in found.case.message
    assert "https://docs.pytorch.org/" in found.case.message


@pytest.mark.parametrize(
    ("variances", "expected"), [((2.0,), Verdict.AGREE), ((0.5, 2.0), Verdict.CONVENTION)]
)
def test_statistics_have_one_number_for_each_channel(variances: tuple[float, ...], expected: Verdict) -> None:
    numbers = [replace(array(*entries), constant=True) for entries in ((0.5,), (0.5,), (0.5,), variances)]
    flags = literal("False"), literal("0.0"), literal("1.0")
    (found,) = judged(call("native_batch_norm", array([1.0]), *numbers, *flags), [("fwd",)]).verdicts
    assert found.case.verdict is expected


@pytest.mark.parametrize("keyword", ["", "padding_idx"])
def test_a_padded_row_alone_takes_no_gradient(keyword: str) -> None:
    """A gradient that is wrong in another row is no convention, and none where no row is padded."""
    rows = array(0, 1, dtype="int64"), array([2.0], [3.0])
    padded = call("nn.functional.embedding", *rows, literal("0", keyword))
    (found,) = judged(padded, [("rev",)]).verdicts
    assert found.case.verdict is Verdict.CONVENTION
    assert "padding_idx" in found.case.message
    wrong = replace(found.case, verdict=Verdict.DISAGREE, kind=Class.MISSING)
    assert conventions.excused(padded, wrong).verdict is Verdict.CONVENTION
    for factor in (0.0, 2.0):
        slopes = {name: factor * slope for name, slope in found.case.answer.gradient.items()}
        planted = replace(wrong, answer=replace(found.case.answer, gradient=slopes))
        assert conventions.excused(padded, planted).verdict is Verdict.DISAGREE
    assert conventions.excused(call("nn.functional.embedding", *rows), wrong).verdict is Verdict.DISAGREE


def test_what_is_iterated_is_right_to_its_tolerance() -> None:
    """The largest eigenvalue of a symmetric matrix by `lobpcg`, and twice its gradient."""
    matrix = np.array(
        [[4.0, 0.5, -1.0, 0.0], [0.5, 3.0, 0.25, 1.0], [-1.0, 0.25, 2.0, 0.5], [0.0, 1.0, 0.5, 1.0]]
    )
    iterated = replace(call("lobpcg", Argument(array=matrix)), seeded=True)
    (found,) = judged(iterated, [("rev",)]).verdicts
    assert found.case.verdict is Verdict.CONVENTION
    assert "iterated to a tolerance" in found.case.message
    doubled = {name: 2.0 * slope for name, slope in found.case.answer.gradient.items()}
    answer = replace(found.case.answer, gradient=doubled)
    wrong = replace(found.case, verdict=Verdict.DISAGREE, kind=Class.WRONG_VALUE, answer=answer)
    assert conventions.excused(iterated, wrong).verdict is Verdict.DISAGREE
    skew = call("lobpcg", Argument(array=matrix + np.tri(4)))
    raised = replace(wrong, verdict=Verdict.CRASHED, kind=Class.ERROR)
    for case in (wrong, raised):
        assert "symmetric by the documents" in conventions.excused(skew, case).message
    assert conventions.excused(iterated, raised).verdict is Verdict.CRASHED
    early = replace(iterated, arguments=(*iterated.arguments, literal("2", "niter")))
    assert conventions.excused(early, wrong).verdict is Verdict.CONVENTION


def test_factors_of_dependent_columns_are_never_wrong() -> None:
    """Whether the truth is known depends on how the kernel of this processor rounds."""
    dependent = call("linalg.qr", Argument(array=np.array([[-0.23046875, -1.0]]), layout="expanded"))
    (found,) = judged(dependent, [("rev",)]).verdicts
    assert found.case.verdict in (Verdict.CONVENTION, Verdict.INCONCLUSIVE)
    wrong = replace(found.case, verdict=Verdict.DISAGREE, kind=Class.WRONG_VALUE)
    case = conventions.excused(dependent, wrong)
    assert case.verdict is Verdict.CONVENTION
    assert "dependent" in case.message
    assert "https://docs.pytorch.org/" in case.message


def test_a_wrong_derivative_by_the_triangle_that_is_read_is_a_finding() -> None:
    """Forward mode of cholesky_inverse is wrong in Torch 2.13 at a triangular matrix: pytorch#196682."""
    (found,) = judged(call("cholesky_inverse", array([1.0, 0.0], [0.75, 1.0])), [("fwd",)]).verdicts
    assert found.case.verdict in (Verdict.DISAGREE, Verdict.AGREE)


def test_complex_singular_vectors_have_no_forward_derivative() -> None:
    turned = call("svd", array([1.0 + 2.0j, 0.5j], [0.25, 1.0 - 1.0j], dtype="complex128"))
    (found,) = judged(turned, [("fwd",)]).verdicts
    assert found.case.verdict is Verdict.CONVENTION
    assert "phase" in found.case.message


def test_complex_eigenvectors_of_a_real_matrix_have_a_phase() -> None:
    """The matrix [[1, 2], [c, 1]] has the eigenvalues 1 +- sqrt(2 c)."""
    turned, real = (call("linalg.eig", array([1.0, 2.0], [corner, 1.0])) for corner in (-3.0, 3.0))
    (found,) = judged(turned, [("fwd",)]).verdicts
    assert found.case.verdict is Verdict.CONVENTION
    assert "phase" in found.case.message
    assert not conventions._has_complex_eigenvectors(real, found.case)


@pytest.mark.parametrize(
    ("shapes", "ends", "expected"),
    [
        (((1, 4), (4, 8)), (1, 4), False),
        (((1, 4), (4, 8)), (1, 3), True),
        (((1, 4), (1, 8)), (1, 1), True),
        (((3, 4), (2, 4, 8)), (1, 3), False),
        (((3, 4), (2, 4, 8)), (1, 2), True),
        (((2, 3, 4), (4, 8)), (4, 8), False),
        (((2, 3, 4), (2, 4, 8)), (1, 2), False),
    ],
)
def test_what_stands_beyond_the_last_group(shapes: Any, ends: tuple[int, ...], expected: bool) -> None:
    pair = [Argument(array=np.ones(shape, np.float32)) for shape in shapes]
    groups = Argument("offs", array=np.array(ends, np.int32))
    nothing: Any = None
    product = call("nn.functional.grouped_mm", *pair, groups)
    assert conventions._ends_before(product, nothing) is expected


@pytest.mark.parametrize(
    ("pivots", "expected"), [((1, 2), False), ((0, 2), True), ((3, 2), True), ((1,), True)]
)
def test_pivots_are_rows(pivots: tuple[int, ...], expected: bool) -> None:
    nothing: Any = None
    solved = Call("paddle", "paddle.linalg.lu_solve", (TALL, FULL, array(*pivots, dtype="int32")))
    assert conventions._has_no_pivots(solved, nothing) is expected


@pytest.mark.parametrize(("tau", "expected"), [(0.5, Verdict.CONVENTION), (0.75, Verdict.AGREE)])
def test_a_projector_among_reflectors(tau: float, expected: Verdict) -> None:
    """I - v v^T / 2 with v = [1, 1] has no inverse, by which the gradient is computed."""
    reflector = call("linalg.householder_product", array([3.0], [1.0]), array(tau))
    (found,) = judged(reflector, [("rev",)]).verdicts
    assert found.case.verdict is expected


@pytest.mark.parametrize(
    ("numbers", "expected"),
    [((2.0 + 0.0j, 0.5 + 0.5j, 1.0 + 0.0j), Verdict.CONVENTION), ((0.25, 2.0, 1.5), Verdict.AGREE)],
)
def test_a_distribution_is_one_of_real_numbers(numbers: tuple[complex, ...], expected: Verdict) -> None:
    """autograd's beta.cdf takes complex numbers, and its gradient raises."""
    x, *parameters = (Argument(array=np.array(number)) for number in numbers)
    arguments = (x, *(replace(one, constant=True) for one in parameters))
    (found,) = judged(Call("autograd", "autograd.scipy.stats.beta.cdf", arguments), [("rev",)]).verdicts
    assert found.case.verdict is expected


def test_the_spread_of_equal_numbers_has_no_second_derivative() -> None:
    equal = call("std", Argument(array=np.full((1, 2), 0.5), layout="expanded"), literal("0"))
    (found,) = judged(equal, [("fwd", "rev")]).verdicts
    assert found.case.verdict in (Verdict.CONVENTION, Verdict.INCONCLUSIVE)


@pytest.mark.parametrize(
    "defined",
    [
        call("index_put", array(2.0, 1.0), indices(1, 0), array(0.5, 3.0)),
        call("cholesky_inverse", array([2.0])),
        call("nn.functional.lp_pool1d", array([[2.0]]), literal("2.0"), literal("1")),
        call("linalg.svd", TALL, literal("False")),
        call("svd", TALL),
        call("svd", TALL, literal("True")),
        call("linalg.cholesky_ex", array([4.0])),
        call("nn.functional.embedding", array(0, 0, 1, dtype="int64"), WEIGHT),
    ],
)
def test_what_they_define_is_judged(defined: Call) -> None:
    (found,) = judged(defined, [("rev",)]).verdicts
    assert found.case.verdict is Verdict.AGREE


# Libraries that are not installed beside gradfuzz: the rows themselves --------------------------------------


def case_of(truth: dict[str, list[object]], answer: dict[str, list[object]]) -> Any:
    given = {name: np.array(entries, float) for name, entries in answer.items()}
    return SimpleNamespace(
        truth=SimpleNamespace(gradient={name: np.array(entries, float) for name, entries in truth.items()}),
        answer=SimpleNamespace(gradient=given),
        question=SimpleNamespace(wrt=tuple(given)),
    )


@autograd.extend.primitive
def tricky(x: Any) -> Any:
    """The sum of the entries, with a slope of 2."""
    return np.sum(x)


autograd.extend.defvjp(tricky, lambda y, x: lambda g: 2.0 * g * np.ones(np.shape(x)))

LOWER, SYMMETRIC = [[1.0, 0.0], [3.0, 2.0]], [[1.0, 1.5], [1.5, 2.0]]
ANTISYMMETRIC = [[0.0, -1.5], [1.5, 0.0]]


def test_the_gradient_by_the_symmetric_part_is_a_convention() -> None:
    real = Call("paddle", "paddle.linalg.eigvalsh", (FULL,))
    assert conventions._has_symmetric_part(real, case_of({"x0": LOWER}, {"x0": SYMMETRIC}))
    assert not conventions._has_symmetric_part(real, case_of({"x0": LOWER}, {"x0": [[1.0, 1.5], [1.4, 2.0]]}))
    assert not conventions._has_symmetric_part(real, case_of({}, {"along": [1.0]}))
    hermitian = Call(
        "paddle", "paddle.linalg.eigvalsh", (array([2.0, 1.0j], [-1.0j, 3.0], dtype="complex128"),)
    )
    truth = {"x0": LOWER, "x1": [[0.0, 0.0], [3.0, 0.0]]}
    assert conventions._has_symmetric_part(hermitian, case_of(truth, {"x0": SYMMETRIC, "x1": ANTISYMMETRIC}))
    wrong = {"x0": SYMMETRIC, "x1": [[0.0, 1.5], [1.5, 0.0]]}
    assert not conventions._has_symmetric_part(hermitian, case_of(truth, wrong))


@pytest.mark.parametrize(
    ("function", "arguments", "expected"),
    [
        ("paddle.linalg.pinv", (literal("True", "hermitian"),), Verdict.CONVENTION),
        ("paddle.linalg.pinv", (literal("1e-15"), literal("True")), Verdict.CONVENTION),
        ("paddle.linalg.pinv", (), Verdict.DISAGREE),
        ("paddle.linalg.pinv", (literal("False", "hermitian"),), Verdict.DISAGREE),
        ("tensorflow.linalg.logdet", (), Verdict.CONVENTION),
        ("tensorflow.linalg.det", (), Verdict.DISAGREE),
    ],
)
def test_the_symmetric_part_is_one_of_what_is_said_to_be_symmetric(
    function: str, arguments: tuple[Argument, ...], expected: Verdict
) -> None:
    given: Any = case_of({"x0": LOWER}, {"x0": SYMMETRIC})
    nothing: Any = None
    wrong = CheckResult("there", given.question, nothing, given.truth, given.answer, Verdict.DISAGREE)
    symmetric = Call(function.partition(".")[0], function, (array([2.0, 1.0], [1.0, 3.0]), *arguments))
    assert conventions.excused(symmetric, wrong).verdict is expected


def test_the_triangle_that_paddle_does_not_read() -> None:
    given: Any = SimpleNamespace(question=SimpleNamespace(modes=("fwd",)), worst=None)
    for factor, expected in ((FULL, True), (array([2.0, 0.0], [0.5, 3.0]), False)):
        solve = Call("paddle", "paddle.linalg.cholesky_solve", (FULL, factor, literal("False")))
        assert conventions._is_not_triangular(solve, given) is expected


@pytest.mark.parametrize(("entry", "expected"), [(0.0, Verdict.CONVENTION), (1.0, Verdict.DISAGREE)])
def test_the_covariance_of_autograd(entry: float, expected: Verdict, monkeypatch: pytest.MonkeyPatch) -> None:
    """The right gradient is a convention, and one that is 1 too much stays wrong."""
    from autograd.scipy.stats import multivariate_normal

    own = multivariate_normal.logpdf
    monkeypatch.setattr(
        multivariate_normal, "logpdf", lambda x, mean, cov: own(x, mean, cov) + entry * tricky(cov)
    )
    name = "autograd.scipy.stats.multivariate_normal.logpdf"
    asked = Call("autograd", name, (array(1.0, 0.5), array(0.5, 2.0), array([2.0, 1.0], [1.0, 3.0])))
    (found,) = judged(asked, [("rev",)]).verdicts
    assert found.case.verdict is expected


def test_what_is_asked_of_a_matrix_and_of_labels() -> None:
    nothing = case_of({}, {})
    assert conventions._is_not_hermitian(Call("tensorflow", "tensorflow.linalg.logdet", (FULL,)), nothing)
    hermitian = array([2.0, 1.0j], [-1.0j, 3.0], dtype="complex128")
    logdet = Call("tensorflow", "tensorflow.linalg.logdet", (hermitian,))
    assert not conventions._is_not_hermitian(logdet, nothing)
    name = "tensorflow.nn.softmax_cross_entropy_with_logits"
    logits = array(0.5, 3.0)
    right = Call("tensorflow", name, (array(0.25, 0.75), logits))
    assert not conventions._is_no_distribution(right, nothing)
    assert conventions._is_no_distribution(Call("tensorflow", name, (array(0.5, 0.75), logits)), nothing)
    labels = replace(array(0.25, 0.75), keyword="labels")
    assert not conventions._is_no_distribution(Call("tensorflow", name, (logits, labels)), nothing)


@pytest.mark.parametrize(("low", "expected"), [(1.0, True), (0.5, False)])
def test_bounds_in_the_wrong_order(low: float, expected: bool) -> None:
    clipped = Call("tensorflow", "tensorflow.clip_by_value", (array(2.0), array(low), array(0.5)))
    assert conventions._has_crossed_bounds(clipped, case_of({}, {})) is expected


@pytest.mark.parametrize(("places", "expected"), [([[0, 1], [0, 1]], True), ([[0, 1], [1, 0]], False)])
def test_a_place_that_is_written_twice(places: Any, expected: bool) -> None:
    """A row of indices is a place: an index that two rows have is none."""
    name = "tensorflow.tensor_scatter_nd_update"
    asked = Call("tensorflow", name, (FULL, Argument(array=np.array(places)), array(0.5, 3.0)))
    assert conventions._has_repeated_place(asked, case_of({}, {})) is expected


@pytest.mark.parametrize(
    ("name", "entries", "dtype", "expected"),
    [
        ("tensorflow.linalg.eigh", ([2.0, 1.0j], [-1.0j, 3.0]), "complex128", Verdict.CONVENTION),
        ("tensorflow.linalg.eigh", ([2.0, 1.0], [1.0, 3.0]), "float64", Verdict.DISAGREE),
        ("tensorflow.linalg.eigvalsh", ([2.0, 1.0j], [-1.0j, 3.0]), "complex128", Verdict.DISAGREE),
        ("tensorflow.eig", ([2.0, 1.0j], [-1.0j, 3.0]), "complex128", Verdict.CONVENTION),
        ("tensorflow.eig", ([2.0, 1.0], [1.0, 3.0]), "float64", Verdict.DISAGREE),
        ("tensorflow.eig", ([2.0, 1.0], [-4.0, 3.0]), "float64", Verdict.CONVENTION),
        ("tensorflow.raw_ops.Svd", ([2.0, 1.0j], [-1.0j, 3.0]), "complex128", Verdict.CONVENTION),
        ("tensorflow.raw_ops.Svd", ([2.0, 1.0], [1.0, 3.0]), "float64", Verdict.DISAGREE),
        ("paddle.linalg.eig", ([2.0, 1.0], [-4.0, 3.0]), "float64", Verdict.CONVENTION),
        ("paddle.linalg.eig", ([2.0, 1.0], [1.0, 3.0]), "float64", Verdict.DISAGREE),
        ("tensorflow.math.reduce_std", (0.5,), "float64", Verdict.CONVENTION),
        ("tensorflow.math.reduce_std", (0.5, 0.75), "float64", Verdict.DISAGREE),
        ("tensorflow.image.rgb_to_hsv", (2.0, 1.0, -1.0), "float64", Verdict.CONVENTION),
        ("tensorflow.image.rgb_to_hsv", (1.0, 0.5, 0.0), "float64", Verdict.DISAGREE),
        (
            "tensorflow.random.stateless_parameterized_truncated_normal",
            (0.5,),
            "float64",
            Verdict.CONVENTION,
        ),
    ],
)
def test_conventions_of_an_array(name: str, entries: Any, dtype: str, expected: Verdict) -> None:
    """The phase of vectors, the spread of equal numbers, what is no color, and what is drawn."""
    assert verdict_on(name, array(*entries, dtype=dtype)) is expected


def verdict_on(name: str, *arguments: Argument) -> Verdict:
    """What becomes of a wrong gradient of this call."""
    question: Any = SimpleNamespace(wrt=("x0",), modes=("rev",))
    answer: Any = SimpleNamespace(gradient={})
    nothing: Any = None
    wrong = CheckResult("", question, nothing, None, answer, Verdict.DISAGREE)
    return conventions.excused(Call(name.partition(".")[0], name, arguments), wrong).verdict


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("tensorflow.raw_ops.FakeQuantWithMinMaxVars", (array(1.0), array(2.0), array(1.0))),
        (
            "torch.Tensor.as_strided_scatter",
            (array(1.0, 2.0), array([1.0, 2.0], [3.0, 4.0]), literal("(2, 2)"), literal("(1, 1)")),
        ),
        (
            "paddle.linalg.lu_solve",
            (array([1.0], [2.0]), array([2.0, 1.0], [0.5, 3.0]), array(0, 2, dtype="int32")),
        ),
    ],
)
def test_conventions_of_several_arguments(name: str, arguments: tuple[Argument, ...]) -> None:
    """A lower bound above the upper one, one number in two places, and a pivot that is no row."""
    assert verdict_on(name, *arguments) is Verdict.CONVENTION


CHOICE_OF_NO_CASE = Verdict.AGREE if is_from("jax", "0.12") else Verdict.CONVENTION
"""The gradient of JAX 0.12 is that of the case that its value takes."""


def test_a_pool_of_zeros_is_no_finding() -> None:
    """It has no derivative; Torch's documents set it to 0."""
    zeros = call("nn.functional.lp_pool3d", array([[[0.0]]]), literal("1"), literal("1"))
    (found,) = judged(zeros, [("rev",)]).verdicts
    assert not found.case.verdict.is_wrong
    assert found.case.verdict is not Verdict.AGREE


@pytest.mark.parametrize(
    ("function", "arguments", "expected"),
    [
        ("jax.lax.reduce_precision", (array(2.0), literal("2"), literal("2")), Verdict.CONVENTION),
        ("jax.numpy.linalg.eigh", (array([1, 1], [1 + 1j, 0.5], dtype="complex128"),), Verdict.CONVENTION),
        ("jax.numpy.linalg.eigh", (array([1.0, 1.0], [1.0, 0.5]),), Verdict.AGREE),
        (
            "jax.scipy.linalg.svd",
            (array([2, 1], [0.25j - 0.125, 1], dtype="complex128"),),
            Verdict.CONVENTION,
        ),
        ("jax.scipy.linalg.svd", (array([2.0, 1.0], [0.25, 1.0]),), Verdict.AGREE),
        ("jax.lax.select_n", (array(1, dtype="int64"), array(0.5)), CHOICE_OF_NO_CASE),
        ("jax.lax.select_n", (array(0, dtype="int64"), array(0.5)), Verdict.AGREE),
        (
            "jax.scipy.stats.pareto.sf",
            (array(2.0), array(2.0), literal("0"), literal("0.0")),
            Verdict.CONVENTION,
        ),
        ("jax.scipy.stats.pareto.sf", (array(2.0), array(2.0), literal("0"), literal("1.0")), Verdict.AGREE),
        ("jax.scipy.stats.pareto.sf", (array(-1.0), array(2.0)), Verdict.DISAGREE),
        ("jax.scipy.stats.dirichlet.pdf", (array(1.0, 1.0), array(1.0, 2.0, 1.0)), Verdict.CONVENTION),
    ],
)
def test_conventions_of_jax(function: str, arguments: tuple[Argument, ...], expected: Verdict) -> None:
    pytest.importorskip("jax")
    (found,) = judged(Call("jax", function, arguments), [("rev",)]).verdicts
    assert found.case.verdict is expected
