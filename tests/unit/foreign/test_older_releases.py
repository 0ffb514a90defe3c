"""Adapters with releases that lack names: they start, and refuse only the ops that need the names.

The libraries are stand-ins that have every other name.
"""

from __future__ import annotations

import runpy
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import gradfuzz.adapters

FOLDER = Path(gradfuzz.adapters.__file__).parent


class Library(types.ModuleType):
    """A module with a function of every name, except those that are missing. It may be called, too."""

    def __init__(self, name: str, missing: frozenset[str]) -> None:
        super().__init__(name)
        self.__path__ = []
        self._missing = missing

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or f"{self.__name__}.{name}" in self._missing:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")

        def function(*_: Any, **__: Any) -> None:
            pass

        setattr(self, name, function)
        return function

    def __call__(self, *_: Any, **__: Any) -> None:
        pass


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Starts an adapter with stand-ins for these modules, and returns what it defines."""
    monkeypatch.syspath_prepend(FOLDER)

    def start(adapter: str, modules: str, missing: str) -> dict[str, Any]:
        for name in modules.split():
            made = Library(name, frozenset(missing.split()))
            monkeypatch.setitem(sys.modules, name, made)
            above, _, own = name.rpartition(".")
            if above:
                setattr(sys.modules[above], own, made)
        return runpy.run_path(str(FOLDER / f"{adapter}_adapter.py"), run_name="adapter")

    return start


PADDLE = "paddle paddle.linalg paddle.nn paddle.nn.functional"
MLX = "mlx mlx.core mlx.core.linalg mlx.nn"
DRJIT = "drjit drjit.VarType drjit.llvm drjit.llvm.ad"
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
