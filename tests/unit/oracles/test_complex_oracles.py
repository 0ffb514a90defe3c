"""Complex programs: who answers agrees with both references, scripts stand alone, and people may hand them
in.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path

import mpmath
import numpy as np
import pytest
from click.testing import CliRunner

from gradfuzz.cli import main
from gradfuzz.errors import ProgramTypeError, UsageError
from gradfuzz.fuzzer.conventions.ties import ties
from gradfuzz.fuzzer.questions import request
from gradfuzz.fuzzer.questions.weighted import plain_question
from gradfuzz.fuzzer.results.finding import Reason, Verdict
from gradfuzz.fuzzer.tolerance.allowed import wide_tolerances
from gradfuzz.fuzzer.verdict.checking import check_program
from gradfuzz.oracles.base import Mode, Point, Question
from gradfuzz.oracles.jax.exact import exact
from gradfuzz.programs import in_pairs, parse, to_text
from gradfuzz.programs.language.precision import Precision
from gradfuzz.programs.language.program import Program
from tests.running import run_script

_LOOP = """
def f(x, y):
    z = complex(x, y)
    acc = complex(1.0, 0.5)
    for i in range(3):
        acc = acc * z + sin(z) / (acc + 2.0j)
    return abs(acc), real(conj(acc) * z)
"""
_BRANCHES = """
def f(x: "float[2]", y):
    z = complex(x, 1.0)
    z[0] = y + 1j
    i = 0
    while i < 3:
        if abs(z[1]) < 2.0:
            z = where(real(z) > 0.6, z * y, 2.0) + exp(1j * y)
        else:
            z = sqrt(z) - log(z) ** 2
        i = i + 1
    return real(z), imag(sum(z))
