"""Reports from hand-made events: nothing is computed here, so the figures are those of the seed report's
tables.
"""

from __future__ import annotations

import dataclasses
import io
import json
import re
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from gradfuzz.cli import reporting
from gradfuzz.fuzzer.results.events import FindingFound, Progress, SweepStarted, TargetSummary
from gradfuzz.fuzzer.results.finding import (
    Cause,
    CheckResult,
    Class,
    Cluster,
    Finding,
    FindingPoint,
    Likelihood,
    Reason,
    Verdict,
)
from gradfuzz.fuzzer.results.identity import signature_of
from gradfuzz.fuzzer.results.report_card import Label, ProbeReport, ProbeTable
from gradfuzz.fuzzer.results.review import BaselineEntry, Review
from gradfuzz.oracles.base import Answer, Point, Question, Truth
from gradfuzz.programs.text.loop_body import loop_program
from gradfuzz.programs.text.parse import parse
from gradfuzz.reports.common import account, numbers, scripts, words
from gradfuzz.reports.common.standing import divided, news
from gradfuzz.reports.formats import FORMATS
from gradfuzz.reports.machine import json as documents
from gradfuzz.reports.terminal import live
from gradfuzz.reports.terminal import report as terminal
from tests.report_data import finding, finished
from tests.shell import assert_kept, printed

DET = 'def f(x: "float[2, 2]"):\n    return det(x)\n'
PROGRAM = loop_program("acc*x", trips=3)


def scalar(value: float, dtype: str = "float64") -> np.ndarray:
    return np.asarray(value, dtype)


def finding_point(x: float, expected: float, got: float) -> FindingPoint:
    return FindingPoint(
        inputs={"x": scalar(x)},
        expected={"x": scalar(expected)},
        got={"x": scalar(got)},
        bound={"x": scalar(1e-22)},
        entry=("x", ()),
        entry_expected=expected,
        entry_got=got,
        ratio=got / expected if expected else None,
        error_over_allowed=1e9,
    )


def make_finding(**changes: object) -> Finding:
    own = {
        "id": "GF-7c1e",
        "smallest": finding_point(0.5, 0.75, 1.3125),
        "clearest": finding_point(0.001, 3e-6, 1.000001000001),
        "worst": finding_point(2.0, 12.0, 21.0),
        "reproduced": (3, 3),
        "note": "in every loop form",
        "cause": Cause("nx-1747", Likelihood.CERTAIN, "adjoints swept in forward order", "Nx #1747"),
        "script": "print('differs')\n",
        "ports": {},
    }
    return finding(0, with_evidence=False, **{**own, **changes})


SUMMARIES = (
    finished(0).summaries[0],
    TargetSummary(
        *("jax:scan", "0.10.2", "loops", 500, 400),
        inconclusive={Reason.KINK: 5, Reason.NOISE: 1},
        unsupported=94,
    ),
    TargetSummary("jax:while", "0.10.2", "loops", checks=300, agree=300),
    TargetSummary("mutant:nx-1747", "0.1.0", "loops", checks=1000, agree=600, disagree=400),
)

FINISHED = finished(
    [make_finding()],
    summaries=SUMMARIES,
    rerun="gradfuzz sweep engine jax mutant:nx-1747 --seed 7",
    clusters=(),
    tested={},
    conventions={},
    environment={},
)


@pytest.mark.parametrize(
    ("cause", "words_in_it"),
    [
        (
            Cause("m", Likelihood.LIKELY, "s", "r", ("n",)),
            "Probable cause: s (mutant:m, as in r). It gives the same answers; so do n.",
        ),
        (Cause("m", Likelihood.LIKELY, "s", "r"), "It alone gives the same answers."),
        (
            Cause("m", Likelihood.POSSIBLE, "s", "systematic", tuple("abcd")),
            "a rule changed on purpose). It gives the same wrong answers here",
        ),
        (Cause("m", Likelihood.POSSIBLE, "s", "r", tuple("abcd")), "so do a, b, c, ..."),
        (Cause("m", Likelihood.CERTAIN, "s", "r"), "Behaves exactly like this bug: s"),
    ],
)
def test_the_cause_in_words(cause: Cause | None, words_in_it: str) -> None:
    assert words_in_it in words.cause(make_finding(cause=cause))


