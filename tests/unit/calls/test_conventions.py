"""What a row of the conventions accepts is a convention, and any other answer at the same call stays wrong.

`PLANTS` has for each row a call, the derivative in closed form, answers that are accepted, and planted wrong
ones. `EXCLUDED` has the rows that exclude calls: a wrong answer is inconclusive there, and stays wrong at a
neighbour, a call that the documents define.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import autograd.extend
import numpy as np
import pytest
import torch

from gradfuzz.fuzzer.calling.judge import judged
from gradfuzz.fuzzer.calling.repeated import Repeated, excused_call
from gradfuzz.fuzzer.conventions import excluded
from gradfuzz.fuzzer.conventions.accepted import Span
from gradfuzz.fuzzer.conventions.table import CONVENTIONS
from gradfuzz.fuzzer.results.call import Argument, Call
from gradfuzz.fuzzer.results.finding import CheckResult, Class, Reason, Verdict
from gradfuzz.oracles.base import Answer, Mode, Point, Question, Truth
from gradfuzz.programs.language.program import Program
from gradfuzz.programs.language.syntax import Const, Param, Return
from gradfuzz.programs.language.types import Type
from tests.releases import is_from


def array(*entries: object, dtype: str = "float64", constant: bool = False) -> Argument:
    return Argument(array=np.array(entries, dtype), constant=constant)


def scalar(number: complex) -> Argument:
    return Argument(array=np.array(number))


def call(function: str, *arguments: Argument) -> Call:
    return Call("torch", f"torch.{function}", arguments)


def of(function: str, *arguments: Argument) -> Call:
    """A call of any library."""
    return Call(function.partition(".")[0], function, arguments)


def literal(text: str, keyword: str = "") -> Argument:
    return Argument(keyword, literal=text)


def numbers(*entries: object) -> Argument:
    return array(*entries, dtype="int64")


def indices(*entries: int) -> Argument:
    return Argument(items=(numbers(*entries),))


def named(argument: Argument, keyword: str) -> Argument:
    return replace(argument, keyword=keyword)


TRANSPOSED = Argument(array=np.array([[1.0, 1.0], [1.875, 0.5]]), layout="transposed")
FULL = array([2.0, 1.0], [0.5, 3.0])
SYMMETRIC = array([2.0, 1.0], [1.0, 3.0])
TALL = array([3.0], [4.0])
WEIGHT = array([1.0, -1.0], [0.5, 2.0])
NAN = math.nan

Gradient = Mapping[str, Any]
"""Nested entries by the name of an input: x0, x1, and of a complex array its real and its imaginary part."""


@dataclass(frozen=True)
class Plant:
    """A call and answers to it, by reverse mode."""

    call: Call
    truth: Gradient | None = None
    accepted: tuple[Gradient, ...] = ()
    wrong: tuple[Gradient, ...] = ()
    weights: tuple[Any, ...] = ()
    """Of each real result."""
    values: tuple[Any, ...] = ()
    slopes: tuple[Gradient, Gradient] | None = None
    """One-sided slopes, where there is no derivative."""
    raises: str | None = None
    """The exception that is accepted, or is raised by a call that is excluded."""


@dataclass(frozen=True)
class Excluded:
    """A call that its documents exclude, and one that they define."""

    call: Call
    neighbour: Call
    raises: str | None = None


def x(*gradients: Any) -> Gradient:
    """A gradient by x0, x1, and so on."""
    return {f"x{k}": entries for k, entries in enumerate(gradients)}


def case_of(call: Call, gradient: Gradient, plant: Plant | None = None, modes: Any = ("rev",)) -> CheckResult:
    """An answer that is wrong by the truth."""
    plant = plant or Plant(call)
    inputs = [part for one in call.differentiated() for part in _parts(one)]
    names = tuple(f"x{k}" for k in range(len(inputs)))
    params = tuple(Param(name, Type("float", value.shape)) for name, value in zip(names, inputs, strict=True))
    program = Program("f", params, (Return((Const(0.0),)),))
    point = Point(dict(zip(names, inputs, strict=True)))
    weights = tuple(np.asarray(w, float) for w in plant.weights)
    question = Question(program, (point,), "float64", names, modes, weights, {})
    given = {name: np.asarray(gradient.get(name, 0.0), float) for name in names}
    answer = Answer("ok", tuple(np.asarray(y, float) for y in plant.values), given)
    truth = None
    if plant.slopes is not None:
        left, right = ({n: np.asarray(v, float) for n, v in side.items()} for side in plant.slopes)
        truth = Truth("inconclusive", left=left, right=right, kink=True)
    if plant.truth is not None:
        truth = Truth("ok", gradient={n: np.asarray(v, float) for n, v in plant.truth.items()})
    return CheckResult(
        "", question, point, truth, answer, Verdict.DISAGREE, Class.WRONG_VALUE, message="it is wrong"
    )


def _parts(one: Argument) -> list[Any]:
    entries = np.asarray(one.array)
    return [entries.real.copy(), entries.imag.copy()] if one.is_complex else [entries]


def raised(call: Call, message: str) -> CheckResult:
    return replace(case_of(call, {}), verdict=Verdict.CRASHED, kind=Class.ERROR, message=message)


def verdict_on(call: Call, gradient: Gradient, plant: Plant | None = None, modes: Any = ("rev",)) -> Verdict:
    return excused_call(call, case_of(call, gradient, plant, modes)).verdict


HALF, THIRD = 1 / math.sqrt(2), 1 / math.sqrt(3)
TWO_ROWS = array([0.5, 0.5], [0.5, 1.0])
POOLED = 9.0 ** (1 / 3)
"""The third root of 2^3 + 1^3."""

EXCLUDED = {
    "index out of bounds": Excluded(
        of("mlx.nn.losses.nll_loss", TWO_ROWS, numbers(1, 2)),
        of("mlx.nn.losses.nll_loss", TWO_ROWS, numbers(1, 0)),
    ),
    "failed factorization": Excluded(
        call("linalg.cholesky_ex", array([-4.0])), call("linalg.cholesky_ex", array([4.0]))
    ),
    "rank-deficient": Excluded(
        call("linalg.qr", array([1.0, 2.0], [2.0, 4.0])),
        call("linalg.qr", array([1.0, 2.0, 2.0], [2.0, 5.0, 4.0])),
    ),
    "no pivots": Excluded(
        of("paddle.linalg.lu_solve", TALL, FULL, array(0, 2, dtype="int32")),
        of("paddle.linalg.lu_solve", TALL, FULL, array(1, 2, dtype="int32")),
    ),
    "beyond the last group": Excluded(
        call("nn.functional.grouped_mm", array([1.0, 2.0]), array([1.0], [2.0]), named(numbers(1), "offs")),
        call("nn.functional.grouped_mm", array([1.0, 2.0]), array([1.0], [2.0]), named(numbers(2), "offs")),
    ),
    "other numbers of channels": Excluded(
        call("native_batch_norm", array([1.0]), array(0.5, 2.0)),
        call("native_batch_norm", array([1.0]), array(0.5)),
    ),
    "no affine map": Excluded(
        call("affine_grid_generator", Argument(array=np.ones((1, 4, 4))), literal("(1, 1, 0, 2, 2)")),
        call("affine_grid_generator", Argument(array=np.ones((1, 3, 4))), literal("(1, 1, 0, 2, 2)")),
        raises="RuntimeError: shape",
    ),
    "another number of images": Excluded(
        of("paddle.nn.functional.affine_grid", Argument(array=np.ones((3, 2, 3))), literal("(1, 1, 1, 1)")),
        of("paddle.nn.functional.affine_grid", Argument(array=np.ones((1, 2, 3))), literal("(1, 1, 1, 1)")),
    ),
    "another number of axes": Excluded(
        of("tensorflow.raw_ops.IsotonicRegression", array([[1.0]])),
        of("tensorflow.raw_ops.IsotonicRegression", array([1.0])),
    ),
    "no matrix": Excluded(
        of("autograd.scipy.linalg.sqrtm", array(2.0)), of("autograd.scipy.linalg.sqrtm", array([2.0]))
    ),
    "list of arrays": Excluded(
        of("autograd.numpy.linalg.det", Argument(items=(SYMMETRIC,))),
        of("autograd.numpy.concatenate", Argument(items=(SYMMETRIC,))),
    ),
    "argument that is given away": Excluded(
        of("autograd.scipy.linalg.solve_triangular", FULL, TALL, literal("True", "overwrite_b")),
        of("autograd.scipy.linalg.solve_triangular", FULL, TALL, literal("False", "overwrite_b")),
        raises="SideEffectError: the derivative writes into the argument xs1",
    ),
    "array by its keyword": Excluded(
        of("autograd.numpy.var", array(1.0, 2.0), named(array(1.5), "mean")),
        of("autograd.numpy.var", array(1.0, 2.0), named(replace(array(1.5), constant=True), "mean")),
        raises="TypeError: bad operand",
    ),
    "limit of a rule": Excluded(
        of("autograd.numpy.sort", SYMMETRIC),
        of("autograd.numpy.sort", array(2.0, 1.0)),
        raises="NotImplementedError: no gradient",
    ),
    "matrix that is not Hermitian": Excluded(call("lobpcg", FULL), call("lobpcg", SYMMETRIC)),
    "colors outside of [0, 1]": Excluded(
        of("tensorflow.image.rgb_to_hsv", array(2.0, 1.0, -1.0)),
        of("tensorflow.image.rgb_to_hsv", array(1.0, 0.5, 0.0)),
    ),
    "no range of a quantization": Excluded(
        of("tensorflow.raw_ops.FakeQuantWithMinMaxVars", array(1.0), scalar(2.0), scalar(1.0)),
        of("tensorflow.raw_ops.FakeQuantWithMinMaxVars", array(1.0), scalar(1.0), scalar(2.0)),
    ),
    "no distribution": Excluded(
        of("jax.scipy.stats.pareto.sf", array(2.0), array(2.0), literal("0"), literal("0.0")),
        of("jax.scipy.stats.pareto.sf", array(2.0), array(2.0), literal("0"), literal("1.0")),
    ),
    "overlapping memory": Excluded(
        call("as_strided_scatter", array(1.0, 2.0), FULL, literal("(2, 2)"), literal("(1, 1)")),
        call("as_strided_scatter", array(1.0, 2.0, 3.0, 4.0), FULL, literal("(2, 2)"), literal("(2, 1)")),
    ),
    "index outside of the result": Excluded(
        call("nn.functional.max_unpool2d", array([[0.5]]), numbers([[0]]), literal("(0, 0)")),
        call("nn.functional.max_unpool2d", array([[0.5]]), numbers([[0]]), literal("(1, 1)")),
        raises="RuntimeError: an index is out of bounds",
    ),
}
"""Of rows that exclude calls."""

PLANTS = {
    # U22 = a22 - a21 a12 / a11 at [[2, 1], [1, 1/2]]
    "singular-matrix": Plant(
        call("linalg.lu", array([2.0, 1.0], [1.0, 0.5])),
        x([[0.25, -0.5], [-1.0, 1.0]]),
        (x([[NAN, NAN], [NAN, NAN]]), x([[0.25, -0.5], [NAN, math.inf]])),
        (x([[0.25, -0.5], [-1.0, 2.0]]), x([[NAN, NAN], [NAN, -1.0]])),
    ),
    # The column e1 - tau v of v = [1, a], with weights -1/2 and 1/2
    "projector among reflectors": Plant(
        call("linalg.householder_product", array([3.0], [1.0]), array(0.5)),
        x([[0.0], [-0.25]], [0.0]),
        (x([[0.0], [NAN]], [NAN]),),
        (x([[0.0], [0.25]], [NAN]), x([[0.0], [NAN]], [1.0])),
    ),
    # The second row has the slopes -+ 1 / sqrt(2), the first one cones
    "equal numbers": Plant(
        call("std", TWO_ROWS, literal("1", "dim")),
        slopes=(x([[-HALF, -HALF], [-HALF, HALF]]), x([[HALF, HALF], [-HALF, HALF]])),
        accepted=(x([[NAN, NAN], [-HALF, HALF]]), x([[HALF, -0.25], [-HALF, HALF]])),
        wrong=(x([[NAN, NAN], [NAN, NAN]]), x([[0, 0], [HALF, -HALF]]), x([[1.0, 0], [-HALF, HALF]])),
    ),
    "part of what is scattered": Plant(
        call("scatter", array(0.5), literal("0"), numbers(0), array(1.0, 2.0)),
        x([0.0], [1.0, 0.0]),
        wrong=(x([1.0], [1.0, 0.0]),),
        raises="RuntimeError: it has another shape",
    ),
    # The real part of the first entry of the vector [1, -i] / sqrt(2) of 3, beside [1, i] / sqrt(2) of 1
    "phase of vectors": Plant(
        of("jax.numpy.linalg.eigh", array([2, 1j], [-1j, 2], dtype="complex128")),
        x([[1.0, 2.0], [3.0, 4.0]], [[0.0, 1.0], [1.0, 0.0]]),
        (x([[0.25 * HALF, 0.0], [0.0, -0.25 * HALF]], [[0.0, 0.0], [0.0, 0.0]]),),
        (
            x([[0.5 * HALF, 0.0], [0.0, -0.5 * HALF]], [[0.0, 0.0], [0.0, 0.0]]),
            x([[0.25 * HALF, 0.0], [0.0, -0.25 * HALF]], [[0.0, 1.0], [-1.0, 0.0]]),
        ),
        weights=([0, 0], [[0, 1], [0, 0]], [[0, 0], [0, 0]]),
        values=([1, 3], [[HALF, HALF], [0, 0]], [[0, 0], [HALF, -HALF]]),
    ),
    # -1 / sqrt(1 - z^2) is +- i / sqrt(3) at 2 and -2 / sqrt(3) at 1/2, and both parts weigh 1
    "side of a branch cut": Plant(
        of("autograd.numpy.acos", array(2.0, 0.5, dtype="complex128")),
        x([THIRD, -2 * THIRD], [-THIRD, -2 * THIRD]),
        (x([-THIRD, -2 * THIRD], [THIRD, -2 * THIRD]),),
        (
            x([-THIRD, 2 * THIRD], [THIRD, 2 * THIRD]),
            x([-THIRD, -2 * THIRD], [-THIRD, -2 * THIRD]),
            x([2 * THIRD, -2 * THIRD], [-2 * THIRD, -2 * THIRD]),
            x([0.0, -2 * THIRD], [0.0, -2 * THIRD]),
        ),
    ),
    # s = 5 and u1 = +- [3, 4] / 5: the gradient of 2 s is +- 2 u1
    "all singular vectors": Plant(
        call("linalg.svd", TALL, literal("True")),
        x([[2.0], [1.0]]),
        (x([[1.2], [1.6]]),),
        (x([[2.4], [3.2]]), x([[0.0], [0.0]])),
        weights=([[0.0, 0.5], [0.0, 0.5]], [2.0], [[1.0]]),
    ),
    "written twice": Plant(
        call("index_put", array(2.0, 1.0), indices(0, 0), array(0.5, 3.0)),
        x([0.0, 1.75], [0.0, 0.75]),
        (x([0.0, 1.75], [0.75, 0.75]), x([0.0, 1.75], [0.5, 0.75])),
        (
            x([0.75, 1.75], [0.75, 0.75]),
            x([0.0, 1.75], [0.75, 0.0]),
            x([0.0, 1.75], [1.5, 0.75]),
            x([0.0, 1.75], [-0.75, 0.75]),
        ),
        weights=([0.75, 1.75],),
        values=([3.0, 1.0],),
    ),
    "bounds in the wrong order": Plant(
        of("tensorflow.clip_by_value", array(0.75, 1.5), scalar(1.0), scalar(0.5)),
        x([0.0, 0.0], 0.0, 3.0),
        (x([0.0, 0.0], 1.0, 3.0), x([0.0, 0.0], 3.0, 0.0)),
        (x([1.0, 0.0], 0.0, 3.0), x([0.0, 0.0], 0.0, 6.0), x([0.0, 0.0], -1.0, 3.0)),
        weights=([1.0, 2.0],),
    ),
    "choice out of range": Plant(
        of("jax.lax.select_n", numbers(1, 0), array(0.5, 0.5)),
        x([-1.5, 2.0]),
        (x([0.0, 2.0]),),
        (x([0.0, 0.0]), x([1.5, 2.0]), x([-3.0, 2.0])),
        weights=([-1.5, 2.0],),
    ),
    "symmetric-part": Plant(
        of("paddle.linalg.eigvalsh", FULL),
        x([[1.0, 0.0], [3.0, 2.0]]),
        (x([[1.0, 1.5], [1.5, 2.0]]),),
        (x([[1.0, 1.5], [1.4, 2.0]]), x([[2.0, 3.0], [3.0, 4.0]])),
    ),
    # (L L^T)^-1 at L = 1: the gradient by L is -(W + W^T), of which the lower triangle is read
    "factor of Cholesky": Plant(
        call("cholesky_inverse", array([1.0, 0.0], [0.0, 1.0])),
        x([[-1.5, 0.0], [-3.25, -3.75]]),
        (x([[-1.5, -3.25], [-3.25, -3.75]]),),
        (x([[-1.5, -3.25], [3.25, -3.75]]), x([[-1.5, NAN], [-3.25, -3.75]]), x([[0, 0], [0, 0]])),
        weights=([[0.75, 1.75], [1.5, 1.875]],),
    ),
    "rows of weights": Plant(
        call(
            "nn.functional.embedding",
            *(numbers(0, 0, 1), WEIGHT, literal("1", "padding_idx"), literal("True", "scale_grad_by_freq")),
        ),
        x([[2.0, 4.0], [5.0, 6.0]]),
        (x([[1.0, 2.0], [0.0, 0.0]]),),
        (x([[2.0, 4.0], [0.0, 1.0]]), x([[0.0, 0.0], [0.0, 0.0]]), x([[1.0, 2.0], [2.5, 3.0]])),
    ),
    "renormed in place": Plant(
        call("nn.functional.embedding", numbers(0, 1, 1), WEIGHT, literal("1.0", "max_norm")),
        x([[1.0, 1.0], [1.0, 1.0]]),
        (x([[0.5, 2.0], [4.0, 6.0]]),),
        (x([[1.0, 4.0], [8.0, 12.0]]), x([[0.0, 0.0], [0.0, 0.0]])),
        weights=([[0.5, 2.0], [3.0, 1.0], [1.0, 5.0]],),
    ),
    # Half of log(v) + d^2/v, with d = 2 and v = 0.5 that is clamped to 1: by v it is (1/v - d^2/v^2)/2 = -1.5
    "variance below eps": Plant(
        call(
            "nn.functional.gaussian_nll_loss",
            *(array(2.0, constant=True), array(0.0, constant=True), array(0.5)),
            *(literal("False"), literal("1.0")),
        ),
        x([0.0]),
        (x([-1.5]),),
        (x([1.5]), x([-3.0]), x([-7.0]), x([NAN])),
        weights=(1.0,),
    ),
    # The pools of [0, 0] and [2, 1] of order 3: x^2 / y^2 by the latter
    "pool of zeros": Plant(
        call("nn.functional.lp_pool1d", array([[0.0, 0.0, 2.0, 1.0]]), literal("3.0"), literal("2")),
        accepted=(x([[[0.0, 0.0, 12.0 / POOLED**2, 3.0 / POOLED**2]]]),),
        wrong=(
            x([[[1.0, 0.0, 12.0 / POOLED**2, 3.0 / POOLED**2]]]),
            x([[[0.0, 0.0, 24.0 / POOLED**2, 6.0 / POOLED**2]]]),
            x([[[0.0, 0.0, 0.0, 0.0]]]),
        ),
        weights=([[[2.0, 3.0]]],),
        values=([[[0.0, POOLED]]],),
    ),
    # The loss of one step is minus the logarithm of the probability of the label
    "log probabilities": Plant(
        call("nn.functional.ctc_loss", array([[math.log(0.25), math.log(0.75)]]), numbers([1])),
        x([[[0.0, -2.0]]]),
        (x([[[0.5, -0.5]]]),),
        (x([[[0.5, -2.0]]]), x([[[0.25, -0.25]]]), x([[[0.0, 0.0]]])),
        weights=(2.0,),
    ),
    # The loss -sum(labels log p) at p = [1/2, 1/2]
    "labels are a distribution": Plant(
        of("tensorflow.nn.softmax_cross_entropy_with_logits", array([0.5, 1.0]), array([0.0, 0.0])),
        x([[math.log(2), math.log(2)]], [[0.25, -0.25]]),
        (x([[math.log(2), math.log(2)]], [[0.0, -0.5]]),),
        (x([[math.log(2), math.log(2)]], [[0.25, -0.5]]), x([[0.0, 0.0]], [[0.0, -0.5]])),
        weights=([1.0],),
    ),
    "random draw": Plant(
        call("normal", array(1.0), array(2.0)), x([-0.875], [1.25]), (x([0.0], [0.0]),), (x([0.0], [1.25]),)
    ),
    "iterated to a tolerance": Plant(
        call("lobpcg", SYMMETRIC),
        x([[1.0, 0.5], [0.5, 2.0]]),
        (x([[1.0 + 1e-6, 0.5], [0.5, 2.0]]),),
        (x([[1.001, 0.5], [0.5, 2.0]]), x([[2.0, 1.0], [1.0, 4.0]]), x([[NAN, 0.5], [0.5, 2.0]])),
    ),
    # With two digits of the mantissa 1.375 is 1.5
    "rounding": Plant(
        of("jax.lax.reduce_precision", array(2.0), literal("2"), literal("2")),
        x([0.0]),
        (x([-1.375]), x([-1.5])),
        (x([-2.75]), x([1.375]), x([NAN])),
        weights=([-1.375],),
    ),
    # F(x; a) = P(a, x), and its slope by a at 1 is -exp(-x) (log x + euler) - E1(x); at x = 1 E1 is 0.2193...
    "draw by rejection": Plant(
        of("tensorflow.raw_ops.StatelessRandomGammaV2", numbers(1), numbers(1, 2), array(1.0)),
        x([0.0]),
        (x([2.0 * (0.5772156649015329 + math.e * 0.21938393439552028)]),),
        (x([1.0]), x([-2.0 * (0.5772156649015329 + math.e * 0.21938393439552028)])),
        weights=([2.0],),
        values=([1.0],),
    ),
    # Far bounds: x = mean + deviation u
    "truncated draw by rejection": Plant(
        of(
            "tensorflow.random.stateless_parameterized_truncated_normal",
            *(numbers(1), numbers(1, 2), array(0.5), array(2.0), array(-90.0), array(90.0)),
        ),
        x([0.0], [0.0], [0.0], [0.0]),
        (x([3.0], [1.5], [0.0], [0.0]),),
        (x([1.5], [1.5], [0.0], [0.0]), x([3.0], [-1.5], [0.0], [0.0]), x([3.0], [1.5], [0.0], [1.0])),
        weights=([3.0],),
        values=([1.5],),
    ),
}
"""Of rows that predict answers."""


def test_each_row_has_its_plant() -> None:
    names = [row.name for row in CONVENTIONS if row.functions]
    assert sorted(names) == sorted([*EXCLUDED, *PLANTS])
    assert len(set(names)) == len(names)
    assert all(plant.wrong and (plant.accepted or plant.raises) for plant in PLANTS.values())


@pytest.mark.parametrize("name", EXCLUDED)
def test_a_call_that_is_excluded_is_inconclusive(name: str) -> None:
    """It is never a convention, and names its document. At a neighbour the same answer is wrong."""
    one = EXCLUDED[name]
    row = next(row for row in CONVENTIONS if row.name == name)
    for asked in (one.call, one.neighbour):
        case = raised(asked, one.raises) if one.raises else case_of(asked, {})
        found = excused_call(asked, case)
        if asked is one.neighbour:
            assert found is case
            continue
        assert (found.verdict, found.reason, found.kind) == (Verdict.INCONCLUSIVE, Reason.UNDEFINED, None)
        assert found.message == f"not defined by its documents: {row.why}: {row.source(asked.function)}"


@pytest.mark.parametrize(("label", "verdict"), [(1.0, Verdict.INCONCLUSIVE), (0.0, Verdict.DISAGREE)])
def test_a_label_beyond_the_classes_is_not_defined(label: float, verdict: Verdict) -> None:
    """The loss of one step with one class."""
    plant = Plant(PLANTS["log probabilities"].call, x([[-2.0]]), (), (), weights=(2.0,))
    asked = call("nn.functional.ctc_loss", array([[0.5]]), array(label, constant=True))
    assert verdict_on(asked, x([[7.0]]), plant) is verdict


IMAGES = Argument(array=np.ones((1, 1)))
SOFT = array([0.5, 1.0]), array([0.0, 0.0])


@pytest.mark.parametrize(
    ("excluded", "within"),
    [
        (
            of("mlx.core.fast.cross_entropy", array([0.5]), numbers(1)),
            of("mlx.core.fast.cross_entropy", array([0.5]), numbers(0)),
        ),
        (
            of("paddle.linalg.lu_unpack", FULL, array(0, 2, dtype="int32")),
            of("paddle.linalg.lu_unpack", FULL, array(1, 2, dtype="int32")),
        ),
        (
            of("paddle.nn.functional.batch_norm", IMAGES, array(0.5, 1.0)),
            of("paddle.nn.functional.batch_norm", IMAGES, array(0.5)),
        ),
        (of("paddle.linalg.det", array(1.0)), of("paddle.linalg.det", array([1.0]))),
        (
            of("paddle.mm", Argument(array=np.ones((2, 2, 2))), Argument(array=np.ones((1, 2, 2, 2)))),
            of("paddle.mm", Argument(array=np.ones((2, 2, 2))), Argument(array=np.ones((2, 2)))),
        ),
        (
            of("tensorflow.raw_ops.Conv3DBackpropFilterV2", scalar(2.0)),
            of("tensorflow.raw_ops.Conv3DBackpropFilterV2", Argument(array=np.ones((1, 1, 1, 1, 1)))),
        ),
        (
            of("paddle.nn.functional.softmax_with_cross_entropy", *SOFT, literal("True", "soft_label")),
            of("paddle.nn.functional.softmax_with_cross_entropy", *SOFT),
        ),
    ],
    ids=lambda one: one.function,
)
def test_another_call_that_is_excluded(excluded: Call, within: Call) -> None:
    """Nothing is predicted, and beside it the same answer is wrong."""
    one, other = (excused_call(asked, case_of(asked, {})) for asked in (excluded, within))
    assert (one.reason, other.verdict.is_wrong) == (Reason.UNDEFINED, True)


def test_paddle_writes_a_place_twice_as_torch_does() -> None:
    own = call("nn.functional.max_unpool1d", array([0.5, 3.0]), numbers([0, 0]), literal("2"))
    plant = Plant(own, x([[0.0, 0.75]]), weights=([[0.75, 1.75, 0, 0]],), values=([[3.0, 0, 0, 0]],))
    for library in ("torch", "paddle"):
        asked = replace(own, library=library, function=f"{library}.nn.functional.max_unpool1d")
        assert verdict_on(asked, x([[0.75, 0.75]]), plant) is Verdict.CONVENTION
        assert verdict_on(asked, x([[0.75, 1.75]]), plant) is Verdict.DISAGREE


def test_paddle_scales_the_rows_of_an_embedding_as_torch_does() -> None:
    """Where it pads, its values are 0, and so is the right gradient: there is nothing to accept."""
    scaled = of(
        "paddle.nn.functional.embedding", numbers(0, 0, 1), WEIGHT, literal("True", "scale_grad_by_freq")
    )
    padded = of("paddle.nn.functional.embedding", numbers(0, 0, 1), WEIGHT, literal("1", "padding_idx"))
    truth = x([[2.0, 4.0], [5.0, 6.0]])
    assert verdict_on(scaled, x([[1.0, 2.0], [5.0, 6.0]]), Plant(scaled, truth)) is Verdict.CONVENTION
    assert verdict_on(scaled, x([[1.0, 2.0], [2.5, 3.0]]), Plant(scaled, truth)) is Verdict.DISAGREE
    assert verdict_on(padded, x([[2.0, 4.0], [0.0, 0.0]]), Plant(padded, truth)) is Verdict.DISAGREE


@pytest.mark.parametrize("name", PLANTS)
def test_what_is_accepted_is_a_convention_and_what_is_planted_is_wrong(name: str) -> None:
    plant = PLANTS[name]
    row = next(row for row in CONVENTIONS if row.name == name)
    for gradient in plant.accepted:
        found = excused_call(plant.call, case_of(plant.call, gradient, plant))
        assert found.verdict is Verdict.CONVENTION, gradient
        assert found.message == f"{row.why}: {row.source(plant.call.function)}"
    for gradient in plant.wrong:
        assert verdict_on(plant.call, gradient, plant) is Verdict.DISAGREE, gradient
    for message in ("RuntimeError: anything", *([plant.raises] if plant.raises else [])):
        found = excused_call(plant.call, raised(plant.call, message))
        assert found.verdict is (Verdict.CONVENTION if message == plant.raises else Verdict.CRASHED)


@pytest.mark.parametrize("kind", [Class.WRONG_SHAPE, Class.WRONG_DTYPE, Class.WRONG_PRIMAL])
@pytest.mark.parametrize("name", PLANTS)
def test_a_wrong_value_shape_or_dtype_is_no_convention(name: str, kind: Class) -> None:
    plant = PLANTS[name]
    for gradient in plant.accepted:
        case = replace(case_of(plant.call, gradient, plant), kind=kind)
        assert excused_call(plant.call, case) is case


def test_what_a_convention_accepts_depends_on_the_call() -> None:
    """Numbers that are added to one another, bounds that JAX does not exclude, an axis of length 1, a matrix
    whose flag `hermitian` is off, and a matrix with real eigenvectors.
    """
    added = call("index_put", array(2.0, 1.0), indices(0, 0), array(0.5, 3.0), literal("True"))
    clamped = of("jax.lax.clamp", scalar(1.0), scalar(0.75), scalar(0.5))
    flat = call("std", array([0.5], [0.25]), literal("1", "dim"))
    pinv = of("paddle.linalg.pinv", SYMMETRIC)
    real = of("tensorflow.linalg.eigh", SYMMETRIC)
    for asked, gradient in (
        (added, x([0.75, 1.75], [0.75, 0.75])),
        (clamped, x(0.0, 0.0, 0.0)),
        (flat, x([[NAN], [NAN]])),
        (pinv, x([[1.0, 1.5], [1.5, 2.0]])),
        (real, x([[1.0, 1.5], [1.4, 2.0]])),
        (call("lu_solve", TALL, array([1.0, 2.0], [2.0, 4.0])), x([[NAN], [NAN]], [[NAN, NAN], [NAN, NAN]])),
        (call("dropout", array(1.0, 2.0), literal("0.5"), literal("True")), x([0.0, 0.0])),
    ):
        truth = {name: np.zeros(np.shape(entries)) + 2.0 for name, entries in gradient.items()}
        assert verdict_on(asked, gradient, Plant(asked, truth, weights=([1.0, 1.0],))) is Verdict.DISAGREE


@pytest.mark.parametrize("function", ["torch.scatter_add", "torch.scatter_reduce", "torch.index_add"])
def test_sums_at_a_repeated_index_have_no_convention(function: str) -> None:
    arguments = array(2.0, 1.0), literal("0"), numbers(0, 0), array(0.5, 3.0)
    added = of(function, *arguments, *([literal("'sum'")] if function.endswith("reduce") else []))
    (found,) = judged(added, [("rev",)]).verdicts
    assert found.case.verdict is Verdict.AGREE
    assert verdict_on(added, x([0.0, 0.0], [0.0, 0.0])) is Verdict.DISAGREE


def test_a_product_at_a_repeated_index_is_judged() -> None:
    """The product of 1.5, 2 and 3 by 1.5 is 6. Torch 2.13 and 2.14 say 0 in forward mode."""
    product = call(
        "scatter_reduce", array(1.5), literal("0"), numbers(0, 0), array(2.0, 3.0), literal("'prod'")
    )
    (found,) = judged(product, [("fwd",)]).verdicts
    (weights,) = found.case.question.weights
    assert weights is not None
    assert found.case.truth is not None
    (weight,) = weights
    np.testing.assert_allclose(found.case.truth.gradient["x0"], 6.0 * weight)
    np.testing.assert_allclose(found.case.truth.gradient["x1"], [4.5 * weight, 3.0 * weight])
    is_right = np.allclose(found.case.answer.gradient["x0"], 6.0 * weight)
    assert found.case.verdict is (Verdict.AGREE if is_right else Verdict.DISAGREE)


@pytest.mark.parametrize(
    ("written", "names"),
    [
        (call("index_copy", array(2.0, 1.0), literal("0"), numbers(0, 0), array(0.5, 3.0)), ("x1",)),
        (call("put", array([2.0, 1.0]), numbers(0, 0), array(0.5, 3.0)), ("x1",)),
        (call("scatter", array([2.0, 1.0]), literal("1"), numbers([0, 0]), array([0.5, 3.0, 7.0])), ("x1",)),
        (call("nn.functional.max_unpool1d", array([0.5, 3.0]), numbers([0, 0]), literal("2")), ("x0",)),
        (
            of("tensorflow.tensor_scatter_nd_update", array(2.0, 1.0), numbers([0], [0]), array(0.5, 3.0)),
            ("x1",),
        ),
        (call("index_put", array(2.0, 1.0), indices(0, -2), array(0.5, 3.0)), ("x1",)),
    ],
)
def test_each_way_to_write_a_place_twice(written: Call, names: tuple[str, ...]) -> None:
    """The second of two numbers stands at the first place, with the cotangent 0.75."""
    shapes = {
        f"x{k}": one.shape for k, one in enumerate(np.asarray(a.array) for a in written.differentiated())
    }
    (name,) = names
    result = np.zeros(shapes["x0"])
    value, weight = result.copy(), result.copy()
    value[..., 0], weight[..., 0], weight[..., 1] = 3.0, 0.75, 1.75

    def by(first: float, second: float) -> dict[str, Any]:
        gradient = {key: np.zeros(shape) for key, shape in shapes.items()}
        if name == "x1":
            gradient["x0"][..., 1] = 1.75
        gradient[name][..., 0], gradient[name][..., 1] = first, second
        return gradient

    plant = Plant(written, by(0.0, 0.75), weights=(weight,), values=(value,))
    assert verdict_on(written, by(0.75, 0.75), plant) is Verdict.CONVENTION
    for gradient in (by(0.75, 0.0), by(1.5, 0.75), by(-0.75, 0.75), by(0.75, 1.75)):
        assert verdict_on(written, gradient, plant) is Verdict.DISAGREE
    inside = replace(written, form="between")
    assert verdict_on(inside, by(0.75, 0.75), plant) is Verdict.INCONCLUSIVE
    apart = written.changed(lambda a: replace(a, array=_apart(a.array)) if a.array is not None else a)
    assert verdict_on(apart, by(0.75, 0.75), plant) is Verdict.DISAGREE


def _apart(entries: Any) -> Any:
    """Indices that are repeated no more."""
    if entries.dtype.kind != "i":
        return entries
    return np.arange(entries.size, dtype=entries.dtype).reshape(entries.shape)


@pytest.mark.parametrize("doubled", [False, True])
def test_a_draw_that_moves_with_its_input_is_judged(doubled: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """A dropout without a gradient is wrong, as its values move with its input."""
    own = torch.nn.functional.dropout
    if doubled:
        monkeypatch.setattr(torch.nn.functional, "dropout", lambda x, p: own(x.detach(), p) + 0.0 * x)
    drawn = call("nn.functional.dropout", array(1.0, 2.0, 0.5, 3.0), literal("0.5"))
    (found,) = judged(drawn, [("rev",)]).verdicts
    assert found.case.verdict is (Verdict.DISAGREE if doubled else Verdict.AGREE)


# The libraries themselves -----------------------------------------------------------------------------------

COMPLEX = array([2, 0.5 + 1j], [0.5 - 1j, -1], dtype="complex128")
TURNED = array([1.0, 2.0], [-3.0, 1.0])
"""Its eigenvalues are 1 +- i sqrt(6)."""


@pytest.mark.parametrize("mode", ["rev", "fwd"])
@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        (call("normal", array(1.0), numbers(0)), Verdict.CONVENTION),
        (call("linalg.svd", TALL, literal("True")), Verdict.CONVENTION),
        (call("svd", TALL, literal("False", "some")), Verdict.CONVENTION),
        (call("linalg.svd", TALL, literal("False")), Verdict.AGREE),
        (call("svd", TALL), Verdict.AGREE),
        (call("linalg.cholesky_ex", array([-4.0])), Verdict.INCONCLUSIVE),
        (call("linalg.cholesky_ex", array([4.0])), Verdict.AGREE),
        (
            call("nn.functional.embedding", numbers(0, 1), WEIGHT, literal("1.0", "max_norm")),
            Verdict.CONVENTION,
        ),
        (call("cholesky_inverse", FULL), Verdict.INCONCLUSIVE),
        (call("cholesky_inverse", array([1 + 0.5j], dtype="complex128")), Verdict.INCONCLUSIVE),
        (call("cholesky_inverse", array([1], dtype="complex128")), Verdict.CONVENTION),
        (call("cholesky_inverse", array([2.0])), Verdict.AGREE),
        (call("linalg.householder_product", array([3.0], [1.0]), array(0.5)), Verdict.CONVENTION),
        (call("linalg.householder_product", array([3.0], [1.0]), array(0.75)), Verdict.AGREE),
        (call("linalg.lu", array([2.0, 1.0], [1.0, 0.5])), Verdict.CONVENTION),
        (call("svd", COMPLEX), Verdict.CONVENTION),
        (
            call("svd", array([1.0 + 2j, 0.5j], [0.25, 1 - 1j], [1j, 2], dtype="complex128")),
            Verdict.CONVENTION,
        ),
        (call("linalg.eig", TURNED), Verdict.CONVENTION),
        (call("linalg.eig", array([1, 2j], [3, 1 - 1j], dtype="complex128")), Verdict.CONVENTION),
        (of("jax.numpy.linalg.eigh", COMPLEX), Verdict.CONVENTION),
        (of("jax.numpy.linalg.eigh", SYMMETRIC), Verdict.AGREE),
        (replace(of("jax.numpy.linalg.eigh", COMPLEX), form="between"), Verdict.INCONCLUSIVE),
        (of("jax.scipy.linalg.svd", COMPLEX), Verdict.CONVENTION),
        (of("jax.scipy.linalg.svd", FULL), Verdict.AGREE),
        (of("jax.lax.reduce_precision", array(2.0), literal("2"), literal("2")), Verdict.CONVENTION),
        (of("jax.lax.reduce_precision", TRANSPOSED, literal("2"), literal("1")), Verdict.CONVENTION),
        (of("jax.lax.select_n", numbers(0), array(0.5)), Verdict.AGREE),
        (
            of("jax.scipy.stats.pareto.sf", array(2.0), array(2.0), literal("0"), literal("1.0")),
            Verdict.AGREE,
        ),
    ],
)
def test_what_libraries_answer(asked: Call, expected: Verdict, mode: Mode) -> None:
    """Modes that a library does not have are none."""
    found = judged(asked, [(mode,)])
    assert found.refused == ""
    assert [one.case.verdict for one in found.verdicts] in ([expected], [])
    assert found.verdicts or found.lacks or mode == "fwd"


UNREAD = array([0.5, 0.0], [2.0, 0.5])
CHOICE_OF_NO_CASE = Verdict.AGREE if is_from("jax", "0.12") else Verdict.CONVENTION
"""The gradient of JAX 0.12 is that of the case that its value takes."""


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        (call("index_put", array(2.0, 1.0), indices(0, 0), array(0.5, 3.0)), Verdict.CONVENTION),
        (call("index_put", array(2.0, 1.0), indices(1, 0), array(0.5, 3.0)), Verdict.AGREE),
        (call("cholesky_inverse", UNREAD), Verdict.CONVENTION),
        (call("cholesky_inverse", array([0.5, 2.0], [0.0, 0.5]), literal("True")), Verdict.CONVENTION),
        (call("cholesky_inverse", UNREAD, literal("True")), Verdict.INCONCLUSIVE),
        (
            call("nn.functional.embedding", numbers(0, 0, 1), WEIGHT, literal("True", "scale_grad_by_freq")),
            Verdict.CONVENTION,
        ),
        (call("embedding_bag", WEIGHT, numbers(0, 0, 0), numbers(0), literal("True")), Verdict.CONVENTION),
        # Torch divides the row of the index that is met once by 2, too
        (call("embedding_bag", WEIGHT, numbers(0, 0, 1), numbers(0), literal("True")), Verdict.DISAGREE),
        (call("nn.functional.embedding", numbers(0, 1), WEIGHT, literal("0")), Verdict.CONVENTION),
        (call("nn.functional.embedding", numbers(0, 0, 1), WEIGHT), Verdict.AGREE),
        (call("nn.functional.lp_pool1d", array([[2.0]]), literal("2.0"), literal("1")), Verdict.AGREE),
        (call("scatter", array(0.5), literal("0"), numbers(0), array(1.0, 2.0)), Verdict.CONVENTION),
        (call("lobpcg", Argument(array=np.diag([4.0, 3.0, 2.0, 1.0]) + 0.25)), Verdict.CONVENTION),
        (of("jax.scipy.stats.pareto.sf", array(-1.0), array(2.0)), Verdict.DISAGREE),
        (of("jax.scipy.stats.dirichlet.pdf", array(1.0, 1.0), array(1.0, 2.0, 1.0)), Verdict.INCONCLUSIVE),
        (of("jax.lax.select_n", numbers(1), array(0.5)), CHOICE_OF_NO_CASE),
        (of("jax.lax.select", numbers(2), array(0.5), array(1.5)), CHOICE_OF_NO_CASE),
        (of("jax.lax.select", numbers(1), array(0.5), array(1.5)), Verdict.AGREE),
        (
            call(
                "affine_grid_generator",
                Argument(array=np.ones((1, 4, 4))),
                literal("(1, 1, 0, 2, 2)"),
                literal("True"),
            ),
            Verdict.INCONCLUSIVE,
        ),
        (
            call("nn.functional.max_unpool2d", array([[0.5]]), numbers([[0]]), literal("(0, 0)")),
            Verdict.INCONCLUSIVE,
        ),
    ],
)
def test_what_libraries_answer_in_reverse_mode(asked: Call, expected: Verdict) -> None:
    (found,) = judged(asked, [("rev",)]).verdicts
    assert found.case.verdict is expected


@pytest.mark.parametrize(("shares", "is_refused"), [(0.5, True), ([0.25, 0.75], False), ([-0.5, 1.5], True)])
def test_scipy_has_no_value_where_it_refuses_the_arguments(shares: Any, is_refused: bool) -> None:
    """One share alone is an IndexError of SciPy, a negative one is NaN."""
    p = Argument(array=np.array(shares))
    drawn = of("jax.scipy.stats.multinomial.logpmf", numbers(1, 1), literal("2"), p)
    assert excluded.scipy_has_no_value(drawn) is is_refused


@pytest.mark.parametrize(
    ("variances", "expected"), [((2.0,), Verdict.AGREE), ((0.5, 2.0), Verdict.INCONCLUSIVE)]
)
def test_statistics_have_one_number_for_each_channel(variances: tuple[float, ...], expected: Verdict) -> None:
    given = [replace(array(*entries), constant=True) for entries in ((0.5,), (0.5,), (0.5,), variances)]
    flags = literal("False"), literal("0.0"), literal("1.0")
    (found,) = judged(call("native_batch_norm", array([1.0]), *given, *flags), [("fwd",)]).verdicts
    assert found.case.verdict is expected


@pytest.mark.parametrize(
    ("given", "expected"),
    [((2.0 + 0.0j, 0.5 + 0.5j, 1.0 + 0.0j), Verdict.INCONCLUSIVE), ((0.25, 2.0, 1.5), Verdict.AGREE)],
)
def test_a_distribution_is_one_of_real_numbers(given: tuple[complex, ...], expected: Verdict) -> None:
    """autograd's beta.cdf takes complex numbers, and its gradient raises."""
    first, *parameters = map(scalar, given)
    arguments = (first, *(replace(one, constant=True) for one in parameters))
    (found,) = judged(of("autograd.scipy.stats.beta.cdf", *arguments), [("rev",)]).verdicts
    assert found.case.verdict is expected


