"""What is known of a finding whatever its cause: plain sentences that hold at every point tried.

Each op of the shrunk program is asked alone, at points of its own: whether it is wrong there, by which
operand, in which mode, and how its derivative compares with the right one. A sentence needs `LEAST` points at
which the answer is clearly not what it would be otherwise. What two explanations fit is not said.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from itertools import islice

import numpy as np

from gradfuzz.errors import GradfuzzError
from gradfuzz.fuzzer.findings.diagnose import Witness
from gradfuzz.fuzzer.findings.single_ops import (
    LEAST,
    Alone,
    alone,
    ask,
    asked_alone,
    can_be_judged,
    enough,
    of_parts,
)
from gradfuzz.fuzzer.questions.candidate import Candidate
from gradfuzz.fuzzer.results.finding import CheckResult, Class, Verdict
from gradfuzz.fuzzer.tolerance.allowed import SAFETY
from gradfuzz.fuzzer.tolerance.perturbed import unit_roundoff
from gradfuzz.fuzzer.verdict.classify import CLEAR
from gradfuzz.fuzzer.verdict.shared import evaluator
from gradfuzz.oracles.base import Array, Mode, Oracle, Truth, check_name
from gradfuzz.programs.language.program import Program
from gradfuzz.programs.language.syntax import Name, Param, Return
from gradfuzz.programs.language.typecheck import typecheck

_OPS, _POINTS = 3, 6
"""At most this many ops are asked alone, at so many points."""

_SLOW_OPS = 2
"""As many of a slow target or at a high order, at `LEAST` points and without more questions."""

_MOST_ORDERS = 2

_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth")

_NO_DECIMALS = (3, 6, 7, 9, 11, 12)
"""Parts that are told as fractions."""

_FAR = 1e3
"""An answer of more than this many times what is right has no rounding of its own granted."""

_EXACT = 1e-3
"""A factor that rounding blurs by more than this share is told with "about"."""


@dataclass(frozen=True, slots=True, eq=False)
class Facts:
    """What is known: the sentences, and the answers about single ops that they come from."""

    sentences: tuple[str, ...] = ()
    witnesses: tuple[Witness, ...] = ()
    culprits: tuple[str, ...] = ()
    """The ops that are wrong alone, in order."""


def facts(candidate: Candidate, around: Sequence[CheckResult], target: Oracle) -> Facts:
    """What can be said of a shrunk candidate; `around` are the verdicts on its program at several points."""
    wrong_here = [case for case in around if case.verdict.is_wrong]
    if not wrong_here or any(case.kind is Class.ERROR for case in wrong_here):
        return Facts()
    slow = target.traits.slow or len(candidate.modes) > _MOST_ORDERS
    ops = islice(alone(candidate.program), _SLOW_OPS if slow else _OPS)
    points = LEAST if slow else _POINTS
    found = [one for op, made in ops if (one := ask(op, made, candidate, target, points)) is not None]
    if any(one.is_complex and _is_wrong(one) for one in found):
        found = _with_parts(found, candidate, target)
    wrong = [one for one in found if _is_wrong(one)]
    right = [one for one in found if one.right and _by_whom(one, wrong=False) == list(one.operands)]
    right = [one for one in right if one.op != "complex"]  # it makes the others' operands
    sentences: list[str] = []
    if wrong and (none := _without_ops(candidate, target)) is not None:
        return Facts((none,))
    for one in wrong:
        sentences += _of_op(one, target, found, more=not target.traits.slow and one is wrong[0])
    if right:
        told = f"right at every point tried, each op alone: {', '.join(one.text for one in right)}"
        sentences.append(told)
    if not wrong:
        sentences += _of_whole(candidate, around)
    pairs = [(c, case) for one in found for c, case in zip(one.candidates, one.cases, strict=True)]
    culprits = sorted({one.op for one in wrong})
    return Facts(tuple(sentences), tuple(Witness(c, case, alone=True) for c, case in pairs), tuple(culprits))


def _is_wrong(one: Alone) -> bool:
    return one.all_wrong or bool(_by_whom(one, wrong=True))


def _with_parts(found: list[Alone], candidate: Candidate, target: Oracle) -> list[Alone]:
    """The ops, those of complex numbers only where the parts of one come back as they went in.

    Each is asked about by `real` and `imag`, so a wrong rule of these makes all of them look wrong.
    """
    asked = [ask(op, made, candidate, target, LEAST) for op, made in of_parts()]
    broken = [one for one in asked if one is not None and _is_wrong(one)]
    return [*(one for one in found if not one.is_complex), *broken] if broken else found


def _without_ops(candidate: Candidate, target: Oracle) -> str | None:
    """What holds of the output itself as a parameter, where even that is wrong: no op is to blame then."""
    (result, *_) = typecheck(candidate.program).outputs
    if not result.is_float:
        return None
    program = Program("f", (Param("x", result),), (Return((Name("x"),)),))
    found = ask("", program, candidate, target, LEAST)
    if found is None or not found.all_wrong:
        return None
    size = _factor(_rows(found.cases, "x"))
    much = "" if size is None else f"; {_told_factor('', size, found.cases, len(found.cases))}"
    return f"even a program that returns x is wrong at all {len(found.cases)} points tried{much}"


# An op alone ------------------------------------------------------------------------------------------------


def _of_op(one: Alone, target: Oracle, asked: list[Alone], *, more: bool) -> Iterator[str]:
    """What holds of an op that is wrong alone. With `more` the target is asked on, which goes to `asked`."""
    many = f"at all {len(one.cases)} points tried"
    kinds = {case.kind for case in one.cases}
    if kinds & {Class.WRONG_PRIMAL, Class.WRONG_SHAPE, Class.WRONG_DTYPE}:
        told = {
            Class.WRONG_PRIMAL: "has a wrong value",
            Class.WRONG_SHAPE: "comes back with the wrong shape",
            Class.WRONG_DTYPE: "comes back with the wrong dtype",
        }
        (kind, *others) = kinds
        yield f"{one.op} alone {'is wrong' if others or kind is None else told[kind]}: {one.text}, {many}"
        return
    rows = {name: _rows(one.cases, name) for name in one.operands}
    wrong = _by_whom(one, wrong=True)
    if not one.all_wrong:
        name = max(wrong, key=lambda k: len(rows[k]))
        many = (
            f"at all {len(rows[name])} points tried where its derivative by {name}, or the answer, is not 0"
        )
    yield f"{one.op} alone is wrong: {one.text}, {many}"
    if places := one.cases[0].answer.rules:
        yield f"its rule: {'; '.join(places)}"
    if more and (mode := _by_mode(one, target, asked)):
        yield mode
    if one.is_complex:
        return  # what holds of a part of an operand says little of the operand
    if len(rows) > 1:
        right = _by_whom(one, wrong=False)
        all_tell = all(len(rows[name]) == len(one.cases) for name in wrong)
        yield from _by_operand(one, wrong, right, "" if all_tell else _NOT_0)
    for name in wrong:
        size = _factor(rows[name])
        by = f"by {name}, " if len(rows) > 1 else ""
        share = _share(one, name)
        if size is not None:
            yield _told_factor(by, size, rows[name], len(one.cases))
            is_mean = more and share is not None and size[0] == share
            if is_mean and _right_unbroadcast(one, name, target, asked):
                yield f"by {name}, that is the mean over what was broadcast, not the sum"
        elif (how := _explained(one, name, rows[name], share is not None)) is not None:
            yield f"{by}the answer is {how}, {_points(rows[name], len(one.cases))}"


def _by_whom(one: Alone, *, wrong: bool) -> list[str]:
    """The operands by which it is wrong, or right, wherever that can be told."""
    rows = {name: _rows(one.cases, name) for name in one.operands}
    return [
        name
        for name, of in rows.items()
        if len(of) >= LEAST and all(row.wrong if wrong else row.right for row in of)
    ]


def _by_operand(one: Alone, wrong: Sequence[str], right: Sequence[str], where: str) -> Iterator[str]:
    def named(names: Sequence[str]) -> str:
        return " and ".join(f"its {_ORDINALS[one.place(name)]} operand, {name}" for name in names)

    if wrong and right:
        yield f"wrong by {named(wrong)}{where and f',{where}'}; right by {named(right)}"
    elif len(wrong) == len(one.operands):
        yield ("wrong by each operand" if len(wrong) > 2 else "wrong by both operands") + (
            where and f",{where}"
        )


def _by_mode(one: Alone, target: Oracle, asked: list[Alone]) -> str:
    """Whether it is wrong in the other mode, too, or of a higher order already in first order."""
    modes = one.candidates[0].modes
    if not modes:
        return ""
    opposite: tuple[Mode, ...] = ("fwd",) if modes == ("rev",) else ("rev",)
    other = modes[:1] if len(modes) > 1 else opposite
    candidates = [replace(one.candidates[k], modes=other) for k in one.wrong[:LEAST]]
    found = enough(asked_alone(one.op, one.program, candidates, target))
    if found is None:
        return ""
    asked.append(found)
    if not (found.right or found.all_wrong):
        return ""
    here, there = check_name(modes), check_name(other)
    return f"wrong in {here}, right in {there}" if found.right else f"wrong in {here} and in {there}"


def _right_unbroadcast(one: Alone, name: str, target: Oracle, asked: list[Alone]) -> bool:
    """Whether the op is right where the operand has the shape of the result from the start."""
    whole = [_unbroadcast(c, name) for c in one.candidates[:LEAST]]
    fair = [c for c in whole if c is not None and can_be_judged(c.question())]
    found = enough(asked_alone(one.op, fair[0].program, fair, target)) if fair else None
    if found is None:
        return False
    asked.append(found)
    return found.right


def _share(one: Alone, name: str) -> Fraction | None:
    """The operand's part of the entries that it was broadcast to; None where it was not."""
    whole = _unbroadcast(one.candidates[0], name)
    if whole is None:
        return None
    return Fraction(one.candidates[0].inputs[name].size, whole.inputs[name].size)


