"""A question in every dialect: Python scripts are run, the others are looked at, and run where their system
is installed.
"""

from __future__ import annotations

import contextlib
import importlib.util
import io
import re
import runpy
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gradfuzz.fuzzer.findings.own_script import own_script
from gradfuzz.fuzzer.questions.weighted import plain_question
from gradfuzz.oracles.base import Mode, Point
from gradfuzz.oracles.dialect_table import DIALECTS, dialect
from gradfuzz.oracles.dialects.limits import DialectLimits
from gradfuzz.oracles.dialects.reproducer_input import ReproducerInput
from gradfuzz.oracles.emit.script_verdict import _PORT_ENDING, ENDING, as_pytest
from gradfuzz.oracles.references.arb import ArbReference
from gradfuzz.programs import FLOAT, loop_program, parse
from gradfuzz.programs.language.ops import OPS
from gradfuzz.programs.language.precision import Precision

pytestmark = pytest.mark.filterwarnings("ignore:.*torch.jit.script:DeprecationWarning")

PYTHON = ("jax", "torch", "autograd")
FOREIGN = ("nx", "swift", "tfjs")
ROOT = Path(__file__).parents[3]


def shown(
    text: str,
    inputs: Mapping[str, Any],
    modes: tuple[Mode, ...] = ("rev",),
    precision: Precision = "float64",
    **changes: Any,
) -> ReproducerInput:
    """What is shown of a program at a point; what is expected comes from ball arithmetic."""
    program = parse(text)
    dtypes = {
        p.name: precision if p.type.is_float else {"int": "int64", "bool": "bool"}[p.type.dtype]
        for p in program.params
    }
    point = Point({name: np.asarray(value, dtypes[name]) for name, value in inputs.items()})
    question = plain_question(program, [point], precision, None, modes)
    (truth,) = ArbReference().truth(question)
    given = ReproducerInput(question, 0, truth.gradient, truth.bounds, references=("arb",))
    if not modes:
        names = [f"output {k}" for k in range(len(truth.values))]
        given = replace(
            given,
            expected=dict(zip(names, truth.values, strict=True)),
            bound=dict(zip(names, truth.value_bounds, strict=True)),
        )
    return replace(given, **changes)


POWER = "def f(x):\n    acc = 1.0\n    for i in range(3):\n        acc = acc * x\n    return acc\n"
EXITS = (
    'def f(x, y, n: "int"):\n'
    "    acc = x\n"
    "    i = 0\n"
    "    while True:\n"
    "        acc = acc * x + y * abs(x)\n"
    "        i = i + 1\n"
    "        t = acc * 2\n"
    "        if t > 3 and i > 1:\n"
    "            break\n"
    "        x = x * 0.5\n"
    "        if not i < n:\n"
    "            break\n"
    "    return acc, y * i\n"
)
INNER = (
    'def f(x, n: "int"):\n'
    "    acc = x\n"
    "    for i in range(n):\n"
    "        k = (i * 2) % 3\n"
    "        jump = acc > 1\n"
    "        while acc < 3:\n"
    "            acc = acc + x * k + 0.25\n"
    "            if jump:\n"
    "                continue\n"
    "            k = k + 1\n"
    "        acc = acc * x\n"
    "    return acc\n"
)
VECTOR = (
    'def f(v: "float[3]", m: "float[3, 3]", n: "int"):\n'
    "    w = v\n"
    "    for i in range(n):\n"
    "        w[1] = w[i] * 2.0\n"
    "        w = m @ w + take(v, array([0, 0, 2]), axis=0)\n"
    "        if sum(w) > 20:\n"
    "            w = sin(w)\n"
    "        else:\n"
    "            w = where(w > 0, w, w * 0.5)\n"
    "    return softmax(w), logsumexp(w) + amax(w)\n"
)
MATRIX = np.array([[0.5, 0.25, 0.0], [0.0, 1.0, 0.5], [0.25, 0.0, 0.5]])
QUESTIONS: dict[str, tuple[str, Mapping[str, Any], tuple[Mode, ...]]] = {
    "power": (POWER, {"x": 0.5}, ("rev",)),
    "power, forward": (POWER, {"x": 0.5}, ("fwd",)),
    "power, second order": (POWER, {"x": 0.5}, ("rev", "fwd")),
    "power, value": (POWER, {"x": 0.5}, ()),
    "exits": (EXITS, {"x": 0.5, "y": 2.0, "n": 3}, ("rev",)),
    "exits, second order": (EXITS, {"x": 0.5, "y": 2.0, "n": 3}, ("rev", "rev")),
    "inner": (INNER, {"x": 0.5, "n": 2}, ("rev",)),
    "vector": (VECTOR, {"v": [1.0, 2.0, -3.0], "m": MATRIX, "n": 3}, ("rev",)),
    "vector, values": (VECTOR, {"v": [1.0, 2.0, -3.0], "m": MATRIX, "n": 3}, ()),
    "unused": ("def f(x, y):\n    return x\n", {"x": 0.5, "y": 2.0}, ("rev",)),
}
CASES = pytest.mark.parametrize("name", QUESTIONS)


