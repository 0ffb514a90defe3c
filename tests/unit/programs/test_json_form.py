"""The JSON form: what it looks like, and the place and reason for everything that is not it."""

from __future__ import annotations

import copy
import json
import math
from typing import Any

import numpy as np
import pytest

from gradfuzz.errors import ProgramSyntaxError
from gradfuzz.programs import Name, Program, Return, call, from_json, parse, to_json
from gradfuzz.programs.language.typecheck import MAX_NESTING
from gradfuzz.programs.text.json_form import decode_array, decode_float, encode_array, encode_float

TEXT = """
def f(x, v: "float[3]", n: "int"):
    acc = -0.0
    for i in range(n):
        if x < 1:
            break
        acc = acc * x ** 2
    while acc < 3.0:
        continue
    while True:
        v[i] = sum(v, axis=0)
        if not True:
            break
    return acc, array([1.0, nan])
"""

DATA: dict[str, Any] = {
    "gradfuzz": 1,
    "name": "f",
    "params": [["x", "float"], ["v", "float[3]"], ["n", "int"]],
    "body": [
        {"assign": "acc", "value": {"float": "-0.0"}},
        {
            "for": "i",
            "count": "n",
            "body": [
                {"if": {"op": "less", "args": ["x", {"int": 1}]}, "then": ["break"], "else": []},
                {
                    "assign": "acc",
                    "value": {
                        "op": "multiply",
                        "args": ["acc", {"op": "integer_pow", "args": ["x"], "params": {"n": 2}}],
                    },
                },
            ],
        },
        {"while": {"op": "less", "args": ["acc", {"float": 3.0}]}, "body": ["continue"]},
        {
            "repeat": [
                {
                    "assign": "v",
                    "value": {
                        "op": "index_update",
                        "args": [
                            "v",
                            {"op": "sum", "args": ["v"], "params": {"axis": 0, "keepdims": False}},
                            "i",
                        ],
                        "params": {"pattern": ["at"]},
                    },
                }
            ],
            "while": {"bool": True},
        },
        {"return": ["acc", {"array": "float", "shape": [2], "values": [1.0, "NaN"]}]},
    ],
}


def test_a_program() -> None:
    assert to_json(parse(TEXT)) == DATA
    assert from_json(DATA) == parse(TEXT)
    assert from_json(json.loads(json.dumps(DATA, allow_nan=False))) == parse(TEXT)


def test_params_are_sorted_and_else_may_be_missing() -> None:
    data = copy.deepcopy(DATA)
    del data["body"][1]["body"][0]["else"]
    data["body"][3]["repeat"][0]["value"]["args"][1]["params"] = {"keepdims": False, "axis": 0}
    assert from_json(data) == parse(TEXT)


def test_a_float_may_come_without_its_fraction() -> None:
    data = copy.deepcopy(DATA)
    data["body"][2]["while"]["args"][1] = {"float": 3}  # as JavaScript writes 3.0
    assert from_json(data) == parse(TEXT)


