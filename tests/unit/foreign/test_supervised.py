"""JAX and Torch in processes of their own: the same ways, which can answer the same questions and say the
same.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from gradfuzz.errors import TargetProcessError
from gradfuzz.fuzzer.questions.target_programs import is_answered
from gradfuzz.fuzzer.questions.weighted import plain_question, questions
from gradfuzz.oracles.base import Answer, Oracle, Point, Question
from gradfuzz.oracles.engine.oracle import EngineOracle
from gradfuzz.oracles.foreign import protocol
from gradfuzz.oracles.foreign.oracle import ForeignOracle
from gradfuzz.oracles.foreign.process import ResourceLimits
from gradfuzz.oracles.foreign.worker import Defined, Refused, Worker
from gradfuzz.oracles.registry import IN_PROCESS, resolve
from gradfuzz.oracles.server import Server
from gradfuzz.programs import parse
from gradfuzz.programs.evaluation.interpret import TRIP_LIMIT
from gradfuzz.strategies import FAMILIES, draw_many


def both(library: str) -> list[tuple[Oracle, ForeignOracle]]:
    pytest.importorskip(library)
    pairs = list(zip(resolve(library), resolve(library, supervised=True), strict=True))
    assert all(isinstance(theirs, ForeignOracle) for _, theirs in pairs)
    return pairs  # type: ignore[return-value]


def asked(family: str, count: int, seed: int) -> list[Question]:
    drawn = draw_many(FAMILIES[family].cases(("float64", "float32")), count, f"{seed}/supervised")
    return [question for k, draw in enumerate(drawn) for question in questions(draw, k, seed)]


def written(answers: list[Answer]) -> list[object]:
    def of(array: object) -> tuple[str, tuple[int, ...], bytes]:
        a = np.array(array)
        if a.dtype.kind == "f":
            a[np.isnan(a)] = np.nan  # NaN has one name in a message
        return a.dtype.name, a.shape, a.tobytes()

    return [
        (a.status, [of(v) for v in a.values], {n: of(g) for n, g in a.gradient.items()}, a.message)
        for a in answers
    ]


@pytest.mark.slow
@pytest.mark.parametrize("library", ["jax", "torch"])
@pytest.mark.parametrize("family", ["loops", "linalg"])
def test_who_can_answer_is_known_beforehand(library: str, family: str, seed: int) -> None:
    about = asked(family, 3, seed)
    for here, there in both(library):
        for name in ("name", "version", "traits"):
            assert getattr(there, name) == getattr(here, name), name
        assert [there.supports(q) for q in about] == [here.supports(q) for q in about]


class _Counted(EngineOracle):
    """Counts how often it is asked what it supports."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.asked = 0

    def supports(self, question: Question) -> str | None:
        self.asked += 1
        return f"{self.name} refuses"


@pytest.mark.parametrize(("meant", "counts"), [(["quick"], [1, 0]), (None, [1, 1])])
def test_only_the_entry_points_that_are_meant_say_what_they_support(
    meant: list[str] | None, counts: list[int]
) -> None:
    quick, slow = _Counted("engine:quick"), _Counted("engine:slow")
    server = Server([quick, slow], "engine")
    program = Defined.of(parse("def f(x):\n    return x * x\n"))
    named = {} if meant is None else {"ways": meant}
    about = {"do": "supports", "program": program.name, "dtype": "float64", "wrt": ["x"], "modes": ["rev"]}
    server.reply(
        protocol.encode_request(protocol.Define(1, program.name, dict(program.form), [], TRIP_LIMIT))
    )
    reply, _ = server.reply(json.dumps({"id": 2, **about, **named}).encode())
    assert [quick.asked, slow.asked] == counts
    refused = json.loads(reply)["ok"]["refusals"]
    assert refused == {name: f"engine:{name} refuses" for name in meant or ("quick", "slow")}


def test_an_entry_point_is_asked_about_alone_where_the_adapter_knows_the_word() -> None:
    (eager,) = (way for way in resolve("torch", supervised=True) if way.name == "torch:eager")
    assert isinstance(eager, ForeignOracle)
    sent: list[protocol.Request] = []
    ask = eager.worker.ask

    def watched(request: protocol.Request, *more: Any) -> Any:
        sent.append(request)
        return ask(request, *more)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(eager.worker, "ask", watched)
        program = parse("def f(x):\n    return x * 0.8125\n")  # one that no other test asks about
        eager.supports(plain_question(program, [Point({"x": np.asarray(0.5)})], "float64", ("x",), ("rev",)))
    assert [r.ways for r in sent if isinstance(r, protocol.Supports)] == [["eager"]]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["torch:eager", "torch:while_loop", "jax:scan:nojit", "jax:vmap:nojit"])
