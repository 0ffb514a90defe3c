"""What is said of a finding without a cause: what was planted, and nothing else."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from gradfuzz.adapters import path
from gradfuzz.engine import Rules
from gradfuzz.engine.modes.forward import ForwardMode, Tangent
from gradfuzz.engine.modes.reverse import Cotangent, ReverseMode
from gradfuzz.engine.rules.value import Value
from gradfuzz.fuzzer.findings.diagnose import Witness, diagnose
from gradfuzz.fuzzer.findings.facts import _factor, facts
from gradfuzz.fuzzer.findings.prove import prove
from gradfuzz.fuzzer.findings.survey import asked
from gradfuzz.fuzzer.questions.candidate import Candidate
from gradfuzz.fuzzer.questions.weighted import plain_question
from gradfuzz.fuzzer.results.raw import Raw
from gradfuzz.fuzzer.verdict.shared import oracle
from gradfuzz.oracles.base import Answer, Mode, Oracle, Point, Question, Traits
from gradfuzz.oracles.engine.oracle import EngineOracle
from gradfuzz.oracles.mutants.mutant import recorded
from gradfuzz.oracles.mutants.mutations import MUTATIONS, Applied
from gradfuzz.oracles.registry import resolve
from gradfuzz.programs import parse
from gradfuzz.programs.graphs.graph import Equation
from gradfuzz.programs.language.precision import Precision

Mistake = Callable[[Applied], Value | None]


def times(factor: float) -> Mistake:
    def wrong(at: Applied) -> Value | None:
        part = at.right()
        return None if part is None else recorded(part * factor)

    return wrong


def mistaken(name: str) -> Mistake:
    return MUTATIONS[name].wrong


def negated_where_negative(at: Applied) -> Value | None:
    """Right at positive operands: the right slope times the operand's sign."""
    part, x = at.right(), at.argument
    return None if part is None else recorded(part * recorded(abs(x)) / x)


def other_factor_everywhere(at: Applied) -> Value | None:
    """No one factor: the right slope times the operand."""
    part = at.right()
    return None if part is None else recorded(part * (at.argument + 3.0))


def planted(op: str, mistake: Mistake, *places: int, mode: Mode = "rev") -> Oracle:
    """The engine with a mistake in the rules of an op, by these operands; by all where none is named."""

    class Back(ReverseMode):
        def rule(self, node: Equation, k: int, g: Value, ans: Value, args: list[Value]) -> Cotangent:  # type: ignore[override]
            if node.op != op or k not in (places or (k,)):
                return super().rule(node, k, g, ans, args)
            return mistake(Applied("rev", node, k, g, ans, tuple(args)))

    class Forth(ForwardMode):
        def rule(self, node: Equation, k: int, t: Tangent, ans: Value, args: list[Value]) -> Tangent:  # type: ignore[override]
            if t is None or node.op != op or k not in (places or (k,)):
                return super().rule(node, k, t, ans, args)
            return mistake(Applied("fwd", node, k, t, ans, tuple(args)))

    return EngineOracle("engine:wrong", Rules(reverse=Back) if mode == "rev" else Rules(forward=Forth))


def candidate(text: str, modes: tuple[Mode, ...] = ("rev",), precision: Precision = "float64") -> Candidate:
    params = "x, y, a: 'float[3, 3]', b: 'float[3, 3]', v: 'float[3]', w: 'float[2]'"
    program = parse(text if "\n" in text else f"def f({params}):\n    return {text}\n")
    rng = np.random.default_rng(0)
    inputs = {
        p.name: np.asarray(np.round(rng.uniform(0.5, 1.5, p.type.sizes) * 64) / 64, precision)
        for p in program.params
    }
    return Candidate.of(plain_question(program, [Point(inputs)], precision, None, modes))


def said(about: Candidate, target: Oracle) -> tuple[str, ...]:
    smallest = asked(about, target)
    assert smallest.verdict.is_wrong
    return facts(about, [smallest], target).sentences


def test_answers_too_large_for_a_ratio_are_no_multiple() -> None:
    """Of which the middle is NaN."""

    def huge(at: Applied) -> Value | None:
        x = at.argument - 1.0
        return recorded(x / abs(x) * 1.5e308)

    about = candidate("def f(x):\n    return 0.125 * cos(x)\n")
    cases = [
        asked(replace(about, inputs={"x": np.asarray(x)}), planted("cos", huge))
        for x in (0.5, 0.75, 1.25, 1.5)
    ]
    assert all(case.verdict.is_wrong for case in cases)
    assert not any("times" in told for told in facts(about, cases, planted("cos", huge)).sentences)