def test_where_nothing_is_known_nothing_is_said() -> None:
    assert words.cause(make_finding(cause=None)) == ""
    unknown = dataclasses.replace(FINISHED, findings=(make_finding(cause=None),))
    for name in ("html", "markdown", "terminal", "junit", "sarif", "github"):
        assert "planted bugs" not in FORMATS[name].render(unknown, None)


def test_what_is_known_stands_with_the_cause_and_without_one() -> None:
    facts = ("cos alone is wrong: cos(x), at all 6 points tried", "wrong in vjp, right in jvp")
    told = "What is known: cos alone is wrong: cos(x), at all 6 points tried; wrong in vjp, right in jvp."
    assert words.cause(make_finding(cause=None, facts=facts)) == told
    cause = Cause("m", Likelihood.LIKELY, "s", "r")
    assert words.cause(make_finding(cause=cause, facts=facts)).endswith(f"gives the same answers. {told}")
    document = documents.finding_document(make_finding(facts=facts))
    assert document["facts"] == list(facts)


@pytest.mark.parametrize("name", ["terminal", "json", "html", "junit", "sarif", "github", "markdown"])
def test_a_report_says_what_is_known(name: str) -> None:
    fact = "cosine alone is wrong"
    of_one = dataclasses.replace(FINISHED, findings=(make_finding(cause=None, facts=(fact,)),))
    assert fact in " ".join(FORMATS[name].render(of_one, None).split())
    assert fact not in FORMATS[name].render(FINISHED, None)


def test_a_flaky_finding_is_marked() -> None:
    assert "Flaky: repeated 3 of 5 times" in words.judged(make_finding(reproduced=(3, 5)))
    assert "Flaky" not in words.judged(make_finding(reproduced=(5, 5)))


def test_several_findings_are_shown_by_cause() -> None:
    two = dataclasses.replace(
        FINISHED,
        findings=(make_finding(), make_finding(id="GF-aaaa")),
        clusters=(Cluster("mutant:nx-1747: adjoints swept in forward order", ("GF-7c1e", "GF-aaaa")),),
    )
    assert "adjoints swept in forward order: GF-7c1e, GF-aaaa" in printed(terminal.sweep(two, {}))
    assert documents.sweep_document(two)["clusters"][0]["findings"] == ["GF-7c1e", "GF-aaaa"]


# Numbers ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1.000001000001 / 3e-6, "333,334"),
        (1.0001 / 3e-4, "3,334"),
        (1.0101 / 0.03, "33.67"),
        (1.75, "1.75"),
        (1.0, "1"),
        (-3.25 / 3.0, "-1.083"),
        (1.00002, "1.00002"),
        (0.0, "0"),
        (3e20, "3.000e+20"),
        (float("inf"), "infinite"),
        (None, "-"),
    ],
)
def test_ratio(value: float | None, text: str) -> None:
    assert numbers.ratio(value) == text


def test_times_marks_only_numbers() -> None:
    assert [numbers.times(v) for v in (1.75, None, float("inf"))] == ["1.75×", "-", "infinite"]


def test_a_pair_shows_where_two_numbers_differ() -> None:
    assert numbers.pair(0.75, 1.3125) == ("0.75", "1.3125")
    left, right = numbers.pair(1.0, 1.0 + 2.0**-40)
    assert left != right
    assert numbers.pair(1.0, 1.0) == ("1", "1")


def test_inputs_keep_every_digit_of_their_dtype() -> None:
    assert (
        numbers.inputs({"x": scalar(0.1, "float32"), "v": np.array([1.0, -0.5]), "n": np.asarray(3)})
        == "x = 0.1, v = [1, -0.5], n = 3"
    )
    assert numbers.inputs({"x": scalar(0.1)}) == "x = 0.1"
    assert numbers.inputs({"x": scalar(1e-12)}) == "x = 1e-12"
    assert numbers.inputs({"x": scalar(-0.0)}) == "x = -0"


# Findings ---------------------------------------------------------------------------------------------------


def test_a_finding_says_what_a_maintainer_needs() -> None:
    text = printed(terminal.finding(make_finding(), Path(".gradfuzz/scripts/GF-7c1e.py")), width=160)
    for part in (
        "GF-7c1e  for loop, reverse mode: wrong by a factor of 333,334 (mutant:nx-1747 0.1.0, float64)",
        "for i in range(3):",
        "acc = acc * x",
        "333,334×",
        "± 1e-22",
        "The derivative is far too large.",
        "Judged by arb and mpmath.",
        "Repeated 3 of 3 times",
        "Where it shows: in every loop form",
        ".gradfuzz/scripts/GF-7c1e.py",
    ):
        assert part in text, part
    rows = [
        line.split()
        for line in text.splitlines()
        if line.strip().startswith(("smallest", "clearest", "worst"))
    ]
    assert [row[0] for row in rows] == ["smallest", "clearest", "worst"]
    assert rows[0][1:] == ["x", "=", "0.5", "0.75", "±", "1e-22", "1.3125", "1.75×"]


