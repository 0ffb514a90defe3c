"""Recorded calls with other floats: what their arrays are, they stay; what is wrong about them is found."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gradfuzz.adapters.catalogue import DIFFERENTIABLE, Function
from gradfuzz.fuzzer.calling.drawing.forms import forms, keeps
from gradfuzz.fuzzer.calling.drawing.learned import Learned
from gradfuzz.fuzzer.calling.drawing.replayed import fitted, replayed, with_rows
from gradfuzz.fuzzer.calling.invocation import called
from gradfuzz.fuzzer.calling.recording import by_function, recording_package, with_recorded
from gradfuzz.fuzzer.findings.calls.code import code
from gradfuzz.fuzzer.results.call import Argument, Call
from gradfuzz.fuzzer.turns.turn import Turn, run
from gradfuzz.libraries.detect import library_named
from gradfuzz.strategies.drawing.dice import Seeded

TORCH = library_named("torch")
MATRIX = np.array([[2.0, 0.5, 0.0], [0.5, 3.0, 1.0], [0.0, 1.0, 2.5]])

ARRAYS: dict[str, np.ndarray[Any, Any]] = {
    "symmetric": MATRIX - 2.0 * np.eye(3),
    "definite": MATRIX,
    "lower": np.tril(MATRIX),
    "upper": np.triu(MATRIX),
    "unit norm": np.array([0.6, 0.8]),
    "simplex": np.array([[0.2, 0.3, 0.5], [0.9, 0.1, 0.0]]),
    "sorted": np.array([-1.0, 0.5, 2.0]),
    "falling": np.array([4.0, 0.5, -2.0]),
    "integer": np.array([1.0, 4.0, 2.0]),
    "positive": np.array([0.25, 2.0]),
    "negative": np.array([-0.25, -2.0]),
    "not negative": np.array([0.0, 2.5]),
    "within 1": np.array([-1.0, 0.5]),
    "inside 1": np.array([-0.25, 0.5]),
    "orthogonal": np.array([[0.6, -0.8], [0.8, 0.6]]),
}


def of(*arrays: np.ndarray[Any, Any]) -> Call:
    given = tuple(Argument(array=array) for array in arrays)
    return Call("torch", "torch.add", given, is_recorded=True)


@pytest.mark.parametrize("name", ARRAYS)
def test_an_array_stays_what_it_is(name: str) -> None:
    assert name in forms(ARRAYS[name])
    dice, learned = Seeded(name), Learned()
    drawn = [replayed(dice, of(ARRAYS[name]), learned).call for _ in range(30)]
    own = [call for call in drawn if call.arguments[0].array.shape == ARRAYS[name].shape]  # type: ignore[union-attr]
    assert all(name in forms(np.asarray(call.arguments[0].array)) for call in own)
    if name != "orthogonal":
        assert len({np.asarray(call.arguments[0].array).tobytes() for call in own}) > 5


@pytest.mark.parametrize("name", ["symmetric", "lower", "upper", "unit norm", "simplex"])
@pytest.mark.parametrize("library", ["torch", "jax"])
def test_derivatives_are_asked_along_what_an_array_is(name: str, library: str) -> None:
    """Moved in any direction, the array that the function gets is still of its form."""
    own = library_named(library)
    (call,) = fitted(
        Call(
            library, f"{library}.numpy.abs" if library == "jax" else "torch.abs", of(ARRAYS[name]).arguments
        ),
        own,
    )
    assert call.arguments[0].layout == name
    moved = own.view(
        own.array(ARRAYS[name] + np.random.default_rng(0).uniform(0.0, 0.1, ARRAYS[name].shape)), name
    )  # type: ignore[arg-type]
    assert name in forms(own.numpy(moved))
    assert np.allclose(own.numpy(own.view(own.array(ARRAYS[name]), name)), ARRAYS[name])  # type: ignore[arg-type]


def test_rows_are_cut_of_all_arrays_together() -> None:
    call = with_rows(of(np.ones((50, 2)), np.arange(50), np.ones(3)), 2)
    assert call is not None
    assert [np.shape(a.array) for a in call.arguments] == [(2, 2), (2,), (3,)]


def test_too_many_entries_become_fewer_rows_or_constants() -> None:
    cut, *_ = fitted(of(np.full((50, 2), 0.5)), TORCH)
    assert np.shape(cut.arguments[0].array) == (3, 2)
    *_, held = fitted(of(np.full((2, 100), 0.5), np.array([0.5])), TORCH)
    assert [a.constant for a in held.arguments] == [True, False]


def test_a_smaller_call_that_is_something_else_is_not_kept() -> None:
    assert keeps(of(MATRIX), of(MATRIX + np.eye(3)))
    assert not keeps(of(MATRIX), of(MATRIX + np.eye(3, k=1)))


PACKAGE = '''
"""A package with a class, a function of functions, and two wrong gradients."""
import torch


class _Wrong(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.tanh(x)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g / torch.cosh(x)


class Scaled:
    def __init__(self, factor):
        self.factor = factor

    def right(self, x):
        return torch.tanh(self.factor * x)

    def wrong(self, x):
        return _Wrong.apply(self.factor * x)

    def extra_repr(self, x):
        """Torch calls it, and no person."""
        return x


class Closed:
    def __init__(self, factor, *, power=1):
        self._f = lambda x: (factor * x) ** power

    def right(self, x):
        return self._f(x)


class Solver:
    def __init__(self, steps):
        self.steps = steps


def halved(solver, x):
    return x / 2**solver.steps


def quartered(x, y):
    return x.reshape(4, -1) @ x.reshape(-1, 4) * y


def applied(f, x, *, times=1):
    for _ in range(times):
        x = f(x)
    return x


def trace_of_symmetric(a):
    """Of a symmetric matrix alone: its gradient would be another one elsewhere."""
    return _Half.apply(a)


class _Half(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a):
        ctx.save_for_backward(a)
        return (torch.triu(a) * torch.triu(a)).sum()

    @staticmethod
    def backward(ctx, g):
        (a,) = ctx.saved_tensors
        return g * (a + torch.diag(torch.diag(a)))
'''

PROGRAM = """
import torch
import scaledpkg
from scaledpkg import Scaled