def _unbroadcast(candidate: Candidate, name: str) -> Candidate | None:
    """The op on an operand that has been broadcast before; None where its shape is that of the result, or
    the result has no entries, so that nothing was summed.
    """
    program = candidate.program
    (result,) = typecheck(program).outputs
    old = candidate.inputs[name]
    params = tuple(replace(p, type=result) if p.name == name else p for p in program.params)
    made = replace(program, params=params)
    try:
        fits = (
            math.prod(result.sizes)
            and old.size
            and old.shape != result.sizes
            and typecheck(made).outputs == (result,)
        )
        value = np.broadcast_to(old, result.sizes).copy() if fits else None
        directions = candidate.directions.items()
        along = {n: np.broadcast_to(d, result.sizes) if n == name else d for n, d in directions}
    except (GradfuzzError, ValueError):
        return None
    if value is None:
        return None
    return replace(candidate, program=made, inputs={**candidate.inputs, name: value}, directions=along)


# The whole program ------------------------------------------------------------------------------------------


def _of_whole(candidate: Candidate, around: Sequence[CheckResult]) -> Iterator[str]:
    for name in candidate.wrt:
        cases = [case for case in around if case.verdict is Verdict.AGREE or case.verdict.is_wrong]
        rows = _rows(cases, name)
        if len(rows) < LEAST or not all(row.wrong for row in rows):
            continue
        size = _factor(rows)
        if size is not None:
            by = f"by {name}, " if len(candidate.wrt) > 1 else ""
            yield _told_factor(by, size, rows, len(cases)).replace("the answer", "the answer to the program")