@pytest.mark.parametrize("operands", ["x, v: 'float[0]'", "x: 'float[1]', v: 'float[2, 0]'"])
def test_of_a_mean_over_nothing_it_is_told_that_the_op_is_wrong(operands: str) -> None:
    """Where un-broadcasting takes the mean in place of the sum, that of no entries is NaN, and right is 0."""

    def averaged(at: Applied) -> Value | None:
        return recorded(at.argument * 0.0 + np.nan)

    told = said(candidate(f"def f({operands}):\n    return sum(x * v)\n"), planted("multiply", averaged, 0))
    assert told == (alone("multiply", "x * y"), BACK)


def test_without_a_telling_point_there_is_no_factor() -> None:
    assert _factor([]) is None


EXP_IN_A_LOOP = "def f(x):\n    for i in range(3):\n        x = exp(x) * 0.1\n    return x\n"
BY_FIRST = "wrong by its first operand, x; right by its second operand, y"
BY_SECOND = "wrong by its second operand, y; right by its first operand, x"
TWICE = "the answer is exactly 2 times what is right"
BACK = "wrong in vjp, right in jvp"


def alone(op: str, text: str) -> str:
    return f"{op} alone is wrong: {text}, at all 6 points tried"


def right(text: str) -> str:
    return f"right at every point tried, each op alone: {text}"


@pytest.mark.parametrize(
    ("text", "target", "sentences"),
    [
        (
            "cos(x) * y",
            planted("cos", times(2.0)),
            [
                alone("cos", "cos(x)"),
                BACK,
                "the answer is exactly 2 times what is right, at all 6 points",
                right("x * y"),
            ],
        ),
        (
            "sum(cos(v))",
            planted("cos", times(1.1)),
            [
                alone("cos", "cos(x)"),
                BACK,
                "the answer is exactly 1.1 times what is right, at all 6 points",
                right("sum(x)"),
            ],
        ),
        (
            "tanh(x)",
            planted("tanh", times(1 / 3)),
            [
                alone("tanh", "tanh(x)"),
                BACK,
                "the answer is exactly 1/3 times what is right, at all 6 points",
            ],
        ),
        (
            "x / y",
            planted("divide", mistaken("dropped"), 1),
            [alone("divide", "x / y"), BACK, BY_SECOND, "by y, the answer is 0 at all 6 points"],
        ),
        (
            "x / y",
            planted("divide", times(-1.0)),
            [
                alone("divide", "x / y"),
                BACK,
                "wrong by both operands",
                "by x, the answer is exactly -1 times what is right, at all 6 points",
                "by y, the answer is exactly -1 times what is right, at all 6 points",
            ],
        ),
        (
            "2.0 * (x / y)",
            planted("divide", mistaken("swapped"), 0),
            [
                alone("divide", "x / y"),
                BACK,
                BY_FIRST,
                "by x, the answer is what is right with x and y exchanged, at all 6 points",
                right("x * y"),
            ],
        ),
        (
            "x / y",
            planted("divide", mistaken("exchanged"), 0),
            [
                alone("divide", "x / y"),
                BACK,
                BY_FIRST,
                "by x, the answer is the derivative by y, at all 6 points",
            ],
        ),
        (
            # The derivatives by the two operands exchanged: no point tells that from their signs.
            "x - y",
            planted("subtract", mistaken("exchanged")),
            [
                alone("subtract", "x - y"),
                BACK,
                "wrong by both operands",
                "by x, the answer is exactly -1 times what is right, at all 6 points",
                "by y, the answer is exactly -1 times what is right, at all 6 points",
            ],
        ),
        (
            "sum(a @ b)",
            planted("matmul", mistaken("transposed"), 1),
            [
                alone("matmul", "x @ y"),
                BACK,
                BY_SECOND,
                "by y, the answer is the transpose of what is right, at all 6 points",
                right("sum(x)"),
            ],
        ),
        (
            "sum(solve(a, v))",
            planted("solve", mistaken("transposed"), 0),
            [
                alone("solve", "solve(x, y)"),
                BACK,
                BY_FIRST,
                "by x, the answer is the transpose of what is right, at all 6 points",
                right("sum(x)"),
            ],
        ),
        (
            "sum(x * v)",
            planted("multiply", mistaken("mean"), 0),
            [
                alone("multiply", "x * y"),
                BACK,
                BY_FIRST,
                "by x, the answer is exactly 1/3 times what is right, at all 6 points",
                "by x, that is the mean over what was broadcast, not the sum",
                right("sum(x)"),
            ],
        ),
        (
            # A third too little everywhere, without broadcasting as well: that is no mean.
            "sum(x * v)",
            planted("multiply", times(1 / 3), 0),
            [
                alone("multiply", "x * y"),
                BACK,
                BY_FIRST,
                "by x, the answer is exactly 1/3 times what is right, at all 6 points",
                right("sum(x)"),
            ],
        ),
        (
            "sum(x * v)",
            planted("multiply", mistaken("first"), 0),
            [
                alone("multiply", "x * y"),
                BACK,
                BY_FIRST,
                "by x, the answer is what is right for the first entry that it was broadcast to, not summed,"
                " at all 6 points",
                right("sum(x)"),
            ],
        ),
        (
            # One summand of two is missing.
            "x * x",
            planted("multiply", mistaken("dropped"), 1),
            [alone("multiply", "x * y"), BACK, BY_SECOND, "by y, the answer is 0 at all 6 points"],
        ),
        (
            "sin(x)",
            planted("sin", mistaken("unscaled")),
            [
                alone("sin", "sin(x)"),
                BACK,
                "the answer is the weight of the output itself, as if the slope were 1, at all 6 points",
            ],
        ),
        (
            EXP_IN_A_LOOP,
            planted("exp", times(1.3)),
            [
                alone("exp", "exp(x)"),
                BACK,
                "the answer is exactly 1.3 times what is right, at all 6 points",
                right("x * y"),
            ],
        ),
        (
            "sin(x)",
            planted("sin", mistaken("at-result")),
            [
                alone("sin", "sin(x)"),
                BACK,
                "the answer is the derivative at the result instead of at the operand, at all 6 points",
            ],
        ),
        ("sin(x)", planted("sin", other_factor_everywhere), [alone("sin", "sin(x)"), BACK]),
        (
            "real(exp(complex(x, y)) * complex(y, x))",
            planted("exp", times(2.0)),
            [alone("exp", "exp(complex(x, y))"), BACK, right("complex(x, y) * complex(z, u)")],
        ),
    ],
)
def test_what_was_planted_is_told(text: str, target: Oracle, sentences: list[str]) -> None:
    assert list(said(candidate(text), target)) == sentences