VALUE = ["body", 0, "value"]
BAD: list[tuple[list[Any], Any, str]] = [
    ([], None, "program: None is no object"),
    ([], [], r"program: \[\] is no object"),
    ([], {}, "program: the field 'gradfuzz' is missing"),
    (["gradfuzz"], 2, "gradfuzz: version 2 of the form cannot be read; this is version 1"),
    (["gradfuzz"], True, "gradfuzz: version True"),
    (["extra"], 1, "program: the field 'extra' is unknown"),
    (["name"], 1, "name: 1 is no name"),
    (["name"], "sin", "name: sin cannot be the name"),
    (["name"], "f(x): pass #", "name: .* cannot be the name"),
    (["params"], {}, "params: {} is no list"),
    (["params", 0], "x", r"params\[0\]: 'x' is no parameter; it is \[name, type\]"),
    (["params", 0], ["x"], r"params\[0\]"),
    (["params", 0], ["x", "double"], r"params\[0\]: .*`double` is no type"),
    (["params", 0], ["while", "float"], r"params\[0\]: 'while' cannot be the name"),
    (["body"], None, "body: None is no list"),
    (["body", 0], None, r"body\[0\]: None is no statement"),
    (["body", 0], "brake", r"body\[0\]: 'brake' is no statement"),
    (["body", 0], {}, r"body\[0\]: {} is no statement"),
    (["body", 0], {"assign": "x"}, r"body\[0\]: the field 'value' is missing"),
    (["body", 0, "line"], 3, r"body\[0\]: the field 'line' is unknown; the fields are assign, value"),
    (["body", 0, "assign"], "a b", r"body\[0\].assign: 'a b' cannot be the name"),
    (["body", 0, "assign"], "__x", r"body\[0\].assign: '__x' cannot be the name"),
    (VALUE, None, r"body\[0\].value: None is no expression"),
    (VALUE, 0.5, r"body\[0\].value: 0.5 is no expression"),
    (VALUE, [], r"body\[0\].value: \[\] is no expression"),
    (VALUE, {"integer": 1}, r"body\[0\].value: .* is no expression"),
    (VALUE, {"float": "0.5"}, r"body\[0\].value.float: '0.5' is no float"),
    (VALUE, {"float": None}, r"body\[0\].value.float: None is no float"),
    (VALUE, {"float": True}, r"body\[0\].value.float: True is no float"),
    (VALUE, {"float": 10**400}, r"body\[0\].value.float: 1000.* is no float"),
    (VALUE, {"int": 1.0}, r"body\[0\].value.int: 1.0 is no 64-bit int"),
    (VALUE, {"int": 2**63}, r"body\[0\].value.int: 9223372036854775808 is no 64-bit int"),
    (VALUE, {"int": True}, r"body\[0\].value.int: True is no 64-bit int"),
    (VALUE, {"bool": 1}, r"body\[0\].value.bool: 1 is no bool"),
    (VALUE, {"float": 1.0, "int": 1}, r"body\[0\].value: the field 'int' is unknown"),
    (VALUE, {"op": "sine", "args": []}, r"body\[0\].value.op: unknown op 'sine'"),
    (VALUE, {"op": ["sin"], "args": []}, r"body\[0\].value.op: unknown op"),
    (VALUE, {"op": "sin"}, r"body\[0\].value: the field 'args' is missing"),
    (VALUE, {"op": "sin", "args": "x"}, r"body\[0\].value.args: 'x' is no list"),
    (VALUE, {"op": "sin", "args": [None]}, r"body\[0\].value.args\[0\]: None is no expression"),
    (VALUE, {"op": "sum", "args": ["x"], "params": []}, r"body\[0\].value.params: \[\] is no object"),
    (
        VALUE,
        {"op": "sum", "args": ["x"], "params": {"dim": 0}},
        r"body\[0\].value.params: sum has no parameter 'dim'",
    ),
    (
        VALUE,
        {"op": "sum", "args": ["x"], "params": {"axis": 0.5}},
        r"body\[0\].value.params.axis: 0.5 is no static parameter",
    ),
    (
        VALUE,
        {"op": "sum", "args": ["x"], "params": {"axis": [0, {}]}},
        r"body\[0\].value.params.axis\[1\]: {} is no static parameter",
    ),
    (
        VALUE,
        {"op": "sum", "args": ["x"], "params": {"axis": [[[0]]]}},
        r"body\[0\].value.params.axis\[0\]\[0\]: \[0\] is no static",
    ),
    (VALUE, {"array": "double", "shape": [], "values": []}, r"body\[0\].value.array: 'double' is no dtype"),
    (VALUE, {"array": "float", "shape": [-1], "values": []}, r"body\[0\].value.shape: \[-1\] is no shape"),
    (VALUE, {"array": "float", "shape": [0, 10**30], "values": []}, r"body\[0\].value.shape: .* is no shape"),
    (
        VALUE,
        {"array": "float", "shape": [2], "values": [1.0]},
        r"body\[0\].value.values: 1 entries do not fill",
    ),
    (
        VALUE,
        {"array": "int", "shape": [1], "values": [1.0]},
        r"body\[0\].value.values\[0\]: 1.0 is no 64-bit int",
    ),
    (
        ["body", 1, "body", 1, "value", "args", 0],
        "1x",
        r"body\[1\].body\[1\].value.args\[0\]: '1x' cannot be the name",
    ),
    (["body", 3, "repeat", 0], 1, r"body\[3\].repeat\[0\]: 1 is no statement"),
    (["body", 4, "return"], "x", r"body\[4\].return: 'x' is no list"),
    (["body", 4, "return", 1, "values", 0], "nan", r"body\[4\].return\[1\].values\[0\]: 'nan' is no float"),
]


@pytest.mark.parametrize(("path", "value", "reason"), BAD, ids=[reason[:60] for _, _, reason in BAD])
def test_what_is_not_the_form(path: list[Any], value: Any, reason: str) -> None:
    holder: Any = {"data": copy.deepcopy(DATA)}
    *way, last = ["data", *path]
    place = holder
    for key in way:
        place = place[key]
    place[last] = value
    with pytest.raises(ProgramSyntaxError, match=f"^{reason}"):
        from_json(holder["data"])