# Comparing --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class _Row:
    """The right derivative by one operand, the answer, and the allowed error, at one point."""

    case: CheckResult
    expected: Array
    got: Array
    allowed: Array

    @property
    def wrong(self) -> bool:
        """Whether it clearly is."""
        return _differ(self.expected, self.got, self.allowed)

    @property
    def right(self) -> bool:
        return bool(np.all(np.abs(self.got - self.expected) <= self.allowed))

    @property
    def telling(self) -> bool:
        """Whether it is not 0 on both sides."""
        return _differ(self.expected, np.zeros_like(self.got), self.allowed) or self.wrong


def _differ(a: Array, b: Array, allowed: Array) -> bool:
    return bool(np.any(~(np.abs(a - b) <= CLEAR * allowed)))


def _rows(cases: Sequence[CheckResult], name: str) -> list[_Row]:
    """One row for each case that tells about the derivative by an operand."""
    found = []
    for case in cases:
        truth, allowed = case.truth, case.allowed.get(name)
        if truth is None or name not in truth.gradient or allowed is None:
            continue
        got = np.asarray(case.answer.gradient.get(name, np.nan), np.float64)
        expected = np.asarray(truth.gradient[name], np.float64)
        if got.shape != expected.shape:
            continue
        row = _Row(case, expected, got, allowed)
        if row.telling:
            found.append(row)
    return found


_Factor = tuple[Fraction | float, bool]
"""A factor, and whether it is exact."""


def _factor(rows: Sequence[_Row]) -> _Factor | None:
    """What the answer is a multiple of the right derivative by, at every point and entry; None where there is
    no such number.
    """
    ratios, blur = [], []
    for row in rows:
        clear = np.abs(row.expected) > CLEAR * row.allowed
        if not np.any(clear) or not np.all(np.isfinite(row.got)):
            return None
        with np.errstate(over="ignore"):
            ratios += (row.got[clear] / row.expected[clear]).tolist()
        blur += (row.allowed[clear] / np.abs(row.expected[clear])).tolist()
    middle = float(np.median(ratios)) if ratios else np.nan
    if not np.isfinite(middle):  # nothing tells, or the ratio of a huge answer overflows
        return None
    near: list[Fraction | float] = [Fraction(middle).limit_denominator(12), float(f"{middle:.3g}")]
    for c in near:
        if c != 1 and all(_is_times(row, float(c)) for row in rows):
            return c, min(blur) * max(1.0, abs(middle)) <= _EXACT * max(abs(middle), _EXACT)
    return None