def test_equal_points_are_one_row() -> None:
    same = finding_point(0.5, 0.75, 1.3125)
    text = printed(terminal.finding(make_finding(smallest=same, clearest=same, worst=same)))
    assert "all three" in text
    assert "smallest" not in text


@pytest.mark.parametrize("kind", list(Class))
def test_every_class_has_words(kind: Class) -> None:
    assert words.EXPLANATIONS[kind]
    assert words.verdict(make_finding(kind=kind, note="ValueError: no")).endswith((".", "no"))


@pytest.mark.parametrize(
    ("kind", "expected", "got", "told"),
    [
        (Class.SIGN_FLIP, 0.3, -0.3, "The derivative has the wrong sign."),
        (Class.WRONG_VALUE, 0.5, -0.01, "The derivative is wrong: -0.02 times what is right."),
        (Class.WRONG_VALUE, 8.0, -4.0, "The derivative is wrong: -0.5 times what is right."),
        (Class.WRONG_VALUE, 0.5, 5e-10, "The derivative is wrong: 1e-09 times what is right."),
        (Class.RATIO_BLOWUP, 0.5, 15.0, "The derivative is far too large."),
        (Class.RATIO_BLOWUP, 0.5, -15.0, "The derivative is far too large, and has the wrong sign."),
        (Class.MISSING, 0.3, 0.0, "The derivative is returned as zero, and is not."),
        (Class.MISSING, 0.3, -0.0, "The derivative is returned as zero, and is not."),
        (
            Class.MISSING,
            0.3,
            -7.2e-9,
            "The derivative is returned as almost zero: -7.2e-09 where 0.3 is right.",
        ),
        (Class.SPURIOUS, 0.0, 0.5, "The derivative is zero, and something else is returned."),
        (
            Class.SPURIOUS,
            1e-18,
            0.5,
            "The derivative is zero, or too small to tell from zero, and something else is returned.",
        ),
    ],
)
def test_the_words_say_no_more_than_the_numbers(kind: Class, expected: float, got: float, told: str) -> None:
    found = make_finding(kind=kind, clearest=finding_point(0.5, expected, got))
    assert words.verdict(found).startswith(f"{told} At the clearest point ")


def test_the_ratio_is_told_where_the_words_leave_it_open() -> None:
    def told(kind: Class, got: float) -> str:
        return words.verdict(make_finding(kind=kind, clearest=finding_point(0.5, -3.0, got)))

    assert told(Class.SIGN_FLIP, 3.25).endswith("; that is -1.083 times as much.")
    assert told(Class.RATIO_BLOWUP, 90.0).endswith("; that is -30 times as much.")
    assert told(Class.SIGN_FLIP, 0.06).endswith("; that is -0.02 times as much."), "an older store has these"
    assert "times as much" not in told(Class.SIGN_FLIP, 3.0)
    assert "times as much" not in told(Class.WRONG_VALUE, 0.75)


def test_the_script_is_shown_on_demand() -> None:
    assert "print('differs')" in printed(terminal.finding(make_finding(), show_script=True))


def test_scripts_are_written(tmp_path: Path) -> None:
    paths = scripts.write_scripts(
        [make_finding(), make_finding(id="GF-0000", script="")], tmp_path / "scripts"
    )
    assert {name: path.read_text() for name, path in paths.items()} == {"GF-7c1e": "print('differs')\n"}


# Sweep ------------------------------------------------------------------------------------------------------


def test_the_end_of_a_sweep() -> None:
    text = printed(terminal.sweep(FINISHED, {}))
    for part in (
        "1 finding in 250 programs, 2,800 checks, 12 s.",
        "Seed 7. Again: gradfuzz sweep engine jax mutant:nx-1747 --seed 7",
        "15  the point lies on a kink or tie",
        "Coverage: 2 of 3 triggers drawn; rarest zero trips (12), nested loops (40); never swapped carries.",
    ):
        assert part in text, part
    assert "crashed" not in text, "a column of zeros says nothing"


