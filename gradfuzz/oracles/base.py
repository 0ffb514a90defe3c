"""The contract of every oracle: a question about a program goes in, one answer per point comes out.

A question fixes a scalar function F(x) = sum over outputs of <weights, output>, and asks for its value and,
through `modes`, for a derivative. `modes` lists the differentiations from the innermost to the outermost,
"rev" or "fwd":

    ()             the value only
    ("rev",)       the gradient of F, by reverse mode
    ("fwd",)       the same gradient, by forward mode along every unit direction
    ("rev", "fwd") forward over reverse, and so on: every step but the last contracts with `directions`,
                   so order k means the gradient of D^{k-1} F [v, ..., v] with respect to the inputs in `wrt`.

Whatever the modes, the answer is one array per differentiated input, of the input's shape. Everything here
can be written to JSON, so that an oracle can live in another process.
"""

from __future__ import annotations

import abc
import enum
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar

import numpy as np
import numpy.typing as npt

from gradfuzz.errors import UsageError
from gradfuzz.programs.language.precision import Precision
from gradfuzz.programs.language.program import Program

T = TypeVar("T")

UNTRACED = "no trace: "
"""How the message begins of an answer that is unsupported because a derivative cannot be had as a graph."""

_MOST_NESTED = 10_000
"""Ways that compute whole Jacobians are not asked for more numbers: a third order over 50 entries takes
minutes.
"""

Array = npt.NDArray[Any]
Mode = Literal["fwd", "rev"]
Status = Literal["ok", "unsupported", "error", "inconclusive"]

_IN_WORDS: Mapping[str, str] = {"rev": "reverse", "fwd": "forward"}


def in_words(modes: Sequence[str]) -> str:
    """Modes, the innermost first, as people say them: "forward over reverse" of ("rev", "fwd")."""
    return " over ".join(_IN_WORDS[mode] for mode in reversed(modes))


def check_name(modes: Sequence[str]) -> str:
    """What a check is called: "value", "vjp", "jvp", "forward over reverse"."""
    if not modes:
        return "value"
    if len(modes) == 1:
        return "vjp" if modes[0] == "rev" else "jvp"
    return in_words(modes)


@dataclass(frozen=True, slots=True, eq=False)
class Point:
    """Inputs of a program: one array per parameter (0-d for scalars). Float inputs are in the working
    precision, int ones int64, bools bool.
    """

    inputs: Mapping[str, Array]


@dataclass(frozen=True, slots=True, eq=False)
class Question:
    """What is asked of an oracle. Weights and directions are the same at every point.

    `weights` holds one float64 array per output (of its shape; an output that is not float has none: None),
    exactly representable in `precision`; `directions` one array per name in `wrt`, likewise. Constants of the
    program are rounded to `precision` by everybody, references included.
    """

    program: Program
    points: tuple[Point, ...]
    precision: Precision
    wrt: tuple[str, ...]
    modes: tuple[Mode, ...]
    weights: tuple[Array | None, ...]
    directions: Mapping[str, Array]

    def __post_init__(self) -> None:
        for param in self.program.params:
            if param.type.is_complex:
                raise UsageError(
                    f"the input {param.name} is complex, and what is asked about is real; ask about"
                    " programs.in_pairs(program)"
                )

    @property
    def order(self) -> int:
        return len(self.modes)

    @property
    def plain(self) -> Question:
        """The question without probes (see `ProbedQuestion`)."""
        return self

    @property
    def too_many_slopes(self) -> str | None:
        """Why ways that compute whole Jacobians, nested to the question's order, are not asked; None where
        they are.
        """
        entries = sum(self.points[0].inputs[name].size for name in self.wrt) if self.points else 0
        if entries**self.order <= _MOST_NESTED:
            return None
        return f"whole Jacobians of order {self.order} have more than {_MOST_NESTED:,} entries here"


@dataclass(frozen=True, slots=True, eq=False)
class ProbedQuestion(Question):
    """What a reference is asked where the gradient g has too many entries: only the products <g, probe>.

    A probe has one float64 array per name in `wrt`, of its shape. The truth's `gradient`, `bounds` and slopes
    have one array, under `ALONG`, with a number for each probe.
    """

    probes: tuple[Mapping[str, Array], ...] = ()

    @classmethod
    def of(cls, question: Question, probes: Iterable[Mapping[str, Array]]) -> ProbedQuestion:
        """The question along these probes."""
        return cls(**_fields(question), probes=tuple(probes))

    @property
    def plain(self) -> Question:
        """The question itself."""
        return Question(**_fields(self))