def test_many_questions_have_the_answers_that_they_have_in_process(name: str, seed: int) -> None:
    library = name.partition(":")[0]
    ((here, there),) = [(a, b) for a, b in both(library) if a.name == name]
    about = [q for q in asked("loops", 5, seed) if here.supports(q) is None][:12]
    assert about
    for given, expected in zip(
        there.answer_all([*about, about[0]]), here.answer_all([*about, about[0]]), strict=True
    ):
        assert written(given) == written(expected)


def test_a_fault_among_several_concerns_one_of_them(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    (there,) = [b for a, b in both("jax") if a.name == "jax:scan:nojit"]
    about = [q for q in asked("loops", 5, seed) if there.supports(q) is None][:3]
    expected = [written(answers) for answers in there.answer_all(about)]
    attempts = []

    def fails(*_: object) -> None:
        attempts.append(1)
        there.worker.kill()
        raise TargetProcessError("signal", "SIGSEGV: ...")

    monkeypatch.setattr(there.worker, "several", fails)
    assert [written(answers) for answers in map(there.answer, about)] == [
        written(a) for a in there.answer_all(about)
    ]
    assert attempts == [1]
    assert [[a[0] for a in answers] for answers in expected] == [["ok"] * len(q.points) for q in about]  # type: ignore[index]


def test_a_way_for_many_questions_fits_where_it_takes_the_program(
    monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    """It compiles programs together, so none of them is asked alone to see whether it is answered."""
    (there,) = [b for a, b in both("jax") if a.name == "jax:scan:nojit"]
    monkeypatch.setattr(there, "traits", replace(there.traits, at_once=32))
    monkeypatch.setattr(there, "answer", lambda question: pytest.fail("it was asked"))
    about = [q for q in asked("loops", 5, seed) if there.supports(q) is None][:1]
    assert is_answered(about, [there])

    def refuses(defined: Defined) -> None:
        raise Refused("there are scalars only")

    monkeypatch.setattr(there.worker, "define", refuses)
    assert not is_answered(about, [there])


def test_a_refusal_among_several_concerns_one_of_them(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    """The adapter does not take one of the programs; the others are still asked in one request."""
    (there,) = [b for a, b in both("jax") if a.name == "jax:scan:nojit"]
    about = [q for q in asked("loops", 5, seed) if there.supports(q) is None]
    refused, *rest = list({q.program: q for q in about}.values())[:3]
    expected = [written(there.answer(q)) for q in rest]
    define, ask = there.worker.define, there.worker.ask
    requests: list[protocol.Request] = []

    def defines(defined: Defined) -> None:
        if defined.name == there._defined(refused).name:
            raise Refused("it is too long")
        define(defined)

    def watched(request: protocol.Request, *more: Any) -> Any:
        requests.append(request)
        return ask(request, *more)

    monkeypatch.setattr(there.worker, "define", defines)
    monkeypatch.setattr(there.worker, "ask", watched)
    first, *others = there.answer_all([refused, *rest])
    assert {(answer.status, answer.message) for answer in first} == {("unsupported", "it is too long")}
    assert list(map(written, others)) == expected
    assert [len(r.evals) for r in requests if isinstance(r, protocol.Several)] == [2]
    assert not any(isinstance(r, protocol.Eval) for r in requests)


def test_in_process_where_the_environment_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch")
    monkeypatch.setenv(IN_PROCESS, "1")
    assert not any(isinstance(way, ForeignOracle) for way in resolve("torch", supervised=True))


@pytest.mark.slow
def test_a_process_that_has_grown_is_replaced(seed: int) -> None:
    pytest.importorskip("torch")
    (way,) = [way for way in resolve("torch", supervised=True) if way.name == "torch:eager"]
    assert isinstance(way, ForeignOracle)
    small = Worker(way.worker.command, ResourceLimits(renewed=1 << 20))
    eager = ForeignOracle("torch:eager", small, small.hello.ways[0], way.version, small.hello.features)
    try:
        (question, *_) = [q for q in asked("loops", 5, seed) if eager.supports(q) is None]
        expected = written(way.answer(question))
        assert written(eager.answer(question)) == expected
        assert small._process is not None
        small._process._look()
        assert small._process.used > 1 << 20
        before = small.pid
        assert written(eager.answer(question)) == expected
        assert small.pid != before
        assert not small.faults
    finally:
        small.close()
