"""Short reproducers print what the library returned and what is right, in a process without gradfuzz."""

from __future__ import annotations

import itertools
import json
import math
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gradfuzz.fuzzer.findings.representative import finding_at
from gradfuzz.fuzzer.findings.reproducer import short
from gradfuzz.fuzzer.findings.survey import asked
from gradfuzz.fuzzer.questions.candidate import Candidate
from gradfuzz.fuzzer.questions.weighted import plain_question
from gradfuzz.fuzzer.results.events import FindingFound
from gradfuzz.fuzzer.results.finding import Class, Finding
from gradfuzz.fuzzer.sweep import SweepConfig
from gradfuzz.fuzzer.sweep.plans import sweep as sweep_calls
from gradfuzz.oracles.base import Mode, Oracle, Point
from gradfuzz.oracles.registry import resolve
from gradfuzz.programs import parse

POWER = "def f(x):\n    acc = 1.0\n    for i in range(3):\n        acc = acc * x\n    return acc\n"
TWO = (
    'def f(x, v: "float[3]", n: "int"):\n    acc = v\n    for i in range(n):\n'
    "        acc = acc * x + sin(v)\n    return acc, sum(acc * acc)\n"
)
DET = 'def f(A: "float[2, 2, 2]"):\n    return det(A)\n'
COMPLEX = "def f(x, y):\n    z = complex(x, y)\n    return real(exp(z) * z)\n"
PROGRAMS: Mapping[str, Mapping[str, Any]] = {
    POWER: {"x": 0.5},
    TWO: {"x": 0.7, "v": [1.0, 2.0, 3.0], "n": 2},
    DET: {"A": [[[1.0, 2.0], [3.0, 5.0]], [[5.0, 6.0], [7.0, 9.0]]]},
    COMPLEX: {"x": 0.5, "y": 2.0},
}
MODES: tuple[tuple[Mode, ...], ...] = (
    *((), ("rev",), ("fwd",), ("rev", "rev"), ("rev", "fwd"), ("fwd", "rev"), ("fwd", "fwd")),
    ("rev", "fwd", "rev"),
)
RUNNER = """\
import contextlib, io, json, runpy, sys, warnings

warnings.simplefilter("ignore")
sys.modules["gradfuzz"] = None  # an import of it raises
printed = []
for path in json.load(open(sys.argv[1])):
    said = io.StringIO()
    try:
        with contextlib.redirect_stdout(said):
            runpy.run_path(path, run_name="__main__")
        printed.append(said.getvalue())
    except Exception as error:
        printed.append(f"{said.getvalue()}{type(error).__name__}: {error}")
print(json.dumps(printed))
"""


def run(scripts: Sequence[str], folder: Path) -> list[str]:
    """What each script prints, all in one process that cannot import gradfuzz."""
    paths = [folder / f"script_{k}.py" for k in range(len(scripts))]
    for path, text in zip(paths, scripts, strict=True):
        path.write_text(text, encoding="utf-8")
    (folder / "paths.json").write_text(json.dumps([str(path) for path in paths]), encoding="utf-8")
    (folder / "runner.py").write_text(RUNNER, encoding="utf-8")
    command = [sys.executable, "-I", str(folder / "runner.py"), str(folder / "paths.json")]
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder)
    assert done.returncode == 0, done.stderr[-2000:]
    said: list[str] = json.loads(done.stdout.splitlines()[-1])
    return said


def numbers(printed: str) -> dict[str, float]:
    """The two lines, "got 0.5" and "expected 0.25"."""
    lines = dict(line.split() for line in printed.splitlines())
    assert list(lines) == ["got", "expected"], printed
    return {word: float(number) for word, number in lines.items()}


def oracle(name: str) -> Oracle:
    """The target of this name."""
    return resolve(name)[0]


