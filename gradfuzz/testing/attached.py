"""Exact references that a function carries with it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from gradfuzz.errors import UsageError

F = TypeVar("F", bound=Callable[..., Any])

_ATTRIBUTE = "__gradfuzz_reference__"


@dataclass(frozen=True, slots=True)
class Exact:
    """What a function computes, or what its gradient is, exactly: one of the two. Called with a function it
    attaches itself.
    """

    function: Callable[..., Any] | None = None
    gradient: Callable[..., Any] | None = None

    def __call__(self, f: F) -> F:
        """Attaches itself to `f`, which is returned."""
        try:
            setattr(f, _ATTRIBUTE, self)
        except AttributeError:
            raise UsageError(
                f"{f!r} takes no attribute; pass the reference to the assertion instead, as reference="
            ) from None
        return f


def reference(
    function: Callable[..., Any] | None = None, *, gradient: Callable[..., Any] | None = None
) -> Exact:
    """Says what a function computes exactly, where nothing can work it out or something else is meant by its
    gradient.

        @reference(exact)                   exact(*args) is the function, written so that it can be traced or
        differenced @reference(gradient=exact_gradient) exact_gradient(*args) is its gradient in closed form

    Both take the arguments of the function that is checked, in float64. A gradient returns one array, or a
    tuple where several arguments are differentiated; where the function returns anything but one scalar it is
    called with the cotangent as one more argument, and returns the vector-Jacobian product. What comes of it
    is both a decorator and what `check_gradient(..., reference=...)` takes.
    """
    if (function is None) == (gradient is None):
        raise UsageError("a reference is one of two: the exact function, or gradient= the exact gradient")
    return Exact(function, gradient)


def reference_of(f: Callable[..., Any]) -> Exact | None:
    """The reference that a function carries; None where it has none."""
    found = getattr(f, _ATTRIBUTE, None)
    return found if isinstance(found, Exact) else None
