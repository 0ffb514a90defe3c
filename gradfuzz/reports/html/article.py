"""The view of one finding's article."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from markupsafe import Markup, escape

from gradfuzz.fuzzer.results.evidence import Evidence
from gradfuzz.fuzzer.results.finding import Finding
from gradfuzz.fuzzer.results.known_reports import KnownReport, entries_of, reports_of
from gradfuzz.fuzzer.results.proof import RuleLine
from gradfuzz.fuzzer.results.shown import functions
from gradfuzz.oracles.target_name import TargetName
from gradfuzz.reports.common import plain, titles, words
from gradfuzz.reports.common.standing import Standing
from gradfuzz.reports.common.tables import Mark, PointRow, Table, along, labels, points, tables
from gradfuzz.reports.html.figures import Figure, figures

_LONGEST = 60_000
"""A longer script, in characters, is not shown."""

_MOST_LINES = 60
"""Lines of a rule that are shown."""


@dataclass(frozen=True, slots=True)
class Reproducer:
    """One tab: its title, file name and command. In the table of dialects `{}` is the finding's id."""

    dialect: str
    title: str
    file: str
    run: str
    says: str = "it exits with 0 where this system is right, with 1 where it is wrong, too"
    text: str = ""
    """Empty if it is too long to be shown."""


_HERE = "it exits with 1 while the bug is there, with 0 when it is fixed"
_DIALECTS: tuple[Reproducer, ...] = (
    Reproducer("python", "Python", "{}.py", "python {}.py", _HERE),
    Reproducer("pytest", "pytest", "test_{}.py", "pytest test_{}.py", "it fails while the bug is there"),
    Reproducer("jax", "JAX", "{}_jax.py", "python {}_jax.py"),
    Reproducer("torch", "PyTorch", "{}_torch.py", "python {}_torch.py"),
    Reproducer("autograd", "autograd", "{}_autograd.py", "python {}_autograd.py"),
    Reproducer("nx", "Elixir Nx", "{}.exs", "elixir {}.exs"),
    Reproducer("swift", "Swift", "{}.swift", "swift {}.swift"),
    Reproducer("tfjs", "TensorFlow.js", "{}.js", "node {}.js"),
    Reproducer("issue", "Issue text", "{}.md", ""),
)


@dataclass(frozen=True, slots=True)
class Article:
    """All about a finding. A short article has only the first reproducer and no figures or tables."""

    finding: Finding
    anchor: str
    heading: str
    verdict: str
    facts: Mapping[str, str]
    standing: Standing
    reports: tuple[KnownReport, ...]
    entries: tuple[KnownReport, ...]
    subject: str
    """"Program" or "Call"."""
    program: Markup
    original: Markup
    points: tuple[PointRow, ...]
    rule: tuple[RuleLine, ...]
    """A rule that is proved wrong, or what stands around the line that makes it wrong."""
    figures: tuple[Figure, ...]
    tables: tuple[Table, ...]
    labels: tuple[Mark, ...]
    short: str
    """A few lines of the library; empty where it has none."""
    library: str
    reproducers: tuple[Reproducer, ...]
    left_out: str


def article(finding: Finding, standing: Standing, issue: str = "", *, short: bool = False) -> Article:
    """The view of one finding; `issue` is its issue text."""
    name = anchor(finding.id)
    verdict = words.verdict(finding).replace("± ", "±\N{NO-BREAK SPACE}")
    program, original = plain.source(finding), plain.drawn_source(finding)
    scripts = _reproducers(finding, issue)
    evidence = Evidence() if short or finding.evidence is None else finding.evidence
    near = along(evidence.curve) if evidence.curve else None
    samples = evidence.curve.samples if near and evidence.curve else ()
    return Article(
        finding=finding,
        anchor=name,
        heading=titles.title(finding),
        verdict=verdict,
        facts={
            **({"function": ", ".join(called)} if (called := functions(finding)) else {}),
            "target": f"{finding.target} {finding.version}",
            "asked": words.asked(finding),
            "by": ", ".join(finding.wrt),
            "dtype": finding.precision,
            "family": finding.family,
        },
        standing=standing,
        reports=reports_of(finding),
        entries=entries_of(finding),
        subject="Program" if finding.call is None else "Call",
        program=highlighted(program),
        original=Markup() if short or original == program else highlighted(original),
        points=points(finding),
        rule=() if short or finding.proof is None else _around(finding.proof.lines),
        figures=() if short else figures(finding, name),
        tables=(*([near] if near else []), *tables(evidence.variants)),
        labels=labels((*evidence.variants, *samples)),
        short=finding.ports.get("short", ""),
        library=TargetName.of(finding.target).library,
        reproducers=scripts[:1] if short else scripts,
        left_out=_left_out(scripts) if short else "",
    )


def _around(lines: tuple[RuleLine, ...]) -> tuple[RuleLine, ...]:
    """The lines of a rule; of a long one those around the marked one, or the first."""
    if len(lines) <= _MOST_LINES:
        return lines
    marked = next((k for k, line in enumerate(lines) if line.marked), 0)
    start = max(0, min(marked - _MOST_LINES // 2, len(lines) - _MOST_LINES))
    stop = start + _MOST_LINES
    before = (RuleLine(f"# {start} lines before"),) if start else ()
    after = (RuleLine(f"# {len(lines) - stop} lines after"),) if stop < len(lines) else ()
    return (*before, *lines[start:stop], *after)


def anchor(name: str) -> str:
    """An element id made from a finding's id."""
    return re.sub(r"[^A-Za-z0-9_-]+", "-", name)[:80] or "finding"


def _reproducers(finding: Finding, issue: str) -> tuple[Reproducer, ...]:
    texts = {"python": finding.script, **finding.ports, "issue": issue}
    texts.pop("short", None)  # it stands above
    known = [d for d in _DIALECTS if texts.get(d.dialect)]
    others = texts.keys() - {d.dialect for d in _DIALECTS}
    unknown = [Reproducer(name, name, f"{{}}-{anchor(name)}.txt", "") for name in texts if name in others]
    return tuple(_reproducer(d, finding.id, texts[d.dialect]) for d in (*known, *unknown))


def _reproducer(of: Reproducer, name: str, text: str) -> Reproducer:
    file = anchor(name).replace("-", "_") if of.dialect == "pytest" else anchor(name)
    shown = text if len(text) <= _LONGEST else ""
    return replace(of, file=of.file.format(file), run=of.run.format(file), text=shown)


def _left_out(scripts: tuple[Reproducer, ...]) -> str:
    """The parts that a short article lacks."""
    others = [script.title for script in scripts[1:]]
    return ", ".join(["plots", "tables of variants", *(f"the reproducer for {title}" for title in others)])


_KEYWORDS = re.compile(r"\b(def|for|in|range|while|if|else|not|and|or|return|break|continue|pass|True)\b")


def highlighted(program: str) -> Markup:
    """The program text with marked keywords. It is escaped first: escaping changes no keyword."""
    return Markup(_KEYWORDS.sub(r"<b>\1</b>", str(escape(program.rstrip()))))  # noqa: S704 - the text has been escaped
