"""The ops of a shrunk program, each asked on parameters alone, with nothing around it."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from gradfuzz.errors import GradfuzzError
from gradfuzz.fuzzer.questions.candidate import Candidate
from gradfuzz.fuzzer.questions.weighted import signed
from gradfuzz.fuzzer.results.finding import CheckResult, Verdict
from gradfuzz.fuzzer.results.trigger import OF_PARTS, PLAIN
from gradfuzz.fuzzer.verdict.shared import evaluator
from gradfuzz.oracles.base import Array, Oracle, Point, Question
from gradfuzz.programs.language.ops import OPS
from gradfuzz.programs.language.program import Program, called, walk
from gradfuzz.programs.language.syntax import Assign, Call, Const, Expr, Name, Param, Return
from gradfuzz.programs.language.typecheck import expression_type, typecheck
from gradfuzz.programs.language.types import Type

LEAST = 4
"""Fewer points than this say nothing."""

_NAMES = ("x", "y", "z", "u", "v", "w")

_POOL = 40
"""Of this many points those are taken at which an op selects each of its operands."""

_MOST_ENTRIES = 100
"""An op on more numbers than this is not asked alone."""

_RESULT = "t"
"""The name of a complex result."""

_HERMITIAN = ("cholesky", "eigh", "eigvalsh")
_OF_THEIR_OWN = (*_HERMITIAN, "eig", "eigvals", "qr", "svd")
"""Ops of complex matrices that are Hermitian, or whose results have a phase, or an order, of their own."""

_INTERVALS = {"low": (0.3, 0.9), "high": (1.2, 2.6), "negative": (-0.9, -0.3), "mixed": (0.4, 1.8)}
"""Where the entries of operands are drawn from; each suits some domains."""

_ORDER = ("low", "high", "mixed", "low", "high", "negative") * 3


@dataclass(frozen=True, slots=True, eq=False)
class Alone:
    """An op on parameters alone, and the verdicts on a target's answers, one for each point."""

    op: str
    program: Program
    candidates: tuple[Candidate, ...]
    cases: tuple[CheckResult, ...]

    @property
    def text(self) -> str:
        """The op with its operands, as in "x / y"; its name where that takes several lines."""
        first, *rest = str(self.program).strip().splitlines()[1:]
        text = first.strip().removeprefix("return ")
        if rest and text.startswith(f"{_RESULT} = "):
            return text.removeprefix(f"{_RESULT} = ")
        return self.op if rest else text

    @property
    def operands(self) -> tuple[str, ...]:
        """The parameters with a derivative."""
        return tuple(p.name for p in self.program.params if p.type.is_float)

    @property
    def is_complex(self) -> bool:
        """Whether an operand or the result is."""
        return "complex" in called(self.program)

    def place(self, name: str) -> int:
        """Which of the op's operands a parameter is, from 0."""
        (op,) = self.program.result.values
        assert isinstance(op, Call), "it is made so"
        return op.args.index(Name(name))

    @property
    def right(self) -> bool:
        """Whether every answer is."""
        return all(case.verdict is Verdict.AGREE for case in self.cases)

    @property
    def wrong(self) -> list[int]:
        """The points at which it is wrong, by their numbers."""
        return [k for k, case in enumerate(self.cases) if case.verdict.is_wrong]

    @property
    def all_wrong(self) -> bool:
        """Whether every answer is."""
        return len(self.wrong) == len(self.cases)


def alone(program: Program) -> Iterator[tuple[str, Program]]:
    """The program's ops as programs of their own, those that tell most first."""
    types = typecheck(program).variables
    calls = [node for node in walk(program) if isinstance(node, Call)]
    seen = set()
    for node in sorted(calls, key=lambda c: (c.op in OF_PARTS, c.op in PLAIN)):
        made = _program(node, types)
        if made is not None and made not in seen:
            seen.add(made)
            yield node.op, made


def of_parts() -> Iterator[tuple[str, Program]]:
    """The programs that take a part of a complex number which is made of two parameters."""
    params = Param("x", Type("float")), Param("y", Type("float"))
    number = Call("complex", (Name("x"), Name("y")))
    for part in ("real", "imag"):
        yield part, Program("f", params, (Return((Call(part, (number,)),)),))


def _program(node: Call, types: dict[str, Type]) -> Program | None:
    """The op on parameters; None where it has no derivative, or operands that no parameter can be.

    A complex operand has a parameter for each of its parts, and a complex result is returned in parts.
    """
    if not OPS[node.op].smooth or OPS[node.op].kind in ("comparison", "logic"):
        return None
    args: list[Expr] = []
    params: list[Param] = []

    def param(t: Type) -> Name:
        params.append(Param(_NAMES[len(params)], replace(t, dtype="float") if t.is_complex else t))
        return Name(params[-1].name)

    try:
        operands = [expression_type(arg, types) for arg in node.args]
        result = expression_type(node, types)
        is_complex = result.is_complex or any(t.is_complex for t in operands)
        count = sum(2 if t.is_complex else 1 for t in operands)
        if not result.is_inexact or count > len(_NAMES) or (is_complex and node.op in _OF_THEIR_OWN):
            return None
        for arg, t in zip(node.args, operands, strict=True):
            if isinstance(arg, Const) and not t.is_float:
                args.append(arg)
            else:
                args.append(Call("complex", (param(t), param(t))) if t.is_complex else param(t))
        call = replace(node, args=tuple(args), line=0)
        made = Program("f", tuple(params), (Return((call,)),))
        if result.is_complex:
            parts = [Call(part, (Name(_RESULT),)) for part in ("real", "imag")]
            made = replace(made, body=(Assign(_RESULT, call), Return(tuple(parts))))
        typecheck(made)
    except GradfuzzError:
        return None
    entries = sum(math.prod(p.type.sizes) for p in params)
    return made if any(p.type.is_float for p in params) and entries <= _MOST_ENTRIES else None


