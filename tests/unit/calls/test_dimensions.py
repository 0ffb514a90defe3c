"""The dimensions that annotations name: read, drawn so that they agree, and the library of a function."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from gradfuzz.adapters.catalogue import ARRAY, DIFFERENTIABLE, Parameter, dimensioned, parameters, read, write
from gradfuzz.fuzzer.calling.drawing.dimensions import Lengths, shape
from gradfuzz.fuzzer.calling.drawing.draw import drawn
from gradfuzz.fuzzer.calling.drawing.learned import Learned
from gradfuzz.fuzzer.calling.package import functions
from gradfuzz.fuzzer.results.call import Call
from gradfuzz.strategies.drawing.dice import Seeded

SEEDS = range(60)


def shapes(dims: str, lengths: Lengths | None = None) -> set[tuple[int, ...]]:
    return {shape(dims, Seeded(str(seed)), dict(lengths or {})) for seed in SEEDS}


@pytest.mark.parametrize(
    ("dims", "expected"),
    [
        ("", {()}),
        ("3 n", {(3, 5)}),
        ("n n+1 2*n-1", {(5, 6, 9)}),
        ("n//2", {(2,)}),
        ("rows=4", {(4,)}),
        ("?n", {(5,)}),
        ("#n", {(5,), (1,)}),
        ("*batch n", {(2, 3, 5)}),
        ("#*batch", {(2, 3), (1, 3), (2, 1), (1, 1)}),
        ("7-n-n", {(0,)}),
    ],
)
def test_known_names_decide(dims: str, expected: set[tuple[int, ...]]) -> None:
    assert shapes(dims, {"n": (5,), "*batch": (2, 3)}) == expected


def test_new_names_are_drawn_once() -> None:
    for found in shapes("n m n"):
        assert found[0] == found[2]
    assert len(shapes("n m n")) > 3


@pytest.mark.parametrize("dims", ["...", "*more"])
def test_any_number_of_axes(dims: str) -> None:
    assert {len(found) for found in shapes(dims)} == {0, 1, 2}


def test_what_is_no_sum_or_product_has_any_length() -> None:
    assert {len(found) for found in shapes("min(n,m)")} == {1}


# Annotations ------------------------------------------------------------------------------------------------


class Like:
    """What an annotation of jaxtyping tells, without it."""

    def __init__(self, dims: str, dtypes: Any, array: type = np.ndarray) -> None:
        self.dim_str, self.dtypes, self.array_type = dims, dtypes, array


def test_an_annotation_is_read() -> None:
    assert dimensioned(Like("batch n", ("float16", "float32", "float64"))) == (
        *("batch n", ("float64", "float32", "float16")),
    )
    assert dimensioned(Like("", object())) == ("", ())
    assert dimensioned(np.ndarray) is None


def test_a_parameter_keeps_it(tmp_path: Path) -> None:
    def f(x: Any, k: int = 2) -> None: ...

    f.__annotations__["x"] = Like("n n", ("int32", "int64"))
    taken = parameters(f)
    assert taken[0] == Parameter("x", (ARRAY,), required=True, dims="n n", entries=("int64", "int32"))
    row = SimpleNamespace(names=("f",), signature="f(x)", outcome=DIFFERENTIABLE, why="", parameters=taken)
    from gradfuzz.adapters.catalogue import Function

    function = Function(**vars(row))
    write(str(tmp_path / "f.json"), [function])
    assert read(tmp_path / "f.json") == [function]


MODULE = """
from __future__ import annotations
from {library} import {array}
from jaxtyping import Float, Int

def layer(x: Float[{array}, "*batch n"], w: Float[{array}, "n m"], b: Float[{array}, "m"] | None = None):
    return x @ w if b is None else x @ w + b

def chosen(x: Float[{array}, "n 3"], k: Int[{array}, "k"]):
    return x[k % 1]
"""


@pytest.mark.parametrize(("library", "array"), [("torch", "Tensor"), ("jax", "Array")])
def test_calls_of_annotated_functions_agree(
    library: str, array: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("jaxtyping", reason="jaxtyping is not installed")
    pytest.importorskip(library)
    (tmp_path / f"annotated_{library}.py").write_text(MODULE.format(library=library, array=array))
    monkeypatch.syspath_prepend(tmp_path)
    chosen, layer = sorted(functions(f"annotated_{library}"), key=lambda one: one.names[0])
    assert {chosen.why, layer.why} == {library}
    for seed in SEEDS:
        learned, dice = Learned(), Seeded(str(seed))
        x, w, *b = _arrays(drawn(dice, library, layer, layer.names[0], learned).call)
        assert x.shape[-1] == w.shape[0]
        assert [one.shape for one in b] in ([], [w.shape[1:]])
        assert {one.dtype.kind for one in (x, w, *b)} <= {"f", "V"}
        x, k = _arrays(drawn(dice, library, chosen, chosen.names[0], learned).call)
        assert x.shape[1] == 3
        assert k.dtype.kind == "i"
    del sys.modules[f"annotated_{library}"]


def _arrays(call: Call) -> list[np.ndarray]:
    from gradfuzz.fuzzer.results.views import seen

    return [seen(one) for one in call.arrays()]
