"""JUnit, SARIF, annotations, Markdown and issue texts: they parse, and what a consumer reads back is what was
meant.
"""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as Xml

import numpy as np
import pytest
import sarif_om
from markdown_it import MarkdownIt

from gradfuzz.fuzzer.results.call import Call
from gradfuzz.fuzzer.results.events import SweepFinished
from gradfuzz.fuzzer.results.evidence import Evidence
from gradfuzz.fuzzer.results.finding import Class, Finding
from gradfuzz.fuzzer.results.identity import signature
from gradfuzz.fuzzer.results.review import Review
from gradfuzz.programs.text.loop_body import loop_program
from gradfuzz.reports.common import plain
from gradfuzz.reports.machine import json as documents
from gradfuzz.reports.machine import junit, sarif
from gradfuzz.reports.markdown import github
from gradfuzz.reports.markdown import report as markdown
from gradfuzz.reports.markdown.issue import issue
from tests.published_schemas import faults
from tests.report_data import HOSTILE, LONG, evidence, finding, finished, review
from tests.web_page import Page

Case = tuple[SweepFinished, Review | None]

SWEEPS: dict[str, Case] = {
    "nothing": (finished(0), None),
    "findings": (finished(5), None),
    "reviewed": (finished(12), review(finished(12))),
    "interrupted": (finished(2, complete=False, interrupted=True), None),
    "hostile": (finished(2, hostile=True), review(finished(2), hostile=True)),
    "long": (finished([finding(0, note=LONG, script=LONG, target=LONG)]), None),
    "bare": (
        finished(
            [finding(0, evidence=None, ports={}, script="", cause=None, note="", signature="")],
            environment={},
        ),
        None,
    ),
}

SWEPT = pytest.mark.parametrize("case", SWEEPS.values(), ids=SWEEPS)


# JUnit ------------------------------------------------------------------------------------------------------


@SWEPT
def test_junit_parses_and_adds_up(case: Case) -> None:
    root = Xml.fromstring(junit.render(*case).encode("utf-8"))
    assert root.tag == "testsuites"
    for suite in root:
        cases = suite.findall("testcase")
        assert [suite.get(key) for key in ("tests", "failures", "errors", "skipped")] == [
            str(len(cases)),
            str(len(suite.findall("testcase/failure"))),
            "0",
            str(len(suite.findall("testcase/skipped"))),
        ]
        assert all(len([*c.findall("failure"), *c.findall("skipped")]) <= 1 for c in cases)
        assert {"seed", "rerun"} <= {p.get("name") for p in suite.findall("properties/property")}
    assert root.get("tests") == str(len(root.findall("testsuite/testcase")))
    known = len(case[1].known) if case[1] else 0
    assert len(root.findall("testsuite/testcase/failure")) == len(case[0].findings) - known


def test_junit_says_what_was_found() -> None:
    root = Xml.fromstring(junit.render(*SWEEPS["reviewed"]))
    suites = {suite.get("name"): suite for suite in root}
    passed = suites["engine loops"].findall("testcase")[0]
    assert (passed.get("name"), [child.tag for child in passed]) == ("checks that agree", ["system-out"])
    assert suites["jax:while_loop loops"].find("testcase[@name='unsupported']/skipped") is not None
    name = "GF-5fec for loop, reverse mode (float64)"
    known = suites["mutant:nx-1747 loops"].find(f"testcase[@name='{name}']/skipped")
    assert known is not None
    assert (
        known.get("message")
        == "known: reported, not yet released (https://github.com/elixir-nx/nx/issues/1747)"
    )
    failure = suites["torch:eager loops"].find("testcase/failure")
    assert failure is not None
    assert failure.get("type") == "sign_flip"
    assert str(failure.get("message")).startswith("sin, reverse mode: wrong sign")
    assert failure.text is not None
    item = finding(1)
    assert plain.program(item.program) in failure.text
    assert item.script in failure.text, "the script is there to be copied"
    assert suites["fixed"].get("failures") == "0"


