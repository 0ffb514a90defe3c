"""The ways to ask a library for a derivative, as people call them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gradfuzz.oracles.base import Mode


@dataclass(frozen=True, slots=True)
class AskedWay:
    """One way: an expression of the library's own language, which scripts have, too.

    In it `f` is a function of the arrays `xs` that returns a tuple of arrays with the weights `ws`, `g` is
    the sum of weight * output, `argnums` are the numbers of `xs`, and `vs` is the direction of the derivative
    before the last.
    """

    name: str
    """As people call it: "torch.func.jacrev"."""
    form: str
    modes: tuple[Mode, ...] = ("rev",)
    """The last differentiations, which it asks for."""
    inner: str = "gradient"
    """The function of the library's module that is the gradient inside of it, in higher order."""
    slow: bool = False
    """Whether it takes seconds and a C++ compiler: it is asked by its name alone, and in no sweep."""
    refusals: tuple[str, ...] = ()
    """What a message contains by which the library says that it does not do this in this way."""

    def takes(self, modes: Sequence[Mode]) -> bool:
        """Whether it asks for a derivative of these modes: it is asked for the last of them. Inductor, which
        is slow, ends the process in the gradient of a slope.
        """
        return tuple(modes[-len(self.modes) :]) == self.modes and not (self.slow and len(modes) > 1)

    @property
    def source(self) -> str:
        """Lines of a script that define the gradient in this way."""
        return (
            "def by_way(f, xs, ws, vs=()):\n"
            "    argnums, g = tuple(range(len(xs))), weighted(f, ws)\n"
            f"    return {self.form}"
        )
