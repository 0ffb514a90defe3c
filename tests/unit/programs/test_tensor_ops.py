"""The tensor ops in every arithmetic: values, derivatives of both orders in both modes, and what the
libraries say.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import mpmath
import numpy as np
import pytest

from gradfuzz import engine
from gradfuzz.engine.rules.jvp import JVP
from gradfuzz.engine.rules.vjp import VJP
from gradfuzz.errors import DomainError, ProgramTypeError
from gradfuzz.fuzzer.conventions.ties import ties
from gradfuzz.fuzzer.results.finding import Verdict
from gradfuzz.fuzzer.tolerance.perturbed import PerturbedNamespace
from gradfuzz.fuzzer.verdict.evaluator import Evaluator
from gradfuzz.oracles.base import Mode, Point, Question
from gradfuzz.oracles.engine.oracle import EngineOracle
from gradfuzz.oracles.registry import references, resolve
from gradfuzz.programs import Program, from_json, interpret, parse, to_json, to_text
from gradfuzz.programs.arithmetic.numpy_namespace import NumpyNamespace
from gradfuzz.programs.arithmetic.object_namespace import ObjectNamespace
from gradfuzz.programs.language.functions import FUNCTIONS
from gradfuzz.programs.language.ops import OPS
from gradfuzz.programs.language.typecheck import typecheck

MODES: tuple[tuple[Mode, ...], ...] = (
    ("rev",),
    ("fwd",),
    ("rev", "rev"),
    ("fwd", "rev"),
    ("rev", "fwd"),
    ("fwd", "fwd"),
)

CASES: dict[str, tuple[str, ...]] = {
    "amax": (
        'x: "float[2, 3]" -> amax(sin(x), axis=1) * amax(x)',
        'x: "float[2, 3]" -> amax(x * x, axis=(0, 1), keepdims=True)',
        'x: "float[0, 3]" -> amax(x, axis=1)',
        "x -> amax(x * x)",
    ),
    "amin": (
        'x: "float[2, 3]" -> amin(x * x, axis=0, keepdims=True)',
        'x: "float[2, 1, 2]" -> exp(amin(x, axis=(0, -1)))',
        'x: "float[3, 0]" -> amin(x, axis=0)',
    ),
    "logsumexp": (
        'x: "float[2, 3]" -> logsumexp(x * x, axis=1)',
        'x: "float[2, 2]" -> logsumexp(100.0 * x, axis=(0, 1), keepdims=True)',
        'x: "float[0, 2]" -> logsumexp(x, axis=-1)',
        "x -> logsumexp(x * x)",
    ),
    "softmax": (
        'x: "float[2, 3]" -> softmax(x * x)',
        'x: "float[2, 1, 2]" -> softmax(x, axis=0)',
        'x: "float[0, 2]" -> softmax(x)',
        'x: "float[2, 0]" -> softmax(x)',
    ),
    "log_softmax": ('x: "float[2, 3]" -> log_softmax(x * x, axis=0)', 'x: "float[2, 0]" -> log_softmax(x)'),
    "log1p": ('x: "float[3]" -> log1p(x * x)', "x -> log1p(x * x)", "x -> log1p(1e-17 * x) * 1e17"),
    "expm1": ('x: "float[3]" -> expm1(x)', "x -> expm1(x)", "x -> expm1(1e-17 * x) * 1e17"),
    "clip": (
        'x: "float[2, 3]", y: "float[3]", z -> clip(x * x, y, z)',
        "x, y -> clip(x, y, 0.25)",
        'x: "float[0]", y -> clip(x, y, 1.0)',
        'x: "float[3]" -> clip(x, -0.5, 2)',
    ),
    "cumulative_prod": (
        'x: "float[2, 3]" -> cumulative_prod(x, axis=1)',
        'x: "float[3, 2]" -> cumulative_prod(x)',
        (
            'x: "float[4]" -> cumulative_prod(x * array([1.0, 0.0, 1.0, 0.0]), axis=-1) +'
            " cumulative_prod(concat(x[0:2], x[0:2] * 0.0))"
        ),
        'x: "float[0, 2]" -> cumulative_prod(x)',
    ),
    "cumulative_max": (
        'x: "float[5]" -> cumulative_max(x * x)',
        'x: "float[2, 3]" -> cumulative_max(x, axis=-1)',
        'x: "float[2, 0]" -> cumulative_max(x, axis=1)',
    ),
    "sort": (
        'x: "float[2, 3]" -> sort(x) ** 2',
        'x: "float[3, 2]" -> sort(sin(x), axis=0)',
        'x: "float[2, 0]" -> sort(x)',
    ),
    "take": (
        'x: "float[3, 2]" -> take(x * x, array([2, 0, 2]), axis=0)',
        'x: "float[2, 3]" -> take(x * x, array([[1, 1], [0, 2]]), -1)',
        'x: "float[2, 3]", n: "int" -> take(x, n, 1) ** 2',
        'x: "float[3]", k: "int[4]" -> take(x, k, 0) * x[0]',
        'x: "float[3]" -> take(x, array([], dtype=int), 0)',
    ),
    "take_along_axis": (
        'x: "float[2, 3]" -> take_along_axis(x * x, array([[2, 2], [0, 1]]), axis=1)',
        'x: "float[1, 3]" -> take_along_axis(x * x, array([[2, 0], [1, 1]]), axis=-1)',
        'x: "float[2, 3]" -> take_along_axis(x * x, array([[1], [0], [1]]) * array([[1, 0, 1]]), axis=0)',
        'x: "float[2, 2]" -> take_along_axis(x, argsort(x, axis=0), axis=0) ** 2',
    ),
    "scatter_add": (
        'x: "float[3]", u: "float[4]" -> scatter_add(x, array([0, 2, 0, 0]), u, 0) ** 2',
        'x: "float[2, 3]", u: "float[2, 2]" -> scatter_add(x, array([1, 1]), u, axis=1) ** 2',
        'x: "float[3, 2]", u: "float[2, 2, 2]" -> scatter_add(x * x, array([[1, 1], [0, 1]]), u * u, axis=0)',
        'x: "float[3]", u, n: "int" -> scatter_add(x, n, u, 0) ** 2',
        'x: "float[3]", u: "float[0]" -> scatter_add(x, array([], dtype=int), u, 0)',
    ),
    "window_sum": (
        'x: "float[5]" -> window_sum(x, (2,), strides=(2,)) ** 2',
        'x: "float[5]" -> window_sum(x * x, (2,), strides=(3,), padding=((1, 2),))',
        'x: "float[2, 4]" -> window_sum(x, (1, 3), padding=((0, 0), (2, 0))) ** 2',
        'x: "float[3, 3]" -> window_sum(x, (2, 2), (1, 2), ((1, 0), (0, 1))) ** 2',
        'x: "float[0, 3]" -> window_sum(x, (1, 2))',
    ),
    "conv": (
        'x: "float[1, 1, 4]", k: "float[1, 1, 2]" -> conv(x, k)',
        'x: "float[2, 2, 4]", k: "float[1, 2, 3]" -> conv(x, k * k, strides=(2,), padding=((1, 2),))',
        'x: "float[1, 1, 5]", k: "float[2, 1, 2]" -> conv(x, k, strides=(3,))',
        'x: "float[1, 1, 3, 3]", k: "float[2, 1, 2, 2]" -> conv(x * x, k, (2, 1), ((0, 1), (1, 0)))',
        'x: "float[0, 1, 4]", k: "float[1, 1, 2]" -> conv(x, k)',
    ),
}
"""For every op with a derivative: parameters -> expression."""

WITHOUT_DERIVATIVE = {
    "all": 'x: "float[3]" -> where(all(x > -9.0), x, 0.0) * where(all(stack(x, x) > 9.0, axis=0), 0.0, x)',
    "any": (
        'x: "float[3]" -> where(any(x > 9.0), 0.0, x) * where(any(stack(x, x) > -9.0, axis=1, keepdims=True),'
        " x, 1.0)"
    ),
    "argmax": 'x: "float[2, 3]" -> x * argmax(x, axis=1, keepdims=True) + argmax(x)',
    "argmin": 'x: "float[2, 3]" -> x[argmin(x[0:2, 0])] + argmin(x, axis=0)',
    "argsort": 'x: "float[2, 3]" -> x * argsort(x) + argsort(x, axis=0)',
}
"""Ops whose results are ints and bools: what they choose and multiply has the derivative."""

ALL = [case for cases in CASES.values() for case in cases] + list(WITHOUT_DERIVATIVE.values())
NEW = {*CASES, *WITHOUT_DERIVATIVE}
FIRST = [*(cases[0] for cases in CASES.values()), *WITHOUT_DERIVATIVE.values()]
"""One case for each op."""


def program_of(case: str) -> Program:
    params, _, expression = case.partition(" -> ")
    return parse(f"def f({params}):\n    return {expression}\n")


def draw(program: Program, rng: np.random.Generator) -> dict[str, Any]:
    """Inputs that are distinct, of both signs and not small; ints are indices below 2."""
    inputs: dict[str, Any] = {}
    for param in program.params:
        shape = tuple(n or 0 for n in param.type.shape)
        if param.type.is_float:
            size = int(np.prod(shape, dtype=int))
            entries = (0.25 + rng.permutation(size) / 3 + rng.uniform(0, 0.25, size)) * rng.choice(
                [-1, 1], size
            )
            inputs[param.name] = np.asarray(entries.reshape(shape))
        else:
            inputs[param.name] = rng.integers(0, 2, shape)
    return inputs


def question(
    program: Program, modes: Sequence[Mode], rng: np.random.Generator, inputs: dict[str, Any] | None = None
) -> Question:
    """Weights and directions are random: equal ones would hide entries that are mixed up."""
    point = Point({n: np.asarray(v) for n, v in (inputs or draw(program, rng)).items()})
    floats = tuple(p.name for p in program.params if p.type.is_float)
    weights = tuple(
        rng.uniform(0.5, 2.0, [n or 0 for n in t.shape]) if t.is_float else None
        for t in typecheck(program).outputs
    )
    along = {n: rng.uniform(-2.0, 2.0, np.shape(point.inputs[n])) for n in floats}
    return Question(program, (point,), "float64", floats, tuple(modes), weights, along)


@pytest.mark.parametrize("modes", MODES)
def test_the_mean_of_an_array_without_entries_has_a_derivative(modes: tuple[Mode, ...]) -> None:
    program = program_of('x: "float[0, 3]" -> mean(x, axis=1)')
    asked = question(program, modes, np.random.default_rng(0))
    (answer,) = EngineOracle().answer(asked)
    assert answer.status == "ok", answer.message
    assert answer.gradient["x"].shape == (0, 3)


# The language -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", ALL)
def test_the_text_and_json_forms_round_trip(case: str) -> None:
    program = program_of(case)
    assert parse(to_text(program)) == program
    assert from_json(to_json(program)) == program


@pytest.mark.parametrize(
    ("case", "message"),
    [
        ('x: "float[2, 0]" -> amax(x, axis=1)', "no entries"),
        ('x: "float[0]" -> argmin(x)', "no entries"),
        ("x -> argmax(x)", "give an array"),
        ('x: "float[2]" -> all(x)', "takes bools"),
        ('x: "float[2]" -> clip(x, array([1.0, 2.0, 3.0]), 1.0)', "cannot broadcast"),
        ('x: "float[2]" -> sort(x > 0.0)', "takes numbers"),
        ('x: "float[2]" -> take(x, x, 0)', "indices are ints"),
        ('x: "float[2]" -> take(x, array([0]), 1)', "axis"),
        ('x: "float[2]" -> scatter_add(x, array([0]), x, 0)', "the places have shape"),
        ('x: "float[2, 2]" -> take_along_axis(x, array([0]), 0)', "must broadcast"),
        ('x: "float[3]" -> window_sum(x, (4,))', "it must fit"),
        ('x: "float[3]" -> window_sum(x, (1, 1))', "tuple of 1 ints"),
        ('x: "float[3]" -> window_sum(x, (2,), padding=((1, -1),))', "pairs"),
        ('x: "float[1, 2, 3]", k: "float[1, 1, 2]" -> conv(x, k)', "2 channels meet a kernel for 1"),
        ('x: "float[1, 2]", k: "float[1, 2]" -> conv(x, k)', "spatial"),
        ('x: "float[1, 1, 2]", k: "float[1, 1, 3]" -> conv(x, k)', "it must fit"),
    ],
)
def test_what_does_not_fit_is_explained(case: str, message: str) -> None:
    with pytest.raises(ProgramTypeError, match=message):
        typecheck(program_of(case))


@pytest.mark.parametrize("index", [-1, 3])
def test_an_index_outside_the_array_is_a_domain_error(index: int) -> None:
    program = program_of('x: "float[3]", k: "int[2]" -> take(x, k, 0)')
    inputs = {"x": np.arange(3.0), "k": np.array([0, index])}
    with pytest.raises(DomainError, match=f"index {index} is outside"):
        interpret(program, inputs, NumpyNamespace())
    (answer,) = EngineOracle().answer(question(program, ("rev",), np.random.default_rng(0), inputs))
    assert answer.status == "error"
    assert "DomainError" in answer.message


# Values -----------------------------------------------------------------------------------------------------


def _rows(x: Any, axis: int) -> Any:
    """The rows of x along an axis, and their places in the other axes."""
    moved = np.moveaxis(np.asarray(x), axis, -1)
    return ((place, moved[place].tolist()) for place in np.ndindex(moved.shape[:-1]))


def test_values_of_windows_and_convolutions_by_their_definitions(seed: int) -> None:
    rng = np.random.default_rng(seed)
    x, k = rng.normal(size=(2, 3, 5, 4)), rng.normal(size=(2, 3, 2, 3))
    strides, padding = (2, 1), ((1, 0), (2, 1))
    got = engine.conv(x, k, strides=strides, padding=padding)
    assert got.shape == (2, 2, 3, 5)
    for n, o, p, q in np.ndindex(got.shape):
        total = 0.0
        for c, a, b in np.ndindex(3, 2, 3):
            i, j = p * 2 - 1 + a, q - 2 + b
            total += x[n, c, i, j] * k[o, c, a, b] if 0 <= i < 5 and 0 <= j < 4 else 0.0
        assert got[n, o, p, q] == pytest.approx(total, rel=1e-13, abs=1e-13)
    y = x[0, 0]
    sums = engine.window_sum(y, (2, 3), strides=strides, padding=padding)
    for p, q in np.ndindex(sums.shape):
        inside = [(p * 2 - 1 + a, q - 2 + b) for a, b in np.ndindex(2, 3)]
        total = sum(y[i, j] for i, j in inside if 0 <= i < 5 and 0 <= j < 4)
        assert sums[p, q] == pytest.approx(total, rel=1e-13, abs=1e-13)


def test_values_of_gathering_and_scattering_by_their_definitions() -> None:
    x = np.arange(6.0).reshape(2, 3)
    assert engine.take(x, [2, -3], axis=1).tolist() == [[2.0, 0.0], [5.0, 3.0]]
    assert engine.take(x, 1, axis=0).tolist() == [3.0, 4.0, 5.0]
    assert engine.take_along_axis(x, np.array([[-1], [0]]), axis=1).tolist() == [[2.0], [3.0]]
    assert engine.scatter_add(x, [0, 0, 2], np.ones((2, 3)), axis=1).tolist() == [
        [2.0, 1.0, 3.0],
        [5.0, 4.0, 6.0],
    ]


def test_values_of_extremes_scans_and_order_by_their_definitions(seed: int) -> None:
    x = np.random.default_rng(seed).normal(size=(3, 4))
    for axis in (0, 1, -1):
        got = {
            name: np.moveaxis(getattr(engine, name)(x, axis=axis), axis, -1)
            for name in ("sort", "argsort", "cumulative_max", "cumulative_prod")
        }
        flat = {name: getattr(engine, name)(x, axis=axis) for name in ("amax", "amin", "argmax", "argmin")}
        for place, row in _rows(x, axis):
            assert got["sort"][place].tolist() == sorted(row)
            assert got["argsort"][place].tolist() == sorted(range(len(row)), key=row.__getitem__)
            assert got["cumulative_max"][place].tolist() == list(itertools.accumulate(row, max))
            assert got["cumulative_prod"][place].tolist() == list(
                itertools.accumulate(row, lambda a, b: a * b)
            )
            assert flat["amax"][place] == max(row)
            assert flat["argmax"][place] == row.index(max(row))
            assert flat["amin"][place] == min(row)
            assert flat["argmin"][place] == row.index(min(row))
    assert engine.argmax(x) == np.argmax(x.ravel())
    assert bool(engine.all(x > -9.0))
    assert not bool(engine.any(x > 9.0))
    assert engine.clip(np.array([-2.0, 0.5, 2.0]), -1.0, 1.0).tolist() == [-1.0, 0.5, 1.0]


@pytest.mark.parametrize("scale", [1e-20, 1.0, 700.0])
def test_values_of_exponentials_by_mpmath(scale: float, seed: int) -> None:
    x = np.random.default_rng(seed).normal(size=4) * scale
    with mpmath.workdps(60):
        exact = [mpmath.mpf(v) for v in x]
        total = mpmath.fsum(map(mpmath.exp, exact))
        expected = {
            "expm1": [mpmath.expm1(v) for v in exact],
            "log1p": [mpmath.log1p(abs(v)) for v in exact],
            "softmax": [mpmath.exp(v) / total for v in exact],
            "log_softmax": [v - mpmath.log(total) for v in exact],
            "logsumexp": mpmath.log(total),
        }
        true = {name: np.array(value, float) for name, value in expected.items()}
    # exp(x - max x) has the relative error of its argument's rounding (Blanchard, Higham, Higham 2021,
    # section 3).
    units = {"softmax": 8 + 2 * float(np.ptp(x))}
    for name, value in true.items():
        got = getattr(engine, name)(np.abs(x) if name == "log1p" else x)
        assert np.all(np.abs(got - value) <= units.get(name, 8) * np.spacing(np.abs(value))), name


# Derivatives ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", ALL)
def test_the_engine_against_the_references(case: str, seed: int) -> None:
    """Values and derivatives of first and second order, in every mix of modes."""
    rng, program, evaluator = np.random.default_rng(seed), program_of(case), Evaluator()
    inputs = draw(program, rng)
    for modes in MODES:
        asked = question(program, modes, rng, inputs)
        (judged,) = evaluator.cases("engine", asked, EngineOracle().answer(asked), thorough=True)
        assert judged.verdict is Verdict.AGREE, (
            modes,
            judged.verdict,
            judged.message,
            judged.expected,
            judged.got,
        )


@pytest.mark.parametrize("case", ALL)
def test_the_references_agree(case: str, seed: int) -> None:
    """Ball arithmetic and differences in high precision: each within the other's bound."""
    rng, program = np.random.default_rng(seed), program_of(case)
    inputs = draw(program, rng)
    for modes in (MODES[0], MODES[2]):
        asked = question(program, modes, rng, inputs)
        (balls,), (differences,) = (reference.truth(asked) for reference in references().values())
        assert balls.status == differences.status == "ok", (balls.message, differences.message)
        for name, slope in balls.gradient.items():
            assert np.all(
                np.abs(slope - differences.gradient[name]) <= balls.bounds[name] + differences.bounds[name]
            ), name


