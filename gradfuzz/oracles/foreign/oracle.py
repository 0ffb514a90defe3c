"""An entry point of a target in a separate process, as an oracle.

A reply becomes an answer unchanged: what the library raised is an error, and a wrong shape or dtype stays
wrong. A fault of the process is an error too, whose message begins with its kind ("SIGSEGV", "timed out",
"out of memory", "protocol", ...); the other points of the question are then asked again, each alone.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import msgspec
import numpy as np
from msgspec import UnsetType

from gradfuzz.errors import ProtocolError, SilentTargetError, TargetProcessError
from gradfuzz.oracles.base import Answer, Array, LibraryLimit, Oracle, Point, Question, Traits
from gradfuzz.oracles.foreign import protocol
from gradfuzz.oracles.foreign.expanding import expanded, functions_of
from gradfuzz.oracles.foreign.process import ResourceLimits
from gradfuzz.oracles.foreign.tensors import from_tensor, split, to_tensor
from gradfuzz.oracles.foreign.worker import Defined, Refused, Worker, in_words
from gradfuzz.programs.language.functions import FUNCTIONS, Function
from gradfuzz.programs.language.precision import FORMATS
from gradfuzz.programs.language.program import Program, walk
from gradfuzz.programs.language.recent import Recent
from gradfuzz.programs.language.syntax import Break, Const, Continue, For, If, Repeat, While
from gradfuzz.programs.language.typecheck import typecheck
from gradfuzz.programs.text.parse import parse

_AT_ONCE = 32
"""At most this many questions are asked together: fewer than the programs that an adapter keeps."""

_ANSWERED = protocol.PointReply()
"""In the place of results that came as one tensor."""

_HARD = 2
"""After this many points in a row that end the process, a question's other points count as ending it too."""


