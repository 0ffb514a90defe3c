"""tinytape's own tests. gradfuzz is asked by its mark: a test for each op and check, and each loop body."""

from __future__ import annotations

import numpy as np
import pytest

from tinytape import Variable, gradient


def test_a_stretched_operand_gets_the_sum_of_its_copies() -> None:
    x, y = Variable([[1.0, 2.0]]), Variable([[3.0], [5.0]])
    dx, dy = gradient([x * y], [np.ones((2, 2))], [x, y])
    np.testing.assert_array_equal(dx, [[8.0, 8.0]])
    np.testing.assert_array_equal(dy, [[3.0], [3.0]])


@pytest.mark.gradfuzz(target="tinytape:tape", suite="loops", checks="vjp")
def test_loops(gradfuzz_check) -> None:
    gradfuzz_check()


@pytest.mark.gradfuzz(
    target="tinytape:tape", suite=["tensor", "linalg"], checks="vjp", ops=["sum", "add", "multiply", "matmul"]
)
def test_ops(gradfuzz_check) -> None:
    gradfuzz_check()


@pytest.mark.xfail(reason="planted: an operand that an operation has twice counts once", strict=True)
@pytest.mark.gradfuzz(target="tinytape:merged", suite="loops", checks="vjp", ops="init=x: acc * acc")
def test_the_planted_bug(gradfuzz_check) -> None:
    gradfuzz_check()
