"""The power table counts rightly, its plants are wrong as they say, and a small form of it finds them all."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from benchmarks.power.__main__ import records, rows
from benchmarks.power.measuring import cases, changes
from benchmarks.power.planting import planted
from benchmarks.power.plants import PLANTS, Asked
from benchmarks.power.report import outcome, text
from benchmarks.power.rows import Row

SMALL = (
    "torch: softmax",
    "torch: solve",
    "torch: layer_norm",
    "torch: index_select",
    "torch: every second column",
    "torch: cumsum of squares, float32",
    "torch: through NumPy",
    "jax: modulus squared",
    "jax: take, float32",
)
"""Rows of the small form, a function of each kind ..."""

SMALL_KINDS = ("factor 2", "relative 1e-4", "shifted by one", "residual of another point", "RuntimeError")
"""... and the kinds of its plants."""


def cube(dtype: torch.dtype = torch.float64) -> Row:
    return Row("cube", "torch", lambda x: x**3, (torch.tensor([-2.0, 1.0, 0.5], dtype=dtype),), ("easy",))


def plant(kind: str) -> Any:
    (found,) = [plant for plant in PLANTS if plant.kind == kind]
    return found


def gradient(row: Row, kind: str) -> list[float]:
    """What a plant makes of the gradient of a sum."""
    (x,) = row.arguments
    x = x.clone().requires_grad_()
    asked = plant(kind).make(row)
    value = asked.function(x)
    assert torch.equal(value, row.function(x))
    (found,) = torch.autograd.grad(value, x, torch.tensor([1.0, 2.0, 4.0], dtype=x.dtype))
    return [float(v) for v in found]


def test_the_table_is_large_enough() -> None:
    every = rows()
    names = [(row.library, row.name) for row in every]
    assert len(set(names)) == len(names) >= 400
    assert min(sum(row.library == library for row in every) for library in ("torch", "jax")) >= 150
    kinds = [plant.kind for plant in PLANTS]
    assert len(set(kinds)) == len(kinds) >= 50


def test_every_other_function_of_a_row_is_of_a_kind() -> None:
    kinds = {plant.kind for plant in PLANTS}
    for row in rows():
        assert set(row.instead) <= kinds, row.name


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        # 3 x^2 is 12, 3, 0.75, and the cotangents are 1, 2, 4
        ("factor 2", [24.0, 12.0, 6.0]),
        ("sign", [-12.0, -6.0, -3.0]),
        ("two cotangents swapped", [24.0, 3.0, 3.0]),
        ("cotangents reversed", [48.0, 6.0, 0.75]),
        ("cotangents rolled", [48.0, 3.0, 1.5]),
        ("shifted by one", [3.0, 12.0, 6.0]),
        ("only at 1", [12.0, 12.0, 3.0]),
        ("only for negative numbers", [-12.0, 6.0, 3.0]),
        ("only at the last entry", [12.0, 6.0, 6.0]),
        ("the smallest entry doubled", [12.0, 6.0, 6.0]),
        ("half detached in the function", [6.0, 3.0, 1.5]),
        ("1e-3 of the largest added", [12.012, 6.012, 3.012]),
    ],
)
def test_a_plant_is_wrong_as_it_says(kind: str, expected: list[float]) -> None:
    assert gradient(cube(), kind) == pytest.approx(expected, rel=1e-14)


@pytest.mark.parametrize("kind", ["only at second order", "no second order"])
def test_a_plant_of_second_order_is_right_at_first_order(kind: str) -> None:
    assert gradient(cube(), kind) == [12.0, 6.0, 3.0]


@pytest.mark.filterwarnings("ignore:.torch.jit.script. is:DeprecationWarning")  # Torch's first forward mode
def test_a_plant_of_forward_mode_is_right_in_reverse_mode() -> None:
    assert gradient(cube(), "only in forward mode") == [12.0, 6.0, 3.0]
    asked = plant("only in forward mode").make(cube())
    x = cube().arguments[0]
    with torch.autograd.forward_ad.dual_level():
        dual = asked.function(torch.autograd.forward_ad.make_dual(x, torch.ones_like(x)))
        slope = torch.autograd.forward_ad.unpack_dual(dual).tangent
    assert slope.tolist() == [15.0, 3.75, 0.9375]  # 1.25 times 3 x^2


@pytest.mark.parametrize(
    ("factor", "dtype", "fits"),
    [
        (1.0, torch.float64, "no"),
        (1.0 + 1e-15, torch.float64, "no"),
        (1.0 + 1e-8, torch.float64, "yes"),
        (1.0 + 1e-6, torch.float32, "no"),
        (1.0 + 1e-3, torch.float32, "yes"),
    ],
)
def test_a_plant_fits_where_it_changes_more_than_rounding_does(
    factor: float, dtype: torch.dtype, fits: str
) -> None:
    row = cube(dtype)
    wrong = planted("torch", row.function, gradient=lambda _, found, __: tuple(g * factor for g in found))
    assert changes(row, Asked(wrong, row.arguments), {}) == fits


def test_a_plant_does_not_fit_where_conditioning_explains_it() -> None:
    """The slope of tan next to its pole changes by 2e7 u, relatively, with the last bit of its argument."""
    row = Row("tan", "torch", torch.tan, (torch.tensor([np.pi / 2 - 1e-7], dtype=torch.float64),), ())
    for factor, fits in ((1 + 1e-8, "no"), (1.001, "yes")):
        wrong = planted("torch", torch.tan, gradient=lambda _, found, __, k=factor: (found[0] * k,))
        assert changes(row, Asked(wrong, row.arguments), {}) == fits


def test_the_rounding_of_a_function_is_that_of_its_narrowest_dtype() -> None:
    """An error of 1e-6 is none of float64, and explained by a float32 inside."""
    x = torch.tensor([0.5, 2.0], dtype=torch.float64)
    for tags, fits in (((), "yes"), (("float32 inside",), "no")):
        row = Row("exp", "torch", torch.exp, (x,), tags)
        wrong = planted("torch", torch.exp, gradient=lambda _, found, __: (found[0] * (1 + 1e-6),))
        assert changes(row, Asked(wrong, row.arguments), {}) == fits


def test_the_seed_draws_the_plants_and_nothing_else() -> None:
    def drawn(seed: int) -> list[str]:
        return [case.key for case, fits in cases(cube(), seed, 4) if fits == "yes"]

    assert drawn(0) == drawn(0) != drawn(1)
    assert len(drawn(0)) == len(drawn(1)) == 2 + 4


def test_rows_at_a_kink_get_no_plant_in_single_entries() -> None:
    x = torch.tensor([0.0, 1.5, -0.5], dtype=torch.float64)
    row = Row("abs", "torch", torch.abs, (x,), ("at a kink",))
    kinds = {case.plant.kind for case, _ in cases(row, 0, 99) if case.plant is not None}
    assert "factor 2" in kinds
    assert not kinds & {plant.kind for plant in PLANTS if plant.at_places}


@pytest.mark.parametrize(
    ("verdict", "expected"),
    [
        ("AGREE", "passed"),
        ("DISAGREE", "accused"),
        ("CRASHED", "accused"),
        ("INCONCLUSIVE", "not judged"),
        ("CONVENTION", "passed"),
        ("UNSUPPORTED", "not judged"),
        ("TIME", "not judged"),
        ("FAULT", "not judged"),
    ],
)
def test_the_outcome_of_a_verdict(verdict: str, expected: str) -> None:
    assert outcome({"verdict": verdict}) == expected


def record(name: str, kind: str, verdict: str, other: str) -> dict[str, Any]:
    told = {"key": f"jax: {name} | {kind or 'right'}", "row": name, "library": "jax", "dtype": "float64"}
    return told | {"tags": ["easy"], "kind": kind, "fits": "yes", "verdict": verdict, "other": other}


def test_the_page_counts_and_names_what_is_missed() -> None:
    page = text(
        [
            record("f", "", "AGREE", "passes"),
            record("g", "", "DISAGREE", "not asked"),
            record("f", "sign", "DISAGREE", "accuses"),
            record("f", "zero", "AGREE", "accuses"),
            record("g", "sign", "INCONCLUSIVE", "passes"),
            {"row": "g", "library": "jax", "kind": "zero", "fits": "no"},
        ],
        seed=3,
    )
    assert "- right and accused: 1 of 2 (50 %)" in page
    assert "- wrong and passed: 1 of 3 (33 %)" in page
    assert "- wrong, found by the other and not by gradfuzz: 1\n" in page
    assert "- wrong, found by gradfuzz and passed by the other: 0\n" in page
    assert "| easy | 1 / 0 / 1 | 1 / 0 / 0 | 1 / 0 / 0 | 1 / 1 / 1 | 1 / 1 / 1 | 2 / 0 / 1 |" in page
    assert "| sign | 1 / 1 / 0 | 1 / 1 / 0 | 1 / 0 / 1 |" in page
    assert "drawn by the seed 3" in page
    accused, passed = page.index("### Right and accused"), page.index("### Wrong and passed")
    assert accused < page.index("| jax: g | right |") < passed < page.index("| jax: f | zero |")


@pytest.mark.parametrize("name", SMALL)
def test_the_small_form(name: str) -> None:
    """No right function is accused, and no plant passes."""
    (row,) = [row for row in rows() if f"{row.library}: {row.name}" == name]
    told = {r["key"]: r["verdict"] for r in records(row, 0, 2, SMALL_KINDS) if "verdict" in r}
    right = {key: verdict for key, verdict in told.items() if "| right" in key}
    assert list(right.values()) == ["AGREE", "AGREE"]
    wrong = {key: verdict for key, verdict in told.items() if key not in right}
    assert len(wrong) == 2
    assert set(wrong.values()) <= {"DISAGREE", "CRASHED"}, wrong
