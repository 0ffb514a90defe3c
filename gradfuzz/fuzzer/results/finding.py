"""Verdicts and findings: the fuzzer's results as data.

CheckResult    one question to one target at one point, with its verdict
Finding        disagreements of one kind of one target, shrunk, with three points
Cause          the planted bug that a finding behaves like
Cluster        findings that seem to have one root cause
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from gradfuzz.fuzzer.results.call import Call
from gradfuzz.fuzzer.results.codec import OPTIONAL
from gradfuzz.fuzzer.results.evidence import Evidence
from gradfuzz.fuzzer.results.own_fault import OwnFault
from gradfuzz.fuzzer.results.proof import ProofRecord
from gradfuzz.oracles.base import Answer, Array, Mode, Point, Question, Truth
from gradfuzz.programs.language.precision import Precision
from gradfuzz.programs.language.program import Program


class Verdict(enum.Enum):
    """The outcome of one check."""

    AGREE = "agree"
    DISAGREE = "disagree"
    CONVENTION = "convention"
    INCONCLUSIVE = "inconclusive"
    UNSUPPORTED = "unsupported"
    CRASHED = "crashed"

    @property
    def is_wrong(self) -> bool:
        """Whether the target is at fault: it disagrees, or it crashed."""
        return self in (Verdict.DISAGREE, Verdict.CRASHED)


ANSWERS = (Verdict.AGREE, Verdict.DISAGREE, Verdict.CONVENTION)
"""The verdicts on an answer that could be judged."""


class Class(enum.Enum):
    """The kind of a disagreement, most serious first."""

    SIGN_FLIP = "sign_flip"
    RATIO_BLOWUP = "ratio_blowup"
    MISSING = "missing"
    SPURIOUS = "spurious"
    WRONG_VALUE = "wrong_value"
    NON_FINITE = "non_finite"
    WRONG_PRIMAL = "wrong_primal"
    WRONG_SHAPE = "wrong_shape"
    WRONG_DTYPE = "wrong_dtype"
    ERROR = "error"
    WRONG_RULE = "wrong_rule"
    PRECISION = "precision"

    @property
    def of_numbers(self) -> bool:
        """Whether it is about numbers, so that only a truth shows it."""
        return self not in (Class.WRONG_SHAPE, Class.WRONG_DTYPE, Class.ERROR)

    @property
    def of_derivatives(self) -> bool:
        """Whether it is about numbers of a derivative, and not of a value."""
        return self.of_numbers and self is not Class.WRONG_PRIMAL

    @property
    def of_finite_numbers(self) -> bool:
        """Whether it is about numbers, and NaN and infinity are none of them."""
        return self.of_numbers and self is not Class.NON_FINITE

    @property
    def severity(self) -> int:
        """0 is the most serious."""
        return list(Class).index(self)


FINITE = (Class.SIGN_FLIP, Class.RATIO_BLOWUP, Class.MISSING, Class.SPURIOUS, Class.WRONG_VALUE)
"""Classes of a derivative that is a wrong number. One bug shows them by turns, as the inputs fall. A number
that only has lost digits is in none of them.
"""


class Reason(enum.Enum):
    """Why a check is inconclusive."""

    DOMAIN = "the program is not defined at this point"
    KINK = "the point lies on a kink or tie, or the trip count changes next to it"
    REFERENCES = "the references cannot tell: they disagree, or their bound is wide"
    NOISE = "rounding in the target's precision may exceed the derivative"
    RANGE = "an intermediate leaves the normal range of the target's dtype"
    PRIMAL = "rounding in the target's precision changes a decision or the value"
    TRIP_LIMIT = "a loop runs longer than the trip limit"
    UNDEFINED = "the call is not defined by its documents"


@dataclass(frozen=True, slots=True, eq=False)
class CheckResult:
    """One check: a target's answer at one point, judged.

    `ratio` is got / expected for the worst entry, `error_over_allowed` the largest error in units of the
    allowed one; `worst` names that entry (input, index). `allowed` has one array per differentiated input.
    `conventions` names the rows of `fuzzer.conventions.table` that the program meets at the point of a case
    that is a convention or inconclusive, or the row that accepts the answer.
    """

    oracle: str
    question: Question
    point: Point
    truth: Truth | None
    answer: Answer
    verdict: Verdict
    kind: Class | None = None
    reason: Reason | None = None
    message: str = ""
    worst: tuple[str, tuple[int, ...]] | None = None
    expected: float | None = None
    got: float | None = None
    ratio: float | None = None
    error_over_allowed: float | None = None
    allowed: Mapping[str, Array] = field(default_factory=dict)
    references: tuple[str, ...] = ()
    conventions: tuple[str, ...] = ()
    unjudged: Mapping[str, Array] = field(default_factory=dict)
    """True for each entry about which agreeing says nothing, by input; empty where there is none."""

    def unsettled(self, reason: Reason, message: str) -> CheckResult:
        """The same as a disagreement that cannot be upheld."""
        return replace(self, verdict=Verdict.INCONCLUSIVE, kind=None, reason=reason, message=message)


@dataclass(frozen=True, slots=True, eq=False)
class FindingPoint:
    """One row of a finding's table: scalars are of the worst entry, the arrays are whole."""

    inputs: Mapping[str, Array]
    expected: Mapping[str, Array]
    got: Mapping[str, Array]
    bound: Mapping[str, Array]
    entry: tuple[str, tuple[int, ...]]
    entry_expected: float
    entry_got: float
    ratio: float | None
    error_over_allowed: float
    allowed: Mapping[str, Array] = field(default_factory=dict)
    """The allowed error, entry by entry; empty where entries were not compared."""


