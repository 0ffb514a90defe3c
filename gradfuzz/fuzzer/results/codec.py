"""Values of the fuzzer as plain JSON data and back, by their type hints.

    str, int, bool, None      themselves
    float                     a number, or "NaN", "Infinity", "-Infinity", "-0.0"
    array                     {"dtype": "float64", "shape": [2], "values": [0.5, "NaN"]}, row-major
    program                   as in `programs.text.json_form`
    enum, date                its value; "2026-03-01"
    tuple, set                a list, sets in order
    mapping                   an object where the keys are strings or enums, a list of [key, value] elsewhere
    dataclass                 an object with every one of its fields, by name or by `KEY` of its metadata;
    without
                              those that are `OPTIONAL` and None

Data is checked against the hints; an error names the place, as in `smallest.inputs.x`. `decode(T, encode(T,
v))` is `v` bit for bit.
"""

from __future__ import annotations

import collections.abc
import dataclasses
import datetime
import enum
import functools
import types
import typing
from collections import Counter
from typing import Any, NoReturn, TypeVar, cast

import numpy as np

from gradfuzz.errors import ProgramError, RecordError
from gradfuzz.programs.language.syntax import Program
from gradfuzz.programs.text.json_form import (
    decode_array,
    decode_float,
    encode_array,
    encode_float,
    from_json,
    to_json,
)

Json = Any
"""What `json.loads` returns."""

KEY = "gradfuzz key"
"""In the metadata of a field: its key in the object, where that is not its name."""

OPTIONAL = "gradfuzz optional"
"""In the metadata of a field that came later: documents of the same schema may lack it."""

T = TypeVar("T")

_UNIONS = (typing.Union, types.UnionType)
_PLAIN = (str, int, bool)
_WITH_A_FORM = (float, Program, np.ndarray, datetime.date)


def encode(hint: Any, value: Any) -> Json:
    """`value`, of the type `hint`, as data for `json.dumps`."""
    own = _origin(hint)
    if own in _UNIONS:
        return None if value is None else encode(_not_none(hint), value)
    if own is typing.Literal:
        return value
    if own in _PLAIN:
        return own(value)
    if own in _WITH_A_FORM:
        return _written(own, value)
    if isinstance(own, type) and issubclass(own, enum.Enum):
        return value.value
    if dataclasses.is_dataclass(own):
        fields = _fields(cast(type, own))
        return {
            key: encode(inner, getattr(value, name))
            for key, (name, inner) in fields.items()
            if getattr(value, name) is not None or key not in _optional(cast(type, own))
        }
    if issubclass(own, tuple):
        return [encode(inner, item) for inner, item in zip(_items(hint, len(value)), value, strict=True)]
    if issubclass(own, collections.abc.Set):
        (inner,) = typing.get_args(hint)
        return sorted(encode(inner, item) for item in value)
    key, inner = _key_and_item(hint)
    pairs = [(encode(key, k), encode(inner, item)) for k, item in value.items()]
    return dict(pairs) if _is_name(key) else [list(pair) for pair in pairs]


def decode(hint: type[T], data: Json, place: str = "") -> T:
    """The value that `encode` wrote with type `hint`. `RecordError` with place and reason if invalid."""
    return cast(T, _read(hint, data, place))


def _read(hint: Any, data: Json, place: str) -> Any:
    own = _origin(hint)
    if own in _UNIONS:
        return None if data is None else _read(_not_none(hint), data, place)
    if own is typing.Literal:
        return (
            data
            if data in typing.get_args(hint)
            else _fail(place, data, f"one of {', '.join(typing.get_args(hint))}")
        )
    if own in _PLAIN:
        return (
            data
            if type(data) is own
            else _fail(place, data, {str: "a text", int: "a whole number", bool: "true or false"}[own])
        )
    if own in _WITH_A_FORM:
        return _understood(own, data, place)
    if isinstance(own, type) and issubclass(own, enum.Enum):
        known = {member.value: member for member in own}
        return (
            known[data]
            if isinstance(data, str) and data in known
            else _fail(place, data, f"one of {', '.join(known)}")
        )
    if dataclasses.is_dataclass(own):
        return _object(cast(type, own), data, place)
    if issubclass(own, tuple):
        hints = _items(hint, len(_list(data, place)))
        if len(hints) != len(data):
            _fail(place, data, f"a list of {len(hints)}")
        return tuple(
            [
                _read(inner, item, f"{place}[{k}]")
                for k, (inner, item) in enumerate(zip(hints, data, strict=True))
            ]
        )
    if issubclass(own, collections.abc.Set):
        (inner,) = typing.get_args(hint)
        return frozenset(_read(inner, item, f"{place}[{k}]") for k, item in enumerate(_list(data, place)))
    return _mapping(hint, data, place)


