"""Scripts that are cut out of an adapter: they ask the library what the adapter asked it, without the adapter
and without gradfuzz.
"""

from __future__ import annotations

import ast
import builtins
import functools
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gradfuzz.adapters import path
from gradfuzz.adapters.shipped import ADAPTERS
from gradfuzz.fuzzer.questions.weighted import plain_question
from gradfuzz.oracles.base import Point, Question, by_output
from gradfuzz.oracles.dialects import adapter_script
from gradfuzz.oracles.dialects.adapter_source import CutError, cut
from gradfuzz.oracles.dialects.reproducer_input import ReproducerInput
from gradfuzz.oracles.emit.script import heading, inputs_source
from gradfuzz.oracles.emit.script_verdict import truth_source
from gradfuzz.oracles.engine.oracle import EngineOracle
from gradfuzz.oracles.foreign.oracle import ForeignOracle
from gradfuzz.oracles.registry import references, resolve
from gradfuzz.programs import parse
from gradfuzz.strategies import FAMILIES, draw_many
from tests.excuses.planted import asked, judged
from tests.running import run_script

SCRIPTS = path("kit.py").parent


def written(question: Question, *, dtypes: bool = False) -> str:
    (truth,) = references()["mpmath"].truth(question)
    expected = truth.gradient if question.modes else by_output(truth.values)
    allowed = {name: 1e-4 * (1.0 + np.abs(g)) for name, g in expected.items()}
    shown = ReproducerInput(question, 0, expected, expected, allowed)
    return adapter_script.script(shown, ADAPTERS["autograd"], "eager", "Wrong in autograd.", dtypes=dtypes)


PROGRAMS = {
    "loops": (
        'def f(x, n: "int"):\n    acc = 1\n    for i in range(n):\n        if acc * x > 0.1:\n            acc'
        " = sin(acc * x) + i\n    return acc\n"
    ),
    "arrays": (
        'def f(v: "float[3]"):\n    w = sort(flip(v, axis=0), axis=0)\n    u = index_update(w, 2.0 * v[1],'
        " 0)\n    return sum(u * v), logsumexp(u)\n"
    ),
    "matrices": 'def f(a: "float[2, 2]"):\n    return sum(eigvalsh(a)), trace(inv(a)), slogdet(a)[1]\n',
    "parts": (
        'def f(a: "float[2, 2]"):\n    b = a @ transpose(a)\n    return sum(eigh(b)[0] * eigh(b)[1] *'
        " eigh(b)[1])\n"
    ),
    "ints": "def f(x):\n    k = index_update(array([3, 4]), 5, 0)\n    return x * k[0]\n",
    "names": "def f(gradient, slope):\n    tensor = gradient * slope\n    return tensor * tensor\n",
}


@pytest.mark.slow
@pytest.mark.parametrize("modes", [("rev",), ("fwd",), ("fwd", "rev"), ()])
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_script_asks_what_was_asked(name: str, modes: tuple, tmp_path: Path) -> None:
    pytest.importorskip("autograd")
    program = parse(PROGRAMS[name])
    inputs = {
        p.name: (
            np.asarray(4)
            if p.type.dtype == "int"
            else np.linspace(0.4, 1.7, math.prod(p.type.sizes)).reshape(p.type.sizes) ** 2
        )
        for p in program.params
    }
    wrt = tuple(p.name for p in program.params if p.type.is_float)
    question = plain_question(program, [Point(inputs)], "float64", wrt, modes)
    done = run_script(written(question), tmp_path)
    if name in ("matrices", "parts") and "fwd" in modes:  # autograd has no forward mode of these, and says so
        assert "NotImplementedError: JVP of" in done.stderr
    else:
        assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "right"), done.stdout + done.stderr


