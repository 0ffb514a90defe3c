"""Adapters with releases that lack names: they start, and refuse only the ops that need the names.

The libraries are stand-ins that have every other name.
"""

from __future__ import annotations

import os
import runpy
import sys
import types
from pathlib import Path
from typing import Any

import pytest

import gradfuzz.adapters

FOLDER = Path(gradfuzz.adapters.__file__).parent


class Library(types.ModuleType):
    """A module or a function that has every name, except those that are missing."""

    def __init__(self, name: str, missing: frozenset[str]) -> None:
        super().__init__(name)
        self.__path__: list[str] = []
        self._missing = missing

    def __getattr__(self, name: str) -> Any:
        path = f"{self.__name__}.{name}"
        if name.startswith("__") or path in self._missing:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        vars(self)[name] = Library(path, self._missing)
        return vars(self)[name]

    def __call__(self, *_: Any, **__: Any) -> None:
        pass


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Starts an adapter with stand-ins for these modules, the last with `more`; returns what it defines."""
    monkeypatch.syspath_prepend(FOLDER)
    monkeypatch.setattr(os, "environ", dict(os.environ))

    def start(adapter: str, modules: str, missing: str, **more: Any) -> dict[str, Any]:
        for name in modules.split():
            made = Library(name, frozenset(missing.split()))
            monkeypatch.setitem(sys.modules, name, made)
            above, _, own = name.rpartition(".")
            if above:
                setattr(sys.modules[above], own, made)
        vars(made).update(more)
        return runpy.run_path(str(FOLDER / f"{adapter}_adapter.py"), run_name="adapter")

    return start


PADDLE = "paddle paddle.nn"
MLX = "mlx mlx.core mlx.nn"
DRJIT = "drjit drjit.llvm"
PYTENSOR = (
    "pytensor pytensor.tensor pytensor.tensor.linalg pytensor.tensor.special pytensor.compile"
    " pytensor.compile.mode pytensor.gradient pytensor.ifelse pytensor.raise_op pytensor.scan"
    " pytensor.scan.utils"
)


@pytest.mark.parametrize(
    ("adapter", "modules", "missing", "op", "arguments"),
    [
        ("paddle", PADDLE, "paddle.linalg.svdvals", "svdvals", [0]),
        ("paddle", PADDLE, "paddle.linalg.matrix_exp", "expm", [0]),
        ("mlx", MLX, "mlx.core.linalg.det", "det", [0]),
        ("mlx", MLX, "mlx.core.linalg.solve", "solve", [0, 0]),
        ("drjit", DRJIT, "drjit.stack", "stack", []),
        ("drjit", DRJIT, "drjit.concat", "concat", []),
    ],
)
def test_an_op_is_refused_whose_name_the_release_lacks(
    started: Any, adapter: str, modules: str, missing: str, op: str, arguments: list[int]
) -> None:
    ops = started(adapter, modules, missing)["OPS"]
    with pytest.raises(AttributeError) as caught:
        ops[op](*arguments, **({} if arguments else {"axis": 0}))
    where, _, name = missing.rpartition(".")
    refusal = f"not in this release: module {where!r} has no attribute {name!r}"
    assert sys.modules["kit"].arm_of(caught.value) == {"unsupported": refusal}


def test_a_dtype_that_the_release_lacks_is_left_out(started: Any) -> None:
    assert "float64" in started("mlx", MLX, "")["DTYPES"]
    assert "float64" not in started("mlx", MLX, "mlx.core.float64")["DTYPES"]


def test_forward_mode_before_it_could_be_chosen(started: Any) -> None:
    """Before PyTensor 3 it is `Rop`, in the oldest releases by the ops' own rules alone."""
    defined = started("pytensor", PYTENSOR, "pytensor.gradient.pushforward")
    asked: list[bool] = []

    def rop(*_: Any, use_op_rop_implementation: bool = False, **__: Any) -> list[Any]:
        asked.append(use_op_rop_implementation)
        return [0.0]

    defined["WAYS"][0].slope.__globals__["pushforward"] = rop
    for way in defined["WAYS"]:
        assert way.slope(None, [], []) == 0.0
    assert asked == [way.direct for way in defined["WAYS"]]
    defined["WAYS"][0].slope.__globals__["pushforward"] = lambda *_, **__: [0.0]
    for way in defined["WAYS"]:
        if way.direct:
            assert way.slope(None, [], []) == 0.0
        else:
            with pytest.raises(defined["kit"].Unsupported, match="own rules alone"):
                way.slope(None, [], [])


# What a library says it has not -----------------------------------------------------------------------------


def test_what_casadi_does_not_define_is_a_refusal(started: Any) -> None:
    refusal, words = started("casadi", "casadi", "")["refusal"], "'eval' not defined for class Determinant"
    assert str(refusal(RuntimeError(f"Error in Function::call for 'f':\n{words}"))) == words
    assert refusal(RuntimeError("Error in Function::call for 'f'")) is None


@pytest.mark.parametrize("words", ["The Op exp_grad doesn't have any grad op.", "doesn't have any gradop."])
def test_an_op_of_paddle_without_a_second_derivative_is_a_refusal(started: Any, words: str) -> None:
    defined = started("paddle", PADDLE, "")

    def grad(*_: Any, **__: Any) -> None:
        raise RuntimeError(words)

    defined["paddle"].grad = grad
    way = defined["Dygraph"]()
    way.targets = lambda active: zip(*active, strict=True)
    traced = types.SimpleNamespace(stop_gradient=False)
    with pytest.raises(defined["kit"].Unsupported, match="have any grad"):
        way.reverse([(traced, traced)], [traced], True)


def test_a_loop_of_drjit_without_reverse_mode_is_a_refusal(started: Any) -> None:
    defined = started("drjit", DRJIT, "")
    way = defined["Symbolic"]()

    def together(*_: Any) -> None:
        raise RuntimeError(why)

    way.together = together
    why = "CustomOp::backward(): the derivative of a complex loop is not yet implemented!"
    with pytest.raises(defined["kit"].Unsupported, match="complex loop"):
        way.answer(None, {}, {})
    why = "jit_assemble(): incompatible size"
    with pytest.raises(RuntimeError, match="incompatible size"):
        way.answer(None, {}, {})


@pytest.mark.parametrize("version", ["15.0.6", (15, 0, 6)])
def test_drjit_says_its_llvm_as_text_or_as_a_tuple(started: Any, version: Any) -> None:
    defined = started("drjit", DRJIT, "")
    defined["dr"].detail.llvm_version = lambda: version
    with pytest.raises(defined["kit"].Unsupported, match=r"and this is 15\.0\.6"):
        defined["OPS"]["minimum"](0.5, 0.5)


def test_the_graph_of_tinygrad_by_either_name(started: Any) -> None:
    defined = started("tinygrad", "tinygrad tinygrad.Device", "", _devices=["PYTHON"])
    new = types.SimpleNamespace(uop=types.SimpleNamespace(toposort=lambda: ["a", "b"]))
    old = types.SimpleNamespace(lazydata=types.SimpleNamespace(toposort={"a": None, "b": None}))
    assert defined["nodes_before"](new) == defined["nodes_before"](old) == {"a", "b"}


def test_mlx_has_no_way_in_float64_that_would_round_it(started: Any) -> None:
    defined = started("mlx", MLX, "")
    for answer, expected in (([0.1], True), ([0.10000000149011612], False)):
        defined["mx"].array = lambda *_, answer=answer: types.SimpleNamespace(tolist=lambda: answer)
        assert defined["has_doubles"]() is expected
    assert not started("mlx", MLX, "mlx.core.float64")["has_doubles"]()