def _fields(question: Question) -> dict[str, Any]:
    return {name: getattr(question, name) for name in Question.__dataclass_fields__}


ALONG = "along"
"""The name of the products in the truth of a `ProbedQuestion`."""


@dataclass(frozen=True, slots=True)
class LibraryLimit:
    """A limit of a library that its documentation states: a wrong derivative there is no bug."""

    name: str
    """The row of the conventions table, for a library that gradfuzz has an adapter for."""
    what: str
    """The limit in a sentence without a full stop."""
    link: str
    """The address of the documentation."""


@dataclass(frozen=True, slots=True, eq=False)
class Answer:
    """What an oracle says at one point.

    status "ok": `values` are the outputs and `gradient` the derivative, as the library returned them (dtype,
    shape and non-finite entries unaltered). "unsupported": the oracle has no way to ask this; `message` says
    why. "error": the library raised; `message` has the exception's type and first line. `limit` is the
    documented limit that the question meets, if the oracle knows one.

    An oracle that does not round says with `bounds`, by input and by output ("output 0"), how far each of its
    numbers may be from the exact one. They are float64 then, whatever the precision of the question. `rules`
    are the steps of the program that have a derivative rule, and where each is written.
    """

    status: Status
    values: tuple[Array, ...] = ()
    gradient: Mapping[str, Array] = field(default_factory=dict)
    message: str = ""
    limit: LibraryLimit | None = field(default=None, metadata={"gradfuzz optional": True})
    bounds: Mapping[str, Array] | None = field(default=None, metadata={"gradfuzz optional": True})
    rules: tuple[str, ...] = field(default=(), metadata={"gradfuzz optional": True})


@dataclass(frozen=True, slots=True, eq=False)
class Slopes:
    """The slopes of F to the left and to the right of a point along one direction, and a bound for the error
    of both.
    """

    direction: Mapping[str, Array]
    left: float
    right: float
    bound: float


class Doubt(enum.Enum):
    """Why the truth cannot be told."""

    KINK = "kink"
    DOMAIN = "domain"
    RANGE = "range"
    WIDE = "wide"
    """The bound is too large to tell anything."""
    TRIP_LIMIT = "trip limit"
    REFERENCES = "references"
    """They contradict each other, or none knows."""


@dataclass(frozen=True, slots=True, eq=False)
class Truth:
    """A derivative with an error bound, at one point, as float64 arrays (rounded to nearest from many
    digits).

    status "ok": |true - value| <= value_bounds and |true - gradient| <= bounds, entry by entry (bounds
    include the rounding to float64). An entry beyond float64 is the largest number, with an infinite bound.
    "inconclusive": `doubt` and `message` say why (`unknown` makes such a one). `left` and `right` are the
    one-sided slopes where the reference measures them, `side_bounds` their error; `trace` is the branch
    trace: every decision taken and every trip count, in order. `kink` says that the slopes differ or the
    trace changes around the point; `across` has the slopes along other directions than the coordinates' own,
    where somebody measured them.
    """

    status: Status
    values: tuple[Array, ...] = ()
    value_bounds: tuple[Array, ...] = ()
    gradient: Mapping[str, Array] = field(default_factory=dict)
    bounds: Mapping[str, Array] = field(default_factory=dict)
    left: Mapping[str, Array] | None = None
    right: Mapping[str, Array] | None = None
    side_bounds: Mapping[str, Array] | None = None
    across: tuple[Slopes, ...] = ()
    kink: bool = False
    trace: tuple[int, ...] = ()
    message: str = ""
    doubt: Doubt | None = field(default=None, metadata={"gradfuzz optional": True})

    @classmethod
    def unknown(cls, doubt: Doubt, words: str, **more: Any) -> Truth:
        """The truth that cannot be told. Its message is "domain: log of -1", for the words "log of -1"."""
        return cls("inconclusive", message=f"{doubt.value}: {words}", doubt=doubt, **more)

    @property
    def words(self) -> str:
        """The message without the doubt that it begins with."""
        return self.message if self.doubt is None else self.message.removeprefix(f"{self.doubt.value}: ")