def run(text: str, path: Path) -> tuple[Any, str]:
    """The exit code of a script and what it prints, without another interpreter."""
    path.write_text(text, encoding="utf-8")
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), pytest.raises(SystemExit) as end:
        runpy.run_path(str(path), run_name="__main__")
    return end.value.code, printed.getvalue()


@pytest.mark.slow
@pytest.mark.parametrize("precision", ["float64", "float32"])
@pytest.mark.parametrize("system", PYTHON)
@CASES
@pytest.mark.filterwarnings("ignore:Output seems independent of input")
def test_a_right_library_is_right(name: str, system: str, precision: Precision, tmp_path: Path) -> None:
    pytest.importorskip(system)
    module, given = dialect(system), shown(*QUESTIONS[name], precision)
    assert module.unsupported(given) is None
    code, printed = run(module.port(given), tmp_path / "port.py")
    assert code == 0, printed
    assert printed.endswith("right\n")


@pytest.mark.parametrize(
    "value",
    [
        "clip(m, 0.0, m[0, 1] + 1.0)",
        "diagonal(m, offset=1)",
        "kron(s, m)",
        "matrix_norm(s, ord=1)",
        "matrix_norm(m, ord='-inf')",
        "matrix_power(s, n=-2)",
        "sort(m, axis=0)",
        "svd(m, full_matrices=True)[1]",
        "take_along_axis(m, argsort(m, axis=0), axis=0)",
        "trace(s)",
        "triangular_solve(s, m, lower=False)",
        "vector_norm(m, ord=1)",
    ],
)
def test_autograd_is_asked_about_what_it_has_no_rule_of(value: str, tmp_path: Path) -> None:
    """Its adapter composes these of functions that have one."""
    pytest.importorskip("autograd")
    text = f'def f(s: "float[2, 3, 3]", m: "float[3, 3]"):\n    return sin({value})\n'
    matrix = MATRIX + np.arange(9.0).reshape(3, 3) / 16 + np.eye(3)
    given = shown(text, {"s": np.stack([matrix, matrix.T + 0.25]), "m": matrix})
    assert dialect("autograd").unsupported(given) is None
    code, printed = run(dialect("autograd").port(given), tmp_path / "port.py")
    assert code == 0, printed


