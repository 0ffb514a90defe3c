"""A sweep as SARIF 2.1.0 (OASIS, Static Analysis Results Interchange Format), for code scanning.

A rule is a class of disagreement, a result is a finding. Its logical location is the way and the check; its
physical one (`place`), which GitHub demands of every result, is a line of a file. `partialFingerprints` hold
the finding's signature, which is the same in every run. With a review each result has its baseline state
(section 3.27.24): "new", "unchanged" where it was recorded before or the baseline names it, "absent" where it
is fixed. Findings that the baseline accepts are suppressed.
"""

from __future__ import annotations

import datetime
import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import quote

from gradfuzz.fuzzer.results.events import SweepFinished
from gradfuzz.fuzzer.results.finding import Class, Finding
from gradfuzz.fuzzer.results.identity import signature_of
from gradfuzz.fuzzer.results.known_reports import reports_of
from gradfuzz.fuzzer.results.review import Review
from gradfuzz.reports.common import account, plain, words
from gradfuzz.reports.common.headline import own_faults, work
from gradfuzz.reports.common.standing import Standing, Standings, opening
from gradfuzz.reports.common.summary import group
from gradfuzz.reports.machine.json import finding_document, sweep_document
from gradfuzz.reports.machine.place import place
from gradfuzz.reports.terminal.concise import line
from gradfuzz.version import __version__

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"

Json = Any

_FINGERPRINTS = ("gradfuzzSignature/v2", "primaryLocationLineHash")
"""GitHub reads the last alone. Without it the findings of a rule at one line would be one alert."""

_LONG = frozenset({"evidence", "ports"})
"""Fields that a result's properties lack: collectors accept a few megabytes in all."""

_HELP: dict[Class, str] = {
    Class.SIGN_FLIP: "A step along this derivative leads away from the optimum.",
    Class.RATIO_BLOWUP: (
        "Steps along this derivative are far too long; near zeros of the true derivative their direction is"
        " meaningless."
    ),
    Class.MISSING: "A contribution is lost: nothing is learnt from this input.",
    Class.SPURIOUS: "A contribution is made up: something is learnt from an input that has no influence.",
    Class.WRONG_VALUE: (
        "The derivative is wrong by more than rounding allows: neither ten times too large, nor zero, nor of"
        " the other sign and like size. The message has the ratio."
    ),
    Class.NON_FINITE: "One such answer makes every parameter NaN at the next step.",
    Class.WRONG_PRIMAL: "The value is wrong before anything is differentiated.",
    Class.WRONG_SHAPE: (
        "A derivative has the shape of the input that it belongs to, or of the output in forward mode."
    ),
    Class.WRONG_DTYPE: (
        "A derivative has the dtype of the input that it belongs to, or of the output in forward mode."
    ),
    Class.ERROR: "The program is in the supported language, its derivative exists, and asking for it raises.",
    Class.WRONG_RULE: (
        "The derivative that the library would run, evaluated in exact numbers, is not the derivative. In"
        " numbers of the dtype rounding would hide it."
    ),
    Class.PRECISION: (
        "Some digits are right, and fewer than rounding leaves: the rule may be right, and the way to compute"
        " it is not."
    ),
}
_JUDGED = (
    "The expected derivative is known to a bound, at inputs that are exact in the target's dtype, and the"
    " error is beyond what rounding can explain. The result's properties hold the program, the points, and a"
    " script that shows it without gradfuzz and exits with 1 while the bug is there."
)


def render(finished: SweepFinished, review: Review | None) -> str:
    """The log as text: ASCII, and without blanks, which would be most of it."""
    return json.dumps(sarif_document(finished, review), separators=(",", ":"), allow_nan=False) + "\n"


def sarif_document(finished: SweepFinished, review: Review | None) -> dict[str, Json]:
    finished, review = plain.inert(finished), plain.inert(review)
    standings = Standings(review)
    reviewed = review is not None
    results = [_result(f, standings.of(f), reviewed=reviewed) for f in finished.findings]
    results += map(_absent, review.fixed) if review else ()
    targets = "+".join(group(finished.summaries)) or "nothing"
    driver = {"name": "gradfuzz", "version": __version__, "semanticVersion": __version__, "rules": _rules()}
    name = f"gradfuzz/{targets}/seed-{finished.seed}"
    properties = sweep_document(replace(finished, findings=(), clusters=(), functions=()))
    for key in ("findings", "clusters", "functions", "review"):
        del properties[key]
    run = {
        "tool": {"driver": driver},
        "automationDetails": {"id": name, "description": _message(opening(finished, review))},
        "invocations": [_invocation(finished, review)],
        "results": results,
        "columnKind": "unicodeCodePoints",
        "properties": properties,
    }
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def _rules() -> list[Json]:
    """All classes, so that a rule has the same index in every run."""
    return [
        {
            "id": kind.value,
            "name": "Gradient" + "".join(part.capitalize() for part in kind.value.split("_")),
            "shortDescription": {"text": words.sentence(words.EXPLANATIONS[kind])},
            "fullDescription": {"text": f"{words.sentence(words.EXPLANATIONS[kind])} {_HELP[kind]}"},
            "help": {"text": f"{_HELP[kind]} {_JUDGED}", "markdown": f"{_HELP[kind]}\n\n{_JUDGED}"},
            "defaultConfiguration": {"level": "error"},
            "properties": {
                "tags": ["correctness", "automatic differentiation"],
                "precision": "high",
                "problem.severity": "error",
            },
        }
        for kind in Class
    ]