def test_junit_gives_cases_the_same_names_in_every_run() -> None:
    def names(of: SweepFinished) -> list[tuple[str | None, str | None]]:
        cases = Xml.fromstring(junit.render(of, None)).iter("testcase")
        return [(case.get("classname"), case.get("name")) for case in cases]

    again = dataclasses.replace(
        finished(5), seed=8, seconds=99.0, findings=tuple(finding(k, seen=99) for k in range(5))
    )
    assert names(finished(5)) == names(again)
    assert len(set(names(again))) == len(names(again))


def test_junit_reads_back_what_was_meant() -> None:
    root = Xml.fromstring(junit.render(*SWEEPS["hostile"]))
    texts = [
        *(case.get("classname", "") for case in root.iter("testcase")),
        *(f.get("message", "") for f in root.iter("failure")),
    ]
    for text in texts:
        if "octocat" in text:
            assert plain.line(HOSTILE) in text


# SARIF ------------------------------------------------------------------------------------------------------

CHILDREN = {
    "runs": sarif_om.Run,
    "tool": sarif_om.Tool,
    "driver": sarif_om.ToolComponent,
    "rules": sarif_om.ReportingDescriptor,
    "shortDescription": sarif_om.MultiformatMessageString,
    "fullDescription": sarif_om.MultiformatMessageString,
    "help": sarif_om.MultiformatMessageString,
    "defaultConfiguration": sarif_om.ReportingConfiguration,
    "automationDetails": sarif_om.RunAutomationDetails,
    "description": sarif_om.Message,
    "invocations": sarif_om.Invocation,
    "toolExecutionNotifications": sarif_om.Notification,
    "toolConfigurationNotifications": sarif_om.Notification,
    "results": sarif_om.Result,
    "message": sarif_om.Message,
    "locations": sarif_om.Location,
    "physicalLocation": sarif_om.PhysicalLocation,
    "artifactLocation": sarif_om.ArtifactLocation,
    "region": sarif_om.Region,
    "logicalLocations": sarif_om.LogicalLocation,
    "suppressions": sarif_om.Suppression,
}
"""The objects of the format, as Microsoft's object model generates them from the published schema: which
properties there are, and which must be.
"""

RENAMED = {sarif_om.Suppression: {"status"}}
"""The model is older than the standard, which calls the state of a suppression its status (section
3.35.3).
"""

CHOICES = {
    "level": {"none", "note", "warning", "error"},
    "baselineState": {"new", "unchanged", "updated", "absent"},
    "status": {"accepted", "underReview", "rejected"},
    "columnKind": {"utf16CodeUnits", "unicodeCodePoints"},
}


def objects(document: Any, model: type) -> Iterator[tuple[dict[str, Any], type]]:
    """Every object of the log that is not a property bag, with its class."""
    yield document, model
    for name, value in document.items():
        if name in CHILDREN:
            for child in value if isinstance(value, list) else [value]:
                yield from objects(child, CHILDREN[name])


@SWEPT
def test_sarif_keeps_to_the_object_model(case: Case) -> None:
    text = sarif.render(*case)
    assert text.isascii()
    for made, model in objects(json.loads(text), sarif_om.SarifLog):
        fields = {field.metadata["schema_property_name"]: field for field in model.__attrs_attrs__}
        others = set(made) - set(fields) - RENAMED.get(model, set())
        assert not others, f"{model.__name__} has no {others}"
        required = {name for name, field in fields.items() if field.default.__class__.__name__ == "_Nothing"}
        assert required <= set(made), f"{model.__name__} lacks {required - set(made)}"
        for name, choices in CHOICES.items():
            assert made.get(name, next(iter(choices))) in choices


@SWEPT
def test_sarif_keeps_to_the_schema(case: Case) -> None:
    """Against the schema that OASIS publishes."""
    assert faults("sarif-2.1.0", json.loads(sarif.render(*case))) == []


def test_the_schema_finds_faults() -> None:
    document = json.loads(sarif.render(*SWEEPS["findings"]))
    document["runs"][0]["results"][0]["level"] = "fatal"
    del document["runs"][0]["results"][1]["message"]
    assert len(faults("sarif-2.1.0", document)) == 2


