"""A finding as the text of an issue: all a maintainer needs to reproduce it, see its extent and check it."""

from __future__ import annotations

from collections.abc import Mapping

from gradfuzz.fuzzer.results.evidence import Evidence
from gradfuzz.fuzzer.results.finding import Class, Finding
from gradfuzz.reports.common import plain, words
from gradfuzz.reports.common.plain import code, fenced, markdown
from gradfuzz.reports.markdown import sections
from gradfuzz.version import __version__

_LONGEST = 60_000
"""In characters; GitHub accepts 65,536."""


def issue(finding: Finding, environment: Mapping[str, str] | None = None) -> str:
    """Markdown to paste; the first line is the title.

    `environment` holds further versions, as in `SweepFinished.environment`.
    """
    finding, environment = plain.inert(finding), plain.inert(environment or {})
    text = _text(finding, environment, fenced(finding.script, "python"))
    if len(text) > _LONGEST:
        command = code(f"gradfuzz show {finding.id} --as native")
        text = _text(finding, environment, f"The script is too long to be shown; {command} prints it.")
    if len(text) <= _LONGEST:
        return text
    return f"{text[:_LONGEST].rpartition(chr(10))[0]}\n\nCut off: the text is too long for an issue.\n"


def title(finding: Finding) -> str:
    """A line of text: "torch:eager 2.13.0 in sin: the derivative has the wrong sign (vjp, float64)"."""
    where, asked = words.place(finding), f"{finding.check}, {finding.precision}"
    return plain.line(f"{finding.target} {finding.version}{where}: {words.claimed(finding)} ({asked})")


def _text(finding: Finding, environment: Mapping[str, str], script: str) -> str:
    parts = [
        f"# {markdown(title(finding))}",
        "## Description",
        markdown(words.verdict(finding)),
        _asked(finding),
        *filter(None, [sections.reported(finding)]),
        "## Minimal reproducer",
        sections.definition(finding),
    ]
    if finding.script:
        told = "The same as a script, which exits with 1 while the bug is there and with 0 when it is fixed:"
        parts += [told, script]
    parts += ["## Expected and actual", sections.points(finding)]
    if shown := sections.characterisation(finding.evidence or Evidence()):
        parts += ["## Characterization", *shown]
    if more := _properties(finding):
        parts += ["## Additional properties", sections.bullets(more)]
    parts += ["## Versions", sections.bullets(_versions(finding, environment))]
    parts += ["## How this was judged", _judged(finding)]
    if cause := words.cause(finding):
        parts += ["## Probable cause", markdown(cause)]
    return "\n\n".join(parts) + "\n"


def _asked(finding: Finding) -> str:
    by = f", by {', '.join(map(code, finding.wrt))}" if finding.wrt and finding.modes else ""
    asked = f"Asked for: {markdown(finding.check)} in {finding.precision}{by}."
    if not finding.kind.of_numbers or finding.kind is Class.WRONG_PRIMAL or "kink" in finding.note:
        return asked
    return f"{asked} The value of the function is right there; only its derivative is not."


def _properties(finding: Finding) -> list[str]:
    lines = sections.properties(finding.evidence or Evidence())
    if finding.note:
        lines.append(markdown(finding.note))
    again, asked = finding.reproduced
    if words.flaky(finding):
        lines.append(f"Flaky: the wrong answer came {again} times of {asked}.")
    return lines


def _versions(finding: Finding, environment: Mapping[str, str]) -> list[str]:
    told = {finding.target: finding.version, "gradfuzz": __version__, **environment}
    return [f"{markdown(name)} {code(text)}" for name, text in told.items() if name != "started"]


_TRUTH = "Expected values are computed at exactly these inputs, with the bounds that stand beside them."


def _judged(finding: Finding) -> str:
    truth = [_TRUTH] if finding.kind.of_numbers else []
    return " ".join([f"Found by gradfuzz as {code(finding.id)}.", *truth, markdown(words.judged(finding))])
