"""When two findings are the same: one system is wrong from one cause, whatever the seed and the path.

The signature of a finding is made from the system and from the cause.

    a planted bug     where the target is a mutant, or a diagnosis names one after a real report as certain or
                      likely
    anything else     the rule of the library that alone differentiates a call; else the function that is
                      called; of a program the ops that are wrong alone, its telling ops, or its loops;
                      what is asked (value, rev, fwd, or the order of the derivative); the group of the class;
                      of an error also what it says

Numbers, shapes, precisions, entry points, releases and folders are not in it. So two bugs merge that one
system has in the same ops, in the same mode and with classes of one group: a wrong sign and a wrong factor,
one of scalars and one of arrays. All that a mutant does wrong is one finding: it has one bug by construction.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from dataclasses import replace

from gradfuzz.fuzzer.results.failure import ENDS
from gradfuzz.fuzzer.results.finding import FINITE, SYSTEMATIC, Class, Finding, Likelihood
from gradfuzz.fuzzer.results.raw import said
from gradfuzz.fuzzer.results.trigger import Trigger
from gradfuzz.oracles.target_name import TargetName, without_folders


def signature(finding: Finding) -> str:
    """64 hex digits that are the same wherever one system is wrong from one cause."""
    return _digest(finding, _own_bug(finding))


def signatures(finding: Finding) -> frozenset[str]:
    """The finding's signature, those of simpler findings of its bug, and those of gradfuzz 0.2, where a rule
    changed on purpose counted, too, a process that ended had always been asked for the value, and each
    function was a bug of its own.
    """
    found = {signature_of(finding), _digest(finding, planted_bug(finding)), *simpler_signatures(finding)}
    if blamed_rule(finding):
        found.add(_digest(replace(finding, rules=()), planted_bug(finding)))
    if finding.note.startswith(ENDS):
        found.add(_digest(replace(finding, modes=()), planted_bug(finding)))
    return frozenset(found)


def _digest(finding: Finding, planted: str) -> str:
    parts = TargetName.of(finding.target).owner, *_cause(finding, planted)
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def signature_of(finding: Finding) -> str:
    """The finding's signature; computed where it has none yet."""
    return finding.signature or signature(finding)


def planted_bug(finding: Finding) -> str:
    """The alias of the planted bug that is the target or is probably the cause; empty without one."""
    name = TargetName.of(finding.target)
    if name.library == "mutant":
        return name.way
    cause = finding.cause
    return cause.mutant if cause is not None and cause.likelihood is not Likelihood.POSSIBLE else ""


def blamed_rule(finding: Finding) -> str:
    """The rule of the library that alone differentiates a wrong call; empty where there is no such rule."""
    is_alone = finding.call is not None and len(finding.rules) == 1 and _question(finding) != "value"
    return finding.rules[0] if is_alone else ""


def simpler_signatures(finding: Finding) -> tuple[str, ...]:
    """The signatures that simpler findings of the same bug have: about a derivative of the call that is wrong
    alike, and about one of the rules that differentiate it, where that is wrong alone.
    """
    if finding.call is None or _question(finding) == "value":
        return ()
    by = [*((rule,) for rule in finding.rules), finding.rules]
    found = [replace(finding, modes=m, rules=rules) for m in (*finding.alike, finding.modes) for rules in by]
    return tuple(dict.fromkeys(one for one in map(signature, found) if one != signature(finding)))


def rule_label(target: str, rule: str) -> str:
    """How reports name a rule to blame."""
    return f"{target}: the rule {rule}"


def short_id(signature: str, taken: Iterable[str]) -> str:
    """An id with as few hex digits as tell the signature from all others, but at least four."""
    others = [other for other in taken if other != signature]
    lengths = range(4, len(signature))
    digits = next((n for n in lengths if not any(o[:n] == signature[:n] for o in others)), len(signature))
    return f"GF-{signature[:digits]}"


def _own_bug(finding: Finding) -> str:
    """The planted bug that makes the signature; empty without one.

    A rule changed on purpose makes none: whether it is certain depends on the points that were asked.
    """
    is_mutant = TargetName.of(finding.target).library == "mutant"
    is_systematic = finding.cause is not None and finding.cause.reported == SYSTEMATIC
    return planted_bug(finding) if is_mutant or not is_systematic else ""


def _cause(finding: Finding, planted: str) -> tuple[str, ...]:
    if planted:
        return "planted bug", planted
    trigger, kind = Trigger.of_finding(finding), finding.kind
    needed = ("ops" if trigger.ops else "loops", *sorted(trigger.ops or trigger.loops))
    if rule := blamed_rule(finding):
        needed = "rule", rule
    words = _said(finding.note) if kind is Class.ERROR else ""
    return " ".join(needed), _question(finding), "wrong numbers" if kind in FINITE else kind.value, words


def _question(finding: Finding) -> str:
    """What is asked: "value", "rev", "fwd", "order 2", and by which way where it is not the usual one."""
    if finding.kind is Class.WRONG_PRIMAL or not finding.modes:
        return "value"
    way = f" by {finding.call.way}" if finding.call is not None and finding.call.way else ""
    return (finding.modes[0] if len(finding.modes) == 1 else f"order {len(finding.modes)}") + way


def _said(note: str) -> str:
    """What an error says. The note of its finding begins with that, and goes on after the first full stop."""
    return re.sub(r"\d+", "", said(without_folders(note.split(". ")[0])))
