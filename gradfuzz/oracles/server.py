"""Serves oracles of this installation by the protocol: `python -m gradfuzz.oracles.server jax`, or `engine`,
`mutant:nx-1747`, `torch:scan`.

So a target written in Python as an oracle can run in a supervised process like any other.
"""

from __future__ import annotations

import gc
import os
import select
import sys
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import cast, get_args

import numpy as np

from gradfuzz.errors import GradfuzzError, ProtocolError, UnsupportedError, UsageError
from gradfuzz.oracles.base import Answer, Array, Mode, Oracle, Point, Question
from gradfuzz.oracles.foreign import protocol
from gradfuzz.oracles.foreign.memory import collect_less
from gradfuzz.oracles.foreign.polling import Poller
from gradfuzz.oracles.foreign.tensors import from_tensor, to_tensor
from gradfuzz.oracles.foreign.wire import from_wire
from gradfuzz.oracles.registry import resolve, settle
from gradfuzz.oracles.target_name import TargetName
from gradfuzz.programs.evaluation.interpret import TRIP_LIMIT
from gradfuzz.programs.language.ops import OPS
from gradfuzz.programs.language.precision import FORMATS
from gradfuzz.programs.language.program import Program

_CHUNK = 1 << 18
"""Bytes per read."""


class Server:
    """Replies to requests. Its hello promises everything; `supports` says what an oracle cannot answer."""

    def __init__(self, oracles: Sequence[Oracle], target: str) -> None:
        self._oracles = {_way_name(o.name, target): o for o in oracles}
        self._target = target
        self._programs: OrderedDict[str, Program] = OrderedDict()

    def hello(self) -> protocol.HelloOk:
        first = next(iter(self._oracles.values()))
        return protocol.HelloOk(
            protocol.VERSION,
            self._target,
            first.version,
            f"Python {sys.version.split()[0]}",
            [_way(name, oracle) for name, oracle in self._oracles.items()],
            ["base64", "several", "supports", "ways"],
        )

    def reply(self, line: bytes | bytearray) -> tuple[bytes, bool]:
        """The reply to a line, and whether the conversation goes on."""
        number = 0
        try:
            request = protocol.decode_request(line)
            number = request.id
            return _line(number, ok=self._ok(request)), not isinstance(request, protocol.Bye)
        except UnsupportedError as error:
            return _line(number, unsupported=str(error)), True
        except Exception as error:
            return _line(number, error=_failure(error)), True

    def _ok(self, request: protocol.Request) -> object:
        match request:
            case protocol.Eval():
                return self._eval(request)
            case protocol.Hello():
                return self.hello()
            case protocol.Define():
                for name in request.forget:
                    self._programs.pop(name, None)
                if request.trip_limit != TRIP_LIMIT:
                    raise ProtocolError(f"the trip limit here is {TRIP_LIMIT}, not {request.trip_limit}")
                self._programs[request.program] = from_wire(request.form)
                return protocol.DefineOk()
            case protocol.Several():
                return protocol.SeveralOk(self._several(request.evals))
            case protocol.Supports():
                return protocol.SupportsOk(self._refusals(request))
            case protocol.Emit():
                raise UnsupportedError("reproducers are written by gradfuzz itself")
            case protocol.Bye():
                return protocol.ByeOk()

    def _eval(self, request: protocol.Asked) -> protocol.EvalOk:
        oracle = self._oracles[request.way]
        question = _question(request, self._programs[request.program])
        return _replied(oracle.answer(question))

    def _several(self, requests: Sequence[protocol.Asked]) -> list[protocol.Reached]:
        """The replies; requests to one oracle are asked together."""
        by_way: dict[str, list[int]] = {}
        for k, request in enumerate(requests):
            by_way.setdefault(request.way, []).append(k)
        replies: dict[int, protocol.Reached] = {}
        for way, places in by_way.items():
            try:
                questions = [_question(requests[k], self._programs[requests[k].program]) for k in places]
                given = self._oracles[way].answer_all(questions)
                for k, answers in zip(places, given, strict=True):
                    replies[k] = protocol.Reached(ok=_replied(answers))
            except Exception as error:
                replies.update((k, protocol.Reached(error=_failure(error))) for k in places)
        return [replies[k] for k in range(len(requests))]

    def _refusals(self, request: protocol.Supports) -> dict[str, str]:
        program, dtypes = self._programs[request.program], {"float": FORMATS[request.dtype].dtype}
        types = {p.name: p.type for p in program.params}
        zeros = {name: np.zeros(t.sizes, dtypes.get(t.dtype, t.dtype)) for name, t in types.items()}
        wrt, modes = tuple(request.wrt), cast("tuple[Mode, ...]", tuple(request.modes))
        question = Question(program, (Point(zeros),), request.dtype, wrt, modes, (), {})
        ways = request.ways if isinstance(request.ways, list) else self._oracles
        found = {name: self._oracles[name].supports(question) for name in ways}
        return {name: reason for name, reason in found.items() if reason is not None}


def _failure(error: Exception) -> protocol.Failure:
    if isinstance(error, MemoryError):
        return protocol.Failure("out_of_memory", str(error) or "MemoryError")
    is_bad = isinstance(error, (GradfuzzError, KeyError))
    return protocol.Failure("bad_request" if is_bad else "exception", f"{type(error).__name__}: {error}")


