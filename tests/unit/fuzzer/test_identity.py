"""Identity: a finding has one id wherever one system is wrong from one cause, and another one elsewhere. What
the baseline accepts by that, and by rule.
"""

from __future__ import annotations

import datetime
import hashlib
import itertools
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gradfuzz.errors import RecordError, UsageError
from gradfuzz.fuzzer.findings.prove import FindingProof
from gradfuzz.fuzzer.results.events import SweepFinished
from gradfuzz.fuzzer.results.finding import SYSTEMATIC, Cause, Class, Finding, Likelihood
from gradfuzz.fuzzer.results.identity import planted_bug, signature
from gradfuzz.fuzzer.results.raw import Raw
from gradfuzz.fuzzer.results.records import from_document, load
from gradfuzz.fuzzer.results.review import Baseline, BaselineEntry, Pattern, Rule
from gradfuzz.fuzzer.store import baseline
from gradfuzz.fuzzer.sweep.reviewing import counted, review
from gradfuzz.fuzzer.sweep.totals import Totals
from gradfuzz.programs import parse
from gradfuzz.reports.machine.json import baseline_document

DATA = Path(__file__).parents[2] / "data"
MUTANT = from_document(load(DATA / "finding.json"), Finding, "one")
OLD = DATA / "baseline_schema_3.json"
"""As of gradfuzz 0.2, with the whole finding: a wrong rule of `sin`."""

TODAY = datetime.date(2026, 3, 1)


def at_fault(body: str, **changes: Any) -> Finding:
    """A finding of a library about one expression of x, and without a cause."""
    program = parse(f"def f(x):\n    return {body}\n")
    given: dict[str, Any] = {
        "program": program,
        "target": "torch:eager",
        "cause": None,
        "modes": ("rev",),
        "kind": Class.SIGN_FLIP,
    }
    return replace(MUTANT, **{**given, **changes})


def looping(form: str) -> Finding:
    head = {"for": "for i in range(3)", "repeat": "while acc < 9.0"}[form]
    program = parse(f"def f(x):\n    acc = 1.0\n    {head}:\n        acc = acc + x\n    return acc\n")
    return at_fault("x", program=program)


def cause(mutant: str, likelihood: Likelihood) -> Cause:
    return Cause(mutant, likelihood, f"what {mutant} does", "a report")


LIKELY = cause("last-trip-only", Likelihood.LIKELY)
SIN = at_fault("sin(x)")

# Signatures -------------------------------------------------------------------------------------------------

SAME = {
    "programs": [SIN, at_fault("sin(x * 2.0)"), at_fault("3.0 + sin(x) * x")],
    "ways and releases": [SIN, at_fault("sin(x)", target="torch==2.1:func")],
    "ops that are wrong alone": [
        at_fault("x * 2.0", culprits=("multiply",)),
        at_fault("sin(x) + x * -1.0", culprits=("multiply",)),
    ],
    "classes of wrong numbers": [
        at_fault("sin(x)", kind=kind)
        for kind in (Class.SIGN_FLIP, Class.RATIO_BLOWUP, Class.MISSING, Class.SPURIOUS, Class.WRONG_VALUE)
    ],
    "precisions": [SIN, at_fault("sin(x)", precision="float32")],
    "modes of one order": [at_fault("sin(x)", modes=modes) for modes in (("rev", "fwd"), ("fwd", "fwd"))],
    "notes": [SIN, at_fault("sin(x)", note="Of the loop forms, wrong: for loop.")],
    "causes, certain or likely": [
        at_fault("sin(x)", cause=LIKELY),
        at_fault("exp(x)", cause=cause("last-trip-only", Likelihood.CERTAIN), kind=Class.NON_FINITE),
    ],
    "causes that are only possible": [
        SIN,
        at_fault("sin(x)", cause=cause("last-trip-only", Likelihood.POSSIBLE)),
    ],
    "rules changed on purpose that look like it": [
        SIN,
        *(
            at_fault("sin(x)", cause=Cause(f"vjp.sin.0.{mistake}", likelihood, "", SYSTEMATIC))
            for mistake, likelihood in (("sign", Likelihood.LIKELY), ("dropped", Likelihood.CERTAIN))
        ),
    ],
    "all of a mutant": [
        MUTANT,
        replace(MUTANT, cause=LIKELY, kind=Class.NON_FINITE, modes=("fwd",), program=SIN.program),
    ],
    "wrong values in any mode": [
        at_fault("sin(x)", kind=Class.WRONG_PRIMAL, modes=modes) for modes in ((), ("rev",))
    ],
    "errors with other numbers": [
        at_fault("sin(x)", kind=Class.ERROR, note=note)
        for note in (
            "ValueError: shape 3 is bad here. Answered in one call with 2 more points.",
            "ValueError: shape 7 is bad. Also error as jvp of torch:eager.",
        )
    ],
    "commands, wherever they lie": [
        at_fault("sin(x)", target=target)
        for target in (
            "cmd:python adapter.py",
            "cmd:/usr/bin/python /home/a/adapter.py",
            "cmd:python 'my folder/adapter.py'",
            "cmd:python ../adapter.py#fast",
            "cmd:python ./adapter.py#slow:nojit",
        )
    ],
    "errors of commands, wherever they lie": [
        at_fault("sin(x)", kind=Class.ERROR, note=f"{folder}adapter.py: it ended.")
        for folder in ("", "/a/b/", "c/")
    ],
}


