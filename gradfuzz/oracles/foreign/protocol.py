"""Version 1 of the protocol: newline-delimited JSON, one request, one reply, in order.

    gradfuzz -> adapter   {"id": 3, "do": "hello" | "define" | "supports" | "eval" | "several" | "emit"
                           | "bye", ...}
    adapter -> gradfuzz   {"id": 3, "ok": {...}}
                          {"id": 3, "unsupported": "why"}
                          {"id": 3, "error": {"kind": "exception", "message": "ValueError: ..."}}

A reply has exactly one of `ok`, `unsupported` and `error`, and no field that is not named here. The type of
`ok` depends on the request: `HelloOk`, `DefineOk`, `SupportsOk`, `EvalOk`, `SeveralOk`, `EmitOk`, `ByeOk`.
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
_IntName = Literal["int64", "int32", "int16", "int8", "uint64", "uint32", "uint16", "uint8"]
OtherName = Literal["complex128", "complex64", "bool", _IntName]
DTypeName = FloatName | OtherName
Mode = Literal["rev", "fwd"]
LoopForm = Literal["for", "while", "repeat"]
Feature = Literal["branches", "break", "continue", "nested", "runtime_trips"]
Kind = Literal["exception", "non_finite", "bad_request", "out_of_memory"]


class Tensor(Struct, forbid_unknown_fields=True):
    """An array with its entries in row-major order: as numbers in `data`, or as little-endian bytes in
    `base64`; exactly one of the two.

    A float without a JSON number is one of four strings. A complex entry is two numbers, its real and
    imaginary part.
    """

    dtype: DTypeName
    shape: list[Size]
    data: list[Scalar] | UnsetType = UNSET
    base64: str | UnsetType = UNSET


# Requests ---------------------------------------------------------------------------------------------------


class Hello(Struct, tag="hello", tag_field="do", forbid_unknown_fields=True):
    """The first request: who is the adapter, and what can it do?"""

    id: Size
    protocol: int


class Define(Struct, tag="define", tag_field="do", forbid_unknown_fields=True):
    """Stores a program under the name `program`; the programs in `forget` will not be asked about again.

    A loop that exceeds `trip_limit` iterations is an error of kind exception.
    """

    id: Size
    program: str
    form: dict[str, Any]
    forget: list[str]
    trip_limit: Size


class Asked(Struct, forbid_unknown_fields=True):
    """The common fields of `eval` and `emit`: the outputs of a program, and a derivative, at `count` points.

    Every tensor of `inputs` has a leading axis over the points. What is differentiated is F = sum of
    <weights, output> over the outputs that have a weight. `modes` are the derivatives from the innermost to
    the outermost; all but the last are taken along `directions`. An empty list asks for the outputs alone.
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
    """Many questions at once; the inner ids mean nothing. Only sent where `hello` lists "several"."""

    id: Size
    evals: list[Eval]


class Supports(Struct, tag="supports", tag_field="do", forbid_unknown_fields=True):
    """Which entry points can answer questions like this? Only sent where `hello` lists "supports".

    It is for limits that the description of an entry point cannot express. `ways` names the entry points that
    are meant, and is only sent where `hello` lists "ways"; without it all are meant.
    """

    id: Size
    program: str
    dtype: FloatName
    wrt: list[str]
    modes: list[Mode]
    ways: list[str] | UnsetType = UNSET


class Emit(Asked, tag="emit", tag_field="do", forbid_unknown_fields=True):
    """Asks for a standalone program in the target's language. Only sent where `hello` lists "emit"."""


class Bye(Struct, tag="bye", tag_field="do", forbid_unknown_fields=True):
    """The last request; the adapter replies and exits."""

    id: Size


Request = Hello | Define | Supports | Eval | Several | Emit | Bye


# Replies ----------------------------------------------------------------------------------------------------


class Failure(Struct, forbid_unknown_fields=True):
    """A failure: the library raised or refused non-finite values, a bad request, or too little memory."""

    kind: Kind
    message: str


class Reply(Struct, forbid_unknown_fields=True):
    """A reply with its `ok` not yet decoded."""

    id: Size
    ok: Raw | UnsetType = UNSET
    unsupported: str | UnsetType = UNSET
    error: Failure | UnsetType = UNSET


class Ok(Struct, Generic[P], forbid_unknown_fields=True):
    id: Size
    ok: P


