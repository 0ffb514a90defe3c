"""Programs from which is taken out what a finding's program needs to be wrong, its trigger.

The trigger is the ops that are wrong alone. Where there are none it is what shrinking left: the ops, except
those that most programs have, or, where no such op is left, the forms of loops. A disagreement that stays
where the triggers of all known findings are taken out is another bug. One that vanishes is explained by them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from gradfuzz.errors import ProgramTypeError
from gradfuzz.fuzzer.findings.signature import Precedence
from gradfuzz.fuzzer.findings.survey import asked
from gradfuzz.fuzzer.questions.candidate import Candidate
from gradfuzz.fuzzer.questions.loop_forms import ends, loop_forms, only_loop, without_repeat
from gradfuzz.fuzzer.questions.rewrite import map_expressions
from gradfuzz.fuzzer.results.finding import Verdict
from gradfuzz.fuzzer.results.trigger import FORMS, Trigger
from gradfuzz.oracles.base import Oracle
from gradfuzz.programs.language.program import Program, walk
from gradfuzz.programs.language.syntax import Call, Expr, Node
from gradfuzz.programs.language.typecheck import expression_type, typecheck
from gradfuzz.programs.text.expressions import call


@dataclass(frozen=True, slots=True)
class KnownTrigger:
    """What the proofs that follow must know of a finding."""

    precedence: Precedence
    trigger: Trigger
    signature: str

    @property
    def words(self) -> str:
        """What decides whether it explains another disagreement."""
        return " ".join([self.signature, *sorted(self.trigger.ops), *sorted(self.trigger.loops)])


def unexplained(met: Candidate, known: Sequence[KnownTrigger], target: Oracle) -> Candidate | None:
    """A candidate on which the target is wrong and that has not the triggers of known findings.

    None where the disagreement vanishes with them, or with one of them. `met` itself where that cannot be
    told.
    """
    triggers = list(dict.fromkeys(one.trigger for one in known))
    vanished = False
    for draft in _without(met, triggers):
        verdict = _verdict(draft, target)
        if verdict is not None and verdict.is_wrong:
            return draft
        vanished = vanished or verdict in _RIGHT
    alone = (draft for one in triggers for draft in _without(met, [one]))
    return None if vanished or any(_verdict(draft, target) in _RIGHT for draft in alone) else met


_RIGHT = (Verdict.AGREE, Verdict.CONVENTION)


def _verdict(draft: Candidate, target: Oracle) -> Verdict | None:
    """The verdict; None where the target cannot be asked, or the program does not end."""
    if target.supports(draft.question()) is not None or not ends(draft.alone()):
        return None
    return asked(draft, target).verdict


def _without(met: Candidate, triggers: Sequence[Trigger]) -> Iterator[Candidate]:
    """The candidate with plain expressions for the ops, and with its loops in other forms."""
    ops = frozenset[str]().union(*(t.ops for t in triggers))
    for last_first in (False, True):
        plainer = without_ops(met.program, ops, last_first=last_first)
        if plainer is not None:
            yield met.fitted(plainer, typecheck(plainer))
    loop = only_loop(met.program)
    if loop is not None and any(FORMS[type(loop)] in t.loops for t in triggers):
        for form, program in loop_forms(met).items():
            if form != FORMS[type(loop)]:
                yield met.fitted(program, typecheck(program))
    elif any("repeat" in t.loops for t in triggers):
        without = without_repeat(met.program)
        if without is not None:
            yield met.fitted(without, typecheck(without))


def without_ops(program: Program, ops: frozenset[str], *, last_first: bool = False) -> Program | None:
    """The program with another expression of the same type for every call of these ops that has a derivative:
    its first operand that fits, or its last.

    None where it has no such call, or one without a substitute.
    """
    types = typecheck(program).variables

    def concerned(e: Node) -> bool:
        return isinstance(e, Call) and e.op in ops and expression_type(e, types).dtype in ("float", "complex")

    if not any(map(concerned, walk(program))):
        return None

    def plainer(e: Expr) -> Expr:
        if not isinstance(e, Call) or not concerned(e):
            return e
        wanted = expression_type(e, types)
        for instead in _instead(e.args[::-1] if last_first else e.args, wanted.sizes):
            try:
                if expression_type(instead, types) == wanted and not any(map(concerned, walk(instead))):
                    return instead
            except ProgramTypeError:
                continue
        return e

    changed = replace(program, body=map_expressions(program.body, plainer))
    try:
        typecheck(changed)
    except ProgramTypeError:
        return None
    return None if any(map(concerned, walk(changed))) else changed


def _instead(args: Sequence[Expr], shape: tuple[int, ...]) -> Iterator[Expr]:
    """An operand; the sum of one's entries, or that many copies of it."""
    yield from args
    for arg in args:
        total = call("sum", arg)
        yield total
        if shape:
            yield call("broadcast_to", total, shape=shape)
            yield call("broadcast_to", arg, shape=shape)