def _replied(answers: Sequence[Answer]) -> protocol.EvalOk:
    stacked = _stacked(answers)
    return stacked if stacked is not None else protocol.EvalOk(results=[_point(a) for a in answers])


def _question(request: protocol.Asked, program: Program) -> Question:
    columns = [(p.name, _led(p.name, request.inputs[p.name], request.count)) for p in program.params]
    return Question(
        program,
        tuple([Point({name: column[k, ...] for name, column in columns}) for k in range(request.count)]),
        request.dtype,
        tuple(request.wrt),
        tuple(request.modes),
        tuple([None if w is None else _float64(w) for w in request.weights]),
        {name: _float64(t) for name, t in request.directions.items()},
    )


def _float64(tensor: protocol.Tensor) -> Array:
    return from_tensor(tensor).astype(np.float64, copy=False)


def _led(name: str, tensor: protocol.Tensor, count: int) -> Array:
    if not tensor.shape or tensor.shape[0] != count:
        words = f"its first axis is that of the {count} points"
        raise ProtocolError(f"the input {name} has the shape {tensor.shape}: {words}")
    return from_tensor(tensor)


def _stacked(answers: Sequence[Answer]) -> protocol.EvalOk | None:
    """All answers stacked, where every one is ok and has the same form."""
    if len(answers) < 2 or any(a.status != "ok" for a in answers):
        return None
    first = answers[0]
    try:
        values = [_joined([a.values[k] for a in answers]) for k in range(len(first.values))]
        gradient = {name: _joined([a.gradient[name] for a in answers]) for name in first.gradient}
        bounds = {name: _joined([(a.bounds or {})[name] for a in answers]) for name in first.bounds or {}}
    except (ValueError, KeyError, IndexError):
        return None
    if any(len(a.values) != len(values) or len(a.gradient) != len(gradient) for a in answers):
        return None
    whole = replace(first, values=tuple(values), gradient=gradient, bounds=bounds)
    return protocol.EvalOk(stacked=_result(whole))


def _joined(arrays: Sequence[Array]) -> Array:
    first = np.asarray(arrays[0]).dtype
    if any(a.dtype is not first for a in arrays):
        raise ValueError("not alike")
    return np.array(arrays)


def _result(answer: Answer) -> protocol.Result:
    def sent(arrays: Mapping[str, Array]) -> dict[str, protocol.Tensor]:
        return {name: to_tensor(array, binary=True) for name, array in arrays.items()}

    result = protocol.Result([to_tensor(v, binary=True) for v in answer.values], sent(answer.gradient))
    if answer.bounds:
        result.bounds = sent(answer.bounds)
    if answer.rules:
        result.rules = list(answer.rules)
    return result


def _point(answer: Answer) -> protocol.PointReply:
    if answer.status == "ok":
        return protocol.PointReply(ok=_result(answer))
    if answer.status == "error":
        return protocol.PointReply(error=protocol.Failure("exception", answer.message))
    return protocol.PointReply(unsupported=answer.message)


def _way_name(oracle: str, target: str) -> str:
    """The entry point alone, "scan" of jax:scan; "" where the oracle is what was asked for."""
    return "" if oracle == target else oracle.removeprefix(f"{target}:")


def _way(name: str, oracle: Oracle) -> protocol.Way:
    known = protocol.Mode, protocol.LoopForm, protocol.Feature
    modes, loops, features = (list(get_args(of)) for of in known)
    traits = oracle.traits
    way = protocol.Way(name, list(OPS), list(FORMATS), modes, [0, 1, 2, 3], loops, features)
    way.stride, way.by_shape = traits.sampling_stride, traits.recompiles_per_shape
    way.variant, way.together, way.bulk = traits.secondary, traits.batched, traits.supports_many
    return way


def _line(number: int, **arm: object) -> bytes:
    return protocol.encode({"id": number, **arm})


def _private_pipes() -> tuple[Iterator[bytearray], Callable[[bytes], object]]:
    """stdin and stdout for the protocol alone: a library prints to stderr, and cannot read requests."""
    reader, writer = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(2, 1)

    def write(line: bytes) -> None:
        rest = memoryview(line)
        while rest:
            rest = rest[os.write(writer, rest) :]

    return _lines(reader), write


def _lines(reader: int) -> Iterator[bytearray]:
    """The lines of input, without their ends."""
    poll = select.poll()
    poll.register(reader, select.POLLIN)
    poller = Poller(poll)
    begun = bytearray()
    while True:
        poller.wait(None)
        data = os.read(reader, _CHUNK)
        if not data:
            return
        begun += data
        if b"\n" in data:
            *lines, begun = begun.split(b"\n")
            yield from lines


def main(arguments: Sequence[str]) -> None:
    """Serves until bye, or until the pipe ends."""
    if len(arguments) != 1:
        raise SystemExit("usage: python -m gradfuzz.oracles.server TARGET")
    reader, write = _private_pipes()
    (target,) = arguments
    library = TargetName.of(target).library
    try:
        settle(library)
    except UsageError as error:
        raise SystemExit(str(error)) from None
    try:
        server = Server(resolve(target), target)
    except GradfuzzError as error:
        raise SystemExit(str(error)) from None
    gc.collect()
    gc.freeze()  # the library stays; what answers leave behind is collected less often
    collect_less()
    for line in reader:
        reply, goes_on = server.reply(line)
        write(reply)
        if not goes_on:
            return


if __name__ == "__main__":
    main(sys.argv[1:])
