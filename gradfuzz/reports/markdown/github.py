"""A sweep in a GitHub workflow: annotations on the log, and the summary of the step.

An annotation is a workflow command, a line `::error title=...::message` on stdout, in which per cent signs
and line breaks are escaped (and colons and commas in properties); GitHub shows the first ten of a step. The
summary is Markdown that a step appends to the file that GITHUB_STEP_SUMMARY names.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from gradfuzz.fuzzer.results.events import SweepFinished
from gradfuzz.fuzzer.results.finding import Finding
from gradfuzz.fuzzer.results.review import Review
from gradfuzz.reports.common import plain, words
from gradfuzz.reports.common.headline import headline, work
from gradfuzz.reports.common.plain import fenced
from gradfuzz.reports.common.standing import Standing, Standings
from gradfuzz.reports.markdown import report as markdown

_LARGEST_SUMMARY = 1_000_000
"""Bytes; GitHub takes 1024 KiB of a step."""


def render(finished: SweepFinished, review: Review | None) -> str:
    """An annotation for each finding, the highest ranked first: an error, a warning where it is flaky, a
    notice where the baseline accepts it; and one for the sweep.
    """
    finished, review = plain.inert(finished), plain.inert(review)
    standings = Standings(review)
    lines = [_annotation(finding, standings.of(finding)) for finding in finished.findings]
    level = "notice" if finished.complete else "warning"
    lines.append(
        _command(level, "gradfuzz", f"{headline(finished)} {work(finished)}\nAgain: {finished.rerun}")
    )
    return "".join(f"{line}\n" for line in lines)


def _annotation(finding: Finding, standing: Standing) -> str:
    level = "notice" if standing.word == "known" else "warning" if standing.flaky else "error"
    title = f"{finding.id} {finding.kind.value} {finding.target} {finding.version}"
    message = [
        f"{finding.check} {finding.precision}: {words.summary(finding)}",
        words.verdict(finding),
        words.cause(finding),
    ]
    if standing.word:
        message.append(f"{standing.word.capitalize()}{f': {standing.reason}' if standing.reason else ''}")
    return _command(level, title, "\n".join(message))


def _command(level: str, title: str, message: str) -> str:
    return f"::{level} title={_escaped(title, property_=True)}::{_escaped(message)}"


def _escaped(text: str, *, property_: bool = False) -> str:
    """As the toolkit of GitHub's actions escapes the data and the properties of a workflow command."""
    text = text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
    return text.replace(":", "%3A").replace(",", "%2C") if property_ else text


def step_summary(finished: SweepFinished, review: Review | None) -> str:
    """The start of the report in Markdown, within what GitHub takes."""
    finished, review = plain.inert(finished), plain.inert(review)
    text = (
        "\n\n".join(
            [*markdown.overview(finished, review, linked=False), "Again:", fenced(finished.rerun, "sh")]
        )
        + "\n"
    )
    if len(text.encode()) <= _LARGEST_SUMMARY:
        return text
    kept = text.encode()[:_LARGEST_SUMMARY].decode("utf-8", "ignore").rpartition("\n")[0]
    return f"{kept}\n\nCut off: the whole report has more.\n"


def write_step_summary(
    finished: SweepFinished, review: Review | None, environ: Mapping[str, str] = os.environ
) -> Path | None:
    """Appends the summary to the file that GITHUB_STEP_SUMMARY names, and returns its path; None where it
    names none. OSError where that fails.
    """
    name = environ.get("GITHUB_STEP_SUMMARY")
    if not name:
        return None
    path = Path(name)
    with path.open("a", encoding="utf-8") as file:
        file.write(step_summary(finished, review))
    return path
