"""Exact references that a function carries with it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

__all__ = ["reference", "reference_of"]

F = TypeVar("F", bound=Callable[..., Any])

_ATTRIBUTE = "__gradfuzz_reference__"


def reference(truth: Callable[..., Any]) -> Callable[[F], F]:
    """Says what a function computes exactly: `check_gradient` then asks `truth` for the derivative instead of working it out.

        @reference(exact)
        def f(x): ...

    `truth` takes the same arguments.
    """

    def attach(f: F) -> F:
        setattr(f, _ATTRIBUTE, truth)
        return f

    return attach


def reference_of(f: Callable[..., Any]) -> Callable[..., Any] | None:
    """The reference that a function carries; None where it has none."""
    found: Callable[..., Any] | None = getattr(f, _ATTRIBUTE, None)
    return found
