"""Version 1 of the protocol: newline-delimited JSON, one request, one reply, in order.

    gradfuzz -> adapter   {"id": 3, "do": "hello" | "define" | "supports" | "eval" | "several" | "emit"
                                          | "bye", ...}
    adapter -> gradfuzz   {"id": 3, "ok": {...}}
                          {"id": 3, "unsupported": "why"}
                          {"id": 3, "error": {"kind": "exception", "message": "ValueError: ..."}}

A reply has exactly one of `ok`, `unsupported` and `error`, and no field that is not named here. What `ok`
holds depends on the request: `HelloOk`, `DefineOk`, `SupportsOk`, `EvalOk`, `SeveralOk`, `EmitOk`, `ByeOk`.
Requests are checked by the same types before they are sent.
"""

from __future__ import annotations

from typing import Annotated, Any, Generic, Literal, TypeVar

import msgspec
from msgspec import UNSET, Meta, Raw, Struct, UnsetType

from gradfuzz.errors import ProtocolError

VERSION = 1

P = TypeVar("P")

Size = Annotated[int, Meta(ge=0)]
Special = Literal["NaN", "Infinity", "-Infinity", "-0.0"]
Scalar = bool | int | float | Special
FloatName = Literal["float64", "float32", "bfloat16", "float16"]
OtherName = Literal[
    "complex128",
    "complex64",
    "bool",
    "int64",
    "int32",
    "int16",
    "int8",
    "uint64",
    "uint32",
    "uint16",
    "uint8",
]
DTypeName = FloatName | OtherName
Mode = Literal["rev", "fwd"]
LoopForm = Literal["for", "while", "repeat"]
Feature = Literal["branches", "break", "continue", "nested", "runtime_trips"]
Kind = Literal["exception", "non_finite", "bad_request", "out_of_memory"]


class Tensor(Struct, forbid_unknown_fields=True):
    """An array, its entries in row-major order: as numbers in `data`, or as little-endian bytes in `base64`;
    one of the two.

    A float that JSON has no number for is one of four strings. A complex entry is two numbers, real and
    imaginary part.
    """

    dtype: DTypeName
    shape: list[Size]
    data: list[Scalar] | UnsetType = UNSET
    base64: str | UnsetType = UNSET


# Requests ---------------------------------------------------------------------------------------------------


class Hello(Struct, tag="hello", tag_field="do", forbid_unknown_fields=True):
    """The first request: who is there, and what can it do?"""

    id: Size
    protocol: int


class Define(Struct, tag="define", tag_field="do", forbid_unknown_fields=True):
    """A program, to be kept under the name `program`; those named in `forget` are not asked about again.

    A loop that runs longer than `trip_limit` trips is an error of kind exception.
    """

    id: Size
    program: str
    form: dict[str, Any]
    forget: list[str]
    trip_limit: Size


class Asked(Struct, forbid_unknown_fields=True):
    """What `eval` and `emit` say: the outputs of a program, and a derivative, at `count` points.

    Every tensor of `inputs` has a leading axis over the points. What is differentiated is F = sum of
    <weights, output> over the outputs that have a weight; `modes` are the derivatives from the innermost to
    the outermost, every one but the last taken along `directions`. An empty list asks for the outputs alone.
    """

    id: Size
    program: str
    way: str
    dtype: FloatName
    count: Size
    inputs: dict[str, Tensor]
    wrt: list[str]
    modes: list[Mode]
    weights: list[Tensor | None]
    directions: dict[str, Tensor]


class Eval(Asked, tag="eval", tag_field="do", forbid_unknown_fields=True):
    """The question itself."""


class Several(Struct, tag="several", tag_field="do", forbid_unknown_fields=True):
    """Many questions at once, for whom that is cheaper; the ids inside mean nothing. Only where `hello` lists
    "several".
    """

    id: Size
    evals: list[Eval]


