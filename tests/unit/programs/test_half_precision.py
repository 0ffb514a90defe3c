"""bfloat16 and float16: formats, arithmetic, truths and what is allowed, in the engine, JAX and Torch."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
from click.testing import CliRunner

from gradfuzz import engine
from gradfuzz.cli import main
from gradfuzz.errors import PrecisionError, UsageError
from gradfuzz.fuzzer.questions.request import points_of
from gradfuzz.fuzzer.questions.weighted import weighted_question
from gradfuzz.fuzzer.results.events import SweepFinished
from gradfuzz.fuzzer.results.finding import Verdict
from gradfuzz.fuzzer.sweep import SweepConfig, sweep
from gradfuzz.fuzzer.tolerance.allowed import wide_tolerances
from gradfuzz.fuzzer.verdict.checking import check_program
from gradfuzz.oracles.base import Mode, Oracle, Question
from gradfuzz.oracles.engine.oracle import EngineOracle
from gradfuzz.oracles.references.finite_differences import MpmathReference
from gradfuzz.oracles.registry import installed, resolve
from gradfuzz.programs import parse
from gradfuzz.programs.arithmetic.numpy_namespace import NumpyNamespace
from gradfuzz.programs.language.precision import FORMATS, HALF, Precision, format_of, is_float, rounded
from gradfuzz.programs.text.json_form import decode_array, encode_array
from tests.running import run_script

BFLOAT16 = FORMATS["bfloat16"].dtype
BITS = {
    "float64": (53, -1022, 1023),
    "float32": (24, -126, 127),
    "bfloat16": (8, -126, 127),
    "float16": (11, -14, 15),
}
"""Significant bits, least and greatest exponent of a normal number: IEEE 754-2019, table 3.5, and Intel's
definition of bfloat16.
"""

LOOPS = {
    "for": "def f(x, y):\n    acc = 1.0\n    for i in range(4):\n        acc = acc * x + y\n    return acc\n",
    "while": (
        "def f(x, y):\n    acc = x\n    while acc < 2.5:\n        acc = acc * 1.5 + y\n    return acc * x\n"
    ),
    "repeat": (
        "def f(x, y):\n    acc = y\n    while True:\n        acc = acc * 2.0 + x * y\n        if not (acc <"
        " 3.0):\n            break\n    return acc\n"
    ),
    "branch": (
        "def f(x, y):\n    acc = x\n    for i in range(3):\n        if i < 2:\n            acc = acc *"
        " tanh(y)\n        else:\n            acc = acc + x / y\n    return acc\n"
    ),
    "constants": (
        "def f(x):\n    acc = 1.0\n    for i in range(2):\n        acc = 0.3 * 1.5 + 2\n    return acc * x\n"
    ),
    "vector": (
        'def f(x, v: "float[3]"):\n    acc = v\n    for i in range(3):\n        acc = acc * v + x\n    return'
        " sum(acc * acc)\n"
    ),
    "matmul": (
        'def f(x, m: "float[2, 2]"):\n    acc = m\n    for i in range(2):\n        acc = matmul(acc, m) * x\n'
        "    return acc\n"
    ),
    "reductions": (
        'def f(x, m: "float[2, 3]"):\n    return logsumexp(m * x, axis=1) + mean(m, axis=1) * amax(m)\n'
    ),
    "scans": 'def f(x, v: "float[4]"):\n    return cumulative_sum(v * x, axis=0) + sort(v, axis=0)\n',
}
AT: dict[str, Any] = {
    "x": np.array(0.8125),
    "y": np.array(0.625),
    "v": np.array([0.5, 1.25, -0.75, 0.875]),
    "m": np.array([[0.5, -1.25, 0.75], [1.5, 0.625, -0.875]]),
}


def asked(text: str, precision: Precision, modes: tuple[Mode, ...] = ("rev",)) -> Question:
    """At numbers that every precision holds."""
    program = parse(text)
    cut = {p.name: AT[p.name][tuple(slice(0, n) for n in p.type.sizes)] for p in program.params}
    return weighted_question(program, points_of(program, [cut], precision), precision, modes)


def assert_right(oracle: Oracle, question: Question) -> None:
    (answer,), (truth,), (tolerance,) = (
        oracle.answer(question),
        MpmathReference().truth(question),
        wide_tolerances(question),
    )
    assert answer.status == "ok", answer.message
    assert truth.status == "ok"
    assert tolerance.reason is None, tolerance.message
    for name in question.wrt:
        assert answer.gradient[name].dtype == FORMATS[question.precision].dtype
        error = np.abs(answer.gradient[name].astype(np.float64) - truth.gradient[name])
        assert np.all(
            error <= tolerance.allowed(truth.gradient[name], tolerance.noise[name], truth.bounds[name])
        )


@pytest.mark.parametrize("name", get_args(Precision))
def test_formats(name: Precision) -> None:
    bits, least, greatest = BITS[name]
    facts = FORMATS[name]
    assert facts.roundoff == 2.0**-bits
    assert facts.eps == float(np.nextafter(facts.dtype.type(1), facts.dtype.type(2))) - 1.0
    assert facts.normal == 2.0**least
    assert facts.largest == (2.0 - 2.0 ** (1 - bits)) * 2.0**greatest
    assert format_of(np.zeros(2, facts.dtype).dtype) is facts
    assert is_float(facts.dtype)


def test_what_is_no_float() -> None:
    assert not any(is_float(np.dtype(name)) for name in ("int64", "bool", "complex64", "V2"))


@pytest.mark.parametrize("precision", HALF)
def test_rounding_is_to_the_nearest(precision: Precision, seed: int) -> None:
    bits, least, _ = BITS[precision]
    rng = np.random.default_rng(seed)
    for number in (rng.standard_normal(100) * 2.0 ** rng.integers(-18, 12, 100)).tolist():
        exponent = max(int(np.frexp(number)[1]) - 1, least)
        spacing = Fraction(2) ** (exponent + 1 - bits)
        assert (
            Fraction(rounded(number, precision)) == round(Fraction(number) / spacing) * spacing
        )  # half to even, as IEEE 754 has it
    assert rounded(1e39, precision) == np.inf


@pytest.mark.parametrize("precision", HALF)
@pytest.mark.parametrize("name", LOOPS)
@pytest.mark.parametrize("modes", [("rev",), ("fwd",), ("rev", "fwd")], ids="-".join)
def test_derivatives_of_the_engine(name: str, precision: Precision, modes: tuple[Mode, ...]) -> None:
    assert_right(EngineOracle(), asked(LOOPS[name], precision, modes))


@pytest.mark.slow
@pytest.mark.parametrize("library", ["jax", "torch"])
@pytest.mark.parametrize("precision", HALF)
def test_derivatives_of_libraries(library: str, precision: Precision) -> None:
    if library not in installed():
        pytest.skip(f"{library} is not installed")
    ways = {way.name: way for way in resolve(library)}
    for way in ("jax:scan:nojit", "torch:eager", "torch:func"):
        if way in ways:
            for name in ("branch", "constants", "vector"):
                assert_right(ways[way], asked(LOOPS[name], precision))


@pytest.mark.parametrize("precision", HALF)
def test_a_namespace_keeps_its_dtype(precision: Precision) -> None:
    ns, dtype = NumpyNamespace(precision), FORMATS[precision].dtype
    m = np.full((3, 3), 0.5, dtype)
    for result in (
        ns.matmul(m, m),
        ns.einsum(m, m, subscripts="ij,jk->ik"),
        ns.matrix_power(m, n=3),
        ns.vector_norm(m, ord=2, axis=None, keepdims=False),
        ns.softmax(m, axis=0),
        ns.constant(3),
        ns.prod(m, axis=None, keepdims=False),
    ):
        assert result.dtype == dtype


def test_products_are_accumulated_in_float32() -> None:
    ones = np.ones(512, BFLOAT16)
    assert float(NumpyNamespace("bfloat16").matmul(ones, ones)) == 512.0  # in bfloat16 256 + 1 is 256


@pytest.mark.parametrize("precision", HALF)
@pytest.mark.parametrize(
    "op", ["det(m)", "inv(m)[0, 0]", "matrix_norm(m, ord=2)", "sum(matrix_power(m, -1))"]
)
def test_what_lapack_computes_is_refused(op: str, precision: Precision) -> None:
    program = parse(f'def f(m: "float[2, 2]"):\n    return {op}\n')
    check = check_program(program, points_of(program, [], precision), precision, None, ("rev",), ["engine"])
    (case,) = check.cases
    assert case.verdict is Verdict.UNSUPPORTED
    assert precision in case.message
    with pytest.raises(PrecisionError, match="LAPACK"):
        NumpyNamespace(precision).det(np.eye(2, dtype=precision))


def test_numbers_near_the_ends_of_float16_are_not_judged() -> None:
    for text in (
        "def f(x):\n    return x * 300.0 * 300.0\n",  # an intermediate of 73,000
        "def f(x):\n    return x * 1000000.0\n",  # no float16 at all
        "def f(x):\n    return x * 0.0009 * 0.0009\n",  # a subnormal result
    ):
        assert wide_tolerances(asked(text, "float16"))[0].leaves_range
        assert not wide_tolerances(asked(text, "float32"))[0].leaves_range


def test_fewer_bits_are_granted_more() -> None:
    noise = {p: float(wide_tolerances(asked(LOOPS["for"], p))[0].noise["x"]) for p in (*HALF, "float32")}
    assert 4 < noise["bfloat16"] / noise["float16"] < 16  # 2^3 in the first order
    assert 2**11 < noise["float16"] / noise["float32"] < 2**15  # 2^13


def test_the_engine_computes_in_the_dtype_of_its_arguments() -> None:
    for precision in HALF:
        x = np.array([0.5, 1.5, -0.25], FORMATS[precision].dtype)
        slope = engine.grad(lambda v: engine.sum(v * v * v))(x)
        assert slope.dtype == x.dtype
        assert slope.astype(np.float64).tolist() == [0.75, 6.75, 0.1875]  # 3 v^2, exact in eight bits
    assert engine.grad(lambda v: engine.sum(v * np.ones(3, np.float32)))(np.ones(3, BFLOAT16)).tolist() == [
        1.0,
        1.0,
        1.0,
    ]


def test_arrays_of_bfloat16_round_trip_through_json() -> None:
    array = np.array([[0.5, -0.0], [np.inf, np.nan], [1e-40, 3e38]], BFLOAT16)
    again = decode_array(encode_array(array))
    assert again.dtype == array.dtype
    assert again.tobytes() == array.tobytes()


@pytest.mark.slow
@pytest.mark.parametrize("precision", HALF)
def test_a_sweep_of_the_engine_finds_nothing(precision: Precision) -> None:
    *_, end = sweep(SweepConfig(("engine",), precisions=(precision,), max_examples=30, jobs=1))
    assert isinstance(end, SweepFinished)
    assert not end.findings
    (summary,) = end.summaries
    assert summary.agree > summary.checks / 2


@pytest.mark.slow
@pytest.mark.parametrize("precision", HALF)
@pytest.mark.parametrize("way", ["jax:scan:nojit", "torch:eager"])
def test_a_sweep_of_libraries(way: str, precision: Precision) -> None:
    if way.partition(":")[0] not in installed():
        pytest.skip("not installed")
    *_, end = sweep(SweepConfig((way,), precisions=(precision,), max_examples=30, jobs=1))
    assert isinstance(end, SweepFinished)
    assert not [f for f in end.findings if f.target == way]


def test_an_unknown_dtype() -> None:
    with pytest.raises(UsageError, match=r"unknown dtype 'float8'; known are .*bfloat16"):
        list(sweep(SweepConfig(("engine",), precisions=("float8",))))  # type: ignore[arg-type]
    result = CliRunner().invoke(main, ["check", "acc*x", "--dtype", "float8"])
    assert result.exit_code == 2
    assert "bfloat16" in result.output


@pytest.mark.slow
@pytest.mark.parametrize(
    ("way", "precision"),
    [
        ("jax:scan", "bfloat16"),
        ("torch:func", "bfloat16"),
        pytest.param("jax:scan", "float16", marks=pytest.mark.slow),
        ("torch:func", "float16"),
        ("torch:eager", "bfloat16"),
    ],
)
def test_scripts_run_without_gradfuzz(way: str, precision: Precision, tmp_path: Path) -> None:
    library = way.partition(":")[0]
    if library not in installed():
        pytest.skip(f"{library} is not installed")
    from gradfuzz.oracles.jax import ways as jax
    from gradfuzz.oracles.torch import ways as torch

    question = asked(LOOPS["vector"], precision, ("rev", "fwd"))
    (truth,), (tolerance,) = MpmathReference().truth(question), wide_tolerances(question)
    allowed = {
        n: tolerance.allowed(truth.gradient[n], tolerance.noise[n], truth.bounds[n]) for n in question.wrt
    }
    script = {"jax": jax, "torch": torch}[library].script(question, 0, way, truth.gradient, allowed)
    done = run_script(script, tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