def questions(way: str) -> Iterator[tuple[str, str, float, float]]:
    """(script, precision, got, expected) for each question that the way answers."""
    target = oracle(way)
    for text, inputs in PROGRAMS.items():
        program = parse(text)
        for modes in MODES:
            for precision in ("float64", "float32"):
                dtypes = {"float": precision, "int": "int64"}
                own = {p.name: np.asarray(inputs[p.name], dtypes[p.type.dtype]) for p in program.params}
                question = plain_question(program, [Point(own)], precision, None, modes)
                if target.supports(question) is not None:
                    continue
                candidate = Candidate.of(question)
                case = asked(candidate, target)
                if case.got is not None and case.expected is not None:
                    yield short(candidate, case, target), precision, case.got, case.expected


def agree(ways: Sequence[str], folder: Path) -> int:
    """Asks every question of `ways`, and compares what the script prints; how many there were."""
    rows = [row for way in ways for row in questions(way) if row[0]]
    for printed, (script, precision, got, expected) in zip(
        run([row[0] for row in rows], folder), rows, strict=True
    ):
        said = numbers(printed)
        allowed = 1e-12 if precision == "float64" else 1e-5
        assert math.isclose(said["got"], got, rel_tol=allowed, abs_tol=allowed), f"{script}\n{said}, {got}"
        assert said["expected"] == expected, script
        assert "gradfuzz" not in script
    return len(rows)


def test_autograd_says_in_the_script_what_it_said(tmp_path: Path) -> None:
    pytest.importorskip("autograd")
    assert agree(["autograd"], tmp_path) > 30


@pytest.mark.slow  # 390 scripts of two libraries, some of them compiled
@pytest.mark.parametrize(
    "ways",
    [
        ("torch:eager", "torch:func", "torch:jacobian", "torch:while_loop"),
        ("jax:scan", "jax:unrolled", "jax:jacobian", "jax:while_loop"),
    ],
)
def test_a_library_says_in_the_script_what_it_said(ways: tuple[str, ...], tmp_path: Path) -> None:
    pytest.importorskip(ways[0].partition(":")[0])
    assert agree(ways, tmp_path) > 120


# Findings ---------------------------------------------------------------------------------------------------


def check(found: Sequence[Finding], folder: Path) -> int:
    """Runs the short script of each finding and compares it with the finding; how many there were."""
    told = [finding for finding in found if finding.ports.get("short")]
    printed = run([finding.ports["short"] for finding in told], folder)
    for finding, said in zip(told, printed, strict=True):
        script = finding.ports["short"]
        assert script.count("\n") <= 40, script
        if finding.kind is Class.ERROR:
            assert said.startswith("expected"), f"{script}\n{said}"
            assert not said.count("\ngot"), f"{script}\n{said}"
        elif finding.kind.of_numbers:
            found_ = numbers(said)
            points = (finding.smallest, finding.clearest, finding.worst)
            assert any(
                same(found_["got"], point.entry_got) and same(found_["expected"], point.entry_expected)
                for point in points
            ), f"{finding.target} {finding.check}\n{script}\n{said}"
        else:
            got, expected = (line.split(maxsplit=1)[1] for line in said.splitlines())
            assert got != expected, f"{script}\n{said}"
    return len(told)


def same(printed: float, found: float) -> bool:
    """Equal up to what a library's own ways of one mode differ by, or both NaN."""
    return math.isclose(printed, found, rel_tol=1e-3) or (math.isnan(printed) and math.isnan(found))


