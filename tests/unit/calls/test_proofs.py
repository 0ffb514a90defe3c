"""Proofs of the rules of a library's functions."""

from __future__ import annotations

import numpy as np
import pytest

from gradfuzz.fuzzer.calling.proofs import proofs_of_call, proofs_of_function, subject_of_call
from gradfuzz.fuzzer.results.call import Argument, Call
from gradfuzz.fuzzer.turns.turn import Turn, run
from gradfuzz.oracles.catalogues import catalogue


def call(function: str, *values: object, **more: str) -> Call:
    arguments = [
        Argument(array=np.asarray(v)) if not isinstance(v, str) else Argument(literal=v) for v in values
    ]
    return Call(function.partition(".")[0], function, tuple(arguments), **more)  # type: ignore[arg-type]


X = np.array([0.5, -0.75, 1.25])


def test_a_call_is_proved_with_what_stands_around_it() -> None:
    for form in ("alone", "between", "loop", "twice"):
        proofs = proofs_of_call(call("torch.tanh", X, form=form))
        assert [(p.modes, p.outcome) for p in proofs] == [(("rev",), "right"), (("fwd",), "right")]


def test_a_call_that_is_not_taken_has_no_proof() -> None:
    assert subject_of_call(call("torch.tanh", "'text'")) is None
    assert proofs_of_call(call("torch.tanh", "'text'")) == ()


@pytest.mark.slow  # it lists the functions of Torch: some seconds
def test_a_function_by_its_name() -> None:
    (forward,) = proofs_of_function("torch.logcumsumexp", 2, modes=("fwd",))
    assert forward.outcome == "wrong rule"
    assert "1e-13" in forward.cause
    assert "2 calls were asked: 2 wrong rule" in forward.note


@pytest.mark.slow  # it lists the functions of Torch: some seconds
def test_a_turn_tells_the_rules_that_numbers_do_not_see() -> None:
    function = next(f for f in catalogue("torch").functions if "torch.logcumsumexp" in f.names)
    result = run(Turn("torch", function, 0, 0, 2), lambda call: None)
    assert result.proofs["right"] >= 1
    assert any("logcumsumexp, jvp: off by" in words for words in result.wrong_rules)
