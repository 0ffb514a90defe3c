"""The sample of `tolerance`: right answers, and what they take of the allowed error."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from gradfuzz.fuzzer.questions.weighted import questions
from gradfuzz.fuzzer.results.finding import CheckResult, Class, Reason, Verdict
from gradfuzz.fuzzer.verdict.evaluator import Evaluator
from gradfuzz.oracles.base import Question, check_name
from gradfuzz.oracles.registry import resolve
from gradfuzz.programs.language.precision import Precision
from gradfuzz.programs.language.program import to_text, walk
from gradfuzz.programs.language.syntax import Call
from gradfuzz.strategies import FAMILIES, GeneratedCase, draw_many

SOURCES: dict[str, tuple[tuple[str, Precision], ...]] = {
    "float64": (("loops", "float64"), ("linalg", "float64"), ("tensor", "float64")),
    "float32": (("loops", "float32"), ("linalg", "float32"), ("tensor", "float32")),
    "bfloat16": (("loops", "bfloat16"), ("tensor", "bfloat16")),
    "float16": (("loops", "float16"), ("tensor", "float16")),
    "complex128": (("complex", "float64"),),
    "complex64": (("complex", "float32"),),
}
"""What each curve is made of: families, and the precision in which they are drawn. LAPACK has no half
precision.
"""

ORDERS = (1, 2)
POINTS = 2
"""Of each program."""

BATCH = 30
"""Programs that a worker process takes at once."""

ORACLES: tuple[tuple[str, int], ...] = (
    ("engine", 1),
    ("torch:eager", 1),
    ("torch:func", 2),
    ("jax:unrolled", 6),
)
"""Who answers, and about every how manieth program."""


@dataclass(frozen=True, slots=True)
class Wrong:
    """A disagreement: an answer that is no right one, and so says nothing about the tolerance."""

    oracle: str
    check: str
    kind: Class
    ops: frozenset[str]
    confirmed: bool
    """Whether both references stand behind the truth."""
    program: str
    expected: float | None
    got: float | None


@dataclass(frozen=True, slots=True)
class Known:
    """A bug of docs/trophies.md: a library, ops one of which the program has, the checks that show it, what
    is wrong.
    """

    library: str
    ops: frozenset[str]
    checks: tuple[str, ...]
    words: str


KNOWN = (
    Known(
        "torch",
        frozenset({"solve", "det", "slogdet"}),
        ("reverse over forward", "forward over forward"),
        "`solve`, `det`, `slogdet`: forward mode takes the factorization for a constant when it is"
        " differentiated again",
    ),
    Known(
        "torch",
        frozenset({"eigh", "eig"}),
        ("reverse over forward",),
        "`eigh`, `eig`: reverse mode over forward mode is NaN",
    ),
    Known(
        "torch",
        frozenset({"det"}),
        ("vjp", "jvp", "reverse over reverse"),
        "`det` at exactly singular matrices",
    ),
    Known(
        "torch",
        frozenset({"minimum", "maximum"}),
        ("jvp",),
        "`minimum`, `maximum`: a small tangent next to a large one is lost",
    ),
    Known(
        "torch",
        frozenset({"cumulative_prod"}),
        ("reverse over forward", "forward over forward"),
        "`cumprod` where an entry is 0",
    ),
    Known(
        "torch",
        frozenset({"pow"}),
        ("reverse over reverse", "forward over reverse"),
        "`x**y` at y = 0: mixed derivatives are lost",
    ),
    Known(
        "jax",
        frozenset({"lstsq"}),
        ("reverse over reverse",),
        "`lstsq`: the second derivative in float32 is right to four digits only",
    ),
    Known(
        "jax",
        frozenset({"det"}),
        ("vjp",),
        "`det` at matrices of rank n - 1 whose zero pivot is not the last",
    ),
)
"""The reports with programs and numbers are in docs/trophies.md."""


def known(wrong: Wrong) -> Known | None:
    """The first of the known bugs that a disagreement may be."""
    library = wrong.oracle.partition(":")[0]
    return next(
        (k for k in KNOWN if k.library == library and k.ops & wrong.ops and wrong.check in k.checks), None
    )


@dataclass
class Tally:
    """What came of the answers of one oracle in one dtype and order."""

    errors: list[float] = field(default_factory=list)
    """Largest error over allowed of an answer, for all that have one and are not clearly wrong."""
    reasons: Counter[Reason] = field(default_factory=Counter)
    """Why the others could not be judged."""
    values: int = 0
    """Answers whose value, not its derivative, is just beyond what is allowed."""
    kinks: int = 0
    unsupported: int = 0
    raised: int = 0
    wrong: list[Wrong] = field(default_factory=list)

    def add(self, case: CheckResult, *, confirmed: bool = False) -> None:
        """Count one answer. A near miss, up to ten times what is allowed, is a measurement like any other."""
        if case.verdict is Verdict.UNSUPPORTED:
            self.unsupported += 1
        elif case.verdict is Verdict.CRASHED:
            self.raised += 1
        elif case.verdict is Verdict.CONVENTION:
            self.kinks += 1
        elif case.verdict is Verdict.DISAGREE:
            assert case.kind is not None, "a disagreement has a class"
            ops = frozenset(n.op for n in walk(case.question.program) if isinstance(n, Call))
            check, program = check_name(case.question.modes), to_text(case.question.program)
            self.wrong.append(
                Wrong(case.oracle, check, case.kind, ops, confirmed, program, case.expected, case.got)
            )
        elif case.reason is Reason.PRIMAL and case.error_over_allowed is not None:
            self.values += 1
        elif case.error_over_allowed is not None and case.reason in (None, Reason.NOISE):
            self.errors.append(case.error_over_allowed)
        elif case.reason is not None:
            self.reasons[case.reason] += 1

    def join(self, other: Tally) -> None:
        self.errors += other.errors
        self.reasons.update(other.reasons)
        self.values += other.values
        self.kinks += other.kinks
        self.unsupported += other.unsupported
        self.raised += other.raised
        self.wrong += other.wrong


Tallies = dict[tuple[str, int, str], Tally]
"""By dtype, order and oracle."""


def asked(drawn: GeneratedCase, index: int, seed: int, precision: Precision) -> list[Question]:
    """First order in both modes, and second order in one mix of them, at the first points of a case."""
    few = replace(drawn, points=drawn.points[:POINTS])
    found = questions(few, index, seed, precisions=(precision,), orders=ORDERS, checks=("vjp", "jvp"))
    return list({q.modes: q for q in reversed(found)}.values())


def measure(
    dtype: str,
    family: str,
    precision: Precision,
    number: int,
    programs: int,
    seed: int,
    names: Sequence[tuple[str, int]] = ORACLES,
) -> Tallies:
    """The answers of the named oracles about the `number`-th stretch of drawn programs."""
    evaluator, found = Evaluator(), {}
    oracles = [(oracle, every) for name, every in names for oracle in resolve(name)]
    cases = draw_many(
        FAMILIES[family].cases((precision,)), programs, f"{seed}/tolerance/{family}/{precision}/{number}"
    )
    for index, drawn in enumerate(cases):
        for question in asked(drawn, index, seed, precision):
            for oracle, every in oracles:
                if index % every:
                    continue
                tally = found.setdefault((dtype, question.order, oracle.name), Tally())
                if oracle.supports(question) is not None:
                    tally.unsupported += len(question.points)
                    continue
                answers = oracle.answer(question)
                for k, case in enumerate(evaluator.cases(oracle.name, question, answers, thorough=True)):
                    wrong = case.verdict is Verdict.DISAGREE
                    again = (
                        evaluator.cases(oracle.name, question, [answers[k]], at=[k], confirm=True)[0]
                        if wrong
                        else case
                    )
                    tally.add(case, confirmed=again.verdict is Verdict.DISAGREE and len(again.references) > 1)
    return found