@pytest.mark.parametrize("case", FIRST)
def test_the_engine_in_float32(case: str, seed: int) -> None:
    rng, program, evaluator = np.random.default_rng(seed), program_of(case), Evaluator()
    inputs = {n: v.astype(np.float32) if v.dtype == float else v for n, v in draw(program, rng).items()}
    for modes in (MODES[0], MODES[3]):
        asked = replace(question(program, modes, rng, inputs), precision="float32")
        asked = replace(asked, weights=tuple(w if w is None else np.round(w * 8) / 8 for w in asked.weights))
        asked = replace(asked, directions={n: np.round(v * 8) / 8 for n, v in asked.directions.items()})
        (judged,) = evaluator.cases("engine", asked, EngineOracle().answer(asked), thorough=True)
        assert judged.verdict is Verdict.AGREE, (
            modes,
            judged.verdict,
            judged.message,
            judged.expected,
            judged.got,
        )


def test_forward_and_reverse_are_transposes(seed: int) -> None:
    """<J v, u> = <v, J^T u>: the two rule tables know nothing of each other."""
    rng = np.random.default_rng(seed)
    for case in ALL:
        program = program_of(case)
        asked = question(program, ("rev",), rng)
        (back,), (forth,) = (EngineOracle().answer(replace(asked, modes=(mode,))) for mode in ("rev", "fwd"))
        for name in asked.wrt:
            size = np.max(np.abs(back.gradient[name]), initial=1.0)
            assert np.all(
                np.abs(back.gradient[name] - forth.gradient[name]) <= 64 * np.finfo(float).eps * size
            ), case


