"""Which derivatives of a call are judged, and of which call."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from gradfuzz.fuzzer.calling.judge import Judgement, judged
from gradfuzz.fuzzer.findings.calls.script import script
from gradfuzz.fuzzer.results.call import Argument, Call
from gradfuzz.fuzzer.results.finding import Verdict
from tests.running import run_script

MATRIX = [[0.43359375, 0.58984375], [0.74609375, 0.90234375]]


def literals(*texts: str) -> list[Argument]:
    return [Argument(literal=text) for text in texts]


def of(function: str, *arrays: object) -> Judgement:
    arguments = tuple(Argument(array=np.array(entries)) for entries in arrays)
    return judged(Call("torch", f"torch.{function}", arguments))


def test_a_call_that_draws_what_hardly_shows_is_seeded() -> None:
    """The first two singular vectors of a 2x2 matrix are the same whatever a search for them begins with. One
    number in a thousand is dropped.
    """
    found = of("svd_lowrank", MATRIX)
    assert found.call.seeded
    assert [one.case.verdict for one in found.verdicts] == 6 * [Verdict.AGREE]
    drawn = Call("torch", "torch.dropout", (found.call.arguments[0], *literals("1e-3", "True")))
    assert judged(drawn).call.seeded
    assert not of("linalg.svdvals", MATRIX).call.seeded


@pytest.mark.parametrize(
    ("function", "ties", "beside"),
    [
        ("round", [[0.5, 0.25]], [[0.375, 0.25]]),
        (
            "remainder",
            [[1.0, *7 * [0.25]], [1.0, *7 * [0.75]]],
            [[1.25, *7 * [0.25]], [1.0, *7 * [0.75]]],
        ),
    ],
)
def test_no_second_derivative_is_asked_for_where_an_entry_of_the_first_is_not_known(
    function: str, ties: list[list[float]], beside: list[list[float]]
) -> None:
    """The function jumps at the first entry. Beside it the second derivative is 0, and is judged."""
    assert [one.modes for one in of(function, *ties).verdicts] == [("rev",), ("fwd",)]
    assert [one.case.verdict for one in of(function, *beside).verdicts] == 6 * [Verdict.AGREE]


STOPPING = '''
"""A result and a state beside it, which is stopped; then the same with a wrong gradient."""
import jax
import jax.numpy as jnp


def solved(x):
    return jnp.sin(x), jax.lax.stop_gradient(x * x)


@jax.custom_jvp
def _steep(x):
    return jnp.sin(x)


_steep.defjvp(lambda primals, tangents: (_steep(*primals), 1.5 * jnp.cos(primals[0]) * tangents[0]))


def wrong(x):
    return _steep(x), jax.lax.stop_gradient(x * x)


def stopped(x):
    return jax.lax.stop_gradient(x * x)
'''


@pytest.mark.parametrize(
    ("name", "verdict"), [("solved", "agree"), ("wrong", "disagree"), ("stopped", "disagree")]
)
def test_what_jax_stops_beside_a_result_does_not_count(
    name: str, verdict: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A function that stops all it returns is judged by it."""
    (tmp_path / "stoppingpkg.py").write_text(STOPPING, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    call = Call("jax", f"stoppingpkg.{name}", (Argument(array=np.array([0.5, 1.0])),))
    assert {one.case.verdict.value for one in judged(call, [("rev",), ("fwd",)]).verdicts} == {verdict}


@pytest.mark.parametrize("mode", ["rev", "fwd"])
def test_the_script_of_a_line_at_a_kink_moves_along_it(tmp_path: Path, mode: str) -> None:
    """JAX 0.10 has the slopes 0, 0, 0 where three arguments of clamp are 1. Each by itself may be so, and
    with all three the value grows by as much as they.
    """
    pytest.importorskip("jax")
    call = Call("jax", "jax.lax.clamp", tuple(Argument(array=np.array(1.0)) for _ in range(3)))
    (found,) = judged(call, [(mode,)]).verdicts
    done = run_script(script(call, found.case, "clamp"), tmp_path)
    assert (found.case.verdict is Verdict.DISAGREE) is (done.returncode == 1), done.stdout + done.stderr


SHIFTING = '''
"""Adds in place, as `EinMix` of einops does, with a right gradient, a wrong one, and one that raises."""
import torch


class _Off(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x):
        return x.clone()

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass

    @staticmethod
    def backward(ctx, g):
        return 1.5 * g


class _Raises(_Off):
    @staticmethod
    def backward(ctx, g):
        return torch.zeros(1).add_(torch.ones(2))


def shifted(x, shift):
    y = x.clone()
    y += shift
    return y


def wrong(x, shift):
    return shifted(_Off.apply(x), shift)


def raising(x, shift):
    return shifted(_Raises.apply(x), shift)
'''


def test_what_is_written_into_by_several_rows_is_refused_by_vmap_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A wrong gradient is found by this way, too, and what raises in the usual way."""
    (tmp_path / "shifting_pack.py").write_text(SHIFTING, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    x, shift = Argument(array=np.ones(2)), Argument(array=np.full(2, 0.25))
    constant, mapped = replace(x, constant=True), "torch.vmap(torch.func.grad)"

    def of(name: str, *arguments: Argument, way: str = "") -> Judgement:
        return judged(Call("torch", f"shifting_pack.{name}", arguments, way=way), [("rev",)])

    assert "broadcast shape" in of("shifted", constant, shift, way=mapped).lacks["rev",]
    for way in ("", mapped):
        assert [one.case.verdict for one in of("shifted", x, shift, way=way).verdicts] == [Verdict.AGREE]
        assert [one.case.verdict for one in of("wrong", x, shift, way=way).verdicts] == [Verdict.DISAGREE]
    assert [one.case.verdict for one in of("raising", x, shift).verdicts] == [Verdict.CRASHED]