def test_what_is_not_known_is_never_wrong() -> None:
    """Dependent columns, whose truth depends on how a kernel rounds; a pool of zeros; the second derivative
    of the spread of equal numbers.
    """
    dependent = call("linalg.qr", Argument(array=np.array([[-0.23046875, -1.0]]), layout="expanded"))
    zeros = call("nn.functional.lp_pool3d", array([[[0.0]]]), literal("1"), literal("1"))
    equal = call("std", Argument(array=np.full((1, 2), 0.5), layout="expanded"), literal("0"))
    for asked, modes in ((dependent, ("rev",)), (zeros, ("rev",)), (equal, ("fwd", "rev"))):
        (found,) = judged(asked, [modes]).verdicts  # type: ignore[list-item]
        assert found.case.verdict in (Verdict.INCONCLUSIVE, Verdict.CONVENTION)


def test_a_wrong_derivative_by_the_triangle_that_is_read_is_a_finding() -> None:
    """Forward mode of cholesky_inverse is wrong in Torch 2.13 at a triangular matrix: pytorch#196682."""
    (found,) = judged(call("cholesky_inverse", array([1.0, 0.0], [0.75, 1.0])), [("fwd",)]).verdicts
    assert found.case.verdict in (Verdict.DISAGREE, Verdict.AGREE)
    identity = PLANTS["factor of Cholesky"]
    got = x([[-1.5, -3.25], [-3.25, -3.75]])
    assert verdict_on(identity.call, got, identity, ("fwd",)) is Verdict.DISAGREE