def test_an_incomplete_sweep_says_so() -> None:
    assert "Incomplete" in printed(terminal.sweep(dataclasses.replace(FINISHED, complete=False), {}))
    assert "Interrupted" in printed(
        terminal.sweep(dataclasses.replace(FINISHED, complete=False, interrupted=True), {})
    )
    assert "No findings" in printed(terminal.sweep(dataclasses.replace(FINISHED, findings=()), {}))


@pytest.mark.parametrize("width", [20, 40, 60])
def test_a_narrow_terminal_loses_no_figure(width: int) -> None:
    text = printed(terminal.sweep(FINISHED, {}), width=width)
    assert all(len(line) <= width for line in text.splitlines())
    assert "333,334×" in "".join(text.split()) or width < 40


def test_the_sweep_document() -> None:
    document = documents.sweep_document(FINISHED)
    first = "seed programs checks seconds rerun complete interrupted targets"
    assert list(document)[:8] == first.split()
    assert json.loads(documents.dumps(document)) == document
    targets = {target["name"]: target for target in document["targets"]}
    assert list(targets) == ["engine", "jax", "mutant:nx-1747"]
    both = {"version": "0.10.2", "checks": 800, "agree": 700, "disagree": 0, "unsupported": 94, "crashed": 0}
    assert both.items() <= targets["jax"].items()
    assert targets["jax"]["inconclusive"] == {Reason.KINK.value: 5, Reason.NOISE.value: 1}
    (finding,) = document["findings"]
    told = {"id": "GF-7c1e", "target": "mutant:nx-1747", "check": "vjp", "class": "ratio_blowup"}
    told |= {"family": "loops", "seen": 3, "script": "print('differs')\n"}
    assert told.items() <= finding.items()
    cause = {"mutant": "nx-1747", "likelihood": "certain", "summary": "adjoints swept in forward order"}
    assert finding["cause"] == {**cause, "reported": "Nx #1747", "also": []}
    assert finding["program"].startswith("def f(x):")
    point = {"inputs": 0.5, "expected": 0.75, "got": 1.3125, "ratio": 1.75}
    assert {name: finding["smallest"][name] for name in point} == {n: {"x": v} for n, v in point.items()}


def test_floats_that_json_cannot_carry_are_strings() -> None:
    odd = finding_point(-0.0, 0.0, float("nan"))
    document = json.loads(
        documents.dumps(
            documents.sweep_document(dataclasses.replace(FINISHED, findings=(make_finding(worst=odd),)))
        )
    )
    worst = document["findings"][0]["worst"]
    assert (worst["inputs"], worst["got"], worst["ratio"]) == ({"x": "-0.0"}, {"x": "NaN"}, {"x": None})


@pytest.mark.parametrize("width", [100, 60])
def test_what_people_see_at_the_end_of_a_sweep(width: int) -> None:
    shown = terminal.sweep(FINISHED, {"GF-7c1e": Path("GF-7c1e.py")})
    assert_kept(f"sweep_{width}", printed(shown, width))


# Check ------------------------------------------------------------------------------------------------------


def make_case(oracle: str, got: float, verdict: Verdict, kind: Class | None = None) -> CheckResult:
    point = Point({"x": scalar(0.5)})
    question = Question(PROGRAM, (point,), "float64", ("x",), ("rev",), (scalar(1.0),), {})
    truth = Truth("ok", (scalar(0.125),), (scalar(0.0),), {"x": scalar(0.75)}, {"x": scalar(1e-40)})
    answer = Answer("ok", (scalar(0.125),), {"x": scalar(got)})
    allowed = {"x": scalar(2e-16)}
    return CheckResult(
        oracle, question, point, truth, answer, verdict, kind, allowed=allowed, references=("arb", "mpmath")
    )


CASES = [
    ("for", make_case("engine", 0.75, Verdict.AGREE)),
    ("while", make_case("engine", 0.75, Verdict.AGREE)),
    ("for", make_case("mutant:nx-1747", 1.3125, Verdict.DISAGREE, Class.WRONG_VALUE)),
]


