"""The few lines of a library that show a finding about a function."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from gradfuzz.fuzzer.calling.judge import judged
from gradfuzz.fuzzer.findings.calls.short import short
from gradfuzz.fuzzer.results.call import Argument, Call
from gradfuzz.fuzzer.results.finding import Verdict

jax = pytest.importorskip("jax")


@pytest.fixture
def planted(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A module with the square of an array, whose rule forgets the factor 2. The lines set JAX to 64 bits."""
    before = jax.config.jax_enable_x64
    module: Any = ModuleType("planted_square")
    module.square = jax.custom_jvp(lambda x: x * x)
    module.square.defjvp(lambda xs, vs: (xs[0] * xs[0], xs[0] * vs[0]))
    monkeypatch.setitem(sys.modules, "planted_square", module)
    yield
    jax.config.update("jax_enable_x64", before)


@pytest.mark.parametrize("modes", [("rev",), ("fwd",), ("rev", "fwd")])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_lines_of_jax_show_a_wrong_rule(planted: None, modes: Any, dtype: str) -> None:
    """They are run before they are returned, and compute in the dtype of the arrays."""
    call = Call("jax", "planted_square.square", (Argument(array=np.array([0.5, 3.0], dtype)),))
    (found,) = judged(call, [modes]).verdicts
    assert found.case.verdict is Verdict.DISAGREE
    lines = short(call, found.case).splitlines()
    assert 'jax.config.update("jax_enable_x64", True)' in lines
    assert "import planted_square" in lines
    assert lines[-1].startswith('print("expected", ')