_OUTPUT = "output "
"""No input has a blank in its name, so this tells an output from the gradient by an input."""


def output_key(k: int) -> str:
    """The key of output `k` where arrays are named: "output 0"."""
    return f"{_OUTPUT}{k}"


def output_index(key: str) -> int | None:
    """Which output the key names; None where it names an input."""
    return int(key.removeprefix(_OUTPUT)) if key.startswith(_OUTPUT) else None


def known(entries: Array, bounds: Array) -> Array:
    """Entries of a truth; 0 where their bounds are infinite."""
    return np.where(np.isinf(bounds), 0.0, entries)


def by_output(outputs: Iterable[T]) -> dict[str, T]:
    """The outputs by their keys."""
    return {output_key(k): output for k, output in enumerate(outputs)}


Sides = tuple[Mapping[str, Array], Mapping[str, Array]]
"""The gradients to the left and to the right of a point: each coordinate on the line that moves it alone, or
along the direction too.
"""


@dataclass(frozen=True, slots=True)
class Traits:
    """What decides how an oracle is asked."""

    batched: bool = False
    """Whether the points of a question are the instances of one vectorized call: then what is said at one
    depends on the others.
    """
    supports_many: bool = False
    """Whether `answer_all` of many questions is cheaper than asking them one by one."""
    at_once: int = 1
    """So many questions at once take about the time of one: their programs are compiled together."""
    recompiles_per_shape: bool = False
    """Whether every new shape of an array costs it a compilation: then it is asked about fewer programs of
    matrices and arrays.
    """
    secondary: bool = False
    """Whether it is another one of the library's ways run otherwise (without jit, with its loops unrolled)
    and compiles op by op: a sweep asks it in turn, a status table of ops leaves it out.
    """
    sampling_stride: int = 1
    """A sweep asks about every so many-th program: 1 for fast ways, more for those that take seconds to
    compile.
    """

    @property
    def slow(self) -> bool:
        """Whether answers are so slow that each one counts."""
        return self.sampling_stride >= _SLOW_STRIDE


_SLOW_STRIDE = 8
"""An oracle is slow if a sweep asks it about only one program in this many, or fewer."""


_FORMER = {
    "together": "batched",
    "bulk": "supports_many",
    "by_shape": "recompiles_per_shape",
    "variant": "secondary",
    "stride": "sampling_stride",
}
"""What the traits were called as attributes of an oracle."""


def _former_traits(oracle: Oracle) -> Traits:
    given: dict[str, Any] = {}
    for old, new in _FORMER.items():
        value = getattr(oracle, old, None)
        if isinstance(value, int):
            given[new] = value
    return Traits(**given)


class Oracle(abc.ABC):
    """One way of answering questions. An oracle is cheap to make; its library is imported when it is made."""

    name: str
    """"jax:scan", "torch:eager", "engine", "mutant:nx-1747"; unique."""
    version: str
    """The version of the library behind it."""

    @property
    def traits(self) -> Traits:
        """How it is asked; a class sets `traits = Traits(...)`, or an instance of one that does sets its own.

        Oracles that were written for gradfuzz 0.1 set attributes instead, which are read here: `together`,
        `bulk`, `by_shape`, `variant` and `stride`.
        """
        return _former_traits(self)

    @abc.abstractmethod
    def supports(self, question: Question) -> str | None:
        """None where the oracle can answer, otherwise the reason in words. Cheap: runs nothing."""

    @abc.abstractmethod
    def answer(self, question: Question) -> list[Answer]:
        """One answer per point, in order. Never raises for what the library does: that is an answer, too."""

    def answer_all(self, questions: Sequence[Question]) -> list[list[Answer]]:
        """The answers to many questions; overridden by those whose traits say `supports_many`."""
        return [self.answer(q) for q in questions]

    def close(self) -> None:  # noqa: B027 - most hold nothing
        """Lets go of what it holds, such as a process; it may be asked again."""


class Reference(abc.ABC):
    """A source of truth."""

    name: str
    version: str

    @abc.abstractmethod
    def truth(self, question: Question) -> list[Truth]:
        """One truth per point, in order. `question.modes` matters by its order only."""

    def sides(self, question: Question) -> list[Sides | None]:
        """One pair of gradients per point, just to the left and to the right of it; None where the reference
        cannot tell.
        """
        return [None] * len(question.points)