def _is_times(row: _Row, c: float) -> bool:
    allowed = 2.0 * max(1.0, abs(c)) * row.allowed
    return bool(np.all(np.abs(row.got - c * row.expected) <= allowed))


_NOT_0 = " where it or what is right is not 0"


def _points(rows: Sequence[object], tried: int) -> str:
    return f"at all {len(rows)} points{'' if len(rows) == tried else _NOT_0}"


def _told_factor(by: str, factor: _Factor, rows: Sequence[object], tried: int) -> str:
    c, exact = factor
    many = _points(rows, tried)
    if c == 0:
        return f"{by}the answer is 0 {many}"
    as_fraction = exact and isinstance(c, Fraction) and c.denominator in _NO_DECIMALS
    number = str(c) if as_fraction else f"{float(c):.3g}"
    about = "exactly" if exact else "about"
    return f"{by}the answer is {about} {number} times what is right, {many}"


# Explanations -----------------------------------------------------------------------------------------------


def _explained(one: Alone, name: str, rows: Sequence[_Row], broadcast: bool) -> str | None:
    """The only explanation that gives every answer; None where there is none, or more than one."""
    known: dict[str, Callable[[_Row], Array | None]] = {
        "the transpose of what is right": _transposed,
        "the weight of the output itself, as if the slope were 1": _passed_on,
    }
    if len(one.program.params) == 1:
        known["the derivative at the result instead of at the operand"] = partial(_at_result, name=name)
    for other in one.operands:
        if other != name:
            known[f"the derivative by {other}"] = partial(_slope, name=other)
            exchanged = f"what is right with {name} and {other} exchanged"
            known[exchanged] = partial(_exchanged, name=name, other=other)
    if broadcast:
        first = "what is right for the first entry that it was broadcast to, not summed"
        known[first] = partial(_first, name=name)
    fitting = [words for words, alternative in known.items() if _fits(rows, alternative)]
    return fitting[0] if len(fitting) == 1 else None


def _fits(rows: Sequence[_Row], alternative: Callable[[_Row], Array | None]) -> bool:
    """Whether the alternative gives every answer, and could be told from the truth at enough points."""
    for row in rows:
        other = alternative(row)
        if other is None or other.shape != row.got.shape:
            return False
        u = unit_roundoff(row.case.question.precision)
        size, right = (float(np.max(np.abs(a), initial=0.0)) for a in (other, row.expected))
        scale = size / right if 0.0 < right < size < _FAR * right else 1.0
        allowed = 2.0 * scale * np.max(row.allowed, initial=0.0) + 2.0 * SAFETY * u * np.abs(other)
        if not np.all(np.abs(row.got - other) <= allowed):
            return False
    return len(rows) >= LEAST


def _transposed(row: _Row) -> Array | None:
    return np.swapaxes(row.expected, -1, -2) if row.expected.ndim > 1 else None


def _passed_on(row: _Row) -> Array | None:
    (weight,) = row.case.question.weights
    return weight if row.case.question.order == 1 else None


def _slope(row: _Row, name: str) -> Array | None:
    return None if row.case.truth is None else _of(row.case.truth, name)


def _at_result(row: _Row, name: str) -> Array | None:
    """The derivative where the operand has the value of the result."""
    truth = row.case.truth
    if truth is None or truth.values[0].shape != row.expected.shape:
        return None
    value = truth.values[0].astype(row.case.question.precision)
    return _true(replace(Candidate.of(row.case.question), inputs={name: value}), name)


def _exchanged(row: _Row, name: str, other: str) -> Array | None:
    """The derivative by the operand where the two have each other's values."""
    inputs = row.case.point.inputs
    if inputs[name].shape != inputs[other].shape:
        return None
    candidate = Candidate.of(row.case.question)
    swapped = replace(candidate, inputs={**inputs, name: inputs[other], other: inputs[name]})
    return _true(swapped, name)


def _first(row: _Row, name: str) -> Array | None:
    """The derivative by the first of the entries that each entry was broadcast to."""
    whole = _unbroadcast(Candidate.of(row.case.question), name)
    full = None if whole is None else _true(whole, name)
    if full is None:
        return None
    extra = full.ndim - row.expected.ndim
    sizes = row.expected.shape
    kept = [slice(0, 1) if n == 1 else slice(None) for n in sizes]
    return np.asarray(full[(*[0] * extra, *kept)])


def _true(candidate: Candidate, name: str) -> Array | None:
    (known,) = evaluator().reference_values(candidate.question())
    return _of(known.truth, name)


def _of(truth: Truth, name: str) -> Array | None:
    return np.asarray(truth.gradient[name], np.float64) if truth.status == "ok" else None
