"""Functions of a library that tell of their calls."""

from __future__ import annotations

import contextlib
import functools
import importlib
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

Note = Callable[[str, Any, Mapping[str, Any]], object]
"""What is told of a call: the public name of the function, and its arguments."""


def found_at(name: str) -> Any:
    """The object of a dotted public name; AttributeError or ImportError where there is none."""
    module, *rest = name.split(".")
    found: Any = importlib.import_module(module)
    path = module
    for part in rest:
        path = f"{path}.{part}"
        if not hasattr(found, part):
            importlib.import_module(path)
        found = getattr(found, part)
    return found


def function_of(name: str) -> Callable[..., Any]:
    """The function of a dotted public name, or the property as a function.

    AttributeError or ImportError where there is none.
    """
    found = found_at(name)
    return found if callable(found) else operator.attrgetter(name.rpartition(".")[2])


@contextlib.contextmanager
def patched(note: Note, names: Iterable[str]) -> Iterator[None]:
    """Every function of these public names tells `note` of its calls. One that is an object of a class of its
    own, with methods, stays as it is.
    """
    before: list[tuple[Any, str, Any]] = []
    try:
        for name in names:
            place, _, last = name.rpartition(".")
            try:
                owner, function = found_at(place), found_at(name)
            except (ImportError, AttributeError):
                continue
            if isinstance(owner, type) or not hasattr(function, "__name__"):
                continue
            before.append((owner, last, getattr(owner, last)))
            setattr(owner, last, _telling(function, name, note))
        yield
    finally:
        for owner, last, value in reversed(before):
            setattr(owner, last, value)


def _telling(function: Any, name: str, note: Note) -> Any:
    @functools.wraps(function)
    def telling(*args: Any, **kwargs: Any) -> Any:
        note(name, args, kwargs)
        return function(*args, **kwargs)

    return telling
