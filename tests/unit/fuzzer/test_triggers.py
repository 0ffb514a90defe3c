"""A disagreement is another bug where it stays without what known findings need."""

from __future__ import annotations

import numpy as np
import pytest

from gradfuzz.engine import Rules
from gradfuzz.engine.modes.reverse import Cotangent, ReverseMode, Tape
from gradfuzz.engine.rules.value import Value
from gradfuzz.fuzzer.findings.survey import asked
from gradfuzz.fuzzer.findings.triggers import KnownTrigger, unexplained, without_ops
from gradfuzz.fuzzer.questions.candidate import Candidate
from gradfuzz.fuzzer.questions.loop_forms import without_repeat
from gradfuzz.fuzzer.questions.weighted import plain_question
from gradfuzz.fuzzer.results.trigger import Trigger, loops_in
from gradfuzz.oracles.base import Point
from gradfuzz.oracles.engine.oracle import EngineOracle
from gradfuzz.oracles.mutants.mutant import recorded
from gradfuzz.oracles.registry import resolve
from gradfuzz.programs import parse
from gradfuzz.programs.arithmetic.numpy_namespace import NumpyNamespace
from gradfuzz.programs.evaluation.interpret import interpret
from gradfuzz.programs.graphs.graph import Equation
from gradfuzz.programs.language.program import walk
from gradfuzz.programs.language.syntax import Call
from gradfuzz.programs.language.typecheck import typecheck


class Wrong(ReverseMode):
    """The slopes of exp, tanh and det are a third too large."""

    def equation(self, node: Equation, g: Value, tape: Tape) -> list[Cotangent]:
        parts = super().equation(node, g, tape)
        if node.op not in ("exp", "tanh", "det"):
            return parts
        return [None if part is None else recorded(part * 1.3) for part in parts]


TARGET = EngineOracle("engine:wrong", Rules(reverse=Wrong))


def candidate(text: str) -> Candidate:
    program = parse(text)
    rng = np.random.default_rng(0)
    point = Point({p.name: np.asarray(rng.uniform(0.5, 1.5, p.type.sizes)) for p in program.params})
    return Candidate.of(plain_question(program, [point], "float64", None, ("rev",)))


def known(*texts: str) -> list[KnownTrigger]:
    return [KnownTrigger((0, 1, "", 0, "", ""), Trigger.of(parse(text)), "") for text in texts]


OF_EXP = "def f(x):\n    return exp(x)\n"


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("def f(x):\n    return exp(x) + sin(x)\n", None),
        ("def f(x):\n    return tanh(x) * x\n", {"tanh", "multiply"}),
        ("def f(x):\n    return exp(tanh(x) * 0.5)\n", {"tanh", "multiply"}),
        ("def f(a: 'float[2, 2]'):\n    return det(a)\n", {"det"}),
        ("def f(x):\n    for i in range(3):\n        x = exp(x) * 0.1\n    return x\n", None),
        (
            "def f(x):\n    for i in range(3):\n        x = tanh(exp(x) * 0.1)\n    return x\n",
            {"tanh", "multiply"},
        ),
    ],
)
def test_another_bug_beside_a_known_one(text: str, left: set[str] | None) -> None:
    met = candidate(text)
    assert asked(met, TARGET).verdict.is_wrong
    other = unexplained(met, known(OF_EXP), TARGET)
    if left is None:
        assert other is None
        return
    assert other is not None
    assert asked(other, TARGET).verdict.is_wrong
    assert not Trigger.of(parse(OF_EXP)).is_in(other.program)
    assert {node.op for node in walk(other.program) if isinstance(node, Call)} == left


def test_a_bug_of_loops_vanishes_in_another_form() -> None:
    text = "def f(x):\n    acc = 1.0\n    {}\n    return acc\n"
    body = "        i = i + 1\n        acc = acc * x\n        if not i < 3:\n            break"
    repeat = f"i = 0\n    while True:\n{body}"
    met = candidate(text.format(repeat))
    (swift,) = resolve("mutant:swift-78264")
    assert asked(met, swift).verdict.is_wrong
    assert unexplained(met, known(text.format(repeat)), swift) is None
    counted = candidate(text.format("for i in range(3):\n        acc = acc * x * tanh(x)"))
    assert unexplained(counted, known(text.format(repeat)), TARGET) is counted


def test_the_body_first_loops_of_a_larger_program() -> None:
    """One in a branch, one in a loop that ends by a `break` of its own, and a name that only a body has."""
    text = """
def f(x, b: "bool"):
    acc = 1.0
    if b:
        i = 0
        while True:
            acc = acc * x
            t = acc + 1.0
            i = i + 1
            if not i < 3:
                break
    for k in range(2):
        j = 0
        while True:
            acc = acc + sin(acc * x)
            last = acc
            j = j + 1
            if acc > 3.0:
                break
            if not j < 2:
                break
    while True:
        late = acc * 2.0
        if not acc < -1.0:
            break
    return acc, late
"""
    program = parse(text)
    changed = without_repeat(program)
    assert changed is not None
    assert loops_in(changed) == {"for", "while"}
    for x in (0.5, -0.8, 1.4):
        for b in (True, False):
            inputs = {"x": np.float64(x), "b": b}
            own = interpret(program, inputs, NumpyNamespace())
            assert interpret(changed, inputs, NumpyNamespace()) == own
    assert without_repeat(changed) is None
    (swift,) = resolve("mutant:swift-78264")
    point = Point({"x": np.asarray(0.5), "b": np.asarray(True)})
    met = Candidate.of(plain_question(program, [point], "float64", ("x",), ("rev",)))
    assert asked(met, swift).verdict.is_wrong
    body = "        acc = acc * x\n        if not acc > 0.1:\n            break"
    alone = f"def f(x):\n    acc = x\n    while True:\n{body}\n    return acc\n"
    assert unexplained(met, known(alone), swift) is None


@pytest.mark.parametrize(
    ("text", "op"),
    [
        ("def f(a: 'float[3, 3]'):\n    return det(a) * a\n", "det"),
        ("def f(a: 'float[3, 3]', b: 'float[3]'):\n    return solve(a, b)\n", "solve"),
        ("def f(a: 'float[2, 3]'):\n    u, s, vh = svd(a)\n    return s\n", "svd"),
        ("def f(x):\n    return where(x > 0.0, log(x), x)\n", "log"),
    ],
)
def test_an_op_is_replaced_by_one_of_the_same_type(text: str, op: str) -> None:
    program = parse(text)
    changed = without_ops(program, frozenset({op}))
    assert changed is not None
    assert op not in str(changed)
    assert typecheck(changed).outputs == typecheck(program).outputs
    assert without_ops(changed, frozenset({op})) is None


def test_a_substitute_that_does_not_fit_is_none() -> None:
    """Also where such substitutes are among the ops to be replaced."""
    program = parse("def f(a: 'float[2, 2, 3]'):\n    return pinv(a)\n")
    assert without_ops(program, frozenset({"pinv", "broadcast_to"})) is None