# The libraries ----------------------------------------------------------------------------------------------


def disagreements(
    names: Sequence[str], cases: Sequence[str], mode_lists: Sequence[tuple[Mode, ...]], seed: int
) -> list[Any]:
    """What the ways into a library say that is not simply right."""
    rng, evaluator = np.random.default_rng(seed), Evaluator()
    ways = [oracle for name in names for oracle in resolve(name)]
    wrong = []
    for case in cases:
        program = program_of(case)
        inputs = draw(program, rng)
        for oracle, modes in itertools.product(ways, mode_lists):
            asked = question(program, modes, rng, inputs)
            (judged,) = evaluator.cases(oracle.name, asked, oracle.answer(asked))
            if judged.verdict is not Verdict.AGREE:
                wrong.append(
                    (
                        oracle.name,
                        case,
                        modes,
                        judged.verdict.name,
                        judged.message,
                        judged.expected,
                        judged.got,
                    )
                )
    return wrong


def test_torch_agrees(seed: int) -> None:
    """Torch's own functions: first order in both modes, and one mix of second order."""
    pytest.importorskip("torch", reason="the torch extra is not installed")
    ways = ("torch:eager", "torch:func")
    assert disagreements(ways, ALL, [("rev",)], seed) == []
    assert disagreements(ways, FIRST, [("fwd",), ("rev", "fwd")], seed) == []