@SWEPT
def test_code_scanning_takes_it(case: Case) -> None:
    """What GitHub demands and limits beyond the schema: "SARIF support for code scanning" in its
    documentation.
    """
    (run,) = json.loads(sarif.render(*case))["runs"]
    rules = run["tool"]["driver"]["rules"]
    assert len({rule["id"] for rule in rules}) == len(rules)
    for rule in rules:
        assert all(0 < len(rule[key]["text"]) <= 1024 for key in ("shortDescription", "fullDescription"))
        assert len(rule["name"]) <= 255
        assert rule["help"]["text"]
        assert rule["properties"]["precision"] in ("very-high", "high", "medium", "low")
        assert rule["properties"]["problem.severity"] in ("error", "warning", "recommendation")
        assert len(rule["properties"]["tags"]) <= 10
    marks = set()
    for result in run["results"]:
        assert result["message"]["text"]
        (location,) = result["locations"]
        uri = location["physicalLocation"]["artifactLocation"]["uri"]
        assert re.fullmatch(r"(?!/)[\w./%~-]+", uri), "a path below the root of the repository"
        region = location["physicalLocation"]["region"]
        assert set(region) == {"startLine", "startColumn", "endLine", "endColumn"}
        assert all(number >= 1 for number in region.values())
        marks.add((result["ruleId"], uri, result["partialFingerprints"]["primaryLocationLineHash"]))
    absent = sum(result.get("baselineState") == "absent" for result in run["results"])
    assert len(marks) >= len(run["results"]) - absent, "each is an alert of its own"


