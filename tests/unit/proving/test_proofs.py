"""What proofs say of rules and answers whose faults are known."""

from __future__ import annotations

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch

from gradfuzz import GradientMismatch, check_gradient, prove_gradient
from gradfuzz.errors import UsageError
from gradfuzz.fuzzer.proving.listing import record_of

POINT = np.array([0.5, -0.75, 1.25])


def one_proof(f: Any, at: Any, mode: Any, **more: Any) -> Any:
    (proof,) = prove_gradient(f, at, modes=mode, **more)
    return proof


def test_the_derivative_is_that_of_a_closed_form() -> None:
    """Of sin(x) by a scalar the rule is w cos(x) v, with a weight and a line that are multiples of 1/8."""
    proof = one_proof(lambda x: jnp.sin(x), np.array(0.5), "rev", framework="jax")
    assert proof.outcome == "right"
    factor = proof.truth.middle / math.cos(0.5)
    assert factor * 64 == pytest.approx(round(factor * 64), rel=1e-14)
    assert proof.rule.meets(proof.truth)
    assert proof.rule.is_narrow


def test_the_library_s_answer_is_the_same_number() -> None:
    for mode in ("rev", "fwd"):
        proof = one_proof(lambda x: torch.tanh(x) * x, torch.tensor(POINT), mode)
        assert proof.outcome == "right"
        assert proof.answer == pytest.approx(proof.truth.middle, rel=1e-14)


def test_second_order_is_a_hessian_between_two_lines() -> None:
    proofs = prove_gradient(lambda x: jnp.prod(x), POINT, order=2, framework="jax")
    assert [p.modes for p in proofs][2:] == [("rev", "rev"), ("rev", "fwd"), ("fwd", "rev"), ("fwd", "fwd")]
    assert {p.outcome for p in proofs} == {"right"}


def test_an_epsilon_is_called_one() -> None:
    """Torch's forward rule of logcumsumexp divides by a sum and 1e-13."""
    proof = one_proof(lambda x: torch.logcumsumexp(x, 0), torch.tensor(POINT), "fwd")
    assert proof.outcome == "wrong rule"
    assert 1e-15 < proof.apart < 1e-11
    assert proof.blame.cause.kind == "epsilon"
    assert proof.blame.cause.constant == 1e-13
    assert "LogcumsumexpBackward0" in proof.blame.where
    marked = [line.text for line in record_of(proof, "f").lines if line.marked]
    assert len(marked) == 1
    assert "1e-13" in marked[0]


def test_a_constant_in_float32_is_called_one() -> None:
    """Torch computes celu's rule with alpha in float32, and hardsigmoid's with 1/6 in float32."""
    rule = one_proof(lambda x: torch.nn.functional.celu(x, 0.7), torch.tensor(POINT), "rev")
    assert (rule.outcome, rule.blame.cause.kind) == ("wrong rule", "float32")
    answer = one_proof(torch.nn.functional.hardsigmoid, torch.tensor(POINT), "rev")
    assert (answer.outcome, answer.blame.cause.kind) == ("wrong computation", "factor")
    assert answer.blame.cause.wanted == pytest.approx(float(np.float32(1 / 6)) * 6, rel=1e-12)


def test_lost_digits_are_told_apart_from_a_wrong_rule() -> None:
    """Torch's trigamma is a short series, of nine digits here: the rule of digamma is right all the same."""
    proof = one_proof(torch.digamma, torch.tensor(POINT), "rev")
    assert proof.outcome == "wrong computation"
    assert proof.rule.meets(proof.truth)
    assert 8 < proof.digits < 12
    assert proof.blame.step == "torch.digamma"


@jax.custom_jvp
def half(x: Any) -> Any:
    return jnp.exp(x / 2)


@half.defjvp
def half_rule(primals: Any, tangents: Any) -> Any:
    (x,), (t,) = primals, tangents
    return half(x), 0.25 * t * half(x)


def test_the_step_and_the_factor_are_found() -> None:
    proof = one_proof(lambda x: jnp.sin(half(x)) * x, POINT, "fwd", framework="jax")
    assert proof.outcome == "wrong rule"
    assert proof.blame.step == "half"
    assert proof.blame.where.endswith("in half_rule")
    assert f"{__file__}:" in proof.blame.where
    assert proof.blame.cause.words == "the constant 0.25: with 1/2 the rule is right"


def test_a_wrong_rule_in_a_loop() -> None:
    def loop(x: Any) -> Any:
        return jax.lax.scan(lambda c, y: (half(c * y), c), x[0], x)[0]

    proof = one_proof(loop, POINT, "rev", framework="jax")
    assert (proof.outcome, proof.blame.step) == ("wrong rule", "half")


def test_a_branch_that_is_not_chosen_does_not_count() -> None:
    proof = one_proof(lambda x: jnp.where(x > 0, jnp.log(jnp.where(x > 0, x, 1.0)), x), POINT, "rev",
                      framework="jax")  # fmt: skip
    assert proof.outcome == "right"


def test_what_is_open_says_why() -> None:
    kink = one_proof(jnp.abs, np.array([0.0, 1.0]), "rev", framework="jax")
    assert kink.outcome == "open"
    assert "equal here" in kink.reason
    drawn = one_proof(lambda x: x * torch.rand(3, dtype=x.dtype), torch.tensor(POINT), "rev")
    assert drawn.outcome == "open"


@pytest.mark.parametrize(
    ("f", "outcome"),
    [
        (lambda x: torch.linalg.eig(x)[1], "open"),
        (lambda x: torch.linalg.eig(x)[0], "right"),
        (lambda x: torch.linalg.eig(x)[1].abs(), "right"),
        (lambda x: torch.linalg.eigh(torch.complex(x + x.mT, x - x.mT))[1].abs(), "right"),
    ],
)
def test_what_depends_on_free_phases_is_not_judged(f: Any, outcome: str) -> None:
    """The matrix has a pair of complex eigenvalues. The size of an entry of a vector has no phase."""
    matrix = torch.tensor([[1.0, 2.0, 0.5], [1.0, 1.0, 0.5], [1.0, -3.0, 2.0]], dtype=torch.float64)
    proof = one_proof(f, matrix, "fwd")
    assert proof.outcome == outcome
    assert ("phases" in proof.reason) is (outcome == "open")


def test_a_function_that_changes_is_not_judged() -> None:
    turns = iter(range(1, 100))
    proof = one_proof(lambda x: x * next(turns), torch.tensor(POINT), "rev")
    assert proof.outcome == "open"
    assert "tracing misses a part of it" in proof.reason


def test_check_gradient_with_proof_fails_where_numbers_see_nothing() -> None:
    @jax.custom_jvp
    def own(x: Any) -> Any:
        return jnp.sin(x)

    @own.defjvp
    def rule(primals: Any, tangents: Any) -> Any:
        (x,), (t,) = primals, tangents
        return own(x), t * (jnp.cos(x) + 1e-10 * x)

    single = POINT.astype(np.float32)
    check_gradient(own, single, framework="jax")
    with pytest.raises(GradientMismatch, match=r"1\.0000000\d+e-10 multiplies"):
        check_gradient(own, single, framework="jax", proof=True)


def test_a_question_without_sense() -> None:
    with pytest.raises(UsageError, match="order"):
        prove_gradient(jnp.sin, POINT, order=0, framework="jax")
    with pytest.raises(UsageError, match="mode"):
        prove_gradient(jnp.sin, POINT, modes="back", framework="jax")  # type: ignore[arg-type]
