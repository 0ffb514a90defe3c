"""The findings that are accepted for now, in a file beside the code, made to be committed.

Strict JSON. An entry accepts one finding, which it names by its signature: it says why, and until when. The
finding itself is in the store, from which it can be asked about again; files of an older gradfuzz have it in
the entry. A rule accepts whatever fits its globs:

    {"accept": {"target": "torch*", "op": "solve"}, "reason": "reported", "expires": "2027-03-01"}
"""

from __future__ import annotations

import contextlib
import dataclasses
import datetime
import difflib
import json
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from gradfuzz.errors import RecordError, StoreError, UsageError
from gradfuzz.fuzzer.results.finding import Class, Finding
from gradfuzz.fuzzer.results.identity import blamed_rule, planted_bug, rule_label, signature_of, signatures
from gradfuzz.fuzzer.results.known_reports import KNOWN_REPORTS, reports_of
from gradfuzz.fuzzer.results.records import from_document, load, to_document
from gradfuzz.fuzzer.results.review import Accepted, Baseline, BaselineEntry, Pattern, Rule
from gradfuzz.fuzzer.results.shown import functions
from gradfuzz.fuzzer.results.trigger import FORMS, Trigger
from gradfuzz.oracles.mutants.registry import MUTANTS
from gradfuzz.programs.language.ops import OPS

FILE = Path("gradfuzz-baseline.json")
"""Its path, relative to the current directory."""


def read(path: Path = FILE) -> Baseline:
    """The baseline in the file; an empty one without a file. `RecordError` for an invalid file."""
    baseline = from_document(load(path), Baseline, str(path)) if path.exists() else Baseline()
    for k, rule in enumerate(baseline.rules):
        wrong = _wrong_with(rule)
        if wrong:
            raise RecordError(f"{path}: rules[{k}]: {wrong}")
    return baseline


def write(baseline: Baseline, path: Path = FILE) -> None:
    """Replaces the file in one step. `StoreError` where it cannot be written."""
    text = json.dumps(to_document(baseline), indent=2, allow_nan=False) + "\n"
    aside = path.with_name(f"{path.name}.new")
    try:
        aside.write_text(text, encoding="utf-8")
        aside.replace(path)
    except OSError as error:
        with contextlib.suppress(OSError):
            aside.unlink()
        raise StoreError(f"{path}: the baseline cannot be written: {error.strerror or error}") from error


# Changes ----------------------------------------------------------------------------------------------------


def added(baseline: Baseline, finding: Finding, entry: BaselineEntry) -> Baseline:
    """The baseline with the finding accepted; an earlier entry for it is replaced."""
    others = [item for item in baseline.accepted if entry.signature not in _signatures(item)]
    items = sorted(
        [*others, Accepted(entry, what=_what(finding))], key=lambda item: (item.entry.target, item.entry.id)
    )
    return dataclasses.replace(baseline, accepted=tuple(items))


def _what(finding: Finding) -> str:
    trigger = Trigger.of_finding(finding)
    needed = ", ".join(sorted(trigger.ops or trigger.loops))
    return f"{finding.kind.value}{f' in {needed}' if needed else ''}, {finding.check}"


def with_rule(baseline: Baseline, rule: Rule) -> Baseline:
    """The baseline with the rule; an earlier rule with the same globs is replaced."""
    others = [other for other in baseline.rules if other.accept != rule.accept]
    return dataclasses.replace(baseline, rules=(*others, rule))


def entry_of(
    finding: Finding, reason: str, link: str = "", expires: datetime.date | None = None
) -> BaselineEntry:
    """An entry that accepts the finding. `UsageError` where it would accept nothing or has no reason."""
    _check(reason, expires)
    return BaselineEntry(finding.id, signature_of(finding), finding.target, reason.strip(), link, expires)


def rule_of(accept: Pattern, reason: str, link: str = "", expires: datetime.date | None = None) -> Rule:
    """A rule. `UsageError` where it would accept nothing or has no reason."""
    _check(reason, expires)
    rule = Rule(accept, reason.strip(), link, expires)
    wrong = _wrong_with(rule)
    if wrong:
        raise UsageError(wrong)
    return rule


def _check(reason: str, expires: datetime.date | None) -> None:
    if not reason.strip():
        raise UsageError("a baseline entry needs a reason: --reason 'reported, see the link'")
    if expires is not None and expires <= datetime.datetime.now(datetime.UTC).date():
        first_day = "that is the first day on which the finding counts again"
        raise UsageError(f"--expires {expires} is over: {first_day}")


def removed(baseline: Baseline, entry: BaselineEntry) -> Baseline:
    """The baseline without the entry."""
    accepted = tuple(item for item in baseline.accepted if item.entry != entry)
    return dataclasses.replace(baseline, accepted=accepted)


def without_rule(baseline: Baseline, accept: Pattern) -> Baseline:
    """The baseline without the rule of these globs. `UsageError` where it has none."""
    rules = tuple(rule for rule in baseline.rules if rule.accept != accept)
    if len(rules) == len(baseline.rules):
        there = "; ".join(in_words(rule.accept) for rule in rules) or "it has none"
        raise UsageError(f"no rule accepts {in_words(accept)}; the rules are: {there}")
    return dataclasses.replace(baseline, rules=rules)


# What accepts what ------------------------------------------------------------------------------------------


def accepts(entry: BaselineEntry, today: datetime.date) -> bool:
    """Whether the entry still accepts: it stops on the day on which it expires."""
    return entry.expires is None or today < entry.expires


