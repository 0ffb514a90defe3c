"""A sweep in a GitHub workflow: annotations in the log, and the summary of the step.

An annotation is a workflow command, a line `::error title=...::message` on stdout. Per cent signs and line
breaks are escaped, in properties also colons and commas. GitHub shows ten of a step, so no more are written:
the last one sums the rest up. The summary is Markdown that a step appends to the file named by
GITHUB_STEP_SUMMARY.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from gradfuzz.fuzzer.results.events import SweepFinished
from gradfuzz.fuzzer.results.finding import Finding
from gradfuzz.fuzzer.results.review import Review
from gradfuzz.reports.common import account, plain, words
from gradfuzz.reports.common.headline import work
from gradfuzz.reports.common.plain import fenced
from gradfuzz.reports.common.standing import Standing, Standings, opening
from gradfuzz.reports.markdown import report as markdown

_MOST = 10
"""The most annotations: those of findings, and one of the sweep."""

_LARGEST_SUMMARY = 1_000_000
"""In bytes; GitHub accepts 1024 KiB per step."""


def render(finished: SweepFinished, review: Review | None) -> str:
    """Annotations for findings in the order of rank, those that the baseline accepts at last, and for the
    sweep; at most `_MOST`.

    A finding is an error, a warning where it is flaky, and a notice where the baseline accepts it.
    """
    finished, review = plain.inert(finished), plain.inert(review)
    standings = Standings(review)
    found = sorted(finished.findings, key=lambda finding: standings.of(finding).word == "known")
    shown, rest = found[: _MOST - 1], found[_MOST - 1 :]
    lines = [_annotation(finding, standings.of(finding)) for finding in shown]
    level = "notice" if finished.complete else "warning"
    asked = "; ".join(account.asked(finished))
    told = f"{opening(finished, review)} {work(finished)}" + (f"\nAsked: {asked}." if asked else "")
    told += f"\nAgain: {finished.rerun}"
    if rest:
        counts = Counter(words.plain_kind(finding) for finding in rest)
        kinds = ", ".join(f"{n} {kind}" for kind, n in counts.most_common())
        told = f"{len(rest)} more findings have no annotation: {kinds}.\n{told}"
    lines.append(_command(level, "gradfuzz", told))
    return "".join(f"{line}\n" for line in lines)


def _annotation(finding: Finding, standing: Standing) -> str:
    level = "notice" if standing.word == "known" else "warning" if standing.flaky else "error"
    title = " ".join(words.title(finding).split())
    asked = f"{words.asked(finding)} {finding.precision}: {words.summary(finding)}"
    message = [asked, words.verdict(finding)]
    message += filter(None, [words.cause(finding), words.reported(finding)])
    if standing.told:
        message.append(f"{standing.told.capitalize()}{f': {standing.reason}' if standing.reason else ''}")
    return _command(level, title, "\n".join(message))


def _command(level: str, title: str, message: str) -> str:
    return f"::{level} title={_escaped(title, property_=True)}::{_escaped(message)}"


def _escaped(text: str, *, property_: bool = False) -> str:
    """The data or a property of a workflow command, escaped as GitHub's actions toolkit does."""
    text = text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
    return text.replace(":", "%3A").replace(",", "%2C") if property_ else text


def step_summary(finished: SweepFinished, review: Review | None) -> str:
    """The start of the Markdown report, within GitHub's limit."""
    finished, review = plain.inert(finished), plain.inert(review)
    parts = [*markdown.overview(finished, review, linked=False), "Again:", fenced(finished.rerun, "sh")]
    text = "\n\n".join(parts) + "\n"
    if len(text.encode()) <= _LARGEST_SUMMARY:
        return text
    kept = text.encode()[:_LARGEST_SUMMARY].decode("utf-8", "ignore").rpartition("\n")[0]
    return f"{kept}\n\nCut off: the whole report has more.\n"


def write_step_summary(
    finished: SweepFinished, review: Review | None, environ: Mapping[str, str] = os.environ
) -> Path | None:
    """Appends the summary to the file named by GITHUB_STEP_SUMMARY; its path, or None. Raises OSError."""
    name = environ.get("GITHUB_STEP_SUMMARY")
    if not name:
        return None
    path = Path(name)
    with path.open("a", encoding="utf-8") as file:
        file.write(step_summary(finished, review))
    return path
