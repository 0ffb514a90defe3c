"""A sweep as JUnit XML for continuous integration: a suite for each target and family.

A finding is a failed case. Findings that the baseline accepts, unsupported checks and inconclusive checks are
skipped cases with a reason. Agreeing checks are a passed case. The names of cases are the same in every run,
so that a history can be kept. No standard is published; this keeps to what the common consumers share: suites
of properties and cases, a case with at most one of failure and skipped, and system-out.
"""

from __future__ import annotations

from xml.etree import ElementTree as Xml

from gradfuzz.fuzzer.results.events import SweepFinished, TargetSummary
from gradfuzz.fuzzer.results.finding import Finding
from gradfuzz.fuzzer.results.review import Review
from gradfuzz.reports.common import account, plain, tables, titles, words
from gradfuzz.reports.common.headline import work
from gradfuzz.reports.common.numbers import count
from gradfuzz.reports.common.standing import Standing, Standings, opening


def render(finished: SweepFinished, review: Review | None) -> str:
    """The document with its declaration. Its text is inert, so every XML parser accepts it."""
    finished, review = plain.inert(finished), plain.inert(review)
    root = Xml.Element("testsuites", name="gradfuzz", time=f"{finished.seconds:.3f}")
    for summary in finished.summaries:
        found = [f for f in finished.findings if f.target == summary.name and f.family == summary.family]
        root.append(_suite(finished, review, summary, found))
    ways = {(summary.name, summary.family) for summary in finished.summaries}
    others = [f for f in finished.findings if (f.target, f.family) not in ways]
    if others:
        root.append(_suite(finished, review, None, others))
    if (kept := _baseline(finished, review)) is not None:
        root.append(kept)
    for key in ("tests", "failures", "errors", "skipped"):
        root.set(key, str(sum(int(suite.get(key, "0")) for suite in root)))
    Xml.indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{Xml.tostring(root, encoding="unicode")}\n'


def _suite(
    finished: SweepFinished, review: Review | None, summary: TargetSummary | None, found: list[Finding]
) -> Xml.Element:
    """The suite of one way and family; without a summary that of findings of ways that are not counted."""
    name = f"{summary.name} {summary.family}" if summary else "others"
    suite = Xml.Element("testsuite", name=name)
    more = {"version": summary.version, "worst agreeing": f"{summary.worst_agreeing:.3g}"} if summary else {}
    _properties(suite, finished, review, more)
    standings = Standings(review)
    for finding in found:
        _finding(suite, finding, standings.of(finding))
    if summary is not None:
        _counts(suite, summary)
    return _counted(suite)


def _properties(
    suite: Xml.Element, finished: SweepFinished, review: Review | None, more: dict[str, str]
) -> None:
    properties = Xml.SubElement(suite, "properties")
    values = {
        "seed": str(finished.seed),
        "rerun": finished.rerun,
        "result": f"{opening(finished, review)} {work(finished)}",
        "asked": "; ".join(account.asked(finished)),
    }
    for name, value in {**values, **more, **finished.environment}.items():
        Xml.SubElement(properties, "property", name=name, value=value)


def _case(suite: Xml.Element, group: str, name: str) -> Xml.Element:
    return Xml.SubElement(suite, "testcase", classname=group, name=name, time="0")


def _case_of(suite: Xml.Element, finding: Finding) -> Xml.Element:
    name = f"{finding.id} {titles.asked(finding)} ({finding.precision})"
    return _case(suite, f"{finding.target}.{finding.family}", name)


def _finding(suite: Xml.Element, finding: Finding, standing: Standing) -> None:
    case, text = _case_of(suite, finding), _text(finding)
    if standing.word == "known":
        _skipped(case, f"known: {standing.reason}{f' ({standing.link})' if standing.link else ''}")
        _told(case, text)
    else:
        Xml.SubElement(
            case,
            "failure",
            type=finding.kind.value,
            message=f"{titles.title(finding)}; {words.in_short(finding)}",
        ).text = text


def _text(finding: Finding) -> str:
    """The finding as text, with its script."""
    lines = [plain.source(finding)]
    for row in tables.points(finding):
        by = f" by {row.by}" if row.by else ""
        numbers = f"expected {row.expected} ({row.bound}){by}, got {row.got}, ratio {row.ratio}"
        lines.append(f"{row.names}: at {row.inputs} {numbers}")
    told = words.verdict(finding), words.cause(finding), words.judged(finding), words.reported(finding)
    lines += filter(None, told)
    if finding.note:
        lines.append(f"Where it shows: {finding.note}")
    lines += filter(None, [words.failed(finding)])
    for table in tables.tables(finding.evidence.variants if finding.evidence else ()):
        lines.append(f"{table.title}:")
        for r in table.rows:
            numbers = f"expected {r.expected}, got {r.got}: " if r.expected and r.got else ""
            what = ", ".join(filter(None, [r.group if table.grouped else "", r.name, r.at]))
            lines.append(f"  {what}: {numbers}{r.mark.word}")
    if finding.script:
        lines += ["A script that shows it without gradfuzz:", "", finding.script.rstrip()]
    return "\n".join(lines) + "\n"


def _counts(suite: Xml.Element, summary: TargetSummary) -> None:
    """The cases of agreeing checks and of checks without a verdict."""
    group = f"{summary.name}.{summary.family}"
    agree = _case(suite, group, "checks that agree")
    total = f"{summary.agree:,} of {count(summary.checks, 'check')} agree"
    if summary.agree:
        _told(agree, f"{total}; the largest error is {summary.worst_agreeing:.3g} of what was allowed.")
    else:
        _skipped(agree, total)
    for name, n, why in (
        ("unsupported", summary.unsupported, "the target cannot be asked this"),
        ("convention", summary.convention, "there is no derivative, or a limit is documented"),
    ):
        if n:
            _skipped(_case(suite, group, name), f"{count(n, 'check')}: {why}")
    for reason, n in summary.inconclusive.items():
        _skipped(_case(suite, group, f"inconclusive: {reason.value}"), count(n, "check"))


def _baseline(finished: SweepFinished, review: Review | None) -> Xml.Element | None:
    """The suite of fixed findings and stale baseline entries; None where there are none."""
    if review is None or not (review.fixed or review.stale):
        return None
    suite = Xml.Element("testsuite", name="fixed")
    _properties(suite, finished, review, {})
    for finding in review.fixed:
        _told(_case_of(suite, finding), "Fixed since it was recorded.")
    for heading, lines in account.remembered(Review(stale=review.stale)):
        for entry, line in zip(review.stale, lines, strict=True):
            _told(_case(suite, "baseline", entry.id), f"{heading}: {line}")
    return _counted(suite)


def _told(case: Xml.Element, text: str) -> None:
    Xml.SubElement(case, "system-out").text = text


def _skipped(case: Xml.Element, message: str) -> None:
    Xml.SubElement(case, "skipped", message=message)


def _counted(suite: Xml.Element) -> Xml.Element:
    """The suite with its counts as attributes."""
    cases = suite.findall("testcase")
    suite.set("tests", str(len(cases)))
    suite.set("failures", str(sum(case.find("failure") is not None for case in cases)))
    suite.set("errors", "0")
    suite.set("skipped", str(sum(case.find("skipped") is not None for case in cases)))
    suite.set("time", "0")
    return suite