@pytest.mark.slow
def test_jax_agrees(seed: int) -> None:
    """JAX's own functions, one program for each op: it compiles each of them."""
    pytest.importorskip("jax", reason="the jax extra is not installed")
    assert disagreements(["jax:scan:nojit"], FIRST, [("rev",)], seed) == []


@pytest.mark.slow
def test_jax_agrees_on_all_cases_and_modes(seed: int) -> None:
    pytest.importorskip("jax", reason="the jax extra is not installed")
    assert disagreements(["jax:scan:nojit"], ALL, [("rev",), ("fwd",), ("rev", "fwd")], seed) == []


# Kinks ------------------------------------------------------------------------------------------------------

TIES = (
    'x: "float[3]" -> amax(x)',
    'x: "float[3]" -> amin(-x, keepdims=True)',
    'x: "float[3]" -> cumulative_max(x)',
    'x: "float[3]" -> sort(x)',
    'x: "float[3]" -> clip(x, 1.0, 9.0)',
    'x: "float[3]" -> clip(x, -9.0, 1.0)',
)
"""At (0.5, 1, 1) or (0.5, 1, 2) one selection is an exact tie."""


@pytest.mark.parametrize("modes", MODES[:2])
@pytest.mark.parametrize("case", TIES)
def test_a_tie_is_a_kink_and_any_slope_between_is_a_convention(
    case: str, modes: tuple[Mode, ...], seed: int
) -> None:
    program, evaluator = program_of(case), Evaluator()
    inputs = {"x": np.array([0.5, 1.0, 2.0 if "clip" in case else 1.0])}
    asked = question(program, modes, np.random.default_rng(seed), inputs)
    assert ties(program, asked.points[0], "float64").count == 1
    (answer,) = EngineOracle().answer(asked)
    (judged,) = evaluator.cases("engine", asked, [answer])
    assert judged.verdict is Verdict.CONVENTION, judged.message
    outside = replace(answer, gradient={"x": answer.gradient["x"] + 10.0})
    (judged,) = evaluator.cases("engine", asked, [outside])
    assert judged.verdict is Verdict.DISAGREE


