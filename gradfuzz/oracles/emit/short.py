"""Short reproducers: about ten lines of a library's own language that print got and expected.

    ShortInput        what one shows: a question at a point, and one entry of the answer
    names             the names of the inputs in a script
    assembled         the script: a comment, imports, the function, the inputs, the derivative, two lines
    around            the cotangents and directions
    value_line        the value alone
    objective, stages the function that is differentiated, and its derivatives along the direction
    by_jacobians      the same by whole Jacobians

A short reproducer prints the derivative by one entry and exits with 0, wrong or not. The expected number is
written into it; the long script of a finding computes it. `short_forms` has the libraries; a library's module
writes what is its own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from gradfuzz.oracles.base import Array, Question, in_words, output_index
from gradfuzz.oracles.emit.statements import nested_list, number_text

RESERVED = frozenset(
    {
        *("F", "C", "anp", "cotangent", "direction", "dtype", "f", "forward_ad", "g", "got", "jax", "jnp"),
        *("lax", "np", "objective", "pull", "slope", "special", "torch", "autograd", "grad", "y", "jit", "h"),
        *("make_jvp", "unit"),
    }
)
"""Names that a short reproducer uses itself."""

LONGEST = 60
"""A reproducer of more lines is not short, and is not written."""

Measure = Literal["number", "shape", "dtype"]
"""What is compared: one number, the shape of the answer, or its dtype."""


@dataclass(frozen=True, slots=True, eq=False)
class ShortInput:
    """What a short reproducer shows: the answer to `question` at `inputs`, at `entry`.

    `expected` is the right number there; NaN where it is not known. `kink`: it is the nearer of the slopes on
    both sides. `raises`: the library gives no answer. `detached`: what is differentiated last
    may not depend on the inputs, for the library.
    """

    question: Question
    inputs: Mapping[str, Array]
    entry: tuple[str, tuple[int, ...]]
    expected: float
    measure: Measure = "number"
    kink: bool = False
    raises: bool = False
    detached: bool = False
    target: str = ""

    @property
    def place(self) -> int:
        """The number of the input of the entry among those that are differentiated by."""
        name, _ = self.entry
        return self.question.wrt.index(name) if name in self.question.wrt else 0

    @property
    def one(self) -> bool:
        """Whether the only output is differentiated as it is: a scalar with the cotangent 1."""
        weights = self.question.weights
        return len(weights) == 1 and weights[0] is not None and not weights[0].shape and weights[0] == 1

    @property
    def simple(self) -> bool:
        """Whether one output is differentiated by one input."""
        return len(self.question.weights) == len(self.question.wrt) == 1

    @property
    def active(self) -> list[tuple[int, Array]]:
        """The number and the cotangent of each output that counts."""
        return [(k, w) for k, w in enumerate(self.question.weights) if w is not None]

    def names(self) -> dict[str, str]:
        """The name of each input in the script."""
        return {p.name: f"{p.name}_" if p.name in RESERVED else p.name for p in self.question.program.params}

    def wrt(self) -> list[str]:
        """The names of the inputs that are differentiated by."""
        names = self.names()
        return [names[name] for name in self.question.wrt]


def literal(value: Array) -> str:
    """The entries of an array as nested lists of numbers, or a number."""
    value = np.asarray(value)
    if value.dtype.kind not in "biuc":
        value = value.astype(np.float64)
    return nested_list([number_text(entry) for entry in value.ravel().tolist()], value.shape)


def tuple_of(texts: Sequence[str]) -> str:
    """As in "(x,)", "(x, y)"."""
    return f"({', '.join(texts)}{',' if len(texts) == 1 else ''})"


def assembled(
    shown: ShortInput,
    imports: Sequence[str],
    function: str,
    inputs: Sequence[str],
    lines: Sequence[str],
    *,
    scalar: bool = False,
) -> str:
    """The script. The `lines` end with `got`, the whole answer to the entry's input, or with `scalar` that of
    the entry alone. An input that they do not use is left away. Empty if it is too long.
    """
    body = "\n".join(lines)
    inputs = [line for line in inputs if used(body, line.partition(" = ")[0])]
    name, index = shown.entry
    at = f"[{', '.join(map(str, index))}]" if index else ""
    if shown.measure == "number":
        printed = "got" if shown.raises else f"float(got{'' if scalar else at})"
        expected = number_text(float(shown.expected))
    else:
        owner = shown.inputs.get(name)
        shape = () if owner is None else owner.shape
        told = shown.question.precision if shown.measure == "dtype" else str(shape)
        printed, expected = f"got.{shown.measure}", repr(told) if shown.measure == "dtype" else told
    if shown.raises and np.isnan(shown.expected):
        expected = '"an answer"'
    kink = "  # the nearer of the slopes on both sides of a kink" if shown.kink else ""
    two = [f'print("got     ", {printed})', f'print("expected", {expected}){kink}']
    if shown.raises:  # there is no second line after an exception
        two.reverse()
        two, lines = two[1:], [two[0], *lines]
    parts = [f"# {_asked(shown, at)}", *imports, "", function.strip("\n"), "", *inputs, *lines, *two]
    text = re.sub(r"(?<=[^\n])\n(?=def )", "\n\n", "\n".join(parts)) + "\n"
    return text if text.count("\n") <= LONGEST else ""


def _asked(shown: ShortInput, at: str) -> str:
    """The first line: "torch:func 2.13.0, the derivative by A[0, 1], forward over reverse"."""
    modes, (name, _) = shown.question.modes, shown.entry
    by = f" by {name}{at}" if name else ""
    what = "the value" if not modes else f"the derivative{by}, {in_words(modes)} mode"
    return f"{shown.target}: {what}" if shown.target else what


def calling(shown: ShortInput) -> str:
    """The function of the differentiated inputs alone."""
    names, wrt = shown.names(), shown.wrt()
    every = [names[p.name] for p in shown.question.program.params]
    return "f" if every == wrt else f"lambda {', '.join(wrt)}: f({', '.join(every)})"


def objective(shown: ShortInput, total: str) -> tuple[str, list[str]]:
    """The scalar function that is differentiated, and the lines that define it if it has a name.

    `total` is the sum of an array's entries, as in "jnp.sum({})".
    """
    if shown.one:
        return calling(shown), []
    call, given = f"f({', '.join(shown.names().values())})", ", ".join(shown.wrt())
    single = len(shown.question.weights) == 1
    several = len(shown.active) > 1
    terms = []
    for (k, weight), name in zip(shown.active, cotangent_names(shown), strict=True):
        y = f"{'y' if several else call}{'' if single else f'[{k}]'}"
        product = y if np.all(weight == 1) else f"{name} * {y}"
        terms.append(total.format(product) if weight.shape else product)
    if several:
        lines = [f"def objective({given}):", f"    y = {call}", f"    return {' + '.join(terms)}", ""]
        return "objective", lines
    return f"lambda {given}: {terms[0]}", []


def cotangent_names(shown: ShortInput) -> list[str]:
    """The name of the cotangent of each output that counts."""
    active = shown.active
    return ["cotangent"] if len(active) == 1 else [f"cotangent{k}" for k, _ in active]


def direction_names(shown: ShortInput) -> list[str]:
    """The name of the direction of each differentiated input."""
    wrt = shown.question.wrt
    return ["direction"] if len(wrt) == 1 else [f"direction{k}" for k in range(len(wrt))]


def used(text: str, name: str) -> bool:
    """Whether a source uses a name."""
    return re.search(rf"(?<![.\w]){re.escape(name)}\b", text) is not None


def value_line(shown: ShortInput, f: str = "f") -> list[str]:
    """The line that computes the value, by the function `f` of all inputs."""
    place = output_index(shown.entry[0]) or 0
    single = len(shown.question.program.result.values) == 1
    return [f"got = {f}({', '.join(shown.names().values())}){'' if single else f'[{place}]'}"]


def picked(shown: ShortInput) -> tuple[str, str]:
    """What says by which inputs is differentiated, and what picks the entry's: nothing for the only one."""
    count = len(shown.question.wrt)
    return ("", "") if count == 1 else (f", {tuple(range(count))}", f"[{shown.place}]")