def test_no_op_is_blamed_for_a_part_that_does_not_come_back() -> None:
    """Each op of complex numbers looks wrong where `imag` is; only `imag` itself is named."""
    about = candidate("imag(exp(complex(x, y)) * complex(y, x))")
    found = facts(about, [asked(about, planted("imag", times(2.0)))], planted("imag", times(2.0)))
    assert found.culprits == ("imag",)
    assert found.sentences[:2] == (
        "imag alone is wrong: imag(complex(x, y)), at all 4 points tried",
        BACK,
    )


def test_where_both_are_0_nothing_is_claimed() -> None:
    """Each operand of a maximum has a derivative at half of the points."""
    sentences = said(candidate("maximum(x, y)"), planted("maximum", times(2.0), 0))
    where = "where it or what is right is not 0"
    assert list(sentences) == [
        "maximum alone is wrong: maximum(x, y), at all 4 points tried where its derivative by x, or the"
        " answer, is not 0",
        BACK,
        f"wrong by its first operand, x, {where}; right by its second operand, y",
        f"by x, {TWICE}, at all 4 points {where}",
    ]


def test_the_mode_is_told() -> None:
    sentences = said(candidate("sin(x)", ("fwd",)), planted("sin", times(-1.0), mode="fwd"))
    assert list(sentences) == [
        alone("sin", "sin(x)"),
        "wrong in jvp, right in vjp",
        "the answer is exactly -1 times what is right, at all 6 points",
    ]


def test_where_each_op_is_right_the_program_is_compared() -> None:
    """Of the three equal parts of the derivative of x ** 3, the last trip's alone is there."""
    cube = "def f(x):\n    acc = 1.0\n    for i in range(3):\n        acc = acc * x\n    return acc\n"
    about = candidate(cube)
    target = oracle("mutant:last-trip-only")
    points = [replace(about, inputs={"x": np.asarray(x)}) for x in (0.5, 2.0, -1.5, 3.0, 0.25)]
    around = [asked(at, target) for at in points]
    third = "the answer to the program is exactly 1/3 times what is right, at all 5 points"
    assert facts(about, around, target).sentences == (right("x * y"), third)
    few = facts(about, around[:3], target).sentences
    assert few == (right("x * y"),)
    at_1 = asked(replace(about, inputs={"x": np.asarray(1.0)}), EngineOracle())
    assert facts(about, [*around, at_1], target).sentences == (right("x * y"),)