def test_the_check_document() -> None:
    document = documents.check_document(
        "def f(x): ...", CASES, {"engine": "0.1.0", "mutant:nx-1747": "0.1.0"}
    )
    (point,) = document["points"]
    assert point["inputs"] == {"x": 0.5}
    truth = {"value": 0.125, "gradient": {"x": 0.75}, "bound": {"x": 1e-40}, "references": ["arb", "mpmath"]}
    assert truth.items() <= point["truth"].items()
    assert [(a["oracle"], a["loop"], a["verdict"], a["class"], a["ratio"]) for a in point["answers"]] == [
        ("engine", "for", "agree", None, {"x": 1.0}),
        ("engine", "while", "agree", None, {"x": 1.0}),
        ("mutant:nx-1747", "for", "disagree", "wrong_value", {"x": 1.75}),
    ]
    answer = {"version": "0.1.0", "value": 0.125, "gradient": {"x": 1.3125}, "allowed": {"x": 2e-16}}
    assert {**answer, "reason": None}.items() <= point["answers"][2].items()


def test_the_check_table() -> None:
    text = printed(terminal.check("def f(x):\n    return x", CASES))
    assert "At x = 0.5" in text
    assert "say arb and mpmath" in text
    row = next(line for line in text.splitlines() if line.startswith("mutant:nx-1747"))
    assert " ".join(row.split()) == "mutant:nx-1747 for vjp x 0.75 ± 1e-40 1.3125 1.75× disagree wrong_value"


# Probe ------------------------------------------------------------------------------------------------------

CARD = ProbeReport(
    "mutant:nx-1747",
    "0.1.0",
    "loops",
    (
        ProbeTable(
            "Near zero",
            ("x", "expected", "got", "ratio", "label"),
            (
                (0.001, 3e-6, 1.000001, 1.000001 / 3e-6, Label.DIFFERS.value),
                (1.0, 3.0, 3.0, 1.0, Label.COINCIDENCE.value),
            ),
            ("Tried: 2 points.",),
        ),
    ),
    ("1 of 2 rows differ.",),
)


def test_a_report_card() -> None:
    text = printed(terminal.probe(CARD))
    assert "333,334×" in text
    assert "agrees by coincidence" in text
    assert "1 of 2 rows differ." in text


def test_the_probe_document() -> None:
    document = json.loads(documents.dumps(documents.probe_document(CARD)))
    assert (document["target"], document["suite"]) == ("mutant:nx-1747", "loops")
    (table,) = document["tables"]
    assert table["columns"] == ["x", "expected", "got", "ratio", "label"]
    assert table["rows"][1] == [1.0, 3.0, 3.0, 1.0, "agrees by coincidence"]


# While it runs ----------------------------------------------------------------------------------------------

EVENTS = (
    SweepStarted(7, (("engine", "0.1.0"),), ("loops",), 250, 60.0, "gradfuzz sweep engine --seed 7"),
    Progress(0.4, 16, 0, "drawing", "def f(x):\n    return x\n"),
    Progress(1.0, 32, 64, "judging engine", "def f(y):\n    return y\n", SUMMARIES),
    FindingFound(make_finding()),
    FindingFound(make_finding(seen=4)),
    Progress(3.0, 64, 128, "judging engine", "def f(z):\n    return z\n", SUMMARIES),
    Progress(9.0, 250, 2800, "judging engine", "", SUMMARIES),
    FINISHED,
)


def test_the_heartbeat() -> None:
    out = io.StringIO()
    with live.listener(Console(file=out, width=200)) as heard:
        for event in EVENTS:
            heard.handle(event)
    lines = out.getvalue().splitlines()
    assert (
        lines[0]
        == "Sweep of engine 0.1.0; loops; up to 250 programs, at most 60 s; seed 7. Ctrl-C stops it and keeps"
        " what was found."
    )
    assert sum("a program it drew" in line for line in lines) == 2, "two are worth reading, more are noise"
    assert sum(line.startswith("found GF-7c1e  for loop") for line in lines) == 1, (
        "a finding seen again is not news"
    )
    assert "   9 s  250 programs, 2,800 checks, 1 finding  judging engine" in lines
    assert not any(line.startswith("   3 s") for line in lines), "at most a line every few seconds"
    assert lines[-1].endswith(" s  writing scripts and reports")


def test_the_heartbeat_of_many_workers() -> None:
    out = io.StringIO()
    dashboard = "http://10.0.0.1:8787/status"
    event = Progress(100.0, 250, 2800, "judging", "", (), "", 16, 31, 42.0, dashboard)
    with live.listener(Console(file=out, width=400)) as heard:
        heard.handle(event)
    assert out.getvalue().splitlines() == [
        " 100 s  250 programs, 2,800 checks, 0 findings  2.5 programs/s, 28 checks/s, nothing new for 42 s"
        f"  16 workers, 31 at work  {dashboard}  judging"
    ]