class ForeignOracle(Oracle):
    """One of the entry points that an adapter lists in its hello."""

    traits = Traits()

    def __init__(
        self, name: str, worker: Worker, way: protocol.Way, version: str, features: Collection[str] = ()
    ) -> None:
        self.name = name
        self.version = version
        self.traits = Traits(
            batched=way.together,
            supports_many=way.bulk and "several" in features,
            at_once=way.at_once if way.bulk and "several" in features else 1,
            recompiles_per_shape=way.by_shape,
            secondary=way.variant,
            sampling_stride=way.stride,
        )
        self.worker = worker
        self.way = way
        self._ops = set(way.ops)
        self._absent: set[str] = set()
        """Functions that it was asked for by name, and has not."""
        self._binary = "base64" in features
        self._emits = "emit" in features
        self.knows = "supports" in features
        """Whether it can refuse questions in advance."""

    def supports(self, question: Question) -> str | None:
        known = _reasons.get(question.program)
        key = self, question.precision, question.wrt, question.modes
        if key not in known:
            known[key] = self._reason(question)
        return known[key]

    def _reason(self, question: Question) -> str | None:
        way, who = self.way, self.name
        if question.precision not in way.dtypes:
            return f"{who} does not compute in {question.precision}"
        if question.order not in way.orders:
            return f"{who} has no derivatives of order {question.order}"
        for mode in question.modes:
            if mode not in way.modes:
                return f"{who} has no {'forward' if mode == 'fwd' else 'reverse'} mode"
        needs = _needs.get(self.sent(question.program))
        for what, needed, has in (
            ("op", needs.ops, self._ops),
            ("loop of the form", needs.loops, way.loops),
            ("support for", needs.features, way.features),
        ):
            lacking = min(needed.difference(has), default=None)
            if lacking is not None:
                return f"{who} has no {what} {lacking if what == 'op' else lacking.replace('_', ' ')}"
        return self._refused(question) if self.knows else None

    def sent(self, program: Program) -> Program:
        """The program as it is sent: with compositions of the elementwise functions that the way lacks."""
        known = _sent.get(program)
        lacking = frozenset(op for op in known.functions if not self._has(op))
        if lacking not in known.programs:
            known.programs[lacking] = expanded(program, lacking)
        return known.programs[lacking]

    def _defined(self, question: Question) -> Defined:
        return _defined.get(self.sent(question.program))

    def _has(self, function: str) -> bool:
        """Whether the way has an elementwise function: its hello lists it, or it answers to the name."""
        if function not in self._ops and function not in self._absent and self.way.functions:
            found = self._answers_to(FUNCTIONS[function])
            if found is not None:
                (self._ops if found else self._absent).add(function)
        return function in self._ops

    def _answers_to(self, row: Function) -> bool | None:
        """Whether the way computes a function that is not in its hello; None where the process ended."""
        names = ", ".join(row.arguments)
        params = "".join(f", {name}=1" for name in row.params)
        program = parse(f"def f({names}):\n    return {row.name}({names}{params})\n")
        low, high = row.domain
        inside = 0.5 if low < 0.5 < high else low + 0.5 if low > -math.inf else high - 0.5
        point = Point({name: np.asarray(inside) for name in row.arguments})
        outputs = (np.asarray(1.0),)
        precision = "float64" if "float64" in self.way.dtypes else self.way.dtypes[0]
        question = Question(program, (point,), precision, (row.arguments[0],), (), outputs, {})
        try:
            reply = self.worker.eval(Defined.of(program), self.request(question))
        except Refused as refused:
            return refused.failure is not None
        except TargetProcessError:
            return None
        return not all(isinstance(entry.unsupported, str) for entry in reply.results or (_ANSWERED,))

    def _refused(self, question: Question) -> str | None:
        """Why the adapter refuses questions like this; None where it cannot say before it is asked."""
        try:
            about = self._defined(question), question.precision, question.wrt, question.modes
            return self.worker.refusal(self.way.name, *about)
        except (Refused, TargetProcessError):
            return None

    def takes(self, question: Question) -> bool:
        """Whether the adapter takes the program of a question, which it may do without compiling it."""
        try:
            self.worker.define(self._defined(question))
        except Refused as refused:
            return refused.failure is not None
        except TargetProcessError:
            return True
        return True

    def answer(self, question: Question) -> list[Answer]:
        reason = self.supports(question)
        if reason is not None:
            return [Answer("unsupported", message=reason)] * len(question.points)
        if not question.points:
            return []
        try:
            return self._asked(question)
        except TargetProcessError as fault:
            if len(question.points) == 1 or self.traits.batched:
                return [Answer("error", message=in_words(fault))] * len(question.points)
        return self._one_by_one(question)

    def answer_all(self, questions: Sequence[Question]) -> list[list[Answer]]:
        if not self.traits.supports_many or not questions:
            return [self.answer(q) for q in questions]
        asked = [q for q in questions if q.points and self.supports(q) is None]
        parts = [asked[k : k + _AT_ONCE] for k in range(0, len(asked), _AT_ONCE)]
        given = iter([answers for part in parts for answers in self._all_asked(part)])
        return [next(given) if q in asked else self.answer(q) for q in questions]

    def _all_asked(self, questions: Sequence[Question]) -> list[list[Answer]]:
        programs = list(map(self._defined, questions))
        refused: dict[int, Refused] = {}
        try:
            for k, defined in enumerate(programs):
                try:
                    self.worker.define(defined)
                except Refused as refusal:
                    refused[k] = refusal
            rest = [k for k in range(len(questions)) if k not in refused]
            reply = self.worker.several(
                [programs[k] for k in rest], [self.request(questions[k]) for k in rest]
            )
        except (Refused, TargetProcessError):  # which of them was it?
            return [self.answer(q) for q in questions]
        if len(reply.replies) != len(rest):
            message = f"protocol: {len(reply.replies)} replies to {len(rest)} questions"
            return [[Answer("error", message=message)] * len(q.points) for q in questions]
        given = iter(reply.replies)
        return [
            [_refusal(q, refused[k].message, refused[k].failure)] * len(q.points)
            if k in refused
            else self._reached(q, next(given))
            for k, q in enumerate(questions)
        ]

    def _reached(self, question: Question, reply: protocol.Reached) -> list[Answer]:
        count = len(question.points)
        if not isinstance(reply.ok, protocol.EvalOk):
            return [_not_ok(question, reply)] * count
        try:
            return self._answers(question, reply.ok, count)
        except ProtocolError as error:
            return [Answer("error", message=f"protocol: {error}")] * count

    def close(self) -> None:
        self.worker.close()

    def script(self, question: Question) -> str:
        """The question as a standalone program in the target's language; empty if the adapter writes none."""
        if not self._emits:
            return ""
        asked = protocol.Emit(**msgspec.structs.asdict(self.request(question)))
        try:
            return self.worker.emit(self._defined(question), asked).source
        except (Refused, TargetProcessError):
            return ""

    def _one_by_one(self, question: Question) -> list[Answer]:
        """The answers to a question that ended the process, point by point."""
        answers: list[Answer] = []
        in_a_row = 0
        for point in question.points:
            if in_a_row == _HARD:
                answers.append(answers[-1])
                continue
            try:
                answers += self._asked(replace(question, points=(point,)))
                in_a_row = 0
            except TargetProcessError as fault:
                answers.append(Answer("error", message=in_words(fault)))
                in_a_row += 1
        return answers

    def _asked(self, question: Question) -> list[Answer]:
        count = len(question.points)
        try:
            reply = self.worker.eval(self._defined(question), self.request(question))
            return self._answers(question, reply, count)
        except Refused as refused:
            return [_refusal(question, refused.message, refused.failure)] * count
        except ProtocolError as error:  # an invalid tensor in a valid line
            return [Answer("error", message=f"protocol: {error}")] * count

    def request(self, question: Question) -> protocol.Eval:
        """The question as a request, without the id and the program's name."""
        known = _tensors.get(question)
        if self._binary not in known:
            known[self._binary] = _tensors_of(question, self._binary)
        inputs, weights, directions = known[self._binary]
        return protocol.Eval(
            id=0,
            program="",
            way=self.way.name,
            dtype=question.precision,
            count=len(question.points),
            inputs=inputs,
            wrt=list(question.wrt),
            modes=list(question.modes),
            weights=weights,
            directions=directions,
        )

    def _answers(self, question: Question, reply: protocol.EvalOk, count: int) -> list[Answer]:
        answers = self._without_limit(question, reply, count)
        if isinstance(reply.limit, UnsetType):
            return answers
        limit = LibraryLimit(reply.limit.name, reply.limit.what, reply.limit.link)
        return [replace(answer, limit=limit) for answer in answers]

    def _without_limit(self, question: Question, reply: protocol.EvalOk, count: int) -> list[Answer]:
        if isinstance(reply.stacked, protocol.Result):
            values = [_along_points(t, count) for t in reply.stacked.values]
            slopes = {name: _along_points(t, count) for name, t in reply.stacked.gradient.items()}
            known = reply.stacked.bounds
            bounds = {}
            if isinstance(known, dict):
                bounds = {name: _along_points(t, count) for name, t in known.items()}
            return [
                Answer(
                    "ok",
                    tuple([v[k] for v in values]),
                    {name: s[k] for name, s in slopes.items()},
                    bounds={name: b[k] for name, b in bounds.items()} or None,
                    rules=_rules(reply.stacked),
                )
                for k in range(count)
            ]
        assert not isinstance(reply.results, UnsetType), "a reply has one of the two"
        if len(reply.results) != count:
            raise ProtocolError(f"{len(reply.results)} results for {count} points")
        answers = []
        for entry in reply.results:
            if isinstance(entry.ok, protocol.Result):
                outputs = tuple(map(from_tensor, entry.ok.values))
                slopes_ = {name: from_tensor(t) for name, t in entry.ok.gradient.items()}
                known = entry.ok.bounds
                bounds_ = None
                if isinstance(known, dict):
                    bounds_ = {name: from_tensor(t) for name, t in known.items()}
                answers.append(Answer("ok", outputs, slopes_, bounds=bounds_, rules=_rules(entry.ok)))
            else:
                answers.append(_not_ok(question, entry))
        return answers


