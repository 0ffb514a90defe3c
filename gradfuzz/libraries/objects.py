"""Objects that are called, such as modules and layers, as pure functions of the numbers that they hold."""

from __future__ import annotations

import functools
import random
import sys
import types
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np


@dataclass(frozen=True, slots=True, eq=False)
class Opened:
    """A function that holds numbers: `made(numbers)` is the function with these, and calling it changes
    nothing.

    `state` are its numbers with their names, `learned` are those of them that it is differentiated by.
    """

    state: Sequence[tuple[str, Any]]
    learned: Sequence[bool]
    made: Callable[[Sequence[Any]], Callable[..., Any]]


Opening = Callable[[Any], "Opened | None"]
"""What opens an object, if it can."""


def opened_by(f: Callable[..., Any], openings: Sequence[Opening]) -> Opened | None:
    """`f`, the object whose method it is, or what `functools.partial` calls, by the first that can."""

    def around(inner: Any, bound: Callable[[Any], Any]) -> Opened | None:
        found = opened_by(inner, openings)
        if found is None:
            return None
        made = found.made
        return replace(found, made=lambda new: bound(made(new)))

    if isinstance(f, functools.partial):
        return around(f.func, lambda inner: functools.partial(inner, *f.args, **f.keywords))
    for opening in openings:
        found = opening(f)
        if found is not None:
            return found
    if isinstance(f, types.MethodType) and not isinstance(f.__self__, type):
        return around(f.__self__, f.__func__.__get__)
    return None


def of_keras(layer: Any) -> Opened | None:
    """A layer of Keras, which is called with its variables."""
    keras = sys.modules.get("keras")
    if keras is None or not isinstance(layer, keras.Layer):
        return None
    learned, rest = layer.trainable_variables, layer.non_trainable_variables

    def made(new: Sequence[Any]) -> Callable[..., Any]:
        split = len(learned)
        return lambda *args, **options: layer.stateless_call(new[:split], new[split:], *args, **options)[0]

    paths = (v.path.removeprefix(f"{layer.name}/") for v in (*learned, *rest))
    state = [(p.replace("/", "."), v.value) for p, v in zip(paths, (*learned, *rest), strict=True)]
    return Opened(state, [k < len(learned) for k in range(len(state))], made)


class OneDraw:
    """A function that draws the same random numbers in each call, whoever draws them: NumPy, Python, or the
    library, whose `generator` gets, sets and seeds its state. What it draws from is seen in its first call.
    The states are as before afterwards.
    """

    def __init__(self, f: Callable[..., Any], generators: Sequence[Generator]) -> None:
        functools.update_wrapper(self, f, updated=())
        self._f, self._generators = f, generators
        self._begun: dict[str, tuple[Generator, Any]] | None = None
        self.draws: bool | None = None
        """Whether it draws random numbers at all, also from keys that it is given; None: not known yet."""

    @property
    def drawn(self) -> tuple[str, ...]:
        """From whom random numbers were drawn."""
        return tuple(self._begun or ())

    def __call__(self, *args: Any, **options: Any) -> Any:
        if self._begun is None:
            return self._first(*args, **options)
        before = [(g, g.get()) for g, _ in self._begun.values()]
        try:
            for g, state in self._begun.values():
                g.set(state)
            return self._f(*args, **options)
        finally:
            for g, state in before:
                g.set(state)

    def _first(self, *args: Any, **options: Any) -> Any:
        """Most functions draw nothing. One that does is called again, from a seed."""
        before, moved = [g.get() for g in self._generators], True
        try:
            result, begun = self._f(*args, **options), self._moved(before)
            moved = bool(begun)
            if moved:
                for g in self._generators:
                    g.seed()
                states = [g.get() for g in self._generators]
                result, begun = self._f(*args, **options), self._moved(states)
            self._begun = begun
            return result
        finally:
            for g, state in zip(self._generators, before, strict=True) if moved else ():
                g.set(state)

    def _moved(self, states: Sequence[Any]) -> dict[str, tuple[Generator, Any]]:
        """The generators that are not in these states, which were theirs."""
        rows = zip(self._generators, states, strict=True)
        return {g.name: (g, state) for g, state in rows if g.key(g.get()) != g.key(state)}


@dataclass(frozen=True, slots=True, eq=False)
class Generator:
    """Random numbers that anybody may draw: how their state is read, set, begun anew, and compared."""

    name: str
    get: Callable[[], Any]
    set: Callable[[Any], None]
    seed: Callable[[], Any]
    key: Callable[[Any], object] = lambda state: state


GENERATORS = (
    Generator(
        *("numpy", np.random.get_state, np.random.set_state),
        lambda: np.random.seed(0),  # noqa: NPY002 - it is what functions draw from
        lambda state: (state[1].tobytes(), *state[2:]),
    ),
    Generator("python", random.getstate, random.setstate, lambda: random.seed(0)),
)
"""Those that every process has."""