@pytest.mark.parametrize("findings", SAME.values(), ids=SAME)
def test_one_cause_is_one_finding(findings: list[Finding]) -> None:
    assert len({signature(finding) for finding in findings}) == 1


OTHERS = [
    SIN,
    at_fault("exp(x)"),
    at_fault("sin(exp(x))"),
    at_fault("x * x"),
    at_fault("sin(exp(x))", culprits=("multiply", "add")),
    looping("for"),
    looping("repeat"),
    at_fault("sin(x)", modes=("fwd",)),
    at_fault("sin(x)", modes=("rev", "fwd")),
    at_fault("sin(x)", modes=("rev", "fwd", "fwd")),
    at_fault("sin(x)", modes=()),
    at_fault("sin(x)", kind=Class.NON_FINITE),
    at_fault("sin(x)", kind=Class.WRONG_PRIMAL),
    at_fault("sin(x)", kind=Class.WRONG_SHAPE),
    at_fault("sin(x)", kind=Class.WRONG_DTYPE),
    at_fault("sin(x)", kind=Class.ERROR, note="ValueError: shape 3 is bad."),
    at_fault("sin(x)", kind=Class.ERROR, note="ValueError: no such op."),
    at_fault("sin(x)", kind=Class.ERROR, note="TypeError: shape 3 is bad."),
    at_fault("sin(x)", target="jax:scan"),
    at_fault("sin(x)", target="cmd:python one.py"),
    at_fault("sin(x)", target="cmd:python two.py"),
    at_fault("sin(x)", target="cmd:python two.py --fast"),
    at_fault("sin(x)", cause=LIKELY),
    at_fault("sin(x)", cause=cause("used-after", Likelihood.LIKELY)),
    MUTANT,
    replace(MUTANT, target="mutant:used-after"),
]


def test_another_cause_is_another_finding() -> None:
    pairs = itertools.combinations(OTHERS, 2)
    assert [k for k, (one, other) in enumerate(pairs) if signature(one) == signature(other)] == []


def test_two_ways_of_a_command_are_one_finding_of_a_sweep() -> None:
    ways = [f"cmd:python a.py#{way}" for way in ("fast", "slow")]
    totals = Totals([(way, "1") for way in ways], ["loops"])
    for index, way in enumerate(ways):
        finding = at_fault("sin(x)", target=way, seen=1)
        case: Any = None  # a finding stands for itself
        totals.settle(Raw(case, "loops", index), FindingProof(replace(finding, id=signature(finding))))
    (merged,) = totals.findings()
    assert (merged.target, merged.seen, merged.id) == (ways[0], 2, f"GF-{merged.signature[:4]}")
    assert merged.note.endswith(f"Also sign_flip as vjp of {ways[1]}.")
    assert merged.signature == signature(merged), "it can be computed anew from what is recorded"


