"""The turn of one function: calls of it are found, judged, and what is wrong is shrunk."""

from __future__ import annotations

import itertools
import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from gradfuzz.adapters.catalogue import Function
from gradfuzz.errors import UsageError
from gradfuzz.fuzzer.calling.drawing.draw import refused
from gradfuzz.fuzzer.calling.drawing.search import PATIENCE, Search
from gradfuzz.fuzzer.calling.invocation import size_of
from gradfuzz.fuzzer.calling.judge import COMBINATIONS, Judgement, Modes, judged_by_some, made
from gradfuzz.fuzzer.calling.proofs import PROVING, proofs_of_call
from gradfuzz.fuzzer.findings import script_run
from gradfuzz.fuzzer.findings.calls.prove import proved
from gradfuzz.fuzzer.results.call import FORMS, Call, Form
from gradfuzz.fuzzer.results.codec import OPTIONAL
from gradfuzz.fuzzer.results.failure import failure_of
from gradfuzz.fuzzer.results.finding import Finding, Verdict
from gradfuzz.fuzzer.results.functions import Tally
from gradfuzz.fuzzer.results.own_fault import Attempts, OwnFault
from gradfuzz.fuzzer.shrinking.call_reductions import Wrong
from gradfuzz.libraries.detect import library_named
from gradfuzz.oracles.base import check_name
from gradfuzz.strategies.drawing.dice import Odds, Seeded

_FORMS: Odds[Form] = Odds(*zip((44, 22, 8, 8, 12, 6), FORMS, strict=True))
"""What stands around a call, and how often."""

_SINES, _LARGE = ("between", "loop", "twice"), 64.0
"""These take the sine of what a call returns. Of a larger value it moves faster than differences tell."""

_WAYS = 4
"""One call in so many is asked by another way of the library than the usual one."""

_OUTSIDE = 40
"""So many valid calls in a row with values that are no finite numbers end a turn."""

_MADE = 40
"""So many valid calls are made at most, and twenty for each that is to be judged."""

_FORMULAS = 4
"""Rules of a turn that are taken as formulas."""

_REASON = 90
"""Characters of a reason."""

AGAIN = 1
"""So often a turn begins again after its process died."""

_PROVED = 3
"""Disagreements of one turn that are shrunk: one of a kind."""


@dataclass(frozen=True, slots=True, eq=False)
class Turn:
    """A turn as work: the same turn has the same result."""

    library: str
    function: Function
    seed: int
    number: int
    """How many turns of the function came before."""
    calls: int
    """Calls to judge."""
    recorded: tuple[Call, ...] = ()
    """Calls of the function that a program made: turns begin with them, and all learn from them."""
    again: int = 0
    """How often the process died in this turn: it draws other calls then."""
    only: Call | None = None
    """A call at which the process died: it alone is made, to see whether it dies again."""
    home: str = ""
    """The target in whose environment the library is; empty where it is beside gradfuzz."""
    finding: Finding | None = None
    """A finding about which is asked again; nothing else is done then."""
    shrink: bool = True
    """Whether the calls of findings are made smaller."""
    patience: int = PATIENCE
    """So many calls are tried until the first is valid."""
    modes: tuple[Modes, ...] = field(default=(), metadata={OPTIONAL: True})
    """What is asked; () is all of `COMBINATIONS`."""
    dtypes: tuple[str, ...] = field(default=(), metadata={OPTIONAL: True})
    """The dtypes of floats that are drawn; () is all."""
    before: int = field(default=0, metadata={OPTIONAL: True})
    """How many calls earlier turns judge: so many of the recorded ones are theirs."""


@dataclass(slots=True)
class Result(Tally):
    """What a turn found out."""

    failures: Counter[str] = field(default_factory=Counter)
    """Verdicts of "crashed" by the kind of failure."""
    words: str = ""
    """Why no call was valid, or none was judged: what the library said most often."""
    error: str = ""
    """What gradfuzz itself raised: the rest of the turn is lost."""
    ended: str = field(default="", metadata={OPTIONAL: True})
    """How a process of the turn ended, and what it said last."""
    own_faults: tuple[OwnFault, ...] = field(default=(), metadata={OPTIONAL: True})
    """The same with its traceback."""
    findings: tuple[Finding, ...] = ()
    confirmed: bool = field(default=False, metadata={OPTIONAL: True})
    """Whether the scripts of the findings were run."""
    unproved: int = 0
    """Disagreements that did not come again, or that the rounding of a right rule explains."""

    def break_off(self, turn: Turn, error: Exception) -> None:
        """Notes that gradfuzz itself raised."""
        fault = OwnFault.of(f"calling {turn.function.names[0]}", error)
        self.error = self.error or fault.error
        self.own_faults += (fault,)


def confirmed(result: Result) -> Result:
    """The result after the scripts of its findings were run."""
    ran = [script_run.confirmed(finding) for finding in result.findings]
    findings = tuple(one for one in ran if isinstance(one, Finding))
    faults = tuple(one for one in ran if isinstance(one, OwnFault))
    return replace(
        result,
        findings=findings,
        confirmed=True,
        unproved=result.unproved + len(ran) - len(findings),
        own_faults=(*result.own_faults, *faults),
    )


def merged(results: Sequence[Result]) -> Result:
    """The sums of results."""
    whole = Result()
    for one in results:
        whole.add(one)
        whole.failures.update(one.failures)
        whole.words, whole.error = whole.words or one.words, whole.error or one.error
        whole.ended = whole.ended or one.ended
        whole.findings += one.findings
        whole.own_faults += one.own_faults
        whole.unproved += one.unproved
    whole.words = "" if whole.judged else whole.words
    return whole


