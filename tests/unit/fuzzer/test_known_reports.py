"""A finding says which known report it fits, in every report; what differs from the report does not."""

from __future__ import annotations

import io
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from packaging.specifiers import SpecifierSet

from gradfuzz.adapters.shipped import ADAPTERS
from gradfuzz.fuzzer.results.call import Argument, Call
from gradfuzz.fuzzer.results.finding import Class, Finding
from gradfuzz.fuzzer.results.known_reports import KNOWN_REPORTS, TRACKERS, KnownReport, reports_of
from gradfuzz.fuzzer.results.records import from_document, to_document
from gradfuzz.fuzzer.results.trigger import FORMS
from gradfuzz.oracles.libraries import LIBRARIES
from gradfuzz.programs.language.ops import OPS
from gradfuzz.programs.text.parse import parse
from gradfuzz.reports.common.pieces import console, show
from gradfuzz.reports.formats import FORMATS
from gradfuzz.reports.markdown.issue import issue
from gradfuzz.reports.terminal.block import finding as block
from gradfuzz.reports.terminal.concise import line
from tests.report_data import finding, finished, review

TROPHIES = Path(__file__).parents[3] / "docs" / "trophies"
"""A page for each system, by the name of its target."""

OUTSIDE = {"pytorch#197867", "pytorch#90065", "pytorch#160513", "HIPS/autograd#384"}
"""Reports that no finding can be told to fit: about custom functions, whatever they compute; about Python
floats in forward mode, whatever function meets them; and about `broadcast_to`, of which autograd itself says
that it has no such rule.
"""


# The table --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("row", KNOWN_REPORTS, ids=lambda row: row.name)
def test_a_row_names_what_there_is(row: KnownReport) -> None:
    assert row.system in {*ADAPTERS, *LIBRARIES}
    assert {*row.ops, *row.beside} <= set(OPS)
    assert set(row.loops) <= set(FORMS.values())
    assert row.ops or row.loops or row.functions or row.rules or row.says, "it would claim nothing"
    assert not (row.real or row.functions) or not (row.ops or row.loops), "calls are no programs"
    assert row.classes
    assert all(set(modes) <= {"rev", "fwd"} for modes in row.modes)
    assert bool(row.says) <= (Class.ERROR in row.classes), "only an error says something"
    assert re.fullmatch(r"(>=|==)[\d.]+", str(SpecifierSet(row.versions)))
    re.compile(row.text)


@pytest.mark.parametrize("row", KNOWN_REPORTS, ids=lambda row: row.name)
def test_a_link_leads_to_the_tracker(row: KnownReport) -> None:
    tracker, number = re.fullmatch(r"([\w/]+)#(\d+)", row.name).groups()  # type: ignore[union-attr]
    assert row.link == f"https://github.com/{TRACKERS[tracker]}/issues/{number}"
    assert re.fullmatch(r"[\w-]+/[\w-]+", TRACKERS[tracker])


def told() -> set[tuple[str, str, str]]:
    """(system, version, report) of the pages. What follows a semicolon is no report of the bug."""
    found = set()
    for page in TROPHIES.glob("*.md"):
        heading, text = page.read_text(encoding="utf-8").split("\n", 1)
        for sentence in re.findall(r"\bReported\b[^:]*: (.*?)[.;](?:\s|$)", " ".join(text.split())):
            tracker = ""
            for named, number in re.findall(r"([\w/]*)#(\d+)", sentence):
                tracker = named or tracker
                found.add((page.stem, heading.rsplit(" ", 1)[1], f"{tracker}#{number}"))
    return found


def test_the_table_has_the_reports_of_the_trophies() -> None:
    reports = {(system, name) for system, _, name in told()}
    rows = {(row.system, row.name) for row in KNOWN_REPORTS}
    assert len(rows) == len(KNOWN_REPORTS)
    assert {name for _, name in reports - rows} == OUTSIDE
    assert rows - reports == set()


def test_the_version_of_a_trophy_has_the_bug() -> None:
    versions = {(system, name): version for system, version, name in told()}
    for row in KNOWN_REPORTS:
        assert versions[row.system, row.name] in SpecifierSet(row.versions), row.name


# Fitting ----------------------------------------------------------------------------------------------------


def made(
    text: str, target: str, version: str, kind: Class, modes: str, at: Any = 0.5, **more: Any
) -> Finding:
    """A finding about a program; all its inputs are `at`."""
    program = parse(text)
    base = finding(with_evidence=False)
    inputs = {p.name: np.full(p.type.sizes, at) for p in program.params}
    smallest = replace(base.smallest, inputs=inputs)
    about = {"program": program, "original": program, "smallest": smallest, "cause": None, "note": ""}
    asked = {"target": target, "version": version, "kind": kind, "modes": tuple(modes.split())}
    return replace(base, **{**about, **asked, **more})