def test_the_planted_bug_of_a_finding() -> None:
    assert planted_bug(MUTANT) == "nx-1747", "a mutant is its own cause"
    assert planted_bug(replace(MUTANT, cause=LIKELY)) == "nx-1747"
    assert planted_bug(at_fault("x", cause=LIKELY)) == "last-trip-only"
    assert planted_bug(at_fault("x", cause=cause("used-after", Likelihood.POSSIBLE))) == ""


# What an older gradfuzz wrote -------------------------------------------------------------------------------


def test_a_baseline_of_an_older_gradfuzz_still_accepts() -> None:
    """An exp of the same target is another finding."""
    known = baseline.read(OLD)
    old = known.accepted[0].finding
    met = replace(old, id="GF-1111", program=SIN.program, kind=Class.MISSING)
    other = replace(met, id="GF-2222", program=at_fault("exp(x)").program)
    accepted, expired = baseline.standing(known, [met, other], TODAY)
    assert ([e.id for e in accepted], expired) == (["GF-1111"], ())
    assert accepted[0].link == "https://example.org/1"


def test_an_id_that_a_rule_changed_on_purpose_made_is_still_accepted() -> None:
    """gradfuzz 0.2 gave "planted bug", "vjp.sin.0.sign" in the place of the op."""
    met = at_fault("sin(x)", cause=Cause("vjp.sin.0.sign", Likelihood.LIKELY, "", SYSTEMATIC))
    former = hashlib.sha256(b"torch\nplanted bug\nvjp.sin.0.sign").hexdigest()
    assert signature(met) != former
    known = replace(
        baseline.read(OLD).accepted[0], entry=BaselineEntry("GF-1", former, "torch:eager", "known")
    )
    assert baseline.matches(replace(known, finding=None), met)


def test_the_signature_that_an_entry_has_counts_as_well() -> None:
    known = baseline.read(OLD)
    entry = known.accepted[0].entry
    same = replace(at_fault("exp(x)"), signature=entry.signature)
    assert baseline.standing(known, [same], TODAY)[0]


def test_accepting_anew_replaces_entries_of_an_older_gradfuzz() -> None:
    known = baseline.read(OLD)
    met = replace(known.accepted[0].finding, id="GF-1111")
    known = baseline.added(known, met, baseline.entry_of(met, "again"))
    assert [item.entry.reason for item in known.accepted] == ["again"]


# Rules ------------------------------------------------------------------------------------------------------

SOLVING = "def f(a: 'float[2, 2]', b: 'float[2]'):\n    return sum(solve(a, b))\n"
SOLVED = at_fault("x", id="GF-1234", program=parse(SOLVING))
LOOPED = replace(looping("repeat"), id="GF-5678")


@pytest.mark.parametrize(
    ("accept", "findings"),
    [
        (Pattern(op="solve"), [SOLVED]),
        (Pattern(op="sol*"), [SOLVED]),
        (Pattern(op="sum"), []),
        (Pattern(op="while"), [LOOPED]),
        (Pattern(target="torch*"), [SOLVED, LOOPED]),
        (Pattern(target="torch"), []),
        (Pattern(target="torch*", op="solve"), [SOLVED]),
        (Pattern(target="jax*", op="solve"), []),
        (Pattern(cause="nx-*"), [MUTANT]),
        (Pattern(cause="*"), [MUTANT]),
        (Pattern(id="GF-12*"), [SOLVED]),
        (Pattern(id="GF-5678"), [LOOPED]),
        (Pattern(kind="sign_flip"), [SOLVED, LOOPED, MUTANT]),
        (Pattern(kind="e*"), []),
    ],
    ids=lambda value: baseline.in_words(value) if isinstance(value, Pattern) else "",
)
def test_what_a_rule_accepts(accept: Pattern, findings: list[Finding]) -> None:
    end = SweepFinished(0, 1.0, 16, 100, (), (SOLVED, LOOPED, MUTANT), True, False, "gradfuzz sweep")
    rule = Rule(accept, "reported", "https://example.org/1")
    result = review(end, Baseline(rules=(rule,)), today=TODAY)
    assert [e.id for e in result.known] == [finding.id for finding in findings]
    assert {(e.reason, e.link) for e in result.known} <= {("reported", "https://example.org/1")}
    assert {f.id for f in counted(end, result)} == {f.id for f in end.findings} - {f.id for f in findings}


