"""The canonical loop bodies in a finding's loop: which of them go wrong (the tables of Nx #1747)."""

from __future__ import annotations

from collections.abc import Iterator

from gradfuzz.fuzzer.findings.curve import is_costly
from gradfuzz.fuzzer.questions.candidate import Candidate
from gradfuzz.fuzzer.questions.loop_forms import float_carry, loop_trips, only_loop
from gradfuzz.fuzzer.questions.suites import CanonicalCase, body_program, inputs_at
from gradfuzz.fuzzer.results.evidence import Aspect, Variant
from gradfuzz.fuzzer.results.trigger import FORMS
from gradfuzz.fuzzer.verdict.classify import ratio_of
from gradfuzz.fuzzer.verdict.rows import LabelledRow, groups, rows
from gradfuzz.oracles.base import Oracle, output_key

_BODIES = (
    *("acc + x", "acc * 2", "sin(acc)", "acc * acc", "acc + x^2"),
    *("acc * x", "acc / x", "sin(acc * x)", "acc + acc*x"),
)
"""As in `suites.BODIES`, which has their derivatives by the carry."""

_FEW = ("acc + x", "acc * acc", "acc * x", "sin(acc * x)")
"""For targets that answer slowly."""

_XS: tuple[float, ...] = (0.5,)

_SIGNS = (("acc * (x-2)", (0.5, 1.5)), ("acc * (-x)", (0.3, 0.7)))
"""Bodies with a negative slope by the carry, for which a sum of even powers has the wrong sign."""


def bodies(candidate: Candidate, target: Oracle) -> list[Variant]:
    """The bodies in the candidate's loop form, dtype, modes and trip count.

    None where it has no loop with a float carry, or no iterations.
    """
    trips, loop = loop_trips(candidate), only_loop(candidate.program)
    if loop is None or not trips or float_carry(candidate.program) is None:
        return []
    form = FORMS[type(loop)]
    costly = is_costly(target)
    cases = list(_cases(candidate, form, trips, costly))
    asked = groups(cases, candidate.modes, in_company=target.traits.batched)
    found = rows(asked, target, lambda _: None, around=not costly)
    return [_variant(found[id(case)]) for case in cases]


def _cases(candidate: Candidate, form: str, trips: int, costly: bool) -> Iterator[CanonicalCase]:
    entry: tuple[str, tuple[int, ...]] = ("x", ()) if candidate.modes else (output_key(0), ())
    table = [(Aspect.BODY, body, _XS) for body in (_FEW if costly else _BODIES)]
    table += [(Aspect.SIGN, body, xs) for body, xs in (_SIGNS[:1] if costly else _SIGNS)]
    for aspect, body, xs in table:
        program = body_program(body, trips, form)
        for x in xs:
            at = f"x = {x:g}, {trips} trip{'s' if trips > 1 else ''}"
            inputs = inputs_at(candidate.precision, x=x)
            yield CanonicalCase((aspect.name, body, at), program, inputs, candidate.precision, entry=entry)


def _variant(row: LabelledRow) -> Variant:
    aspect, body, at = map(str, row.case.cells)
    ratio = None if row.expected is None or row.got is None else ratio_of(row.expected, row.got)
    return Variant(Aspect[aspect], body, at, row.expected, row.bound, row.got, ratio, row.label)
