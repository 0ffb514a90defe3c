"""Matrices have the structure that they promise, and matrix programs are well-typed, finite, and free of
gauge.
"""

from __future__ import annotations

import re
from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis.errors import InvalidArgument

from gradfuzz.programs import parse, to_text, typecheck
from gradfuzz.programs.arithmetic.numpy_namespace import NumpyNamespace
from gradfuzz.programs.evaluation.interpret import interpret
from gradfuzz.strategies import FAMILIES, draw_many, linalg_cases, linalg_programs, matrices, shapes
from gradfuzz.strategies.drawing.dice import Plain
from gradfuzz.strategies.inputs.matrix import STRUCTURES, draw_matrix
from gradfuzz.strategies.linalg.program import OPS, compose, point_of
from gradfuzz.strategies.linalg.recipes import RECIPES


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
                if structure in ("spd", "symmetric", "repeated", "near repeated"):
                    assert np.array_equal(m, m.T)
                if structure == "spd":
                    w = np.linalg.eigvalsh(m)
                    assert w.min() > 0 or w.max() / np.abs(w).min() > 1e6
                if structure == "lower":
                    assert np.array_equal(m, np.tril(m))
                if structure == "upper":
                    assert np.array_equal(m, np.triu(m))
                if structure in ("lower", "upper"):
                    assert np.all(np.diag(m) != 0)
                if structure in ("singular", "zero line"):
                    assert exact_rank(m) < len(m)
                if structure == "singular":
                    assert np.array_equal(m, np.round(m))
                if structure == "low rank":
                    assert exact_rank(m) <= max(len(m) - 1, 1)
                if structure == "orthogonal":
                    assert np.allclose(
                        m @ m.T, np.eye(len(m)), atol=1e-6 if precision == "float32" else 1e-14
                    )
                if structure == "companion":
                    # the roots of the polynomial are the eigenvalues: p(m) = 0 (Cayley and Hamilton), where
                    # p(m) is m^n - c_1 m^(n-1) - ... - c_n
                    p = np.concatenate([[1.0], -m[0]])
                    value = sum(c * np.linalg.matrix_power(m, len(m) - k) for k, c in enumerate(p))
                    assert np.allclose(value, 0, atol=1e-9)
                    assert exact_rank(m) == len(m)
                if structure == "repeated" and len(m) > 2:
                    w = np.round(np.linalg.eigvalsh(m), 9)
                    assert max(Counter(w.tolist()).values()) >= len(m) - 1
                if structure == "near repeated" and len(m) > 2:
                    gaps = np.diff(np.linalg.eigvalsh(m))
                    assert 0 < gaps.min() < 0.2


def test_ranks_of_singular_matrices(seed: int) -> None:
    """Every corank occurs, and several in one stack."""
    stacks = draw_many(matrices((3, 4, 4), structure="singular"), 60, seed)
    ranks = [[exact_rank(m) for m in stack] for stack in stacks]
    assert {r for row in ranks for r in row} == {0, 1, 2, 3}
    assert any(len(set(row)) > 1 for row in ranks)


@pytest.mark.parametrize("precision", ["float64", "float32"])
def test_sizes(precision: Any, seed: int) -> None:
    """Down to numbers that are not normal, and up to what may be cubed."""
    drawn = [m for m in draw_many(matrices((3, 3), precision=precision), 800, seed) if np.any(m)]
    facts = np.finfo(precision)
    largest = [float(np.abs(m).max()) for m in drawn]
    assert min(largest) < facts.smallest_normal
    assert max(largest) > float(facts.max) ** 0.3
    with np.errstate(under="ignore", over="raise"):
        assert all(
            np.all(np.isfinite(np.prod(m, axis=0)))
            for m in drawn
            if np.abs(m).max() < float(facts.max) ** 0.3
        )
    full = [m.astype(np.float64) for m in drawn if 1e-3 < np.abs(m).max() < 1e3]
    assert max(np.linalg.cond(m) for m in full) > (1e11 if precision == "float64" else 1e6)


def test_shapes_reach_every_kind_of_batch(seed: int) -> None:
    drawn = draw_many(shapes(), 400, seed)
    assert drawn[0] == (2, 2)
    assert {s[:-2] for s in drawn} == {(), (1,), (2,), (3,), (1, 2), (2, 3), (0,)}
    assert {np.sign(s[-1] - s[-2]) for s in drawn} == {-1, 0, 1}
    assert max(max(s[-2:]) for s in drawn) == 6
    assert any(len(s) > 2 and s[-1] == s[-3] for s in drawn)