def by_jacobians(shown: ShortInput, jacobian: str, product: str) -> tuple[str, list[str]]:
    """The name of the last of whole Jacobians, each multiplied by the cotangent or the direction, and the
    lines that define them.

    `jacobian` is that of `{g}` at `{x}` by `{mode}`; `product` is the library's tensordot.
    """
    (x,) = shown.wrt()
    current, lines = calling(shown), list[str]()
    ((_, weight),) = shown.active
    factor, rank = ("" if shown.one else "cotangent"), weight.ndim
    for k, mode in enumerate(shown.question.modes):
        name = "slope" if not k else f"slope{k + 1}"
        text = jacobian.format(g=current, x=x, mode=mode)
        text = f"{product}({factor}, {text}, {rank})" if factor else text
        lines += [f"def {name}({x}):", f"    return {text}", ""]
        current, factor = name, "direction"
        rank = shown.question.directions[shown.question.wrt[0]].ndim if shown.question.order > 1 else 0
    return current, lines


def around(shown: ShortInput, array: Callable[[Array], str]) -> list[str]:
    """The lines that spell out the cotangent of each output, and the direction of each input."""
    lines = []
    if shown.question.modes and not shown.one:
        pairs = zip(cotangent_names(shown), shown.active, strict=True)
        lines += [f"{name} = {array(weight)}" for name, (_, weight) in pairs]
    if shown.question.order > 1:
        own = zip(direction_names(shown), shown.question.wrt, strict=True)
        lines += [f"{name} = {array(shown.question.directions[of])}" for name, of in own]
    return lines


def stages(shown: ShortInput, first: str, reverse: str, forward: str, total: str) -> tuple[str, list[str]]:
    """The function whose gradient is asked for at last, and the lines that define it if it has a name: all
    modes but the last, along the direction.

    `reverse` is the gradient of `{g}` by all of the inputs, a tuple unless there is one; `forward` its
    derivative along the direction `{v}`, a tuple; `{x}` and `{d}` are the first of each.
    """
    wrt, vs = shown.wrt(), direction_names(shown)
    given, lines, current = ", ".join(wrt), list[str](), first
    for k, mode in enumerate(shown.question.modes[:-1]):
        name = "slope" if not k else f"slope{k + 1}"
        body = []
        if mode == "fwd":
            slope = forward.format(g=current, xs=tuple_of(wrt), v=tuple_of(vs), x=wrt[0], d=vs[0])
        elif len(wrt) == 1:
            direction = shown.question.directions[shown.question.wrt[0]]
            slope = reverse.format(g=current, xs=given)
            slope = slope if np.all(direction == 1) else f"{vs[0]} * {slope}"
            slope = total.format(slope) if direction.shape else slope
        else:
            body = [f"    h = {reverse.format(g=current, xs=given)}"]
            slope = " + ".join(total.format(f"{v} * h[{j}]") for j, v in enumerate(vs))
        if body or "lambda" in slope:
            lines += [f"def {name}({given}):", *body, f"    return {slope}", ""]
            current = name
        else:
            current = f"lambda {given}: {slope}"
    return current, lines