def test_a_wrong_op_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The adapter is another one, with a sine that is the cosine: the script is cut out of it, and takes the
    mistake along.
    """
    pytest.importorskip("autograd")
    question = plain_question(
        parse(PROGRAMS["loops"]),
        [Point({"x": np.asarray(0.7), "n": np.asarray(2)})],
        "float64",
        ("x",),
        ("rev",),
    )
    monkeypatch.setattr(adapter_script.adapters, "path", tmp_path.joinpath)
    text = (SCRIPTS / "autograd_adapter.py").read_text(encoding="utf-8")
    (tmp_path / "autograd_adapter.py").write_text(
        text.replace('"amax": anp.max,', '"amax": anp.max, "sin": anp.cos,'), encoding="utf-8"
    )
    done = run_script(written(question), tmp_path)
    assert (done.returncode, done.stdout.splitlines()[-1]) == (1, "wrong"), done.stdout + done.stderr


def test_a_wrong_dtype_is_shown(tmp_path: Path) -> None:
    """autograd's forward mode of where makes float64 of float32; the number is right."""
    pytest.importorskip("autograd")
    question = plain_question(
        parse("def f(x):\n    return where(True, 0, x)\n"),
        [Point({"x": np.asarray(0.5)})],
        "float32",
        ("x",),
        ("fwd",),
    )
    done = run_script(written(question, dtypes=True), tmp_path)
    lines = done.stdout.splitlines()[-2:]
    assert (done.returncode, lines) == (1, ["x: the dtype is float64, not float32", "wrong"]), (
        done.stdout + done.stderr
    )
    assert run_script(written(question), tmp_path).returncode == 0


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("modes", "kink"), [((), False), (("rev",), False), (("rev",), True)])
def test_dtypes_are_compared_where_asked(dtype: str, modes: tuple, kink: bool) -> None:
    """What is returned are the right numbers: |x| and its slope at 2, or a slope between both sides at 0."""
    x = np.asarray(0.0 if kink else 2.0)
    question = plain_question(
        parse("def f(x):\n    return abs(x), x > 1.0\n"), [Point({"x": x})], "float32", ("x",), modes
    )
    got = (
        {"x": np.ones((), dtype)}
        if modes
        else {"output 0": np.asarray(x, dtype), "output 1": np.asarray(True)}
    )
    expected = {name: np.ones(()) for name in got}
    for dtypes in (False, True):
        across = [{"x": np.ones(())}] if kink else None
        text = heading(question, "A title.", "numpy", "") + inputs_source(question, 0)
        text += truth_source(question, 0, expected, None, across, dtypes=dtypes)
        names: dict = {"__name__": "script", "gradient": got.copy}
        exec(text, names)
        lines, wrong = names["comparison"]()
        assert wrong == (dtypes and dtype == "float64"), lines
        name = "x" if modes else "output 0"
        assert (f"{name}: the dtype is float64, not float32" in lines) == wrong


@functools.cache
def drawn(seed: int) -> list[ReproducerInput]:
    """Questions about drawn programs that the engine answers."""
    found = []
    for family in ("loops", "linalg", "tensor", "complex"):
        for case in draw_many(FAMILIES[family].cases(("float64",)), 12, f"{seed}/scripts"):
            question = plain_question(case.program, [Point(case.points[0])], "float64", case.wrt, ("rev",))
            (answer,) = EngineOracle().answer(question)
            if answer.status == "ok":
                zeros = {name: np.zeros_like(g) for name, g in answer.gradient.items()}
                found.append(ReproducerInput(question, 0, answer.gradient, zeros))
    return found


CUT = {
    "autograd": (("eager",), 0.5),
    "drjit": (("eager",), 0.25),
    "mlx": (("eager", "float64", "compile"), 0.75),
    "mygrad": (("eager",), 0.3),
    "paddle": (("dygraph", "grad_outputs"), 0.75),
    "tensorflow": (("eager",), 0.75),
    "tinygrad": (("lazy", "float64", "python"), 0.25),
}
"""The ways that can be cut, and which share of the drawn programs has a script at least: of the ops of a
family some libraries lack many.
"""


@pytest.mark.parametrize(
    "library",
    [
        pytest.param(name, marks=() if name in ("autograd", "tensorflow") else pytest.mark.slow)
        for name in CUT
    ],
)
def test_drawn_programs_are_written(library: str, seed: int) -> None:
    """Every name in a script is one that it defines or imports."""
    ways, share = CUT[library]
    for way in ways:
        count = 0
        for shown in drawn(seed):
            try:
                text = adapter_script.script(shown, ADAPTERS[library], way, "Wrong.")
            except CutError as error:
                assert "there is no op" in str(error)  # noqa: PT017
                continue
            assert not unknown(text), text
            count += 1
        assert count >= share * len(drawn(seed)) > 8, way


