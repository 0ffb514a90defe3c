"""What came of measuring a gradient, as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from gradfuzz.fuzzer.results.finding import Class, Verdict
from gradfuzz.oracles.base import Array, Mode

Method = Literal["traced", "complex step", "Richardson", "reference"]
"""Where the truth comes from: proved on the program that was traced, or worked out from the function itself,
or given with it.
"""


class InconclusiveWarning(UserWarning):
    """A gradient could not be judged: it was found neither right nor wrong."""


class InconclusiveError(AssertionError):
    """The same as an error, for who asked `strict` to be so."""


@dataclass(frozen=True, slots=True, eq=False)
class Nearby:
    """The worst entry at another point: its value there, and whether it is wrong there, too. `expected` None
    says that nobody knows.
    """

    at: float
    expected: float | None
    got: float | None
    verdict: Verdict


@dataclass(frozen=True, slots=True, eq=False)
class Measured:
    """The verdict on a gradient at one point, in the modes asked: of several the one that decides.

    `expected` and `got` have one array per differentiated argument, under the argument's name; `bound` the
    error of `expected`, `allowed` what rounding may do to `got`, bound included; all are empty where there is
    no truth. Of a function that returns one scalar they are its gradient; of any other the gradient of the
    sum of its outputs, each entry times a weight that is drawn once and for all. Of a derivative of higher
    order they are its last step: every other one is taken along a direction, 1 for a single scalar, drawn
    once and for all otherwise. `worst` names the entry that decides (argument, index); `worst_expected` and
    `worst_got` are its numbers (at a kink the nearest legal one), `ratio` is got / expected there and
    `error_over_allowed` its error in units of what is allowed.
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
    """The rows of the ledger of conventions (`gradfuzz targets conventions`) that the function meets at the
    point.
    """
    nearby: tuple[Nearby, ...] = ()
    untraced: str = ""
    """Why the function could not be traced, where it could not."""
    asked: tuple[tuple[Mode, ...], ...] = ()
    """All combinations of modes that were asked ..."""
    left_out: Mapping[tuple[Mode, ...], str] = field(default_factory=dict)
    """... and those that the function has not, with the reason."""
    weighted: bool = False
    """Whether the function returns more than one scalar, so that its outputs were weighted (as by a random
    cotangent).
    """
    along: int = 0
    """How many entries there are, where they are too many and random directions stand for them; else 0."""

    @property
    def right(self) -> bool:
        """Whether the gradient was found right, or one of the legal answers where there is none."""
        return self.verdict in (Verdict.AGREE, Verdict.CONVENTION)

    @property
    def wrong(self) -> bool:
        """Whether the gradient was found wrong, or raised."""
        return self.verdict.is_wrong

    @property
    def of_a_scalar(self) -> bool:
        """Whether it is a derivative by a single scalar."""
        return [np.ndim(a) for a in self.got.values()] == [0]

    @property
    def order(self) -> int:
        return len(self.modes)