def place_of(item: Finding) -> tuple[str, int]:
    (result,) = results((finished([item]), None))
    physical = result["locations"][0]["physicalLocation"]
    assert physical["artifactLocation"]["uriBaseId"] == "%SRCROOT%"
    return physical["artifactLocation"]["uri"], physical["region"]["startLine"]


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current directory, with an adapter and a package."""
    for name in ("tests/my adapter.py", "adapter", "src/mine/__init__.py", "other/losses.py"):
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("import jax\n\n\ndef loss(x):\n    return x\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("command", "path"),
    [
        ("python 'tests/my adapter.py'", "tests/my%20adapter.py"),
        ("python 'tests/my adapter.py' --fast#eager", "tests/my%20adapter.py"),
        ("./adapter", "adapter"),
        ("{here}/adapter", "adapter"),
        ("python tests/../adapter", "adapter"),
    ],
)
def test_a_finding_of_an_adapter_is_at_the_adapter(command: str, path: str, repository: Path) -> None:
    item = finding(0, target=f"cmd:{command.format(here=repository)}")
    assert place_of(item) == (path, 1)


@pytest.mark.parametrize(
    "target",
    [
        "jax:scan",
        "torch==2.13.0:eager",
        "mutant:nx-1747",
        "cmd:python -m my.adapter",
        "cmd:python tests/gone.py",
        "cmd:python 'tests/my adapter.py",
        "cmd:python /etc/passwd",
        "cmd:python ../outside.py",
        "cmd:python tests",
        "cmd:\0" + "x" * 5000,
    ],
)
def test_another_finding_is_at_its_script(target: str, repository: Path) -> None:
    """That a file of the repository is the one is never guessed."""
    (repository.parent / "outside.py").touch()
    item = finding(0, target=target)
    assert place_of(item) == (f".gradfuzz/scripts/{item.id}.py", 1)
    assert place_of(replace(item, script="")) == (".gradfuzz/store.sqlite", 1)


@pytest.mark.parametrize(
    ("function", "place"),
    [
        ("other.losses.loss", ("other/losses.py", 4)),
        ("mine.loss", ("src/mine/__init__.py", 4)),
        ("mine.made_elsewhere", ("src/mine/__init__.py", 1)),
        ("other.losses.Class.method", ("other/losses.py", 1)),
    ],
)
def test_a_finding_of_a_function_is_at_its_definition(
    function: str, place: tuple[str, int], repository: Path
) -> None:
    assert place_of(finding(0, target="mine", call=Call("jax", function, ()))) == place


def test_a_function_of_a_library_is_not_in_the_repository(repository: Path) -> None:
    item = finding(0, target="jax", call=Call("jax", "jax.nn.silu", ()))
    assert place_of(item) == (f".gradfuzz/scripts/{item.id}.py", 1)


def results(case: Case) -> list[dict[str, Any]]:
    (run,) = json.loads(sarif.render(*case))["runs"]
    for result in run["results"]:
        assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == result["ruleId"]
    return list(run["results"])


def test_sarif_results_have_their_baseline_state() -> None:
    told = results(SWEEPS["reviewed"])
    assert [r["baselineState"] for r in told] == [
        "unchanged",
        "unchanged",
        "unchanged",
        *["new"] * 9,
        "absent",
    ]
    assert [len(r["suppressions"]) for r in told] == [1, *[0] * 12]
    assert told[0]["suppressions"][0]["justification"] == "reported, not yet released"
    assert told[0]["workItemUris"] == ["https://github.com/elixir-nx/nx/issues/1747"]
    assert not any("baselineState" in r or "suppressions" in r for r in results(SWEEPS["findings"])), (
        "nobody knows"
    )
    assert told[10]["level"] == "warning", "a flaky one"


def test_sarif_says_how_it_ran() -> None:
    (run,) = json.loads(sarif.render(*SWEEPS["reviewed"]))["runs"]
    (invocation,) = run["invocations"]
    assert (invocation["startTimeUtc"], invocation["endTimeUtc"]) == (
        "2026-03-01T12:00:00Z",
        "2026-03-01T12:00:12Z",
    )
    assert invocation["commandLine"] == finished().rerun
    assert invocation["executionSuccessful"]
    assert len(invocation["toolConfigurationNotifications"]) == 2, "one has expired, one is stale"
    assert run["automationDetails"]["id"] == "gradfuzz/engine+jax+mutant:nx-1747+torch/seed-7"
    (stopped,) = json.loads(sarif.render(*SWEEPS["interrupted"]))["runs"]
    assert not stopped["invocations"][0]["executionSuccessful"]


def test_sarif_stays_small() -> None:
    """GitHub takes 10 MB: a thousand findings."""
    many = finished([finding(k % 12, id=f"GF-{k:04x}", signature=f"{k:064x}") for k in range(100)])
    assert len(sarif.render(many, None)) < 100 * 10_000


def test_fingerprints_are_those_of_the_bug() -> None:
    """One system wrong from one cause is one bug, whatever the programs, points and versions; others are
    others.
    """
    first = dataclasses.replace(finding(0), target="jax:scan", cause=None)
    again = dataclasses.replace(
        first, version="9.9", seen=99, smallest=first.worst, program=loop_program("acc*y", trips=3)
    )
    other_program = dataclasses.replace(first, program=loop_program("sin(acc) + x", trips=3))
    other_library = dataclasses.replace(first, target="torch:eager")
    signed = [
        dataclasses.replace(item, signature=signature(item))
        for item in (first, again, other_program, other_library)
    ]
    prints = [
        result["partialFingerprints"]["gradfuzzSignature/v2"] for result in results((finished(signed), None))
    ]
    assert prints[0] == prints[1]
    assert len(set(prints)) == 3
    assert all(re.fullmatch("[0-9a-f]{64}", text) for text in prints)
    bare = results(SWEEPS["bare"])[0]["partialFingerprints"]
    assert bare["gradfuzzSignature/v2"] == signature(finding(0)), "computed where it was not recorded"


def test_sarif_messages_read_as_they_were_meant() -> None:
    for result in results(SWEEPS["hostile"]):
        text = result["message"]["text"]
        assert "](" not in text, "that would be a link"
        read = text.replace("{{", "{").replace("}}", "}")
        assert plain.line(HOSTILE).replace("](", "] (") in read


# GitHub -----------------------------------------------------------------------------------------------------


def commands(text: str) -> list[tuple[str, str, str]]:
    """(level, title, message) of each line, unescaped as GitHub's runner does it."""
    told = []
    for line in text.splitlines():
        match = re.fullmatch(r"::(error|warning|notice) title=([^:,]*)::(.*)", line)
        assert match is not None, line
        level, name, message = match.groups()
        for code, character in (("%3A", ":"), ("%2C", ","), ("%0D", "\r"), ("%0A", "\n"), ("%25", "%")):
            name = name.replace(code, character)
            message = message.replace(code, character) if code not in ("%3A", "%2C") else message
        told.append((level, name, message))
    return told