def test_deep_data_is_an_error_and_no_crash() -> None:
    expr: Any = "x"
    for _ in range(100_000):
        expr = {"op": "sin", "args": [expr]}
    data = {"gradfuzz": 1, "name": "f", "params": [], "body": [{"return": [expr]}]}
    with pytest.raises(ProgramSyntaxError, match=f"nested deeper than {MAX_NESTING} levels"):
        from_json(data)
    nested: Any = 0
    for _ in range(100_000):
        nested = [nested]
    data["body"] = [{"return": [{"op": "sum", "args": ["x"], "params": {"axis": nested}}]}]
    with pytest.raises(ProgramSyntaxError, match="no static parameter"):
        from_json(data)
    data["body"] = nested
    with pytest.raises(ProgramSyntaxError, match="no statement"):
        from_json(data)


def test_nesting_up_to_the_limit_is_read() -> None:
    expr = Name("x")
    deep: Any = expr
    for _ in range(MAX_NESTING - 2):
        deep = call("sin", deep)
    program = Program("f", (), (Return((deep,)),))
    assert from_json(to_json(program)) == program


# Floats and arrays ------------------------------------------------------------------------------------------

FLOATS = [
    (0.5, 0.5),
    (-0.0, "-0.0"),
    (0.0, 0.0),
    (math.nan, "NaN"),
    (math.inf, "Infinity"),
    (-math.inf, "-Infinity"),
    (5e-324, 5e-324),
    (2.0**53 + 2, 2.0**53 + 2),
    (np.float32(0.1), 0.10000000149011612),
]


@pytest.mark.parametrize(("value", "data"), FLOATS)
def test_floats(value: float, data: float | str) -> None:
    encoded = encode_float(value)
    assert (type(encoded), encoded) == (type(data), data)
    assert decode_float(data).hex() == float(value).hex()


@pytest.mark.parametrize("data", ["nan", "inf", "1.0", "", None, True, [], {}, 10**400])
def test_what_is_no_float(data: object) -> None:
    with pytest.raises(ProgramSyntaxError, match="is no float"):
        decode_float(data)


def test_arrays() -> None:
    array = np.array([[0.5, -0.0, np.nan]], np.float32)
    assert encode_array(array) == {"dtype": "float32", "shape": [1, 3], "values": [0.5, "-0.0", "NaN"]}
    assert encode_array(3) == {"dtype": "int64", "shape": [], "values": [3]}
    assert encode_array(np.complex64(1 - 2j)) == {"dtype": "complex64", "shape": [], "values": [[1.0, -2.0]]}
    again = decode_array(encode_array(array))
    assert again.dtype == np.float32
    assert again.tobytes() == array.tobytes()


def test_an_array_that_json_cannot_carry() -> None:
    with pytest.raises(ProgramSyntaxError, match="dtype object has no JSON form"):
        encode_array(np.array([object()]))


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (None, "array: None is no object"),
        ({"dtype": "float64", "shape": []}, "array: the field 'values' is missing"),
        ({"dtype": "object", "shape": [], "values": [1]}, "array.dtype: 'object' is no dtype"),
        ({"dtype": ["float64"], "shape": [], "values": [1]}, "array.dtype"),
        ({"dtype": "float64", "shape": 1, "values": [1]}, "array.shape: 1 is no list"),
        ({"dtype": "float64", "shape": [2], "values": [1]}, "array.values: 1 entries do not fill"),
        (
            {"dtype": "float64", "shape": [1], "values": ["x"]},
            r"array.values\[0\]: 'x' is no entry of dtype float64",
        ),
        (
            {"dtype": "int64", "shape": [1], "values": [0.5]},
            r"array.values\[0\]: 0.5 is no entry of dtype int64",
        ),
        (
            {"dtype": "int8", "shape": [1], "values": [128]},
            r"array.values\[0\]: 128 is no entry of dtype int8",
        ),
        ({"dtype": "bool", "shape": [1], "values": [1]}, r"array.values\[0\]: 1 is no entry of dtype bool"),
        ({"dtype": "complex64", "shape": [1], "values": [1.0]}, r"array.values\[0\]"),
        ({"dtype": "complex64", "shape": [1], "values": [[1.0]]}, r"array.values\[0\]"),
    ],
)
def test_what_is_no_array(data: object, reason: str) -> None:
    with pytest.raises(ProgramSyntaxError, match=reason):
        decode_array(data)
