"""The whole report as GitHub's Markdown. Foreign text is escaped; the only HTML folds the scripts away."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from gradfuzz.fuzzer.results.events import SweepFinished
from gradfuzz.fuzzer.results.finding import Finding
from gradfuzz.fuzzer.results.review import Review
from gradfuzz.reports.common import account, numbers, plain, summary, titles, words
from gradfuzz.reports.common.functions import MEANINGS, coverage
from gradfuzz.reports.common.headline import silence, work
from gradfuzz.reports.common.plain import code_cell, fenced, markdown
from gradfuzz.reports.common.standing import Standing, Standings, opening
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
    """Verdict, targets by family, findings, causes, review, functions, all text inert. `linked`: ids are
    links.
    """
    standings = Standings(review)
    name = _link if linked else code_cell
    parts = [f"# {markdown(opening(finished, review))}"]
    parts += [markdown(work(finished)), markdown(silence(finished))]
    if finished.summaries:
        parts += ["## Targets", _targets(finished)]
    if finished.findings:
        parts += ["## Findings", _findings(finished.findings, standings, name)]
    if len(finished.findings) > 1 and finished.clusters:
        causes = [f"{markdown(c.label)}: {', '.join(map(name, c.findings))}" for c in finished.clusters]
        parts += ["## By probable cause", sections.bullets(causes)]
    for heading, lines in account.remembered(review):
        parts += [f"## {heading}", sections.bullets(map(markdown, lines))]
    return parts + _functions(finished)


def _targets(finished: SweepFinished) -> str:
    rows = []
    shown = summary.columns(finished.summaries)
    for s in finished.summaries:
        found = sum(f.target == s.name and f.family == s.family for f in finished.findings)
        checks, agree, disagree, *rest = (summary.tally(s)[name] for name in shown)
        counts = (f"{n:,}" for n in (checks, agree, disagree, found, *rest))
        rows.append((code_cell(s.name), code_cell(s.version), markdown(s.family), *counts))
    columns = ("target", "version", "family", *shown[:3], "findings", *shown[3:])
    return sections.table(columns, rows)


def _functions(finished: SweepFinished) -> list[str]:
    """What was asked of the functions of a library."""
    if not finished.functions:
        return []
    found = coverage(finished.functions)
    wrong = [f"Proved wrong, though the numbers agree: {markdown(words)}" for words in found.wrong_rules]
    outcomes = [(name, f"{n:,}", MEANINGS[name]) for name, n in found.outcomes.items()]
    return [
        "## Functions of the library",
        sections.table(("outcome", "functions", "meaning"), outcomes),
        sections.table(
            ("derivative", "functions", "share", "calls", "without it"),
            [(markdown(mode), *rest) for mode, *rest in found.modes],
        ),
        " ".join(filter(None, map(markdown, (found.calls, found.answers, found.proofs)))),
        *([sections.bullets(wrong)] if wrong else []),
    ]


def _findings(findings: Iterable[Finding], standings: Standings, name: Callable[[str], str]) -> str:
    rows = []
    for finding in findings:
        target = code_cell(f"{finding.target} {finding.version}")
        asked = markdown(f"{words.asked(finding)} {finding.precision}")
        told, seen = markdown(words.summary(finding)), f"{finding.seen:,}"
        kind, marks = words.plain_kind(finding), standings.of(finding).marks
        standing = ", ".join(filter(None, [marks, *sections.links(finding)]))
        rows.append((name(finding.id), kind, target, asked, told, seen, standing))
    columns = ("finding", "class", "target", "asked", "at the clearest point", "seen", "standing")
    return sections.table(columns, rows)


def _link(name: str) -> str:
    """An id that links to the heading of its article."""
    return f"[{markdown(name)}](#{re.sub(r'[^a-z0-9-]', '', name.lower())})"


def _article(finding: Finding, standing: Standing) -> list[str]:
    parts = [
        f"## {markdown(finding.id)}",
        f"**{markdown(titles.heading(finding))}**",
        markdown(words.verdict(finding)),
    ]
    scripts = dict(finding.ports)
    if short := scripts.pop("short", ""):
        parts += ["In a few lines:", fenced(short, "python")]
    parts += filter(None, [markdown(words.cause(finding)), sections.reported(finding)])
    if standing.reason:
        link = f" (<{standing.link}>)" if standing.link else ""
        parts.append(f"{standing.word.capitalize()}: {markdown(standing.reason)}{link}")
    parts += [sections.definition(finding), sections.points(finding), markdown(words.judged(finding))]
    if finding.note:
        parts.append(f"Where it shows: {markdown(finding.note)}")
    if told := words.failed(finding):
        parts.append(markdown(told))
    if finding.evidence is not None:
        parts += sections.characterisation(finding.evidence)
        if lines := sections.properties(finding.evidence):
            parts.append(sections.bullets(lines))
    for name, script in {"Python": finding.script, **scripts}.items():
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
    told = [f"{markdown(what)}: {markdown(counts)}" for what, counts in account.tested(finished)]
    if covered := account.coverage(finished):
        told.append(f"coverage: {markdown(covered)}")
    told += [f"asked: {markdown(line)}" for line in account.asked(finished)]
    told += [f"not asked: {markdown(line)}" for line in account.never(finished)]
    if proofs := account.proofs(finished):
        told.append(f"proofs: {markdown(proofs)}")
    if told:
        parts += ["## What was tested", sections.bullets(told)]
    if reasons := account.inconclusive(finished):
        lines = [f"{numbers.count(n, 'check')}: {markdown(reason.value)}" for n, reason in reasons]
        parts += ["## Inconclusive, and why", sections.bullets(lines)]
    if met := account.met(finished):
        parts += ["## Conventions met", markdown(met)]
    if finished.environment:
        rows = [(markdown(name), code_cell(value)) for name, value in finished.environment.items()]
        parts += ["## Environment", sections.table(("what", "version"), rows)]
    return parts