def ask(op: str, program: Program, like: Candidate, target: Oracle, most: int) -> Alone | None:
    """The target's answers about an op alone, in `like`'s modes and precision; None where it cannot be asked.
    Without an op the program is a parameter itself.

    There are `most` points, each with its own weights; of an op that selects, `LEAST` for each operand
    where `most` is more than that.
    """
    good = (c for c in _candidates(op, program, like) if can_be_judged(c.question()))
    if _kind(op) == "selection" and most > LEAST:
        floats = sum(p.type.is_float for p in program.params)
        candidates = _evenly(list(itertools.islice(good, _POOL)), max(most, LEAST * floats))
    else:
        candidates = list(itertools.islice(good, most))
    return enough(asked_alone(op, program, candidates, target))


def _kind(op: str) -> str:
    return OPS[op].kind if op else ""


def _evenly(pool: list[Candidate], most: int) -> list[Candidate]:
    """So many of these that each operand has a derivative at as many points as can be."""
    chosen: list[Candidate] = []
    counts = dict.fromkeys(pool[0].wrt, 0) if pool else {}
    while pool and len(chosen) < most:
        wanted = min(counts, key=lambda name: counts[name])
        best = next((c for c in pool if wanted in _telling(c)), pool[0])
        pool.remove(best)
        chosen.append(best)
        for name in _telling(best):
            counts[name] += 1
    return chosen


def _telling(candidate: Candidate) -> list[str]:
    """The operands by which the derivative is not 0."""
    (known,) = evaluator().reference_values(candidate.question())
    return [name for name, slope in known.truth.gradient.items() if np.any(slope != 0.0)]


def enough(found: Alone | None) -> Alone | None:
    """None where fewer than `LEAST` answers could be judged."""
    return found if found is not None and len(found.cases) >= LEAST else None


def asked_alone(op: str, program: Program, candidates: Sequence[Candidate], target: Oracle) -> Alone | None:
    """The target's answers to these candidates, without those that cannot be judged; None where it cannot be
    asked, or crashes: asked again, it might hang again.
    """
    judged: list[tuple[Candidate, CheckResult]] = []
    for candidate in candidates:
        question = candidate.question()
        if target.supports(question) is not None:
            return None
        (case,) = evaluator().cases(target.name, question, target.answer(question), thorough=True)
        if case.verdict in (Verdict.UNSUPPORTED, Verdict.CRASHED):
            return None
        if case.verdict in (Verdict.AGREE, Verdict.DISAGREE):
            judged.append((candidate, case))
    return Alone(op, program, tuple(c for c, _ in judged), tuple(case for _, case in judged))


def can_be_judged(question: Question) -> bool:
    """Whether truth and tolerance are known at the question's only point."""
    (known,) = evaluator().reference_values(question)
    (tolerance,) = evaluator().tolerances(question)
    return known.truth.status == "ok" and tolerance.reason is None


def _candidates(op: str, program: Program, like: Candidate) -> Iterator[Candidate]:
    """The op at fixed points, with two sets of weights and directions in turn."""
    typed = typecheck(program)
    rng = np.random.default_rng(20)
    floats = tuple(p.name for p in program.params if p.type.is_float)
    shapes = {p.name: p.type.sizes for p in program.params}
    for kind in _ORDER * (4 if _kind(op) == "selection" else 1):
        point = Point({p.name: _value(op, p, kind, like, rng) for p in program.params})
        weights = tuple(signed(rng, t.sizes, like.precision) if t.is_float else None for t in typed.outputs)
        along = {name: signed(rng, shapes[name], like.precision) for name in floats}
        yield Candidate.of(Question(program, (point,), like.precision, floats, like.modes, weights, along))


def _value(op: str, param: Param, kind: str, like: Candidate, rng: np.random.Generator) -> Array:
    """Multiples of 1/64, which every precision holds; square matrices are far from singular."""
    shape = param.type.sizes
    if param.type.dtype == "bool":
        return np.asarray(rng.random(shape) < 0.5)
    if not param.type.is_float:
        return np.zeros(shape, "int64")
    values = np.asarray(np.round(rng.uniform(*_INTERVALS[kind], size=shape) * 64) / 64)
    if kind == "mixed":
        values = values * rng.choice([-1.0, 1.0], size=shape)
    if len(shape) > 1 and shape[-1] == shape[-2] and _kind(op) == "linalg":
        values = values + 2.0 * np.eye(shape[-1])
        if op in _HERMITIAN:
            values = (values + np.swapaxes(values, -1, -2)) / 2
    return np.asarray(values).astype(like.precision)
