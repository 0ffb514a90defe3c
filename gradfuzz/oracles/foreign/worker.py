"""A conversation with an adapter, in a supervised process that is started on demand and after a fault.

Faults are a `TargetProcessError` of one of the kinds of `process`, or of these:

    protocol    a line that is no reply, or a reply that does not fit the request
    wrong_id    the reply to another request
    gone        it was restarted too often

After any fault the process is ended, as its state is unknown. The next request starts a new one. Programs are
kept here, and defined again where a request needs them.
"""

from __future__ import annotations

import functools
import hashlib
import os
import re
import shlex
import threading
import time
from collections import Counter, OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import msgspec
from msgspec import UNSET, UnsetType

from gradfuzz.errors import ProtocolError, TargetProcessError, UsageError
from gradfuzz.oracles.base import Mode
from gradfuzz.oracles.foreign import protocol
from gradfuzz.oracles.foreign.process import Process, ResourceLimits
from gradfuzz.oracles.foreign.wire import to_wire
from gradfuzz.programs.evaluation.interpret import TRIP_LIMIT
from gradfuzz.programs.language.program import Program

P = TypeVar("P")

_KEPT = 256
"""The number of programs that an adapter keeps."""

_REFUSALS = 10_000
"""The refusals are cached for this many kinds of questions."""

_BANNERS = 1000
"""This many lines may come before the reply to hello: some libraries print a greeting."""

_GOODBYE = 1.0
"""Seconds that an adapter has to exit."""

THREADS = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
"""The programs are tiny, and there are other workers. Variables that are already set stay."""


