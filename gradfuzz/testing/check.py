"""Is this gradient right? The assertions, and the measurement behind them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from gradfuzz.oracles.base import Mode
from gradfuzz.programs.syntax import Program
from gradfuzz.testing.measured import Measured

__all__ = ["check_gradient", "check_program", "measure_gradient"]


def check_gradient(
    f: Callable[..., Any] | Program,
    /,
    *args: Any,
    wrt: Sequence[str | int] | str | int | None = None,
    order: int = 1,
    modes: Sequence[Mode] | Mode | None = None,
    grad: Callable[..., Any] | None = None,
    reference: Callable[..., Any] | None = None,
    framework: str | None = None,
    target: str | None = None,
    strict: bool = False,
    seed: int = 0,
) -> None:
    """Raises `GradientMismatch` where a derivative of `f` is wrong at `args`; warns with `InconclusiveWarning` where nobody can tell."""
    raise NotImplementedError


def measure_gradient(
    f: Callable[..., Any] | Program,
    /,
    *args: Any,
    wrt: Sequence[str | int] | str | int | None = None,
    order: int = 1,
    modes: Sequence[Mode] | Mode | None = None,
    grad: Callable[..., Any] | None = None,
    reference: Callable[..., Any] | None = None,
    framework: str | None = None,
    target: str | None = None,
    seed: int = 0,
) -> Measured:
    """The same as a result, never raising for what `f` does."""
    raise NotImplementedError


def check_program(
    program: Program | str,
    target: str,
    /,
    *points: Mapping[str, Any],
    precision: str = "float64",
    wrt: Sequence[str] | None = None,
    order: int = 1,
    modes: Sequence[Mode] | Mode | None = None,
    strict: bool = False,
) -> None:
    """Raises `GradientMismatch` where `target` is wrong about `program` at one of `points`."""
    raise NotImplementedError