def standing(
    baseline: Baseline, findings: Sequence[Finding], today: datetime.date
) -> tuple[tuple[BaselineEntry, ...], tuple[BaselineEntry, ...]]:
    """The entries that accept findings, and those that no longer do; at most one for each finding.

    Each has the id and the signature of its finding. A rule makes an entry for each finding that it fits.
    What accepts a finding goes before what has expired, and an entry of its own before a rule.
    """
    known: dict[str, BaselineEntry] = {}
    expired: dict[str, BaselineEntry] = {}
    for entry in _entries(baseline, findings):
        (known if accepts(entry, today) else expired).setdefault(entry.signature, entry)
    no_longer = tuple(entry for signature, entry in expired.items() if signature not in known)
    return tuple(known.values()), no_longer


def matches(item: Accepted, finding: Finding) -> bool:
    """Whether the item is about the finding. The item of an older gradfuzz has a signature of another kind:
    the one that its finding has now counts, too.
    """
    return not signatures(finding).isdisjoint(_signatures(item))


def fits(finding: Finding, accept: Pattern) -> bool:
    """Whether a finding fits every glob of a rule."""
    trigger = Trigger.of_finding(finding)
    pairs: Iterable[tuple[str | None, Iterable[str]]] = (
        (accept.id, [finding.id]),
        (accept.target, [finding.target]),
        (accept.op, trigger.ops | trigger.loops),
        (accept.cause, _causes(finding)),
        (accept.kind, [finding.kind.value]),
        (accept.function, functions(finding)),
        (accept.report, [report.name for report in reports_of(finding)]),
    )
    return all(glob is None or any(fnmatchcase(text, glob) for text in texts) for glob, texts in pairs)


def _causes(finding: Finding) -> list[str]:
    """The names of what is wrong, as reports print them."""
    rule = blamed_rule(finding)
    return [
        *filter(None, [planted_bug(finding), rule]),
        *([rule_label(finding.target, rule)] if rule else []),
    ]


def check_rule(rule: Rule, recorded: Iterable[Finding]) -> None:
    """`UsageError` where the rule names a function or a cause that no recorded finding has. The aliases of
    planted bugs are known without one.
    """
    found = list(recorded)
    named: tuple[tuple[str, str | None, set[str]], ...] = (
        ("function", rule.accept.function, {name for one in found for name in functions(one)}),
        (
            "cause",
            rule.accept.cause,
            {name for one in found for name in _causes(one)} | {row.alias for row in MUTANTS},
        ),
    )
    for what, glob, known in named:
        if glob is not None and not any(fnmatchcase(text, glob) for text in known):
            near = ", ".join(difflib.get_close_matches(glob, sorted(known), n=3, cutoff=0.0)) or "none"
            wrong = f"no recorded finding has the {what} {glob!r}, so the rule accepts nothing"
            raise UsageError(f"{wrong}; the nearest are {near}")


def concerns(accept: Pattern, target: str) -> bool:
    """Whether a rule may accept findings of the target."""
    return accept.target is None or fnmatchcase(target, accept.target)


def _entries(baseline: Baseline, findings: Sequence[Finding]) -> Iterator[BaselineEntry]:
    for item in baseline.accepted:
        for finding in findings:
            if matches(item, finding):
                yield dataclasses.replace(item.entry, id=finding.id, signature=signature_of(finding))
    for rule in baseline.rules:
        for finding in findings:
            if fits(finding, rule.accept):
                whose = finding.id, signature_of(finding), finding.target
                yield BaselineEntry(*whose, rule.reason, rule.link, rule.expires)


def _signatures(item: Accepted) -> set[str]:
    found = () if item.finding is None else (signature_of(item.finding),)
    return {item.entry.signature, *found}


# Rules ------------------------------------------------------------------------------------------------------


def in_words(accept: Pattern) -> str:
    """As in "target torch*, op solve"."""
    return ", ".join(f"{name} {glob}" for name, glob in _globs(accept).items())


def _globs(accept: Pattern) -> dict[str, str]:
    names = {"id": accept.id, "target": accept.target, "op": accept.op}
    names |= {"cause": accept.cause, "class": accept.kind}
    names |= {"function": accept.function, "report": accept.report}
    return {name: glob for name, glob in names.items() if glob is not None}


def _wrong_with(rule: Rule) -> str:
    """Why the rule is none; empty for one that is."""
    globs = _globs(rule.accept)
    if not globs:
        names = "an id, target, op, function, cause, class or report"
        return f"a rule that names nothing accepts everything; give it {names}"
    if set(globs) == {"id"} and fnmatchcase("GF-0f", globs["id"]):
        return (
            f"id {globs['id']!r} accepts every finding that ever comes; --all accepts those that are recorded"
        )
    if not rule.reason.strip():
        return (
            f"the rule for {in_words(rule.accept)} has no reason; write one, as in 'reported, see the link'"
        )
    for name, known in (
        ("op", [*OPS, *FORMS.values()]),
        ("class", [kind.value for kind in Class]),
        ("report", [report.name for report in KNOWN_REPORTS]),
    ):
        if name in globs and not any(fnmatchcase(text, globs[name]) for text in known):
            near = ", ".join(difflib.get_close_matches(globs[name], known, n=3, cutoff=0.0))
            more = f"; --function {globs[name]} is for a library's function" if "." in globs[name] else ""
            return (
                f"no {name} fits {globs[name]!r}, so the rule accepts nothing; the nearest are {near}{more}"
            )
    return ""