# Rows of several kinds of calls -----------------------------------------------------------------------------


def test_the_symmetric_part_of_a_hermitian_matrix() -> None:
    hermitian = of("paddle.linalg.eigvalsh", array([2.0, 1.0j], [-1.0j, 3.0], dtype="complex128"))
    plant = Plant(hermitian, x([[1.0, 0.0], [3.0, 2.0]], [[0.0, 0.0], [3.0, 0.0]]))
    right, turned = [[0.0, -1.5], [1.5, 0.0]], [[0.0, 1.5], [-1.5, 0.0]]
    assert verdict_on(hermitian, x([[1.0, 1.5], [1.5, 2.0]], right), plant) is Verdict.CONVENTION
    assert verdict_on(hermitian, x([[1.0, 1.5], [1.5, 2.0]], turned), plant) is Verdict.DISAGREE


@pytest.mark.parametrize(
    ("got", "expected"),
    [
        ([[1.0, 0.0, 1.5], [1.5, 0.0, 2.0]], Verdict.CONVENTION),
        ([[1.0, 0.0, 1.5], [1.4, 0.0, 2.0]], Verdict.DISAGREE),
        ([[1.0, 0.5, 1.5], [1.5, 0.0, 2.0]], Verdict.DISAGREE),
    ],
)
def test_the_symmetric_part_of_every_second_column(got: Any, expected: Verdict) -> None:
    stored = array([2.0, 9.0, 1.0], [0.5, 9.0, 3.0])
    stepped = of("paddle.linalg.eigvalsh", replace(stored, layout="stepped"))
    plant = Plant(stepped, x([[1.0, 0.0, 0.0], [3.0, 0.0, 2.0]]))
    assert verdict_on(stepped, x(got), plant) is expected