def test_a_planted_wrong_rule_is_wrong(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The factor of a product that is not differentiated is forgotten."""
    anp = pytest.importorskip("autograd.numpy")
    from autograd import core
    from autograd.extend import defvjp

    text = dialect("autograd").port(shown(*QUESTIONS["power"]))
    monkeypatch.setitem(core.primitive_vjps, anp.multiply, core.primitive_vjps[anp.multiply])
    defvjp(anp.multiply, lambda ans, x, y: lambda g: g * y, lambda ans, x, y: lambda g: g)
    code, printed = run(text, tmp_path / "port.py")
    assert code == 1
    assert re.search(r"^x +0\.5 +0\.75 ", printed, re.MULTILINE), printed
    assert printed.endswith("wrong\n")


def test_a_library_that_raises_is_not_wrong(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    anp = pytest.importorskip("autograd.numpy")
    from autograd import core

    text = dialect("autograd").port(shown(*QUESTIONS["power"]))
    monkeypatch.delitem(core.primitive_vjps, anp.multiply)
    assert run(text, tmp_path / "port.py")[0] == 125
    assert capsys.readouterr().err.startswith("no answer: ")


TIE = "def f(x, y):\n    return minimum(x, y)\n"


def at_a_tie() -> ReproducerInput:
    """Along x alone the slopes are 0 and 1, and so along y; along both together the slope is 1."""
    question = plain_question(
        parse(TIE), [Point({"x": np.array(0.5), "y": np.array(0.5)})], "float64", None, ("rev",)
    )
    halves = {"x": np.array(0.5), "y": np.array(0.5)}
    allowed = {"x": np.array(1e-12), "y": np.array(1e-12)}
    return ReproducerInput(
        question, 0, halves, halves, allowed, across=({"x": np.array(1.0), "y": np.array(1.0)},)
    )


@pytest.mark.parametrize("system", PYTHON)
def test_any_slope_between_those_on_both_sides_of_a_kink_is_right(system: str, tmp_path: Path) -> None:
    pytest.importorskip(system)
    code, printed = run(dialect(system).port(at_a_tie()), tmp_path / "port.py")
    assert code == 0, printed
    assert re.search(r"^line 0 +1\.0 +1\.0 +1\.0$", printed, re.MULTILINE), printed


@pytest.mark.parametrize(("x", "y"), [(1.0, 1.0), (0.0, 0.0), (1.5, -0.5)])
def test_slopes_outside_of_those_at_a_kink_are_wrong(
    x: float, y: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each within its own bounds with a sum that is not 1, or the sum 1 and one of them outside."""
    anp = pytest.importorskip("autograd.numpy")
    from autograd import core
    from autograd.extend import defvjp

    monkeypatch.setitem(core.primitive_vjps, anp.minimum, core.primitive_vjps[anp.minimum])
    defvjp(anp.minimum, lambda ans, a, b: lambda g: g * x, lambda ans, a, b: lambda g: g * y)
    assert run(dialect("autograd").port(at_a_tie()), tmp_path / "port.py")[0] == 1


@pytest.mark.parametrize("system", FOREIGN)
def test_other_systems_have_no_kinks(system: str) -> None:
    reason = dialect(system).unsupported(at_a_tie())
    assert reason is not None
    assert "kink" in reason


# The forms of a script --------------------------------------------------------------------------------------


def test_a_missing_library_is_neither_right_nor_wrong(tmp_path: Path) -> None:
    path = tmp_path / "port.py"
    path.write_text(dialect("autograd").port(shown(*QUESTIONS["power"])), encoding="utf-8")
    alone = subprocess.run([sys.executable, "-I", "-S", str(path)], capture_output=True, text=True)
    assert alone.returncode == 125
    assert "this script needs numpy, mpmath and autograd" in alone.stderr
    assert "Traceback" not in alone.stderr


def test_a_script_as_a_test(tmp_path: Path) -> None:
    """One that fails, through gradfuzz itself; one that passes; one that is skipped, for its library is not
    there.
    """
    pytest.importorskip("autograd")
    given = shown(*QUESTIONS["power"])
    right = dialect("autograd").port(given).replace(_PORT_ENDING, ENDING)
    texts = {
        "wrong": as_pytest(own_script(given.question, "mutant:nx-1747"), "test_gf_1"),
        "right": as_pytest(right, "test_gf_2"),
        "missing": as_pytest(
            right.replace("from autograd.core import", "from no_such_autograd import"), "test_gf_3"
        ),
    }
    for name, text in texts.items():
        assert "sys" not in text
        (tmp_path / f"test_{name}.py").write_text(text, encoding="utf-8")
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-rA",
        "-p",
        "no:cacheprovider",
        "--rootdir",
        str(tmp_path),
        str(tmp_path),
    ]
    done = subprocess.run(
        command, capture_output=True, text=True, cwd=tmp_path, env={"PYTHONPATH": str(ROOT)}
    )
    assert "1 failed, 1 passed, 1 skipped" in done.stdout, done.stdout + done.stderr
    assert "FAILED test_wrong.py::test_gf_1" in done.stdout
    assert "AssertionError: mutant:nx-1747: disagree, expected 0.75, got 1.3125" in done.stdout
    assert "this script needs numpy, mpmath and autograd" in done.stdout


