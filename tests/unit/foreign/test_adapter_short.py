"""Short reproducers of libraries with adapters: what the adapter was answered, in a few lines without it."""

from __future__ import annotations

import ast
import builtins
import importlib.util
import json
import math
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest

from gradfuzz.errors import GradfuzzError
from gradfuzz.fuzzer.findings.reproducer import short as short_of
from gradfuzz.fuzzer.findings.survey import asked
from gradfuzz.fuzzer.questions.candidate import Candidate
from gradfuzz.fuzzer.questions.weighted import plain_question
from gradfuzz.fuzzer.results.events import FindingFound
from gradfuzz.fuzzer.sweep import SweepConfig
from gradfuzz.fuzzer.sweep.plans import sweep
from gradfuzz.oracles.base import Mode, Oracle, Point
from gradfuzz.oracles.dialects.adapter_short import short
from gradfuzz.oracles.emit.short import ShortInput
from gradfuzz.oracles.emit.short_forms import FORMS
from gradfuzz.oracles.foreign import managed
from gradfuzz.oracles.registry import resolve
from gradfuzz.programs import parse

POWER = "def f(x):\n    acc = 1.0\n    for i in range(3):\n        acc = acc * x\n    return acc\n"
TWO = (
    'def f(x, v: "float[3]", n: "int"):\n    acc = v\n    for i in range(n):\n'
    "        acc = acc * x + sin(v) * array([1.0, 2.0, 0.5])\n    return acc, sum(acc * acc)\n"
)
PARTS = 'def f(A: "float[2, 2]"):\n    return sum(svd(A)[0] * svd(A)[0]) + sum(svd(A)[1]) * det(A)\n'
PICK = 'def f(v: "float[3]", k: "int[2]"):\n    return take(v, k, axis=0)\n'
PROGRAMS: Mapping[str, Mapping[str, object]] = {
    POWER: {"x": 0.5},
    TWO: {"x": 0.7, "v": [1.0, 2.0, 3.0], "n": 2},
    PARTS: {"A": [[1.0, 2.0], [3.0, 5.0]]},
    PICK: {"v": [1.0, 2.0, 3.0], "k": [2, 0]},
}
MODES: tuple[tuple[Mode, ...], ...] = (
    *((), ("rev",), ("fwd",), ("rev", "rev"), ("rev", "fwd"), ("fwd", "rev"), ("fwd", "fwd")),
)
WAYS = [f"{library}:{way}" for library, form in FORMS.items() for way in form.ways]


def question_of(text: str, modes: tuple[Mode, ...], precision: str = "float64"):
    program = parse(text)
    dtypes = {"float": precision, "int": "int64"}
    point = {p.name: np.asarray(PROGRAMS[text][p.name], dtypes[p.type.dtype]) for p in program.params}
    wrt = tuple(p.name for p in program.params if p.type.is_float)
    return plain_question(program, [Point(point)], precision, wrt, modes), point


def unknown(text: str) -> set[str]:
    """The names that a script reads and nowhere defines."""
    names = [n for n in ast.walk(ast.parse(text)) if isinstance(n, ast.Name)]
    defined = {n.id for n in names if isinstance(n.ctx, ast.Store)} | set(dir(builtins))
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.FunctionDef(name=name) | ast.arg(arg=name):
                defined.add(name)
            case ast.alias(name=name, asname=other):
                defined.add((other or name).partition(".")[0])
    return {n.id for n in names} - defined


@pytest.mark.parametrize("way", WAYS)
def test_a_script_is_whole_and_short(way: str) -> None:
    """It has two numbers to compare, and no name that it does not define."""
    form = FORMS[way.partition(":")[0]]
    lengths = {}
    for text in PROGRAMS:
        for modes in MODES:
            question, point = question_of(text, modes)
            name = question.wrt[0] if modes else "output 0"
            rank = np.ndim(point[question.wrt[0]]) if modes else 0
            shown = ShortInput(question, point, (name, (0,) * rank), 0.5, target=f"{way} 1.0")
            script = short(shown, way)
            if "fwd" in modes and not form.pushes(len(question.wrt)):
                assert script == ""
                continue
            if not script:  # Paddle's functions around its own take lines
                assert (way, text) == ("paddle:dygraph", TWO)
                assert len(modes) > 1
                continue
            assert unknown(script) == set(), script
            assert "gradfuzz" not in script
            assert 'print("got     ", float(got' in script
            assert script.endswith('print("expected", 0.5)\n')
            lengths[text, modes] = script.count("\n")
    assert max(lengths.values()) <= 60
    most = {"mlx": 17, "autograd": 17, "tensorflow": 21, "paddle": 35}[way.partition(":")[0]]
    assert lengths[POWER, ("rev",)] <= most


def test_what_has_no_short_form() -> None:
    question, point = question_of(POWER, ("rev",))
    shown = ShortInput(question, point, ("x", ()), 0.75)
    assert short(shown, "tensorflow:xla") == "", "it is asked otherwise"
    assert short(shown, "mlx:compile") == ""


