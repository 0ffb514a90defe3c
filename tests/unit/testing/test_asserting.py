"""What an assertion keeps out of a test's report: its frames, its time, and what a list was meant to be."""

from __future__ import annotations

import os
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import hypothesis
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis.errors import DeadlineExceeded, FlakyFailure

import gradfuzz
from gradfuzz import check_gradient, check_program, loop_program
from gradfuzz.errors import UsageError
from gradfuzz.strategies import arrays, matrices
from gradfuzz.testing import GradientMismatch, InconclusiveWarning
from gradfuzz.testing.leading import untimed

HOME = Path(gradfuzz.__file__).parent
AT_ONCE = settings(
    deadline=100, max_examples=3, database=None, derandomize=True, phases=[hypothesis.Phase.generate]
)
"""A deadline of a tenth of a second, which `slowly` does not keep."""


# Time -------------------------------------------------------------------------------------------------------


def trace_of_square(A: Any) -> Any:
    return np.sum(A * A.T)


def slowly(A: Any) -> Any:
    time.sleep(0.2)
    return trace_of_square(A)


def test_the_time_of_a_check_does_not_count_towards_the_deadline() -> None:
    @AT_ONCE
    @given(matrices((3, 3), extremes=False))
    def test(A: Any) -> None:
        check_gradient(slowly, A, grad=lambda A: 2 * A.T)

    test()


def test_the_default_deadline_holds_with_set_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """As a library that is imported and compiles: half a second in the first call, past the 200 ms."""
    slow = [0.5]

    def set_up_first(A: Any) -> Any:
        if slow:
            time.sleep(slow.pop())
        return trace_of_square(A)

    @settings(max_examples=3, database=None, derandomize=True)
    @given(matrices((2, 2), extremes=False))
    def test(A: Any) -> None:
        check_gradient(set_up_first, A, grad=lambda A: 2 * A.T)

    test()
    assert not slow


FIRST = """\
import {library}
import {numbers} as np
from hypothesis import given
from gradfuzz import check_gradient
from gradfuzz.strategies import matrices


@given(matrices((3, 3), extremes=False))
def test(A):
    check_gradient(lambda A: np.sum(np.sin(A @ A)), A, framework="{library}")
"""


@pytest.mark.slow  # pytest in a process of its own, in which the library sets itself up
@pytest.mark.parametrize(("library", "numbers"), [("jax", "jax.numpy"), ("torch", "torch")])
def test_the_default_deadline_holds_where_a_library_sets_itself_up(
    library: str, numbers: str, tmp_path: Path
) -> None:
    pytest.importorskip(library)
    (tmp_path / "test_it.py").write_text(FIRST.format(library=library, numbers=numbers))
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_it.py"]
    environment = {name: value for name, value in os.environ.items() if name not in ("CI", "PYTEST_ADDOPTS")}
    environment["PYTHONPATH"] = str(HOME.parent)
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert "1 passed" in done.stdout, done.stdout


def test_the_time_of_the_test_itself_counts() -> None:
    @AT_ONCE
    @given(arrays((2,), extremes=False))
    def test(x: Any) -> None:
        check_gradient(lambda x: np.sum(x * x), x, grad=lambda x: 2 * x)
        time.sleep(0.2)

    with pytest.raises((DeadlineExceeded, FlakyFailure)):
        test()


def test_time_within_time_counts_once() -> None:
    """Outside of an example there is nothing to leave out."""
    with untimed():
        pass

    @AT_ONCE
    @given(arrays((1,)))
    def test(_: Any) -> None:
        start = time.perf_counter()
        with untimed():
            time.sleep(0.01)
            with untimed():
                time.sleep(0.01)
        passed = time.perf_counter() - start
        times = hypothesis.control.current_build_context().data._stateful_run_times
        assert 0.02 <= times["execute:gradfuzz"] <= passed

    test()


# Frames -----------------------------------------------------------------------------------------------------


