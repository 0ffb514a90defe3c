"""The whole report as GitHub's Markdown. Foreign text is escaped; the only HTML folds the scripts away."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from gradfuzz.fuzzer.results.events import SweepFinished
from gradfuzz.fuzzer.results.finding import Finding
from gradfuzz.fuzzer.results.review import Review
from gradfuzz.reports.common import account, numbers, plain, words
from gradfuzz.reports.common.headline import headline, silence, work
from gradfuzz.reports.common.plain import code_cell, fenced, markdown
from gradfuzz.reports.common.standing import Standing, Standings
from gradfuzz.reports.markdown import sections

_LANGUAGES = {"nx": "elixir", "swift": "swift", "tfjs": "javascript"}
"""The languages of scripts that are not Python."""


def render(finished: SweepFinished, review: Review | None) -> str:
    """The report: verdict, targets, findings, an article for each, what was tested, how to run it again."""
    finished, review = plain.inert(finished), plain.inert(review)
    standings = Standings(review)
    parts = overview(finished, review)
    for finding in finished.findings:
        parts += _article(finding, standings.of(finding))
    parts += _account(finished)
    parts += ["## Again", fenced(finished.rerun, "sh"), f"Seed {finished.seed}."]
    return "\n\n".join(parts) + "\n"


def overview(finished: SweepFinished, review: Review | None, *, linked: bool = True) -> list[str]:
    """Verdict, targets by family, findings, causes, review, all text inert. `linked`: ids are links."""
    standings = Standings(review)
    name = _link if linked else code_cell
    parts = [f"# {markdown(headline(finished))}", markdown(work(finished)), markdown(silence(finished))]
    if finished.summaries:
        parts += ["## Targets", _targets(finished)]
    if finished.findings:
        parts += ["## Findings", _findings(finished.findings, standings, name)]
    if len(finished.findings) > 1 and finished.clusters:
        lines = [
            f"- {markdown(cluster.label)}: {', '.join(map(name, cluster.findings))}"
            for cluster in finished.clusters
        ]
        parts += ["## By cause, as far as can be told", "\n".join(lines)]
    for heading, lines in account.remembered(review):
        parts += [f"## {heading}", "\n".join(f"- {markdown(line)}" for line in lines)]
    return parts


def _targets(finished: SweepFinished) -> str:
    columns = (
        "target",
        "version",
        "family",
        "checks",
        "agree",
        "disagree",
        "findings",
        "convention",
        "inconclusive",
        "unsupported",
        "crashed",
    )
    rows = []
    for s in finished.summaries:
        found = sum(f.target == s.name and f.family == s.family for f in finished.findings)
        counts = (
            s.checks,
            s.agree,
            s.disagree,
            found,
            s.convention,
            sum(s.inconclusive.values()),
            s.unsupported,
            s.crashed,
        )
        rows.append(
            (code_cell(s.name), code_cell(s.version), markdown(s.family), *(f"{n:,}" for n in counts))
        )
    return sections.table(columns, rows)


def _findings(findings: Iterable[Finding], standings: Standings, name: Callable[[str], str]) -> str:
    rows = []
    for finding in findings:
        asked = f"{finding.check} {finding.precision}"
        standing = standings.of(finding)
        marks = ", ".join(filter(None, (standing.word, "flaky" if standing.flaky else "")))
        target = code_cell(f"{finding.target} {finding.version}")
        told = markdown(words.summary(finding))
        rows.append(
            (
                name(finding.id),
                finding.kind.value.replace("_", " "),
                target,
                markdown(asked),
                told,
                f"{finding.seen:,}",
                marks,
            )
        )
    return sections.table(
        ("finding", "class", "target", "asked", "at the clearest point", "seen", "standing"), rows
    )


def _link(name: str) -> str:
    """An id that links to the heading of its article."""
    return f"[{markdown(name)}](#{re.sub(r'[^a-z0-9-]', '', name.lower())})"


def _article(finding: Finding, standing: Standing) -> list[str]:
    title = f"{finding.kind.value}, {finding.target} {finding.version}, {finding.check} {finding.precision}"
    parts = [
        f"## {markdown(finding.id)}",
        markdown(title),
        markdown(words.verdict(finding)),
        sections.definition(finding),
    ]
    parts.append(sections.points(finding))
    parts += [markdown(words.cause(finding)), markdown(words.judged(finding))]
    if standing.reason:
        parts.append(
            f"{standing.word.capitalize()}:"
            f" {markdown(standing.reason)}{f' (<{standing.link}>)' if standing.link else ''}"
        )
    if finding.note:
        parts.append(f"Where it shows: {markdown(finding.note)}")
    if finding.evidence is not None:
        parts += sections.characterisation(finding.evidence)
        if lines := sections.properties(finding.evidence):
            parts += ["\n".join(f"- {line}" for line in lines)]
    for name, script in {"Python": finding.script, **finding.ports}.items():
        if script:
            parts += [
                f"<details><summary>Script: {_summary(name)}</summary>",
                fenced(script, _LANGUAGES.get(name, "python")),
                "</details>",
            ]
    return parts


def _summary(name: str) -> str:
    """A dialect's name inside HTML: letters and digits only."""
    return re.sub(r"[^\w .-]", "", name)[:40]


def _account(finished: SweepFinished) -> list[str]:
    """What was tested, and what was inconclusive."""
    parts = []
    tallies = account.tested(finished)
    covered = account.coverage(finished)
    if tallies or covered:
        lines = [f"- {markdown(what)}: {markdown(tally)}" for what, tally in tallies]
        parts += [
            "## What was tested",
            "\n".join([*lines, *([f"- coverage: {markdown(covered)}"] if covered else [])]),
        ]
    if reasons := account.inconclusive(finished):
        parts += [
            "## Inconclusive, and why",
            "\n".join(f"- {numbers.count(n, 'check')}: {markdown(reason.value)}" for n, reason in reasons),
        ]
    if met := account.met(finished):
        parts += ["## Conventions met", markdown(met)]
    if finished.environment:
        rows = [(markdown(name), code_cell(value)) for name, value in finished.environment.items()]
        parts += ["## Environment", sections.table(("what", "version"), rows)]
    return parts
