"""Points: inputs of a program, ordinary ones and those where derivatives go wrong."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from typing import Any, Literal, cast

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st
from hypothesis.errors import InvalidArgument

from gradfuzz.errors import EvaluationError
from gradfuzz.programs import Assign, Call, Name, Program, Type, typecheck, walk
from gradfuzz.programs.interpret import interpret
from gradfuzz.programs.numpy_namespace import NumpyNamespace
from gradfuzz.programs.precision import FORMATS, Precision, is_float
from gradfuzz.strategies.dice import Dice, Draw, Table, named
from gradfuzz.strategies.plan import TRIPS

__all__ = ["PRECISIONS", "Inputs", "Precision", "defined", "draw_point", "points"]

Domain = Literal["any", "nonzero", "positive"]
Inputs = Mapping[str, npt.NDArray[np.generic]]
"""One array per parameter, 0-d for scalars: floats in the working precision, ints int64."""

PRECISIONS: tuple[Precision, ...] = ("float64", "float32")
"""Those that are drawn where nothing else is said."""
_NAMESPACES = {p: NumpyNamespace(p) for p in FORMATS}

_ORDINARY = (0.5, 1.5, 0.75, 0.25, 1.0, 2.0, 0.3, 1.25, 0.7, 1.7, 2.5, -0.5, -1.5, -0.25, -0.7, -2.0)
_STEPS = 65_537
_SCATTER = 40_503
"""A prime, so that the fractions with this denominator fill the mantissa; and what their numerators are multiplied by, because
Hypothesis prefers small integers."""

_LARGE = (10.0, 100.0, 1000.0, 37.5, 640.0, 3.0)
_HUGE: dict[Precision, tuple[float, ...]] = {
    "float64": (2.0**53, 1e160),
    "float32": (2.0**24, 1e18),
    "bfloat16": (2.0**8, 1e18),
    "float16": (2.0**11, 2.0**8),
}
_TINY: dict[Precision, tuple[float, ...]] = {
    "float64": (2.0**-53, 1e-170),
    "float32": (2.0**-24, 1e-18),
    "bfloat16": (2.0**-8, 1e-18),
    "float16": (2.0**-11, 2.0**-14),
}
_NEAREST_TO_ZERO: dict[Precision, int] = {"float64": 12, "float32": 12, "bfloat16": 12, "float16": 3}
"""10^-k for k up to this is near zero: in float16 products of two such numbers are still normal."""
_SCALES: dict[Precision, tuple[float, float, float]] = dict.fromkeys(FORMATS, (1e-06, 100.0, 1e-12)) | {
    "float16": (1e-2, 100.0, 1e-3)
}

_KINDS: Table[tuple[str, int]] = Table(
    *((2, ("ordinary", k)) for k in range(len(_ORDINARY))),
    (26, ("fraction", 0)),
    (9, ("power of two", 0)),
    (13, ("near zero", 0)),
    (9, ("zero", 0)),
    (10, ("large", 0)),
    (1, ("huge", 0)),
    (1, ("tiny", 0)),
)
"""Ordinary numbers and zero take one draw, so that shrinking prefers neither of them but by this order."""
_FILLS: Table[str] = Table(
    (44, "ordinary"), (16, "fractions"), (12, "all equal"), (12, "one zero"), (10, "two zeros"), (6, "scaled")
)


def points(
    program: Program, *, precision: Precision = "float64", max_trips: int = 17, extremes: bool = True
) -> st.SearchStrategy[Inputs]:
    """Inputs of `program`, exactly representable in `precision`, at which it nearly always has a finite value.

    Scalars are ordinary, powers of two, near zero (down to 1e-12, in float16 to 1e-3), zero, large (to 1000) and, with `extremes`, rarely huge or
    tiny; two inputs may be equal. A parameter that the program divides by, or gives to log, sqrt or pow as it is, stays in that
    domain. Arrays have ordinary entries, equal entries, or one or two zeros. An int is a trip count up to `max_trips`, and stays
    inside the arrays that a counter indexes. Shrinks towards 0.5 everywhere.
    """
    if precision not in FORMATS:
        raise InvalidArgument(f"precision={precision!r}: one of {', '.join(map(repr, FORMATS))}")
    if max_trips < 0:
        raise InvalidArgument(f"max_trips={max_trips!r}: a loop cannot take less than 0 trips")
    return _points(program, precision=precision, max_trips=max_trips, extremes=extremes)


@st.composite
@named("points")
def _points(draw: Draw, program: Program, *, precision: Precision, max_trips: int, extremes: bool) -> Inputs:
    return draw_point(Dice(draw), program, precision, max_trips=max_trips, extremes=extremes)


def draw_point(dice: Dice, program: Program, precision: Precision, *, max_trips: int = 17, extremes: bool = True) -> Inputs:
    """One point. Where the program is not finite there, the numbers are brought between 1/2 and 1, their signs kept."""
    domains, largest = _facts(program)
    most = max_trips if largest is None else min(max_trips, largest)
    inputs: dict[str, npt.NDArray[np.generic]] = {}
    extreme = False
    types: dict[Type, str] = {}
    for p in program.params:
        shape = p.type.sizes
        if p.type.dtype == "int":
            counts = TRIPS.where(lambda n: n <= most)
            inputs[p.name] = np.full(shape, dice.weighted(counts) if counts.rows else 0, np.int64)
        elif p.type.dtype == "bool":
            inputs[p.name] = np.full(shape, dice.chance(50), np.bool_)
        elif p.type in types and dice.chance(7) and domains.get(p.name, "any") == "any":
            inputs[p.name] = inputs[types[p.type]]
        else:
            values, far = _array(dice, p.type, precision, domains.get(p.name, "any"), extremes)
            inputs[p.name] = values
            extreme = extreme or far
            types.setdefault(p.type, p.name)
    if extreme or defined(program, inputs, precision):
        return inputs
    tamed = {name: _tamed(value) for name, value in inputs.items()}
    if defined(program, tamed, precision):
        return tamed
    return {name: np.full_like(v, 0.5) if is_float(v.dtype) else v for name, v in inputs.items()}


def defined(program: Program, inputs: Inputs, precision: Precision = "float64") -> bool:
    """Whether the program has a value there, and every number in it is finite, in `precision`."""
    arguments: dict[str, Any] = {name: v[()] if is_float(v.dtype) else v.tolist() for name, v in inputs.items()}
    try:
        outputs = interpret(program, arguments, _NAMESPACES[precision], trip_limit=1000)
    except EvaluationError:
        return False
    return all(bool(np.all(np.isfinite(value))) for value in outputs)


def _tamed(value: npt.NDArray[np.generic]) -> npt.NDArray[np.generic]:
    if not is_float(value.dtype):
        return value
    floats = cast("npt.NDArray[np.float64]", value)
    return np.asarray(np.frexp(floats)[0], value.dtype)


def _array(dice: Dice, type_: Type, precision: Precision, domain: Domain, extremes: bool) -> tuple[npt.NDArray[np.generic], bool]:
    """The value of one float parameter, and whether it is huge or tiny."""
    shape = type_.sizes
    if not shape:
        value, extreme = _scalar(dice, precision, domain, extremes)
        return np.array(value, precision), extreme
    size = math.prod(shape)
    fill = dice.weighted(_FILLS)
    if fill == "all equal":
        value, extreme = _scalar(dice, precision, domain, extremes)
        return np.full(shape, value, precision), extreme
    entries = [_fraction(dice) if fill == "fractions" else dice.pick(_ORDINARY) for _ in range(size)]
    if fill == "scaled":
        scale = dice.pick(_SCALES[precision])
        entries = [scale * e for e in entries]
    if domain == "any" and size:
        for k in range({"one zero": 1, "two zeros": 2}.get(fill, 0)):
            entries[(dice.below(size) + k) % size] = 0.0
    if domain == "positive":
        entries = [abs(e) for e in entries]
    return np.array(entries, precision).reshape(shape), False


def _scalar(dice: Dice, precision: Precision, domain: Domain, extremes: bool) -> tuple[float, bool]:
    kind, nth = dice.weighted(_KINDS)
    if kind == "ordinary":
        value = _ORDINARY[nth]
        return (abs(value) if domain == "positive" else value), False
    if kind == "zero":
        return (0.0, False) if domain == "any" else (1.0, False)
    if kind == "fraction":
        value = _fraction(dice)
    elif kind == "power of two":
        value = 2.0 ** (dice.below(21) - 10)
    elif kind == "near zero" or not extremes:
        value = 10.0 ** -(1 + dice.below(_NEAREST_TO_ZERO[precision]))
    elif kind == "large":
        value = dice.pick(_LARGE)
    else:
        value = dice.pick((_HUGE if kind == "huge" else _TINY)[precision])
    sign = -1.0 if domain != "positive" and dice.chance(35) else 1.0
    return sign * value, kind in ("huge", "tiny")


def _fraction(dice: Dice) -> float:
    """A number in (0, 3), with all its digits."""
    return 3.0 * ((1 + dice.below(_STEPS - 1)) * _SCATTER % _STEPS) / _STEPS


# What the program asks of its inputs -----------------------------------------------------------------------------------


@functools.lru_cache(maxsize=64)
def _facts(program: Program) -> tuple[dict[str, Domain], int | None]:
    """The domain of each float scalar parameter, and the largest trip count that stays inside the arrays indexed by counters."""
    assigned = {s.target for s in walk(program) if isinstance(s, Assign)}
    free = {p.name for p in program.params if p.type.is_float and not p.type.shape} - assigned
    domains: dict[str, Domain] = {}
    indexed: list[tuple[str, int]] = []
    for node in walk(program):
        if not isinstance(node, Call):
            continue
        if node.op in ("log", "sqrt", "pow"):
            _restrict(domains, node.args[0], free, "positive")
        elif node.op == "divide":
            _restrict(domains, node.args[1], free, "nonzero")
        elif node.op == "integer_pow" and cast("int", node.param("n")) < 0:
            _restrict(domains, node.args[0], free, "nonzero")
        elif node.op in ("index", "index_update") and isinstance(node.args[0], Name):
            indices = iter(node.args[1 if node.op == "index" else 2 :])
            for axis, e in enumerate(cast("tuple[object, ...]", node.param("pattern"))):
                if e == "at" and isinstance(next(indices), Name):
                    indexed.append((node.args[0].id, axis))
    if not indexed or all(p.type.dtype != "int" for p in program.params):
        return domains, None
    types = typecheck(program).variables
    return domains, min(types[name].shape[axis] or 0 for name, axis in indexed)


def _restrict(domains: dict[str, Domain], argument: object, free: set[str], domain: Domain) -> None:
    if isinstance(argument, Name) and argument.id in free and domains.get(argument.id) != "positive":
        domains[argument.id] = domain