_Tensors = tuple[dict[str, protocol.Tensor], list[protocol.Tensor | None], dict[str, protocol.Tensor]]


def _tensors_of(question: Question, binary: bool) -> _Tensors:
    """The inputs, weights and directions of a question, as in a request."""
    precision = question.precision
    floats = {p.name: precision for p in question.program.params if p.type.dtype == "float"}
    names = [p.name for p in question.program.params]
    columns = {name: np.array([point.inputs[name] for point in question.points]) for name in names}
    inputs = {name: to_tensor(c, binary=binary, dtype=floats.get(name)) for name, c in columns.items()}
    written = functools.partial(to_tensor, binary=binary, dtype=precision)
    along = question.wrt if question.order > 1 else ()
    weights = [None if w is None else written(w) for w in question.weights]
    return inputs, weights, {name: written(question.directions[name]) for name in along}


def _along_points(tensor: protocol.Tensor, count: int) -> list[Array]:
    if not tensor.shape or tensor.shape[0] != count:
        raise ProtocolError(f"a stacked tensor of shape {tensor.shape} for {count} points")
    return split(from_tensor(tensor), count)


def _not_ok(question: Question, reply: protocol.PointReply | protocol.Reached) -> Answer:
    if isinstance(reply.error, protocol.Failure):
        return _refusal(question, reply.error.message, reply.error)
    return Answer("unsupported", message=str(reply.unsupported))