# Pieces -----------------------------------------------------------------------------------------------------


def _written(own: type, value: Any) -> Json:
    if own is float:
        return encode_float(value)
    if own is Program:
        return to_json(value)
    return encode_array(value) if own is np.ndarray else value.isoformat()


def _understood(own: type, data: Json, place: str) -> Any:
    if own is datetime.date:
        try:
            return datetime.date.fromisoformat(data)
        except (TypeError, ValueError):
            _fail(place, data, "a date such as 2026-03-01")
    read = {float: decode_float, Program: from_json, np.ndarray: decode_array}[own]
    try:
        return read(data)
    except ProgramError as error:
        raise RecordError(f"{place or 'the record'}: {error}") from error


def _object(own: type, data: Json, place: str) -> Any:
    fields = _fields(own)
    if not isinstance(data, dict):
        _fail(place, data, f"an object with the fields {', '.join(fields)}")
    inside = f"{place}." if place else ""
    for key in fields:
        if key not in data and key not in _optional(own):
            raise RecordError(f"{place or 'the record'}: the field {key!r} is missing")
    for key in data:
        if key not in fields:
            raise RecordError(
                f"{place or 'the record'}: the field {key!r} is unknown; the fields are {', '.join(fields)}"
            )
    return own(
        **{name: _read(hint, data[key], inside + key) for key, (name, hint) in fields.items() if key in data}
    )


def _mapping(hint: Any, data: Json, place: str) -> Any:
    key, inner = _key_and_item(hint)
    if _is_name(key):
        if not isinstance(data, dict):
            _fail(place, data, "an object")
        pairs = [
            (_read(key, k, f"{place}.{k}"), _read(inner, item, f"{place}.{k}")) for k, item in data.items()
        ]
    else:
        pairs = [_read(_pair(key, inner), pair, f"{place}[{k}]") for k, pair in enumerate(_list(data, place))]
    return Counter(dict(pairs)) if _origin(hint) is Counter else dict(pairs)


def _list(data: Json, place: str) -> list[Json]:
    return data if isinstance(data, list) else _fail(place, data, "a list")


def _fail(place: str, data: Json, wanted: str) -> NoReturn:
    text = repr(data)
    raise RecordError(
        f"{place or 'the record'}: {text if len(text) <= 60 else text[:57] + '...'} is not {wanted}"
    )


# Hints ------------------------------------------------------------------------------------------------------


def _origin(hint: Any) -> Any:
    return typing.get_origin(hint) or hint


def _not_none(hint: Any) -> Any:
    """T of T | None."""
    (inner,) = (arg for arg in typing.get_args(hint) if arg is not types.NoneType)
    return inner


def _items(hint: Any, count: int) -> tuple[Any, ...]:
    """The hints of a tuple's items."""
    arguments = typing.get_args(hint)
    return (arguments[0],) * count if arguments[-1:] == (...,) else arguments


def _key_and_item(hint: Any) -> tuple[Any, Any]:
    arguments = typing.get_args(hint)
    return (arguments[0], int) if _origin(hint) is Counter else arguments


def _pair(key: Any, item: Any) -> Any:
    return types.GenericAlias(tuple, (key, item))


def _is_name(key: Any) -> bool:
    return key is str or (isinstance(key, type) and issubclass(key, enum.Enum))


@functools.cache
def _fields(own: type) -> dict[str, tuple[str, Any]]:
    """The names and the hints of a dataclass's fields, by their keys."""
    hints = typing.get_type_hints(own)
    return {
        field.metadata.get(KEY, field.name): (field.name, hints[field.name])
        for field in dataclasses.fields(cast(Any, own))
    }


@functools.cache
def _optional(own: type) -> frozenset[str]:
    """The keys of a dataclass's fields that may be missing."""
    return frozenset(
        field.metadata.get(KEY, field.name)
        for field in dataclasses.fields(cast(Any, own))
        if field.metadata.get(OPTIONAL)
    )
