"""A sweep of HIPS autograd runs every derivative rule that the vocabulary of programs can reach."""

from __future__ import annotations

import json
import shlex
import sys
from collections import Counter
from pathlib import Path

import pytest

from gradfuzz.fuzzer.results.events import SweepFinished
from gradfuzz.fuzzer.sweep import SweepConfig, sweep
from gradfuzz.strategies import FAMILIES

autograd = pytest.importorskip("autograd")

OUTSIDE = """
    amax amin angle array_split atleast_1d atleast_2d atleast_3d covector cross deg2rad degrees diag diff
    dsplit fabs fliplr flipud fmax fmin full gradient hsplit inner inner_prod linspace logaddexp2
    make_diagonal moveaxis nan_to_num partition rad2deg radians real_if_close remainder roll rollaxis rot90
    scalar_mul split squeeze std tile truncate_pad var vsplit

    beta betainc betaln erfcinv gamma gammainc gammaincc gammasgn ive j0 j1 jv logit multigammaln rgamma
    y0 y1 yn

    fft fft2 fftn fftshift ifft ifft2 ifftn ifftshift irfft irfft2 irfftn rfft rfft2 rfftn
    odeint solve_banded solve_sylvester sqrtm
    cdf entropy logcdf logpdf logpmf logsf pdf pmf sf
    array_from_args make_sequence sequence_extend_left sequence_extend_right _make_dict
"""
"""Primitives that no program calls: functions of NumPy and SciPy that the vocabulary of programs lacks or
spells otherwise (amax is max), and containers of autograd.
"""


THIRD = "tensordot dot_adjoint_0 dot_adjoint_1 tensordot_adjoint_0 tensordot_adjoint_1"
"""Primitives that only rules call: their own rules run for second and third derivatives of a few ops."""


@pytest.mark.slow  # a sweep of 600 programs
def test_every_rule_in_reach_runs_three_times_in_600_programs(tmp_path: Path, seed: int) -> None:
    command = [sys.executable, str(Path(__file__).with_name("counting_adapter.py")), str(tmp_path)]
    *_, end = sweep(SweepConfig((f"cmd:{shlex.join(command)}",), tuple(FAMILIES), seed, 100))
    assert isinstance(end, SweepFinished)
    assert end.programs == 600
    counts: Counter[str] = Counter()
    for path in tmp_path.glob("*.json"):
        counts.update(json.loads(path.read_text(encoding="utf-8")))
    met: Counter[str] = Counter()
    for rule, times in counts.items():
        mode, name, _ = rule.split()
        met[f"{mode} {name}"] += times
    unasked = {*OUTSIDE.split(), *THIRD.split()}
    tables = {"vjp": autograd.core.primitive_vjps, "jvp": autograd.core.primitive_jvps}
    names = [(mode, f.__name__) for mode, table in tables.items() for f in table]
    reached = [f"{mode} {name}" for mode, name in names if name not in unasked]
    assert len(reached) > 100
    assert {rule: met[rule] for rule in reached if met[rule] < 3} == {}
    assert min(counts["vjp subtract 0"], counts["vjp subtract 1"], counts["jvp subtract 1"]) >= 3