def singular(**changes: Any) -> Finding:
    text = 'def f(A: "float[2, 2]"):\n    return det(A)\n'
    return replace(made(text, "torch:eager", "2.13.0+cpu", Class.MISSING, "rev"), **changes)


def names(of: Finding) -> list[str]:
    return [report.name for report in reports_of(of)]


def program(text: str) -> dict[str, Any]:
    return {"program": parse(text)}


IN_A_LOOP = (
    'def f(A: "float[2, 2]"):\n    y = 0.0\n    for k in range(2):\n        y = det(A)\n    return y\n'
)


def test_the_gradient_of_det_at_a_singular_matrix() -> None:
    assert names(singular()) == ["pytorch#104675"]
    assert names(singular(version="2.14.0.dev20260401")) == ["pytorch#104675"]


@pytest.mark.parametrize(
    "changes",
    [
        {"target": "jax:scan", "version": "2.13.0"},
        {"target": "mutant:nx-1747"},
        {"target": "cmd:torch"},
        {"version": "2.6.0"},
        {"version": "unknown"},
        {"modes": ("rev", "rev")},
        {"kind": Class.SIGN_FLIP},
        program('def f(A: "float[2, 2]"):\n    return trace(A)\n'),
        program('def f(A: "float[2, 2]"):\n    return det(inv(A))\n'),
        program(IN_A_LOOP),
    ],
    ids=["system", "mutant", "command", "version", "no version", "modes", "class", "op", "beside", "loop"],
)
def test_what_differs_may_be_another_bug(changes: dict[str, Any]) -> None:
    assert names(singular(**changes)) == []


def looped(trips: int, skip: str = "") -> str:
    return f"def f(x):\n    y = 1.0\n    for k in range({trips}):\n{skip}        y = y * x\n    return y\n"


SKIP = "        if k == 1:\n            continue\n"
DET = 'def f(A: "float[4, 4]"):\n    return det(A)\n'
EIGH = 'def f(A: "float[2, 2]"):\n    w, v = eigh(A)\n    return v\n'
TRIANGULAR = 'def f(A: "float[1, 1]", b: "float[1]"):\n    return triangular_solve(A, b{})\n'


@pytest.mark.parametrize(
    ("report", "fitting", "changes"),
    [
        (
            "pytorch#162350",
            made(
                *("def f(x):\n    return softmax(x)\n", "torch:eager", "2.13.0", Class.ERROR, "fwd rev"),
                note="RuntimeError: one of the variables has been modified by an inplace operation.",
            ),
            {"note": "RuntimeError: derivative not implemented."},
        ),
        (
            "swift#78264",
            made(
                "def f(x):\n    y = x\n    while True:\n        y = sin(y) * x\n        if not y > 1.0:\n"
                "            break\n    return y\n",
                *("swift==6.2.3:inout", "6.2.3", Class.RATIO_BLOWUP, "rev"),
            ),
            program("def f(x):\n    y = x\n    while y > 1.0:\n        y = sin(y) * x\n    return y\n"),
        ),
        (
            "jax#2821",
            made(DET, "jax:scan", "0.10.2", Class.NON_FINITE, "rev rev"),
            program(DET.replace("4", "3")),
        ),
        (
            "jax#40141",
            made(EIGH, "jax:scan", "0.10.2", Class.NON_FINITE, "rev", 2.0**25),
            {"smallest": finding().smallest},
        ),
        (
            "jax#40628",
            made("def f(x):\n    return i0(x)\n", "jax:scan", "0.10.2", Class.SPURIOUS, "rev", 0.0),
            {"version": "0.10.3"},
        ),
        (
            "tensorflow#127753",
            made(
                *("def f(x):\n    y = x * x\n    return y * x\n", "tensorflow:eager", "2.21.0"),
                *(Class.WRONG_VALUE, "fwd fwd"),
            ),
            {"target": "tensorflow:function"},
        ),
        (
            "Paddle#57863",
            made(TRIANGULAR.format(""), "paddle:dygraph", "3.3.1", Class.WRONG_VALUE, "rev"),
            program(TRIANGULAR.format(", unit_diagonal=True")),
        ),
        (
            "mlx#3047",
            made("def f(x):\n    return erf(x)\n", "mlx:eager", "0.32.4", Class.WRONG_PRIMAL, "rev"),
            {"precision": "float32"},
        ),
        (
            "warp#1552",
            made(looped(3, SKIP), "warp:kernel", "1.19.0", Class.MISSING, "rev"),
            program(looped(3)),
        ),
        (
            "taichi#8027",
            made(looped(33), "taichi:kernel", "1.7.4", Class.ERROR, "rev", note="SIGSEGV: the process died."),
            program(looped(30)),
        ),
    ],
    ids=lambda part: part if isinstance(part, str) else "",
)
def test_each_condition_of_a_row_decides(report: str, fitting: Finding, changes: dict[str, Any]) -> None:
    assert report in names(fitting)
    assert report not in names(replace(fitting, **changes))