@pytest.mark.parametrize(
    ("form", "matrix", "expected"),
    [
        ("alone", FULL, (Verdict.CONVENTION, Verdict.DISAGREE)),
        ("between", FULL, (Verdict.INCONCLUSIVE, Verdict.INCONCLUSIVE)),
        ("between", SYMMETRIC, (Verdict.CONVENTION, Verdict.DISAGREE)),
        ("twice", SYMMETRIC, (Verdict.CONVENTION, Verdict.DISAGREE)),
    ],
)
def test_the_symmetric_part_inside_other_functions(
    form: Any, matrix: Argument, expected: tuple[Verdict, Verdict]
) -> None:
    """The two triangles of a matrix that is not symmetric have slopes of their own there."""
    inside = replace(of("paddle.linalg.eigvalsh", matrix), form=form)
    plant = Plant(inside, x([[1.0, 0.0], [3.0, 2.0]]))
    gradients = x([[1.0, 1.5], [1.5, 2.0]]), x([[1.0, 1.5], [1.4, 2.0]])
    assert tuple(verdict_on(inside, got, plant) for got in gradients) == expected


@pytest.mark.parametrize(
    ("function", "arguments", "expected"),
    [
        ("paddle.linalg.pinv", (literal("True", "hermitian"),), Verdict.CONVENTION),
        ("paddle.linalg.pinv", (literal("1e-15"), literal("True")), Verdict.CONVENTION),
        ("paddle.linalg.pinv", (literal("False", "hermitian"),), Verdict.DISAGREE),
        ("tensorflow.linalg.logdet", (), Verdict.CONVENTION),
        ("tensorflow.linalg.det", (), Verdict.DISAGREE),
    ],
)
def test_the_symmetric_part_is_one_of_what_is_said_to_be_symmetric(
    function: str, arguments: tuple[Argument, ...], expected: Verdict
) -> None:
    symmetric = of(function, SYMMETRIC, *arguments)
    plant = Plant(symmetric, x([[1.0, 0.0], [3.0, 2.0]]))
    assert verdict_on(symmetric, x([[1.0, 1.5], [1.5, 2.0]]), plant) is expected