@SWEPT
def test_annotations_are_a_line_each(case: Case) -> None:
    told = commands(github.render(*case))
    shown = min(len(case[0].findings), 9)
    assert len(told) == shown + 1
    named = {plain.line(item.id).split()[0] for item in case[0].findings}
    assert len({name for _, name, _ in told[:-1]} & {name for _, name, _ in told}) == shown
    assert all(name.split()[0] in named for _, name, _ in told[:-1])


def test_annotations_are_ten_at_most_and_the_rest_is_summed_up() -> None:
    """GitHub shows ten of a step. What the baseline accepts gives way to what it does not."""
    told = commands(github.render(finished(12), None))
    assert [name.split()[0] for _, name, _ in told[:-1]] == [item.id for item in finished(12).findings[:9]]
    assert told[-1][2].startswith("3 more findings have no annotation: ")
    assert "more findings" not in commands(github.render(finished(9), None))[-1][2]
    known = finished(12).findings[0]
    accepted = commands(github.render(*SWEEPS["reviewed"]))
    assert not any(name.startswith(known.id) for _, name, _ in accepted)


def test_annotations_read_as_they_were_meant() -> None:
    told = commands(github.render(*SWEEPS["hostile"]))
    assert plain.line(HOSTILE) in told[0][1]
    assert plain.line(HOSTILE) in told[0][2]
    levels = [level for level, _, _ in commands(github.render(*SWEEPS["reviewed"]))]
    assert levels == [*["error"] * 9, "notice"], "the findings, and the sweep itself"
    few = finished(finished(12).findings[9:] + finished(12).findings[:1])
    assert [level for level, _, _ in commands(github.render(few, SWEEPS["reviewed"][1]))] == [
        *("error", "warning", "error"),
        *("notice", "notice"),
    ], "a flaky one is a warning, a known one a notice and last; then the sweep"


def test_the_summary_of_a_step_is_appended(tmp_path: Path) -> None:
    file = tmp_path / "summary.md"
    file.write_text("before\n", encoding="utf-8")
    assert github.write_step_summary(*SWEEPS["reviewed"], environ={"GITHUB_STEP_SUMMARY": str(file)}) == file
    assert file.read_text(encoding="utf-8") == "before\n" + github.step_summary(*SWEEPS["reviewed"])
    assert github.write_step_summary(*SWEEPS["reviewed"], environ={}) is None


def test_the_summary_of_a_step_stays_within_what_github_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    assert github._LARGEST_SUMMARY < 1024 * 1024
    monkeypatch.setattr(github, "_LARGEST_SUMMARY", 2_000)
    text = github.step_summary(*SWEEPS["reviewed"])
    assert len(text.encode()) < 2_100
    assert text.endswith("Cut off: the whole report has more.\n")


# Markdown ---------------------------------------------------------------------------------------------------

READER = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])


OURS = {
    *("h1", "h2", "h3", "h4", "p", "a", "ul", "li", "pre", "code", "strong", "details", "summary"),
    *("table", "thead", "tbody", "tr", "th", "td"),
}
ATTRIBUTES = {("a", "href"), ("code", "class"), ("th", "style"), ("td", "style")}


@SWEPT
def test_markdown_is_ours_alone(case: Case) -> None:
    for text in (
        markdown.render(*case),
        github.step_summary(*case),
        *(issue(item) for item in case[0].findings[:2]),
    ):
        page = Page(READER.render(text))
        assert {tag for tag, _ in page.elements} <= OURS
        assert {(tag, name) for tag, known in page.elements for name in known} <= ATTRIBUTES
        allowed = "#", "https://github.com/elixir-nx/nx/issues/1747"
        assert all(link.startswith(allowed) for link in page.values("href"))
        words = [
            child.content
            for token in READER.parse(text)
            for child in token.children or ()
            if child.type != "code_inline"
        ]
        assert not any(re.search(r"[@#]\w", content) for content in words), (
            "nobody is mentioned, and no other issue"
        )
        assert all(c == "\n" or c.isprintable() for c in text)


