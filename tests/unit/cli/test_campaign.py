"""The commands on what is recorded: replay, show, diff, baseline, report; what a sweep keeps, and what it
says where it cannot.
"""

from __future__ import annotations

import dataclasses
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from gradfuzz.cli import CLEAN, FINDINGS, INCOMPLETE, INTERRUPTED, USAGE
from gradfuzz.errors import StoreError
from gradfuzz.fuzzer.results.events import Event, FindingFound, SweepFinished, SweepStarted, TargetSummary
from gradfuzz.fuzzer.results.finding import Class, Finding
from gradfuzz.fuzzer.results.records import from_document, load, to_document
from gradfuzz.fuzzer.store.runs import Store
from gradfuzz.reports.formats import FORMATS
from tests.shell import run

ROOT = Path(__file__).parents[3]
ONE = from_document(load(ROOT / "tests" / "data" / "finding.json"), Finding, "one")
WRONG = dataclasses.replace(
    ONE, id="GF-aaaa", signature="a" * 64, script="print('native')\n", ports={"nx": "IO.puts 1"}
)
RIGHT = dataclasses.replace(ONE, id="GF-abbb", signature="b" * 64, target="engine")
RERUN = "gradfuzz sweep mutant:nx-1747 engine --seed 0 --max-examples 16"
TARGETS = (("mutant:nx-1747", "0.1.0"), ("engine", "0.1.0"))
STARTED = SweepStarted(0, TARGETS, ("loops",), 16, None, RERUN)
STORE = Path(".gradfuzz") / "store.sqlite"


pytestmark = pytest.mark.usefixtures("elsewhere")


def finished(*findings: Finding, interrupted: bool = False) -> SweepFinished:
    summaries = tuple(TargetSummary(name, version, "loops") for name, version in TARGETS)
    return SweepFinished(0, 1.0, 16, 100, summaries, findings, not interrupted, interrupted, RERUN)


def sweep(monkeypatch: pytest.MonkeyPatch, *findings: Finding, interrupted: bool = False) -> None:
    """A sweep that finds these."""
    events: list[Event] = [
        STARTED,
        *map(FindingFound, findings),
        finished(*findings, interrupted=interrupted),
    ]
    monkeypatch.setattr("gradfuzz.fuzzer.sweep.plans.sweep", lambda config, memo: iter(events))