def _rules(result: protocol.Result) -> tuple[str, ...]:
    return tuple(result.rules) if isinstance(result.rules, list) else ()


def _refusal(question: Question, message: str, failure: protocol.Failure | None) -> Answer:
    """The answer for a reply that is not ok. A refusal to return non-finite values counts as NaN."""
    if failure is None:
        return Answer("unsupported", message=message)
    if failure.kind == "non_finite":
        return _not_a_number(question)
    if failure.kind == "exception":
        return Answer("error", message=message)
    return Answer("error", message=f"{failure.kind.replace('_', ' ')}: {message}")


def _not_a_number(question: Question) -> Answer:
    dtype = FORMATS[question.precision].dtype
    others = {"int": np.dtype(np.int64), "bool": np.dtype(np.bool_)}
    values = tuple(
        np.full(t.sizes, np.nan, dtype) if t.is_float else np.zeros(t.sizes, others[t.dtype])
        for t in typecheck(question.program).outputs
    )
    shapes = {p.name: p.type.sizes for p in question.program.params}
    wanted = question.wrt if question.modes else ()
    return Answer("ok", values, {name: np.full(shapes[name], np.nan, dtype) for name in wanted})


# What a program needs ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Needs:
    ops: frozenset[str]
    loops: frozenset[protocol.LoopForm]
    features: frozenset[protocol.Feature]


_FORMS: dict[type, protocol.LoopForm] = {For: "for", While: "while", Repeat: "repeat"}


def _needed(program: Program) -> _Needs:
    defined = _defined.get(program)
    loops: set[protocol.LoopForm] = set()
    features: set[protocol.Feature] = set()
    for node in walk(program):
        match node:
            case While() | Repeat() | For():
                loops.add(_FORMS[type(node)])
                if any(isinstance(inner, (While, Repeat, For)) for inner in walk(node.body)):
                    features.add("nested")
                if isinstance(node, For) and not isinstance(node.count, Const):
                    features.add("runtime_trips")
            case If():
                features.add("branches")
            case Break():
                features.add("break")
            case Continue():
                features.add("continue")
    return _Needs(frozenset(_ops_of(defined.form["body"])), frozenset(loops), frozenset(features))


def _ops_of(data: Any) -> set[str]:
    """The ops of a program as it is sent, including conversions."""
    found: set[str] = set()
    waiting = [data]
    while waiting:
        here = waiting.pop()
        if isinstance(here, Mapping):
            if "op" in here:
                found.add(here["op"])
                waiting += here["args"]
            else:
                waiting += here.values()
        elif isinstance(here, list):
            waiting += here
    return found


@dataclass(frozen=True, slots=True)
class _Sent:
    """The forms in which a program is sent, by the functions that a way lacks."""

    functions: frozenset[str]
    programs: dict[frozenset[str], Program]


_tensors: Recent[Question, dict[bool, _Tensors]] = Recent(lambda _: {}, 16)
"""A sweep asks many entry points the same question."""
_reasons: Recent[Program, dict[tuple[object, ...], str | None]] = Recent(lambda _: {}, 256)
_defined: Recent[Program, Defined] = Recent(Defined.of, 256)
_sent: Recent[Program, _Sent] = Recent(lambda program: _Sent(functions_of(program), {}), 256)
_needs: Recent[Program, _Needs] = Recent(_needed, 256)


# Names ------------------------------------------------------------------------------------------------------


@functools.cache
def worker(command: str, limits: ResourceLimits | None = None) -> Worker:
    """The worker of a command: one for all its entry points, for the life of this process."""
    return Worker(command, limits)


def named_ways(
    target: str, command: str, separator: str = "#", limits: ResourceLimits | None = None
) -> list[Oracle]:
    """The oracles of an adapter: an unnamed single entry point is `target`, others are `target#way`.

    Raises `SilentTargetError` where the command cannot be started or sends no hello.
    """
    asked = worker(command, limits)
    try:
        hello = asked.hello
    except TargetProcessError as fault:
        raise SilentTargetError(f"{target!r} does not answer: {in_words(fault)}") from fault

    def name(way: protocol.Way) -> str:
        return f"{target}{separator}{way.name}" if way.name else target

    return [ForeignOracle(name(way), asked, way, hello.version, hello.features) for way in hello.ways]
