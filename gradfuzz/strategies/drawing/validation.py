"""Early checks of options: `InvalidArgument` with the name, the value and what is allowed."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import NoReturn

from hypothesis.errors import InvalidArgument

from gradfuzz.errors import listed
from gradfuzz.programs import Program, Type
from gradfuzz.programs.language.precision import FORMATS


def reject(message: str) -> NoReturn:
    """Hypothesis's error for an option that makes no sense."""
    raise InvalidArgument(message)


def check_int(name: str, value: object, least: int) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        reject(f"{name}={value!r}: an int, at least {least}")


def check_numbers(**values: object) -> None:
    """Each value must be None or a number."""
    for name, value in values.items():
        if value is not None and (not isinstance(value, (int, float)) or isinstance(value, bool)):
            reject(f"{name}={value!r}: a number, not {type(value).__name__}")


def check_shape(shape: object, *, axes: int = 0) -> None:
    """`shape` must be a tuple of sizes, at least `axes` of them."""
    if not isinstance(shape, tuple) or any(not isinstance(n, int) or n < 0 for n in shape):
        reject(f"shape={shape!r}: a tuple of sizes, which are at least 0")
    if len(shape) < axes:
        reject(f"shape={shape!r}: a tuple of {axes} sizes or more")


def check_choices(name: str, chosen: object, known: Collection[str]) -> None:
    """`chosen` must be a tuple of strings out of `known`."""
    if not isinstance(chosen, tuple) or not chosen or any(choice not in known for choice in chosen):
        wrong = [choice for choice in chosen if choice not in known] if isinstance(chosen, tuple) else []
        there = listed(map(repr, known), repr(wrong[0]) if wrong else "")
        reject(f"{name}={chosen!r}: give a tuple of at least one of {there}")


def check_precision(precision: object) -> None:
    if precision not in FORMATS:
        reject(f"precision={precision!r}: one of {', '.join(map(repr, FORMATS))}")


def check_program(program: object) -> None:
    """`program` may have float, int and bool parameters only: the types that points can have."""
    if not isinstance(program, Program):
        reject(f"program={program!r}: a Program, as parse(text) makes it, not {type(program).__name__}")
    for param in program.params:
        if param.type.is_complex:
            instead = "draw for programs.in_pairs(program), which takes the parts of it"
            reject(f"program: its input {param.name} is complex; {instead}")


def check_types(name: str, types: object) -> None:
    """`types` must be a mapping from names to types."""
    if not isinstance(types, Mapping) or any(
        not isinstance(key, str) or not key.isidentifier() or not isinstance(t, Type)
        for key, t in types.items()
    ):
        reject(f"{name}={types!r}: a dict from names to types, as {{'x': Type('float', (3,))}}")
