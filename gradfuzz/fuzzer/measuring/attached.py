"""Exact references that are attached to a function."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from gradfuzz.errors import UsageError

F = TypeVar("F", bound=Callable[..., Any])

_ATTRIBUTE = "__gradfuzz_reference__"


@dataclass(frozen=True, slots=True)
class Exact:
    """The exact function or its exact gradient. Called with a function, it attaches itself."""

    function: Callable[..., Any] | None = None
    gradient: Callable[..., Any] | None = None

    def __call__(self, f: F) -> F:
        """Attaches itself to `f`, and returns `f`."""
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
    """An exact reference for a function that cannot be measured, or whose gradient is meant to differ.

        @reference(exact)                    exact(*args) is the function in a form to trace or difference
        @reference(gradient=exact_gradient)  exact_gradient(*args) is its gradient in closed form

    Both take the arguments of the checked function, in float64. A gradient returns one array, or a tuple
    where several arguments are differentiated. Where the function returns anything but one scalar, the
    gradient takes the cotangent as one more argument and returns the vector-Jacobian product. The result is
    both a decorator and a value for `check_gradient(..., reference=...)`.
    """
    if (function is None) == (gradient is None):
        raise UsageError(
            "reference() takes the exact function, or the exact gradient as gradient=; give one of them"
        )
    return Exact(function, gradient)


def reference_of(f: Callable[..., Any]) -> Exact | None:
    """The reference attached to a function, or None."""
    found = getattr(f, _ATTRIBUTE, None)
    return found if isinstance(found, Exact) else None
