"""Devices: what a GPU's rounding of matrix products is granted, and what is said where there is none."""

from __future__ import annotations

import numpy as np
import pytest
from click.testing import CliRunner

from gradfuzz.cli import USAGE, main
from gradfuzz.errors import UsageError
from gradfuzz.fuzzer.questions.weighted import plain_question
from gradfuzz.fuzzer.sweep import SweepConfig, sweep
from gradfuzz.fuzzer.sweep.config import rerun_command
from gradfuzz.fuzzer.tolerance.allowed import Tolerance, tolerances
from gradfuzz.oracles.base import Point
from gradfuzz.oracles.device import DEVICE, device
from gradfuzz.programs import parse
from gradfuzz.programs.language.precision import Precision

PRODUCT = parse('def f(a: "float[4, 6]", b: "float[6, 3]"):\n    return tanh(matmul(a, b))\n')
SUMS = parse('def f(a: "float[4, 6]", b: "float[6, 3]"):\n    return sum(a) * sum(b)\n')


def granted(program, precision: Precision, seed: int) -> tuple[Tolerance, dict[str, np.ndarray]]:
    rng = np.random.default_rng(seed)
    inputs = {p.name: rng.uniform(-0.5, 0.5, p.type.sizes).astype(precision) for p in program.params}
    (tolerance,) = tolerances(plain_question(program, [Point(inputs)], precision, ("a",), ("rev",)))
    return tolerance, inputs


def tf32(x: np.ndarray) -> np.ndarray:
    """To nearest with 10 bits after the first."""
    mantissa, exponent = np.frexp(np.asarray(x, np.float64))
    return np.ldexp(np.round(mantissa * 2**11) / 2**11, exponent)


def gradient(inputs: dict[str, np.ndarray], rounded) -> np.ndarray:
    """Of the sum of tanh(a b) by a, both products of it with rounded operands: (1 - y^2) b^T."""
    a, b = (np.asarray(inputs[name], np.float64) for name in "ab")
    y = np.tanh(rounded(a) @ rounded(b))
    weights = plain_question(PRODUCT, [Point(inputs)], "float32", ("a",), ("rev",)).weights[0]
    return rounded((1 - y * y) * weights) @ rounded(b).T


def test_rounded_operands_are_granted_on_a_gpu(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    """An answer as TF32 gives it is an error of the CPU and none of the GPU; one four times as far off is an
    error of both.
    """
    on_cpu, inputs = granted(PRODUCT, "float32", seed)
    monkeypatch.setenv(DEVICE, "cuda")
    on_gpu, _ = granted(PRODUCT, "float32", seed)
    true = gradient(inputs, lambda x: x)
    error = np.abs(gradient(inputs, tf32) - true)
    nothing = np.zeros_like(true)
    assert np.any(error > on_cpu.allowed(true, on_cpu.noise["a"], nothing))
    assert np.all(error < on_gpu.allowed(true, on_gpu.noise["a"], nothing))
    assert np.all(on_gpu.allowed(true, on_gpu.noise["a"], nothing) < 64 * error.max())


@pytest.mark.parametrize(
    ("program", "precision"), [(PRODUCT, "float64"), (SUMS, "float32")], ids=["float64", "sums"]
)
def test_nothing_else_is_granted_more(
    program, precision: Precision, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    on_cpu, _ = granted(program, precision, seed)
    monkeypatch.setenv(DEVICE, "cuda")
    on_gpu, _ = granted(program, precision, seed)
    assert on_gpu.noise["a"].tolist() == on_cpu.noise["a"].tolist()


def test_the_device_is_part_of_a_sweep(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "--device" not in rerun_command(SweepConfig(("torch",)))
    monkeypatch.setenv(DEVICE, "cuda")
    assert "--device cuda" in rerun_command(SweepConfig(("torch",)))
    with pytest.raises(
        UsageError, match="autograd is asked on the CPU only; the targets with a device are jax and torch"
    ):
        next(sweep(SweepConfig(("torch", "autograd"))))
    monkeypatch.setenv(DEVICE, "tpu")
    with pytest.raises(UsageError, match="GRADFUZZ_DEVICE is 'tpu'; the devices are cpu, cuda"):
        device()


def test_where_there_is_no_gpu_it_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path) -> None:
    torch = pytest.importorskip("torch")
    if torch.cuda.is_available():
        pytest.skip("there is a GPU")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(DEVICE, "cpu")  # restored after the command has set it
    result = CliRunner().invoke(main, ["sweep", "torch", "--device", "cuda", "--no-store"])
    assert result.exit_code == USAGE
    assert "torch finds no CUDA device here; leave out --device to ask it on the CPU" in " ".join(
        result.stderr.split()
    )