DETERMINANT = 'def f(A: "float[2, 2]"):\n    return det(A)\n'
LOGARITHM = 'def f(A: "float[2, 2]"):\n    return log(abs(det(A)))\n'
TRACE = "def f(A: \"float[2, 2]\"):\n    return einsum('ii->', A)\n"
MINIMUM = "def f(x):\n    return minimum(1e-20 * x, x)\n"
MAXIMUM = "def f(x):\n    return maximum(1e-20 * x, -x)\n"
PRODUCT = 'def f(v: "float[3]"):\n    return prod(v)\n'
HYPOT = "def f(x):\n    return hypot(x, 1.5)\n"
LARGEST = 'def f(v: "float[3]"):\n    return amax(v)\n'
REGULAR, SINGULAR = {"A": [[1.0, 2.0], [3.0, 5.0]]}, {"A": [[1.0, 2.0], [2.0, 4.0]]}
ZERO = {"v": [0.0, 2.0, 3.0]}
FOUND: tuple[tuple[str, str, tuple[Mode, ...], str, Mapping[str, Any]], ...] = (
    *(("torch:eager", DETERMINANT, ("fwd", "rev"), p, REGULAR) for p in ("float64", "float32")),
    *(("torch:func", DETERMINANT, ("fwd", "rev"), p, REGULAR) for p in ("float64", "float32")),
    ("torch:eager", DETERMINANT, ("fwd", "rev"), "float64", SINGULAR),
    ("torch:func", DETERMINANT, ("fwd", "rev"), "float64", SINGULAR),
    ("torch:func", LOGARITHM, ("fwd", "rev"), "float64", REGULAR),
    ("torch:eager", LOGARITHM, ("fwd", "rev"), "float64", REGULAR),
    *(("torch:eager", text, ("fwd",), "float64", {"x": 1.0}) for text in (MINIMUM, MAXIMUM)),
    *(("torch:func", text, ("fwd",), "float64", {"x": 1.0}) for text in (MINIMUM, MAXIMUM)),
    *(("torch:while_loop", POWER, ("rev",), p, {"x": 0.5}) for p in ("float64", "float32")),
    *(("autograd", PRODUCT, modes, "float64", ZERO) for modes in (("rev",), ("rev", "rev"), ("fwd",))),
    ("autograd", "def f(x):\n    return x / (x * x)\n", ("rev", "rev"), "float32", {"x": 1e-6}),
    ("autograd", LARGEST, ("fwd",), "float32", ZERO),
    ("autograd", "def f(x):\n    return exp2(x)\n", ("fwd",), "float32", {"x": 0.5}),
    ("autograd", DETERMINANT, ("rev",), "float64", SINGULAR),
    ("autograd", TRACE, ("rev",), "float64", REGULAR),
    *((way, HYPOT, ("rev", "rev"), "float64", {"x": 1.5}) for way in ("jax:unrolled", "jax:scan")),
)
"""Target, program, modes, precision and inputs of what docs/trophies has of torch, autograd and JAX."""


@pytest.mark.slow  # torch compiles the form of its while_loop
def test_twenty_findings_are_seen_in_a_few_lines(tmp_path: Path) -> None:
    for library in ("torch", "autograd", "jax"):
        pytest.importorskip(library)
    found = []
    for target_name, text, modes, precision, inputs in FOUND:
        target, program = oracle(target_name), parse(text)
        point = Point({name: np.asarray(value, precision) for name, value in inputs.items()})
        candidate = Candidate.of(plain_question(program, [point], precision, None, modes))
        case = asked(candidate, target)
        assert case.verdict.is_wrong, f"{target_name}, {text}: {case.verdict}"
        script = short(candidate, case, target)
        finding = finding_at(candidate, case, target.version, "linalg", program)
        found.append(replace(finding, ports={"short": script}))
    assert check(found, tmp_path) == len(FOUND) >= 20
    for (target_name, *_), finding in zip(FOUND, found, strict=True):
        text = finding.ports["short"]
        assert lines_of_code(text) <= (14 if "while_loop" in target_name else 10), text


def lines_of_code(script: str) -> int:
    return sum(bool(line.strip()) and not line.startswith("#") for line in script.splitlines())


@pytest.mark.slow  # a sweep until six are found
def test_findings_about_functions_are_seen_in_a_few_lines(seed: int, tmp_path: Path) -> None:
    pytest.importorskip("autograd")
    config = SweepConfig(("autograd",), families=("functions",), seed=seed, max_time=900.0, jobs=1)
    events = (event for event in sweep_calls(config) if isinstance(event, FindingFound))
    assert check([event.finding for event in itertools.islice(events, 6)], tmp_path) >= 3
