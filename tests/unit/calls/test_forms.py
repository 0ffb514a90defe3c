"""The forms of arrays: each is told, kept by other values, and asked for by docstrings."""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gradfuzz.adapters.catalogue import ARRAY, DIFFERENTIABLE, Function, Parameter
from gradfuzz.fuzzer.calling.drawing.forms import FORMS, forms, keeps, outside, restored
from gradfuzz.fuzzer.results.call import Argument, Call
from gradfuzz.fuzzer.results.ranking import rank
from gradfuzz.fuzzer.turns.turn import Turn, run

MATRIX = np.array([[2.0, 0.5, 0.0], [0.5, 3.0, 1.0], [0.0, 1.0, 2.5]])
FULL = np.array([[2.0, 0.5, 0.25], [-0.5, 3.0, 1.0], [0.75, -1.0, 2.5]])

ROWS: dict[str, tuple[Any, Any]] = {
    "not finite": (np.array([1.0, np.inf]), np.array([1.0, 2.0])),
    "orthogonal": (np.array([[0.6, -0.8, 0.0], [0.8, 0.6, 0.0]]), np.array([[0.6, 0.8], [0.8, 0.6]])),
    "symmetric": (FULL + FULL.T, FULL),
    "definite": (MATRIX, MATRIX - 2.0 * np.eye(3)),
    "lower": (np.tril(FULL), FULL),
    "upper": (np.triu(FULL), FULL),
    "tridiagonal": (np.triu(np.tril(FULL, 1), -1), FULL),
    "unit diagonal": (FULL - np.diag(np.diag(FULL)) + np.eye(3), FULL),
    "regular": (FULL, np.ones((2, 2))),
    "integer": (np.array([1.0, 4.0, 2.0]), np.array([1.0, 4.5])),
    "within 1": (np.array([-1.0, 0.5]), np.array([-1.5, 0.5])),
    "inside 1": (np.array([-0.25, 0.5]), np.array([-1.0, 0.5])),
    "simplex": (np.array([[0.2, 0.3, 0.5], [0.9, 0.1, 0.0]]), np.array([[0.2, 0.3], [0.4, 0.6]])),
    "columns of probabilities": (np.array([[0.2, 0.9], [0.8, 0.1]]), np.array([[0.2, 0.8], [0.9, 0.1]])),
    "sum of 1": (np.array([[0.1, 0.2], [0.3, 0.4]]), np.array([[0.2, 0.8], [0.9, 0.1]])),
    "unit norm": (np.array([0.6, 0.8]), np.array([0.6, 0.6])),
    "negative": (np.array([-0.25, -2.0]), np.array([-0.25, 0.0])),
    "not negative": (np.array([0.0, 2.5]), np.array([-0.5, 2.5])),
    "positive": (np.array([0.25, 2.0]), np.array([0.0, 2.0])),
    "sorted": (np.array([-1.0, 0.5, 2.0]), np.array([0.5, 0.5, 2.0])),
    "falling": (np.array([4.0, 0.5, -2.0]), np.array([4.0, 5.0])),
    "not zero": (np.array([-1.0, 0.5]), np.array([0.0, 0.5])),
}
"""Of each form an array that has it, and one that has not."""


@pytest.mark.parametrize("name", FORMS)
def test_each_form_is_told_and_kept(name: str) -> None:
    own, other = ROWS[name]
    assert name in forms(own)
    assert name not in forms(other)
    found = restored(np.random.default_rng(1).uniform(0.1, 3.0, own.shape), own, forms(own))
    assert found is not None
    assert name in forms(found)


def test_complex_matrices_are_hermitian() -> None:
    assert "symmetric" in forms(np.array([[1.0, 1j], [-1j, 2.0]]))
    assert not forms(np.array([[1.0, 1j], [1j, 2.0]])) & {"symmetric", "positive", "sorted"}


def test_what_follows_from_orthogonal_may_change() -> None:
    def of(array: Any) -> Call:
        return Call("torch", "torch.abs", (Argument(array=np.asarray(array)),))

    angle = math.pi / 3
    turned = [[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]]
    assert keeps(of(turned), of([[0.0, -1.0], [1.0, 0.0]]))
    assert not keeps(of(turned), of([[0.0, -2.0], [1.0, 0.0]]))


PACKAGE = '''
"""Two wrong gradients: one of a function for symmetric matrices alone, one of any numbers."""
import torch


class _Half(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a):
        ctx.save_for_backward(a)
        return (torch.triu(a) ** 2).sum()

    @staticmethod
    def backward(ctx, g):
        (a,) = ctx.saved_tensors
        return g * (a + torch.diag(torch.diag(a)))


class _Wrong(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a):
        ctx.save_for_backward(a)
        return torch.tanh(a)

    @staticmethod
    def backward(ctx, g):
        (a,) = ctx.saved_tensors
        return g / torch.cosh(a)


def squares(a: torch.Tensor):
    """The sum of the upper entries' squares of a symmetric matrix."""
    return _Half.apply(a)


def saturated(a: torch.Tensor):
    """The hyperbolic tangent; the positive numbers stay positive."""
    return _Wrong.apply(a)
'''


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "outsidepkg.py").write_text(PACKAGE, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))


def findings(name: str) -> Any:
    parameters = (Parameter("a", (ARRAY,), required=True),)
    row = Function((name,), "f(a)", DIFFERENTIABLE, "torch", parameters)
    return run(Turn("torch", row, 3, 0, 4, modes=(("rev",),)), lambda call: None).findings


@pytest.mark.usefixtures("package")
def test_a_finding_outside_of_the_docstring_is_told_and_ranks_behind() -> None:
    outer, inner = findings("outsidepkg.squares"), findings("outsidepkg.saturated")
    assert outer
    assert inner
    assert all(one.is_outside for one in outer)
    assert not any(one.is_outside for one in inner)
    assert "its docstring says 'symmetric', and no array stays symmetric" in " ".join(outer[0].facts)
    assert sorted([*outer, *inner], key=rank)[-len(outer) :] == sorted(outer, key=rank)


@pytest.mark.usefixtures("package")
def test_what_a_program_gave_is_never_outside() -> None:
    call = Call("torch", "outsidepkg.squares", (Argument(array=FULL),))
    assert list(outside(call))
    assert not list(outside(dataclasses.replace(call, is_recorded=True)))
    symmetric = Argument(array=MATRIX, layout="symmetric")
    assert not list(outside(dataclasses.replace(call, arguments=(symmetric,))))
    assert not list(outside(Call("torch", "torch.linalg.cholesky", (Argument(array=FULL),))))