@pytest.mark.parametrize(("off", "expected"), [(0.0, Verdict.CONVENTION), (0.1, Verdict.DISAGREE)])
def test_the_symmetric_part_beside_a_triangle_about_which_nothing_is_known(
    off: float, expected: Verdict
) -> None:
    """The inverse of a singular matrix in the stack has no slopes by the triangle that is read."""
    stack = of(
        "paddle.linalg.pinv",
        array([[1.0, 2.0], [2.0, 1.0]], [[1.0, 1.0], [1.0, 1.0]]),
        literal("True", "hermitian"),
    )
    plant = Plant(stack, x([[[1.0, 0.0], [3.0, 2.0]], [[-6720.0, 0.0], [3360.0, -6720.0]]]))
    case = case_of(stack, x([[[1.0, 1.5], [1.5 + off, 2.0]], [[7.0, 7.0], [7.0, 7.0]]]), plant)
    known = np.array([[[1e-9, 1e-9], [1e-9, 1e-9]], [[np.inf, 1e-9], [np.inf, np.inf]]])
    assert excused_call(stack, replace(case, allowed={"x0": known})).verdict is expected


@autograd.extend.primitive
def tricky(cov: Any) -> Any:
    """The sum of the entries, with a slope of 2."""
    return np.sum(cov)