"""


def _points(program: Program, precision: Precision, **values: object) -> tuple[Point, ...]:
    return (Point({name: np.asarray(v, precision) for name, v in values.items()}),)


def _first(
    text: str, precision: Precision = "float64", modes: tuple[Mode, ...] = ("rev",), **values: object
) -> Question:
    program = parse(text)
    return plain_question(program, _points(program, precision, **values), precision, None, modes)


# Who answers ------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    ("oracle", "precision", "modes"),
    [
        ("engine", "float64", ("rev", "fwd")),
        ("engine", "float32", ("fwd",)),
        ("torch:eager", "float32", ("rev",)),
        ("torch:func", "float64", ("rev", "fwd")),
        ("jax:unrolled", "float64", ("rev",)),
        ("jax:scan:nojit", "float32", ("rev", "fwd")),
    ],
)
def test_complex_loops_are_answered_rightly(
    oracle: str, precision: Precision, modes: tuple[Mode, ...]
) -> None:
    for text, values in ((_LOOP, {"x": 0.75, "y": -0.5}), (_BRANCHES, {"x": [0.5, 1.25], "y": 0.75})):
        program = parse(text)
        check = check_program(
            program, _points(program, precision, **values), precision, None, modes, [oracle]
        )
        assert [c.verdict for c in check.cases] == [Verdict.AGREE], check.cases[0].message


def test_a_gradient_of_parts_is_the_closed_form() -> None:
    """Of Re z^3 + Im z^3: with s = 3 z^2 the slopes are Re s + Im s along the real, Re s - Im s along the
    imaginary axis.
    """
    program = in_pairs(
        parse(
            'def f(z: "complex"):\n    acc = 1.0\n    for i in range(3):\n        acc = acc * z\n    return'
            " acc\n"
        )
    )
    z = 0.5 - 0.25j
    s = 3 * z * z
    check = check_program(
        program, _points(program, "float64", z_re=z.real, z_im=z.imag), "float64", None, ("rev",), ["engine"]
    )
    (case,) = check.cases
    assert case.verdict is Verdict.AGREE
    assert case.truth.gradient["z_re"] == s.real + s.imag
    assert case.truth.gradient["z_im"] == s.real - s.imag


# What rounding may do ---------------------------------------------------------------------------------------


def _exponential(x: object, y: object) -> object:
    z = mpmath.mpc(x, y)
    return mpmath.re(mpmath.exp(z * z) / (z + 1)) + abs(mpmath.log(z))


@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_the_tolerance_covers_what_rounding_does_and_not_much_more(precision: Precision) -> None:
    text = "def f(x, y):\n    z = complex(x, y)\n    return real(exp(z * z) / (z + 1.0)) + abs(log(z))\n"
    q = _first(text, precision, x=0.75, y=-1.25)
    (tolerance,) = wide_tolerances(q)
    roundoff = 2.0**-24 if precision == "float32" else 2.0**-53
    with mpmath.workdps(40):
        for k, name in enumerate(("x", "y")):
            true = float(mpmath.diff(_exponential, (0.75, -1.25), (1 - k, k)))
            allowed = float(tolerance.allowed(np.asarray(true), tolerance.noise[name], np.asarray(0.0)))
            assert abs(float(tolerance.gradient[name]) - true) <= allowed
            assert 4 * roundoff * abs(true) <= allowed <= 4096 * roundoff * abs(true)


def test_a_part_that_is_zero_is_granted_nothing() -> None:
    (tolerance,) = wide_tolerances(
        _first("def f(x, y):\n    return imag(complex(x, 0.0) * complex(y, 0.0))\n", x=0.3, y=0.7)
    )
    assert tolerance.value_noise[0] == 0.0
    assert tolerance.noise["x"] == 0.0


@pytest.mark.parametrize("function", ["sqrt(z)", "log(z)", "z ** complex(0.5, 0.0)"])
def test_near_a_branch_cut_nothing_is_judged(function: str) -> None:
    text = f"def f(x, y):\n    z = complex(x, y)\n    return real({function})\n"
    for x, y, judged in ((-1.0, 0.0, False), (-1.0, 0.5, True), (1.0, 0.0, True)):
        (tolerance,) = wide_tolerances(_first(text, x=x, y=y))
        assert (tolerance.reason is None) == judged
    near = f"def f(x, y):\n    z = complex(x, (y + 1.0) - 1.0)\n    return real({function})\n"
    (tolerance,) = wide_tolerances(_first(near, x=-1.0, y=2.0**-52))
    assert tolerance.reason is Reason.PRIMAL
    program = parse(text)
    assert ties(program, _points(program, "float64", x=-1.0, y=0.0)[0], "float64").count > 1


def test_the_modulus_at_0_is_one_kink() -> None:
    program = parse("def f(x, y):\n    return abs(complex(x, y))\n")
    assert ties(program, _points(program, "float64", x=0.0, y=0.0)[0], "float64").count == 1


# Scripts ----------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("oracle", ["torch:eager", "jax:scan"])
def test_scripts_of_complex_programs_stand_alone(oracle: str, tmp_path: Path) -> None:
    library = importlib.import_module(f"gradfuzz.oracles.{oracle.partition(':')[0]}.ways")
    script: Callable[..., str] = library.script
    text = _LOOP.replace(
        "return abs(acc)",
        "w, v = eig(reshape(stack([z, acc, z + 1.0, 2.0 * z]), (2, 2)))\n    return sum(abs(w))",
    )
    question = _first(text, "float32", x=0.75, y=-0.5)
    (tolerance,) = wide_tolerances(question)
    allowed = {
        n: tolerance.allowed(g, tolerance.noise[n], np.asarray(0.0)) for n, g in tolerance.gradient.items()
    }
    done = run_script(script(question, 0, oracle, tolerance.gradient, allowed), tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr


# Handed in by people ----------------------------------------------------------------------------------------


def test_complex_inputs_and_outputs_become_pairs() -> None:
    text = 'def f(z: "complex[2]", x):\n    w = z * x\n    return w, 2.0 * w, x\n'
    assert (
        to_text(in_pairs(parse(text)))
        == 'def f(z_re: "float[2]", z_im: "float[2]", x):\n    z = complex(z_re, z_im)\n    w = z * x\n   '
        " out = 2.0 * w\n    return real(w), imag(w), real(out), imag(out), x\n"
    )
    real = parse(_LOOP)
    assert in_pairs(real) is real
    with pytest.raises(ProgramTypeError, match="z_im of its own; rename it"):
        in_pairs(parse('def f(z: "complex", z_im):\n    return real(z) + z_im\n'))


def test_questions_about_complex_inputs_or_outputs_are_refused() -> None:
    for text, message in (
        ('def f(z: "complex"):\n    return real(z)\n', "the input z is complex"),
        ("def f(x):\n    return complex(x, x)\n", "output 0 is complex"),
    ):
        program = parse(text)
        with pytest.raises(UsageError, match=message):
            plain_question(program, _points(program, "float64", z=0.5, x=0.5), "float64", None, ("rev",))


def test_a_complex_input_is_given_as_one_number() -> None:
    inputs = request.read_inputs(["z=0.5+0.25j, v=[1, 2j]", "z=2, v=3"])
    ((_, program),) = request.programs_of("acc*z + v", loops=["for"], inputs=inputs)
    first, second = request.points_of(program, inputs, "float32")
    assert {name: value.tolist() for name, value in first.inputs.items()} == {
        "z_re": 0.5,
        "z_im": 0.25,
        "v_re": [1.0, 0.0],
        "v_im": [0.0, 2.0],
    }
    assert (second.inputs["z_im"], second.inputs["v_re"].tolist()) == (0.0, [3.0, 3.0])
    assert request.inputs_named(program, ["z"]) == ("z_re", "z_im")
    with pytest.raises(UsageError, match="give real numbers"):
        request.points_of(parse("def f(x):\n    return x\n"), request.read_inputs(["x=1j"]), "float64")


def test_check_takes_a_complex_program(tmp_path: Path) -> None:
    path = tmp_path / "program.py"
    path.write_text('def f(z: "complex"):\n    return z * conj(z) * z\n', encoding="utf-8")
    for arguments in (["acc*z", "--loop", "for"], [str(path)]):
        done = CliRunner().invoke(
            main, ["check", *arguments, "--at", "z=0.5+0.25j", "--wrt", "z", "--only", "engine"]
        )
        assert done.exit_code == 0, done.output
        assert "z_re" in done.output
        assert "z_im" in done.output


def test_arithmetic_of_complex_numbers_is_left_to_jax() -> None:
    jax = pytest.importorskip("jax")
    closed = jax.make_jaxpr(lambda x, y: abs(jax.lax.complex(x, y) * jax.lax.complex(y, x)))(0.5, 0.25)
    numpy_runs = {eqn.primitive.name for eqn in closed.eqns if exact(eqn) is not None}
    assert numpy_runs == {"complex"}
