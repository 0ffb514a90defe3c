"""A finding as the text of an issue: all a maintainer needs to reproduce it, see its extent and check it."""

from __future__ import annotations

from collections.abc import Mapping

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
        instead = (
            f"The script is too long to be shown; {code(f'gradfuzz show {finding.id} --as native')}"
            " prints it."
        )
        text = _text(finding, environment, instead)
    if len(text) <= _LONGEST:
        return text
    return f"{text[:_LONGEST].rpartition(chr(10))[0]}\n\nCut off: the text is too long for an issue.\n"


def title(finding: Finding) -> str:
    """A line of plain text: "torch:eager 2.13.0: the derivative has the wrong sign (vjp, float64)"."""
    return plain.line(
        f"{finding.target} {finding.version}: {words.explanation(finding.kind)} ({finding.check},"
        f" {finding.precision})"
    )


def _text(finding: Finding, environment: Mapping[str, str], script: str) -> str:
    evidence = finding.evidence
    parts = [
        f"# {markdown(title(finding))}",
        "## Description",
        markdown(words.verdict(finding)),
        _asked(finding),
    ]
    parts += ["## Minimal reproducer", sections.definition(finding)]
    if finding.script:
        parts += [
            "The same as a script, which exits with 1 while the bug is there and with 0 when it is fixed:",
            script,
        ]
    parts += ["## Expected and actual", sections.points(finding)]
    shown = sections.characterisation(evidence) if evidence else []
    if shown:
        parts += ["## Characterization", *shown]
    more = _properties(finding)
    if more:
        parts += ["## Additional properties", "\n".join(f"- {line}" for line in more)]
    parts += ["## Versions", "\n".join(f"- {line}" for line in _versions(finding, environment))]
    parts += ["## How this was judged", _judged(finding)]
    parts += ["## Probable cause", markdown(words.cause(finding))]
    return "\n\n".join(parts) + "\n"


def _asked(finding: Finding) -> str:
    by = ", ".join(map(code, finding.wrt))
    asked = f"Asked for: {markdown(finding.check)} in {finding.precision}" + (
        f", by {by}." if by and finding.modes else "."
    )
    right = finding.kind.of_numbers and finding.kind is not Class.WRONG_PRIMAL and "kink" not in finding.note
    return (
        f"{asked} The value of the function is right there; only its derivative is not." if right else asked
    )


def _properties(finding: Finding) -> list[str]:
    lines = sections.properties(finding.evidence) if finding.evidence else []
    if finding.note:
        lines.append(markdown(finding.note))
    again, asked = finding.reproduced
    if words.flaky(finding):
        lines.append(f"Flaky: the wrong answer came {again} times of {asked}.")
    return lines


def _versions(finding: Finding, environment: Mapping[str, str]) -> list[str]:
    told = {finding.target: finding.version, "gradfuzz": __version__, **environment}
    return [f"{markdown(name)} {code(text)}" for name, text in told.items() if name != "started"]


def _judged(finding: Finding) -> str:
    truth = (
        "Expected values are computed at exactly these inputs, with the bounds that stand beside them."
        if finding.kind.of_numbers
        else ""
    )
    return f"Found by gradfuzz as {code(finding.id)}. {truth} {markdown(words.judged(finding))}".replace(
        "  ", " "
    )
