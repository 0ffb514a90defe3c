"""From a drawn case to the questions about it.

Weights and directions are random, signed, exact in the precision and never a plain sum: a cotangent of 1
hides a cotangent that is applied twice, and weights of one size hide entries that are mixed up.
"""

from __future__ import annotations

import functools
import itertools
import math
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from gradfuzz.errors import UsageError
from gradfuzz.oracles.base import Array, Mode, Point, Question
from gradfuzz.programs.language.precision import FORMATS, HALF, Precision, is_float
from gradfuzz.programs.language.program import Program
from gradfuzz.programs.language.typecheck import Typed, typecheck

if TYPE_CHECKING:  # with the strategies comes Hypothesis, which a check of one program does without
    from gradfuzz.strategies.loop.case import GeneratedCase

CHECKS = ("value", "vjp", "jvp", "twins")
"""What may be asked: the value alone, reverse steps, forward steps, and their metamorphic variants
(`verdict.metamorphic`). Every answer carries the value.
"""

_STEPS: Mapping[Mode, str] = {"rev": "vjp", "fwd": "jvp"}

_THIRD_ORDER_EVERY = 4
"""One question of third order per this many programs: they cost most and find least."""


def mode_lists(index: int, orders: Sequence[int], checks: Sequence[str]) -> list[tuple[Mode, ...]]:
    """The modes asked of program `index`: first order in every mode, higher orders in turn in each mix."""
    steps = [mode for mode, check in _STEPS.items() if check in checks]
    result: list[tuple[Mode, ...]] = [] if steps or "value" not in checks else [()]
    if not steps and "twins" in checks:
        steps = list(_STEPS)
    for order in orders:
        combinations = list(itertools.product(steps, repeat=order))
        if not combinations:
            continue
        if order == 1:
            result += combinations
        elif order == 2:
            result.append(combinations[index % len(combinations)])
        elif index % _THIRD_ORDER_EVERY == 0:
            result.append(combinations[index // _THIRD_ORDER_EVERY % len(combinations)])
    return result


def by_references(question: Question, checks: Sequence[str]) -> bool:
    """Whether the references check every answer; not where these modes are only checked by variants."""
    return all(_STEPS[mode] in checks for mode in question.modes)


def questions(
    drawn: GeneratedCase,
    index: int,
    seed: int,
    *,
    precisions: Sequence[Precision] = ("float64", "float32"),
    orders: Sequence[int] = (1, 2, 3),
    checks: Sequence[str] = CHECKS,
) -> list[Question]:
    """The questions about one drawn case, the `index`-th of a sweep with this seed.

    First order is asked with respect to the inputs that were drawn and, where there are several, of another
    choice (each alone in turn, or all together). Higher orders are asked with respect to the inputs that were
    drawn. The precision is the drawn one where it is wanted.
    """
    rng = np.random.default_rng([seed & (2**63 - 1), index])
    typed = typecheck(drawn.program)
    _refuse_complex(typed)
    precision: Precision = drawn.precision if drawn.precision in precisions else precisions[0]
    points = tuple(Point(in_precision(inputs, precision)) for inputs in drawn.points)
    names = tuple(p.name for p in drawn.program.params if p.type.is_float)
    if not names:
        return []
    weights = _weights(typed, rng, precision)
    floats = [p for p in drawn.program.params if p.type.is_float]
    directions = {p.name: signed(rng, p.type.sizes, precision) for p in floats}
    result = []
    for modes in mode_lists(index, orders, checks):
        choices = [drawn.wrt or names]
        if modes == ("rev",) and len(names) > 1:
            choices.append((names[index % len(names)],) if set(choices[0]) == set(names) else names)
        for wrt in choices:
            along = {name: directions[name] for name in wrt}
            result.append(Question(drawn.program, points, precision, wrt, modes, weights, along))
    return result


def plain_question(
    program: Program,
    points: Sequence[Point],
    precision: Precision,
    wrt: Sequence[str] | None,
    modes: Sequence[Mode],
) -> Question:
    """What a person asks: the derivative of the plain sum of the outputs, along directions of ones.

    `wrt` None means all float inputs. Raises `UsageError` for a name that is no float input.
    """
    typed = typecheck(program)
    _refuse_complex(typed)
    floats = [p.name for p in program.params if p.type.is_float]
    names = tuple(floats if wrt is None else wrt)
    for name in names:
        if name not in floats:
            known = ", ".join(floats) or "none"
            raise UsageError(
                f"the derivative with respect to {name!r} was asked, which is no float input; the float"
                f" inputs are {known}"
            )
    weights = tuple(np.ones(t.sizes) if t.is_float else None for t in typed.outputs)
    shapes = {p.name: p.type.sizes for p in program.params}
    along = {name: np.ones(shapes[name]) for name in names}
    return Question(program, tuple(points), precision, names, tuple(modes), weights, along)


def weighted_question(
    program: Program,
    points: Sequence[Point],
    precision: Precision,
    modes: Sequence[Mode],
    seed: int = 0,
    *,
    in_full: bool = False,
) -> Question:
    """A question with respect to all float inputs, with signed weights and directions drawn from `seed`.
    Weights `in_full` have all digits of the precision: a rule that rounds its cotangent to fewer is wrong.
    """
    typed, rng = typecheck(program), np.random.default_rng(seed)
    _refuse_complex(typed)
    shapes = {p.name: p.type.sizes for p in program.params if p.type.is_float}
    size = sum(map(math.prod, shapes.values()))
    if len(modes) <= 1 and size > _UNUSED:
        along = {name: np.broadcast_to(1.5, shape) for name, shape in shapes.items()}
    else:
        along = {name: signed(rng, shape, precision) for name, shape in shapes.items()}
    weights = _weights(typed, rng, precision)
    if in_full:
        dtype = FORMATS[precision].dtype
        full = [None if w is None else w * (1.0 - rng.random(np.shape(w)) / 32.0) for w in weights]
        weights = tuple(None if w is None else np.asarray(np.asarray(w, dtype), np.float64) for w in full)
    return Question(program, tuple(points), precision, tuple(shapes), tuple(modes), weights, along)


def _refuse_complex(typed: Typed) -> None:
    """Raises `UsageError` where an output is complex. `Question` itself refuses complex inputs."""
    for k, t in enumerate(typed.outputs):
        if t.is_complex:
            advice = "what is asked about is real; ask about programs.in_pairs(program)"
            raise UsageError(f"output {k} is complex, and {advice}")


def seed_of(inputs: Iterable[Array]) -> int:
    """A seed that these arrays decide: the same inputs are asked the same question, others another one."""
    return functools.reduce(lambda seed, x: zlib.crc32(np.ascontiguousarray(x).tobytes(), seed), inputs, 0)


def _weights(typed: Typed, rng: np.random.Generator, precision: Precision) -> tuple[Array | None, ...]:
    return tuple(signed(rng, t.sizes, precision) if t.is_float else None for t in typed.outputs)


def signed(rng: np.random.Generator, shape: tuple[int, ...], precision: Precision) -> Array:
    """Numbers of either sign from 1/2 to 2 in size, but never 1, exact in `precision`. No two are of one
    size; where the precision has too few sizes, each is there as often as any other, give or take one.

    In half precision a few are spread over all sizes, and neighbours in size have opposite signs: rounding is
    allowed a quarter of a number there, so a swap of two that are alike would pass.
    """
    count, bits = math.prod(shape), _BITS
    while 3 * 2 ** (bits - 1) < count and bits + 2 <= -math.log2(FORMATS[precision].roundoff):
        bits += 1
    sizes = np.delete(np.arange(2 ** (bits - 1), 2 ** (bits + 1) + 1), 2 ** (bits - 1))  # without 1
    if precision in HALF and count <= len(sizes):
        ends = np.arange(count + 1) * len(sizes) // max(count, 1)
        among = rng.integers(ends[:-1], ends[1:])
        order = rng.permutation(count)
        signs = _SIGNS[(order + rng.integers(0, 2)) % 2]
        return np.asarray((sizes[among[order]] / 2**bits * signs).reshape(shape))
    rounds = [rng.permutation(sizes) for _ in range(-(-count // len(sizes)))]
    found = np.concatenate([*rounds, sizes[:0]])[:count].reshape(shape) / 2**bits
    return np.asarray(found * _SIGNS[rng.integers(0, len(_SIGNS), size=shape)])


_UNUSED = 2**16
"""Directions of so many numbers are drawn for the second order, where they are used."""

_BITS = 3
"""A few numbers are eighths, which people can read; more have more bits."""

_SIGNS = np.array([-1.0, 1.0])


_UNIT = 2.0
"""The direction of a single scalar input, and its negative the cotangent of a single scalar. A power of two
divides out exactly; -2 exposes a rule that drops, squares or takes the absolute value of it.
"""


def in_units(question: Question, names: Sequence[str]) -> Question:
    """The question about these inputs alone, as people expect the plain derivative: with this cotangent if
    its only float output is a scalar, and with this direction if the only input is one.
    """
    directions = {name: question.directions[name] for name in names}
    question = replace(question, wrt=tuple(names), directions=directions)
    if _is_scalar(*(w for w in question.weights if w is not None)):
        question = replace(
            question, weights=tuple(None if w is None else np.asarray(-_UNIT) for w in question.weights)
        )
    if _is_scalar(*(question.directions[name] for name in question.wrt if name in question.directions)):
        question = replace(question, directions={name: np.asarray(_UNIT) for name in question.wrt})
    return question


def unit_of(question: Question) -> float:
    """The divisor of the derivative of a question `in_units`."""
    weights = [w for w in question.weights if w is not None]
    directions = [question.directions[name] for name in question.wrt if name in question.directions]
    unit = float(weights[0]) if _is_scalar(*weights) else 1.0
    return unit * float(directions[0]) ** max(question.order - 1, 0) if _is_scalar(*directions) else unit


def _is_scalar(*arrays: Array) -> bool:
    return len(arrays) == 1 and np.ndim(arrays[0]) == 0


def in_precision(inputs: Mapping[str, Array], precision: Precision) -> dict[str, Array]:
    """The inputs, the floats rounded to `precision`."""
    with np.errstate(over="ignore", under="ignore"):
        return {name: v.astype(precision) if is_float(v.dtype) else v for name, v in inputs.items()}
