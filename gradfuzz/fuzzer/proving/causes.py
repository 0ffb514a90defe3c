"""Which number of a wrong rule makes it wrong: a constant, or a term.

One after the other, each constant and each intermediate result of the rule is multiplied by an unknown
factor, and that factor is solved for which makes the rule right. Where it is the same at three points, the
place has been found: a factor that changes from point to point only compensates what is wrong elsewhere.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from flint import arb

from gradfuzz.errors import EvaluationError
from gradfuzz.fuzzer.measuring.measure import FACTORS
from gradfuzz.fuzzer.measuring.setting import Setting
from gradfuzz.oracles.base import Array
from gradfuzz.oracles.references.arb import PRECISIONS, working
from gradfuzz.oracles.references.balls import Enclosure, derivative, value
from gradfuzz.programs.graphs.graph import Atom, Constant, Equation, Graph, Node, Var
from gradfuzz.programs.language.precision import FORMATS
from gradfuzz.programs.language.syntax import Const
from gradfuzz.programs.language.types import Type

_MOST = 200
"""Places that are tried."""

_SAME = 1e-6
"""Two changes are the same where they differ by less than this share of them."""

_NO_FACTOR = 1e-12
"""Less than this is 0."""

_ONE_FACTOR = 1e-3
"""Two factors of an answer are the same where they differ by less than this share of what they are off 1."""

_ADDED = ("add", "subtract", "maximum", "minimum")
"""An epsilon is a constant that stands beside a number, and not before it."""


@dataclass(frozen=True, slots=True)
class RuleCause:
    """With `wanted` in place of the number at `line` of the rule it is right: in place of a `constant`, or of
    a factor 1 before a term.
    """

    kind: Literal["epsilon", "constant", "term", "float32", "factor"]
    line: int | None
    wanted: float = 1.0
    constant: float | None = None

    @property
    def words(self) -> str:
        """In a sentence."""
        if self.kind == "factor":
            return f"the answer is {self.wanted!r} times the derivative at all points: a constant in float32"
        if self.kind == "float32":
            return "its constants have the digits of float32: with more digits it may be right"
        if self.kind == "epsilon":
            return f"an epsilon: without {self.constant!r} in the marked line the rule is right"
        if self.constant is None and self.wanted == 0.0:
            return "without the marked term the rule is right"
        if self.constant is None:
            return f"with {_plain(self.wanted)} times the marked term the rule is right"
        if self.wanted == 0.0:
            return f"a term too many: without the one that {self.constant!r} multiplies the rule is right"
        single = FORMATS["float32"].dtype.type
        is_single = float(single(self.wanted)) == self.constant
        digits = " with the digits of float32" if is_single else ""
        return f"the constant {self.constant!r}{digits}: with {_plain(self.wanted)} the rule is right"

    @property
    def is_plain(self) -> bool:
        """Whether somebody would have written the number that is wanted."""
        return self.wanted == 0.0 or "." not in _plain(self.wanted)


def _plain(wanted: float) -> str:
    if not math.isfinite(wanted):
        return f"{wanted}"
    near = Fraction(wanted).limit_denominator(64)
    return str(near) if abs(float(near) - wanted) <= 1e-14 * abs(wanted) else f"{wanted:.15g}"


@dataclass(frozen=True, slots=True)
class _Place:
    """The result of an equation of the rule, or, with an `operand`, a constant that it reads."""

    line: int
    operand: int | None = None


def cause_of(setting: Setting, function: Graph, rule: Graph) -> RuleCause | None:
    """What makes a rule wrong, that of `setting`; None where it is no one number."""
    cases = [(function, rule, setting.given, setting.moving)]
    for k, factor in enumerate(FACTORS, 1):
        try:
            other = Setting.of(setting.subject, setting.modes, factor, k)
            cases.append((*other.graphs(), other.given, other.moving))
        except Exception:  # noqa: BLE001 - a function need not take the other inputs
            return None
    if any(len(own.nodes) != len(rule.nodes) for _, own, _, _ in cases):
        return None
    try:
        truths = [derivative(f, inputs, lines) for f, _, inputs, lines in cases]
    except EvaluationError:
        return None
    found: list[RuleCause] = []
    for place in itertools.islice(_places(rule), _MOST):
        factors: list[arb] = []
        for (_, own, inputs, _), truth in zip(cases, truths, strict=True):
            wanted = _solved(own, place, inputs, truth)
            if wanted is None or (factors and not _equal(wanted, factors[0])):
                break
            factors.append(wanted)
        if len(factors) == len(cases):
            found.append(_told(rule, place, factors[0]))
    rules = ((own, inputs) for _, own, inputs, _ in cases)
    if not found and all(itertools.starmap(_meets_roughly, zip(rules, truths, strict=True))):
        return RuleCause("float32", None)
    return min(found, key=_rank, default=None)


def cause_of_answer(setting: Setting) -> RuleCause | None:
    """What makes an answer wrong whose rule is right: None, but where it is wrong by one factor that no more
    than a constant in float32 explains.
    """
    factors = []
    for k, factor in enumerate((1.0, *FACTORS)):
        try:
            other = Setting.of(setting.subject, setting.modes, factor, k)
            function, _ = other.graphs()
            truth = derivative(function, other.given, other.moving).middle
            factors.append(other.answer() / truth)
        except Exception:  # noqa: BLE001 - a function need not take the other inputs
            return None
    off = [abs(f - 1.0) for f in factors]
    same = max(factors) - min(factors) <= _ONE_FACTOR * max(off)
    if not same or not max(off) <= FORMATS["float32"].roundoff:
        return None
    return RuleCause("factor", None, factors[0])


def _meets_roughly(case: tuple[Graph, Sequence[Array]], truth: Enclosure) -> bool:
    """Whether a rule may be right at its inputs if its constants are known to the digits of float32."""
    try:
        return value(*case, rounded="float32").meets(truth)
    except EvaluationError:
        return False


def _rank(cause: RuleCause) -> tuple[bool, bool, bool, int]:
    """What somebody would have written comes first; a constant before a term, and one that is not just 1; the
    first of several.
    """
    is_one = cause.constant is not None and abs(cause.constant) == 1.0
    return not cause.is_plain, cause.kind == "term", is_one, cause.line or 0


def _places(rule: Graph) -> Iterator[_Place]:
    for line, node in enumerate(rule.nodes):
        if not isinstance(node, Equation):
            continue
        for k, atom in enumerate(node.inputs):
            if atom.type.is_float and _number(atom):
                yield _Place(line, k)
    for line, node in enumerate(rule.nodes):
        if isinstance(node, Equation) and node.output.type.is_float:
            yield _Place(line)


def _number(atom: Atom) -> float:
    """The number that a constant is; 0 for anything else."""
    value = atom.value if isinstance(atom, Constant) else None
    return float(value.number) if isinstance(value, Const) else 0.0


def _told(rule: Graph, place: _Place, factor: arb) -> RuleCause:
    wanted = 0.0 if abs(factor) < _NO_FACTOR else float(factor)
    node = rule.nodes[place.line]
    if place.operand is None:
        return RuleCause("term", place.line, wanted)
    constant = _number(node.inputs[place.operand])
    added = isinstance(node, Equation) and node.op in _ADDED and wanted == 0.0
    return RuleCause("epsilon" if added else "constant", place.line, constant * wanted, constant)


def _solved(rule: Graph, place: _Place, inputs: Sequence[Array], truth: Enclosure) -> arb | None:
    """The factor with which the rule is right, by secants; None where there is none."""
    scaled = _with_factor(rule, place)

    def distance(factor: arb) -> arb:
        return (value(scaled, inputs, parameter=factor).ball - truth.ball).mid()

    with working(PRECISIONS[0], 1):
        return _root(distance)


def _root(distance: Callable[[arb], arb]) -> arb | None:
    try:
        old, new = arb(1), arb(1) + arb(2) ** -10
        before, after = distance(old), distance(new)
        first = before
        for _ in range(4):
            slope = (after - before) / (new - old)
            if not slope.is_finite() or slope == 0:
                return None
            old, new, before = new, (new - after / slope).mid(), after
            after = distance(new)
            if abs(after) <= abs(first) * arb(2) ** -40:
                return new
    except (EvaluationError, ZeroDivisionError):
        pass
    return None


def _equal(one: arb, other: arb) -> bool:
    """Whether two factors change the rule in the same way."""
    return bool(abs(one - other) <= _SAME * abs(other - 1))


def _with_factor(rule: Graph, place: _Place) -> Graph:
    """The rule with one more input, by which the number at a place is multiplied."""
    factor = Var(Type("float"), "factor")
    nodes: list[Node] = list(rule.nodes)
    node = nodes[place.line]
    assert isinstance(node, Equation), "places are of equations"
    if place.operand is None:
        plain = Var(node.output.type, "plain")
        scaled = Equation("multiply", (factor, plain), (), node.output)
        nodes[place.line : place.line + 1] = [dataclasses.replace(node, output=plain), scaled]
    else:
        atom = node.inputs[place.operand]
        product = Var(atom.type, "product")
        inputs = (*node.inputs[: place.operand], product, *node.inputs[place.operand + 1 :])
        own = Equation("multiply", (factor, atom), (), product)
        nodes[place.line : place.line + 1] = [own, dataclasses.replace(node, inputs=inputs)]
    return dataclasses.replace(rule, inputs=(*rule.inputs, factor), nodes=tuple(nodes))
