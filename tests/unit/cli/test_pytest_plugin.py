"""The pytest plug-in, by running pytest: what a mark expands to, how tests end, what is said and written,
with and without xdist.
"""

from __future__ import annotations

import datetime
import json
import os
from dataclasses import dataclass
from importlib.metadata import entry_points
from xml.etree import ElementTree as Xml

import pytest

from gradfuzz.fuzzer.questions.grids import GRIDS
from gradfuzz.pytest_plugin.cells import cells_of
from tests.shell import ROOT, python

pytest_plugins = ["pytester"]

LOADED = () if entry_points(group="pytest11", name="gradfuzz") else ("-p", "gradfuzz.pytest_plugin")

SUITES = """
    import pytest

    TARGETS = ["mutant:nx-1747", "engine"]

    @pytest.mark.gradfuzz(target=TARGETS, suite="loops", checks="vjp", ops=["Sign flips"])
    def test_loops(gradfuzz_check):
        gradfuzz_check()

    BOTH = ["vjp", "jvp"]

    @pytest.mark.gradfuzz(target="mutant:take-overwrites", suite="tensor", checks=BOTH, ops=["take"])
    class TestTensors:
        def test_take(self, gradfuzz_check):
            assert (gradfuzz_check.op, gradfuzz_check.suite) == ("take", "tensor")
            gradfuzz_check()

        def test_of_another_kind(self):
            pass
"""
"""nx-1747 is wrong in reverse mode through loops. take-overwrites is wrong where an index comes twice, in
reverse mode.
"""

OUTCOMES = {
    "test_loops[mutant:nx-1747-Sign flips: acc * (x-2)-vjp]": "failed",
    "test_loops[mutant:nx-1747-Sign flips: acc * (-x)-vjp]": "failed",
    "test_loops[engine-Sign flips: acc * (x-2)-vjp]": "passed",
    "test_loops[engine-Sign flips: acc * (-x)-vjp]": "passed",
    "test_take[take-vjp]": "failed",
    "test_take[take-jvp]": "passed",
    "test_of_another_kind": "passed",
}


@dataclass(frozen=True)
class Given:
    """What a mark was given. pytest makes marks of known names only."""

    args: tuple[object, ...]
    kwargs: dict[str, object]


def given(*args: object, **kwargs: object) -> Given:
    return Given(args, kwargs)


ODD = '''
"""Ways that cannot be asked, that raise, and that are asked where there is no derivative."""
import numpy as np
from gradfuzz.oracles import Answer
from gradfuzz.oracles.engine.oracle import EngineOracle

class Unable(EngineOracle):
    def supports(self, question):
        return "odd has no licence today"

class Raising(EngineOracle):
    def answer(self, question):
        return [Answer("error", message="RuntimeError: odd is out of order")] * len(question.points)

def ways():
    return [Unable("odd:unable"), Raising("odd:raising")]
'''