class Louder(EngineOracle):
    """Every gradient is twice as large: what weights the outputs is wrong, and no op."""

    def answer(self, question: Question) -> list[Answer]:
        return [
            replace(right, gradient={name: 2.0 * g for name, g in right.gradient.items()})
            for right in super().answer(question)
        ]


@pytest.mark.parametrize("text", ["sin(x) * y", "a @ v", "x + y"])
def test_where_a_parameter_itself_is_wrong_no_op_is_named(text: str) -> None:
    told = f"even a program that returns x is wrong at all 4 points tried; {TWICE}, at all 4 points"
    assert said(candidate(text), Louder("engine:louder")) == (told,)


def test_of_a_right_answer_nothing_is_said() -> None:
    about, engine = candidate("cos(x) * y / x"), EngineOracle()
    assert facts(about, [asked(about, engine)], engine).sentences == ()


def test_what_is_not_so_at_every_point_is_not_said() -> None:
    """The rule is wrong at negative operands only, and the points have both signs."""
    program = parse("def f(x):\n    return cos(x)\n")
    inputs = {"x": np.asarray(-0.5)}
    about = Candidate.of(plain_question(program, [Point(inputs)], "float64", None, ("rev",)))
    assert said(about, planted("cos", negated_where_negative)) == ()


def test_a_factor_that_rounding_blurs_is_not_called_exact() -> None:
    sentences = said(candidate("sin(x)", precision="float16"), planted("sin", times(2.0)))
    assert alone("sin", "sin(x)") in sentences
    assert not any("exactly" in one for one in sentences)
    assert "the answer is about 2 times what is right, at all 6 points" in sentences


def test_at_second_order_the_first_is_told() -> None:
    sentences = said(candidate("cos(x) * y", ("rev", "rev")), planted("cos", times(-1.0)))
    assert sentences[:2] == (alone("cos", "cos(x)"), "wrong in reverse over reverse and in vjp")
    assert sentences[-1] == right("x * y")


def test_a_rule_that_is_right_at_first_order_is_no_cause() -> None:
    """The second derivative of sin goes through cos, whose rule is wrong: that of sin is not."""
    about, target = candidate("sin(x)", ("rev", "rev")), planted("cos", times(2.0))
    smallest = asked(about, target)
    found = facts(about, [smallest], target)
    assert "wrong in reverse over reverse, right in vjp" in found.sentences
    without = diagnose([Witness(about, smallest)], target)
    assert without is not None
    assert without.mutant == "vjp.sin.0.double"
    assert diagnose([Witness(about, smallest), *found.witnesses], target) is None


class Counted(Oracle):
    """Another oracle, whose questions are counted."""

    def __init__(self, of: Oracle, stride: int) -> None:
        self.name, self.version, self.of, self.asked = of.name, of.version, of, 0
        self.stride = stride

    @property
    def traits(self) -> Traits:
        return Traits(sampling_stride=self.stride)

    def supports(self, question: Question) -> str | None:
        return self.of.supports(question)

    def answer(self, question: Question) -> list[Answer]:
        self.asked += len(question.points)
        return self.of.answer(question)


@pytest.mark.parametrize(("stride", "most"), [(1, 32), (8, 8)])
@pytest.mark.parametrize("text", ["sum(cos(x * v) / y + exp(v) - a[0])", "clip(cos(x), 0.0, y) / y"])
def test_a_slow_target_is_asked_less(text: str, stride: int, most: int) -> None:
    about = candidate(text)
    wrong = planted("divide", times(2.0), 0)
    smallest = asked(about, wrong)
    target = Counted(wrong, stride)
    found = facts(about, [smallest], target)
    assert most / 2 <= target.asked <= most
    assert found.witnesses


# A library --------------------------------------------------------------------------------------------------

PATCHED = """
from autograd.core import primitive_vjps


def wrong(function, place, change):
    right = primitive_vjps[function]

    def maker(places, ans, args, kwargs):
        back = right(places, ans, args, kwargs)
        return lambda g: tuple(change(s) if k == place else s for k, s in zip(places, back(g)))

    primitive_vjps[function] = maker


wrong(anp.cos, 0, lambda s: 2.0 * s)
wrong(anp.true_divide, 1, lambda s: -s)
wrong(anp.matmul, 0, lambda s: anp.swapaxes(s, -1, -2))


if __name__ == "__main__":"""