@pytest.fixture
def _recorded(elsewhere: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run 1 has both findings."""
    sweep(monkeypatch, WRONG, RIGHT)
    run("sweep", "engine", exit_code=FINDINGS)


recorded = pytest.mark.usefixtures("_recorded")

# Replay -----------------------------------------------------------------------------------------------------


@recorded
def test_all_that_is_recorded_is_replayed() -> None:
    lines = run("replay", exit_code=FINDINGS).stdout.splitlines()
    assert [line.split()[:3] for line in lines] == [
        ["FAILED", "GF-aaaa", "mutant:nx-1747"],
        ["FIXED", "GF-abbb", "engine"],
    ]


@recorded
def test_exit_codes_of_replay() -> None:
    run("replay", "abbb", exit_code=CLEAN)
    run("replay", "GF-aaaa", "GF-abbb", exit_code=FINDINGS)
    Path("gone.json").write_text(json.dumps(to_document(dataclasses.replace(ONE, target="mutant:nowhere"))))
    assert run("replay", "gone.json", exit_code=INCOMPLETE).stdout.startswith(
        "ERROR  GF-7c1e mutant:nowhere vjp: unknown target"
    )
    document = json.loads(run("replay", "abbb", "gone.json", "--format", "json", exit_code=INCOMPLETE).stdout)
    assert [row["status"] for row in document["replayed"]] == ["FIXED", "ERROR"]
    assert (document["fixed"], document["failed"], document["error"]) == (1, 0, 1)


def test_nothing_to_replay() -> None:
    assert "there is no store" in run("replay", exit_code=INCOMPLETE).stderr
    Store(STORE, write=True).close()
    assert "No finding is recorded." in run("replay").stderr


def test_a_finding_of_schema_1_replays_from_its_file() -> None:
    assert run("replay", str(ROOT / "tests" / "data" / "finding.json"), exit_code=FINDINGS).stdout.startswith(
        "FAILED GF-7c1e"
    )


# Show -------------------------------------------------------------------------------------------------------


@recorded
def test_a_finding_is_shown_and_exported() -> None:
    assert "GF-aaaa" in run("show", "aaa").stdout
    exported = run("show", "aaa", "--format", "json").stdout
    assert exported == run("show", "aaa", "--as", "json").stdout
    assert from_document(json.loads(exported), Finding, "it").id == "GF-aaaa"
    Path("one.json").write_text(exported)
    run("replay", "one.json", exit_code=FINDINGS)


@recorded
def test_a_finding_is_shown_on_a_page_and_in_full() -> None:
    page, full = run("show", "aaaa").stdout, run("show", "aaaa", "--full").stdout
    assert "gradfuzz show GF-aaaa --full" in page
    assert "gradfuzz show" not in full


@recorded
def test_the_scripts_of_a_finding() -> None:
    assert (
        run("show", "aaaa", "--as", "native").stdout
        == run("show", "aaaa", "--as", "python").stdout
        == "print('native')\n"
    )
    assert run("show", "aaaa", "--as", "nx").stdout == "IO.puts 1\n"
    assert (
        "has no swift script; it has native, nx, python"
        in run("show", "aaaa", "--as", "swift", exit_code=USAGE).stderr
    )
    assert "sign" in run("show", "aaaa", "--as", "issue").stdout


@recorded
def test_an_id_that_is_unknown_or_not_enough() -> None:
    assert "may be GF-aaaa, GF-abbb" in run("show", "a", exit_code=USAGE).stderr
    assert "the nearest are GF-abbb" in run("show", "GF-abcb", exit_code=USAGE).stderr


# Diff -------------------------------------------------------------------------------------------------------


@recorded
def test_two_runs_side_by_side(monkeypatch: pytest.MonkeyPatch) -> None:
    sweep(monkeypatch, RIGHT)
    run("sweep", "engine", "--report", "json=two.json", exit_code=FINDINGS)
    assert run("diff", "1", "2").stdout.splitlines()[:2] == ["new: 0", "changed: 0"]
    assert "GF-aaaa" in run("diff", "2", "1", exit_code=FINDINGS).stdout
    document = json.loads(run("diff", "two.json", "1", "--format", "json", exit_code=FINDINGS).stdout)
    assert document == {
        "new": ["GF-aaaa"],
        "changed": [],
        "gone": [],
        "still": ["GF-abbb"],
        "incomplete": [],
    }
    assert "there is no run 7; its runs are 1 to 2" in run("diff", "1", "7", exit_code=USAGE).stderr
    assert "'one' is neither the number of a run" in run("diff", "one", "2", exit_code=USAGE).stderr


@recorded
def test_diff_says_what_is_incomplete_and_what_has_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    factor = dataclasses.replace(WRONG, kind=Class.WRONG_VALUE)
    sweep(monkeypatch, factor, RIGHT, interrupted=True)
    streams = "--report=json=two.json", "--report=ndjson=two.ndjson"
    run("sweep", "engine", *streams, exit_code=INTERRUPTED)
    for second in ("2", "two.json", "two.ndjson"):
        lines = run("diff", "1", second).stdout.splitlines()
        name = "run 2" if second == "2" else second
        assert lines[0] == f"{name} is incomplete: a finding that it lacks may not have been looked for"
        assert lines[1:3] == ["new: 0", "changed: 1"]
        assert lines[3].startswith("  GF-aaaa for loop, reverse mode: ")
        assert lines[3].endswith("(was sign_flip)")
        assert lines[4:6] == ["gone: 0", "still there: 1"]
    document = json.loads(run("diff", "2", "1", "--format", "json").stdout)
    assert (document["changed"], document["incomplete"]) == (["GF-aaaa"], ["2"])


# Baseline ---------------------------------------------------------------------------------------------------


@recorded
def test_what_is_accepted_is_no_reason_for_exit_code_1(monkeypatch: pytest.MonkeyPatch) -> None:
    told = "--reason", "reported", "--link", "https://example.org/1", "--expires", "2099-01-01"
    run("baseline", "add", "aaaa", *told)
    assert (
        run("baseline").stdout
        == "GF-aaaa mutant:nx-1747: reported; https://example.org/1; until 2099-01-01\n"
    )
    (entry,) = json.loads(run("baseline", "list", "--format", "json").stdout)["baseline"]
    assert entry["reason"] == "reported"
    sweep(monkeypatch, WRONG)
    document = json.loads(run("sweep", "engine", "--format", "json", exit_code=CLEAN).stdout)
    assert [e["id"] for e in document["review"]["known"]] == ["GF-aaaa"]
    assert [f["id"] for f in document["review"]["fixed"]] == ["GF-abbb"], (
        "recorded before, and the engine is right"
    )
    assert [f["id"] for f in document["findings"]] == ["GF-aaaa"], "it is shown all the same"
    run("baseline", "remove", "aaaa")
    assert run("baseline").stdout == ""
    run("sweep", "engine", exit_code=FINDINGS)


@recorded
def test_an_accepted_finding_that_is_fixed_is_stale(monkeypatch: pytest.MonkeyPatch) -> None:
    run("baseline", "add", "abbb", "--reason", "reported")
    sweep(monkeypatch)
    assert "GF-abbb" in run("sweep", "engine", exit_code=CLEAN).stdout


@recorded
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["add"], "needs the id of a finding"),
        (["add", "aaaa"], "needs a reason"),
        (
            ["add", "aaaa", "--reason", "r", "--expires", "soon"],
            "'soon' is not a date; write it as 2027-03-01",
        ),
        (["add", "aaaa", "--reason", "r", "--expires", "2020-01-01"], "is over"),
        (["remove", "aaaa"], "no finding 'aaaa' is in gradfuzz-baseline.json"),
        (["add", "--op", "solve"], "needs a reason"),
        (["add", "--op", "solv", "--reason", "r"], "no op fits 'solv', so the rule accepts nothing"),
        (["add", "--class", "wrong", "--reason", "r"], "no class fits 'wrong'"),
        (["add", "--op", "sin", "--reason", "r", "--expires", "2020-01-01"], "is over"),
        (["remove", "--op", "sin"], "no rule accepts op sin; the rules are: it has none"),
        (["add", "--op", "torch.digamma", "--reason", "r"], "--function torch.digamma is for a library's"),
        (["add", "--cause", "*SoftmaxBackward0", "--reason", "r"], "no recorded finding has the cause"),
        (["add", "--function", "torch.digama", "--reason", "r"], "no recorded finding has the function"),
        (["add", "--report", "pytorch#1", "--reason", "r"], "no report fits 'pytorch#1'"),
        (["add", "GF-*", "--reason", "r"], "accepts every finding that ever comes; --all"),
        (["add", "aaaa", "--op", "sin", "--reason", "r"], "ids and a rule cannot be given together"),
        (["add", "--all", "--op", "sin", "--reason", "r"], "no finding is recorded"),
        (["remove", "--all"], "delete gradfuzz-baseline.json"),
    ],
)
def test_bad_entries(arguments: list[str], words: str) -> None:
    assert words in run("baseline", *arguments, exit_code=USAGE).stderr


@recorded
@pytest.mark.parametrize("named", [["aaaa", "abbb"], ["--all"], ["--all", "--target", "*"]])
def test_several_findings_are_accepted_at_once(named: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    assert "2 findings are accepted" in run("baseline", "add", *named, "--reason", "reported").stderr
    sweep(monkeypatch, WRONG)
    run("sweep", "engine", exit_code=CLEAN)
    removed = run("baseline", "remove", "aaaa", "abbb").stderr
    assert removed.count("no longer accepted") == 2
    assert run("baseline").stdout == ""


NEW = dataclasses.replace(WRONG, id="GF-accc", signature="c" * 64)


@recorded
def test_a_second_night_says_what_is_new_and_counts_the_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    sweep(monkeypatch, WRONG, RIGHT, NEW)
    before = run("sweep", "engine", "--seed", "2", "--no-store", exit_code=FINDINGS).stdout
    assert before.startswith("3 new, 0 known")
    told = run("sweep", "engine", "--seed", "2", exit_code=FINDINGS).stdout
    assert told.startswith("1 new, 2 known: 2 recorded before.")
    run("baseline", "add", "--all", "--reason", "of the first nights")
    told = run("sweep", "engine", "--seed", "3", exit_code=CLEAN).stdout
    assert told.startswith("0 new, 3 known: 3 accepted.")


@recorded
def test_all_leaves_the_reasons_that_are_given_as_they_are() -> None:
    run("baseline", "add", "aaaa", "--reason", "mine", "--link", "https://example.org/1")
    assert "GF-abbb is accepted" in run("baseline", "add", "--all", "--reason", "all others").stderr
    assert {line.partition(": ")[2] for line in run("baseline").stdout.splitlines()} == {
        "mine; https://example.org/1",
        "all others",
    }


@recorded
def test_a_rule_accepts_what_fits_its_globs(monkeypatch: pytest.MonkeyPatch) -> None:
    globs = "--target", "mutant:*", "--cause", "nx-1747"
    assert "Accepted in" in run("baseline", "add", *globs, "--reason", "reported").stderr
    run("baseline", "add", "b*", "--op", "solve", "--reason", "later", "--expires", "2099-01-01")
    lines = [
        "target mutant:*, cause nx-1747: reported",
        "id GF-b*, op solve: later; until 2099-01-01",
    ]
    assert run("baseline").stdout.splitlines() == lines
    document = json.loads(run("baseline", "list", "--format", "json").stdout)
    assert [rule["accept"] for rule in document["rules"]] == [
        {"target": "mutant:*", "cause": "nx-1747"},
        {"id": "GF-b*", "op": "solve"},
    ]
    sweep(monkeypatch, WRONG, RIGHT)
    document = json.loads(run("sweep", "engine", "--format", "json", exit_code=FINDINGS).stdout)
    assert [(e["id"], e["reason"]) for e in document["review"]["known"]] == [("GF-aaaa", "reported")]
    sweep(monkeypatch, WRONG)
    run("sweep", "engine", exit_code=CLEAN)
    run("baseline", "remove", *globs)
    run("sweep", "engine", exit_code=FINDINGS)
    run("baseline", "remove", "b*", "--op", "solve")
    assert run("baseline").stdout == ""


def test_a_baseline_that_is_none_stops_a_sweep_before_it_begins() -> None:
    Path("gradfuzz-baseline.json").write_text("{")
    assert "gradfuzz-baseline.json: not JSON at line 1" in run("sweep", "engine", exit_code=USAGE).stderr
    assert not STORE.exists()


# Reports ----------------------------------------------------------------------------------------------------


@recorded
def test_any_report_can_be_made_again(monkeypatch: pytest.MonkeyPatch) -> None:
    sweep(monkeypatch, WRONG)
    formats = [name for name in FORMATS if FORMATS[name].file]
    at_once = [f"--report={name}=first-{name}" for name in formats]
    text = run("sweep", "engine", *at_once, exit_code=FINDINGS).stdout
    again = [f"--report={name}=again-{name}" for name in formats]
    from_stream = [f"--report={name}=stream-{name}" for name in formats]
    # A sweep says where its scripts are, which a report of later knows nothing of.
    assert run("report", *again).stdout == re.sub(r"; scripts are in\s\S+\.\n", ".\n", text)
    run("report", "2", "--format", "concise")
    run("report", str(STORE), "--format", "concise")
    run("report", "./first-ndjson", *from_stream)
    for name in formats:
        first = Path(f"first-{name}").read_text()
        assert first, name
        if name == "ndjson":
            first = "".join(first.splitlines(keepends=True)[1:])  # the start is said by the sweep alone
        assert Path(f"again-{name}").read_text() == first, name
        assert Path(f"stream-{name}").read_text() == first, name


@recorded
def test_reports_have_names_of_their_own() -> None:
    result = run("report", *(f"--report={name}" for name in FORMATS if FORMATS[name].file))
    names = {row.file for row in FORMATS.values() if row.file}
    assert names <= {path.name for path in Path.cwd().iterdir()}
    assert all(name in result.stderr for name in names)


@recorded
def test_annotations_go_to_stdout_and_the_summary_to_the_step(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", "summary.md")
    assert "::error" in run("report", "--format", "concise", "--report", "github").stdout
    assert "GF-aaaa" in Path("summary.md").read_text()


def test_annotations_are_ten_at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    """GitHub shows ten; the last one sums up the others."""
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", "summary.md")
    many = [replace_id(WRONG, f"{k:x}") for k in range(12)]
    sweep(monkeypatch, *many)
    said = run("sweep", "engine", "--format", "concise", "--report", "github", exit_code=FINDINGS).stdout
    told = [line for line in said.splitlines() if line.startswith("::")]
    assert len(told) == 10
    assert "3 more findings have no annotation" in told[-1]
    summary = Path("summary.md").read_text()
    assert all(one.id in summary for one in many)


def replace_id(finding: Finding, digit: str) -> Finding:
    return dataclasses.replace(finding, id=f"GF-{digit * 4}", signature=digit * 64)


@recorded
def test_a_report_is_of_one_sweep() -> None:
    error = run("report", "1", "2.ndjson", exit_code=USAGE).stderr
    assert "a report is of one sweep, and here are 1 and 2.ndjson" in error
    run("report", "--report", "ndjson=one.ndjson", "--format", "concise")
    text = Path("one.ndjson").read_text()
    start = json.dumps(to_document(STARTED)) + "\n"
    Path("both.ndjson").write_text(start + text + start + text)
    error = run("report", "both.ndjson", exit_code=USAGE).stderr
    assert (
        f"line {len(text.splitlines()) + 2}: a second sweep starts here, and a report is of one sweep"
        in error
    )


def test_a_killed_sweep_reports_what_was_known_of_it() -> None:
    with Store(STORE, write=True) as store:
        store.found(store.begin(STARTED, {}), WRONG)
    document = json.loads(run("report", "--format", "json").stdout)
    assert [f["id"] for f in document["findings"]] == ["GF-aaaa"]
    assert (document["complete"], document["rerun"]) == (False, RERUN)


def test_nothing_to_report() -> None:
    assert "there is no store" in run("report", exit_code=INCOMPLETE).stderr
    Store(STORE, write=True).close()
    assert "has no run yet" in run("report", exit_code=USAGE).stderr


# What a sweep keeps -----------------------------------------------------------------------------------------


@recorded
def test_a_sweep_tells_its_number_and_keeps_scripts_beside_the_store() -> None:
    assert Path(".gradfuzz/scripts/GF-aaaa.py").read_text() == WRONG.script
    assert Path(".gradfuzz/.gitignore").read_text() == "*\n"
    assert "run 2 of .gradfuzz/store.sqlite" in run("sweep", "engine", exit_code=FINDINGS).stderr


def test_nothing_is_kept_where_nothing_shall_be(monkeypatch: pytest.MonkeyPatch) -> None:
    sweep(monkeypatch, WRONG)
    run("sweep", "engine", "--no-store", exit_code=FINDINGS)
    assert list(Path.cwd().iterdir()) == []
    assert "--no-store leaves out" in run("sweep", "engine", "--no-store", "--resume", exit_code=USAGE).stderr


def test_a_store_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    sweep(monkeypatch, WRONG)
    run("sweep", "engine", "--store", "my/store.db", exit_code=FINDINGS)
    run("replay", "--store", "my/store.db", exit_code=FINDINGS)
    assert not Path(".gradfuzz").exists()


def test_the_settings_file_knows_flags_and_commands_of_one_name(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("pyproject.toml").write_text(
        '[tool.gradfuzz]\nstore = "mine.sqlite"\nreport = ["concise=out.txt"]\n[tool.gradfuzz.replay]\nformat'
        ' = "json"\n'
    )
    sweep(monkeypatch, WRONG)
    run("sweep", "engine", exit_code=FINDINGS)
    assert "GF-aaaa" in Path("out.txt").read_text()
    assert json.loads(run("replay", exit_code=FINDINGS).stdout)["failed"] == 1


def test_resume_finds_no_sweep() -> None:
    Path("events.ndjson").write_text("of an earlier sweep")
    arguments = ("sweep", "engine", "--resume", "--report", "ndjson=events.ndjson")
    assert "there is nothing to resume" in run(*arguments, exit_code=USAGE).stderr
    assert Path("events.ndjson").read_text() == "of an earlier sweep"


def test_an_interrupted_sweep_can_be_resumed_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    sweep(monkeypatch, WRONG, interrupted=True)
    assert "--resume continues it" in run("sweep", "engine", exit_code=INTERRUPTED).stderr
    assert "--resume continues run 1" in run("sweep", "engine", exit_code=INTERRUPTED).stderr
    sweep(monkeypatch, WRONG)
    assert "run 2 of" in run("sweep", "engine", "--resume", exit_code=FINDINGS).stderr


# What cannot be written -------------------------------------------------------------------------------------


def test_a_store_that_cannot_be_opened_is_exit_code_3() -> None:
    Path("file").touch()
    result = run("sweep", "engine", "--store", "file/store.sqlite", exit_code=INCOMPLETE)
    assert "Error: file/store.sqlite: " in result.stderr
    assert not result.stdout


def test_a_full_disk_is_told_in_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    sweep(monkeypatch, WRONG)
    begin = Store.begin

    def almost_full(store: Store, *given: Any) -> int:
        number = begin(store, *given)
        pages = store._database.rows("PRAGMA page_count")[0][0]
        store._database.execute(f"PRAGMA max_page_count = {pages}")
        return number

    monkeypatch.setattr(Store, "begin", almost_full)
    big = dataclasses.replace(WRONG, note="long " * 20_000)
    sweep(monkeypatch, big)
    result = run("sweep", "engine", exit_code=INCOMPLETE)
    assert "no space left" in result.stderr
    assert "GF-aaaa" not in result.output, "it was not kept, so it is not said"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("report", ["html", "json", "ndjson"])
def test_a_report_that_finds_no_space(monkeypatch: pytest.MonkeyPatch, report: str) -> None:
    sweep(monkeypatch, WRONG)
    result = run("sweep", "engine", "--report", f"{report}=/dev/full", exit_code=INCOMPLETE)
    assert "/dev/full: the report cannot be written: No space left on device" in result.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_an_output_that_finds_no_space() -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "gradfuzz", "targets"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )
    assert done.returncode == INCOMPLETE, done.stderr
    assert "Traceback" not in done.stderr
    assert "No space left on device" in done.stderr


def test_scripts_that_cannot_be_written(monkeypatch: pytest.MonkeyPatch) -> None:
    sweep(monkeypatch, WRONG)
    Path(".gradfuzz").mkdir()
    Path(".gradfuzz/scripts").touch()
    result = run("sweep", "engine", exit_code=INCOMPLETE)
    assert "the scripts cannot be written" in result.stderr


def test_every_error_of_the_store_is_exit_code_3(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> Any:
        raise StoreError("never")

    monkeypatch.setattr("gradfuzz.fuzzer.store.runs.Store.__init__", refuse)
    for command in (["sweep", "engine"], ["replay"], ["show", "a"], ["diff", "1", "2"], ["report"]):
        run(*command, exit_code=INCOMPLETE)
