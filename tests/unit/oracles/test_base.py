"""The keys of outputs among gradients."""

import pytest

from gradfuzz.oracles.base import by_output, output_index, output_key


def test_an_output_has_a_key_that_no_input_has() -> None:
    assert by_output("ab") == {"output 0": "a", "output 1": "b"}
    assert [output_index(key) for key in ("output 0", "output 12", "output", "output_0", "x")] == [0, 12] + [
        None
    ] * 3


@pytest.mark.parametrize("k", [0, 1, 10])
def test_the_key_says_which_output_it_is(k: int) -> None:
    assert output_index(output_key(k)) == k