@pytest.fixture(scope="module")
def patched_autograd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Oracle]:
    """HIPS autograd with three wrong rules."""
    pytest.importorskip("autograd")
    own = path("kit.py").parent
    folder = tmp_path_factory.mktemp("patched")
    text = (own / "autograd_adapter.py").read_text(encoding="utf-8")
    script = folder / "autograd_adapter.py"
    script.write_text(text.replace('\nif __name__ == "__main__":', PATCHED), encoding="utf-8")
    for name in ("kit.py", "fields.py", "kernels.py"):
        (folder / name).write_text((own / name).read_text(encoding="utf-8"), encoding="utf-8")
    (way,) = resolve(f"cmd:{sys.executable} {script}")
    yield way
    way.close()


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("cos(x) * y", [alone("cos", "cos(x)"), BACK, f"{TWICE}, at all 6 points", right("x * y")]),
        (
            "x / y",
            [
                alone("divide", "x / y"),
                BACK,
                BY_SECOND,
                "by y, the answer is exactly -1 times what is right, at all 6 points",
            ],
        ),
        (
            "sum(a @ b)",
            [
                alone("matmul", "x @ y"),
                BACK,
                BY_FIRST,
                "by x, the answer is the transpose of what is right, at all 6 points",
                right("sum(x)"),
            ],
        ),
    ],
)
def test_what_was_planted_in_a_library_is_told(
    text: str, sentences: list[str], patched_autograd: Oracle
) -> None:
    about = candidate(text)
    smallest = asked(about, patched_autograd)
    found = facts(about, [smallest], patched_autograd)
    assert list(found.sentences) == sentences
    cause = diagnose([Witness(about, smallest), *found.witnesses], patched_autograd)
    assert cause is not None
    assert cause.mutant.split(".")[1] == sentences[0].split()[0]


AVERAGING = f"cmd:{sys.executable} {Path(__file__).parents[2] / 'targets' / 'averaging.py'}"


@pytest.mark.parametrize(
    ("operands", "told"),
    [
        (
            "x, v: 'float[3]'",
            [
                "by x, the answer is exactly 1/3 times what is right, at all 6 points",
                "by x, that is the mean over what was broadcast, not the sum",
            ],
        ),
        ("x, v: 'float[0]'", []),
    ],
)
def test_a_library_that_takes_the_mean_where_it_unbroadcasts(operands: str, told: list[str]) -> None:
    pytest.importorskip("autograd")
    (way,) = resolve(AVERAGING)
    try:
        found = said(candidate(f"def f({operands}):\n    return sum(x * v)\n"), way)
    finally:
        way.close()
    assert found[:2] == (alone("multiply", "x * y"), BACK)
    assert [one for one in found if one.startswith("by x, ")] == told


# Causes -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "target", "before", "after"),
    [
        ("cos(x) * y", planted("cos", times(2.0)), "vjp.multiply.0.double", "vjp.cos.0.double"),
        ("cos(x) * y", planted("cos", times(1.1)), None, None),
        (
            "x / y",
            planted("divide", mistaken("exchanged"), 0),
            "vjp.divide.0.exchanged",
            "vjp.divide.0.exchanged",
        ),
        ("imag(exp(complex(x, y)))", planted("imag", times(2.0)), "vjp.exp.0.double", "vjp.imag.0.double"),
    ],
)
def test_a_cause_must_be_so_of_each_op_alone(
    text: str, target: Oracle, before: str | None, after: str | None
) -> None:
    """What scales the cotangent looks alike from every op that it passes."""
    about = candidate(text)
    smallest = Witness(about, asked(about, target))
    others = facts(about, [smallest.case], target).witnesses
    without, cause = diagnose([smallest], target), diagnose([smallest, *others], target)
    assert (without and without.mutant, cause and cause.mutant) == (before, after)
    assert cause is None or not any("multiply" in name for name in cause.also)


def test_a_finding_carries_what_is_known() -> None:
    target = oracle("mutant:vjp.cos.0.double")
    about = candidate("cos(x) * y")
    finding = prove(Raw(asked(about, target), "loops", 0)).finding
    assert finding is not None
    assert finding.cause is not None
    assert finding.cause.mutant == "vjp.cos.0.double"
    assert alone("cos", "cos(x)") in finding.facts
    assert "the answer is exactly 2 times what is right, at all 6 points" in finding.facts