EAGER = """\
# tensorflow:eager 2.21.0: the derivative by x, reverse mode
import tensorflow as tf

def f(x):
    acc = tf.constant(1.0, tf.float64)
    for i in range(3):
        acc = tf.multiply(acc, x)
    return acc

def gradient_of(g, *xs):
    with tf.GradientTape() as tape:
        tape.watch(xs)
        y = g(*xs)
    return [tf.convert_to_tensor(s) for s in tape.gradient(y, xs, unconnected_gradients="zero")]

x = tf.constant(0.5, tf.float64)
got = gradient_of(f, x)[0]
print("got     ", float(got))
print("expected", 0.75)
"""


def test_it_reads_as_a_person_would_write_it() -> None:
    question, point = question_of(POWER, ("rev",))
    script = short(ShortInput(question, point, ("x", ()), 0.75, target="tensorflow:eager 2.21.0"), WAYS[0])
    assert script.replace("\n\n\n", "\n\n") == EAGER


def target(way: str) -> Oracle:
    try:
        return resolve(way)[0]
    except GradfuzzError as error:
        pytest.skip(f"{way} is not installed here: {error}")


def python_of(library: str) -> str:
    environment = managed.find(library)
    here = importlib.util.find_spec(library) is not None
    return sys.executable if here or not environment else str(Path(environment.folder) / "bin" / "python")


RUNNER = """\
import contextlib, io, json, runpy, sys

sys.modules["gradfuzz"] = None  # an import of it raises
said = []
for path in sys.argv[1:]:
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        runpy.run_path(path, run_name="__main__")
    said.append(printed.getvalue())
print(json.dumps(said))
"""


def said_by(library: str, scripts: Sequence[Path]) -> list[str]:
    """What each script prints, all in one process of the library that cannot import gradfuzz."""
    command = [python_of(library), "-I", "-c", RUNNER, *map(str, scripts)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    said: list[str] = json.loads(done.stdout.splitlines()[-1])
    return said


@pytest.mark.slow  # an adapter and a library
@pytest.mark.parametrize("way", WAYS)
def test_the_library_says_in_the_script_what_the_adapter_was_told(way: str, tmp_path: Path) -> None:
    """Where the library has an environment of `gradfuzz targets install`, or is installed beside gradfuzz."""
    oracle, library = target(way), way.partition(":")[0]
    scripts, numbers = [], []
    for text in PROGRAMS:
        for modes in MODES[:6]:
            question, _ = question_of(text, modes, "float32" if way == "mlx:eager" else "float64")
            if oracle.supports(question) is not None:
                continue
            candidate = Candidate.of(question)
            case = asked(candidate, oracle)
            script = short_of(candidate, case, oracle) if case.got is not None else ""
            if script:
                scripts.append(tmp_path / f"script_{len(scripts)}.py")
                scripts[-1].write_text(script, encoding="utf-8")
                numbers.append((case.got, case.expected))
    assert len(scripts) >= 6
    allowed = 1e-5 if way == "mlx:eager" else 1e-12
    for script, printed, (got, expected) in zip(scripts, said_by(library, scripts), numbers, strict=True):
        said = dict(line.split() for line in printed.splitlines())
        assert list(said) == ["got", "expected"], script.read_text(encoding="utf-8")
        near = math.isclose(float(said["got"]), got, rel_tol=allowed, abs_tol=allowed)
        assert near, f"{script.read_text(encoding='utf-8')}\n{said}, {got}"
        assert float(said["expected"]) == expected


@pytest.mark.slow  # a sweep of a minute and a half
@pytest.mark.parametrize("library", ["mlx", "paddle"])
def test_findings_about_functions_are_seen_in_a_few_lines(library: str, seed: int, tmp_path: Path) -> None:
    target(library)
    config = SweepConfig((library,), families=("functions",), seed=seed, max_time=90.0, jobs=1)
    found = [event.finding for event in sweep(config) if isinstance(event, FindingFound)]
    told = [f for f in found if f.ports.get("short") and f.kind.of_numbers]
    assert told
    scripts = [tmp_path / f"script_{k}.py" for k, _ in enumerate(told)]
    for script, finding in zip(scripts, told, strict=True):
        script.write_text(finding.ports["short"], encoding="utf-8")
    for script, printed, finding in zip(scripts, said_by(library, scripts), told, strict=True):
        said = {word: float(number) for word, number in map(str.split, printed.splitlines())}
        points = (finding.smallest, finding.clearest, finding.worst)
        near = [math.isclose(said["got"], p.entry_got, rel_tol=1e-3, abs_tol=0.0) for p in points]
        assert any(near) or math.isnan(said["got"]), script.read_text(encoding="utf-8")
        assert any(said["expected"] == p.entry_expected for p in points)
        assert said["got"] != said["expected"]
