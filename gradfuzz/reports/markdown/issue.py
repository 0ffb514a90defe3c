"""A finding as the text of an issue: all a maintainer needs to reproduce it, see its extent and check it."""

from __future__ import annotations

from collections.abc import Mapping

from gradfuzz.fuzzer.results.evidence import Evidence
from gradfuzz.fuzzer.results.finding import Class, Finding
from gradfuzz.oracles.target_name import TargetName
from gradfuzz.reports.common import plain, titles, words
from gradfuzz.reports.common.numbers import pair
from gradfuzz.reports.common.plain import code, fenced, markdown
from gradfuzz.reports.markdown import sections
from gradfuzz.reports.markdown.trackers import TRACKERS, YOURS, Slot, filled
from gradfuzz.version import __version__

_LONGEST = 60_000
"""In characters; GitHub accepts 65,536."""


def issue(finding: Finding, environment: Mapping[str, str] | None = None) -> str:
    """Markdown to paste; the first line is the title. What follows has the headings of the system's tracker.

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


def _text(finding: Finding, environment: Mapping[str, str], script: str) -> str:
    heading, parts = f"# {markdown(titles.heading(finding))}", _parts(finding, environment, script)
    tracker = TRACKERS.get(TargetName.of(finding.target).library)
    if tracker is not None:
        return "\n\n".join([heading, *filled(tracker, parts)]) + "\n"
    blocks = [heading, "## Description", *parts["bug"], "## Minimal reproducer", *parts["code"]]
    blocks += ["## Expected and actual", sections.points(finding), *_further(finding, level=2)]
    blocks += ["## Versions", *parts["versions"]]
    blocks += ["## How this was judged", _judged(finding)]
    return "\n\n".join(blocks) + "\n"


def _parts(finding: Finding, environment: Mapping[str, str], script: str) -> dict[Slot, list[str]]:
    """What the form of a tracker may ask for."""
    has_form = TargetName.of(finding.target).library in TRACKERS
    bug = [markdown(words.verdict(finding)), _asked(finding)]
    bug += filter(None, [markdown(words.cause(finding)), sections.reported(finding)])
    bug += [sections.points(finding)] if has_form else []
    lines = [sections.definition(finding)]
    if short := finding.ports.get("short"):
        lines += ["In a few lines, which print got and expected:", fenced(short, "python")]
    if finding.script:
        told = "The same as a script, which exits with 1 while the bug is there and with 0 when it is fixed:"
        lines += [told, script]
    point = finding.clearest
    expected, got = pair(point.entry_expected, point.entry_got)
    log = finding.note if finding.kind is Class.ERROR else f"got      {got}\nexpected {expected}"
    return {
        "bug": bug,
        "code": lines,
        "right": [markdown(words.verdict(finding))],
        "log": [fenced(log)],
        "versions": [sections.bullets(_versions(finding, environment))],
        "version": [code(finding.version)],
        "python": [_recorded(environment, "python")],
        "os": [_recorded(environment, "platform")],
        "more": [*_further(finding, level=4), _judged(finding)],
    }


def _recorded(environment: Mapping[str, str], name: str) -> str:
    return code(environment[name]) if name in environment else YOURS


def _further(finding: Finding, *, level: int) -> list[str]:
    """Where it shows and where it does not."""
    blocks: list[str] = []
    if shown := sections.characterisation(finding.evidence or Evidence()):
        blocks += [f"{'#' * level} Characterization", *shown]
    if more := _properties(finding):
        blocks += [f"{'#' * level} Additional properties", sections.bullets(more)]
    return blocks


def _asked(finding: Finding) -> str:
    by = f", by {', '.join(map(code, finding.wrt))}" if finding.wrt and finding.modes else ""
    asked = f"Asked for: {markdown(words.asked(finding))} in {finding.precision}{by}."
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
