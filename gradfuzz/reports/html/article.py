"""The view of one finding's article."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from markupsafe import Markup, escape

from gradfuzz.fuzzer.results.evidence import Evidence
from gradfuzz.fuzzer.results.finding import Finding
from gradfuzz.reports.common import plain, words
from gradfuzz.reports.common.standing import Standing
from gradfuzz.reports.common.tables import Mark, PointRow, Table, along, labels, points, tables
from gradfuzz.reports.html.figures import Figure, figures

_LONGEST = 60_000
"""A longer script, in characters, is not shown."""


@dataclass(frozen=True, slots=True)
class Dialect:
    """A reproducer's title, file name and command. `{}` is the finding's id."""

    name: str
    title: str
    file: str
    run: str
    says: str = "it exits with 0 where this system is right, with 1 where it is wrong, too"


_DIALECTS: tuple[Dialect, ...] = (
    Dialect(
        "python",
        "Python",
        "{}.py",
        "python {}.py",
        "it exits with 1 while the bug is there, with 0 when it is fixed",
    ),
    Dialect("pytest", "pytest", "test_{}.py", "pytest test_{}.py", "it fails while the bug is there"),
    Dialect("jax", "JAX", "{}_jax.py", "python {}_jax.py"),
    Dialect("torch", "PyTorch", "{}_torch.py", "python {}_torch.py"),
    Dialect("autograd", "autograd", "{}_autograd.py", "python {}_autograd.py"),
    Dialect("nx", "Elixir Nx", "{}.exs", "elixir {}.exs"),
    Dialect("swift", "Swift", "{}.swift", "swift {}.swift"),
    Dialect("tfjs", "TensorFlow.js", "{}.js", "node {}.js"),
    Dialect("issue", "Issue text", "{}.md", ""),
)


@dataclass(frozen=True, slots=True)
class Reproducer:
    """One tab. `text` is empty if it is too long to be shown."""

    dialect: str
    title: str
    file: str
    run: str
    says: str
    text: str


@dataclass(frozen=True, slots=True)
class Article:
    """All about a finding. A short article has only the first reproducer and no figures or tables."""

    anchor: str
    id: str
    kind: str
    heading: str
    verdict: str
    facts: tuple[tuple[str, str], ...]
    standing: Standing
    program: Markup
    original: Markup
    weights: str
    points: tuple[PointRow, ...]
    figures: tuple[Figure, ...]
    tables: tuple[Table, ...]
    labels: tuple[tuple[Mark, str], ...]
    judged: str
    cause: str
    note: str
    reproducers: tuple[Reproducer, ...]
    left_out: str = ""


def article(finding: Finding, standing: Standing, issue: str = "", *, short: bool = False) -> Article:
    """The view of one finding; `issue` is its issue text."""
    name = anchor(finding.id)
    explanation = words.explanation(finding.kind)
    heading = explanation[0].upper() + explanation[1:]
    program, original = plain.program(finding.program), plain.program(finding.original)
    scripts = _reproducers(finding, issue)
    evidence = Evidence() if short or finding.evidence is None else finding.evidence
    shown, curve = evidence.variants, evidence.curve
    near = along(curve) if curve else None
    return Article(
        anchor=name,
        id=finding.id,
        kind=finding.kind.value.replace("_", " "),
        heading=heading,
        verdict=words.verdict(finding)
        .removeprefix(f"{heading}.")
        .strip()
        .replace("± ", "±\N{NO-BREAK SPACE}")
        or finding.note,
        facts=_facts(finding),
        standing=standing,
        program=highlighted(program),
        original=Markup() if short or original == program else highlighted(original),
        weights=_weights(finding),
        points=points(finding),
        figures=() if short else figures(finding, name),
        tables=(*([near] if near else []), *tables(shown)),
        labels=labels((*shown, *(curve.samples if near and curve else ()))),
        judged=words.judged(finding),
        cause=words.cause(finding),
        note=finding.note,
        reproducers=scripts[:1] if short else scripts,
        left_out=_left_out(scripts) if short else "",
    )


def anchor(name: str) -> str:
    """An element id made from a finding's id."""
    return re.sub(r"[^A-Za-z0-9_-]+", "-", name)[:80] or "finding"


def _facts(finding: Finding) -> tuple[tuple[str, str], ...]:
    return (
        ("target", f"{finding.target} {finding.version}"),
        ("asked", finding.check),
        ("by", ", ".join(finding.wrt)),
        ("dtype", finding.precision),
        ("family", finding.family),
    )


def _weights(finding: Finding) -> str:
    """Which function of the outputs is differentiated, unless it is the only output itself."""
    if len(finding.weights) == 1 and all(w is not None and not w.shape and w == 1 for w in finding.weights):
        return ""
    return "The derivative is of a weighted sum of the outputs; the reproducer has the weights."


def _reproducers(finding: Finding, issue: str) -> tuple[Reproducer, ...]:
    texts: Mapping[str, str] = {"python": finding.script, **finding.ports, "issue": issue}
    known = [d for d in _DIALECTS if texts.get(d.name)]
    others = [
        Dialect(name, name, f"{{}}-{anchor(name)}.txt", "")
        for name in texts
        if name not in {d.name for d in _DIALECTS}
    ]
    return tuple(_reproducer(d, finding.id, texts[d.name]) for d in (*known, *others))


def _reproducer(dialect: Dialect, name: str, text: str) -> Reproducer:
    file = anchor(name).replace("-", "_") if dialect.name == "pytest" else anchor(name)
    shown = text if len(text) <= _LONGEST else ""
    return Reproducer(
        dialect.name, dialect.title, dialect.file.format(file), dialect.run.format(file), dialect.says, shown
    )


def _left_out(scripts: tuple[Reproducer, ...]) -> str:
    """The parts that a short article lacks."""
    others = [script.title for script in scripts[1:]]
    return ", ".join(["plots", "tables of variants", *(f"the reproducer for {title}" for title in others)])


_KEYWORDS = re.compile(r"\b(def|for|in|range|while|if|else|not|and|or|return|break|continue|pass|True)\b")


def highlighted(program: str) -> Markup:
    """The program text with marked keywords. It is escaped first: escaping changes no keyword."""
    return Markup(_KEYWORDS.sub(r"<b>\1</b>", str(escape(program.rstrip()))))  # noqa: S704 - the text has been escaped
