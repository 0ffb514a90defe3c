"""Compiled graphs factor a matrix once for all that is made of it, and no number changes by that."""

from __future__ import annotations

import numpy as np
import pytest

from gradfuzz import engine, programs
from gradfuzz.engine import derivative
from gradfuzz.programs.arithmetic.numpy_namespace import NumpyNamespace

SIZES = [(2, 2), (6, 6), (30, 30), (40, 3, 3), (3, 30, 30)]
PROGRAMS = {
    "the matrix": "x = solve(a, b)\n    y = inv(a)\n    s, l = slogdet(a)\n    d = det(a)",
    "its transpose": "x = solve(a, b)\n    y = solve(t, b)\n    s, l = slogdet(t)\n    d = det(t)",
    "twice transposed": "x = inv(t)\n    y = solve(permute_dims(t, axes={axes}), b)\n    s, l = slogdet(t)\n"
    "    d = det(a)",
    "after the transpose": "y = solve(t, b)\n    x = inv(t)\n    s, l = slogdet(t)\n    d = det(t)",
}


def written(body: str, shape: tuple[int, ...]) -> programs.Program:
    rank = len(shape)
    axes = (*range(rank - 2), rank - 1, rank - 2)
    lines = f"t = permute_dims(a, axes={axes})\n    {body.format(axes=axes)}\n    return x, y, s, l, d"
    return programs.parse(f'def f(a: "float{list(shape)}", b: "float{list(shape)}"):\n    {lines}\n')


@pytest.mark.parametrize("shape", SIZES)
@pytest.mark.parametrize("name", PROGRAMS)
def test_shared_factors_give_the_numbers_of_single_ops(name: str, shape: tuple[int, ...], seed: int) -> None:
    program = written(PROGRAMS[name], shape)
    rng = np.random.default_rng(seed)
    a, b = rng.normal(size=(2, *shape))
    function = engine.compile(programs.lower(program))
    assert function.source.count("ns.factored(") == 1
    inputs = {"a": a, "b": b}
    expected = programs.interpret(program, inputs, NumpyNamespace("float64"))
    for found, single in zip(function(a, b), expected, strict=True):
        assert np.array_equal(found, single)


def test_a_matrix_that_is_factored_once_has_no_name() -> None:
    once = programs.parse('def f(a: "float[3, 3]"):\n    s, l = slogdet(a)\n    return s * l, inv(a @ a)\n')
    assert "factored" not in engine.compile(programs.lower(once)).source


@pytest.mark.parametrize("op", ["solve(a, b)", "slogdet(a)[1]", "det(a)"])
@pytest.mark.parametrize("shape", [(5, 5), (30, 30), (40, 4, 4)])
def test_a_gradient_factors_what_the_value_has_factored(op: str, shape: tuple[int, ...], seed: int) -> None:
    """To the accuracy of a central difference."""
    program = programs.parse(
        f'def f(a: "float{list(shape)}", b: "float{list(shape)}"):\n    return sum({op})\n'
    )
    function = engine.compile(derivative(program, wrt=("a",), modes=("rev",)))
    assert function.source.count("ns.factored(a)") == 1
    rng = np.random.default_rng(seed)
    a = rng.normal(size=shape) / 4 + np.eye(shape[-1])
    b, along = rng.normal(size=(2, *shape))
    *_, gradient = function(a, b, np.float64(1.0))
    value = engine.compile(programs.lower(program))
    step = 1e-5
    difference = (value(a + step * along, b)[0] - value(a - step * along, b)[0]) / (2 * step)
    assert abs(np.sum(gradient * along) - difference) <= 1e-5 * max(1.0, abs(difference))


def test_large_cofactors_share_the_factors_of_the_determinant() -> None:
    """Up to 3 x 3 they are minors, right at singular matrices and without any factors."""
    for n, shared in ((3, False), (4, True)):
        program = programs.parse(f'def f(a: "float[{n}, {n}]"):\n    return det(a)\n')
        source = engine.compile(derivative(program, wrt=("a",), modes=("rev",))).source
        assert ("ns.cofactor(factors)" in source) is shared