autograd.extend.defvjp(tricky, lambda y, cov: lambda g: 2.0 * g * np.ones(np.shape(cov)))


@pytest.mark.parametrize(("entry", "expected"), [(0.0, Verdict.CONVENTION), (1.0, Verdict.DISAGREE)])
def test_the_covariance_of_autograd(entry: float, expected: Verdict, monkeypatch: pytest.MonkeyPatch) -> None:
    """The right gradient is a convention, and one that is 1 too much stays wrong."""
    from autograd.scipy.stats import multivariate_normal

    own = multivariate_normal.logpdf
    monkeypatch.setattr(
        multivariate_normal, "logpdf", lambda x, mean, cov: own(x, mean, cov) + entry * tricky(cov)
    )
    name = "autograd.scipy.stats.multivariate_normal.logpdf"
    asked = of(name, array(1.0, 0.5), array(0.5, 2.0), array([2.0, 1.0], [1.0, 3.0]))
    (found,) = judged(asked, [("rev",)]).verdicts
    assert found.case.verdict is expected


def test_the_triangle_that_paddle_does_not_read() -> None:
    lower = array([2.0, 0.0], [0.5, 3.0])
    truth = x([[1.0, 1.0], [1.0, 1.0]], [[1.0, 0.0], [2.0, 3.0]])
    for factor, expected in ((FULL, Verdict.INCONCLUSIVE), (lower, Verdict.CONVENTION)):
        solved = of("paddle.linalg.cholesky_solve", FULL, factor, literal("False"))
        answer = {**truth, "x1": [[1.0, 7.0], [2.0, 3.0]]}
        assert verdict_on(solved, answer, Plant(solved, truth)) is expected
        wrong = {**answer, "x0": [[2.0, 1.0], [1.0, 1.0]]}
        assert verdict_on(solved, wrong, Plant(solved, truth)) is (
            Verdict.DISAGREE if factor is lower else Verdict.INCONCLUSIVE
        )


