"""Arrays in messages, bit for bit.

Short arrays have their entries as numbers, for people to read; long ones use base64 where the adapter does.
"""

from __future__ import annotations

import base64
import binascii
import math
import sys
from collections.abc import Sequence
from typing import Any, cast, get_args

import numpy as np
from msgspec import UNSET

from gradfuzz.errors import ProtocolError
from gradfuzz.oracles.base import Array
from gradfuzz.oracles.foreign.protocol import DTypeName, FloatName, OtherName, Scalar, Tensor
from gradfuzz.programs.language.precision import is_float
from gradfuzz.programs.text.json_form import encode_float

_SHORT = 24
"""Up to this many entries are written as numbers even for adapters with base64."""


def to_tensor(array: Array, *, binary: bool = False, dtype: str | None = None) -> Tensor:
    """An array as in a message; `dtype` converts it first, `binary` allows base64."""
    a = np.asarray(array, None if dtype is None else _DTYPES[dtype])
    if a.dtype is _FLOAT64 and a.size == 1:
        return Tensor("float64", list(a.shape), data=[_entry(a.item())])
    name = _NAMES.get(a.dtype)
    if name is None:
        known = f"the dtypes are {', '.join(_DTYPES)}"
        raise ProtocolError(f"an array of dtype {a.dtype} has no place in a message; {known}")
    shape = list(a.shape)
    if binary and a.size > _SHORT:
        return Tensor(name, shape, base64=base64.b64encode(_little(a).tobytes()).decode("ascii"))
    kind = a.dtype.kind
    if kind == "c":
        a = np.ascontiguousarray(a).reshape(-1).view(np.float64 if a.dtype == np.complex128 else np.float32)
    entries: list[Any] = a.ravel().tolist()
    if kind not in "iub":
        entries = [_entry(v) for v in entries]
    return Tensor(name, shape, data=entries)


def _entry(value: float) -> Any:
    """`encode_float` of a number, with a shortcut for ordinary ones."""
    return value if value and value - value == 0.0 else encode_float(value)


def from_tensor(tensor: Tensor) -> Array:
    """The array of a message; `ProtocolError` where its entries do not fit its shape or dtype."""
    data, shape = tensor.data, tensor.shape
    if (
        tensor.dtype == "float64"
        and tensor.base64 is UNSET
        and type(data) is list
        and len(data) == 1
        and type(data[0]) is float
    ):
        if shape == [1]:
            return np.array(data)
        if not shape:
            return np.array(data[0])
    dtype = _DTYPES[tensor.dtype]
    size = math.prod(tensor.shape)
    if (tensor.data is UNSET) == (tensor.base64 is UNSET):
        raise ProtocolError("a tensor has exactly one of data and base64")
    if isinstance(tensor.base64, str):
        return _from_bytes(tensor.base64, dtype, size).reshape(tensor.shape)
    assert isinstance(tensor.data, list), "one of the two is there"
    per_entry = 2 if dtype.kind == "c" else 1
    if len(tensor.data) != per_entry * size:
        what = f"a {tensor.dtype} tensor of shape {tensor.shape}"
        raise ProtocolError(f"{len(tensor.data)} numbers do not fill {what}")
    if not _fits(tensor.data, dtype):
        raise ProtocolError(f"an entry of {tensor.data[:8]} is no {tensor.dtype}")
    try:
        if dtype.kind in "iub":
            return np.array(tensor.data, dtype).reshape(tensor.shape)
        numbers = np.array(tensor.data, np.float64)
        if dtype.kind == "c":
            return _paired(numbers.reshape(-1, 2), dtype, tensor.shape)
        if dtype == np.float64:
            return numbers.reshape(tensor.shape)
        with np.errstate(over="ignore"):
            return numbers.astype(dtype).reshape(tensor.shape)
    except (ValueError, OverflowError) as error:
        raise ProtocolError(f"an entry of {tensor.data[:8]} is no {tensor.dtype}: {error}") from error


def split(stacked: Array, count: int) -> list[Array]:
    """The arrays along the first axis; scalars are 0-d arrays."""
    return [stacked[k, ...] for k in range(count)]


_DTYPES = {name: np.dtype(name) for name in (*get_args(FloatName), *get_args(OtherName))}
_FLOAT64 = _DTYPES["float64"]
_NAMES: dict[np.dtype[Any], DTypeName] = {dtype: cast(DTypeName, name) for name, dtype in _DTYPES.items()}


def _little(a: Array) -> Array:
    return a if sys.byteorder == "little" else np.ascontiguousarray(a).byteswap()


def _from_bytes(text: str, dtype: np.dtype[Any], size: int) -> Array:
    try:
        data = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as error:
        raise ProtocolError(f"a tensor's base64 cannot be read: {error}") from error
    if len(data) != size * dtype.itemsize:
        raise ProtocolError(f"{len(data)} bytes do not fill {size} entries of {dtype.name}")
    if dtype.kind == "b" and any(b > 1 for b in data):
        raise ProtocolError("a byte of a bool tensor is 0 or 1")
    return _little(np.frombuffer(data, dtype))


def _fits(data: Sequence[Scalar], dtype: np.dtype[Any]) -> bool:
    """Whether the entries fit the dtype. Message types leave only ints, floats, bools and four strings."""
    kinds = set(map(type, data))
    if dtype.kind == "b":
        return kinds <= {bool}
    if is_float(dtype) or dtype.kind == "c":
        return bool not in kinds
    return kinds <= {int}


def _paired(parts: Array, dtype: np.dtype[Any], shape: Sequence[int]) -> Array:
    """Complex numbers from their parts; adding the parts would turn infinities into NaN."""
    result = np.empty(len(parts), dtype)
    result.real, result.imag = parts[:, 0], parts[:, 1]
    return result.reshape(shape)
