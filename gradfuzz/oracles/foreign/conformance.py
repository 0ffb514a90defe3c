"""Tells a broken adapter from a wrong target: a fixed list of checks, each with a name, an outcome and words.

None of them needs knowledge of the library. Programs that return their inputs show whether numbers survive
the way there and back. The derivative of a loop of additions or of a product is known and compared exactly.
"""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gradfuzz.errors import GradfuzzError, TargetProcessError
from gradfuzz.oracles.base import Answer, Mode, Oracle
from gradfuzz.oracles.foreign.comparing import Failed, question, same_answers, same_bits, same_values, special
from gradfuzz.oracles.foreign.features import refused_beforehand, several_at_once
from gradfuzz.oracles.foreign.oracle import ForeignOracle
from gradfuzz.oracles.foreign.protocol import Define, DefineOk, Eval, EvalOk, Tensor
from gradfuzz.oracles.foreign.resource_limits import limits
from gradfuzz.oracles.foreign.worker import Defined, Refused, Worker, in_words
from gradfuzz.programs.evaluation.interpret import TRIP_LIMIT
from gradfuzz.programs.language.ops import OPS
from gradfuzz.programs.language.precision import FORMATS, Precision
from gradfuzz.programs.text.parse import parse

_CALLS = 1000
_LONG = 1_000_000
"""The length of a line in bytes that every adapter must read and write."""


@dataclass(frozen=True, slots=True)
class ConformanceCheck:
    """One check: its name, whether the adapter passed, and what was observed."""

    name: str
    passed: bool
    words: str


Inputs = Sequence[dict[str, Any]]
Modes = tuple[Mode, ...]

_FIRST: tuple[Modes, ...] = (("rev",), ("fwd",))
_SECOND: tuple[Modes, ...] = (("rev", "fwd"), ("fwd", "rev"), ("rev", "rev"), ("fwd", "fwd"))

_IDENTITY = "def f(x):\n    return x\n"
"""A program that every adapter supports."""
_POINT = [{"x": np.asarray(0.3)}]


def conformance(command: str, calls: int = _CALLS) -> Iterator[ConformanceCheck]:
    """The checks of an adapter, one by one; after a failed handshake there are no others."""
    adapter = _Adapter(command)
    try:
        for name, check in _checks(adapter, calls):
            try:
                words, passed = check(), True
            except TargetProcessError as fault:
                words, passed = in_words(fault), False
            except (Failed, GradfuzzError, Refused) as error:
                words, passed = str(error), False
            yield ConformanceCheck(name, passed, words)
            if not passed and name == "handshake":
                return
    finally:
        adapter.worker.close()


def _checks(adapter: _Adapter, calls: int) -> list[tuple[str, Callable[[], str]]]:
    return [
        ("handshake", adapter.handshake),
        ("ops known", adapter.ops_known),
        ("special floats", adapter.special_floats),
        ("shapes", adapter.shapes),
        ("ints and bools", adapter.ints_and_bools),
        ("many points", adapter.many_points),
        ("derivatives", adapter.derivatives),
        ("loops", adapter.loops),
        ("unknown op", adapter.unknown_op),
        ("bad requests", adapter.bad_requests),
        ("exceptions", adapter.exceptions),
        ("long line", adapter.long_line),
        ("same answer", adapter.same_answer),
        ("several at once", lambda: several_at_once(adapter.oracles)),
        ("refusals", lambda: refused_beforehand(adapter.oracles)),
        (f"{calls:,} calls", lambda: adapter.calls(calls)),
        ("quiet stdout", adapter.quiet_stdout),
        ("kill and restart", adapter.kill_and_restart),
    ]


def _must_be(what: str, refused: Refused) -> None:
    if refused.failure is not None and refused.failure.kind != "bad_request":
        raise Failed(f"{what}, not {refused.failure.kind}: {refused.message}") from None


