"""Each "How to add ..." of CONTRIBUTING.md, followed in earnest: its steps are all that it takes. Ops have a
page of their own, `docs/howto/op.md`.
"""

from __future__ import annotations

import json
import re
import shlex
import sys
import textwrap
from importlib.metadata import version
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from gradfuzz.adapters.shipped import ADAPTERS, Adapter
from gradfuzz.cli import CLEAN, FINDINGS
from gradfuzz.engine import Rules
from gradfuzz.engine.modes.reverse import Cotangent, ReverseMode, Tape
from gradfuzz.engine.rules.value import Value
from gradfuzz.fuzzer import check_program
from gradfuzz.fuzzer.results import known_reports
from gradfuzz.fuzzer.results.events import FindingFound, SweepFinished
from gradfuzz.fuzzer.results.finding import Class, Verdict
from gradfuzz.fuzzer.results.known_reports import KnownReport
from gradfuzz.fuzzer.results.review import Review
from gradfuzz.fuzzer.sweep import SweepConfig, sweep
from gradfuzz.oracles import Answer, Mode, Oracle, Point, Question, registry
from gradfuzz.oracles.dialect_table import DIALECTS
from gradfuzz.oracles.engine.oracle import EngineOracle
from gradfuzz.oracles.libraries import LIBRARIES
from gradfuzz.oracles.mutants import registry as mutants
from gradfuzz.oracles.mutants.mutant import Mutant
from gradfuzz.programs import loop_program
from gradfuzz.programs.graphs.graph import Equation
from gradfuzz.reports.formats import FORMATS, ReportFormat
from gradfuzz.strategies import FAMILIES, Family, loops
from gradfuzz.strategies.loop.case import cases
from tests import shell

ROOT = Path(__file__).parents[3]
GUIDE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")


pytestmark = pytest.mark.usefixtures("elsewhere")


def run(*arguments: str, exit_code: int = CLEAN) -> str:
    return shell.run(*arguments, exit_code=exit_code).stdout


def module(monkeypatch: pytest.MonkeyPatch, name: str, **members: object) -> str:
    """A module as if its file lay there."""
    made = ModuleType(name)
    vars(made).update(members)
    monkeypatch.setitem(sys.modules, name, made)
    return name


def test_every_folder_of_tests_has_a_row() -> None:
    folders = {
        f"tests/{path.name}/"
        for path in (ROOT / "tests").iterdir()
        if path.is_dir() and not path.name.startswith("__")
    }
    assert set(re.findall(r"^\| `(tests/[a-z_]+/)", GUIDE, re.MULTILINE)) == folders


def test_how_to_add_what_is_named_here() -> None:
    """A section that nobody follows would be a promise."""
    assert re.findall(r"^## How to add (.*)$", GUIDE, re.MULTILINE) == [
        "an op",
        "a target in Python",
        "an adapter",
        "a planted bug",
        "an excuse",
        "a dialect",
        "a family of programs",
        "a known report",
        "a report",
    ]


# A target in Python


class Halved(EngineOracle):
    """The engine, and half of what it says."""

    def answer(self, question: Question) -> list[Answer]:
        return [
            Answer(a.status, a.values, {name: slope / 2 for name, slope in a.gradient.items()})
            for a in super().answer(question)
        ]


def ways() -> list[Oracle]:
    return [EngineOracle("tinylib:right"), Halved("tinylib:halved")]


def verdicts(target: str, mode: Mode) -> dict[str, Verdict]:
    program = loop_program("acc*x", trips=3)
    checked = check_program(program, [Point({"x": np.array(0.5)})], "float64", ["x"], [mode], [target])
    return {case.oracle: case.verdict for case in checked.cases}


def test_a_target(monkeypatch: pytest.MonkeyPatch) -> None:
    module(monkeypatch, "gradfuzz.oracles.tinylib.ways", ways=ways)
    monkeypatch.setattr(registry, "LIBRARIES", (*LIBRARIES, "tinylib"))
    assert verdicts("tinylib", "rev") == {"tinylib:right": Verdict.AGREE, "tinylib:halved": Verdict.DISAGREE}
    assert "tinylib" in run("targets", "--planted")


# An adapter

SCRIPT = """
    import kit
    from toy_adapter import Toy


    class Tiny(Toy):
        name = "tiny"

        def differentiate(self, f, xs, weights, directions, modes):
            outputs, gradient = super().differentiate(f, xs, weights, directions, modes)
            return outputs, [-slope for slope in gradient]


    if __name__ == "__main__":
        kit.serve("tinylib", "1.0", [Toy(), Tiny()])
"""


