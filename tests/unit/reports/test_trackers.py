"""The text of an issue has the headings that the system's tracker asks for, and everything below them."""

from __future__ import annotations

import dataclasses
import re

import pytest

from gradfuzz.fuzzer.results.finding import Class, Finding
from gradfuzz.reports.markdown.issue import issue
from gradfuzz.reports.markdown.trackers import TRACKERS, YOURS, Heading, Tracker, filled
from tests.report_data import finding

SYSTEM_INFO = "System info (python version, jaxlib version, accelerator, etc.)"
FORMS = {
    "torch:eager": ["🐛 Describe the bug", "Versions"],
    "jax:scan": ["Description", SYSTEM_INFO],
    "tensorflow": [
        "Issue type",
        "Have you reproduced the bug with TensorFlow Nightly?",
        "Source",
        "TensorFlow version",
        "Custom code",
        "OS platform and distribution",
        "Mobile device",
        "Python version",
        "Bazel version",
        "GCC/compiler version",
        "CUDA/cuDNN version",
        "GPU model and memory",
        "Current behavior?",
        "Standalone code to reproduce the issue",
        "Relevant log output",
    ],
}
"""The headings of reports that people filed in these trackers, in their order."""


def of(target: str, **changes: object) -> Finding:
    return dataclasses.replace(finding(0), target=target, **changes)


def below(text: str, heading: str) -> str:
    """What stands below a heading of a form."""
    return text.partition(f"\n### {heading}\n")[2].partition("\n### ")[0].strip()


@pytest.mark.parametrize("target", FORMS)
def test_it_has_the_headings_of_the_tracker(target: str) -> None:
    one = of(target)
    text = issue(one, {"python": "3.11.9"})
    assert re.findall(r"^### (.*)$", text, re.MULTILINE) == FORMS[target]
    assert one.ports["short"].strip() in text, "the few lines"
    assert text.index(one.ports["short"].strip()) < text.index(one.script.strip()), "come before the script"
    assert "| clearest |" in text, "expected and actual"
    assert one.id in text


def test_tensorflow_gets_each_answer_below_its_heading() -> None:
    text = issue(of("tensorflow"), {"python": "3.11.9"})
    assert below(text, "Issue type") == "Bug"
    assert below(text, "Python version") == "`3.11.9`"
    assert below(text, "OS platform and distribution") == YOURS, (
        "what was not recorded is asked of the person"
    )
    assert "print(" in below(text, "Standalone code to reproduce the issue")
    assert "print(" not in below(text, "Current behavior?")
    assert below(text, "Relevant log output") == "```\ngot      1.000001\nexpected 3e-06\n```"


def test_an_exception_is_the_log() -> None:
    note = "ValueError: no such axis."
    text = issue(of("tensorflow", kind=Class.ERROR, note=note))
    assert below(text, "Relevant log output") == f"```\n{note}\n```"


@pytest.mark.parametrize("target", ["torch:eager", "jax:scan", "drjit"])
def test_the_message_of_an_exception_is_on_the_first_screen(target: str) -> None:
    note = "ValueError: no such axis. In every loop form."
    lines = issue(of(target, kind=Class.ERROR, note=note)).splitlines()
    assert lines[4] == "ValueError: no such axis. The library raises an exception."


def test_a_system_without_a_form_has_headings_of_ours() -> None:
    text = issue(of("drjit"))
    assert "## Minimal reproducer" in text
    assert "\n### " not in text.partition("## Versions")[2]


def test_nothing_is_lost_where_a_form_does_not_ask_for_it() -> None:
    form = Tracker("a/b", (Heading("What", "bug"), Heading("Kind", answer="Bug")))
    blocks = filled(form, {"bug": ["wrong"], "code": ["print()"], "more": ["found"], "log": ["got 1"]})
    assert blocks == ["### What", "wrong", "print()", "found", "### Kind", "Bug"]


def test_what_nobody_knows_is_left_to_the_person() -> None:
    form = Tracker("a/b", (Heading("Python", "python"), Heading("Versions", "versions")), versions="tool")
    assert filled(form, {"versions": ["a 1"]}) == [
        "### Python",
        YOURS,
        "### Versions",
        "a 1",
        f"`tool`: {YOURS}",
    ]


def test_a_tracker_that_wants_no_machine_s_words_says_so() -> None:
    assert "AI" in TRACKERS["mlx"].note
    assert "AI" in TRACKERS["torch"].note
