"""Messages: both directions checked, tensors bit for bit, the published schema, programs with nothing left to
find out.
"""

from __future__ import annotations

import copy
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from gradfuzz.errors import GradfuzzError, ProtocolError
from gradfuzz.oracles.foreign import protocol, schema
from gradfuzz.oracles.foreign.protocol import EvalOk, Failure, Hello, HelloOk, Tensor
from gradfuzz.oracles.foreign.tensors import from_tensor, split, to_tensor
from gradfuzz.oracles.foreign.wire import from_wire, to_wire
from gradfuzz.programs import interpret, parse
from gradfuzz.programs.arithmetic.numpy_namespace import NumpyNamespace
from gradfuzz.programs.language.precision import FORMATS
from gradfuzz.strategies import FAMILIES, draw_many

jsonschema = pytest.importorskip("jsonschema")

ROOT = Path(__file__).parents[3]

# Tensors ----------------------------------------------------------------------------------------------------


def bits(a: Any) -> tuple[str, tuple[int, ...], bytes]:
    return a.dtype.name, a.shape, a.tobytes()


def round_trip(array: Any, *, binary: bool) -> Any:
    tensor = msgspec.json.decode(msgspec.json.encode(to_tensor(array, binary=binary)), type=Tensor)
    return from_tensor(tensor)


@pytest.mark.parametrize("binary", [False, True])
@pytest.mark.parametrize("precision", FORMATS)
def test_floats_come_back_bit_for_bit(precision: str, binary: bool, seed: int) -> None:
    own = FORMATS[precision]
    rng = np.random.default_rng(seed)
    random = np.frombuffer(rng.bytes(64 * own.dtype.itemsize), own.dtype)
    with np.errstate(invalid="ignore"):
        random = random[~np.isnan(random)]
    special = np.array([np.inf, -np.inf, -0.0, 0.0, own.largest, own.normal, 1 / 3]).astype(own.dtype)
    for array in (
        random,
        special,
        special[2],
        special[:6].reshape(2, 3),
        special[:0],
        np.asarray(special[0]),
    ):
        assert bits(round_trip(array, binary=binary)) == bits(np.asarray(array))
    back = round_trip(np.array([np.nan, 1.0]).astype(own.dtype), binary=binary)
    assert np.isnan(back[0].astype(float))
    assert back[1] == 1


@pytest.mark.parametrize("binary", [False, True])
@pytest.mark.parametrize("dtype", ["int64", "int32", "uint8", "bool", "complex64", "complex128"])
def test_other_dtypes_come_back(dtype: str, binary: bool) -> None:
    array = np.arange(40).astype(dtype).reshape(4, 10)
    if dtype.startswith("complex"):
        array[0, 0] = complex(-0.0, np.inf)
    assert bits(round_trip(array, binary=binary)) == bits(array)
    assert bits(round_trip(array[0, 1], binary=binary)) == bits(np.asarray(array[0, 1]))


def test_a_long_array_goes_as_bytes_where_they_are_read() -> None:
    assert to_tensor(np.zeros(100), binary=True).data is msgspec.UNSET
    assert to_tensor(np.zeros(100)).base64 is msgspec.UNSET
    assert [a.tolist() for a in split(np.array([[1, 2], [3, 4]]), 2)] == [[1, 2], [3, 4]]


@pytest.mark.parametrize(
    ("tensor", "words"),
    [
        ({"dtype": "float64", "shape": [2], "data": [1.0]}, "1 numbers do not fill"),
        ({"dtype": "float64", "shape": [2], "base64": "AAAA"}, "3 bytes do not fill 2 entries"),
        ({"dtype": "float64", "shape": [2], "base64": "?"}, "cannot be read"),
        ({"dtype": "float64", "shape": []}, "exactly one of data and base64"),
        ({"dtype": "float64", "shape": [], "data": [1.0], "base64": ""}, "exactly one of data and base64"),
        ({"dtype": "int64", "shape": [1], "data": [0.5]}, "is no int64"),
        ({"dtype": "int8", "shape": [1], "data": [300]}, "is no int8"),
        ({"dtype": "bool", "shape": [1], "data": [1]}, "is no bool"),
        ({"dtype": "float64", "shape": [1], "data": [True]}, "is no float64"),
        ({"dtype": "bool", "shape": [1], "base64": "Ag=="}, "a byte of a bool tensor is 0 or 1"),
    ],
)
def test_a_tensor_that_is_none(tensor: dict[str, Any], words: str) -> None:
    with pytest.raises(ProtocolError, match=re.escape(words)):
        from_tensor(msgspec.convert(tensor, Tensor))


