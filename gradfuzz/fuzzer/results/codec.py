"""Values of the fuzzer as plain JSON data and back, by their type hints.

    str, int, bool, None      themselves
    float                     a number, or "NaN", "Infinity", "-Infinity", "-0.0"
    array                     {"dtype": "float64", "shape": [2], "values": [0.5, "NaN"]}, row-major
    program                   as in `programs.text.json_form`
    enum, date                its value; "2026-03-01"
    tuple, set                a list, sets in order
    mapping                   an object where the keys are strings or enums, a list of [key, value] elsewhere
    dataclass                 an object with every one of its fields, by name or by `KEY` of its metadata;
                              without those that are `OPTIONAL` and None, () or False

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
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, NoReturn, TypeVar, cast

import numpy as np

from gradfuzz.errors import ProgramError, RecordError
from gradfuzz.programs.language.program import Program
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
_PLAIN = {str: "a text", int: "a whole number", bool: "true or false"}
_WRITERS: Mapping[type, Callable[[Any], Json]] = {
    **{plain: plain for plain in _PLAIN},
    float: encode_float,
    Program: to_json,
    np.ndarray: encode_array,
    datetime.date: datetime.date.isoformat,
}
_READERS: Mapping[type, Callable[[Json], Any]] = {
    float: decode_float,
    Program: from_json,
    np.ndarray: decode_array,
}


def encode(hint: Any, value: Any) -> Json:
    """`value`, of the type `hint`, as data for `json.dumps`."""
    own = _origin(hint)
    if own in _UNIONS:
        return None if value is None else encode(_not_none(hint), value)
    if own is typing.Literal:
        return value
    if own in _WRITERS:
        return _WRITERS[own](value)
    if issubclass(own, enum.Enum):
        return value.value
    if dataclasses.is_dataclass(own):
        fields = _fields(cast(type, own)).items()
        written = {key: (field, getattr(value, field.name)) for key, field in fields}
        return {
            key: encode(field.hint, item)
            for key, (field, item) in written.items()
            if not (field.optional and _is_nothing(item))
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
        return _choice({choice: choice for choice in typing.get_args(hint)}, data, place)
    if own in _PLAIN:
        return data if type(data) is own else _fail(place, data, _PLAIN[own])
    if own in _READERS:
        try:
            return _READERS[own](data)
        except ProgramError as error:
            raise RecordError(f"{place or 'the record'}: {error}") from error
    if own is datetime.date:
        try:
            return datetime.date.fromisoformat(data)
        except (TypeError, ValueError):
            _fail(place, data, "a date such as 2026-03-01")
    if issubclass(own, enum.Enum):
        return _choice({member.value: member for member in own}, data, place)
    if dataclasses.is_dataclass(own):
        return _object(own, data, place)
    if issubclass(own, tuple):
        hints = _items(hint, len(_list(data, place)))
        if len(hints) != len(data):
            _fail(place, data, f"a list of {len(hints)}")
        items = enumerate(zip(hints, data, strict=True))
        return tuple([_read(inner, item, f"{place}[{k}]") for k, (inner, item) in items])
    if issubclass(own, collections.abc.Set):
        (inner,) = typing.get_args(hint)
        return frozenset(_read(inner, item, f"{place}[{k}]") for k, item in enumerate(_list(data, place)))
    return _mapping(hint, data, place)


# Pieces -----------------------------------------------------------------------------------------------------


def _choice(known: Mapping[str, Any], data: Json, place: str) -> Any:
    if isinstance(data, str) and data in known:
        return known[data]
    return _fail(place, data, f"one of {', '.join(known)}")


def _object(own: Any, data: Json, place: str) -> Any:
    fields = _fields(own)
    names = ", ".join(fields)
    if not isinstance(data, dict):
        _fail(place, data, f"an object with the fields {names}")
    for key, field in fields.items():
        if key not in data and not field.optional:
            raise RecordError(f"{place or 'the record'}: the field {key!r} is missing")
    for key in data:
        if key not in fields:
            unknown = f"the field {key!r} is unknown; the fields are {names}"
            raise RecordError(f"{place or 'the record'}: {unknown}")
    inside = f"{place}." if place else ""
    found = {key: field for key, field in fields.items() if key in data}
    return own(**{field.name: _read(field.hint, data[key], inside + key) for key, field in found.items()})


def _mapping(hint: Any, data: Json, place: str) -> Any:
    key, inner = _key_and_item(hint)
    if not _is_name(key):
        pair = types.GenericAlias(tuple, (key, inner))
        pairs = [_read(pair, item, f"{place}[{k}]") for k, item in enumerate(_list(data, place))]
    elif isinstance(data, dict):
        places = ((f"{place}.{k}", k, item) for k, item in data.items())
        pairs = [(_read(key, k, at), _read(inner, item, at)) for at, k, item in places]
    else:
        _fail(place, data, "an object")
    return Counter(dict(pairs)) if _origin(hint) is Counter else dict(pairs)


def _list(data: Json, place: str) -> list[Json]:
    return data if isinstance(data, list) else _fail(place, data, "a list")


def _fail(place: str, data: Json, wanted: str) -> NoReturn:
    text = repr(data)
    short = text if len(text) <= 60 else text[:57] + "..."
    raise RecordError(f"{place or 'the record'}: {short} is not {wanted}")


# Hints ------------------------------------------------------------------------------------------------------


def _origin(hint: Any) -> Any:
    """The class of a hint, or its special form. An alias of Python 3.12 stands for what it names: NDArray is
    one from NumPy 2.5 on.
    """
    own = typing.get_origin(hint) or hint
    return _origin(own.__value__) if hasattr(own, "__value__") else own


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


def _is_nothing(item: Any) -> bool:
    return item is None or item is False or (isinstance(item, tuple) and not item)


def _is_name(key: Any) -> bool:
    return key is str or (isinstance(key, type) and issubclass(key, enum.Enum))


class _Field(NamedTuple):
    name: str
    hint: Any
    optional: bool


@functools.cache
def _fields(own: Any) -> dict[str, _Field]:
    """A dataclass's fields by their keys."""
    hints = typing.get_type_hints(own)
    return {
        f.metadata.get(KEY, f.name): _Field(f.name, hints[f.name], bool(f.metadata.get(OPTIONAL)))
        for f in dataclasses.fields(own)
    }