def redrawn() -> tuple[Console, io.StringIO]:
    """A console that is redrawn, and what it was sent."""
    out = io.StringIO()
    shape = {"width": 100, "height": 40, "force_terminal": True, "color_system": None}
    return Console(file=out, _environ={"TERM": "xterm"}, **shape), out  # type: ignore[arg-type]


def test_writing_each_report_is_shown_until_it_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    files = [reporting.Output(name, tmp_path / name) for name in ("html", "json")]
    for console, out in (redrawn(), (Console(file=(lines := io.StringIO())), lines)):
        monkeypatch.setattr(reporting, "console", lambda _, console=console: console)
        assert reporting.report(FINISHED, None, "concise", files) == []
        shown = list(dict.fromkeys(re.findall(r"writing the (\w+) report", out.getvalue())))
        assert shown == (["html", "json"] if console.is_terminal else [])
    assert out.getvalue() == ""
    assert capsys.readouterr().err.count(" report is in ") == 4


def test_the_live_display() -> None:
    console, out = redrawn()
    with live.listener(console) as heard:
        assert isinstance(heard, live.Live)
        for event in EVENTS[:-1]:
            heard.handle(event)
        shown = printed(heard._display())
        heard.handle(EVENTS[-1])
    assert "starting" in out.getvalue()
    assert "writing scripts and reports" in out.getvalue()
    for part in ("jax", "latest program", "GF-7c1e", "250 programs, 2,800 checks, 1 finding"):
        assert part in shown, part


def test_a_dumb_terminal_gets_lines() -> None:
    console = Console(file=io.StringIO(), force_terminal=True, _environ={"TERM": "dumb"})
    with live.listener(console) as heard:
        assert isinstance(heard, live.Heartbeat)


@pytest.mark.parametrize("form", ["markdown", "github", "junit", "sarif", "html"])
def test_a_report_says_first_what_is_new(form: str) -> None:
    sweep = finished(2)
    text = FORMATS[form].render(sweep, Review(first_seen=((sweep.findings[0].id, "2026-02-01"),)))
    places = [text.rindex(part) for part in ("1 new, 1 known: 1 recorded before.", "2 wrong derivatives in")]
    assert places == sorted(places)
    if form == "markdown":
        assert text.startswith("# 1 new, 1 known")


@pytest.mark.parametrize(("form", "heading"), [("terminal", "one cause:"), ("html", 'id="causes"')])
def test_no_heading_of_causes_stands_above_nothing(form: str, heading: str) -> None:
    sweep = finished(3)
    one = Cluster("one rule", tuple(item.id for item in sweep.findings[:2]))
    for clusters in ((), (one,)):
        text = FORMATS[form].render(dataclasses.replace(sweep, clusters=clusters), None)
        assert (heading in text) == bool(clusters)


def test_what_is_new_comes_first_and_what_is_known_is_counted() -> None:
    data = [finding(k) for k in range(4)]
    det = dataclasses.replace(
        data[3], program=parse(DET), kind=Class.MISSING, target="torch:eager", modes=("rev",)
    )
    entry = BaselineEntry(data[0].id, signature_of(data[0]), data[0].target, "reported")
    seen = Review(known=(entry,), first_seen=((data[1].id, "2026-02-01"),))
    found = [*data[:3], det]
    assert news(found, seen) == "1 new, 3 known: 1 accepted, 1 recorded before, 1 reported."
    assert news(found, None) == news([], seen) == ""
    new, known = divided(found, seen)
    assert [one.id for one in new] == [data[2].id]
    assert {how: [one.id for one in some] for how, some in known.items()} == {
        "accepted": [data[0].id],
        "recorded before": [data[1].id],
        "reported": [det.id],
    }


def test_disagreements_that_were_not_followed_up_are_no_clean_end() -> None:
    end = finished(0)
    right = account.outcome(end)
    assert right.startswith("No findings in ")
    first, *others = end.summaries
    wrong = (dataclasses.replace(first, disagree=2), *(dataclasses.replace(o, disagree=0) for o in others))
    told = account.outcome(dataclasses.replace(end, summaries=wrong))
    assert told.startswith(
        "No findings yet, and 2 disagreements not followed up; the same command with --resume does that: "
    )