@pytest.fixture
def session(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("PYTHONHASHSEED", "0")
    pytester.makeini("[pytest]\naddopts = --strict-markers\nfilterwarnings = error\n")
    return pytester


def run(session: pytest.Pytester, *arguments: str) -> pytest.RunResult:
    return session.runpytest_subprocess(*LOADED, "-p", "no:cacheprovider", "--junitxml=junit.xml", *arguments)


def outcomes(session: pytest.Pytester) -> dict[str, str]:
    """How each test ended, by its name."""
    found = {}
    for case in Xml.parse(session.path / "junit.xml").iter("testcase"):
        skipped = case.find("skipped")
        word = (
            "failed"
            if case.find("failure") is not None
            else "error"
            if case.find("error") is not None
            else "passed"
        )
        if skipped is not None:
            word = "xfailed" if "xfail" in (skipped.get("type") or "") else "skipped"
        found[str(case.get("name"))] = word
    return found


def test_a_wrong_gradient_fails_its_test_and_says_how(session: pytest.Pytester) -> None:
    session.makepyfile(test_suites=SUITES)
    result = run(session, "--gradfuzz-report=json=found.json", "--gradfuzz-report=html")
    assert outcomes(session) == OUTCOMES
    # acc * (x - 2) twice: (x - 2)^2, so 2 (x - 2) = -3 at x = 0.5. The bug goes through the trips forwards: 1
    # + (x - 2)^2 = 3.25.
    result.stdout.fnmatch_lines(
        [
            "mutant:nx-1747 *: 2 of 2 answers about Sign flips: acc * (x-2) (loops, vjp) are wrong",
            "mutant:nx-1747, float32, by rev: sign_flip at x: expected -3, got 3.25, -1.083 times as much.",
            "  The error is * times what rounding allows, say arb and mpmath.",
            "            acc = acc * (x - 2)",
            "  at x = 0.5",
            "GF-*  *, reverse mode: wrong sign* (mutant:*, float32); at x = 0.5 expected -3, got 3.25",
            "Again: gradfuzz probe mutant:nx-1747 --suite loops",
            "*= gradfuzz =*",
            "mutant:nx-1747 *: disagree *",
            "engine *: agree *",
            "mutant:take-overwrites *: agree *, disagree *",
            "GF-* *, reverse mode: wrong sign* (mutant:* expected *",
            "The json report is in found.json.",
            "The html report is in gradfuzz-report.html.",
        ]
    )
    result.stdout.no_fnmatch_line("*Traceback*")
    result.stdout.no_fnmatch_line("*check.py:*: Failed*")
    document = json.loads((session.path / "found.json").read_text())
    assert {f["target"] for f in document["findings"]} == {"mutant:nx-1747", "mutant:take-overwrites"}
    assert all(f["script"] for f in document["findings"])
    assert document["complete"]
    assert document["rerun"].startswith("pytest ")
    assert "GF-" in (session.path / "gradfuzz-report.html").read_text()
    properties = {
        (case.get("name"), p.get("name")): str(p.get("value"))
        for case in Xml.parse(session.path / "junit.xml").iter("testcase")
        for p in case.iter("property")
    }
    assert properties["test_loops[engine-Sign flips: acc * (-x)-vjp]", "gradfuzz"].endswith(": agree 2")
    wrong = "test_loops[mutant:nx-1747-Sign flips: acc * (x-2)-vjp]"
    assert properties[wrong, "gradfuzz_finding"].endswith(", float32); at x = 0.5 expected -3, got 3.25")
    assert properties[wrong, "gradfuzz_rerun"] == "gradfuzz probe mutant:nx-1747 --suite loops"


@pytest.mark.slow
def test_workers_find_the_same_and_a_baseline_accepts_it(session: pytest.Pytester) -> None:
    session.makepyfile(test_suites=SUITES)
    result = run(session, "-n", "2", "--gradfuzz-baseline=known.json", "--gradfuzz-accept=reported as #7")
    assert outcomes(session) == OUTCOMES
    assert result.stdout.str().count("= gradfuzz =") == 1
    result.stdout.fnmatch_lines(["2 findings accepted in *known.json."])

    known = json.loads((session.path / "known.json").read_text())
    assert {item["entry"]["reason"] for item in known["accepted"]} == {"reported as #7"}
    run(session, "--gradfuzz-baseline=known.json", "-rx", "-k", "not another").stdout.fnmatch_lines(
        [
            "GF-* *, reverse mode: wrong sign* (mutant:nx-1747 * (accepted: reported as #7)",
            "XFAIL *test_loops* - GF-*: reported as #7",
        ]
    )
    assert outcomes(session) == {
        name: "xfailed" if word == "failed" else word
        for name, word in OUTCOMES.items()
        if name != "test_of_another_kind"
    }

    yesterday = (datetime.datetime.now(datetime.UTC) - datetime.timedelta(days=1)).date().isoformat()
    for item in known["accepted"]:
        item["entry"]["expires"] = yesterday
    (session.path / "known.json").write_text(json.dumps(known))
    result = run(session, "--gradfuzz-baseline=known.json", "-k", "nx-1747 and (x-2)")
    result.stdout.fnmatch_lines(
        [f"No longer accepted by the baseline since {yesterday}: GF-*, reported as #7"]
    )
    result.assert_outcomes(failed=1, deselected=6)


@pytest.mark.slow
def test_what_is_shrunk_is_accepted_under_the_name_that_a_sweep_gives_it(session: pytest.Pytester) -> None:
    """In the night what is wrong is shrunk. A baseline of shrunk findings accepts what is met by day."""
    session.makepyfile(test_suites=SUITES)
    only = ("-k", "take and vjp")
    baseline = "--gradfuzz-baseline=known.json"
    night = run(session, *only, "--gradfuzz-profile=nightly", baseline, "--gradfuzz-accept=reported")
    assert "ot shrunk" not in night.stdout.str()
    assert json.loads((session.path / "known.json").read_text())["accepted"]
    run(session, *only, "--gradfuzz-profile=ci", "--gradfuzz-baseline=known.json").assert_outcomes(
        xfailed=1, deselected=6
    )


def test_what_cannot_be_asked_is_skipped_and_what_raises_fails(session: pytest.Pytester) -> None:
    info = session.path / "odd-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: odd\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[gradfuzz.oracles]\nodd = odd_module\n")
    session.makepyfile(
        odd_module=ODD,
        test_odd="""
        import pytest

        TARGETS = ["odd:unable", "odd:raising", "odd:gone", "torhc"]

        @pytest.mark.gradfuzz(target=TARGETS, checks="vjp", ops=["Near zero"])
        def test_odd(gradfuzz_check):
            gradfuzz_check()

        @pytest.mark.gradfuzz(target="engine", checks="vjp", ops=["Near zero"])
        def test_forgetful(gradfuzz_check):
            pass

        def test_unmarked(gradfuzz_check):
            gradfuzz_check()
        """,
    )
    result = run(session, "-rs", "-q")
    assert outcomes(session) == {
        "test_odd[odd:unable-Near zero: acc * x-vjp]": "skipped",
        "test_odd[odd:raising-Near zero: acc * x-vjp]": "failed",
        "test_odd[odd:gone-Near zero: acc * x-vjp]": "failed",
        "test_odd[torhc-Near zero: acc * x-vjp]": "failed",
        "test_forgetful[Near zero: acc * x-vjp]": "failed",
        "test_unmarked": "error",
    }
    for words in (
        "SKIPPED * unsupported: odd has no licence today",
        "odd:raising, float32, by rev: RuntimeError: odd is out of order.",
        "odd:gone cannot be asked: unknown target 'odd:gone': odd has the ways odd:unable, odd:raising",
        "torhc cannot be asked: unknown target 'torhc': did you mean *torch*?",
        "test_forgetful never called gradfuzz_check(), so nothing was asked",
        "the fixture gradfuzz_check is for tests with the mark gradfuzz: *",
    ):
        result.stdout.fnmatch_lines([words])


