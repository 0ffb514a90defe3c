"""What a newcomer types: times, lists, settings, names that are misspelt, files that cannot be written."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.shell_completion import BashComplete
from click.testing import CliRunner

from gradfuzz.cli import FINDINGS, INCOMPLETE, USAGE, main
from gradfuzz.fuzzer.results.events import SweepStarted
from gradfuzz.fuzzer.results.finding import Finding
from gradfuzz.fuzzer.results.records import from_document, load
from gradfuzz.fuzzer.store.runs import Store
from tests.shell import config_of, run

ROOT = Path(__file__).parents[3]
ONE = from_document(load(ROOT / "tests" / "data" / "finding.json"), Finding, "one")
WRONG = dataclasses.replace(ONE, id="GF-aaaa", signature="a" * 64)
OTHER = dataclasses.replace(ONE, id="GF-abbb", signature="b" * 64, target="engine")


pytestmark = pytest.mark.usefixtures("elsewhere")


# Times ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90", 90), ("90s", 90), ("0.5", 0.5), ("5m", 300), ("8h", 28800), ("1h30m", 5400), ("1d", 86400)],
)
def test_times_have_units(monkeypatch: pytest.MonkeyPatch, text: str, seconds: float) -> None:
    assert config_of(monkeypatch, "--max-time", text).max_time == seconds
    Path("pyproject.toml").write_text(f'[tool.gradfuzz]\nmax-time = "{text}"\n')
    assert config_of(monkeypatch).max_time == seconds


def test_a_time_in_the_file_may_be_a_number(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("pyproject.toml").write_text("[tool.gradfuzz]\nmax-time = 90\n")
    assert config_of(monkeypatch).max_time == 90


@pytest.mark.parametrize("text", ["8x", "h", "0", "-5m", "nan", "inf", "5m3h", ""])
def test_what_is_no_time(text: str) -> None:
    for command in (["sweep", "engine"], ["probe", "engine"], ["selftest"]):
        error = run(*command, "--max-time", text, exit_code=USAGE).stderr
        assert "is not a time above 0; write 90, 90s, 5m, 8h or 1h30m" in error


def test_the_limits_of_a_target_are_times(monkeypatch: pytest.MonkeyPatch) -> None:
    from gradfuzz.oracles.foreign import resource_limits

    found = []
    monkeypatch.setattr(
        "gradfuzz.fuzzer.sweep.programs.check", lambda _config: found.append(resource_limits.limits())
    )
    monkeypatch.setattr("gradfuzz.fuzzer.sweep.programs.workers_of", lambda _config: 1 / 0)
    CliRunner().invoke(main, ["sweep", "engine", "--target-seconds", "5m", "--target-start", "90s"])
    assert (found[0].request, found[0].start) == (300.0, 90.0)


# Lists ------------------------------------------------------------------------------------------------------


def test_a_repeated_list_adds_up(monkeypatch: pytest.MonkeyPatch) -> None:
    config = config_of(
        monkeypatch, "--family", "loops", "--family", "linalg,tensor", "--orders", "1", "--orders=2"
    )
    assert (config.families, config.orders) == (("loops", "linalg", "tensor"), (1, 2))
    config = config_of(monkeypatch, "--checks=vjp", "--checks=jvp", "--dtypes=float32", "--dtypes", "float32")
    assert (config.checks, config.precisions) == (("vjp", "jvp"), ("float32",))


def test_a_list_of_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("pyproject.toml").write_text('[tool.gradfuzz]\nfamily = ["loops", "linalg"]\norders = [1, 2]\n')
    config = config_of(monkeypatch)
    assert (config.families, config.orders) == (("loops", "linalg"), (1, 2))
    Path("pyproject.toml").write_text('[tool.gradfuzz]\nfamily = "loops,linalg"\norders = 2\n')
    config = config_of(monkeypatch)
    assert (config.families, config.orders) == (("loops", "linalg"), (2,))


def test_lists_of_check() -> None:
    """d2/dx2 of x**3 is 6 x."""
    asked = "check", "acc*x", "--at", "x=0.5", "--loop", "for"
    result = run(*asked, "--mode", "rev", "--mode", "rev", "--only", "engine,mutant:nx-1747", exit_code=1)
    assert "engine" in result.stdout
    assert "mutant:nx-1747" in result.stdout
    assert "reverse over reverse" in result.stdout
    named = run(
        "check", "acc*x + y*z", "--wrt", "x", "--wrt", "y", "--only", "engine", "--loop", "for"
    ).stdout
    (row, following) = [line.split() for line in named.splitlines() if " x  " in line or " y  " in line][:2]
    assert (row[3], following[0]) == ("x", "y")


def test_ops_of_a_probe_add_up() -> None:
    error = run(
        "probe", "engine", "--suite", "linalg", "--op", "det", "--op", "quine", exit_code=USAGE
    ).stderr
    assert "'quine'" in error


def test_reports_may_be_a_list() -> None:
    run("sweep", "engine", "--max-examples=1", "--no-store", "--report=junit,concise", "--report=json=x.json")
    assert {path.name for path in Path.cwd().iterdir()} == {
        "gradfuzz-junit.xml",
        "gradfuzz-findings.txt",
        "x.json",
    }


def test_reports_with_files_may_be_a_list() -> None:
    reports = "--report=json=a,b.json,concise=two.txt,github", "--report", "three.sarif,html=four.html"
    run("sweep", "engine", "--max-examples=1", "--no-store", *reports)
    assert {path.name for path in Path.cwd().iterdir()} == {
        *("a,b.json", "two.txt", "three.sarif"),
        "four.html",
    }


def commands(group: Any, name: str = "gradfuzz") -> Iterator[tuple[str, Any]]:
    for word in group.list_commands(None):
        command = group.get_command(None, word)
        yield f"{name} {word}", command
        if hasattr(command, "list_commands"):
            yield from commands(command, f"{name} {word}")


def test_no_list_forgets_what_was_said_before() -> None:
    """A flag whose value is a list by its name in the help may be repeated."""
    flags = [(name, flag) for name, command in commands(main) for flag in command.params if flag.metavar]
    lists = [(f"{name} {flag.opts[0]}", flag) for name, flag in flags if flag.metavar.endswith(",...")]
    assert [name for name, flag in lists if not (flag.multiple or flag.nargs == -1)] == []
    assert {"gradfuzz sweep --family", "gradfuzz findings --op", "gradfuzz probe --op"} <= dict(lists).keys()


def test_the_ending_of_a_file_says_the_format_of_a_report() -> None:
    reports = "--report=one.html", "--report=two.sarif,three.ndjson", "--report=jax==0.10.2.md"
    run("sweep", "engine", "--max-examples=1", "--no-store", *reports)
    assert Path("one.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    assert json.loads(Path("two.sarif").read_text(encoding="utf-8"))["version"] == "2.1.0"
    assert Path("three.ndjson").exists()
    assert Path("jax==0.10.2.md").exists()
    error = run("sweep", "engine", "--report", "report.txt", exit_code=USAGE).stderr
    assert "'report.txt' is not a format" in error


# Settings ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "[tool.gradfuzz]\nsed = 1",
            "[tool.gradfuzz] has the key 'sed', which is no flag; did you mean 'seed'",
        ),
        ("[tool.gradfuzz]\nmax_time = 1", "'max_time', which is no flag; did you mean 'max-time'"),
        ("[tool.gradfuzz.swep]\nseed = 1", "'swep', which is no command; did you mean 'sweep'?"),
        ("[tool.gradfuzz.sweep]\nsuite = 1", "[tool.gradfuzz.sweep] has the key 'suite', which is no flag"),
        ("[tool.gradfuzz]\nm = 'x'", "'m', which is no flag"),
        ("[tool]\ngradfuzz = 3", "tool.gradfuzz is 3; write a table"),
    ],
)
def test_a_setting_that_is_none_is_an_error(text: str, words: str) -> None:
    Path("pyproject.toml").write_text(f"{text}\n")
    error = run("sweep", "engine", exit_code=USAGE).stderr
    assert "pyproject.toml: " in error
    assert words in error
    assert len(error) < 250


def test_a_wrong_value_says_where_it_stands(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("pyproject.toml").write_text('[tool.gradfuzz]\nmax-time = "soon"\n')
    assert "set by [tool.gradfuzz] in pyproject.toml" in run("sweep", "engine", exit_code=USAGE).stderr
    Path("pyproject.toml").unlink()
    monkeypatch.setenv("GRADFUZZ_SEED", "x")
    assert "an environment variable" in run("sweep", "engine", exit_code=USAGE).stderr


# Names that are misspelt ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "nearest"),
    [
        (["check", "acc*flor(x)"], "the ops are floor, "),
        (["probe", "engine", "--suite", "tensor", "--op", "cumulative_su"], "the ops are cumulative_sum, "),
        (["sweep", "zzzzzz"], "the targets are "),
        (["targets", "install", "torc"], "the targets with environments are torch, "),
    ],
)
def test_a_long_list_of_names_is_cut_with_the_nearest_first(arguments: list[str], nearest: str) -> None:
    error = run(*arguments, exit_code=USAGE).stderr
    there = error[error.index(nearest) :]
    assert re.search(r" and \d+ more$", there.rstrip())
    assert there.count(", ") == 7


def test_a_short_list_keeps_its_order() -> None:
    error = run("sweep", "engine", "--dtypes", "float8", exit_code=USAGE).stderr
    assert error.endswith("known are float32, float64, bfloat16, float16\n")


# Completion -------------------------------------------------------------------------------------------------


def completed(*words: str) -> list[str]:
    """What the last word may be."""
    shell = BashComplete(main, {}, "gradfuzz", "_GRADFUZZ_COMPLETE")
    return [item.value for item in shell.get_completions(list(words[:-1]), words[-1])]


def test_the_shell_completes_targets_and_families() -> None:
    assert completed("sw") == ["sweep"]
    assert {"torch", "tensorflow"} <= set(completed("sweep", "t"))
    assert "mutant:nx-1747" not in completed("sweep", "")
    assert "mutant:nx-1747" in completed("sweep", "mutant:")
    assert completed("sweep", "engine", "--family", "lin") == ["linalg"]
    assert completed("sweep", "--family", "loops,lin") == ["loops,linalg"]
    assert completed("probe", "engine", "--suite", "tens") == ["tensor"]
    assert completed("check", "acc*x", "--only", "eng") == ["engine"]
    assert completed("selftest", "--mutant", "nx-1") == ["nx-1747"]


def test_the_shell_completes_ids_of_findings() -> None:
    assert completed("show", "") == []
    record(WRONG)
    assert completed("show", "") == completed("replay", "GF-") == completed("bisect", "GF-a") == ["GF-aaaa"]
    assert completed("show", "aa") == ["aaaa"]
    Path(".gradfuzz/store.sqlite").rename("other.sqlite")
    assert completed("show", "--store", "other.sqlite", "GF") == ["GF-aaaa"]
    Path("other.sqlite").write_text("no store")
    assert completed("show", "--store", "other.sqlite", "GF") == []


def test_completion_is_documented_as_it_works() -> None:
    text = (ROOT / "docs" / "commands.md").read_text()
    for shell in ("bash", "zsh", "fish"):
        assert f"_GRADFUZZ_COMPLETE={shell}_source gradfuzz" in text


# Without shrinking ------------------------------------------------------------------------------------------


def test_what_is_found_can_be_shown_as_it_was_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """The program of the finding is the one that the sweep drew, and is wrong about it."""
    asked = "sweep", "mutant:nx-1747", "--seed=1", "--max-examples=3", "--orders=1", "--checks=vjp"
    asked = *asked, "--dtypes=float64", "--no-store"
    document = json.loads(run(*asked, "--no-shrink", "--format=json", exit_code=FINDINGS).stdout)
    (found,) = document["findings"]
    assert found["program"] == found["original"]
    assert "Not shrunk." in found["note"]
    assert document["rerun"].endswith("--no-shrink")
    Path("pyproject.toml").write_text("[tool.gradfuzz]\nno-shrink = true\n")
    assert not config_of(monkeypatch).shrink


# Findings ---------------------------------------------------------------------------------------------------


def record(*findings: Finding) -> None:
    """A store with one run that has these findings."""
    started = SweepStarted(0, (("engine", "1"),), ("loops",), 1, None, "gradfuzz sweep engine")
    with Store(Path(".gradfuzz") / "store.sqlite", write=True) as store:
        number = store.begin(started, {})
        for finding in findings:
            store.found(number, finding)


def test_findings_lists_what_the_store_has() -> None:
    assert "there is no store" in run("findings", exit_code=INCOMPLETE).stderr
    record()
    assert "No finding is recorded." in run("findings").stderr
    record(WRONG, OTHER)
    lines = run("findings").stdout.splitlines()
    assert [line.split()[0] for line in lines if line.startswith("GF-")] == ["GF-aaaa", "GF-abbb"]
    assert "for loop, reverse mode: " in lines[2]
    assert "mutant:nx-1747" in lines[2]
    run("baseline", "add", "aaaa", "--reason", "reported")
    rows = json.loads(run("findings", "--format", "json").stdout)["findings"]
    assert [(row["id"], row["class"], row["state"], row["run"]) for row in rows] == [
        ("GF-aaaa", "sign_flip", "known", 2),
        ("GF-abbb", "sign_flip", "open", 2),
    ]


def test_findings_are_chosen_by_globs() -> None:
    record(WRONG, OTHER)
    assert "GF-aaaa" not in run("findings", "--target", "eng*").stdout
    assert "GF-abbb" in run("findings", "--class", "sign*", "--target", "eng*").stdout
    assert "No recorded finding fits." in run("findings", "--op", "conv*").stderr
    for both in (("--target", "eng*", "--target", "mutant*"), ("--target=eng*,mutant*",)):
        assert {"GF-aaaa", "GF-abbb"} <= set(run("findings", *both, "--class=sign*").stdout.split())
        assert "No recorded finding fits." in run("findings", *both, "--class", "spurious").stderr


# Files that cannot be written -------------------------------------------------------------------------------


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs /proc, where nobody can make a file")
@pytest.mark.parametrize("path", ["/proc/x.html", "x" * 300])
def test_a_report_that_cannot_be_written_is_noticed_before_the_sweep(
    monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    monkeypatch.setattr("gradfuzz.fuzzer.sweep.plans.sweep", lambda *_: 1 / 0)
    error = run("sweep", "engine", "--report", f"html={path}", exit_code=INCOMPLETE).stderr
    assert "cannot be written" in error
    assert not Path(".gradfuzz").exists()
    error = run("prove", "math:sin", "--html", path, exit_code=INCOMPLETE).stderr
    assert "--html: " in error
    Path("x.py").write_text("")
    assert "--output: " in run("record", "-o", path, "x.py", exit_code=INCOMPLETE).stderr


def test_the_look_at_a_file_leaves_it_as_it_was() -> None:
    Path("old.html").write_text("old")
    run("sweep", "engin", "--report", "html=old.html", "--report", "html=new.html", exit_code=USAGE)
    assert Path("old.html").read_text() == "old"
    assert not Path("new.html").exists()


# Scripts and reports of a finding ---------------------------------------------------------------------------


def test_show_prints_a_few_lines_and_what_the_tracker_wants() -> None:
    script = 'print("got     ", 0.25)\nprint("expected", 0.75)\n'
    record(dataclasses.replace(WRONG, target="torch:eager", ports={"short": script}))
    assert run("show", "aaaa", "--as", "short").stdout == script
    result = run("show", "aaaa", "--as", "issue")
    assert "### 🐛 Describe the bug" in result.stdout
    assert script in result.stdout
    assert "AI-assisted" in result.stderr, "what the tracker asks of people is no part of the text"
    assert "AI-assisted" not in result.stdout
