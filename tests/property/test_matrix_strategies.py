"""Matrices have the structure that they promise, and matrix programs are well-typed, finite, and free of gauge."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis.errors import InvalidArgument

from gradfuzz.programs import parse, to_text, typecheck
from gradfuzz.programs.interpret import interpret
from gradfuzz.programs.numpy_namespace import NumpyNamespace
from gradfuzz.strategies import FAMILIES, draw_many, linalg_cases, linalg_programs, matrices, shapes
from gradfuzz.strategies.dice import Plain
from gradfuzz.strategies.linalg_program import OPS, compose, point_of
from gradfuzz.strategies.matrix import STRUCTURES
from gradfuzz.strategies.recipes import RECIPES


def exact_rank(matrix: Any) -> int:
    """By elimination in fractions."""
    rows = [[Fraction(x) for x in row] for row in matrix.tolist()]
    rank = 0
    for column in range(len(rows[0]) if rows else 0):
        pivot = next((k for k in range(rank, len(rows)) if rows[k][column]), None)
        if pivot is None:
            continue
        rows[rank], rows[pivot] = rows[pivot], rows[rank]
        for k in range(rank + 1, len(rows)):
            factor = rows[k][column] / rows[rank][column]
            rows[k] = [a - factor * b for a, b in zip(rows[k], rows[rank], strict=True)]
        rank += 1
    return rank


@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("precision", ["float64", "float32"])
def test_structure(structure: Any, precision: Any, seed: int) -> None:
    for shape in ((4, 4), (2, 3, 3), (1, 1), (0, 2, 2)):
        for drawn in draw_many(matrices(shape, structure=structure, precision=precision), 30, seed):
            assert (drawn.shape, drawn.dtype) == (shape, np.dtype(precision))
            assert np.all(np.isfinite(drawn))
            for m in drawn.reshape(-1, *shape[-2:]).astype(np.float64):
                if structure in ("spd", "symmetric", "repeated"):
                    assert np.array_equal(m, m.T)
                if structure == "spd":
                    assert np.linalg.eigvalsh(m).min() > 0 or np.linalg.cond(m) > 1e6
                if structure == "lower":
                    assert np.array_equal(m, np.tril(m))
                if structure == "upper":
                    assert np.array_equal(m, np.triu(m))
                if structure in ("lower", "upper"):
                    assert np.all(np.diag(m) != 0)
                if structure == "singular":
                    assert exact_rank(m) < len(m)
                if structure == "repeated" and len(m) > 2:
                    w = np.round(np.linalg.eigvalsh(m), 9)
                    assert max(Counter(w.tolist()).values()) >= len(m) - 1


def test_shapes_reach_every_kind_of_batch(seed: int) -> None:
    drawn = draw_many(shapes(), 400, seed)
    assert drawn[0] == (2, 2)
    assert {s[:-2] for s in drawn} == {(), (1,), (2,), (3,), (1, 2), (2, 3), (0,)}
    assert {np.sign(s[-1] - s[-2]) for s in drawn} == {-1, 0, 1}
    assert max(max(s[-2:]) for s in drawn) == 6
    assert any(len(s) > 2 and s[-1] == s[-3] for s in drawn)


def test_programs_are_well_typed_and_finite(seed: int) -> None:
    seen: Counter[str] = Counter()
    finite = 0
    drawn = draw_many(linalg_cases(), 400, seed)
    for case in drawn:
        typed = typecheck(case.program)
        assert parse(to_text(case.program)) == case.program
        seen.update(FAMILIES["linalg"].reached(case))
        for point in case.points:
            outputs = interpret(case.program, point, NumpyNamespace(case.precision))
            assert [np.shape(y) for y in outputs] == [t.shape for t in typed.outputs]
            finite += all(bool(np.all(np.isfinite(y))) for y in outputs)
    assert set(seen) == set(OPS)
    assert finite >= 0.98 * sum(len(case.points) for case in drawn)


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: f"{recipe.op}: {recipe.lines[:40]}")
def test_no_output_depends_on_the_signs_of_a_decomposition(recipe: Any) -> None:
    """The factors with other signs, which are as good: LAPACK's are turned column by column."""

    class Turned(NumpyNamespace):
        def qr(self, x: Any, *, mode: Any) -> Any:
            q, r = super().qr(x, mode=mode)
            s = (-1.0) ** np.arange(q.shape[-1])
            return q * s, s[:, np.newaxis][: r.shape[-2]] * r

        def svd(self, x: Any, *, full_matrices: bool) -> Any:
            u, s, vh = super().svd(x, full_matrices=full_matrices)
            signs = (-1.0) ** np.arange(s.shape[-1])
            return u * signs, s, signs[:, np.newaxis] * vh

        def eigh(self, x: Any) -> Any:
            w, v = super().eigh(x)
            return w, v * (-1.0) ** np.arange(w.shape[-1])

    for aspect in recipe.aspects:
        program = compose(
            Plain(),
            recipe,
            (2,) if recipe.second != "vectors" else (),
            {"square": (3, 3), "tall": (4, 3), "wide": (3, 4)}[aspect],
        )
        point = point_of(Plain(), program, "float64")
        usual = interpret(program.program, point, NumpyNamespace("float64"))
        turned = interpret(program.program, point, Turned("float64"))
        for a, b in zip(usual, turned, strict=True):
            assert np.allclose(a, b, rtol=1e-12, atol=1e-12), to_text(program.program)


def test_what_cannot_be_is_said() -> None:
    for wrong in (
        lambda: matrices((2,)),
        lambda: matrices((2, 3), structure="spd"),
        lambda: matrices((2, 2), structure="round"),  # type: ignore[arg-type]
        lambda: matrices((2, 2), precision="float16"),  # type: ignore[arg-type]
        lambda: shapes(aspects=()),
        lambda: shapes(max_side=1),
        lambda: linalg_programs(ops=("sin",)),
        lambda: linalg_programs(ops=()),
        lambda: linalg_cases(max_order=4),
        lambda: linalg_cases(precisions=()),
    ):
        with pytest.raises(InvalidArgument):
            wrong()


def test_a_program_about_given_ops(seed: int) -> None:
    for program in draw_many(linalg_programs(ops=("qr", "cholesky"), max_side=3, empty=False), 50, seed):
        assert "qr(" in to_text(program) or "cholesky(" in to_text(program)
        assert all(0 < n <= 3 for p in program.params for n in p.type.shape if n is not None)
