"""What Hypothesis knows of gradfuzz: settings profiles, and strategies for its types.

Hypothesis runs `register` when it is imported, by an entry point, so this module imports next to nothing: the
types are registered when both Hypothesis and `gradfuzz.programs` are there, whichever comes first.

    pytest --hypothesis-profile=PROFILE

    gradfuzz-quick      25 examples for a test, while one works; what failed before comes first
    gradfuzz-ci         200, the same in every run, so that a change fails by what it changes
    gradfuzz-nightly    2,000, others every night; what failed before comes first

In a test or a conftest.py: `hypothesis.settings.load_profile("gradfuzz-quick")`. What failed is kept in
Hypothesis's example database, in .hypothesis/examples unless it is told otherwise; "gradfuzz-ci" has none, as
nothing there depends on earlier runs.
"""

from __future__ import annotations

import functools
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hypothesis import strategies as st

    from gradfuzz.programs import Program


QUICK, CI, NIGHTLY = "gradfuzz-quick", "gradfuzz-ci", "gradfuzz-nightly"
"""The names of the settings profiles."""


def register() -> None:
    """Registers the profiles, and the types if they are loaded. What somebody makes of a profile afterwards
    stays.
    """
    _register_profiles()
    if "gradfuzz.programs" in sys.modules:
        register_types()


@functools.cache
def _register_profiles() -> None:
    from hypothesis import HealthCheck, Phase, settings

    # The phase "explain" names lines that only failing examples run. With programs as data these are lines of
    # the interpreter, of the library on trial or of gradfuzz, never of the program; and it traces every line
    # for it. The first draw imports and compiles, so no example has a deadline. The parent is Hypothesis's
    # "default", also on CI: its "ci" has no example database.
    common = settings(
        settings.get_profile("default"),
        deadline=None,
        phases=[phase for phase in Phase if phase is not Phase.explain],
    )
    slow = [HealthCheck.too_slow]  # says something about a shared machine, not about the strategies
    settings.register_profile(QUICK, common, max_examples=25)
    settings.register_profile(
        CI, common, max_examples=200, derandomize=True, print_blob=True, suppress_health_check=slow
    )
    settings.register_profile(NIGHTLY, common, max_examples=2000, print_blob=True, suppress_health_check=slow)


@functools.cache
def register_types() -> None:
    """Registers a strategy for `Program`, which is not made before it is drawn from."""
    from hypothesis import strategies as st

    from gradfuzz.programs.language.syntax import Program

    st.register_type_strategy(Program, _programs)


def _programs(_: type[Program]) -> st.SearchStrategy[Program]:
    from gradfuzz.strategies.program import programs

    return programs()