class Supports(Struct, tag="supports", tag_field="do", forbid_unknown_fields=True):
    """Which ways can answer questions like this? Only where `hello` lists "supports": what its ways promise
    is not all that there is to say.
    """

    id: Size
    program: str
    dtype: FloatName
    wrt: list[str]
    modes: list[Mode]


class Emit(Asked, tag="emit", tag_field="do", forbid_unknown_fields=True):
    """The question as a program in the target's language that asks it without gradfuzz. Only where `hello`
    lists "emit".
    """


class Bye(Struct, tag="bye", tag_field="do", forbid_unknown_fields=True):
    """The last request; the adapter replies and exits."""

    id: Size


Request = Hello | Define | Supports | Eval | Several | Emit | Bye


# Replies ----------------------------------------------------------------------------------------------------


class Failure(Struct, forbid_unknown_fields=True):
    """What went wrong: the library raised, it refused to return what is not finite, the request was no good,
    memory ran out.
    """

    kind: Kind
    message: str


class Reply(Struct, forbid_unknown_fields=True):
    """A reply before its `ok` is looked into."""

    id: Size
    ok: Raw | UnsetType = UNSET
    unsupported: str | UnsetType = UNSET
    error: Failure | UnsetType = UNSET


class Ok(Struct, Generic[P], forbid_unknown_fields=True):
    """A reply that is ok."""

    id: Size
    ok: P


class Way(Struct, forbid_unknown_fields=True):
    """One way into the library, and what can be asked of it. Several orders and modes mean every sequence of
    them.

    The fields with defaults are hints to a sweep: how seldom it should ask (`stride`), whether every new
    shape costs a compilation, whether the way is another one run otherwise, whether all points of a request
    are the instances of one vectorized call, and whether many requests at once are cheaper.
    """

    name: str
    ops: list[str]
    dtypes: list[FloatName]
    modes: list[Mode]
    orders: list[Size]
    loops: list[LoopForm]
    features: list[Feature]
    stride: Annotated[int, Meta(ge=1)] = 1
    by_shape: bool = False
    variant: bool = False
    together: bool = False
    bulk: bool = False


class HelloOk(Struct, forbid_unknown_fields=True):
    """Who is there: the library and its version, the language, and every way into it. `features` lists what
    of the protocol is optional.
    """

    protocol: int
    name: str
    version: str
    language: str
    ways: Annotated[list[Way], Meta(min_length=1)]
    features: list[Literal["base64", "emit", "several", "supports"]] = []


class DefineOk(Struct, forbid_unknown_fields=True):
    """The program is kept."""


class Result(Struct, forbid_unknown_fields=True):
    """The outputs, and for each name of `wrt` the derivative, as the library returned them."""

    values: list[Tensor]
    gradient: dict[str, Tensor]


class PointReply(Struct, forbid_unknown_fields=True):
    """What became of one point: exactly one of the three."""

    ok: Result | UnsetType = UNSET
    unsupported: str | UnsetType = UNSET
    error: Failure | UnsetType = UNSET


class EvalOk(Struct, forbid_unknown_fields=True):
    """One entry of `results` per point; or, where all points went well and alike, `stacked`, whose tensors
    have a leading axis over the points.
    """

    results: list[PointReply] | UnsetType = UNSET
    stacked: Result | UnsetType = UNSET


class Reached(Struct, forbid_unknown_fields=True):
    """What became of one of several questions: exactly one of the three."""

    ok: EvalOk | UnsetType = UNSET
    unsupported: str | UnsetType = UNSET
    error: Failure | UnsetType = UNSET


class SeveralOk(Struct, forbid_unknown_fields=True):
    """One reply per question, in order."""

    replies: list[Reached]


class SupportsOk(Struct, forbid_unknown_fields=True):
    """Why not, for each way that cannot."""

    refusals: dict[str, str]


class EmitOk(Struct, forbid_unknown_fields=True):
    """A program that shows the question."""

    language: str
    source: str


class ByeOk(Struct, forbid_unknown_fields=True):
    """Nothing more will come."""


