import pytest
from hypothesis import given, seed, settings
from hypothesis import strategies as st
from trips import OPS

from gradfuzz import check_program
from gradfuzz.strategies import loops, points

PROGRAMS = loops(forms=("for",), ops=tuple(OPS))


@pytest.mark.parametrize("number", range(20))
def test_generated_loops(target, number):
    @seed(number)
    @settings(settings.get_profile("gradfuzz-quick"), max_examples=30, database=None)
    @given(PROGRAMS, st.data())
    def check(program, data):
        check_program(program, target, data.draw(points(program)))

    check()
