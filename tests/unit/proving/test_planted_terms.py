"""A term of relative size 1e-10 too many in a rule is proved wrong, and without it the rule is proved right,
also where the library computes in float32 and numbers cannot see it.
"""

from __future__ import annotations

import numpy as np
import pytest

from gradfuzz.fuzzer.measuring.subject import subject_of
from gradfuzz.fuzzer.proving.prove import proved
from gradfuzz.fuzzer.results.proof import Outcome
from tests.unit.proving.planted import Planted, planted

FEW = ("jax jvp tanh fwd", "jax vjp root", "jax scan exp", "jax product", "torch cube", "torch det")


def outcome(one: Planted, dtype: str) -> Outcome:
    subject = subject_of(one.f, [np.asarray(one.at, dtype)], None, None, one.framework)  # type: ignore[arg-type]
    return proved(subject, (one.mode,), answer=False, explain=False).outcome  # type: ignore[arg-type]


@pytest.mark.parametrize("size", [1e-10, 0.0])
def test_some_of_each_kind(size: float) -> None:
    wanted = "wrong rule" if size else "right"
    found = {one.name: outcome(one, "float32") for one in planted(size) if one.name in FEW}
    assert found == dict.fromkeys(FEW, wanted)


@pytest.mark.slow  # four times 41 proofs, half a minute
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("size", [1e-10, 0.0])
def test_all(size: float, dtype: str) -> None:
    found = {one.name: outcome(one, dtype) for one in planted(size)}
    assert len(found) == 41
    assert set(found.values()) == {"wrong rule" if size else "right"}
