"""The order of findings: which of them a reader should see first."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from gradfuzz.fuzzer.results.call import Call
from gradfuzz.fuzzer.results.finding import Class, Finding
from gradfuzz.programs.language.precision import FORMATS
from gradfuzz.programs.language.program import Program, walk
from gradfuzz.programs.language.syntax import Const

_ORDINARY, _CONCEIVABLE = 100.0, 1e6
"""Sizes of inputs and constants: ordinary is 1/100 .. 100, conceivable 1e-6 .. 1e6."""

_COMMON = ("float64", "float32")
"""The precisions that most programs compute in."""

ON_PURPOSE = "the function holds a value constant on purpose"
"""How the fact of a finding begins whose derivative is right where that value is held."""

Seriousness = tuple[int, int, int, bool]


def rank(finding: Finding) -> tuple[object, ...]:
    """Sorts findings. Those that may be meant come last, and before them those whose arguments may be outside
    of what is documented. Of the others those at ordinary inputs come first, and absurd inputs last; then
    those that are reproducible; then the most serious; then those that are seen most often. The id settles
    what is left.
    """
    may_be_meant = any(fact.startswith(ON_PURPOSE) for fact in finding.facts)
    flaky = finding.reproduced[0] < finding.reproduced[1]
    constants = _in_program(finding.program) if finding.call is None else _in_call(finding.call)
    points = (finding.smallest, finding.clearest, finding.worst)
    inputs = [[abs(v) for a in p.inputs.values() for v in a.ravel().tolist()] for p in points]
    absurdity = min(_absurdity([*constants, *numbers]) for numbers in inputs)
    is_aside = may_be_meant, finding.is_outside
    return *is_aside, absurdity, flaky, *seriousness(finding), -finding.seen, finding.id


def seriousness(finding: Finding) -> Seriousness:
    """The smallest is the most serious.

    A wrong answer comes before a crash, which nobody overlooks, and a loss of digits comes last. A low order
    of the derivative comes before a high one, whatever the class: more programs ask for it. Then the class
    decides, and then whether it shows in float64 or float32 or only in half precision.
    """
    sort = 2 if _loses_digits(finding) else int(finding.kind is Class.ERROR)
    return sort, _order(finding), finding.kind.severity, finding.precision not in _COMMON


def _loses_digits(finding: Finding) -> bool:
    """Whether digits are lost, of a value or of a derivative, and no more, at every point."""
    if finding.kind is not Class.WRONG_PRIMAL:
        return finding.kind is Class.PRECISION
    lost = FORMATS[finding.precision].half_of_the_digits
    points = (finding.smallest, finding.clearest, finding.worst)
    return all(abs(p.entry_got - p.entry_expected) <= lost * abs(p.entry_expected) for p in points)


def _order(finding: Finding) -> int:
    """The order of the derivative. A wrong value counts as first order: every derivative starts with it."""
    return 1 if finding.kind is Class.WRONG_PRIMAL else max(1, len(finding.modes))


def _in_program(program: Program) -> list[float]:
    """The constants of a program."""
    values = [n.value for n in walk(program) if isinstance(n, Const)]
    return [value for value in values if isinstance(value, float)]


def _in_call(call: Call) -> list[float]:
    """The sizes of the numbers of a call that no point has: literals, and the arrays that are held fixed."""
    given = set(map(id, call.differentiated()))
    arrays = [one.array for one in call.arrays() if one.array is not None and id(one) not in given]
    numbers = [float(abs(v)) for array in arrays for v in array.ravel().tolist()]
    literals = [one.literal for one in call.arguments if one.literal is not None]
    return numbers + [number for literal in literals for number in _in_literal(literal)]


def _in_literal(literal: str) -> list[float]:
    """The numbers of a literal of Python, without their signs; none where it is none: "dtype:float64"."""
    try:
        nodes = list(ast.walk(ast.parse(literal, mode="eval")))
    except (SyntaxError, ValueError):
        return []
    return [n.value for n in nodes if isinstance(n, ast.Constant) and isinstance(n.value, (int, float))]


def _absurdity(numbers: Sequence[float]) -> int:
    """0 where every number is zero or of ordinary size, 1 where all are conceivable, 2 otherwise."""
    sizes = [abs(number) for number in numbers if number]
    return sum(not all(1 / most <= size <= most for size in sizes) for most in (_ORDINARY, _CONCEIVABLE))