x = torch.tensor([0.5, -1.0], dtype=torch.float64)
scaled = Scaled(torch.tensor(2.0, dtype=torch.float64))
scaled.right(x)
scaled.wrong(x)
scaled.extra_repr(x)
scaledpkg.Closed(torch.tensor(2.0, dtype=torch.float64), power=2).right(x)
scaledpkg.halved(scaledpkg.Solver(3), x)
scaledpkg.quartered(torch.linspace(0.5, 1.0, 80, dtype=torch.float64), x[0])
scaledpkg.applied(torch.sin, x, times=2)
scaledpkg.trace_of_symmetric(torch.tensor([[1.0, 0.5], [0.5, 2.0]], dtype=torch.float64))
"""


NAMES = (
    "Solver",
    "Scaled.right",
    "Scaled.wrong",
    "Closed.right",
    "halved",
    "quartered",
    "trace_of_symmetric",
)


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, tuple[Call, ...]]:
    """The recorded calls of the package by the names of their functions."""
    (tmp_path / "scaledpkg.py").write_text(PACKAGE, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    with recording_package("scaledpkg", pickles=False) as found:
        exec(PROGRAM, {"__name__": "program"})
    assert not found.skipped
    return by_function(found.calls)


def test_a_call_that_raises_in_the_program_is_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A suite tells what is refused, too. Twenty of those leave room for one that is taken."""
    lines = ("def inner(x):", "    if len(x) != 25: raise ValueError(x)", "    return 2 * x")
    (tmp_path / "strictpkg.py").write_text(
        "\n".join((*lines, "def outer(x):", "    try:", "        return inner(x)"))
        + "\n    except ValueError:\n        return -x\n",
        encoding="utf-8",
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    program = "import strictpkg, torch\nfor n in range(1, 26): strictpkg.outer(torch.ones(n))"
    with recording_package("strictpkg", pickles=False) as found:
        exec(program, {"__name__": "program"})
    (inner,) = [call for call in found.calls if call.function == "strictpkg.inner"]
    assert [a.array.shape for a in inner.differentiated() if a.array is not None] == [(25,)]
    assert sum(call.function == "strictpkg.outer" for call in found.calls) == 12
    assert dict(found.skipped) == {"the call raised, or returned None": 24}


def turned(function: str, package: dict[str, tuple[Call, ...]]) -> Any:
    row = Function((function,), "f(...)", DIFFERENTIABLE, "torch")
    turn = Turn("torch", row, 0, 0, 3, package[function], modes=(("rev",), ("fwd",)), shrink=True)
    return run(turn, lambda call: None)


def test_methods_and_functions_of_a_package_are_noted(package: dict[str, tuple[Call, ...]]) -> None:
    assert list(package) == [f"scaledpkg.{name}" for name in (*NAMES[:-1], "applied", NAMES[-1])]
    (method,) = package["scaledpkg.Scaled.right"]
    assert (method.library, method.arguments[0].made) == ("torch", "scaledpkg.Scaled")
    (applied,) = package["scaledpkg.applied"]
    assert [(a.keyword, a.literal) for a in applied.arguments[::2]] == [
        ("", "name:torch.sin"),
        ("times", "2"),
    ]
    y = called(method, TORCH)(*(TORCH.array(np.asarray(a.array)) for a in method.differentiated()))
    assert np.allclose(TORCH.numpy(y[0]), np.tanh([1.0, -2.0]))


def test_what_is_right_is_right_at_other_floats(package: dict[str, tuple[Call, ...]]) -> None:
    for name in ("scaledpkg.Scaled.right", "scaledpkg.applied"):
        result = turned(name, package)
        assert (result.judged, result.findings, result.error) == (3, (), "")
        assert set(result.verdicts) == {"agree"}


def test_a_call_that_is_not_taken_with_fewer_rows_has_its_largest_arrays_constant(
    package: dict[str, tuple[Call, ...]],
) -> None:
    result = turned("scaledpkg.quartered", package)
    assert (result.judged, set(result.verdicts), result.error) == (3, {"agree"}, "")


def test_a_wrong_gradient_of_a_method_is_found_by_all_that_its_object_holds(
    package: dict[str, tuple[Call, ...]],
) -> None:
    (finding,) = turned("scaledpkg.Scaled.wrong", package).findings
    assert finding.target == "scaledpkg"
    assert finding.call is not None
    assert "made(scaledpkg.Scaled, {'factor': x0})" in (finding.code or "")
    assert "import scaledpkg" in finding.script
    assert "def made(cls, fields):" in finding.script


def test_a_gradient_for_symmetric_matrices_is_right_for_these(package: dict[str, tuple[Call, ...]]) -> None:
    """The truth by hand: of sum of a_ij^2 over i <= j along symmetric directions it is a + diag(a)."""
    result = turned("scaledpkg.trace_of_symmetric", package)
    assert result.judged == 3
    assert result.findings == ()


def test_an_object_is_kept_by_what_it_was_made_of_where_its_fields_are_no_data(
    package: dict[str, tuple[Call, ...]],
) -> None:
    (call,) = package["scaledpkg.Closed.right"]
    own = call.arguments[0]
    assert (own.made, [a.keyword for a in own.items or ()]) == ("scaledpkg.Closed()", ["", "power"])
    assert "scaledpkg.Closed(x0, power=2)" in code(call)
    result = turned("scaledpkg.Closed.right", package)
    assert (result.judged, set(result.verdicts), result.error) == (3, {"agree"}, "")


def test_a_class_none_of_whose_methods_is_called_has_the_calls_that_hold_an_object_of_it(
    package: dict[str, tuple[Call, ...]],
) -> None:
    assert package["scaledpkg.Solver"] == package["scaledpkg.halved"]
    result = turned("scaledpkg.Solver", package)
    assert (result.judged, set(result.verdicts), result.error) == (3, {"agree"}, "")


def test_recorded_methods_are_rows_of_a_package(package: dict[str, tuple[Call, ...]]) -> None:
    """`Solver` has no methods, so it is a record."""
    told = "a class, whose 0 methods are called"
    listed = [
        Function(("scaledpkg.applied",), "applied(f, x)", "left out", "no annotation"),
        Function(("scaledpkg.Solver",), "Solver(steps)", "left out", told),
    ]
    rows = with_recorded("scaledpkg", listed, package)
    assert [(r.names[0], r.outcome, r.why) for r in rows if r.names[0] != "scaledpkg.Solver"] == [
        (f"scaledpkg.{name}", DIFFERENTIABLE, "torch") for name in ("applied", *NAMES[1:])
    ]
    assert listed[1] in rows
    with_method = [*listed, Function(("scaledpkg.Solver.run",), "run(x)", "left out", told)]
    asked = {r.names[0] for r in with_recorded("scaledpkg", with_method, package) if r.why == "torch"}
    assert "scaledpkg.Solver" in asked
