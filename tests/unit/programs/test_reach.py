"""The part of a program that one entry reaches: its derivative by that entry is the program's, and it is no
larger than it has to be.

The derivative of the whole program comes from ball arithmetic, which knows of no parts.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from gradfuzz.fuzzer.questions.weighted import weighted_question
from gradfuzz.fuzzer.verdict.along import at_entry, reached
from gradfuzz.oracles.base import ALONG, Point, ProbedQuestion
from gradfuzz.oracles.references.arb import ArbReference
from gradfuzz.programs import parse
from gradfuzz.programs.language.reach import part_reached

LAYER = """
def layer(w: "float[5, 3]", b: "float[3]", x: "float[4, 5]"):
    t = tanh(x @ w + b)
    return t
"""

PROGRAMS = {
    "layer": LAYER,
    "loss": LAYER.replace("return t", "return sum(t * t)"),
    "mean loss": LAYER.replace("return t", "return 2.0 * mean((t - b) * (t - b), axis=1) / 3.0 - 1.0"),
    "nonlinear in the sum": LAYER.replace("return t", "return log(2.0 + sum(t * t))"),
    "penalty": LAYER.replace("return t", "return 1.0 - (sum(t) - sum(w * w) * 0.5)"),
    "two outputs": LAYER.replace("return t", "return exp(b), sum(t, axis=0, keepdims=True)"),
    "normalised": """
def f(x: "float[3, 4]"):
    y = x / (3.0 + sum(x * x, axis=1, keepdims=True))
    return y, amax(x, axis=0)
""",
    "moved": """
def f(x: "float[3, 4]", y: "float[2, 4, 3]"):
    return permute_dims(x, axes=(1, 0)) * y, reshape(x, shape=(3, 1, 4)) * 2.0
""",
    "regrouped": """
def f(x: "float[3, 4]", y: "float[6]"):
    return sum(reshape(x, shape=(2, 6)) * y, axis=1)
""",
    "twice": """
def f(x: "float[3, 4]"):
    return x @ permute_dims(x, axes=(1, 0))
""",
    "batches": """
def f(x: "float[2, 3, 4]", v: "float[4]", w: "float[3]"):
    return x @ v, w @ x, x @ permute_dims(x, axes=(0, 2, 1))
""",
    "taken whole": """
def f(x: "float[3, 4]", y: "float[3, 4]"):
    c = cumulative_sum(x, axis=1) * y + softmax(y, axis=0)
    return where(y > 0.1, c, 0.0), concat(x, y, axis=0), x[1, :] * y[:, 1:3][1, 0]
""",
    "spread": """
def f(x: "float[3, 1]", s, n: "int"):
    x = x * s
    y = broadcast_to(x, shape=(2, 3, 4)) * n
    return y, mean(y), s * s
""",
}


def question(text: str) -> ProbedQuestion:
    program = parse(text)
    rng = np.random.default_rng(5)
    inputs = {
        p.name: np.asarray(3) if p.type.dtype == "int" else rng.uniform(0.2, 1.5, p.type.sizes)
        for p in program.params
    }
    whole = weighted_question(program, [Point(inputs)], "float64", ("rev",))
    return ProbedQuestion.of(whole, [])


def entries(asked: ProbedQuestion) -> Iterator[tuple[int, tuple[int, ...]]]:
    for number, name in enumerate(asked.wrt):
        for index in np.ndindex(asked.points[0].inputs[name].shape):
            yield number, index


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_derivative_of_the_part_is_the_program_s(name: str) -> None:
    asked = question(PROGRAMS[name])
    reference = ArbReference()
    found = 0
    for entry in entries(asked):
        one = at_entry(asked, entry)
        (truth,) = reference.truth(one)
        assert truth.status == "ok", truth.message
        part = reached(one)
        if part is None:
            assert truth.gradient[ALONG] == 0.0
            continue
        (own,) = reference.truth(part.question)
        np.testing.assert_allclose(own.gradient[ALONG], truth.gradient[ALONG], rtol=1e-15, atol=0.0)
        found += 1
    assert found > 1


@pytest.mark.parametrize("name", ["layer", "loss", "mean loss", "two outputs"])
def test_an_entry_of_a_layer_reaches_one_column(name: str) -> None:
    part = part_reached(parse(PROGRAMS[name]), "w", (2, 1))
    assert part is not None
    boxes = {cut.source: cut.box for cut in part.inputs}
    assert boxes == {"w": (None, (1,)), "b": ((1,),), "x": (None, None)}


def test_what_a_sum_is_put_into_needs_all_of_it() -> None:
    part = part_reached(parse(PROGRAMS["nonlinear in the sum"]), "w", (2, 1))
    assert part is not None
    assert (None, None) in [cut.box for cut in part.inputs if cut.source == "w"]


def test_a_program_with_a_loop_has_no_part() -> None:
    program = parse("""
def f(x: "float[3]"):
    y = x
    for k in range(2):
        y = y * x
    return y
""")
    assert part_reached(program, "x", (1,)) is None


def test_what_an_entry_does_not_reach_has_no_part() -> None:
    program = parse('def f(x: "float[3]", y: "float[3]"):\n return x * 2.0\n')
    assert part_reached(program, "y", (1,)) is None
    assert part_reached(program, "x", (1,)) is not None
