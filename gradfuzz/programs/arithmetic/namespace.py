"""The arithmetic a program is evaluated in: one small class per kind of number.

A namespace has one method per op of the table, with the op's name (`pow`, `abs`, `sum`, ... a trailing
underscore is never needed: they are methods), taking the arguments by position and the static parameters by
keyword. Float values are whatever the namespace likes (a NumPy scalar or array, an mpf, a ball, a torch
tensor); int scalars are Python ints and bool scalars that come from ints are Python bools, everywhere, so
that loop counters cost nothing.
"""

from __future__ import annotations

import abc
from collections.abc import Callable
from typing import Any

from gradfuzz.programs.arithmetic.elementwise import composed
from gradfuzz.programs.language.functions import FUNCTIONS, Function
from gradfuzz.programs.language.syntax import ArrayConst

_REMEMBERED = 4
"""Decompositions whose results are kept, in case another of them is asked for."""


class Namespace(abc.ABC):
    """The ops of the table on one kind of number. The interpreter calls `getattr(namespace, op)(*args,
    **params)`.

    The method of an op with several results takes no `part` and returns them all, as a tuple; the interpreter
    calls `part`.

    The interpreter converts int operands of float ops with `constant` before it calls, and computes ops on
    int and bool scalars itself, in Python.
    """

    def __getattr__(self, name: str) -> Any:
        row = FUNCTIONS.get(name)
        if row is None:
            raise AttributeError(f"{type(self).__name__} has no op {name!r}")
        return self.elementwise(row)

    def elementwise(self, row: Function) -> Callable[..., Any]:
        """The method of an elementwise function that has none of its own: what it is composed of.

        `AttributeError` where the function is no composition: this arithmetic does not know it.
        """
        if not row.composition:
            raise AttributeError(f"{type(self).__name__} has no function {row.name!r}")
        return composed(self, row)

    @abc.abstractmethod
    def constant(self, value: float | int | complex) -> Any:
        """A float scalar, or a complex one where `value` is complex. `value` is rounded to the working
        precision first, where the namespace has one.
        """

    @abc.abstractmethod
    def array(self, value: ArrayConst) -> Any:
        """A constant array, its float entries rounded as `constant` does."""

    @abc.abstractmethod
    def decide(self, predicate: Any) -> bool:
        """The truth of a bool scalar. May raise `EvaluationError` where it cannot be known (a ball across
        zero).
        """

    def part(self, op: str, *args: Any, part: int, **params: Any) -> Any:
        """One result of an op that has several. They are computed once for the same operands, so a library
        sees them used together.
        """
        latest: list[tuple[str, dict[str, Any], tuple[Any, ...], tuple[Any, ...]]] = self.__dict__.setdefault(
            "_latest", []
        )
        for known, options, operands, results in latest:
            if known == op and options == params and all(a is b for a, b in zip(args, operands, strict=True)):
                return results[part]
        results = getattr(self, op)(*args, **params)
        latest.insert(0, (op, params, args, results))
        del latest[_REMEMBERED:]
        return results[part]