# What a dialect cannot say ----------------------------------------------------------------------------------


def neighbour(name: str) -> Any:
    """Another test module of the unit tests."""
    path = Path(__file__).parents[1] / f"{name}.py"
    spec = importlib.util.spec_from_file_location(f"of_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def expressions() -> Mapping[str, Any]:
    """The programs of every op on which emitted source is compared with NumPy."""
    pytest.importorskip("torch")
    module = neighbour("oracles/test_emitted_source")
    return {expression: module.program_of(expression) for _, expression in module.CASES}


@pytest.mark.parametrize("system", DIALECTS)
def test_every_op_can_be_said_or_has_a_reason(system: str) -> None:
    module = dialect(system)
    limits: DialectLimits = module.LIMITS  # type: ignore[attr-defined]
    assert set(limits.lacks) <= set(OPS)
    values = {
        "x": 0.75,
        "y": 1.5,
        "v": [1.0, -2.0, 0.5],
        "m": [[1.0, 2.0, -3.0], [0.25, 5.0, 6.0]],
        "b": True,
        "c": [True, False],
    }
    point = Point({name: np.asarray(v) for name, v in {**values, "i": 1, "k": [3, -4]}.items()})
    said = 0
    for expression, program in expressions().items():
        question = plain_question(program, [point], "float64", None, ())
        given = ReproducerInput(question, 0, {"output 0": np.array(1.0)}, {"output 0": np.array(0.0)})
        reason = module.unsupported(given)
        if reason is None:
            said += 1
            assert module.port(given), expression
        else:
            assert len(reason.split()) > 3, reason
    assert said > (200 if system != "swift" else -1)


@pytest.mark.parametrize("system", FOREIGN)
def test_numbers_that_are_none_are_refused(system: str) -> None:
    given = shown(*QUESTIONS["power"])
    assert dialect(system).unsupported(given) is None
    assert dialect(system).unsupported(replace(given, expected={"x": np.array(np.nan)})) is not None
    assert dialect(system).unsupported(replace(given, expected={})) is not None


def test_tensorflow_js_gets_no_number_that_float32_does_not_have() -> None:
    module = dialect("tfjs")
    for text, x in ((POWER, 0.1), (POWER.replace("1.0", "0.1"), 0.5)):
        assert "float32" in str(module.unsupported(shown(text, {"x": x})))
        assert module.unsupported(shown(text, {"x": x}, precision="float32")) is None


def test_swift_has_no_arrays_and_no_second_order() -> None:
    module = dialect("swift")
    assert "arrays" in str(module.unsupported(shown(*QUESTIONS["vector"])))
    assert "order 2" in str(module.unsupported(shown(*QUESTIONS["power, second order"])))


# Other systems ----------------------------------------------------------------------------------------------


def nx(*names: str) -> list[str]:
    return [dialect("nx").port(shown(*QUESTIONS[name], "float32")) for name in names or QUESTIONS]


def test_a_loop_in_nx() -> None:
    """Everything that the body reads is in the carry, and the expected value stands there."""
    (text,) = nx("power")
    assert "{acc = Nx.tensor(1.0, type: :f32), i = Nx.tensor(0, type: :s64), x}, i < 3 do" in text
    assert "{acc * x, i + 1, x}" in text
    assert '{"x", " at 0.5", [0.75], ' in text
    assert "Written against the documentation of Nx." in text
    assert 'Mix.install([{:nx, "~> 0.10"}])' in text
    assert "System.halt(if Enum.any?(wrong), do: 1, else: 0)" in text


GOLDEN = Path(__file__).parents[2] / "data" / "nx_while.json"


def golden_programs() -> list[Any]:
    """The loops whose gradients were recorded from Nx."""
    import json

    rows = json.loads(GOLDEN.read_text(encoding="utf-8"))["rows"]
    bodies = {row["body"].partition(":")[2].strip() or row["body"]: "init=x" in row["body"] for row in rows}
    return [
        loop_program(b.replace("^", "**"), trips=3, init={"acc": "x"} if x else None, params={"x": FLOAT})
        for b, x in bodies.items()
    ]


def test_recorded_loops_can_be_said_in_nx_swift_and_tensorflow_js() -> None:
    programs = golden_programs()
    assert len(programs) > 15
    for program in programs:
        question = plain_question(
            program, [Point({"x": np.array(0.5, "float32")})], "float32", None, ("rev",)
        )
        given = ReproducerInput(question, 0, {"x": np.array(1.0)}, {"x": np.array(0.0)})
        for system in FOREIGN:
            assert dialect(system).unsupported(given) is None
            assert "acc" in dialect(system).port(given)


def test_recorded_linear_algebra_can_be_said_in_nx() -> None:
    recorded = neighbour("foreign/test_linalg_nx")
    for case in recorded.CASES:
        point = Point({"a": np.array(case["input"], "float32").reshape(case["in_shape"])})
        question = plain_question(recorded.program_of(case), [point], "float32", None, ("rev",))
        zeros = {"a": np.zeros(case["in_shape"])}
        given = ReproducerInput(question, 0, zeros, zeros)
        assert dialect("nx").unsupported(given) is None, case["case"]
        assert "Nx." in dialect("nx").port(given)


@pytest.mark.skipif(shutil.which("elixir") is None, reason="elixir is not installed")
def test_scripts_for_nx_are_elixir(tmp_path: Path) -> None:
    for k, text in enumerate(nx()):
        (tmp_path / f"{k}.exs").write_text(text, encoding="utf-8")
    code = (
        'for path <- System.argv(), do: {:ok, _} = Code.string_to_quoted(File.read!(path)); IO.puts("parsed")'
    )
    files = sorted(str(p) for p in tmp_path.glob("*.exs"))
    done = subprocess.run(["elixir", "-e", code, *files], capture_output=True, text=True)
    assert done.stdout.endswith("parsed\n"), done.stderr


def test_a_loop_in_swift() -> None:
    """By structure only: there is no compiler to ask."""
    text = dialect("swift").port(shown(*QUESTIONS["exits"]))
    assert "import _Differentiation\n" in text
    assert (
        "@differentiable(reverse, wrt: (x, y))\nfunc f(_ x: Double, _ y: Double, _ n: Int) -> Double {\n  var"
        " x = x\n" in text
    )
    assert "  repeat {\n" in text
    assert "  } while i < n\n" in text
    assert "return acc + y * Double(i)" in text
    assert "let slopes: (Double, Double) = gradient(at: 0.5, 2.0, of: { x, y in f(x, y, 3) })" in text
    assert "exit(wrong ? 1 : 0)" in text
    for system_text in (text, dialect("swift").port(shown(*QUESTIONS["inner"]))):
        assert system_text.count("{") == system_text.count("}")
        assert system_text.count("(") == system_text.count(")")


TFJS = shutil.which("node") is not None and (
    subprocess.run(["node", "-e", "require.resolve('@tensorflow/tfjs')"], capture_output=True).returncode == 0
)


@pytest.mark.skipif(
    not TFJS, reason="node and @tensorflow/tfjs are not installed (NODE_PATH says where to look)"
)
@CASES
def test_tensorflow_js_is_right(name: str, tmp_path: Path) -> None:
    path = tmp_path / "port.js"
    path.write_text(dialect("tfjs").port(shown(*QUESTIONS[name])), encoding="utf-8")
    done = subprocess.run(["node", str(path)], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.endswith("right\n")
    wrong = path.read_text(encoding="utf-8").replace("tf.mul(", "tf.add(")
    path.write_text(wrong, encoding="utf-8")
    assert subprocess.run(["node", str(path)], capture_output=True).returncode == 1
