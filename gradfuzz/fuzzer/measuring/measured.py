"""The result of measuring a gradient, as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from gradfuzz.fuzzer.results.finding import Class, Verdict
from gradfuzz.oracles.base import Array, Mode

Method = Literal["traced", "complex step", "Richardson", "reference"]
"""The source of the truth: proved on the traced program, measured on the function, or given with it."""

_SOURCES: dict[Method, str] = {
    "traced": "the function, traced as a program",
    "complex step": "complex steps of the function in float64",
    "Richardson": "differences of the function, extrapolated",
    "reference": "the reference that came with the function",
}


class InconclusiveWarning(UserWarning):
    """A gradient, or a part of its entries, could not be judged: neither right nor wrong."""


class InconclusiveError(AssertionError):
    """An inconclusive gradient as an error: by `strict`, or less than half of its entries were judged."""


@dataclass(frozen=True, slots=True, eq=False)
class Nearby:
    """The worst entry at another point: its value, and whether it is wrong. `expected` None: unknown."""

    at: float
    expected: float | None
    got: float | None
    verdict: Verdict


@dataclass(frozen=True, slots=True, eq=False)
class Measured:
    """The verdict on a gradient at one point: of all modes asked, the decisive one.

    `expected` and `got` have one array per differentiated argument, under the argument's name. `bound` is the
    error of `expected`; `allowed` is the rounding error allowed for `got`, bound included. All are empty
    without a truth. For a function that returns one scalar they are its gradient, for any other the gradient
    of a weighted sum of its outputs with fixed random weights. For a derivative of higher order they are the
    last differentiation; every other one is taken along a direction, 1 for a single scalar, else fixed and
    random. `worst` names the decisive entry (argument, index). `worst_expected` and `worst_got` are its
    numbers (at a kink `worst_expected` is the nearest legal one), `ratio` is got / expected there, and
    `error_over_allowed` its error over the allowed one.
    """

    verdict: Verdict
    function: str
    framework: str
    precision: str
    modes: tuple[Mode, ...] = ()
    method: Method | None = None
    kind: Class | None = None
    reason: str = ""
    expected: Mapping[str, Array] = field(default_factory=dict)
    got: Mapping[str, Array] = field(default_factory=dict)
    bound: Mapping[str, Array] = field(default_factory=dict)
    allowed: Mapping[str, Array] = field(default_factory=dict)
    worst: tuple[str, tuple[int, ...]] | None = None
    worst_expected: float | None = None
    worst_got: float | None = None
    ratio: float | None = None
    error_over_allowed: float | None = None
    references: tuple[str, ...] = ()
    conventions: tuple[str, ...] = ()
    """The rows of the conventions table (`gradfuzz targets conventions`) that apply at the point."""
    nearby: tuple[Nearby, ...] = ()
    untraced: str = ""
    """The reason why the function could not be traced, if any."""
    stopped: str = ""
    """The function's own words that hide a value from differentiation, where the gradient differs from the
    derivative.
    """
    held: str = ""
    """The same words, where they are allowed: what they hide is a constant in the truth."""
    accuracy: float = 0.0
    """What an approximation is allowed beside rounding, as a share of the largest entry by the same argument.
    """
    iterates: bool = False
    """Whether the function may be an approximation: a loop stops by a value, or it could not be traced."""
    asked: tuple[tuple[Mode, ...], ...] = ()
    """All combinations of modes that were asked."""
    left_out: Mapping[tuple[Mode, ...], str] = field(default_factory=dict)
    """Combinations of modes that the function lacks, with the reason."""
    way: str = ""
    """How the library was asked, "torch.func.jacrev", where that was said."""
    ways: Mapping[str, str] = field(default_factory=dict)
    """All ways that were asked; with the reason, where the function has no derivative in that way."""
    unjudged: Mapping[str, Array] = field(default_factory=dict)
    """Where a gradient is right but for entries that cannot be judged: True for each of those."""
    drawn: tuple[str, ...] = ()
    """From whom the function draws random numbers ("torch", "numpy", "python"): the same in each call."""
    weighted: bool = False
    """Whether the function returns more than one scalar, so that a random cotangent weights its outputs."""

    @property
    def basis(self) -> str:
        """How sure the verdict is, in a line: where the truth comes from, how well it is known, and why the
        function is not traced where it is not.
        """
        if self.method is None:
            return "none"
        by = f", by {' and '.join(self.references)}" if self.references and self.method == "traced" else ""
        by += "; a value that it stops is a constant" if self.held else ""
        largest, bound = (  # of the entries that are known
            max(
                (float(np.max(np.abs(x), initial=0.0, where=np.isfinite(x))) for x in known.values()),
                default=0.0,
            )
            for known in (self.expected, self.bound)
        )
        if not self.expected:
            text = "not known"
        elif self.method in ("traced", "reference") or not largest:
            text = f"{_SOURCES[self.method]}{by}"
        else:
            text = f"{_SOURCES[self.method]}, known to {bound / largest:.1g} of the largest entry"
        if self.method not in ("complex step", "Richardson"):
            return text
        return f"{text}; not traced: {self.untraced or 'its program cannot be judged at this point'}"

    @property
    def right(self) -> bool:
        """Whether the gradient is right, or one of the legal answers where there is none."""
        return self.verdict in (Verdict.AGREE, Verdict.CONVENTION)

    @property
    def in_part(self) -> bool:
        """Whether some entries are right and others could not be judged."""
        return self.verdict is Verdict.AGREE and bool(self.unjudged)

    @property
    def judged(self) -> tuple[int, int]:
        """How many entries of a right gradient were judged, and how many there are; there is none of them in
        `got` where it was asked along directions.
        """
        size = sum(map(np.size, (self.got or self.unjudged).values()))
        return size - sum(int(np.sum(mask)) for mask in self.unjudged.values()), size

    @property
    def wrong(self) -> bool:
        """Whether the gradient is wrong, or raised."""
        return self.verdict.is_wrong

    @property
    def of_a_scalar(self) -> bool:
        """Whether it is a derivative by a single scalar."""
        return [np.ndim(a) for a in self.got.values()] == [0]

    @property
    def order(self) -> int:
        return len(self.modes)