# Calls ------------------------------------------------------------------------------------------------------


def called(function: str, kind: Class, modes: str, **more: Any) -> Finding:
    """A finding about a call of a function of one array of two numbers."""
    call = Call("torch", function, (Argument(array=np.array([1.0, 2.0])),))
    base = finding(with_evidence=False)
    about = {"target": "torch", "version": "2.13.0+cpu", "kind": kind, "modes": tuple(modes.split())}
    return replace(base, **{**about, "call": call, "code": f"y = {function}(x0)", "note": "", **more})


COMPLEX = Call("torch", "torch.logcumsumexp", (Argument(array=np.array([1.0 + 2.0j])),))


@pytest.mark.parametrize(
    ("report", "fitting", "changes"),
    [
        (
            "pytorch#196700",
            called("torch.layer_norm", Class.WRONG_VALUE, "fwd rev", rules=("NativeLayerNormBackward0",)),
            {"rules": ("NativeGroupNormBackward0",)},
        ),
        (
            "pytorch#196705",
            called("torch.logcumsumexp", Class.PRECISION, "fwd", rules=("LogcumsumexpBackward0",)),
            {"call": COMPLEX},
        ),
        (
            "pytorch#110009",
            called("torch.linalg.pinv", Class.WRONG_VALUE, "rev", code="y = torch.linalg.pinv(x0, rtol=0.5)"),
            {"code": "y = torch.linalg.pinv(x0)"},
        ),
        (
            "HIPS/autograd#810",
            called(
                *("autograd.numpy.mean", Class.WRONG_VALUE, "rev"),
                target="autograd",
                version="1.9.1",
                code="y = np.mean(x0, where=mask)",
            ),
            {"code": "y = np.mean(x0)"},
        ),
        (
            "pytorch#60197",
            called("torch.vander", Class.ERROR, "rev", note="one has been modified by an inplace operation"),
            {"call": Call("torch", "torch.linalg.vander", ())},
        ),
        (
            "pytorch#173946",
            called("torch.lstm", Class.ERROR, "", note="the process ends: segmentation fault"),
            {"note": "the process ends: no answer within 60 s"},
        ),
    ],
    ids=lambda part: part if isinstance(part, str) else "",
)
def test_a_finding_of_a_call_says_its_report(report: str, fitting: Finding, changes: dict[str, Any]) -> None:
    assert names(fitting) == [report]
    assert names(replace(fitting, **changes)) == []


def test_a_row_of_functions_is_about_no_program() -> None:
    text = "def f(x):\n    return x * x\n"
    program = made(text, "torch:eager", "2.13.0", Class.ERROR, "rev", note="modified by an inplace operation")
    assert names(program) == []


# Reports ----------------------------------------------------------------------------------------------------


LINK = "https://github.com/pytorch/pytorch/issues/104675"


@pytest.mark.parametrize("form", sorted({*FORMATS} - {"ndjson"}))
@pytest.mark.parametrize("reviewed", [False, True])
def test_every_report_says_it(form: str, reviewed: bool) -> None:
    other = singular(version="2.6.0")
    shown = [
        FORMATS[form].render(sweep, review(sweep) if reviewed else None)
        for sweep in (finished([singular()]), finished([other]))
    ]
    assert LINK in shown[0]
    assert LINK not in shown[1]


def test_a_finding_alone_says_it() -> None:
    out = io.StringIO()
    show(console(out, width=200), block(singular()))
    assert f"Reported as pytorch#104675 ({LINK}): the gradient is 0" in out.getvalue()
    assert line(singular()).endswith(f"; reported as pytorch#104675 ({LINK})")
    assert f"Reported as [`pytorch#104675`](<{LINK}>): the gradient is 0" in issue(singular())


def test_a_shown_record_is_read_without_it() -> None:
    document = {**to_document(singular()), "reported": [LINK]}
    assert names(from_document(document, Finding, "here")) == ["pytorch#104675"]