def _invocation(finished: SweepFinished, review: Review | None) -> Json:
    """How the sweep ran. Expired and stale entries of the baseline are configuration notifications."""
    asked = Review(expired=review.expired, stale=review.stale) if review else None
    about = [_warning(f"{heading}: {line}") for heading, lines in account.remembered(asked) for line in lines]
    ended = [] if finished.complete else [_warning(work(finished))]
    ended += [{**_warning(told), "level": "error"}] if (told := own_faults(finished)) else []
    invocation: dict[str, Json] = {
        "executionSuccessful": finished.complete and not finished.interrupted,
        "commandLine": finished.rerun,
        "toolExecutionNotifications": ended,
        "toolConfigurationNotifications": about,
        "properties": {
            "seconds": round(finished.seconds, 3),
            "asked": account.asked(finished),
            "environment": dict(finished.environment),
        },
    }
    started = _instant(finished.environment.get("started", ""))
    if started is not None:
        end = started + datetime.timedelta(seconds=finished.seconds)
        invocation |= {"startTimeUtc": _utc(started), "endTimeUtc": _utc(end)}
    return invocation


def _warning(text: str) -> Json:
    return {"level": "warning", "message": _message(text)}


def _message(text: str) -> Json:
    """A literal message: braces are doubled (section 3.11.5), apparent links (3.11.6) broken up."""
    return {"text": text.replace("{", "{{").replace("}", "}}").replace("](", "] (")}


def _instant(text: str) -> datetime.datetime | None:
    try:
        instant = datetime.datetime.fromisoformat(text)
    except ValueError:
        return None
    return instant.astimezone(datetime.UTC) if instant.tzinfo else instant.replace(tzinfo=datetime.UTC)


def _utc(instant: datetime.datetime) -> str:
    return instant.strftime("%Y-%m-%dT%H:%M:%SZ")


def _result(finding: Finding, standing: Standing, *, reviewed: bool) -> dict[str, Json]:
    result: dict[str, Json] = {
        "ruleId": finding.kind.value,
        "ruleIndex": finding.kind.severity,
        "kind": "fail",
        "level": "warning" if words.flaky(finding) else "error",
        "message": _message(f"{line(finding)}. {words.verdict(finding)} {words.cause(finding)}".rstrip()),
        "locations": [{"physicalLocation": _physical(finding), "logicalLocations": [_logical(finding)]}],
        "partialFingerprints": dict.fromkeys(_FINGERPRINTS, signature_of(finding)),
        "occurrenceCount": finding.seen,
        "properties": _properties(finding),
    }
    items = [report.link for report in reports_of(finding)]
    if reviewed:
        result["baselineState"] = "new" if standing.word == "new" else "unchanged"
        accepted = {"kind": "external", "status": "accepted", "justification": standing.reason}
        result["suppressions"] = [accepted] if standing.word == "known" else []
        items += [standing.link] if standing.link and standing.link not in items else []
    if items:
        result["workItemUris"] = items
    return result


def _absent(finding: Finding) -> dict[str, Json]:
    """A finding of an earlier sweep that is fixed."""
    return {**_result(finding, Standing(), reviewed=False), "baselineState": "absent", "suppressions": []}


def _physical(finding: Finding) -> Json:
    """The file, and the beginning of the line."""
    path, line = place(finding)
    region = {"startLine": line, "startColumn": 1, "endLine": line, "endColumn": 1}
    return {"artifactLocation": {"uri": quote(path), "uriBaseId": "%SRCROOT%"}, "region": region}


def _logical(finding: Finding) -> Json:
    """Way, check and precision, as in torch:eager/vjp/float64."""
    name = f"{finding.target}/{words.asked(finding)}/{finding.precision}"
    return {"name": finding.target, "fullyQualifiedName": name, "kind": "function"}


def _properties(finding: Finding) -> Mapping[str, Json]:
    """The finding's fields in the JSON document, without long fields that are only for people."""
    found = finding_document(finding)
    found |= {"program": plain.source(finding), "original": plain.drawn_source(finding)}
    return {
        key: value for key, value in found.items() if key not in _LONG and value not in (None, "", [], {})
    }