# Replies ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (b"Loading model ...", "the line is no reply"),
        (b'{"id": 1}', "exactly one of ok, unsupported and error"),
        (b'{"id": 1, "ok": {}, "unsupported": "no"}', "exactly one of ok, unsupported and error"),
        (b'{"id": 1, "ok": {}, "extra": 1}', "extra"),
        (b'{"id": "1", "ok": {}}', "Expected `int`"),
        (b'{"id": 1, "error": {"kind": "strange", "message": ""}}', "strange"),
        (b'{"id": 1, "ok": {"x": NaN}}', "JSON is malformed"),
        (b'\xff\xfe{"id": 1}', "the line is no reply"),
    ],
)
def test_a_line_that_is_no_reply_is_quoted(line: bytes, words: str) -> None:
    with pytest.raises(ProtocolError, match=re.escape(words)):
        protocol.payload(protocol.decode_reply(line), EvalOk)


def test_a_long_line_is_quoted_in_part() -> None:
    with pytest.raises(ProtocolError, match=r"'x{199}\.\.\.' \(1,000,000 bytes\)"):
        protocol.decode_reply(b"x" * 1_000_000)


@pytest.mark.parametrize(
    ("ok", "words"),
    [
        ({}, "exactly one of results and stacked"),
        ({"results": [{}]}, "exactly one of ok, unsupported and error"),
        ({"results": [{"ok": {"values": []}}]}, "gradient"),
        (
            {
                "results": [
                    {"ok": {"values": [{"dtype": "float65", "shape": [], "data": [1]}], "gradient": {}}}
                ]
            },
            "float65",
        ),
        (
            {
                "results": [
                    {"ok": {"values": [{"dtype": "float64", "shape": [-1], "data": []}], "gradient": {}}}
                ]
            },
            ">= 0",
        ),
    ],
)
def test_what_an_eval_may_not_reply(ok: dict[str, Any], words: str) -> None:
    reply = protocol.decode_reply(json.dumps({"id": 1, "ok": ok}).encode())
    with pytest.raises(ProtocolError, match=re.escape(words)):
        protocol.payload(reply, EvalOk)


def test_a_request_is_checked_before_it_is_sent() -> None:
    assert protocol.encode_request(Hello(1, 1)) == b'{"do":"hello","id":1,"protocol":1}\n'
    with pytest.raises(ProtocolError, match="gradfuzz made a wrong request"):
        protocol.encode_request(Hello(-1, 1))


# Schema -----------------------------------------------------------------------------------------------------


def test_the_published_schema_is_that_of_the_types() -> None:
    assert schema.PUBLISHED.read_text(encoding="utf-8") == schema.text()
    jsonschema.Draft202012Validator.check_schema(schema.document())


def valid(message: Any, definition: str) -> bool:
    whole = {**schema.document(), "$ref": f"#/$defs/{definition}"}
    del whole["anyOf"]
    return bool(jsonschema.Draft202012Validator(whole).is_valid(message))