class _Adapter:
    """An adapter under test, with its own worker."""

    def __init__(self, command: str) -> None:
        self.worker = Worker(command, limits())
        self.oracles: list[ForeignOracle] = []
        self.precisions: dict[str, Precision] = {}
        """The first dtype of each entry point, used by default."""

    # Questions

    def own(self, oracle: Oracle, array: Any) -> Any:
        """`array` in the entry point's default dtype; ints and bools stay."""
        return array.astype(FORMATS[self.precisions[oracle.name]].dtype) if array.dtype.kind == "f" else array

    def ask(self, oracle: Oracle, text: str, inputs: Inputs, modes: Modes = (), **more: Any) -> list[Answer]:
        more = {"precision": self.precisions[oracle.name], **more}
        return oracle.answer(question(parse(text), inputs, modes, **more))

    def supported(
        self, text: str, inputs: Inputs, modes: Modes = ()
    ) -> list[tuple[ForeignOracle, Precision]]:
        """Every entry point and precision in which a question can be asked."""
        program = parse(text)
        pairs = itertools.product(self.oracles, FORMATS)
        return [(o, p) for o, p in pairs if o.supports(question(program, inputs, modes, precision=p)) is None]

    def answered(
        self, oracle: ForeignOracle, text: str, inputs: Inputs, modes: Modes = (), **more: Any
    ) -> list[Answer]:
        """The answers, which must all be ok."""
        answers = self.ask(oracle, text, inputs, modes, **more)
        for answer in answers:
            if answer.status != "ok":
                asked = text.splitlines()[-1].strip()
                raise Failed(f"{oracle.name} says {answer.status} to {asked!r}: {answer.message}")
        return answers

    def tried(self, where: str, *asked: Any, **more: Any) -> Answer | None:
        """The answer to a question about one point, asked as by `ask`; None where it is unsupported."""
        (answer,) = self.ask(*asked, **more)
        if answer.status not in ("ok", "unsupported"):
            raise Failed(f"{where}: {answer.message}")
        return answer if answer.status == "ok" else None

    # Checks

    def handshake(self) -> str:
        hello = self.worker.hello
        ways = [
            ForeignOracle(way.name or hello.name, self.worker, way, hello.version, features=hello.features)
            for way in hello.ways
        ]
        self.oracles = ways
        for oracle, way in zip(ways, hello.ways, strict=True):
            if 0 not in way.orders:
                raise Failed(f"{oracle.name} does not list order 0, the outputs alone, which every way has")
            if not way.dtypes:
                raise Failed(f"{oracle.name} lists no dtype")
            self.precisions[oracle.name] = way.dtypes[0]
        banners = f"; {len(self.worker.banners)} lines before its hello" if self.worker.banners else ""
        names = ", ".join(o.name for o in ways)
        return f"{hello.name} {hello.version} in {hello.language}; ways: {names}{banners}"

    def ops_known(self) -> str:
        unknown = sorted({op for way in self.worker.hello.ways for op in way.ops} - set(OPS))
        if unknown:
            raise Failed(f"hello lists ops that the language has not: {', '.join(unknown)}")
        counts = {len(way.ops) for way in self.worker.hello.ways}
        return f"{' or '.join(map(str, sorted(counts)))} of {len(OPS)} ops"

    def special_floats(self) -> str:
        count = 0
        for oracle, precision in self.supported(_IDENTITY, [{"x": 0.5}]):
            values = special(precision)
            inputs = [{"x": value} for value in values]
            answers = self.answered(oracle, _IDENTITY, inputs, precision=precision)
            for answer, value in zip(answers, values, strict=True):
                same_bits(answer.values[0], value, f"{oracle.name} in {precision}")
            vector = f'def f(x: "float[{len(values)}]"):\n    return x\n'
            (answer,) = self.ask(oracle, vector, [{"x": values}], precision=precision)
            if answer.status != "unsupported":
                same_bits(answer.values[0], values, f"{oracle.name} in {precision}, an array")
            count += len(values)
        return f"{count} values of every kind came back bit for bit"

    def shapes(self) -> str:
        shapes = ((), (0,), (1,), (3,), (2, 3), (0, 2), (2, 1, 3), (40,))
        refused = set()
        for oracle in self.oracles:
            for shape in shapes:
                x = np.arange(math.prod(shape), dtype=np.float64).reshape(shape) - 1.5
                text = f'def f(x: "float{list(shape) or ""}"):\n    return x\n'
                (answer,) = self.ask(oracle, text, [{"x": x}])
                if answer.status == "unsupported":
                    refused.add(shape)
                    continue
                (answer,) = self.answered(oracle, text, [{"x": x}])
                same_bits(answer.values[0], self.own(oracle, x), f"{oracle.name}, shape {shape}")
        if () in refused:
            raise Failed("scalars are unsupported")
        told = f"shapes {', '.join(str(s) for s in shapes if s not in refused)} came back"
        return f"{told}; unsupported: {', '.join(map(str, sorted(refused)))}" if refused else told

    def ints_and_bools(self) -> str:
        text = 'def f(x, n: "int", b: "bool"):\n    return x, n, b\n'
        for oracle in self.oracles:
            inputs = {"x": np.asarray(0.5), "n": np.asarray(-(2**53) - 1), "b": np.asarray(True)}
            (answer,) = self.answered(oracle, text, [inputs])
            for got, name in zip(answer.values, ("x", "n", "b"), strict=True):
                same_bits(got, self.own(oracle, inputs[name]), f"{oracle.name}, input {name}")
        return "an int beyond 2^53 and a bool came back beside a float"

    def many_points(self) -> str:
        for oracle in self.oracles:
            points = [{"x": np.asarray(-k - 0.5)} for k in range(64)]
            answers = self.answered(oracle, _IDENTITY, points)
            for point, answer in zip(points, answers, strict=True):
                same_bits(answer.values[0], self.own(oracle, point["x"]), oracle.name)
        return "64 points in one request came back in their order"

    def derivatives(self) -> str:
        """The gradient of the identity is its weights, and every further derivative is zero."""
        count = self._identities("x", 2.0) + self._identities('x: "float[2]"', np.array([2.0, -0.5]))
        if not count:
            raise Failed("it differentiates nothing, not even the identity")
        return f"{count} derivatives of the identity are what they are"

    def _identities(self, parameter: str, weight: Any) -> int:
        """How many derivatives of the identity of a parameter, beside another parameter, are right."""
        text, count = f"def f({parameter}, y):\n    return x, y\n", 0
        inputs = [{"x": np.full(np.shape(weight), 0.5), "y": np.asarray(3.0)}]
        weights = {"x": np.asarray(weight), "y": np.asarray(4.0)}
        for modes in ((), *_FIRST, *_SECOND):
            for oracle, precision in self.supported(text, inputs, modes):
                for wrt in (("x", "y"), ("y",)):
                    what = f"{'-'.join(modes) or 'outputs'}, with respect to {', '.join(wrt)}"
                    where = f"{oracle.name}, {precision}, {what}"
                    more = {"precision": precision, "wrt": wrt, "weights": tuple(weights.values())}
                    answer = self.tried(where, oracle, text, inputs, modes, **more)
                    if answer is None:
                        continue
                    if set(answer.gradient) != set(wrt if modes else ()):
                        raise Failed(f"{where}: it has the names {sorted(answer.gradient)}")
                    for name in answer.gradient:
                        true = weights[name] * (len(modes) == 1)
                        same_values(answer.gradient[name], true.astype(FORMATS[precision].dtype), where)
                    count += len(modes) > 0
        return count

    def loops(self) -> str:
        """d/dx of n x is n, in whichever loop form it is added up."""
        bodies = {
            "for": "    for i in range(n):\n        acc = acc + x\n",
            "while": "    k = 0\n    while k < n:\n        acc = acc + x\n        k = k + 1\n",
            "repeat": "    k = 0\n    while True:\n        acc = acc + x\n        k = k + 1\n"
            "        if not k < n:\n            break\n",
        }
        seen = set()
        for form, body in bodies.items():
            text = f'def f(x, n: "int"):\n    acc = 0.0\n{body}    return acc\n'
            for trips in (0, 1, 3) if form != "repeat" else (1, 3):
                inputs = [{"x": np.asarray(0.5), "n": np.asarray(trips)}]
                for modes in _FIRST:
                    for oracle, precision in self.supported(text, inputs, modes):
                        where = f"{oracle.name}, {precision}, {modes[0]}, {form} with {trips} trips"
                        answer = self.tried(where, oracle, text, inputs, modes, precision=precision)
                        if answer is None:
                            continue
                        dtype = FORMATS[precision].dtype
                        same_values(answer.values[0], np.asarray(0.5 * trips, dtype), f"{where}, value")
                        same_values(answer.gradient["x"], np.asarray(trips, dtype), f"{where}, gradient")
                        seen.add(form)
        if not seen:
            return "it has no loops over additions"
        return f"sums by {', '.join(sorted(seen))} and their gradients are right"

    def unknown_op(self) -> str:
        """A program with an unknown op."""
        form: dict[str, Any] = dict(Defined.of(parse("def f(x):\n    return sin(x)\n")).form)
        form["body"] = [{"return": [{"op": "no_such_op", "args": ["x"], "params": {}, "type": "float"}]}]
        try:
            self.worker.ask(Define(900_001, "unknown", form, [], TRIP_LIMIT), DefineOk)
            self.worker.ask(self._identity_request(900_002, "unknown"), EvalOk)
        except Refused as refused:
            _must_be("an unknown op is unsupported", refused)
            return f"refused: {refused.message}"
        finally:
            self._alive()
        raise Failed("a program with an unknown op was accepted and evaluated")

    def bad_requests(self) -> str:
        """Requests about unknown things, and one that contradicts itself."""
        short = self._identity_request(900_012, self._identity())
        short.inputs = {"x": Tensor(self._precision(), [1], data=[])}
        elsewhere = self._identity_request(900_011, self._identity())
        elsewhere.way = "no way"
        cases = {
            "entries that do not fill their shape": short,
            "a program that was never defined": self._identity_request(900_010, "never defined"),
            "a way that does not exist": elsewhere,
        }
        for what, request in cases.items():
            try:
                self.worker.ask(request, EvalOk)
            except Refused as refused:
                _must_be(f"{what} is a bad_request", refused)
                continue
            raise Failed(f"{what} was answered with ok")
        self._alive()
        return f"refused: {', '.join(cases)}"

    def exceptions(self) -> str:
        """A loop beyond the trip limit is an error, if loops are supported; the next question is answered."""
        text = "def f(x):\n    acc = x\n    while acc < acc + 1.0:\n        acc = acc\n    return acc\n"
        inputs = [{"x": np.asarray(0.5)}]
        for oracle, precision in self.supported(text, inputs)[:1]:
            (answer,) = self.ask(oracle, text, inputs, precision=precision)
            if answer.status == "ok":
                raise Failed("a loop that never ends was answered with ok")
            self._alive()
            return f"an endless loop: {answer.status}: {answer.message}; the next question was answered"
        self._alive()
        return "nothing to raise an exception with"

    def long_line(self) -> str:
        size = _LONG // 8
        for oracle in self.oracles:
            x = np.linspace(-1.0, 1.0, size)
            text = f'def f(x: "float[{size}]"):\n    return x\n'
            (answer,) = self.ask(oracle, text, [{"x": x}])
            if answer.status == "unsupported":
                return f"unsupported: {answer.message}"
            (answer,) = self.answered(oracle, text, [{"x": x}])
            same_bits(answer.values[0], self.own(oracle, x), oracle.name)
        return f"{size:,} numbers in a line of more than {_LONG:,} bytes came back bit for bit"

    def same_answer(self) -> str:
        for modes in (*_FIRST, ()):
            for oracle, precision in self.supported(_IDENTITY, _POINT, modes):
                asked = question(parse(_IDENTITY), _POINT, modes, precision=precision)
                for a, b in zip(oracle.answer(asked), oracle.answer(asked), strict=True):
                    if (a.status, a.message) != (b.status, b.message):
                        told = f"first {a.status} {a.message}, then {b.status} {b.message}"
                        raise Failed(f"{oracle.name}: {told}")
                    same_answers(a, b, f"{oracle.name}, asked the same again")
        return "the same question has the same answer, bit for bit"

    def calls(self, count: int) -> str:
        """How fast it answers a small question."""
        known = ((m, *pair) for m in (*_FIRST, ()) for pair in self.supported(_IDENTITY, _POINT, m))
        found = next(known, None)
        if found is None:
            raise Failed("there is no way that evaluates the identity")
        modes, oracle, precision = found
        asked = question(parse(_IDENTITY), _POINT, modes, precision=precision)
        started = time.perf_counter()
        for _ in range(count):
            (answer,) = oracle.answer(asked)
            if answer.status == "error":
                raise Failed(f"{oracle.name}: {answer.message}")
        seconds = time.perf_counter() - started
        what = "value and derivative" if modes else "value"
        return f"{count / seconds:,.0f} per second, {what} by {oracle.name}"

    def quiet_stdout(self) -> str:
        """Output between replies would have ended the process, so it was checked all along."""
        self._alive()
        if self.worker.starts > 1:
            faults = dict(self.worker.faults)
            raise Failed(f"the process had to be started {self.worker.starts} times: {faults}")
        return "nothing but replies since its hello, and one process all along"

    def kill_and_restart(self) -> str:
        before = self.worker.starts
        self._alive()
        self.worker.kill()
        try:
            self._alive()
        except TargetProcessError as fault:
            if fault.kind not in ("signal", "exit"):
                raise
        self._alive()
        if self.worker.starts != before + 1:
            raise Failed("the killed process was not noticed")
        return "killed, started again, and it answers"

    # Requests by hand

    def _identity(self) -> str:
        defined = Defined.of(parse(_IDENTITY))
        self.worker.define(defined)
        return defined.name

    def _identity_request(self, number: int, program: str) -> Eval:
        asked = question(parse(_IDENTITY), [{"x": np.asarray(0.5)}], precision=self._precision())
        request = self.oracles[0].request(asked)
        request.id, request.program = number, program
        return request

    def _precision(self) -> Precision:
        return self.worker.hello.ways[0].dtypes[0]

    def _alive(self) -> None:
        """The simplest question."""
        self.worker.ask(self._identity_request(900_100, self._identity()), EvalOk)