class Way(Struct, forbid_unknown_fields=True):
    """One entry point of the library. Several orders and modes mean every sequence of them.

    The fields with defaults are hints for a sweep: how seldom to ask it (`stride`), whether every new shape
    is compiled anew, whether it is another entry point run differently, whether all points of a request are
    the instances of one vectorized call, whether many requests at once are cheaper, and how many of them take
    about the time of one (`at_once`), as where their programs are compiled together.

    With `functions` elementwise functions may be asked that `ops` does not list: the way looks for them in
    the library by their names, and answers `unsupported` where there are none.
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
    at_once: Annotated[int, Meta(ge=1)] = 1
    functions: bool = False


class HelloOk(Struct, forbid_unknown_fields=True):
    """The library, its version, language and entry points. `features` lists supported optional requests."""

    protocol: int
    name: str
    version: str
    language: str
    ways: Annotated[list[Way], Meta(min_length=1)]
    features: list[Literal["base64", "emit", "several", "supports", "ways"]] = []


class DefineOk(Struct, forbid_unknown_fields=True):
    """The program is stored."""


class Result(Struct, forbid_unknown_fields=True):
    """The outputs, and for each name of `wrt` the derivative, as the library returned them.

    A way whose numbers are not rounded gives them in float64, with `bounds`: how far each may be from the
    exact one, by the names of `wrt` and by "output 0", "output 1", ... It may say with `rules` which steps of
    the program have a derivative rule, and where each is written.
    """

    values: list[Tensor]
    gradient: dict[str, Tensor]
    bounds: dict[str, Tensor] | UnsetType = UNSET
    rules: list[str] | UnsetType = UNSET


class PointReply(Struct, forbid_unknown_fields=True):
    """The result of one point: exactly one of the three."""

    ok: Result | UnsetType = UNSET
    unsupported: str | UnsetType = UNSET
    error: Failure | UnsetType = UNSET


class Limit(Struct, forbid_unknown_fields=True):
    """A limit that the library's documentation states and that the question meets: its derivative may be
    wrong, and that is no bug. `what` says it in a few words, `link` is the address of the documentation.
    """

    name: str
    what: str
    link: str


class EvalOk(Struct, forbid_unknown_fields=True):
    """One entry of `results` per point, or `stacked`, whose tensors have a leading axis over the points.

    `stacked` is for results that are all ok and of the same form. `limit` holds for all points.
    """

    results: list[PointReply] | UnsetType = UNSET
    stacked: Result | UnsetType = UNSET
    limit: Limit | UnsetType = UNSET


class Reached(Struct, forbid_unknown_fields=True):
    """The result of one of several questions: exactly one of the three."""

    ok: EvalOk | UnsetType = UNSET
    unsupported: str | UnsetType = UNSET
    error: Failure | UnsetType = UNSET


class SeveralOk(Struct, forbid_unknown_fields=True):
    """One reply per question, in order."""

    replies: list[Reached]


class SupportsOk(Struct, forbid_unknown_fields=True):
    """The reason for each entry point that cannot answer."""

    refusals: dict[str, str]


class EmitOk(Struct, forbid_unknown_fields=True):
    """A program that asks the question."""

    language: str
    source: str


class ByeOk(Struct, forbid_unknown_fields=True):
    """The conversation ends."""


OKS = HelloOk, DefineOk, SupportsOk, EvalOk, SeveralOk, EmitOk, ByeOk
"""The types of `ok`."""

_encoder = msgspec.json.Encoder()
_requests: msgspec.json.Decoder[Request] = msgspec.json.Decoder(Request)
_replies = msgspec.json.Decoder(Reply)
_payloads: dict[type, msgspec.json.Decoder[Any]] = {kind: msgspec.json.Decoder(kind) for kind in OKS}
_oks: dict[type, msgspec.json.Decoder[Ok[Any]]] = {
    EvalOk: msgspec.json.Decoder(Ok[EvalOk]),
    SeveralOk: msgspec.json.Decoder(Ok[SeveralOk]),
}
"""The frequent kinds of reply."""

_QUOTED = 200
"""This many characters of a line are shown in an error."""


def quoted(line: bytes | bytearray) -> str:
    """The beginning of a line for an error."""
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
    """The request in a line; `ProtocolError` for an invalid one."""
    try:
        return _requests.decode(line)
    except msgspec.MsgspecError as error:
        raise ProtocolError(f"no request ({error}): {quoted(line)}") from error


def decode_reply(line: bytes) -> Reply:
    """The reply in a line; `ProtocolError`, which quotes the line, for an invalid one."""
    try:
        reply = _replies.decode(line)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise ProtocolError(f"the line is no reply ({error}): {quoted(line)}") from error
    _one_of("reply", reply.ok, reply.unsupported, reply.error)
    return reply


def decode_ok(line: bytes, kind: type[P]) -> tuple[int, P] | None:
    """The id and the `ok` of a frequent reply, decoded at once.

    None for every other line, which `decode_reply` and `payload` explain.
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
    """The decoded `ok` of a reply."""
    assert not isinstance(reply.ok, UnsetType), "the reply is not ok"
    try:
        found: P = _payloads[kind].decode(reply.ok)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        told = quoted(bytes(reply.ok))
        raise ProtocolError(f"the reply is no {kind.__name__} ({error}): {told}") from error
    _check(found, bytes(reply.ok))
    return found


def _check(found: object, line: bytes) -> None:
    """Checks what the types of a message cannot express."""
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
    """The line of any message, as for the replies of an adapter that uses these types."""
    return _encoder.encode(message) + b"\n"


def _one_of(what: str, *arms: object) -> None:
    if sum(arm is not UNSET for arm in arms) != 1:
        raise ProtocolError(f"a {what} has exactly one of ok, unsupported and error")