def conversation() -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """The one in docs/targets.md: requests and replies."""
    text = (ROOT / "docs" / "targets.md").read_text(encoding="utf-8")
    lines = text[text.index("```jsonl\n") :].split("```")[1].splitlines()[1:]
    said = [(line[0], json.loads(line[2:])) for line in lines]
    assert [who for who, _ in said] == [">", "<"] * (len(said) // 2)
    return [(request, reply) for (_, request), (_, reply) in zip(said[::2], said[1::2], strict=True)]


def test_the_conversation_in_the_docs_is_valid() -> None:
    for request, reply in conversation():
        assert valid(request, "Request"), request
        assert valid(reply, "Reply"), reply
        broken = copy.deepcopy(request)
        broken["more"] = 1
        assert not valid(broken, "Request")
        assert not valid({**reply, "more": 1}, "Reply")
        protocol.decode_request(json.dumps(request).encode())
        protocol.decode_reply(json.dumps(reply).encode())


def alike(a: Any, b: Any) -> bool:
    """Equal, but that floats may differ in the last places: sines are the platform's."""
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(alike(a[k], b[k]) for k in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(alike, a, b))
    if isinstance(a, float) and isinstance(b, float):
        return a == pytest.approx(b, rel=1e-14)
    return bool(a == b)


def test_the_conversation_in_the_docs_is_what_the_toy_says() -> None:
    said = conversation()
    lines = "".join(json.dumps(request) + "\n" for request, _ in said)
    script = ROOT / "gradfuzz" / "adapters" / "toy_adapter.py"
    done = subprocess.run(
        [sys.executable, script], input=lines, capture_output=True, text=True, check=True, timeout=60
    )
    replies = [json.loads(line) for line in done.stdout.splitlines()]
    replies[0]["ok"]["language"] = said[0][1]["ok"]["language"]
    assert len(replies) == len(said)
    for got, (_, expected) in zip(replies, said, strict=True):
        assert alike(got, expected), (got, expected)


def test_hello_has_defaults() -> None:
    line = (
        b'{"id": 1, "ok": {"protocol": 1, "name": "n", "version": "v", "language": "l", "ways": [{"name": "",'
        b' "ops": [], "dtypes": [], "modes": [], "orders": [], "loops": [], "features": []}]}}'
    )
    hello = protocol.payload(protocol.decode_reply(line), HelloOk)
    assert hello.features == []
    assert hello.ways[0].stride == 1
    with pytest.raises(ProtocolError, match="length >= 1"):
        protocol.payload(protocol.decode_reply(re.sub(rb'"ways": \[.*\]', b'"ways": []', line)), HelloOk)


def test_a_failure_is_no_ok() -> None:
    reply = protocol.decode_reply(b'{"id": 1, "error": {"kind": "non_finite", "message": "m"}}')
    assert reply.error == Failure("non_finite", "m")


# Programs ---------------------------------------------------------------------------------------------------

LOOPS = parse("""
def f(x, n: "int", b: "bool"):
    acc = 1
    unused = x
    for i in range(n):
        t = acc * x
        if t > 2:
            acc = t / (i + 1)
            unused = t
        else:
            break
    while True:
        z = acc * 2 + where(b, 1, 0)
        acc = z
        if not z < 10:
            break
    k = 0
    while k < n:
        k = k + 1
        z = z + x
    return acc, z, k
""")


def test_what_a_loop_carries_and_captures() -> None:
    body = to_wire(LOOPS)["body"]
    loop, repeat, last = body[2], body[3], body[5]
    assert {name: loop[name] for name in ("carries", "captures", "results")} == {
        "carries": ["acc"],
        "captures": ["x"],
        "results": [],
    }
    branch = loop["body"][1]
    assert branch["assigns"] == ["acc"]  # nobody reads unused again
    assert branch["captures"] == ["i", "t"]
    assert {name: repeat[name] for name in ("carries", "captures", "results")} == {
        "carries": ["acc"],
        "captures": ["b"],
        "results": ["z"],
    }
    assert {name: last[name] for name in ("carries", "captures", "results")} == {
        "carries": ["k", "z"],
        "captures": ["n", "x"],
        "results": [],
    }


def test_conversions_are_explicit() -> None:
    form = to_wire(LOOPS)
    assert form["body"][0] == {"assign": "acc", "value": {"float": 1.0}}
    divided = form["body"][2]["body"][1]["then"][0]["value"]
    assert divided["args"][1]["op"] == "astype"
    assert divided["args"][1]["type"] == "float"
    assert form["variables"]["acc"] == "float"
    assert form["outputs"] == ["float", "float", "int"]


def test_parameters_are_complete() -> None:
    form = to_wire(parse('def f(v: "float[2, 3]"):\n    return sum(v, axis=0)\n'))
    assert form["body"][0]["return"][0]["params"] == {"axis": 0, "keepdims": False}


@pytest.mark.parametrize("family", ["loops", "linalg", "tensor", "complex"])
def test_a_drawn_program_means_the_same_in_both_forms(family: str, seed: int) -> None:
    """Outputs bit for bit, at the points that were drawn with it; and its form is valid."""
    checker = jsonschema.Draft202012Validator({**schema.document(), "anyOf": [{"$ref": "#/$defs/Program"}]})
    for drawn in draw_many(FAMILIES[family].cases(("float64",)), 12, f"wire/{seed}"):
        form = json.loads(json.dumps(to_wire(drawn.program), allow_nan=False))
        assert checker.is_valid(form)
        back = from_wire(form)
        assert to_wire(back)["outputs"] == form["outputs"]
        for point in drawn.points:
            inputs = {
                p.name: v if p.type.shape or p.type.is_float else np.asarray(v).item()
                for p in drawn.program.params
                for v in [point[p.name]]
            }
            results = []
            for program in (drawn.program, back):
                try:
                    results.append(
                        [
                            np.asarray(y).tobytes()
                            for y in interpret(program, inputs, NumpyNamespace("float64"))
                        ]
                    )
                except GradfuzzError as error:
                    results.append([type(error).__name__.encode()])
            assert results[0] == results[1]