def run(
    turn: Turn, note: Callable[[Call], None], begins: Callable[[Modes], None] = lambda modes: None
) -> Result:
    """The result of a turn; `note` is told each call before it is made, `begins` what is asked next of the
    only call of a turn.
    """
    if turn.only is not None:
        note(turn.only)
        made(turn.only, begins)
        return Result()
    result = Result()
    library_named(turn.library).careful = turn.again > 0
    function = turn.function
    words = refused(function)
    if words is not None and not turn.recorded:
        result.words = words
        return result
    seed = turn.seed, turn.library, function.names[0], function.signature, turn.number, turn.again
    dice = Seeded("/".join(map(str, seed)))
    search = Search(turn.library, function, dice, note, turn.recorded, turn.patience, turn.dtypes)
    refusals: Counter[str] = Counter()
    buckets: dict[tuple[str, str], Finding | None] = {}
    tried = Attempts()
    try:
        for judgement in _judgements(turn, search, dice, note, result, refusals):
            _count(result, judgement)
            tried("proving its rules", None, _prove, result, judgement)
            for wrong in judgement.wrong():
                bucket = " ".join(wrong.modes), Wrong(wrong.modes, wrong.case.kind).group
                if bucket not in buckets and len(buckets) < _PROVED:
                    note(judgement.call)
                    own = Attempts()
                    found = proved(judgement.call, wrong, function, note, shrink=turn.shrink, tried=own)
                    buckets[bucket] = found
                    result.unproved += found is None
                    tried.faults += [] if found else own.faults
    except Exception as error:  # noqa: BLE001 - what was found until then is not lost
        result.break_off(turn, error)
    result.own_faults += tuple(tried.faults)
    result.drawn, result.valid = search.drawn, search.valid
    said = [words for words, _ in (refusals or search.raised).most_common()]
    of_library = [words for words in said if not words.startswith(UsageError.__name__)]
    result.words = "" if result.judged else next(iter([*of_library, *said]), "")
    proofs = [finding for finding in buckets.values() if finding is not None]
    result.findings = tuple(replace(one, target=turn.home) if turn.home else one for one in proofs)
    return result


def _judgements(
    turn: Turn,
    search: Search,
    dice: Seeded,
    note: Callable[[Call], None],
    result: Result,
    refusals: Counter[str],
) -> Iterator[Judgement]:
    """Calls that have verdicts, until `result` counts enough of them. The others go to `refusals`."""
    outside, asked = 0, turn.modes or COMBINATIONS
    ways = [way.name for way in library_named(turn.library).ways if not way.slow]
    chance = Seeded(f"{turn.seed}/{turn.number}/{turn.again}/ways/{turn.function.signature}")
    calls = itertools.chain(search.first[turn.before :], search.calls())
    for count in itertools.count():
        call = next(calls, None)
        if call is None or outside > _OUTSIDE or count > _MADE + 20 * turn.calls:
            return
        note(call)
        size = size_of(call, estimated=outside > 0)
        if not math.isfinite(size):
            search.outside()
            outside += 1
            continue
        outside = 0
        form = "alone" if turn.number == 0 and result.judged == 0 else dice.weighted(_FORMS)
        form = "alone" if form in _SINES and size > _LARGE else form
        if call.is_recorded and form != "compiled":  # the others leave the range of its arrays
            form = "alone"
        first = dice.below(8)
        other = ways and (turn.number or result.judged) and chance.below(_WAYS) == 0
        way = ways[chance.below(len(ways))] if other else ""
        judgement = judged_by_some(replace(call, form=form, way=way), first, asked)
        if way and not judgement.verdicts:
            judgement = judged_by_some(replace(call, form=form), first, asked)
        if judgement.refused and form != "alone":
            judgement = judged_by_some(call, first, asked)
        if not judgement.verdicts:
            words = judgement.refused or next(iter(judgement.lacks.values()), "")
            refusals[words] += 1
            _lacks(result, judgement)
            continue
        yield judgement
        if result.judged >= turn.calls:
            return


def _count(result: Result, judgement: Judgement) -> None:
    result.judged += 1
    for one in judgement.verdicts:
        name, verdict = " ".join(one.modes), one.case.verdict.value
        result.asked[name] += 1
        if one.case.verdict is Verdict.CRASHED:
            result.failures[failure_of(one.case.message).value] += 1
        result.verdicts[verdict] += 1
        result.answers[f"{name}: {verdict}"] += 1
        if one.case.reason is not None:
            result.inconclusive[one.case.reason.value] += 1
    _lacks(result, judgement)


def _prove(result: Result, judgement: Judgement) -> None:
    """Takes the first derivatives of a call as formulas, without a compile, and proves them."""
    call = judgement.call
    enough = sum(result.proofs.values()) >= _FORMULAS
    if enough or call.library not in PROVING or call.form in ("compiled", "vectorized") or call.way:
        return
    agreeing = {one.modes for one in judgement.verdicts if one.case.verdict is Verdict.AGREE}
    for proof in proofs_of_call(judgement.call, explain=False, answer=False):
        result.proofs[proof.outcome] += 1
        if proof.outcome == "open":
            result.open[re.sub(r"[-+]?\d[\w.+-]*", "N", proof.reason)[:_REASON]] += 1
        elif proof.outcome == "wrong rule" and proof.modes in agreeing:
            what = f"{judgement.call.function}, {check_name(proof.modes)}"
            result.wrong_rules += (f"{what}: off by {proof.apart:.0e} of the derivative",)


def _lacks(result: Result, judgement: Judgement) -> None:
    for modes, words in judgement.lacks.items():
        result.lacks.setdefault(" ".join(modes), words)
