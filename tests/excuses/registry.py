"""Every excuse of the package, with a wrong answer planted beside it that must still be found.

An excuse is a place where an answer that seems wrong ends as anything but a finding: inconclusive, a
convention, unsupported, allowed, or an opinion that it may be rounding. A row names its sites (`sites` finds
them), says what it excuses, and plants: it has the same excuse pass an answer, and beside it a wrong answer
that must be a finding. Where nothing can be judged at a point at all, the plant is the same mistake at a
neighbour: another point or entry, or the next thing that can be judged. The sentence of the row says so.

The rows stand where their plants are: `verdicts`, `tolerances`, `functions`, `large`, `calls` and `lacks`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tests.excuses.planted import Planted


@dataclass(frozen=True)
class Excuse:
    """A row. `tests` are plants that stand elsewhere: "tests/unit/x/test_y.py::test_z"."""

    name: str
    excuses: str
    sites: tuple[str, ...]
    plant: Callable[[], Planted] | None = None
    tests: tuple[str, ...] = ()


EXCUSES: list[Excuse] = []

_Plant = Callable[[], Planted]


def excuse(excuses: str, *sites: str) -> Callable[[_Plant], _Plant]:
    """Enters a row with the plant that the decorated function makes."""

    def enter(plant: _Plant) -> _Plant:
        EXCUSES.append(Excuse(plant.__name__.replace("_", " "), excuses, sites, plant))
        return plant

    return enter


def planted_elsewhere(excuses: str, tests: tuple[str, ...], *sites: str) -> None:
    """Enters a row whose plants are tests."""
    EXCUSES.append(Excuse((*sites, *tests)[0], excuses, sites, tests=tests))


NOT_EXCUSES: tuple[tuple[str, str], ...] = (
    # A pattern of sites, and why they excuse nothing
    ("fuzzer/conventions/table.py: *", "numbers of examples"),
    ("fuzzer/measuring/setting.py: _STEPS", "how weights and lines are drawn"),
    ("fuzzer/measuring/oracle.py: _SMALL", "larger functions are asked twice by name"),
    ("fuzzer/verdict/labels.py: *", "steps of a picture"),
    ("fuzzer/verdict/metamorphic*.py: *", "how a variant of a question is made"),
    ("fuzzer/verdict/rows.py: *", "how many are asked at once"),
    ("fuzzer/conventions/ties.py: _MANY", "a count that stands for many"),
    ("fuzzer/results/finding.py CheckResult.unsettled: *", "how each of the others is made"),
    ("fuzzer/verdict/judge.py judge: Verdict.INCONCLUSIVE", "what a case is before it is judged"),
    ("fuzzer/verdict/judge.py plainly_right: *", "what a case is before it is judged"),
    ("fuzzer/verdict/metamorphic_checks.py *: Verdict.AGREE", "before the references are asked"),
    ("fuzzer/verdict/metamorphic_checks.py _undecided: *", "the reason is that of the tolerance"),
    ("testing/check.py _rank: *", "an order of verdicts"),
    ("fuzzer/verdict/classify.py *: inf", "an error that is infinitely large"),
    ("fuzzer/verdict/classify.py: *", "names of wrong answers; CLEAR has a row"),
    ("fuzzer/verdict/judge.py joined: inf", "the engine's part of it has a row"),
    (
        "fuzzer/verdict/along.py: *",
        "how directions are drawn; tests/unit/fuzzer/test_along.py has their plants",
    ),
    ("fuzzer/tolerance/lanes.py: *", "how many samples are drawn"),
    ("fuzzer/tolerance/allowed.py: LARGE", "how many samples are drawn"),
    ("fuzzer/tolerance/perturbed.py: _HELD", "how long results are held"),
    ("fuzzer/verdict/large.py: *", "what is large, and the steps of a difference"),
    ("fuzzer/verdict/large.py module: *", "the reason is that of the tolerance"),
    ("fuzzer/verdict/truth.py: _HASHED", "how arrays are told from each other"),
    ("fuzzer/tolerance/perturbed.py: EPS", "how large a perturbation is, which is scaled back"),
    ("fuzzer/tolerance/perturbed.py: FINE_EPS", "how large a perturbation is, which is scaled back"),
    ("fuzzer/tolerance/perturbed.py: _POOL", "how many perturbations are drawn"),
    ("fuzzer/tolerance/perturbed.py: _STEP", "which perturbations are drawn"),
    ("fuzzer/tolerance/perturbed.py: _SUM_SIGN", "which perturbations are drawn"),
    ("fuzzer/tolerance/perturbed_linalg.py: _NUMPY_RANK", "a limit of NumPy's own"),
    ("fuzzer/tolerance/allowed.py _by_modes: Reason.DOMAIN", "no op of the language is without a rule"),
    ("fuzzer/calling/judge.py raises: *", "what a card of functions asks; nothing is judged"),
    ("fuzzer/measuring/measure.py: FACTORS", "which points lie around a point"),
    ("fuzzer/measuring/measure.py: _REACH", "how far away a loop has to end"),
    ("fuzzer/measuring/measure.py: _TIMES", "how long a loop beside the point is waited for"),
    ("fuzzer/measuring/measure.py: _NEAR", "where a program that decides by numbers is compared"),
    ("fuzzer/measuring/measure.py: _MEASURED", "how many entries are measured one by one"),
    ("fuzzer/measuring/measure.py: _SEQUENCES", "how many sequences of modes are asked; more is an error"),
    ("fuzzer/measuring/numeric.py: _BAND*", "how directions are drawn"),
    ("fuzzer/measuring/numeric.py: _IMAGINARY", "the size of a step"),
    ("fuzzer/measuring/numeric.py: _ALIKE", "how many answers that err alike are enough"),
    ("fuzzer/measuring/numeric.py: STEADY", "which errors are alike, and so no rounding"),
    ("fuzzer/measuring/subject.py: _LOOKS", "how often a function is called to see whether it draws"),
    ("fuzzer/measuring/numeric.py: _NEARER", "the size of a range"),
    ("fuzzer/measuring/measure.py Inquiry._rounding: except Exception", "it is measured as any other then"),
    ("fuzzer/measuring/measure.py Inquiry._mirrored: except Exception", "the other triangle is tried then"),
    ("fuzzer/measuring/oracle.py FunctionOracle._at: except Exception", "an exception is an answer"),
    ("fuzzer/measuring/oracle.py FunctionOracle.often.*: except Exception", "an exception is an answer"),
    ("fuzzer/measuring/subject.py *: except Exception", "a usage error, or no complex step"),
    ("fuzzer/tolerance/differences.py: *", "the size or the number of steps, where no row names it"),
)
"""Sites that a scan of the source finds and that excuse nothing. A row that names one takes precedence."""
