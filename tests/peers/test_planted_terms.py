"""Sweeps meet rules of JAX with a term of a ten-billionth too much, in float32, where no number shows it."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

_SWEEP = """
import json
import jax
from jax.interpreters import ad

def plant(primitive):
    before = ad.primitive_jvps[primitive]

    def wrong(primals, tangents, **params):
        out, slope = before(primals, tangents, **params)
        return out, slope + 1e-10 * slope

    ad.primitive_jvps[primitive] = wrong

plant(jax.lax.PRIMITIVE_p)

from gradfuzz.fuzzer.findings import script_run
from gradfuzz.fuzzer.results.events import SweepFinished
from gradfuzz.fuzzer.sweep.config import SweepConfig
from gradfuzz.fuzzer.sweep import programs, sweep

programs.CHEAP = (*programs.CHEAP, "jax")  # in this process
script_run.has_check = programs.has_check = lambda finding: False  # a script has no planted rule
targets = TARGETS
config = SweepConfig(targets, families=("loops",), max_examples=60, seed=7, precisions=("float32",))
*_, finished = sweep(config)
assert isinstance(finished, SweepFinished)
found = [[f.kind.value, f.target, " ".join(f.culprits) + str(f.program)] for f in finished.findings]
print(json.dumps([found, sum(s.proofs for s in finished.summaries)]))
"""


def swept(primitive: str, targets: tuple[str, ...]) -> tuple[list[list[str]], int]:
    environment = {"GRADFUZZ_IN_PROCESS": "1", "PATH": "/usr/bin:/bin", "HOME": "/tmp"}
    source = _SWEEP.replace("PRIMITIVE", primitive).replace("TARGETS", repr(targets))
    done = subprocess.run(
        [sys.executable, "-c", source], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    found, proofs = json.loads(done.stdout.splitlines()[-1])
    return found, proofs


USES = {"sin": ("sin", "cos"), "exp": ("exp",), "tanh": ("tanh",), "log": ("log", "pow")}
"""Ops with a derivative by the rule of a primitive: that of cos is -sin, and that of x**y has log(x)."""


@pytest.mark.slow
@pytest.mark.parametrize("primitive", USES)
def test_a_sweep_finds_the_rule_and_names_the_op(primitive: str) -> None:
    found, proofs = swept(primitive, ("jax:scan:rule",))
    assert proofs > 100
    kinds = {kind for kind, _, _ in found}
    assert "wrong_rule" in kinds, found
    assert any(primitive in program for _, _, program in found)
    assert all(any(op in program for op in USES[primitive]) for _, _, program in found), found


@pytest.mark.slow
def test_numbers_alone_see_nothing() -> None:
    found, proofs = swept("sin", ("jax:scan:nojit",))
    assert (found, proofs) == ([], 0)