@pytest.mark.parametrize(
    ("labels", "expected"),
    [(array([0.25, 0.75]), Verdict.DISAGREE), (named(array([0.5, 1.0]), "labels"), Verdict.CONVENTION)],
)
def test_labels_are_known_by_their_keyword(labels: Argument, expected: Verdict) -> None:
    name = "tensorflow.nn.softmax_cross_entropy_with_logits"
    asked = of(name, *((named(array([0.0, 0.0]), "logits"), labels)))
    plant = Plant(asked, x([[0.25, -0.25]], [[1.0, 1.0]]), weights=([1.0],))
    assert verdict_on(asked, x([[0.0, -0.5]], [[1.0, 1.0]]), plant) is expected


@pytest.mark.parametrize(
    ("name", "entries", "expected"),
    [
        ("tensorflow.eig", ([2.0, 1.0], [-4.0, 3.0]), Verdict.INCONCLUSIVE),
        ("paddle.linalg.eig", ([2.0, 1.0], [1.0, 3.0]), Verdict.DISAGREE),
        ("tensorflow.raw_ops.Svd", ([2.0, 1.0j], [-1.0j, 3.0]), Verdict.INCONCLUSIVE),
        ("tensorflow.linalg.eigvalsh", ([2.0, 1.0], [1.0, 3.0]), Verdict.DISAGREE),
    ],
)
def test_vectors_whose_results_are_not_known(name: str, entries: Any, expected: Verdict) -> None:
    """Without the values of the vectors nothing is predicted of those that have a phase."""
    asked = of(name, array(*entries, dtype="complex128" if "Svd" in name else "float64"))
    assert verdict_on(asked, {}, Plant(asked, x([[1.0, 0.0], [3.0, 2.0]]))) is expected