@SWEPT
def test_tables_in_markdown_keep_their_columns(case: Case) -> None:
    tokens = READER.parse(markdown.render(*case))
    columns, cells = 0, 0
    for token in tokens:
        if token.type == "thead_open":
            columns = 0
        elif token.type == "th_open":
            columns += 1
        elif token.type == "tr_open":
            cells = 0
        elif token.type == "td_open":
            cells += 1
        elif token.type == "tr_close" and cells:
            assert cells == columns
    rows = sum(token.type == "th_open" and token.content == "" for token in tokens)
    assert rows or not case[0].summaries


def test_the_links_of_the_report_lead_to_its_articles() -> None:
    text = markdown.render(*SWEEPS["findings"])
    headings = {f"#{line[3:].lower()}" for line in text.splitlines() if line.startswith("## ")}
    assert set(re.findall(r"\]\((#[^)]*)\)", text)) <= headings


def test_scripts_can_be_copied_out_of_markdown() -> None:
    fences = {
        token.content for token in READER.parse(markdown.render(*SWEEPS["findings"])) if token.type == "fence"
    }
    for item in SWEEPS["findings"][0].findings:
        assert {item.script, *item.ports.values()} <= fences


# Issues -----------------------------------------------------------------------------------------------------


def test_an_issue_has_what_a_maintainer_needs() -> None:
    text = issue(finding(0), {"python": "3.11.9", "started": "2026-03-01T12:00:00Z"})
    assert "2026" not in text, "when it was is no version"
    sections = [line for line in text.splitlines() if line.startswith("#") and not line.startswith("###")]
    assert sections == [
        "# for loop, reverse mode: wrong by a factor of 333,334 (mutant:nx-1747 0.1.0, float64)",
        "## Description",
        "## Minimal reproducer",
        "## Expected and actual",
        "## Characterization",
        "## Additional properties",
        "## Versions",
        "## How this was judged",
    ]
    for row in (
        "| clearest | `x = 0.001` | `x` | 3e-06 ± 1e-22 | 1.000001 | 333,334× | 2e+21× |",
        "| `acc / x` | x = 0.5, 3 trips | -48 ± 1e-22 | -84 | 1.75× | **differs** |",
        "| `acc * (x - 2)` | x = 0.5, 2 trips | -3 ± 1e-22 | 3.25 | -1.083× | **differs**, other sign |",
        "- order: `second` differs (expected 3, got 1.5); `third` agrees by coincidence",
        "- python `3.11.9`",
    ):
        assert row in text.splitlines(), row


@pytest.mark.parametrize("kind", list(Class))
def test_every_class_makes_an_issue(kind: Class) -> None:
    text = issue(finding(0, kind=kind, evidence=None))
    assert text.startswith("# for loop, ")
    derivative_only = "The value of the function is right there" in text
    assert derivative_only == (kind.of_numbers and kind is not Class.WRONG_PRIMAL)


def test_an_issue_fits_into_one() -> None:
    text = issue(finding(0, script="print(1)\n" * 10_000))
    assert len(text) < 65_536
    assert "gradfuzz show GF-5fec --as native" in text
    everything = Evidence(variants=evidence().variants * 500)
    text = issue(finding(0, note=LONG, evidence=everything))
    assert len(text) < 65_536
    assert text.endswith("Cut off: the text is too long for an issue.\n")


# JSON -------------------------------------------------------------------------------------------------------


def test_json_escapes_what_cannot_be_seen() -> None:
    document = {"text": HOSTILE, "number": 1.0}
    text = documents.dumps(document)
    assert json.loads(text) == document
    assert all(character == "\n" or character.isprintable() for character in text)
    text.encode("utf-8")


def test_documents_hold_arrays(seed: int) -> None:
    rng = np.random.default_rng(seed)
    value = rng.standard_normal((2, 3))
    told = results((finished([finding(4, directions={"A": value})]), None))
    assert told[0]["properties"]["directions"]["A"] == value.tolist()


def test_a_complex_answer_is_told_in_parts() -> None:
    """A library may return complex numbers where the derivative is real, NaN among them."""
    found = finding(4)
    odd = replace(found, smallest=replace(found.smallest, got={"x": np.asarray(complex("nan+2j"))}))
    document = json.loads(documents.render(finished([odd]), None))
    assert document["findings"][0]["smallest"]["got"] == {"x": {"real": "NaN", "imag": 2.0}}
