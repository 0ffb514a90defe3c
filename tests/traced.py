"""What the tests of tracers share: the arguments, the truth about a program, and what it must agree with."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from gradfuzz.fuzzer.questions.weighted import weighted_question
from gradfuzz.oracles.base import Point, Truth
from gradfuzz.oracles.references.arb import ArbReference
from gradfuzz.programs import Program, to_text
from gradfuzz.programs.arithmetic.numpy_namespace import NumpyNamespace
from gradfuzz.programs.evaluation.interpret import interpret

Array = np.ndarray[Any, Any]
ARB = ArbReference()


def drawn(name: str, shapes: Sequence[tuple[int, ...]], seed: int) -> list[Array]:
    """Numbers between 0.2 and 0.9."""
    rng = np.random.default_rng([seed, zlib.crc32(name.encode())])
    return [rng.uniform(0.2, 0.9, shape) for shape in shapes]


def truth_of(program: Program, args: Sequence[Array]) -> tuple[Truth, tuple[Array | None, ...]]:
    """What `arb` says of the gradient of the weighted outputs, and the weights."""
    point = Point({p.name: a for p, a in zip(program.params, args, strict=True)})
    question = weighted_question(program, [point], "float64", ("rev",))
    (truth,) = ARB.truth(question)
    return truth, question.weights


def proved(program: Program, args: Sequence[Array]) -> tuple[Truth, tuple[Array | None, ...]]:
    """The same, of which `arb` is sure."""
    truth, weights = truth_of(program, args)
    assert truth.status == "ok", f"{truth.message}\n{to_text(program)}"
    return truth, weights


def same_values(program: Program, truth: Truth, args: Sequence[Array], expected: Sequence[Any]) -> None:
    """The program computes what is expected, and so it is proved."""
    inputs = {
        p.name: a[()] if a.ndim or a.dtype.kind == "f" else a.item()
        for p, a in zip(program.params, args, strict=True)
    }
    for mine, own, theirs in zip(
        interpret(program, inputs, NumpyNamespace()), truth.values, expected, strict=True
    ):
        assert np.shape(mine) == np.shape(theirs)
        np.testing.assert_allclose(mine, theirs, rtol=1e-11, atol=1e-12)
        np.testing.assert_allclose(own, theirs, rtol=1e-11, atol=1e-12)


def same_gradient(truth: Truth, expected: Iterable[Array]) -> None:
    """The gradient that is proved is the one that is expected."""
    for own, theirs in zip(truth.gradient.values(), expected, strict=True):
        assert own.shape == theirs.shape
        np.testing.assert_allclose(own, theirs, rtol=1e-9, atol=1e-11)


def same_truth(there: Truth, here: Truth, names: Iterable[str]) -> bool:
    """Whether `arb` decides a program, and what was traced of it by these inputs; that it says the same of
    them is asserted.

    What is not used is not traced: a kink in it is gone. NumPy's own softmax has one inside, where two
    entries tie. Constants that a program computes are rounded in the trace, and some programs make much of
    that.
    """
    if there.status != "ok" or here.status != "ok":
        assert there.status == here.status or "kink" in there.message + here.message
        return False
    for x, y in zip(there.values, here.values, strict=True):
        np.testing.assert_allclose(y, x, rtol=1e-6)
    for name, y in zip(names, here.gradient.values(), strict=True):
        x = there.gradient[name]
        np.testing.assert_allclose(y, x, rtol=1e-6, atol=1e-9 * float(np.max(np.abs(x), initial=0.0)))
    return True


# What is no program -----------------------------------------------------------------------------------------


def swallowing(x: Any) -> Any:
    try:
        return x * float(x.sum())
    except Exception:  # noqa: BLE001 - as careless code does it
        return x * 3


def counting() -> Callable[[Any], Any]:
    """A function that changes from call to call."""
    calls: list[int] = []

    def f(x: Any) -> Any:
        calls.append(1)
        return x * len(calls)

    return f
