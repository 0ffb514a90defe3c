"""The GitHub Action, run step by step in a shell: by itself, and as the documents use it."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml

from gradfuzz.reports.machine import sarif
from gradfuzz.version import __version__
from tests.docs_code import blocks, pages
from tests.github_actions import ROOT, Job, Runner
from tests.report_data import finished, review

OPTIONS = "--max-examples 64\n--orders 1\n--dtypes float64\n--jobs 1\n--seed 3"
TARGETS = "engine\nmutant:nx-1747"

SWEEP = "Sweep, or merge the parts"
KEEP_PART, KEEP = "Keep the part", "Keep the reports"
CHOOSE, SEND, COMMENT = "Choose the alerts", "Send the alerts to code scanning", "Comment on the pull request"
SAY = "Say how it ended"


def action() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
    return found


def script(path: Path, text: str) -> None:
    path.write_text(f"#!/bin/bash\n{text}\n", encoding="utf-8")
    path.chmod(0o755)


@pytest.fixture
def runner(tmp_path: Path) -> Runner:
    """A machine with this gradfuzz. Its pip installs nothing, its gh sends nothing: both write down their
    words, each in a line.
    """
    programs = tmp_path / "programs"
    programs.mkdir()
    python = shlex.quote(sys.executable)
    noted = f"printf '%s\\n' \"$@\" >> {tmp_path}"
    script(programs / "gradfuzz", f'exec {python} -m gradfuzz "$@"')
    script(programs / "python", f'if [ "$2" = pip ]; then {noted}/pip; else exec {python} "$@"; fi')
    script(programs / "gh", f"{noted}/gh; exit ${{REFUSES:-0}}")
    machine = tmp_path / "machine"
    machine.mkdir()
    return Runner(machine, programs, variables={"PYTHONPATH": str(ROOT)})


def ending_with(code: int, runner: Runner, reports: str = "") -> Runner:
    """Instead of gradfuzz a program that writes its words to `words`, the reports, and ends with the code."""
    copied = f'cp {reports}/"${{word%%=*}}" "${{word#*=}}"' if reports else ":"
    writes = f"for word; do case $word in *=gradfuzz*) {copied} ;; esac; done"
    text = f"printf '%s\\n' \"$@\" > words\n{writes}\nexit {code}"
    script(runner.programs / "gradfuzz", text)
    return runner


@pytest.fixture
def reports(tmp_path: Path) -> str:
    """The reports of a sweep with 12 findings, one of them accepted, and one that is mended."""
    folder = tmp_path / "reports"
    folder.mkdir()
    found = finished(12)
    (folder / "sarif").write_text(sarif.render(found, review(found)), encoding="utf-8")
    (folder / "markdown").write_text("# Sweep\n\n## GF-1\n\n## GF-2\n", encoding="utf-8")
    for name in ("html", "junit", "ndjson"):
        (folder / name).touch()
    return str(folder)


def words(runner: Runner) -> list[str]:
    """What gradfuzz was started with."""
    return (runner.folder / "job" / "words").read_text(encoding="utf-8").splitlines()


def test_every_input_is_described_and_used() -> None:
    text = (ROOT / "action.yml").read_text(encoding="utf-8")
    for name, row in action()["inputs"].items():
        assert row["description"]
        assert f"inputs.{name}" in text, name
    for step in action()["runs"]["steps"]:
        assert "${{" not in step.get("run", ""), "what users write never becomes a part of a script"


# How inputs become words ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("targets", "expected"),
    [
        ("cmd:python tests/my_adapter.py", ["cmd:python tests/my_adapter.py"]),
        ("engine\njax\n", ["engine", "jax"]),
        ("\n\n  engine\t\n\n\tjax  \n", ["engine", "jax"]),
        ("cmd:python 'my adapter.py'  --fast\ntorch", ["cmd:python 'my adapter.py'  --fast", "torch"]),
        ('cmd:a $HOME `id` $(id) \\ " * ; & | > x', ['cmd:a $HOME `id` $(id) \\ " * ; & | > x']),
        ("torch>=2.6, <3", ["torch>=2.6, <3"]),
        ("", []),
    ],
)
def test_a_target_is_a_line(targets: str, expected: list[str], runner: Runner) -> None:
    ending_with(0, runner).action({"targets": targets})
    assert words(runner)[: 1 + len(expected)] == ["sweep", *expected]
    assert words(runner)[1 + len(expected)] == "--report"


def test_an_option_is_a_line_with_its_value(runner: Runner) -> None:
    options = "--seed 7\n--max-examples=20\n\n--no-shrink\n  --calls  my calls*.jsonl  \n"
    ending_with(0, runner).action({"targets": "engine", "options": options})
    expected = ["--seed", "7", "--max-examples=20", "--no-shrink", "--calls", "my calls*.jsonl"]
    assert words(runner)[: 2 + len(expected)] == ["sweep", "engine", *expected]


@pytest.mark.parametrize(
    ("requirements", "expected"),
    [
        ("", []),
        (".[dev]\ntorch==2.13.0\n", [".[dev]", "torch==2.13.0"]),
        ("torch >=2.6, <3\n-r my requirements.txt", ["torch >=2.6, <3", "-r", "my requirements.txt"]),
    ],
)
def test_a_requirement_is_a_line(requirements: str, expected: list[str], runner: Runner) -> None:
    ending_with(0, runner).action({"requirements": requirements})
    asked = (runner.folder.parent / "pip").read_text(encoding="utf-8").splitlines()
    assert asked == ["-m", "pip", "install", "--quiet", *expected, str(ROOT)]


# What is kept, and how it ends ------------------------------------------------------------------------------


@pytest.mark.parametrize("code", [0, 1, 3, 4, 130])
def test_reports_are_kept_and_sent_whatever_the_code(code: int, runner: Runner, reports: str) -> None:
    runner.event = "pull_request"
    job = ending_with(code, runner, reports).action({"targets": "engine", "comment": "true"})
    assert job.taken() == ["Install gradfuzz", SWEEP, KEEP, CHOOSE, SEND, COMMENT, SAY]
    kept = ["gradfuzz.html", "gradfuzz.md", "gradfuzz.sarif", "gradfuzz.xml"]
    assert runner.artifacts() == {"gradfuzz-sweep": kept}
    assert (job.step(SAY).code, job.succeeded) == (code, code == 0)
    asked = (runner.folder.parent / "gh").read_text(encoding="utf-8").splitlines()
    assert asked[:3] == ["pr", "comment", "https://github.test/pull/1"]


@pytest.mark.parametrize("code", [2, 127])
def test_without_reports_the_code_is_said(code: int, runner: Runner, reports: str) -> None:
    """Nor are those of an earlier sweep of the job taken for its own."""
    runner.event = "pull_request"
    runner.checkout = Path(reports).parent / "checkout"
    runner.checkout.mkdir()
    for name in ("gradfuzz.sarif", "gradfuzz.md"):
        (runner.checkout / name).write_text("{}", encoding="utf-8")
    step = {"uses": "./", "with": {"targets": "nobody", "comment": True}}
    job = ending_with(code, runner).job([{"uses": "actions/checkout@v5"}, step], {})
    assert job.taken()[2:] == [SWEEP, KEEP, SAY]
    assert (job.step(SAY).code, job.succeeded, runner.artifacts()) == (code, False, {})


@pytest.mark.parametrize("failing", [(SEND,), (KEEP,), (KEEP, SEND)])
@pytest.mark.parametrize("code", [0, 1])
def test_what_cannot_be_sent_loses_nothing_else(
    failing: tuple[str, ...], code: int, runner: Runner, reports: str
) -> None:
    """An artifact that cannot be kept fails the job; alerts and a comment, as from a fork, do not."""
    runner.event, runner.failing = "pull_request", failing
    runner.variables = {**runner.variables, "REFUSES": "1"}
    job = ending_with(code, runner, reports).action({"targets": "engine", "comment": "true"})
    assert job.taken()[2:] == [KEEP, CHOOSE, SEND, COMMENT, SAY]
    assert job.step(COMMENT).outcome == "failure"
    assert job.step(SAY).code == code
    assert job.succeeded == (code == 0 and KEEP not in failing)


def test_a_job_that_is_cancelled_keeps_its_reports(runner: Runner, reports: str) -> None:
    """As one that takes too long: what was found so far closes no alert."""
    runner.event, runner.cancelled_in = "pull_request", SWEEP
    job = ending_with(130, runner, reports).action({"targets": "engine", "comment": "true"})
    assert job.taken() == ["Install gradfuzz", SWEEP, KEEP, SAY]
    assert len(runner.artifacts()["gradfuzz-sweep"]) == 4


def test_where_nothing_can_be_installed(runner: Runner) -> None:
    script(runner.programs / "python", "exit 1")
    job = runner.action({"targets": "engine"})
    assert (job.taken(), job.succeeded) == (["Install gradfuzz", KEEP], False)


@pytest.mark.parametrize(("code", "succeeds"), [(0, True), (1, True), (4, True), (2, False), (3, False)])
def test_a_part_is_kept_and_fails_where_it_cannot_be_merged(
    code: int, succeeds: bool, runner: Runner, reports: str
) -> None:
    job = ending_with(code, runner, reports).action({"targets": "engine", "shard": "2/4", "name": "jax"})
    assert job.taken() == ["Install gradfuzz", SWEEP, KEEP_PART, SAY]
    assert runner.artifacts() == {"gradfuzz-jax-part-2": ["gradfuzz-part-2.ndjson"]}
    assert job.succeeded == succeeds


def test_code_scanning_gets_what_is_open(runner: Runner, reports: str) -> None:
    """GitHub knows no suppressions and no baseline states. The analysis is named after the sweep."""
    job = ending_with(1, runner, reports).action({"targets": "engine", "name": "engine"})
    assert job.step(SEND).given == {"sarif_file": "gradfuzz-alerts.sarif"}
    sent, whole = (
        json.loads((runner.folder / "job" / name).read_text(encoding="utf-8"))["runs"][0]
        for name in ("gradfuzz-alerts.sarif", "gradfuzz.sarif")
    )
    assert len(whole["results"]) == 13
    assert sent["results"] == whole["results"][1:12], "the first is accepted, the last is mended"
    assert sent["automationDetails"]["id"] == "gradfuzz/engine/"


def test_neither_alerts_nor_comments_unless_asked_for(runner: Runner, reports: str) -> None:
    job = ending_with(1, runner, reports).action({"targets": "engine", "sarif": "false", "comment": "true"})
    assert job.taken()[2:] == [KEEP, SAY], "a push has no pull request to comment on"


def test_a_comment_fits(runner: Runner, reports: str) -> None:
    runner.event = "pull_request"
    article = "\n\n## GF-{}\n\n" + "```python\nprint('é')\n```\n" * 1000
    text = "# Sweep" + "".join(article.format(k) for k in range(5))
    Path(reports, "markdown").write_text(text, encoding="utf-8")
    ending_with(1, runner, reports).action({"targets": "engine", "comment": "true"})
    sent = (runner.folder / "job" / "gradfuzz-comment.md").read_text(encoding="utf-8")
    assert len(sent) < 65_536
    assert re.findall("^## (.*)", sent, re.MULTILINE) == ["GF-0", "GF-1"], "whole articles"
    assert sent.endswith("The rest is in gradfuzz.md among the artifacts of the run.\n")


# With the real gradfuzz -------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("targets", [TARGETS, "engine"])
def test_four_parts_make_the_sweep(targets: str, runner: Runner) -> None:
    """With findings the last step fails, by exit code 1."""
    asked = {"targets": targets, "options": OPTIONS}
    for number in range(1, 5):
        job = runner.action({**asked, "shard": f"{number}/4"}, f"part-{number}")
        assert (job.succeeded, job.taken()) == (True, ["Install gradfuzz", SWEEP, KEEP_PART, SAY])
    download = {"uses": "actions/download-artifact@v7", "with": {"pattern": "*-part-*", "path": "parts"}}
    merged = runner.job([download, {"uses": "./", "with": {"parts": "parts"}}], {}, "merged")
    whole = runner.action({**asked, "name": "whole"}, "whole")
    assert merged.step(SAY).code == whole.step(SAY).code == (1 if targets == TARGETS else 0)

    def told(job: str) -> tuple[list[Any], list[Any]]:
        folder = runner.folder / job
        (run,) = json.loads((folder / "gradfuzz.sarif").read_text(encoding="utf-8"))["runs"]
        cases = ElementTree.parse(folder / "gradfuzz.xml").getroot().iter("testcase")
        return run["results"], [case.get("name") for case in cases]

    assert told("merged") == told("whole")
    places = {r["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for r in told("whole")[0]}
    assert places == {name for name in runner.artifacts()["gradfuzz-whole"] if name.endswith(".py")}


@pytest.mark.slow
def test_a_part_that_is_missing_is_an_error(runner: Runner) -> None:
    runner.action({"targets": "engine", "options": OPTIONS, "shard": "1/4"}, "part")
    download = {"uses": "actions/download-artifact@v7", "with": {"pattern": "*-part-*", "path": "parts"}}
    job = runner.job([download, {"uses": "./", "with": {"parts": "parts"}}], {}, "merged")
    assert job.step(SAY).code == 2
    assert "parts 2, 3, 4 of 4 of the sweep is missing" in job.step(SWEEP).output


def test_a_target_that_is_unknown(runner: Runner) -> None:
    job = runner.action({"targets": "'cmd:python adapter.py'"})
    assert job.step(SAY).code == 2
    assert "unknown target \"'cmd:python adapter.py'\"" in job.step(SWEEP).output


# Examples of the documents ----------------------------------------------------------------------------------


def examples() -> dict[str, dict[str, Any]]:
    """The workflows that the documents show, by name."""
    shown = [yaml.safe_load(b.text) for page in pages() for b in blocks(page) if b.language == "yaml"]
    return {document["name"]: document for document in shown}


def test_every_example_is_run_here() -> None:
    assert set(examples()) == {"gradients", "nightly"}


def test_examples_name_the_release() -> None:
    for document in examples().values():
        used = re.findall(r"OWNER/gradfuzz@\S+(?=')", str(document))
        assert used
        assert set(used) == {f"OWNER/gradfuzz@v{__version__}"}


@pytest.fixture
def repository(tmp_path: Path, runner: Runner) -> Path:
    """A repository with an adapter, which is right."""
    tests = tmp_path / "repository" / "tests"
    tests.mkdir(parents=True)
    shutil.copy(ROOT / "gradfuzz" / "adapters" / "kit.py", tests)
    shutil.copy(ROOT / "gradfuzz" / "adapters" / "toy_adapter.py", tests / "my_adapter.py")
    runner.checkout = tests.parent
    return tests / "my_adapter.py"


def pull_request(runner: Runner) -> Job:
    """The job of the first example, with few programs."""
    runner.event = "pull_request"
    runner.variables = {**runner.variables, "GRADFUZZ_SWEEP_MAX_EXAMPLES": "8"}
    (job,) = runner.workflow(examples()["gradients"]).values()
    asked = (runner.folder.parent / "pip").read_text(encoding="utf-8").splitlines()
    assert asked == ["-m", "pip", "install", "--quiet", ".", str(ROOT)]
    assert job.taken()[3:] == [SWEEP, KEEP, CHOOSE, SEND, COMMENT, SAY]
    return job


@pytest.mark.slow
def test_the_example_of_a_pull_request(runner: Runner, repository: Path) -> None:
    job = pull_request(runner)
    assert job.succeeded, job.step(SWEEP).output
    sent = json.loads((runner.folder / "sweep" / "gradfuzz-alerts.sarif").read_text(encoding="utf-8"))
    assert sent["runs"][0]["results"] == []


def test_the_example_of_a_pull_request_with_a_bug(runner: Runner, repository: Path) -> None:
    """The alerts are at the adapter, and the job says 1 after all has been kept."""
    text = repository.read_text(encoding="utf-8")
    right = "self.slope * other.value + self.value * other.slope"
    assert right in text
    repository.write_text(text.replace(right, "self.slope * other.value"), encoding="utf-8")
    job = pull_request(runner)
    assert (job.step(SAY).code, job.succeeded) == (1, False)
    sent = json.loads((runner.folder / "sweep" / "gradfuzz-alerts.sarif").read_text(encoding="utf-8"))
    places = [r["locations"][0]["physicalLocation"] for r in sent["runs"][0]["results"]]
    assert {place["artifactLocation"]["uri"] for place in places} == {"tests/my_adapter.py"}
    ids = [result["properties"]["id"] for result in sent["runs"][0]["results"]]
    comment = (runner.folder / "sweep" / "gradfuzz-comment.md").read_text(encoding="utf-8")
    assert all(name in comment for name in ids)


@pytest.mark.slow
def test_the_example_of_a_nightly_sweep(runner: Runner) -> None:
    """Of one release all parts and their whole, with four programs a family and target in place of 2,000."""
    text = yaml.safe_dump(examples()["nightly"])
    few = text.replace("--max-examples 2000", "--max-examples 4")
    assert few != text
    jobs = runner.workflow(yaml.safe_load(few), only={"release": "2.13.0"})
    assert list(jobs) == [*(f"part 2.13.0 {k}" for k in range(1, 5)), "whole 2.13.0"]
    assert all(jobs[name].succeeded for name in list(jobs)[:4])
    whole = jobs["whole 2.13.0"]
    assert whole.step(SAY).code in (0, 1), whole.step(SWEEP).output
    assert whole.taken()[4:] == [SWEEP, KEEP, CHOOSE, SEND, SAY]
    parts = {f"gradfuzz-2.13.0-part-{k}": [f"gradfuzz-part-{k}.ndjson"] for k in range(1, 5)}
    assert parts.items() <= runner.artifacts().items()
    told = json.loads((runner.folder / "whole-2-13-0" / "gradfuzz.sarif").read_text(encoding="utf-8"))
    assert "--seed 7" in told["runs"][0]["invocations"][0]["commandLine"]


def test_the_nightly_parts_are_those_of_all_releases(runner: Runner, reports: str) -> None:
    """With a stand-in for gradfuzz: what each job of the example asks for."""
    jobs = ending_with(1, runner, reports).workflow(examples()["nightly"])
    assert len(jobs) == 10
    assert [name for name, job in jobs.items() if not job.succeeded] == ["whole 2.12.0", "whole 2.13.0"]
    asked = (runner.folder / "part-2-12-0-3" / "words").read_text(encoding="utf-8").splitlines()
    options = ["--seed", "7", "--max-examples", "2000", "--family", "loops,linalg", "--shard", "3/4"]
    assert asked[: 2 + len(options)] == ["sweep", "torch", *options]
    merged = (runner.folder / "whole-2-12-0" / "words").read_text(encoding="utf-8").splitlines()
    found = {f"parts/gradfuzz-2.12.0-part-{k}/gradfuzz-part-{k}.ndjson" for k in range(1, 5)}
    assert merged[0] == "merge"
    assert set(merged[1:5]) == found