class Likelihood(enum.Enum):
    """How well a planted bug explains a finding."""

    CERTAIN = "certain"
    """It alone gives the target's answers, at all points, in all modes, and on the program as drawn."""
    LIKELY = "likely"
    """It gives them too, but so do others, or the evidence is too little."""
    POSSIBLE = "possible"
    """It gives the wrong answers to the shrunk program, but not all other answers."""


SYSTEMATIC = "systematic"


@dataclass(frozen=True, slots=True)
class Cause:
    """The planted bug that a finding behaves like."""

    mutant: str
    """Its alias: `mutant:ALIAS` is a target."""
    likelihood: Likelihood
    summary: str
    """What is wrong in it."""
    reported: str
    """The real report of that kind; `SYSTEMATIC` for a mutant made from a rule."""
    also: tuple[str, ...] = ()
    """Other mutants that the evidence does not tell from it."""


OUTSIDE = "its arguments may be outside of what is documented"
"""How the fact of a finding begins whose arguments lack what the function's docstring speaks of."""


@dataclass(frozen=True, slots=True, eq=False)
class Finding:
    """A disagreement, shrunk and de-duplicated."""

    id: str
    """"GF-" and four or more hex digits of the signature; stable across runs."""
    target: str
    version: str
    check: str
    """"value", "vjp", "jvp", or as in "forward over reverse"."""
    kind: Class
    family: str
    precision: Precision
    modes: tuple[Mode, ...]
    wrt: tuple[str, ...]
    program: Program
    original: Program
    weights: tuple[Array | None, ...]
    directions: Mapping[str, Array]
    smallest: FindingPoint
    clearest: FindingPoint
    worst: FindingPoint
    seen: int
    references: tuple[str, ...]
    reproduced: tuple[int, int]
    """(times the target repeated the wrong answer, times asked)."""
    note: str = ""
    """Where it shows: only one loop form, only one mode, only batched; or "suspect the reference"."""
    cause: Cause | None = None
    script: str = ""
    """A standalone script that needs only the target's library and mpmath; exits 1 while the bug is there."""
    ports: Mapping[str, str] = field(default_factory=dict)
    """The same question by dialect: "jax", "torch", "autograd", "nx", "swift", "tfjs", "pytest"; and under
    "short" ten lines of the target's own library, which print got and expected.
    """
    evidence: Evidence | None = None
    signature: str = ""
    """64 hex digits, which `id` abbreviates: the same wherever one system is wrong from one cause."""
    others: tuple[Mapping[str, Array], ...] = ()
    """The inputs answered in the same call as each of the points, where the target answers together ..."""
    place: int = 0
    """... and how many of them come before the point."""
    facts: tuple[str, ...] = field(default=(), metadata={OPTIONAL: True})
    """What holds at every point tried, whatever the cause: plain sentences without a full stop."""
    culprits: tuple[str, ...] = field(default=(), metadata={OPTIONAL: True})
    """The ops of the program that are wrong alone, with nothing around them, in order."""
    call: Call | None = field(default=None, metadata={OPTIONAL: True})
    """The call of a library's function that is wrong; `program` then has its inputs, and computes the same
    where the function could be traced, or else nothing.
    """
    drawn: Call | None = field(default=None, metadata={OPTIONAL: True})
    """The call as it was drawn, ..."""
    code: str | None = field(default=None, metadata={OPTIONAL: True})
    """... the shrunk call in the library's own language, ..."""
    drawn_code: str | None = field(default=None, metadata={OPTIONAL: True})
    """... and the drawn one."""
    rules: tuple[str, ...] = field(default=(), metadata={OPTIONAL: True})
    """The library's own rules that differentiate the call, by the names that it gives them."""
    proof: ProofRecord | None = field(default=None, metadata={OPTIONAL: True})
    """What is proved of these, where they could be traced: a wrong rule with its lines."""
    alike: tuple[tuple[Mode, ...], ...] = field(default=(), metadata={OPTIONAL: True})
    """The simpler derivatives of the call that are wrong in the same class and by the same factor."""
    own_faults: tuple[OwnFault, ...] = field(default=(), metadata={OPTIONAL: True})
    """Where gradfuzz itself failed at the finding: what that would have told is missing."""

    @property
    def is_outside(self) -> bool:
        """Whether its arguments may be outside of what is documented."""
        return any(fact.startswith(OUTSIDE) for fact in self.facts)


@dataclass(frozen=True, slots=True)
class Cluster:
    """Findings that seem to have one root cause."""

    label: str
    """As in "torch: carry cotangent dropped, only the last trip counts"."""
    findings: tuple[str, ...]
    """Their ids."""