def test_no_kink_where_entries_tie_below_the_greatest(seed: int) -> None:
    program = program_of('x: "float[3]" -> amax(x) * x[0]')
    asked = question(program, ("rev",), np.random.default_rng(seed), {"x": np.array([0.5, 0.5, 2.0])})
    assert ties(program, asked.points[0], "float64").count == 0
    (judged,) = Evaluator().cases("engine", asked, EngineOracle().answer(asked))
    assert judged.verdict is Verdict.AGREE


def test_shares_of_a_tie() -> None:
    x = np.array([2.0, 1.0, 2.0])
    assert engine.grad(engine.amax)(x).tolist() == [0.5, 0.0, 0.5]
    assert engine.grad(lambda v: engine.sum(engine.cumulative_max(v)))(x).tolist() == [2.5, 0.0, 0.5]
    assert engine.grad(lambda v: engine.sum(engine.clip(v, 2.0, 3.0)))(x).tolist() == [0.5, 0.0, 0.5]


def test_ints_and_bools_have_the_gradient_zero() -> None:
    x = np.array([0.25, 2.0, 1.0])
    for name in ("argmax", "argmin", "argsort"):
        chosen = getattr(engine, name)
        assert engine.grad(lambda v, f=chosen: engine.sum(f(v) * 1.0))(x).tolist() == [0.0, 0.0, 0.0]
    for name in ("all", "any"):
        holds = getattr(engine, name)
        assert engine.grad(lambda v, f=holds: engine.where(f(v > 1.0), 1.0, 2.0))(x).tolist() == [
            0.0,
            0.0,
            0.0,
        ]