@pytest.mark.parametrize(
    ("mark", "words"),
    [
        (given(suite="linalg"), "the mark gradfuzz needs a target: *"),
        (given(target="engine", suite="linagl"), "'linagl' is no suite: did you mean 'linalg'?"),
        (given(target="engine", checks=["jvp", "vpj"]), "'vpj' is no check: did you mean *'vjp'*?"),
        (
            given(target="engine", suite="linalg", ops="qrr"),
            "'qrr' is no op of the suite linalg: did you mean 'qr'?",
        ),
        (
            given(target="engine", chekcs="jvp"),
            "'chekcs' is no argument of the mark gradfuzz: did you mean 'checks'?",
        ),
        (given(target=3), "target=3 of the mark gradfuzz: it is a name, or a list of names"),
        (given("engine"), "the mark gradfuzz takes target, suite, checks, ops by name, and here is 'engine'"),
    ],
)
def test_a_mark_that_makes_no_sense_is_told(mark: Given, words: str) -> None:
    with pytest.raises(pytest.fail.Exception) as caught:
        cells_of([mark])
    assert caught.value.pytrace is False
    pytest.LineMatcher([str(caught.value)]).fnmatch_lines([words])


def test_a_test_is_named_after_what_tells_it_from_others() -> None:
    def names(*marks: Given) -> list[str]:
        return [cell.id for cell in cells_of(marks)]

    qr = given(target="torch", suite="linalg", ops="qr")
    assert names(qr) == ["qr-vjp", "qr-jvp", "qr-second order"]
    assert names(qr, given(target="jax", suite="linalg", checks=["jvp"], ops=["lu", "qr"])) == [
        *("torch-qr-vjp", "torch-qr-jvp", "torch-qr-second order", "jax-qr-jvp", "jax-lu-jvp"),
    ]
    both = given(target="torch", suite=["linalg", "tensor"], checks="vjp", ops=["matmul", "sort"])
    assert names(both) == ["linalg-matmul-vjp", "tensor-sort-vjp", "tensor-matmul-vjp"]
    assert names(qr, qr) == names(qr)
    loops = given(target="torch", ops=["Second order", "acc * (-x)"])
    assert names(loops) == [
        *("Loop bodies: acc * (-x)-vjp", "Loop bodies: acc * (-x)-jvp", "Sign flips: acc * (-x)-vjp"),
        *("Sign flips: acc * (-x)-jvp", "Second order: acc * x-second order"),
    ]


