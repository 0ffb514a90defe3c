"""Exception, crash, hang and out of memory are four words, the same in every report; and every report says
about how many programs a target was asked.
"""

from __future__ import annotations

import dataclasses
import json
import math
import shlex
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from gradfuzz.adapters import kit
from gradfuzz.cli import main
from gradfuzz.fuzzer.results.events import SweepFinished, TargetSummary
from gradfuzz.fuzzer.results.failure import Failure, failure_of
from gradfuzz.fuzzer.results.finding import Class
from gradfuzz.libraries.library import first_line
from gradfuzz.reports.common import tables, words
from gradfuzz.reports.formats import FORMATS
from tests.report_data import finding, finished

TARGETS = Path(__file__).parents[2] / "targets"


def target(name: str) -> str:
    """A target of tests/targets, as a command line has it."""
    return f"cmd:{shlex.join([sys.executable, str(TARGETS / name)])}"


MESSAGES = {
    "ValueError: operands could not be broadcast": Failure.EXCEPTION,
    "RuntimeError: SIGSEGV is only a word here": Failure.EXCEPTION,
    "SIGSEGV: the process was killed by signal 11": Failure.CRASH,
    "exited: the process ended with code 1": Failure.CRASH,
    "protocol: output after the reply": Failure.CRASH,
    "start: nowhere cannot be started: no such file": Failure.CRASH,
    "the process ends: segmentation fault": Failure.CRASH,
    "timed out: no answer within 60 seconds": Failure.HANG,
    "half a line: b'{', and no end of it within 60 seconds": Failure.HANG,
    "the process ends: no answer within 30 s": Failure.HANG,
    "out of memory: it took more than the 8 GiB it may": Failure.OUT_OF_MEMORY,
    "out of memory: MemoryError: ": Failure.OUT_OF_MEMORY,
    "OutOfMemoryError: CUDA out of memory": Failure.OUT_OF_MEMORY,
}


@pytest.mark.parametrize(("message", "failure"), MESSAGES.items())
def test_which_failure_a_message_tells_of(message: str, failure: Failure) -> None:
    assert failure_of(message) is failure


@pytest.mark.skipif(sys.platform != "linux", reason="the faulty target kills itself by a signal")
@pytest.mark.parametrize(
    ("number", "word"), [(0, "crash"), (24, "crash"), (33, "hang"), (19, "out of memory"), (1, "agree")]
)
def test_check_says_which_it_was(number: int, word: str) -> None:
    """The target fails at these numbers: a signal, an exit, a sleep, gigabytes; at 1 it answers."""
    program = "def f(x):\n    return x * x\n"
    seconds = "0.9" if word == "hang" else "20"  # on a busy machine a gigabyte takes longer than a second
    limits = "--target-seconds", seconds, "--target-memory", "0.3", "--target-start", "20"
    shown = CliRunner().invoke(
        main,
        ["check", program, "--only", target("faulty.py"), "--at", f"x={number}", "--mode", "fwd", *limits],
    )
    rows = [line for line in shown.stdout.splitlines() if "jvp" in line]
    assert rows, shown.output
    assert all(row.endswith(word) for row in rows)


RAISED = {
    "sin": "RuntimeError: InvalidArgumentError: no sine today.",
    "cos": "TypeError: state variable changed its type",
}
"""What tests/targets/raising.py raises, without the headings of Paddle and Dr.Jit."""


@pytest.mark.parametrize(("op", "words_"), RAISED.items())
def test_check_shows_the_line_that_says_what_happened(op: str, words_: str) -> None:
    asked = "--at", "x=0.5", "--loop", "for", "--mode", "fwd"
    arguments = ["check", f"acc*{op}(x)", "--only", target("raising.py"), *asked]
    shown = CliRunner().invoke(main, arguments, env={"COLUMNS": "400"})  # the target's path in a line
    assert [line.split()[-1] for line in shown.stdout.splitlines() if "jvp" in line] == ["exception"]
    said = " ".join(shown.stdout.split())
    assert words_ in said
    assert not any(word in said for word in ("In user code", "see above", "Hint"))


@pytest.mark.slow  # a sweep of a target in another process
def test_every_report_of_a_sweep_shows_that_line_and_how_much_was_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    name = target("raising.py")
    asked = "--max-examples=12", "--no-store", "--no-shrink", "--family=loops", "--format=concise"
    reports = [f"--report={form}={form}" for form in FORMATS]
    done = CliRunner().invoke(main, ["sweep", name, *asked, *reports])
    assert done.exit_code == 1, done.output
    for form in FORMATS:
        text = Path(form).read_text(encoding="utf-8").replace("\\", "").replace("%3A", ":")
        said = " ".join(text.split())
        assert "exception" in said, form
        assert all(words_.rstrip(".") in said for words_ in RAISED.values()), form
        asked_about = '"programs": 12' if form in ("json", "ndjson") else ": 12 of 12 programs"
        assert asked_about in said, form