def test_an_adapter(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    run("targets", "new", "own")  # kit.py and the toy
    script = tmp_path / "own" / "tinylib_adapter.py"
    script.write_text(
        textwrap.dedent(SCRIPT).replace("[Toy(),", "[type('Right', (Toy,), {'name': 'right'})(),")
    )
    said = run("targets", "check", shlex.join([sys.executable, str(script)]), exit_code=FINDINGS)
    assert "The adapter is broken: derivatives" in said
    # A library is there when its distribution is installed; click is, for sure.
    monkeypatch.setitem(ADAPTERS, "tinylib", Adapter(str(script), "click"))
    assert verdicts("tinylib", "fwd") == {"tinylib:right": Verdict.AGREE, "tinylib:tiny": Verdict.DISAGREE}
    assert re.search(
        rf"^tinylib +target +{re.escape(version('click'))}\b", run("targets", "--planted"), re.MULTILINE
    )


# A planted bug


class ForgottenFactor(ReverseMode):
    """The cotangent of the first factor of a product is that of the product."""

    def equation(self, node: Equation, g: Value, tape: Tape) -> list[Cotangent]:
        first, *others = super().equation(node, g, tape)
        forgets = node.op == "multiply" and first is not None and first.shape == g.shape
        return [g if forgets else first, *others]


def test_a_planted_bug(monkeypatch: pytest.MonkeyPatch) -> None:
    row = Mutant("B0", "forgotten-factor", "a factor is forgotten", "common", Rules(reverse=ForgottenFactor))
    monkeypatch.setattr(mutants, "MUTANTS", (*mutants.MUTANTS, row))
    events = list(sweep(SweepConfig(("mutant:forgotten-factor",), max_examples=4)))
    found = [event.finding for event in events if isinstance(event, FindingFound)]
    assert found
    assert {finding.target for finding in found} == {"mutant:forgotten-factor"}
    assert "mutant:forgotten-factor" in run("targets", "--planted")


# A dialect


def port(shown: Any) -> str:
    return f"ask r about {shown.question.program.name} at {sorted(shown.inputs)}\n"


def test_a_dialect(monkeypatch: pytest.MonkeyPatch) -> None:
    name = module(monkeypatch, "r_script", unsupported=lambda shown: None, port=port)
    monkeypatch.setitem(DIALECTS, "r", name)
    run("sweep", "mutant:nx-1747", "--max-examples", "4", "--report", "html=r.html", exit_code=FINDINGS)
    (finding, *_) = re.findall(r"GF-[0-9a-f]+", run("report", "1"))
    assert run("show", finding, "--as", "r") == "ask r about f at ['x']\n"
    assert "ask r about f" in Path("r.html").read_text(encoding="utf-8")


# A family of programs


def test_a_family(monkeypatch: pytest.MonkeyPatch) -> None:
    family = Family(
        lambda precisions: cases(programs=loops(max_trips=2), precisions=precisions),
        goals=(),
        reached=lambda case: frozenset(),
    )
    monkeypatch.setitem(FAMILIES, "short", family)
    said = run("sweep", "engine", "--family", "short", "--max-examples", "2")
    assert "short" in said


# A known report


def test_a_known_report(monkeypatch: pytest.MonkeyPatch) -> None:
    about = ("mutant:nx-1747", ">=0.0.1", "adjoints are swept in forward order", tuple(Class))
    loops = ("for", "while", "repeat")
    row = KnownReport("nx#1747", *about, loops=loops)
    run(
        "sweep", "mutant:nx-1747", "--max-examples", "4", "--report", "concise=before.txt", exit_code=FINDINGS
    )
    monkeypatch.setattr(known_reports, "KNOWN_REPORTS", (*known_reports.KNOWN_REPORTS, row))
    run("report", "1", "--report", "concise=after.txt")
    assert "reported as" not in Path("before.txt").read_text(encoding="utf-8")
    told = Path("after.txt").read_text(encoding="utf-8")
    assert "; reported as nx#1747 (https://github.com/elixir-nx/nx/issues/1747)" in told
    (finding, *_) = re.findall(r"GF-[0-9a-f]+", told)
    assert "Reported as nx#1747" in run("show", finding)
    assert json.loads(run("show", finding, "--as", "json"))["reported"] == [row.link]


# A report


def render(finished: SweepFinished, review: Review | None) -> str:
    return "\n".join(f"{finding.id} {finding.target}" for finding in finished.findings)


def test_a_report(monkeypatch: pytest.MonkeyPatch) -> None:
    module(monkeypatch, "gradfuzz.reports.tiny", render=render)
    monkeypatch.setitem(FORMATS, "tiny", ReportFormat("tiny", "gradfuzz-tiny.txt", "tiny"))
    run("sweep", "mutant:nx-1747", "--max-examples", "4", "--report", "tiny", exit_code=FINDINGS)
    written = Path("gradfuzz-tiny.txt").read_text(encoding="utf-8")
    assert re.fullmatch(r"(GF-[0-9a-f]+ mutant:nx-1747\n?)+", written)
    run("report", "1", "--report", "tiny=again.txt")
    assert Path("again.txt").read_text(encoding="utf-8") == written