class Refused(Exception):  # noqa: N818 - an answer, not a mistake
    """A reply that is not ok: `message` says why; `failure` is None where the adapter does not support it."""

    def __init__(self, message: str, failure: protocol.Failure | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.failure = failure


@dataclass(frozen=True, slots=True)
class Defined:
    """A program as it is sent, and its name there, which is made from the form."""

    name: str
    form: Mapping[str, object] = field(compare=False)

    @classmethod
    def of(cls, program: Program) -> Defined:
        form = to_wire(program)
        return cls(hashlib.sha256(msgspec.json.encode(form)).hexdigest()[:16], form)


class Worker:
    """An adapter that is asked questions; safe to use from several threads, one request at a time."""

    def __init__(
        self, command: str, limits: ResourceLimits | None = None, environment: Mapping[str, str] | None = None
    ) -> None:
        """`command` is split like a shell does; `environment` is added to this process's own."""
        self.command = command
        self.limits = limits or ResourceLimits()
        try:
            self._arguments = shlex.split(command)
        except ValueError as error:
            raise UsageError(f"the command {command!r} cannot be read: {error}") from error
        if not self._arguments:
            raise UsageError("a target cmd:COMMAND needs a command, as in 'cmd:python my_adapter.py'")
        self._environment = environment or {}
        self._lock = threading.RLock()
        self._process: Process | None = None
        self._hello: protocol.HelloOk | None = None
        self._defined: OrderedDict[str, None] = OrderedDict()
        self._refusals = functools.lru_cache(_REFUSALS)(self._asked_refusals)
        self._id = 0
        self._silent = 0
        self.starts = 0
        self.faults: Counter[str] = Counter()
        """The number of faults by kind."""
        self.banners: list[str] = []
        """What the latest process wrote before its hello."""

    # Requests

    @property
    def hello(self) -> protocol.HelloOk:
        """The adapter's hello. Starts the process the first time."""
        with self._lock:
            if self._hello is None:
                self._running()
            assert self._hello is not None, "a process that runs has said hello"
            return self._hello

    def define(self, defined: Defined) -> None:
        """Defines a program unless it is defined. Raises `Refused`."""
        with self._lock:
            self._running()
            if defined.name in self._defined:
                self._defined.move_to_end(defined.name)
                return
            forgotten = []
            while len(self._defined) >= _KEPT:
                forgotten.append(self._defined.popitem(last=False)[0])
            request = protocol.Define(self._next(), defined.name, dict(defined.form), forgotten, TRIP_LIMIT)
            self.ask(request, protocol.DefineOk)
            self._defined[defined.name] = None

    def eval(self, defined: Defined, request: protocol.Eval) -> protocol.EvalOk:
        """The reply to a question about a program; sets the request's id and program. Raises `Refused`."""
        with self._lock:
            self._renew()
            self.define(defined)
            request.id, request.program = self._next(), defined.name
            return self.ask(request, protocol.EvalOk)

    def several(self, programs: Sequence[Defined], requests: Sequence[protocol.Eval]) -> protocol.SeveralOk:
        """The replies to many questions, each about a program; the time limit grows with their number."""
        with self._lock:
            self._renew()
            for defined, request in zip(programs, requests, strict=True):
                self.define(defined)
                request.program = defined.name
            return self.ask(protocol.Several(self._next(), list(requests)), protocol.SeveralOk, len(requests))

    def refusal(
        self, way: str, defined: Defined, dtype: protocol.FloatName, wrt: Sequence[str], modes: Sequence[Mode]
    ) -> str | None:
        """Why an entry point cannot answer questions like this; None where it can. Asked once, and about this
        entry point alone where the adapter can be asked so: another one may have to compile to find out.
        """
        with self._lock:
            ways = (way,) if "ways" in self.hello.features else None
            return self._refusals(ways, defined, dtype, tuple(wrt), tuple(modes)).get(way)

    def _asked_refusals(
        self,
        ways: tuple[str, ...] | None,
        defined: Defined,
        dtype: protocol.FloatName,
        wrt: tuple[str, ...],
        modes: tuple[Mode, ...],
    ) -> Mapping[str, str]:
        self.define(defined)
        meant = UNSET if ways is None else list(ways)
        request = protocol.Supports(self._next(), defined.name, dtype, list(wrt), list(modes), meant)
        return self.ask(request, protocol.SupportsOk).refusals

    def emit(self, defined: Defined, request: protocol.Emit) -> protocol.EmitOk:
        """The same question as a program in the target's language."""
        with self._lock:
            self.define(defined)
            request.id, request.program = self._next(), defined.name
            return self.ask(request, protocol.EmitOk)

    def ask(self, request: protocol.Request, kind: type[P], times: int = 1) -> P:
        """The `ok` of the reply, with a time limit of `times` requests.

        Raises `Refused` for every other reply, `TargetProcessError` without one.
        """
        line = protocol.encode_request(request)
        with self._lock:
            process = self._running()
            try:
                answer = process.exchange(line, self.limits.request * times)
                good = protocol.decode_ok(answer, kind)
                if good is not None and good[0] == request.id and not process.pending:
                    return good[1]
                reply = self._reply(process, answer, request.id)
                found = None if isinstance(reply.ok, UnsetType) else protocol.payload(reply, kind)
            except ProtocolError as error:
                raise self._ended(self._strayed(process, str(error))) from error
            except TargetProcessError as error:
                raise self._ended(error) from None
            except BaseException:  # Ctrl-C: the next request would take its reply
                process.close()
                self._process = None
                raise
        if found is not None:
            return found
        if isinstance(reply.error, protocol.Failure):
            raise Refused(reply.error.message, reply.error)
        raise Refused(str(reply.unsupported))

    def close(self) -> None:
        """Says bye, and ends the process in any case."""
        with self._lock:
            process, self._process = self._process, None
            self._defined.clear()
            if process is None:
                return
            try:
                line = process.exchange(protocol.encode_request(protocol.Bye(self._next())), _GOODBYE)
                protocol.payload(protocol.decode_reply(line), protocol.ByeOk)
            except (ProtocolError, TargetProcessError, AssertionError):
                pass
            process.close()

    def kill(self) -> None:
        """Kills the process; the next request will notice."""
        with self._lock:
            if self._process is not None:
                self._process.kill()

    @property
    def pid(self) -> int | None:
        return None if self._process is None else self._process.pid

    # The process

    def _renew(self) -> None:
        """Ends a process that has grown large; another one is started when needed."""
        if self._process is not None and self._process.used > self.limits.renewed:
            self.close()

    def _next(self) -> int:
        self._id += 1
        return self._id

    def _running(self) -> Process:
        if self._process is not None:
            return self._process
        limits = self.limits
        if self.starts > limits.restarts or self._silent >= limits.silent_starts:
            words = f"was started {self.starts:,} times"
            if self._silent:
                words = f"ended before its hello {self._silent} times in a row"
            raise TargetProcessError("gone", f"gone: {self.command} {words}, and is not started again")
        self.starts += 1
        try:
            process = Process(self._arguments, limits, {**THREADS, **os.environ, **self._environment})
        except TargetProcessError as error:
            raise self._ended(error) from None
        try:
            hello = self._greet(process)
        except ProtocolError as error:
            fault = TargetProcessError("protocol", f"protocol: {error}", process.stderr)
            process.close()
            raise self._ended(fault) from error
        except TargetProcessError as error:
            process.close()
            words = f"{error}, before it said hello{last_words(error.stderr)}"
            raise self._ended(TargetProcessError(error.kind, words, error.stderr)) from None
        if self._hello is not None and hello != self._hello:
            process.close()
            words = "protocol: it says another hello than the first time"
            raise self._ended(TargetProcessError("protocol", words))
        self._hello, self._process, self._silent = hello, process, 0
        return process

    def _greet(self, process: Process) -> protocol.HelloOk:
        """Lines that are no reply may come first; they are kept."""
        request = protocol.Hello(self._next(), protocol.VERSION)
        deadline = time.monotonic() + self.limits.start
        line = process.exchange(protocol.encode_request(request), self.limits.start)
        self.banners = []
        while True:
            try:
                reply = protocol.decode_reply(line)
                break
            except ProtocolError:
                if line.lstrip().startswith(b'{"id"') or len(self.banners) == _BANNERS:
                    raise
            self.banners.append(line.decode("utf-8", "replace"))
            line = process.receive(deadline, self.limits.start)
        if reply.id != request.id:
            raise ProtocolError(f"the reply to hello has the id {reply.id}, not {request.id}")
        if isinstance(reply.error, protocol.Failure):
            words = f"start: {reply.error.kind}: {reply.error.message}"
            raise TargetProcessError("start", words, process.stderr)
        if isinstance(reply.ok, UnsetType):
            raise TargetProcessError("start", f"start: {reply.unsupported}", process.stderr)
        hello = protocol.payload(reply, protocol.HelloOk)
        if hello.protocol != protocol.VERSION:
            versions = f"version {hello.protocol} of the protocol; this is version {protocol.VERSION}"
            raise ProtocolError(f"it speaks {versions}")
        if len({way.name for way in hello.ways}) != len(hello.ways):
            raise ProtocolError("two ways in its hello have one name")
        return hello

    def _reply(self, process: Process, line: bytes, expected: int) -> protocol.Reply:
        reply = protocol.decode_reply(line)
        if reply.id != expected:
            words = f"the reply to request {expected} has the id {reply.id}: {protocol.quoted(line)}"
            raise TargetProcessError("wrong_id", f"wrong id: {words}", process.stderr)
        if process.pending:
            raise ProtocolError(f"output after the reply: {protocol.quoted(process.pending)}")
        return reply

    def _strayed(self, process: Process, message: str) -> TargetProcessError:
        """The fault for a line that is no reply: a single line, or the beginning of a flood."""
        following = process.stray()
        if following > self.limits.line:
            words = f"flood: more than {following:,} bytes after this: {message}"
            return TargetProcessError("flood", words, process.stderr)
        return TargetProcessError("protocol", f"protocol: {message}", process.stderr)

    def _ended(self, fault: TargetProcessError) -> TargetProcessError:
        """The fault, after the process is ended and the counts are updated."""
        if self._process is None:
            self._silent += 1
        else:
            self._process.close()
            self._process = None
        self._defined.clear()
        self.faults[fault.kind] += 1
        return fault


_TELLING = ("error|fault|fatal|assert|panic", "abort|terminat|fail")
"""Words of a line about a fault, those that tell most first."""


_LOGGED = r"\s*(?:[IW]\d{4,} [\d:.]+|WARNING: All log messages before)"
"""How a line of glog and absl begins that tells no error: "I0000 00:00:1.5"."""


def last_words(stderr: str) -> str:
    """The last line of a process's stderr that names a fault, or else the last, to end a message with.

    Where such a line is a heading, the next one says it. What a log calls information or a warning does not
    count.
    """
    lines = [line.strip() for line in stderr.splitlines() if line.strip() and not re.match(_LOGGED, line)]
    for words in _TELLING:
        for k in reversed(range(len(lines))):
            if re.search(words, lines[k], re.IGNORECASE):
                heads = lines[k].endswith(":") and k + 1 < len(lines)
                return f"; its stderr says: {lines[k + heads][:300]}"
    return f"; its stderr ends with: {lines[-1][:300]}" if lines else ""


def in_words(fault: TargetProcessError) -> str:
    """The fault as a message."""
    text = str(fault)
    return text if "; its stderr " in text else f"{text}{last_words(fault.stderr)}"
