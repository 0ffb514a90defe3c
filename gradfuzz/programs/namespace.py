"""The arithmetic a program is evaluated in: one small class per kind of number.

A namespace has one method per op of the table, with the op's name (`pow`, `abs`, `sum`, ... a trailing underscore is never
needed: they are methods), taking the arguments by position and the static parameters by keyword. Float values are
whatever the namespace likes (a NumPy scalar or array, an mpf, a ball, a torch tensor); int scalars are Python ints
and bool scalars that come from ints are Python bools, everywhere, so that loop counters cost nothing.
"""

from __future__ import annotations

import abc
from typing import Any

from gradfuzz.programs.syntax import ArrayConst

__all__ = ["Namespace"]


class Namespace(abc.ABC):
    """The ops of the table on one kind of number. The interpreter calls `getattr(namespace, op)(*args, **params)`.

    The interpreter converts int operands of float ops with `constant` before it calls, and computes ops on int and bool scalars
    itself, in Python.
    """

    @abc.abstractmethod
    def constant(self, value: float | int) -> Any:
        """A float scalar. `value` is rounded to the working precision first, where the namespace has one."""

    @abc.abstractmethod
    def array(self, value: ArrayConst) -> Any:
        """A constant array, its float entries rounded as `constant` does."""

    @abc.abstractmethod
    def decide(self, predicate: Any) -> bool:
        """The truth of a bool scalar. May raise `EvaluationError` where it cannot be known (a ball across zero)."""