def test_a_rule_expires_and_an_entry_goes_first() -> None:
    rules = (Rule(Pattern(op="solve"), "by rule", expires=TODAY), Rule(Pattern(target="t*"), "by target"))
    expired = baseline.standing(Baseline(rules=rules[:1]), [SOLVED], TODAY)
    assert [[e.reason for e in part] for part in expired] == [[], ["by rule"]]
    either = baseline.standing(Baseline(rules=rules), [SOLVED], TODAY)
    assert [[e.reason for e in part] for part in either] == [["by target"], []]
    both = baseline.added(Baseline(rules=rules), SOLVED, baseline.entry_of(SOLVED, "by id"))
    assert [e.reason for e in baseline.standing(both, [SOLVED], TODAY)[0]] == ["by id"]


def test_rules_are_added_replaced_and_removed(tmp_path: Path) -> None:
    path = tmp_path / "gradfuzz-baseline.json"
    accept = Pattern(target="torch*", op="solve")
    known = baseline.with_rule(Baseline(), baseline.rule_of(accept, "one", expires=datetime.date(2099, 1, 1)))
    known = baseline.with_rule(known, baseline.rule_of(Pattern(kind="error"), "two"))
    baseline.write(known, path)
    assert baseline.read(path) == known
    assert baseline_document([], known.rules)["rules"][0] == {
        "accept": {"target": "torch*", "op": "solve"},
        "reason": "one",
        "link": "",
        "expires": "2099-01-01",
    }
    known = baseline.with_rule(known, baseline.rule_of(accept, " three "))
    assert [rule.reason for rule in known.rules] == ["two", "three"]
    assert [rule.reason for rule in baseline.without_rule(known, accept).rules] == ["two"]
    with pytest.raises(UsageError, match="no rule accepts op sin; the rules are: class error; target torch"):
        baseline.without_rule(known, Pattern(op="sin"))


def test_rules_can_be_written_by_hand(tmp_path: Path) -> None:
    path = tmp_path / "gradfuzz-baseline.json"
    rules = [{"accept": {"class": "error", "target": "torch*"}, "reason": "r", "expires": "2027-03-01"}]
    path.write_text(json.dumps({"schema": 4, "type": "baseline", "rules": rules}))
    (rule,) = baseline.read(path).rules
    assert rule == Rule(Pattern(target="torch*", kind="error"), "r", expires=datetime.date(2027, 3, 1))


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        ({"accept": {"op": "solve"}}, r"rules\[0\]: the rule for op solve has no reason; write one"),
        ({"accept": {"op": "solve"}, "reason": " "}, "op solve has no reason"),
        ({"accept": {}, "reason": "r"}, "names nothing accepts everything; give it an id, target, op"),
        ({"accept": {"opp": "solve"}, "reason": "r"}, "'opp' is unknown; the fields are id, target, op"),
        ({"accept": {"op": "solv"}, "reason": "r"}, "no op fits 'solv'.*the nearest are solve"),
        ({"accept": {"class": "sign"}, "reason": "r"}, "no class fits 'sign'.*the nearest are sign_flip"),
        ({"accept": {"op": "solve"}, "reason": "r", "expires": "soon"}, "expires: 'soon' is not a date"),
        ({"accept": {"op": 3}, "reason": "r"}, "accept.op: 3 is not a text"),
        ({"reason": "r"}, "'accept' is missing"),
    ],
)
def test_a_rule_that_is_none_says_why(tmp_path: Path, rule: dict[str, Any], words: str) -> None:
    path = tmp_path / "gradfuzz-baseline.json"
    path.write_text(json.dumps({"schema": 4, "type": "baseline", "accepted": [], "rules": [rule]}))
    with pytest.raises(RecordError, match=words) as caught:
        baseline.read(path)
    assert str(caught.value).startswith(f"{path}: ")


@pytest.mark.parametrize(("reason", "expires"), [("  ", None), ("known", datetime.date(2020, 1, 1))])
def test_a_rule_must_say_why_and_accept_something(reason: str, expires: datetime.date | None) -> None:
    with pytest.raises(UsageError):
        baseline.rule_of(Pattern(op="solve"), reason, expires=expires)