@pytest.mark.parametrize("suite", ["complex", "tensor"])
def test_the_ops_of_a_suite_are_those_of_its_rows(suite: str) -> None:
    """They are known without making the rows, and the rows of one op are made without the others."""
    grid = GRIDS[suite]
    rows = list(grid.rows())
    assert grid.ops() == list(dict.fromkeys(row.op for row in rows))
    for op in grid.ops()[::7]:
        assert [row.use for row in grid.about([op])] == [row.use for row in rows if row.op == op]


def test_a_mark_without_the_fixture_and_options_that_make_no_sense(session: pytest.Pytester) -> None:
    session.makepyfile("import pytest\n@pytest.mark.gradfuzz(target='engine')\ndef test_it(): pass\n")
    run(session).stdout.fnmatch_lines(
        ["*has the mark gradfuzz but not its fixture: write `def test_it(gradfuzz_check): *"]
    )
    for option, words in (
        ("--gradfuzz-report=hmtl", "*'hmtl' is not a format; the formats are *"),
        ("--gradfuzz-accept=why", "*--gradfuzz-accept needs a file to write into*"),
        (
            "--gradfuzz-baseline=test_a_mark_without_the_fixture_and_options_that_make_no_sense.py",
            "*not JSON*",
        ),
        ("--gradfuzz-profile=never", "*invalid choice: 'never'*"),
    ):
        result = run(session, option)
        assert result.ret == pytest.ExitCode.USAGE_ERROR
        result.stderr.fnmatch_lines([words])


# What it costs ----------------------------------------------------------------------------------------------

HEAVY = (
    *("click", "flint", "gradfuzz.fuzzer", "gradfuzz.programs", "hypothesis", "jax", "mpmath", "numpy"),
    *("rich", "scipy", "torch"),
)


def printed(code: str) -> str:
    return python("-c", code, exit_code=0).stdout


def test_importing_the_plug_in_imports_nothing_else() -> None:
    loaded = printed(
        "import sys, pytest; before = set(sys.modules)\nimport gradfuzz.pytest_plugin;"
        " print(*sorted(set(sys.modules) - before))"
    )
    assert loaded.split() == ["gradfuzz", "gradfuzz.pytest_plugin", "gradfuzz.version"]


def test_importing_the_plug_in_takes_less_than_20_ms() -> None:
    """Of the processor's time, which others on the machine do not add to."""
    code = (
        "import time, pytest; t = time.process_time(); import gradfuzz.pytest_plugin;"
        " print(time.process_time() - t)"
    )
    assert min(float(printed(code)) for _ in range(5)) < 0.020


def test_a_session_without_the_mark_loads_nothing(session: pytest.Pytester) -> None:
    session.makeconftest(f"""
        import sys

        def pytest_unconfigure():
            print("LOADED", [name for name in {HEAVY!r} if name in sys.modules])
        """)
    session.makepyfile("def test_nothing(): pass")
    names = [entry.name for entry in entry_points(group="pytest11") if entry.name != "gradfuzz"]
    off = [part for name in names for part in ("-p", f"no:{name}")]
    result = session.runpytest_subprocess(*LOADED, *off, "-s")
    result.stdout.fnmatch_lines(["LOADED []"])
    assert result.ret == 0, os.fspath(session.path)
