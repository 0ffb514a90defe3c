"""From a disagreement to a finding: asked again alone, confirmed, shrunk, shown at three points, scripted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from gradfuzz.fuzzer.findings import script_run
from gradfuzz.fuzzer.findings.diagnose import Witness, diagnose
from gradfuzz.fuzzer.findings.facts import Facts, facts
from gradfuzz.fuzzer.findings.gather import gather
from gradfuzz.fuzzer.findings.representative import clearest, finding_at, finding_point, grid, worst
from gradfuzz.fuzzer.findings.reproducer import ports, reproducer
from gradfuzz.fuzzer.findings.signature import precedence, skeleton
from gradfuzz.fuzzer.findings.survey import Survey, asked, survey
from gradfuzz.fuzzer.findings.triggers import KnownTrigger, unexplained
from gradfuzz.fuzzer.questions.candidate import Candidate
from gradfuzz.fuzzer.results.codec import KEY, OPTIONAL
from gradfuzz.fuzzer.results.finding import FINITE, CheckResult, Class, Finding, Reason, Verdict
from gradfuzz.fuzzer.results.identity import signature
from gradfuzz.fuzzer.results.own_fault import Attempts, OwnFault, attempt
from gradfuzz.fuzzer.results.raw import Raw
from gradfuzz.fuzzer.shrinking.trial import same_kind, smallest_alike
from gradfuzz.fuzzer.verdict.classify import classify_entry
from gradfuzz.fuzzer.verdict.rounding import sustained
from gradfuzz.fuzzer.verdict.shared import evaluator, oracle
from gradfuzz.oracles.base import Oracle, check_name
from gradfuzz.oracles.registry import resolve
from gradfuzz.oracles.target_name import TargetName

_TIMES = 5
"""A shrunk disagreement is asked again this many times."""


@dataclass(frozen=True, slots=True, eq=False)
class FindingProof:
    """A finding, or the reason and a message why it is not one. The finding's id is its signature.

    `kinds` are the classes of disagreement that the finding's program shows at ordinary points, `wrong_ways`
    the library's entry points that are wrong about it. `specimen` is what the finding shows, ready to be
    asked again with the points of the same call. `explained` is the signature of a known finding that the
    disagreement is another sighting of.
    """

    finding: Finding | None
    reason: Reason | None = None
    message: str = ""
    kinds: frozenset[Class] = frozenset()
    wrong_ways: tuple[str, ...] = ()
    candidate: Candidate | None = field(default=None, metadata={KEY: "specimen"})
    explained: str | None = field(default=None, metadata={OPTIONAL: True})
    own_faults: tuple[OwnFault, ...] = field(default=(), metadata={OPTIONAL: True})
    """Where gradfuzz itself failed on the way to no finding; a finding has its own."""
    confirmed: bool = field(default=False, metadata={OPTIONAL: True})
    """Whether the script of the finding was run."""


def _met(raw: Raw) -> Candidate:
    """The disagreement as a candidate, with the points that were answered in the same call."""
    if not raw.points:
        return Candidate.of(raw.case.question)
    return Candidate.of(replace(raw.case.question, points=raw.points), raw.place, together=True)


def prove(
    raw: Raw, known: Mapping[str, KnownTrigger] | None = None, explain: bool = False, shrink: bool = True
) -> FindingProof:
    """Everything between a disagreement and a finding.

    `known` has the earlier findings by the skeleton of their program: a finding that would not precede one
    with its skeleton gets no evidence. With `explain`, a disagreement that vanishes with their triggers is
    not proved. Without `shrink` the finding has the program as it was drawn.

    Where gradfuzz itself fails, the finding lacks what that would have told; at worst it is as it was met.
    """
    tried = Attempts()
    proof = attempt("judging it again", _proof, raw, known or {}, tried, explain=explain, shrink=shrink)
    if isinstance(proof, OwnFault):
        finding = _unasked(raw, oracle(raw.case.oracle).version, "It was not asked again and not shrunk.")
        return FindingProof(replace(finding, own_faults=(*tried.faults, proof)))
    faults = tuple(tried.faults)
    if proof.finding is None:
        return replace(proof, own_faults=faults)
    return replace(proof, finding=replace(proof.finding, own_faults=faults))


def confirmed(proof: FindingProof) -> FindingProof:
    """The proof after the script of its finding was run."""
    if proof.finding is None:
        return proof
    found = script_run.confirmed(proof.finding)
    if isinstance(found, Finding):
        return replace(proof, finding=found, confirmed=True)
    if found is None:
        return FindingProof(None, Reason.REFERENCES, "the process ended once, and not again in its script")
    faults = *proof.finding.own_faults, found
    return FindingProof(None, Reason.REFERENCES, "its own script says that it is right", own_faults=faults)


def _proof(
    raw: Raw, known: Mapping[str, KnownTrigger], tried: Attempts, *, explain: bool, shrink: bool
) -> FindingProof:
    case = raw.case
    target = oracle(case.oracle)
    first = _met(raw)
    if explain and known:
        doing = "telling it from the findings so far"
        other = tried(doing, first, unexplained, first, list(known.values()), target)
        if other is None:
            program = case.question.program
            signatures = [one.signature for one in known.values() if one.trigger.is_in(program)]
            return FindingProof(None, explained=signatures[0])
        if other is not first:
            first, case = other, asked(other, target)
    again = _confirmed(first, target)
    if again.kind is Class.PRECISION and case.kind in FINITE:
        case = again
    assert case.kind is not None, "a disagreement has a class"
    if not same_kind(again, case.kind, case.message):
        if again.verdict is Verdict.INCONCLUSIVE:
            return FindingProof(None, again.reason, again.message)
        return FindingProof(None, Reason.REFERENCES, f"asked again, alone, {target.name} answers otherwise")
    before = len(tried.faults)
    smaller = tried("shrinking it", None, _smaller, first, case, target) if shrink else None
    candidate, smallest = smaller or (first, again)
    proof = _finding(raw, candidate, smallest, target, known, tried)
    if (shrink and len(tried.faults) == before) or proof.finding is None:
        return proof
    note = " ".join(filter(None, (proof.finding.note, "Not shrunk.")))
    return replace(proof, finding=replace(proof.finding, note=note))


def _smaller(first: Candidate, case: CheckResult, target: Oracle) -> tuple[Candidate, CheckResult] | None:
    """The smallest candidate whose verdict is confirmed, with it."""
    assert case.kind is not None, "a disagreement has a class"
    for candidate in smallest_alike(first, case, target):
        smallest = _confirmed(candidate, target)
        if same_kind(smallest, case.kind, case.message):
            return candidate, smallest
    return None


_DEADLY = "It was not asked again and not shrunk, since workers die of that."


def unasked(raw: Raw, version: str) -> FindingProof:
    """The finding of what no worker survived, a question or its shrinking: as it was met."""
    return FindingProof(_unasked(raw, version, _DEADLY))


def _unasked(raw: Raw, version: str, why: str) -> Finding:
    finding = finding_at(_met(raw), raw.case, version, raw.family, raw.case.question.program)
    return replace(finding, id=signature(finding), note=f"{_what(raw.case)} {why}".strip())


def _confirmed(candidate: Candidate, target: Oracle) -> CheckResult:
    """The verdict by both references, and below float64 by the answer in float64."""
    case = asked(candidate, target, confirm=True)
    return sustained(case, candidate.question(), candidate.place, target, evaluator())


# Finding ----------------------------------------------------------------------------------------------------


def _finding(
    raw: Raw,
    candidate: Candidate,
    smallest: CheckResult,
    target: Oracle,
    known: Mapping[str, KnownTrigger],
    tried: Attempts,
) -> FindingProof:
    assert smallest.kind is not None, "a disagreement has a class"
    around = tried("asking at other points", (), _on_grid, candidate, target)
    wrong = [smallest, *(case for case in around if case.verdict is smallest.verdict)]
    clear = clearest([case for case in wrong if same_kind(case, smallest.kind, smallest.message)])
    most = worst(wrong)
    again = [asked(candidate, target) for _ in range(_TIMES)]
    repeated = sum(same_kind(case, smallest.kind, smallest.message) for case in again)
    found = tried("asking in other ways", Survey("", ()), _survey, candidate, smallest, target)
    own = [o for o in found.outcomes if o.case.oracle == target.name and o.case is not smallest]
    witnesses = [
        Witness(candidate, smallest),
        *(Witness(replace(candidate, inputs=case.point.inputs), case) for case in around),
        *(Witness(o.candidate, o.case) for o in own),
        Witness(_met(raw), raw.case, drawn=True),
    ]
    told = tried("asking about its ops alone", Facts(), facts, candidate, [smallest, *around], target)
    modes = candidate.modes if smallest.kind is not Class.WRONG_PRIMAL else ()
    finding = replace(
        finding_at(candidate, smallest, target.version, raw.family, raw.case.question.program),
        check=check_name(modes),
        clearest=finding_point(clear),
        worst=finding_point(most),
        reproduced=(repeated, _TIMES),
        note=" ".join(filter(None, (_what(smallest), _company(candidate), found.note))),
        cause=tried("naming its cause", None, diagnose, [*witnesses, *told.witnesses], target),
        facts=told.sentences,
        culprits=told.culprits,
        script=tried("writing its script", "", reproducer, candidate, clear, target),
    )
    finding = replace(finding, id=signature(finding))
    of = candidate, clear, target, finding.script, finding.id
    finding = replace(finding, ports=tried("writing it for other libraries", {}, ports, *of))
    lead = known.get(skeleton(finding.program))
    if lead is None or precedence(finding, raw.index) < lead.precedence:
        shown = candidate, smallest, found, finding.smallest.entry, target
        finding = replace(finding, evidence=tried("gathering its evidence", None, gather, *shown))
    kinds = frozenset(case.kind for case in wrong if case.kind is not None)
    return FindingProof(finding, kinds=kinds, wrong_ways=found.wrong_ways, candidate=candidate)


def _survey(candidate: Candidate, smallest: CheckResult, target: Oracle) -> Survey:
    ways = resolve(TargetName.of(target.name).system, supervised=True)
    return survey(candidate, smallest, target, ways)


def _on_grid(candidate: Candidate, target: Oracle) -> list[CheckResult]:
    if target.traits.batched:
        return []
    question = candidate.question(grid(candidate))
    fair = evaluator().judgeable(question)
    if not fair:
        return []
    answers = target.answer(replace(question, points=tuple(question.points[k] for k in fair)))
    return evaluator().cases(target.name, question, answers, at=fair)


def _what(case: CheckResult) -> str:
    """What a reader must know beside the numbers."""
    if case.kind in (Class.ERROR, Class.WRONG_SHAPE, Class.WRONG_DTYPE, Class.WRONG_PRIMAL):
        return f"{case.message.rstrip('.')}."
    if case.truth is None or not case.truth.kink:
        return ""
    along = "" if _outside_slopes(case) else f" ({case.message})"
    return (
        "The point is a kink; the answer lies outside the slopes to its left and right, of which the nearer"
        f" is shown{along}."
    )


def _outside_slopes(case: CheckResult) -> bool:
    """Whether the worst entry is outside its slopes at a kink. Otherwise only a slope along a line is wrong,
    and the message says which.
    """
    truth, got = case.truth, case.got
    if truth is None or truth.left is None or truth.right is None or case.worst is None or got is None:
        return True
    name, index = case.worst
    low, high = sorted((float(truth.left[name][index]), float(truth.right[name][index])))
    return classify_entry(min(max(got, low), high), got, float(case.allowed[name][index])) is not None


def _company(candidate: Candidate) -> str:
    """Which points are answered in the same call."""
    if not candidate.others:
        return ""
    shown = ({name: np.asarray(value).tolist() for name, value in o.items()} for o in candidate.others)
    texts = [", ".join(f"{name} = {value}" for name, value in values.items()) for values in shown]
    count = f"{len(texts)} more point{'s' if len(texts) > 1 else ''}"
    return f"Answered in one call with {count}: {'; '.join(texts)}."
