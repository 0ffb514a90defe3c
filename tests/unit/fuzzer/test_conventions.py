"""The ledger of conventions against the libraries that are installed: what it says they answer,
they answer.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from gradfuzz.fuzzer.conventions.accepted import RAISES
from gradfuzz.fuzzer.conventions.convention import Convention, Example
from gradfuzz.fuzzer.conventions.table import CONVENTIONS
from gradfuzz.fuzzer.conventions.ties import ties
from gradfuzz.fuzzer.questions.weighted import plain_question
from gradfuzz.fuzzer.results.finding import Reason, Verdict
from gradfuzz.fuzzer.verdict.evaluator import Evaluator
from gradfuzz.oracles.base import Answer, Mode, Oracle, Point, Question
from gradfuzz.oracles.registry import resolve
from gradfuzz.programs import parse
from gradfuzz.programs.language.ops import OPS
from tests.releases import is_from

WAYS = {"engine": "engine", "jax": "jax:unrolled", "torch": "torch:eager"}
INSTALLED = [name for name in WAYS if name == "engine" or importlib.util.find_spec(name) is not None]
MODES: tuple[tuple[Mode, ...], ...] = (("rev",), ("fwd",))
EXAMPLES = [(row, k) for row in CONVENTIONS for k, example in enumerate(row.examples) if example.statements]
NAMES = [f"{row.name}-{k}" for row, k in EXAMPLES]


@pytest.fixture(scope="module")
def evaluator() -> Evaluator:
    return Evaluator()


@pytest.fixture(scope="module")
def oracles() -> dict[str, Oracle]:
    return {name: resolve(WAYS[name])[0] for name in INSTALLED}


def asking() -> Iterator[Any]:
    """Every example to every system in both modes. JAX compiles each op: but for the first example of a row,
    in reverse mode, that is slow.
    """
    for name in INSTALLED:
        for modes in MODES:
            for row, k in EXAMPLES:
                slow = [pytest.mark.slow] if name == "jax" and (k or modes == ("fwd",)) else []
                yield pytest.param(name, row, k, modes, id=f"{name}-{row.name}-{k}-{modes[0]}", marks=slow)


def asked(example: Example, modes: tuple[Mode, ...]) -> Question:
    point = Point({name: np.array(value, np.float64) for name, value in example.at.items()})
    return plain_question(parse(example.text), [point], "float64", [next(iter(example.at))], modes)


def same(answer: Answer, expected: Any) -> bool:
    if expected == RAISES:
        return answer.status == "error"
    (got,) = answer.gradient.values()
    return got.shape == np.shape(expected) and np.allclose(
        got, np.array(expected), rtol=0, atol=4e-16, equal_nan=True
    )


@pytest.mark.parametrize(("name", "row", "k", "modes"), list(asking()))
def test_what_the_ledger_says_is_answered(
    name: str,
    row: Convention,
    k: int,
    modes: tuple[Mode, ...],
    evaluator: Evaluator,
    oracles: dict[str, Oracle],
) -> None:
    """And it is never a finding; where the judge cannot agree, it names the row."""
    example, oracle = row.examples[k], oracles[name]
    question = asked(example, modes)
    (answer,) = oracle.answer(question)
    expected = (
        example.forward.get(name, example.answers[name]) if modes == ("fwd",) else example.answers[name]
    )
    if name == "torch" and row.name == "clip-at-its-edge" and is_from("torch", "2.15"):
        expected = 0.5  # as JAX has it; the ledger has what 2.13 answers
    assert same(answer, expected), answer
    (case,) = evaluator.cases(oracle.name, question, [answer])
    assert case.verdict in (Verdict.CONVENTION, Verdict.INCONCLUSIVE, Verdict.AGREE), case.message
    if case.verdict is not Verdict.AGREE:
        assert row.name in case.conventions, case.conventions
        assert case.reason in (None, Reason.DOMAIN, Reason.KINK, Reason.REFERENCES), case.message


@pytest.mark.parametrize(("row", "k"), EXAMPLES, ids=NAMES)
def test_its_slopes_are_those_on_both_sides(row: Convention, k: int, evaluator: Evaluator) -> None:
    example = row.examples[k]
    (reference_value,) = evaluator.reference_values(asked(example, ("rev",)), confirm=True)
    truth = reference_value.truth
    if example.slopes is None:
        assert truth.status != "ok"
        assert truth.left is None
        return
    left, right = (truth.gradient, truth.gradient) if truth.status == "ok" else (truth.left, truth.right)
    assert left is not None
    assert right is not None
    for side, expected in zip((left, right), example.slopes, strict=True):
        (slope,) = side.values()
        assert np.allclose(slope, np.array(expected), rtol=0, atol=1e-15)


def test_rows_have_names_ops_and_reasons() -> None:
    names = [row.name for row in CONVENTIONS]
    assert len(set(names)) == len(names)
    for row in CONVENTIONS:
        assert row.why
        assert row.ops or row.functions
        assert all(url.startswith("https://") for url in row.functions.values())
        is_of_a_choice = row.examples or not row.ops
        assert is_of_a_choice or row.document()["source"].startswith("https://"), "a limit is documented"
        assert set(row.ops) <= {*OPS, "if", "while", "for"}


def test_every_situation_that_a_program_can_meet_is_a_row() -> None:
    """Each row but those on how a library is asked is met at its own examples, and nothing is met that is no
    row.
    """
    names = {row.name for row in CONVENTIONS}
    for row in CONVENTIONS:
        for example in row.examples:
            if example.statements:
                question = asked(example, ("rev",))
                met = ties(question.program, question.points[0], "float64").conventions
                assert met <= names
                if row.name not in ("symmetric-part", "conjugate"):
                    assert row.name in met


def libraries(name: str) -> tuple[Convention, Example]:
    return next((row, e) for row in CONVENTIONS if row.name == name for e in row.examples if e.library)


def test_which_triangle_the_libraries_read() -> None:
    _, example = libraries("symmetric-part")
    a = np.array(example.at["a"])
    if "jax" in INSTALLED:
        import jax.numpy as jnp

        assert np.array_equal(
            float(jnp.linalg.cholesky(jnp.asarray(a))[1, 0]), example.answers["jax"], equal_nan=True
        )
    if "torch" in INSTALLED:
        import torch

        assert float(torch.linalg.cholesky(torch.tensor(a))[1, 0]) == example.answers["torch"]


def test_gradients_of_complex_inputs_are_conjugates() -> None:
    _, example = libraries("conjugate")
    z = complex(float(example.at["z_re"]), float(example.at["z_im"]))  # type: ignore[arg-type]
    if "jax" in INSTALLED:
        import jax
        import jax.numpy as jnp

        slope = complex(jax.grad(lambda z: jnp.real(z * jnp.conj(z)))(z))
        assert (slope.real, slope.imag) == example.answers["jax"]
    if "torch" in INSTALLED:
        import torch

        x = torch.tensor(z, dtype=torch.complex128, requires_grad=True)
        torch.real(x * x.conj()).backward()  # type: ignore[no-untyped-call]
        assert x.grad is not None
        slope = complex(x.grad)
        assert (slope.real, slope.imag) == example.answers["torch"]