def test_programs_are_well_typed_and_finite(seed: int) -> None:
    """Finite where the matrices are neither denormal nor huge; each goal of the family is reached."""
    seen: Counter[str] = Counter()
    finite: list[bool] = []
    for case in draw_many(linalg_cases(), 1000, seed):
        typed = typecheck(case.program)
        assert parse(to_text(case.program)) == case.program
        reached = FAMILIES["linalg"].reached(case)
        seen.update(reached)
        for point in case.points:
            outputs = interpret(case.program, point, NumpyNamespace(case.precision))
            assert [np.shape(y) for y in outputs] == [t.shape for t in typed.outputs]
            if not reached & {"denormal", "huge"}:
                finite.append(all(bool(np.all(np.isfinite(y))) for y in outputs))
    assert not set(FAMILIES["linalg"].goals) - set(seen)
    assert sum(finite) >= 0.98 * len(finite)


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
        size = {"square": (3, 3), "tall": (4, 3), "wide": (3, 4)}[aspect]
        for total in (False, True):
            if total and recipe.factors and not recipe.aligned:
                continue
            program = compose(Plain(), recipe, (2,) if recipe.second != "vectors" else (), size, total=total)
            point = point_of(Plain(), program, "float64")
            usual = interpret(program.program, point, NumpyNamespace("float64"))
            turned = interpret(program.program, point, Turned("float64"))
            for a, b in zip(usual, turned, strict=True):
                assert np.allclose(a, b, rtol=1e-12, atol=1e-12), to_text(program.program)


def test_no_objective_is_constant(seed: int) -> None:
    """Outputs move with the matrix, but where it has no entries, and for the few ops of which a parameter
    makes them constant.
    """
    rng = np.random.default_rng(seed)
    without = {"matrix_power", "trace", "diagonal", "tril", "triu"}
    for program in draw_many(
        linalg_programs(ops=tuple(op for op in OPS if op not in without), max_side=3, empty=False), 400, seed
    ):
        if "tanh(" in to_text(program):
            continue  # saturates
        shapes = {p.name: p.type.sizes for p in program.params}
        structures = {"a": "spd"} if shapes["a"][-2:-1] == shapes["a"][-1:] else {}
        at = [
            {
                n: draw_matrix(Plain(), s if len(s) > 1 else (*s, 1), structures.get(n, "general")).reshape(s)
                / 4
                for n, s in shapes.items()
            }
            for _ in range(2)
        ]
        for x in at[1].values():
            x += rng.uniform(0.01, 0.1, x.shape)
        for k, y in enumerate(
            zip(*(interpret(program, x, NumpyNamespace("float64")) for x in at), strict=True)
        ):
            assert not np.allclose(*y, rtol=1e-11, atol=0), f"output {k} of {to_text(program)}"


def test_the_sum_of_squares_of_an_orthonormal_factor_is_no_output() -> None:
    """It is the number of columns, whatever the matrix."""
    texts = [to_text(p) for p in draw_many(linalg_programs(ops=("qr", "svd", "eigh")), 600, 0)]
    assert any("q * q" in t for t in texts)
    assert not [t for t in texts if re.search(r"sum\((q \* q|u \* u|v \* v|vh \* vh)\)", t)]
    small = [t for t in texts if '"float[1, 1]"' in t]
    assert small
    assert not [t for t in small if re.search(r"return .*\b(q \* q|v \* v)", t)]


def test_what_cannot_be_is_said() -> None:
    for wrong in (
        lambda: matrices((2,)),
        lambda: matrices((2, 3), structure="spd"),
        lambda: matrices((2, 2), structure="round"),  # type: ignore[arg-type]
        lambda: matrices((2, 2), precision="float8"),  # type: ignore[arg-type]
        lambda: shapes(aspects=()),
        lambda: shapes(max_side=1),
        lambda: linalg_programs(ops=("sin",)),
        lambda: linalg_programs(ops=()),
        lambda: linalg_cases(max_order=4),
        lambda: linalg_cases(precisions=()),
    ):
        with pytest.raises(InvalidArgument):
            draw_many(wrong(), 1, 0)


def test_a_program_about_given_ops(seed: int) -> None:
    for program in draw_many(linalg_programs(ops=("qr", "cholesky"), max_side=3, empty=False), 50, seed):
        assert "qr(" in to_text(program) or "cholesky(" in to_text(program)
        assert all(0 < n <= 3 for p in program.params for n in p.type.shape if n is not None)
