"""The keys of outputs among gradients, and the traits of oracles."""

import pytest

from gradfuzz.oracles.base import Answer, Oracle, Question, Traits, by_output, output_index, output_key


def test_an_output_has_a_key_that_no_input_has() -> None:
    assert by_output("ab") == {"output 0": "a", "output 1": "b"}
    assert [output_index(key) for key in ("output 0", "output 12", "output", "output_0", "x")] == [0, 12] + [
        None
    ] * 3


@pytest.mark.parametrize("k", [0, 1, 10])
def test_the_key_says_which_output_it_is(k: int) -> None:
    assert output_index(output_key(k)) == k


class Plain(Oracle):
    name, version = "plain", "1"

    def supports(self, question: Question) -> str | None:
        return None

    def answer(self, question: Question) -> list[Answer]:
        return []


class Former(Plain):
    """As a plug-in of gradfuzz 0.1 is written."""

    together = True
    bulk = True

    def __init__(self) -> None:
        self.stride = 8
        self.variant = True


class Own(Plain):
    traits = Traits(batched=True)

    def __init__(self, stride: int = 1) -> None:
        self.traits = Traits(sampling_stride=stride)


class Methods(Plain):
    def variant(self) -> str:
        return "a method is no flag"


def test_traits_are_those_of_an_ordinary_oracle_where_nothing_is_said() -> None:
    assert Plain().traits == Methods().traits == Traits()


def test_an_oracle_says_its_traits() -> None:
    assert Own.traits == Traits(batched=True)
    assert Own(4).traits == Traits(sampling_stride=4)


def test_the_former_attributes_of_a_plug_in_are_read() -> None:
    assert Former().traits == Traits(batched=True, supports_many=True, secondary=True, sampling_stride=8)