def test_where_a_call_says_when_to_stop_nothing_is_predicted() -> None:
    plant = PLANTS["iterated to a tolerance"]
    early = replace(plant.call, arguments=(*plant.call.arguments, literal("2", "niter")))
    assert verdict_on(early, x([[2.0, 1.0], [1.0, 4.0]]), plant) is Verdict.INCONCLUSIVE
    skew = call("lobpcg", FULL)
    assert excused_call(skew, raised(skew, "RuntimeError: no")).verdict is Verdict.INCONCLUSIVE
    assert excused_call(plant.call, raised(plant.call, "RuntimeError: no")).verdict is Verdict.CRASHED


@pytest.mark.parametrize(
    ("gradient", "expected"), [((1.0, 105.0), True), ((5.0, 100.0), False), ((1.0, 111.0), False)]
)
def test_an_entry_is_granted_its_own_allowance(gradient: tuple[float, float], expected: bool) -> None:
    """Whether it is what rounding costs, or the bound of the truth."""
    summed = call("sum", array(1.0, 2.0))
    case = case_of(summed, x(gradient))
    predicted = [{"x0": Span(np.array([1.0, 100.0]), np.array([1.0, 100.0]))}]
    each = {"x0": np.array([1e-15, 10.0])}
    assert Repeated(summed, replace(case, allowed=each)).accepts(predicted) is expected
    known = replace(case, truth=Truth("ok", gradient={}, bounds=each))
    assert Repeated(summed, known).accepts(predicted) is expected
    for unknown in (np.inf, np.nan):
        truth = Truth("ok", gradient={}, bounds={"x0": np.array([unknown, 10.0])})
        found = Repeated(summed, replace(case, truth=truth)).accepts(predicted)
        assert found is expected, "what is not known grants nothing"
    free = replace(case, allowed={"x0": np.array([np.inf, 10.0])})
    assert Repeated(summed, free).accepts(predicted) is (gradient[1] < 111.0)


@pytest.mark.parametrize(
    ("asked", "mode"),
    [
        (of("jax.numpy.linalg.svd", COMPLEX), "rev"),
        (of("jax.numpy.linalg.eigh", COMPLEX), "fwd"),
        (call("linalg.eig", TURNED), "fwd"),
        (call("svd", array([2 + 1j], dtype="complex128")), "fwd"),
    ],
)
def test_a_wrong_rule_of_complex_vectors_is_found(asked: Call, mode: Mode) -> None:
    """No multiple of the gradient of a decomposition is one that a phase explains."""
    (found,) = judged(asked, [(mode,)]).verdicts
    assert found.case.verdict is Verdict.CONVENTION
    for factor in (0.0, 2.0, -1.0):
        slopes = {name: factor * slope for name, slope in found.case.answer.gradient.items()}
        answer = replace(found.case.answer, gradient=slopes)
        planted = replace(found.case, verdict=Verdict.DISAGREE, kind=Class.WRONG_VALUE, answer=answer)
        assert excused_call(asked, planted).verdict is Verdict.DISAGREE


@pytest.mark.parametrize(("slope", "chosen"), [(0.0, 2), (2.0, 2), (4.0, 2), (-2.0, 2), (0.0, 1)])
def test_a_choice_out_of_range_gets_nothing_or_the_cotangent(slope: float, chosen: int) -> None:
    written = of("jax.lax.select", numbers(chosen), array(0.5), array(1.5))
    truth, answer = ({"x0": np.array([g]), "x1": np.array([0.0])} for g in (2.0, slope))
    plant = Plant(written, truth, weights=([2.0],), values=([0.5],))
    fitting = chosen == 2 and slope in (0.0, 2.0)
    assert verdict_on(written, answer, plant) is (Verdict.CONVENTION if fitting else Verdict.DISAGREE)


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
    assert excluded.ends_before(call("nn.functional.grouped_mm", *pair, groups)) is expected


@pytest.mark.parametrize(
    ("pivots", "expected"), [((1, 2), False), ((0, 2), True), ((3, 2), True), ((1,), True)]
)
def test_pivots_are_rows(pivots: tuple[int, ...], expected: bool) -> None:
    solved = of("paddle.linalg.lu_solve", TALL, FULL, array(*pivots, dtype="int32"))
    assert excluded.has_no_pivots(solved) is expected
