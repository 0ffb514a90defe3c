import pytest
from hypothesis import given, reject, seed, settings
from hypothesis import strategies as st

from gradfuzz import check_program
from gradfuzz.errors import UnsupportedError
from gradfuzz.strategies import loops, points

PROGRAMS = loops(forms=("for",), arrays=False, branches=False, exits=False, run_time=False, by_value=False)


@pytest.mark.parametrize("number", range(20))
def test_generated_loops(target, number):
    @seed(number)
    @settings(settings.get_profile("gradfuzz-quick"), max_examples=30, database=None)
    @given(PROGRAMS, st.data())
    def check(program, data):
        try:
            check_program(program, target, data.draw(points(program)))
        except UnsupportedError:  # an op that the library has not
            reject()

    check()