def test_repeated_indices_add_up() -> None:
    """d/dx and d/du of the sum of scatter_add(x, (1, 1, 0), u) ** 2, by hand."""
    x, u = np.array([1.0, 2.0]), np.array([0.5, 0.25, 4.0])
    added = np.array([5.0, 2.75])
    slopes = engine.grad(
        lambda v, w: engine.sum(engine.scatter_add(v, [1, 1, 0], w, axis=0) ** 2), argnums=(0, 1)
    )(x, u)
    assert slopes[0].tolist() == (2 * added).tolist()
    assert slopes[1].tolist() == (2 * added[[1, 1, 0]]).tolist()
    assert engine.grad(lambda v: engine.sum(engine.take(v, [1, 1, 1], axis=0)))(x).tolist() == [0.0, 3.0]


# What there is ----------------------------------------------------------------------------------------------


def test_every_tensor_op_is_everywhere() -> None:
    """Rules for what has a derivative, and a method in every arithmetic; ints and bools have no rules."""
    assert set(OPS) >= NEW
    assert (
        {op for op in NEW if op not in VJP}
        == set(WITHOUT_DERIVATIVE)
        == {op for op in NEW if not OPS[op].smooth}
    )
    assert {op for op in NEW if op not in JVP} == set(WITHOUT_DERIVATIVE)
    for arithmetic in (NumpyNamespace, ObjectNamespace, PerturbedNamespace):
        assert not [op for op in NEW - set(FUNCTIONS) if not hasattr(arithmetic, op)], arithmetic


def test_every_tensor_op_is_in_the_libraries() -> None:
    torch_namespace = pytest.importorskip("gradfuzz.oracles.torch.namespace", exc_type=ImportError)
    jax_namespace = pytest.importorskip("gradfuzz.oracles.jax.namespace", exc_type=ImportError)
    for namespace in (torch_namespace.TorchNamespace, jax_namespace.JaxNamespace):
        assert not [op for op in NEW - set(FUNCTIONS) if not hasattr(namespace, op)], namespace