def unknown(text: str) -> set[str]:
    """The names that a script reads and nowhere defines or imports."""
    tree = ast.parse(text)
    stored = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    stored |= {
        n.name
        for n in ast.walk(tree)
        if isinstance(n, (ast.FunctionDef, ast.ClassDef, ast.ExceptHandler)) and n.name
    }
    stored |= {
        a.arg
        for n in ast.walk(tree)
        if isinstance(n, ast.arguments)
        for a in (*n.args, *n.kwonlyargs, n.vararg, n.kwarg)
        if a
    }
    stored |= {
        (a.asname or a.name).partition(".")[0]
        for n in ast.walk(tree)
        if isinstance(n, (ast.Import, ast.ImportFrom))
        for a in n.names
    }
    read = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name)}
    return read - stored - set(dir(builtins))


TABLE = """\
import kernels
import lib

LIMIT, ZERO = 3, 0
WORDS = "abs add"


def twice(f):
    return lambda *xs: f(f(*xs))


PLAIN = {op: getattr(lib, op) for op in WORDS.split()}
if lib.new:
    PLAIN["late"] = lib.late
OPS = {
    **{op: twice(function) for op, function in PLAIN.items()},
    "sin": lambda x: lib.sin(x, LIMIT),
    "cos": lambda x: lib.cos(x, unheard),
    "tan": lambda x: kernels.tan(x),
}


class Way:
    name = "way"
    ops = OPS


class Part(Way):
    name = "part"
    ops = {op: function for op, function in OPS.items() if op != "cos"}
"""


def test_what_stands_in_a_table_is_cut(tmp_path: Path) -> None:
    script = tmp_path / "table.py"
    script.write_text(TABLE, encoding="utf-8")
    for way in ("way", "part"):
        found = cut(script, way, ["abs", "sin"])
        assert found.spelling == {"abs": "op_abs", "sin": "op_sin"}
        assert "op_abs = twice(lib.abs)" in found.source
        assert "LIMIT, ZERO = (3, 0)" in found.source
        assert found.imports == "import lib\n"
    for op, words in (("cos", "it uses unheard"), ("tan", "it uses kernels"), ("late", "no op late")):
        with pytest.raises(CutError, match=words):
            cut(script, "way", [op])


def test_annotations_are_dropped_but_of_what_reads_them(tmp_path: Path) -> None:
    script = tmp_path / "annotated.py"
    script.write_text(
        "from dataclasses import dataclass\n"
        "from typing import Any, NamedTuple\n\n"
        "import kit\nimport lib\n\n"
        "@dataclass\nclass Pair:\n    left: Any = 0\n\n"
        "class Named(NamedTuple):\n    right: Any = 0\n\n"
        "def add(a: Shape, b: Shape) -> Shape:\n"
        "    total: Shape = lib.zero(strict=True)\n    return Pair(a), Named(b), total\n\n"
        "OPS: dict[str, object] = {'add': add}\n\n"
        "class Way(kit.Way):\n    name = 'w'\n    ops = OPS\n",
        encoding="utf-8",
    )
    found = cut(script, "w", ["add"], bare=True)
    assert (
        found.imports == "from dataclasses import dataclass\nfrom typing import Any, NamedTuple\nimport lib\n"
    )
    assert found.source == (
        "@dataclass\nclass Pair:\n    left: Any = 0\n\n\n"
        "class Named(NamedTuple):\n    right: Any = 0\n\n\n"
        "def add(a, b):\n    total = lib.zero(strict=True)\n    return (Pair(a), Named(b), total)\n"
    )