def frames(error: pytest.ExceptionInfo[BaseException]) -> list[str]:
    """The functions that pytest shows, but for those of this file, which are "here"."""
    shown = [entry for entry in error.traceback if not entry.ishidden(error)]
    return ["here" if Path(entry.path) == Path(__file__) else entry.name for entry in shown]


def fails(_: Any) -> Any:
    raise ValueError("mine")


@pytest.mark.parametrize(
    ("kind", "check"),
    [
        (GradientMismatch, lambda: check_gradient(lambda x: np.sum(x**3), np.ones(2), grad=lambda x: x)),
        (UsageError, lambda: check_gradient(lambda x: x, 1.0, framework="numpy")),
        (UsageError, lambda: check_gradient(lambda x: np.sum(x), np.ones(2), grad=lambda x: (x, x))),
        (UsageError, lambda: check_program("acc*x", "engine", wrt=["y"])),
        (ValueError, lambda: check_gradient(fails, np.ones(2), grad=lambda x: x)),
    ],
)
def test_a_report_has_no_frames_of_ours(kind: type[Exception], check: Callable[[], None]) -> None:
    with pytest.raises(kind) as error:
        check()
    assert set(frames(error)) == {"here"}
    assert error.value.__cause__ is None


def test_a_bug_of_ours_keeps_its_frames(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise KeyError("a bug")

    monkeypatch.setattr("gradfuzz.testing.check.subject_of", broken)
    with pytest.raises(KeyError) as error:
        check_gradient(lambda x: np.sum(x), np.ones(2), grad=lambda x: x)
    assert "_measured" in frames(error)


@pytest.mark.parametrize(
    "check",
    [
        lambda: check_gradient(lambda x: np.sum(np.floor(x)), np.array([1.0]), grad=lambda x: 0.0 * x),
        lambda: check_program("acc*floor(x)", "engine", {"x": 1.0}),
        lambda: check_gradient(loop_program("acc*floor(x)", trips=1), 1.0, target="engine"),
    ],
)
def test_a_warning_is_about_the_line_of_the_test(check: Callable[[], None]) -> None:
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        check()
    warning, *_ = [one for one in told if issubclass(one.category, InconclusiveWarning)]
    assert Path(warning.filename) == Path(__file__)


# Lists ------------------------------------------------------------------------------------------------------

WORDS = "argument 1 is a list of numbers and no array: each number is an argument of its own; pass np.array("


def test_a_list_where_an_array_is_meant() -> None:
    with pytest.raises(UsageError) as error:
        check_gradient(lambda x: np.sum(np.sin(x)), [1.0, 2.0], grad=np.cos)
    assert f"{WORDS}[1.0, 2.0]) for an array" in str(error.value)
    with pytest.raises(UsageError) as error:
        check_gradient(lambda x: np.sum(np.sin(x)), [1, 2], grad=np.cos)
    assert f"{WORDS}[1, 2]) for an array" in str(error.value)


def test_what_the_function_says_of_a_list_has_a_note() -> None:
    with pytest.raises(AttributeError) as error:
        check_gradient(lambda m: m.sum(), [[1.0, 2.0], [3.0, 4.0]], grad=lambda m: m)
    (note,) = error.value.__notes__
    assert note.startswith("argument 1 is a list of lists of numbers and no array")


def test_a_list_of_arrays_is_as_it_was_meant() -> None:
    check_gradient(lambda xs: np.sum(xs[0] * xs[1]), [np.ones(2), np.ones(2)], grad=lambda xs: [xs[1], xs[0]])
    with pytest.raises(UsageError) as error:
        check_gradient(lambda xs: np.sum(xs[0]), [np.ones(2)], grad=lambda xs: (xs[0], xs[0]))
    assert "and no array" not in str(error.value)
    with pytest.raises(UsageError) as error:
        check_gradient(lambda x, shape: np.reshape(x, shape), np.ones(2), (2, 1), grad=lambda x, *_: (x, x))
    assert "and no array" not in str(error.value), "a shape"