_encoder = msgspec.json.Encoder()
_requests: msgspec.json.Decoder[Request] = msgspec.json.Decoder(Request)
_replies = msgspec.json.Decoder(Reply)
_payloads: dict[type, msgspec.json.Decoder[Any]] = {
    kind: msgspec.json.Decoder(kind)
    for kind in (HelloOk, DefineOk, SupportsOk, EvalOk, SeveralOk, EmitOk, ByeOk)
}
_oks: dict[type, msgspec.json.Decoder[Ok[Any]]] = {
    EvalOk: msgspec.json.Decoder(Ok[EvalOk]),
    SeveralOk: msgspec.json.Decoder(Ok[SeveralOk]),
}
"""The replies that there are many of."""

_QUOTED = 200
"""Characters of a line that an error shows."""


def quoted(line: bytes | bytearray) -> str:
    """The beginning of a line as an error shows it."""
    text = repr(line[: _QUOTED + 1].decode("utf-8", "replace"))
    return text if len(line) <= _QUOTED else f"{text[:_QUOTED]}...' ({len(line):,} bytes)"


def encode_request(request: Request) -> bytes:
    """The line of a request, checked."""
    line = _encoder.encode(request)
    try:
        _requests.decode(line)
    except msgspec.MsgspecError as error:
        raise ProtocolError(f"gradfuzz made a wrong request ({error}): {quoted(line)}") from error
    return line + b"\n"


def decode_request(line: bytes | bytearray) -> Request:
    """The request that a line holds; `ProtocolError` where it holds none."""
    try:
        return _requests.decode(line)
    except msgspec.MsgspecError as error:
        raise ProtocolError(f"no request ({error}): {quoted(line)}") from error


def decode_reply(line: bytes) -> Reply:
    """The reply that a line holds; `ProtocolError`, which quotes the line, where it holds none."""
    try:
        reply = _replies.decode(line)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise ProtocolError(f"the line is no reply ({error}): {quoted(line)}") from error
    _one_of("reply", reply.ok, reply.unsupported, reply.error)
    return reply


def decode_ok(line: bytes, kind: type[P]) -> tuple[int, P] | None:
    """The id of a reply to many a request, and what it holds, in one go. None for every other line:
    `decode_reply` and `payload` say what it is.
    """
    decoder = _oks.get(kind)
    if decoder is None:
        return None
    try:
        reply = decoder.decode(line)
        _check(reply.ok, line)
    except (msgspec.MsgspecError, UnicodeDecodeError, ProtocolError):
        return None
    return reply.id, reply.ok


def payload(reply: Reply, kind: type[P]) -> P:
    """What the `ok` of a reply holds."""
    assert not isinstance(reply.ok, UnsetType), "the reply is not ok"
    try:
        found: P = _payloads[kind].decode(reply.ok)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise ProtocolError(
            f"the reply is no {kind.__name__} ({error}): {quoted(bytes(reply.ok))}"
        ) from error
    _check(found, bytes(reply.ok))
    return found


def _check(found: object, line: bytes) -> None:
    """What the types of a message cannot say."""
    if isinstance(found, EvalOk):
        _sound(found, line)
    if isinstance(found, SeveralOk):
        for one in found.replies:
            _one_of("reply", one.ok, one.unsupported, one.error)
            if isinstance(one.ok, EvalOk):
                _sound(one.ok, line)


def _sound(found: EvalOk, line: bytes) -> None:
    if (found.results is UNSET) == (found.stacked is UNSET):
        raise ProtocolError(f"the reply has not exactly one of results and stacked: {quoted(line)}")
    for entry in found.results or ():
        _one_of("result", entry.ok, entry.unsupported, entry.error)


def encode(message: object) -> bytes:
    """The line of any message: what an adapter written with these types replies."""
    return _encoder.encode(message) + b"\n"


def _one_of(what: str, *arms: object) -> None:
    if sum(arm is not UNSET for arm in arms) != 1:
        raise ProtocolError(f"a {what} has exactly one of ok, unsupported and error")