def test_what_the_kit_does_cannot_be_cut() -> None:
    with pytest.raises(CutError, match="the way while_loop needs the kit"):
        cut(SCRIPTS / "tensorflow_adapter.py", "while_loop", ["sin"])
    with pytest.raises(CutError, match="there is no op qr"):
        cut(SCRIPTS / "autograd_adapter.py", "eager", ["qr"])
    with pytest.raises(CutError, match="no class of the way 'other'"):
        cut(SCRIPTS / "autograd_adapter.py", "other", [])


LOOKED_UP = {
    "atan2": "def f(x, y):\n    return atan2(x, y) * hypot(x, y)\n",
    "erf": "def f(x, y):\n    return erf(x) * lgamma(y)\n",
    "expit": "def f(x, y):\n    return expit(x - y)\n",
}


@pytest.mark.slow
@pytest.mark.parametrize("name", LOOKED_UP)
def test_functions_that_were_looked_up_are_called_by_their_paths(name: str, tmp_path: Path) -> None:
    pytest.importorskip("autograd")
    text = written(looked_up(name))
    assert {"atan2": "anp.arctan2(", "erf": "special.erf", "expit": "special.logistic"}[name] in text
    done = run_script(text, tmp_path)
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "right"), done.stdout + done.stderr


def looked_up(name: str) -> Question:
    point = Point({"x": np.asarray(0.5), "y": np.asarray(1.75)})
    return plain_question(parse(LOOKED_UP[name]), [point], "float64", ("x", "y"), ("rev",))


@pytest.mark.slow
@pytest.mark.parametrize("name", LOOKED_UP)
def test_a_wrong_function_is_shown(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The arguments of atan2 are exchanged; the other functions are found in a namespace where they are the
    sine.
    """
    pytest.importorskip("autograd")
    monkeypatch.setattr(adapter_script.adapters, "path", tmp_path.joinpath)
    text = (SCRIPTS / "autograd_adapter.py").read_text(encoding="utf-8")
    for old, new in (
        ('"atan2": anp.arctan2,', '"atan2": lambda x, y: anp.arctan2(y, x),'),
        ("functions = (anp, ", "functions = (Sines, anp, "),
        ("OPS = {\n", "class Sines:\n    erf = expit = anp.sin\n\n\nOPS = {\n"),
    ):
        assert text.count(old) == 1
        text = text.replace(old, new)
    (tmp_path / "autograd_adapter.py").write_text(text, encoding="utf-8")
    done = run_script(written(looked_up(name)), tmp_path)
    assert (done.returncode, done.stdout.splitlines()[-1]) == (1, "wrong"), done.stdout + done.stderr


def test_a_script_has_the_composition_that_was_sent(tmp_path: Path) -> None:
    """autograd has no silu: what is called is expit."""
    pytest.importorskip("autograd")
    (way,) = resolve("autograd")
    assert isinstance(way, ForeignOracle)
    program = parse("def f(x):\n    return silu(x)\n")
    question = plain_question(program, [Point({"x": np.asarray(0.5)})], "float64", ("x",), ("rev",))
    (truth,) = references()["mpmath"].truth(question)
    shown = ReproducerInput(question, 0, truth.gradient, truth.gradient, {"x": np.asarray(1e-9)})
    text = adapter_script.script(
        shown, ADAPTERS["autograd"], "eager", "Wrong in autograd.", program=way.sent(program)
    )
    assert "return silu(x)" in text
    done = run_script(text, tmp_path)
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "right"), done.stdout + done.stderr


@pytest.mark.parametrize(
    ("text", "modes", "told"),
    [
        ("polygamma(x, n=2)", ("rev",), "agree"),
        ("polygamma(1.0, n=2)", ("rev",), "agree"),
        ("x * polygamma(x, n=1)", ("rev", "rev"), "agree"),
        ("log2(x)", ("fwd",), "wrong_dtype"),
    ],
)
def test_the_order_of_a_polygamma_widens_nothing(text: str, modes: Any, told: str) -> None:
    """SciPy takes an int for an array of int64, beside which float32 becomes float64. What autograd itself
    widens is told.
    """
    pytest.importorskip("autograd")
    case = judged(asked(text, modes, "float32", x=0.5), *resolve("autograd:eager"))
    assert told in (case.verdict.value, case.kind and case.kind.value)
