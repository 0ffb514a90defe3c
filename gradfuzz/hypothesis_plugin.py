"""What Hypothesis loads from gradfuzz: settings profiles, and strategies for its types.

Hypothesis runs `register` on import, by an entry point, so this module imports next to nothing. The types
are registered when both Hypothesis and `gradfuzz.programs` are loaded, in either order. Where Hypothesis
loads no plug-ins, `gradfuzz.strategies` registers them.

    pytest --hypothesis-profile=gradfuzz-quick
                      25 examples for a test, for interactive work; earlier failures come first
    gradfuzz-ci       200, the same in every run, so that a failure is caused by a change of the code
    gradfuzz-nightly  2,000, different ones every night; earlier failures come first

In a test or a conftest.py: `hypothesis.settings.load_profile("gradfuzz-quick")`. Hypothesis keeps failures
in its example database, by default in .hypothesis/examples. "gradfuzz-ci" has none, as nothing there depends
on earlier runs.
"""

from __future__ import annotations

import functools
import importlib.abc
import importlib.util
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hypothesis import strategies as st

    from gradfuzz.programs import Program


QUICK, CI, NIGHTLY = "gradfuzz-quick", "gradfuzz-ci", "gradfuzz-nightly"
"""The names of the settings profiles."""


_HOME = "gradfuzz.programs.language.program"
"""The module of the types."""


@functools.cache
def register() -> None:
    """Registers the profiles, and the types once they are loaded. Later changes to a profile are kept."""
    _register_profiles()
    if _HOME in sys.modules:
        _register_types()
    else:
        sys.meta_path.insert(0, _Registration())


class _Registration(importlib.abc.MetaPathFinder):
    """Registers the types when their module is imported. What imports it are the other finders."""

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name != _HOME:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        if spec is not None and (loader := spec.loader) is not None:

            def exec_module(module: ModuleType) -> None:
                del loader.exec_module  # the loader, which may load others, too, is as it was
                loader.exec_module(module)
                _register_types()

            loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec


def _register_profiles() -> None:
    from hypothesis import HealthCheck, Phase, settings

    # The phase "explain" traces every line to name those that only failing examples run. Programs are data,
    # so it would name lines of the interpreter, of the library on trial or of gradfuzz, never of the program.
    # The first draw imports and compiles, so no example has a deadline. The parent is Hypothesis's "default",
    # also on CI: its "ci" has no example database.
    common = settings(
        settings.get_profile("default"),
        deadline=None,
        phases=[phase for phase in Phase if phase is not Phase.explain],
    )
    slow = [HealthCheck.too_slow]  # it depends on a shared machine, not on the strategies
    settings.register_profile(QUICK, common, max_examples=25)
    settings.register_profile(
        CI, common, max_examples=200, derandomize=True, print_blob=True, suppress_health_check=slow
    )
    settings.register_profile(NIGHTLY, common, max_examples=2000, print_blob=True, suppress_health_check=slow)


def _register_types() -> None:
    """Registers a strategy for `Program` that is built at the first draw."""
    from hypothesis import strategies as st

    from gradfuzz.programs.language.program import Program

    st.register_type_strategy(Program, _programs)


def _programs(_: type[Program]) -> st.SearchStrategy[Program]:
    from gradfuzz.strategies.program import programs

    return programs()