@pytest.mark.parametrize("form", [name for name in FORMATS if name not in ("ndjson", "json")])
@pytest.mark.parametrize(
    ("note", "word"),
    [
        ("ValueError: no such axis.", "exception"),
        ("SIGSEGV: the process was killed by signal 11.", "crash"),
        ("timed out: no answer within 60 seconds.", "hang"),
        ("out of memory: it took more than the 8 GiB it may.", "out of memory"),
    ],
)
def test_reports_of_a_sweep_say_which_it_was(form: str, note: str, word: str) -> None:
    """Each names the failure of the finding, and its own first line."""
    one = dataclasses.replace(finding(0), kind=Class.ERROR, note=note, clearest=finding(0).clearest)
    text = FORMATS[form].render(finished([one]), None).replace("&#x27;", "'").replace("%3A", ":")
    assert word in text
    assert note.rstrip(".") in " ".join(text.split()).replace("\\", "")
    assert f": {word} (" in words.title(one)


def told(**counts: int) -> SweepFinished:
    summary = TargetSummary("torch:vmap", "2.13.0", "loops", 40, 30, crashed=10, **counts)
    failures = {Failure.HANG: 3, Failure.CRASH: 2, Failure.EXCEPTION: 5}
    return dataclasses.replace(
        finished(0), programs=24, summaries=(dataclasses.replace(summary, failures=failures),)
    )


def test_counts_are_apart() -> None:
    text = FORMATS["terminal"].render(told(), None)
    heading, _, row = text[text.index("target  ") :].splitlines()[:3]
    counts = dict(zip(heading.split()[1:], row.split()[2:], strict=True))
    assert (counts["exception"], counts["crash"], counts["hang"]) == ("5", "2", "3")
    assert "memory" not in heading, "nothing ran out of it"
    (target,) = json.loads(FORMATS["json"].render(told(), None))["targets"]
    assert target["failures"] == {"hang": 3, "crash": 2, "exception": 5}


def test_failures_of_an_older_run_are_exceptions() -> None:
    """Such a run counted all of them together."""
    text = FORMATS["markdown"].render(
        dataclasses.replace(told(), summaries=(dataclasses.replace(told().summaries[0], failures={}),)), None
    )
    heading = next(line for line in text.splitlines() if line.startswith("| target"))
    assert "exception" in heading
    assert "crash" not in heading


@pytest.mark.parametrize("form", FORMATS)
def test_every_report_says_how_many_programs_were_asked(form: str) -> None:
    text = FORMATS[form].render(told(programs=20, refused=4, drawn=24), None)
    if form in ("json", "ndjson"):
        assert '"programs": 20' in text.replace('"programs":20', '"programs": 20')
        assert '"refused": 4' in text.replace('"refused":4', '"refused": 4')
    else:
        words_ = " ".join(text.replace("\\", "").split()).replace("%3A", ":")
        assert "torch:vmap: 20 of 24 programs (could not answer 4)" in words_


# The line of an exception that says what happened -----------------------------------------------------------

PADDLE = (
    'In user code:\n\n    File "model.py", line 3\n      y = f(x)\n\n'
    "    InvalidArgumentError: rank 3 where 2 is wanted.\n      [Hint: x]\n"
)


def test_behind_the_heading_of_paddle_stands_the_error() -> None:
    words_ = "InvalidArgumentError: rank 3 where 2 is wanted."
    assert first_line(RuntimeError(PADDLE)) == words_
    assert kit.arm_of(RuntimeError(PADDLE))["error"]["message"] == f"RuntimeError: {words_}"


def raised(cause: Exception | None) -> Exception:
    """As Dr.Jit raises: it names the exception above."""
    try:
        raise RuntimeError("drjit.while_loop(): encountered an exception (see above).") from cause
    except RuntimeError as error:
        return error


def test_where_dr_jit_says_see_above_what_stands_above_is_told() -> None:
    error = raised(TypeError("state variable 'x' changed its type"))
    assert kit.arm_of(error)["error"]["message"] == "TypeError: state variable 'x' changed its type"
    assert first_line(error) == "state variable 'x' changed its type"
    alone = raised(None)
    assert first_line(alone) == str(alone)


def test_of_a_derivative_without_entries_an_empty_array_is_expected() -> None:
    whole = finding(0, kind=Class.ERROR)
    nothing = dataclasses.replace(
        whole.smallest,
        inputs={"x": np.zeros(0)},
        entry=("x", ()),
        entry_expected=math.nan,
        entry_got=math.nan,
        got={},
        bound={},
        ratio=None,
    )
    empty = dataclasses.replace(whole, smallest=nothing, clearest=nothing, worst=nothing)
    (row,) = tables.points(empty)
    assert (row.expected, row.got) == ("an empty array", "nothing")
