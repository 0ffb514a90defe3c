"""Programs, floats and arrays as JSON data, bit for bit.

    program    {"gradfuzz": 1, "name": "f", "params": [["x", "float"], ["v", "float[3]"]],
                "body": [statement, ...]}
    statement  {"assign": NAME, "value": expr}
               {"while": expr, "body": [...]}            {"repeat": [...], "while": expr}
               {"for": NAME, "count": expr, "body": [...]}
               {"if": expr, "then": [...], "else": [...]}
               "break" | "continue" | {"return": [expr, ...]}
    expr       NAME | {"float": number} | {"int": n} | {"bool": true}
               {"array": "float", "shape": [2], "values": [0.5, "NaN"]}
               {"op": "sum", "args": [expr, ...], "params": {"axis": 0, "keepdims": false}}

A float that JSON cannot carry is one of the strings "NaN", "Infinity", "-Infinity", "-0.0". `json.dumps(...,
allow_nan=False)` takes everything made here. Data is checked field by field when it is read, and never
executed; an error names the place, as in `body[2].value.args[0]`. `from_json(to_json(p)) == p`; line numbers
are not kept.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn, cast

import numpy as np
import numpy.typing as npt

from gradfuzz.errors import ProgramError, ProgramSyntaxError, listed
from gradfuzz.programs.language import syntax
from gradfuzz.programs.language.ops import OPS
from gradfuzz.programs.language.precision import is_float
from gradfuzz.programs.language.program import Program
from gradfuzz.programs.language.typecheck import MAX_ENTRIES, MAX_NESTING, check_name
from gradfuzz.programs.language.types import DType
from gradfuzz.programs.text.parse import parse_type

VERSION = 1
"""The version of the form; it grows when old readers could no longer read it."""

Json = Any
"""What `json.loads` returns."""
Fields = Mapping[str, Json]

_SPECIAL = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf, "-0.0": -0.0}
_DTYPES: tuple[DType, ...] = ("float", "int", "bool")
_INTS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
_ARRAYS = ("bool", *_INTS, "bfloat16", "float16", "float32", "float64", "complex64", "complex128")


# Floats and arrays ------------------------------------------------------------------------------------------


def encode_float(value: float) -> float | str:
    """A JSON number, or the string for NaN, an infinity or -0.0. The number reads back as the same float."""
    value = float(value)
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return "-0.0" if value == 0 and math.copysign(1.0, value) < 0 else value


def decode_float(data: Json) -> float:
    """The float that `encode_float` wrote. A JSON number without a fraction counts as a float, too."""
    if isinstance(data, str) and data in _SPECIAL:
        return _SPECIAL[data]
    if isinstance(data, (int, float)) and not isinstance(data, bool):
        try:
            return float(data)
        except OverflowError:
            pass
    special = ", ".join(_SPECIAL)
    raise ProgramSyntaxError(f"{_short(data)} is no float; write a JSON number or one of {special}")


def encode_array(array: npt.ArrayLike) -> dict[str, Json]:
    """{"dtype": "float64", "shape": [2], "values": [0.5, "NaN"]}, entries in row-major order; complex ones as
    [real, imaginary].
    """
    a = np.asarray(array)
    if a.dtype.name not in _ARRAYS:
        known = ", ".join(_ARRAYS)
        raise ProgramSyntaxError(f"an array of dtype {a.dtype.name} has no JSON form; the dtypes are {known}")
    values: list[Json] = a.ravel().tolist()
    if is_float(a.dtype):
        values = [encode_float(v) for v in values]
    elif a.dtype.kind == "c":
        values = [[encode_float(v.real), encode_float(v.imag)] for v in values]
    return {"dtype": a.dtype.name, "shape": list(a.shape), "values": values}


def decode_array(data: Json) -> npt.NDArray[np.generic]:
    """The array that `encode_array` wrote: the same dtype, shape and bits."""
    fields = _fields(data, "array", ("dtype", "shape", "values"))
    name, shape = fields["dtype"], _shape(fields["shape"], "array.shape")
    values = _list(fields["values"], "array.values")
    if not isinstance(name, str) or name not in _ARRAYS:
        _fail("array.dtype", f"{_short(name)} is no dtype; it is one of {', '.join(_ARRAYS)}")
    if len(values) != math.prod(shape):
        _fail("array.values", f"{len(values)} entries do not fill the shape {shape}")
    dtype = np.dtype(name)
    entries: list[Json] = []
    for k, value in enumerate(values):
        try:
            entries.append(_decode_entry(value, dtype))
        except (ProgramSyntaxError, TypeError, ValueError):
            _fail(f"array.values[{k}]", f"{_short(value)} is no entry of dtype {name}")
    return np.array(entries, dtype=dtype).reshape(shape)


def _decode_entry(value: Json, dtype: np.dtype[Any]) -> Json:
    if is_float(dtype):
        return decode_float(value)
    if dtype.kind == "c":
        real, imaginary = value
        return complex(decode_float(real), decode_float(imaginary))
    if dtype.kind == "b":
        if isinstance(value, bool):
            return value
    elif type(value) is int and np.iinfo(dtype).min <= value <= np.iinfo(dtype).max:
        return value
    raise TypeError


# Writing ----------------------------------------------------------------------------------------------------


def to_json(program: Program) -> dict[str, Json]:
    """The program as data for `json.dumps`."""
    params, body = [[p.name, str(p.type)] for p in program.params], _write_block(program.body)
    return {"gradfuzz": VERSION, "name": program.name, "params": params, "body": body}


def _write_block(body: syntax.Block) -> list[Json]:
    return [_write_statement(s) for s in body]


def _write_statement(stmt: syntax.Stmt) -> Json:
    word = _WORDS.get(type(stmt))
    if word is not None:
        return word
    fields = next(fields for kind, *fields in _STATEMENTS.values() if isinstance(stmt, kind))
    return {name: _WRITERS[what](getattr(stmt, attribute)) for name, attribute, what in fields}


def _write_const(const: syntax.Const) -> Json:
    return encode_float(const.number) if const.dtype == "float" else const.number


def write_expression(expr: syntax.Expr) -> Json:
    """An expression as data."""
    match expr:
        case syntax.Name(id):
            return id
        case syntax.Const():
            return {expr.dtype: _write_const(expr)}
        case syntax.ArrayConst(dtype, shape, values):
            return {"array": dtype, "shape": list(shape), "values": [_write_const(v) for v in values]}
        case syntax.Call(op, args, params):
            data: dict[str, Json] = {"op": op, "args": [write_expression(a) for a in args]}
            if params:
                data["params"] = {name: write_param(value) for name, value in params}
            return data


def write_param(value: syntax.ParamValue) -> Json:
    """A static parameter as data."""
    return [write_param(v) for v in value] if isinstance(value, tuple) else value


# Reading ----------------------------------------------------------------------------------------------------


def from_json(data: object) -> Program:
    """The program that `to_json` wrote, or `ProgramSyntaxError` with the place and the reason.

    The data may come from anywhere. What is checked is the form; whether names and types fit is `typecheck`'s
    question.
    """
    fields = _fields(data, "program", ("gradfuzz", "name", "params", "body"))
    if type(fields["gradfuzz"]) is not int or fields["gradfuzz"] != VERSION:
        version = _short(fields["gradfuzz"])
        _fail("gradfuzz", f"version {version} of the form cannot be read; this is version {VERSION}")
    params: list[syntax.Param] = []
    for k, entry in enumerate(_list(fields["params"], "params")):
        match entry:
            case [str(name), str(text)]:
                _name(name, f"params[{k}]")
                try:
                    params.append(syntax.Param(name, parse_type(text)))
                except ProgramSyntaxError as error:
                    _fail(f"params[{k}]", str(error))
            case _:
                _fail(f"params[{k}]", f"{_short(entry)} is no parameter; it is [name, type]")
    name = _name(fields["name"], "name")
    return Program(name, tuple(params), _read_block(fields["body"], "body", 1))


def _short(data: Json) -> str:
    try:
        text = repr(data)
    except (RecursionError, ValueError):
        text = f"a {type(data).__name__}"
    return text if len(text) <= 60 else text[:57] + "..."


def _fail(path: str, message: str) -> NoReturn:
    raise ProgramSyntaxError(f"{path}: {message}")


def _fields(data: Json, path: str, required: Sequence[str], optional: Sequence[str] = ()) -> Fields:
    if not isinstance(data, Mapping):
        _fail(path, f"{_short(data)} is no object; it has the fields {', '.join(required)}")
    for name in required:
        if name not in data:
            _fail(path, f"the field {name!r} is missing")
    for name in data:
        if name not in required and name not in optional:
            known = ", ".join([*required, *optional])
            _fail(path, f"the field {_short(name)} is unknown; the fields are {known}")
    return cast(Fields, data)


def _list(data: Json, path: str) -> list[Json]:
    if not isinstance(data, list):
        _fail(path, f"{_short(data)} is no list")
    return data


def _name(data: Json, path: str) -> str:
    if not isinstance(data, str):
        _fail(path, f"{_short(data)} is no name")
    try:
        check_name(data, "anything in a program")
    except ProgramError as error:
        _fail(path, str(error))
    return data


def _shape(data: Json, path: str) -> tuple[int, ...]:
    sizes = _list(data, path)
    if not all(type(n) is int and 0 <= n <= MAX_ENTRIES for n in sizes):
        _fail(path, f"{_short(data)} is no shape; a shape is a list of sizes from 0 to {MAX_ENTRIES:,}")
    return tuple(sizes)


def _deeper(path: str, depth: int) -> int:
    if depth > MAX_NESTING:
        _fail(path[:80] + "...", f"nested deeper than {MAX_NESTING} levels; use temporaries")
    return depth + 1


def _read_block(data: Json, path: str, depth: int) -> syntax.Block:
    return tuple([_read_statement(s, f"{path}[{k}]", depth) for k, s in enumerate(_list(data, path))])


def _read_statement(data: Json, path: str, depth: int) -> syntax.Stmt:
    inner = _deeper(path, depth)
    if data == "break":
        return syntax.Break()
    if data == "continue":
        return syntax.Continue()
    first = next((k for k in _STATEMENTS if k in data), None) if isinstance(data, Mapping) else None
    if first is None:
        words = "assign, while, repeat, for, if or return, or is 'break' or 'continue'"
        _fail(path, f"{_short(data)} is no statement; it has {words}")
    kind, *fields = _STATEMENTS[first]
    optional = [name for name, _, _ in fields if name == "else"]
    given = _fields(data, path, [name for name, _, _ in fields if name not in optional], optional)
    stmt: syntax.Stmt = kind(
        **{
            attribute: _READERS[what](given[name], f"{path}.{name}", inner)
            for name, attribute, what in fields
            if name in given
        }
    )
    return stmt


def _read_list(data: Json, path: str, depth: int) -> tuple[syntax.Expr, ...]:
    return tuple([_read(value, f"{path}[{k}]", depth) for k, value in enumerate(_list(data, path))])


def _read_const(data: Json, dtype: DType, path: str) -> syntax.Const:
    if dtype == "float":
        try:
            return syntax.Const(decode_float(data))
        except ProgramSyntaxError as error:
            _fail(path, str(error))
    if dtype == "int":
        if type(data) is int and -(2**63) <= data < 2**63:
            return syntax.Const(data)
        _fail(path, f"{_short(data)} is no 64-bit int")
    if isinstance(data, bool):
        return syntax.Const(data)
    _fail(path, f"{_short(data)} is no bool")


def _read(data: Json, path: str, depth: int) -> syntax.Expr:
    inner = _deeper(path, depth)
    if isinstance(data, str):
        return syntax.Name(_name(data, path))
    if isinstance(data, Mapping):
        if "op" in data:
            return _read_call(data, path, inner)
        if "array" in data:
            return _read_array(data, path)
        for dtype in _DTYPES:
            if dtype in data:
                return _read_const(_fields(data, path, (dtype,))[dtype], dtype, f"{path}.{dtype}")
    _fail(path, f"{_short(data)} is no expression; it is a name or has one of float, int, bool, array, op")


def _read_array(data: Json, path: str) -> syntax.ArrayConst:
    f = _fields(data, path, ("array", "shape", "values"))
    dtype = next((d for d in _DTYPES if d == f["array"]), None)
    if dtype is None:
        _fail(f"{path}.array", f"{_short(f['array'])} is no dtype; it is float, int or bool")
    shape, values = _shape(f["shape"], f"{path}.shape"), _list(f["values"], f"{path}.values")
    if len(values) != math.prod(shape):
        _fail(f"{path}.values", f"{len(values)} entries do not fill the shape {shape}")
    entries = [_read_const(v, dtype, f"{path}.values[{k}]") for k, v in enumerate(values)]
    return syntax.ArrayConst(dtype, shape, tuple(entries))


def _read_call(data: Json, path: str, depth: int) -> syntax.Call:
    f = _fields(data, path, ("op", "args"), ("params",))
    op = f["op"]
    if not isinstance(op, str) or op not in OPS:
        _fail(f"{path}.op", f"unknown op {_short(op)}; the ops are {listed(OPS, str(op))}")
    args = _read_list(f["args"], f"{path}.args", depth)
    given = f.get("params", {})
    known = [name for name, _ in OPS[op].params]
    if not isinstance(given, Mapping):
        _fail(f"{path}.params", f"{_short(given)} is no object")
    for name in given:
        if name not in known:
            others = ", ".join(known) or "none"
            _fail(f"{path}.params", f"{op} has no parameter {_short(name)}; it has {others}")
    params = tuple([(name, _read_param(given[name], f"{path}.params.{name}", 0)) for name in sorted(given)])
    return syntax.Call(op, args, params)


def _read_param(data: Json, path: str, depth: int) -> syntax.ParamValue:
    if data is None or isinstance(data, (bool, str)):
        return data
    if type(data) is int and -(2**63) <= data < 2**63:
        return data
    if isinstance(data, list) and depth < 2:
        return tuple([_read_param(v, f"{path}[{k}]", depth + 1) for k, v in enumerate(data)])
    wanted = "an int, a bool, a string, null, or a list of these"
    _fail(path, f"{_short(data)} is no static parameter; it is {wanted}")


_WORDS: dict[type[syntax.Stmt], str] = {syntax.Break: "break", syntax.Continue: "continue"}
_STATEMENTS: dict[str, tuple[Any, ...]] = {
    "assign": (syntax.Assign, ("assign", "target", "name"), ("value", "value", "expr")),
    "repeat": (syntax.Repeat, ("repeat", "body", "block"), ("while", "condition", "expr")),
    "while": (syntax.While, ("while", "condition", "expr"), ("body", "body", "block")),
    "for": (syntax.For, ("for", "target", "name"), ("count", "count", "expr"), ("body", "body", "block")),
    "if": (syntax.If, ("if", "condition", "expr"), ("then", "body", "block"), ("else", "orelse", "block")),
    "return": (syntax.Return, ("return", "values", "list")),
}
"""By the field that tells it: each statement, and its fields as (name, attribute, what it holds)."""
_WRITERS: dict[str, Callable[[Any], Json]] = {
    "name": lambda name: name,
    "expr": write_expression,
    "block": _write_block,
    "list": lambda values: [write_expression(v) for v in values],
}
_READERS: dict[str, Callable[[Json, str, int], Any]] = {
    "name": lambda data, path, depth: _name(data, path),
    "expr": _read,
    "block": _read_block,
    "list": _read_list,
}
