"""The Swift adapter: a conversation with Swift 6.0.3 that was recorded once. gradfuzz asks just this, and
takes the replies for what they say; where there is a toolchain, it is asked again.
"""

from __future__ import annotations

import json
import re
import shlex
import sys
from pathlib import Path

import msgspec
import numpy as np
import pytest

from gradfuzz.adapters import path
from gradfuzz.fuzzer.questions.weighted import plain_question
from gradfuzz.fuzzer.results.finding import Verdict
from gradfuzz.fuzzer.verdict.checking import check_question
from gradfuzz.oracles.base import Point
from gradfuzz.oracles.foreign import protocol, schema
from gradfuzz.oracles.foreign.oracle import ForeignOracle
from gradfuzz.oracles.foreign.protocol import EvalOk
from gradfuzz.oracles.foreign.worker import Refused
from gradfuzz.oracles.registry import resolve
from gradfuzz.programs import FLOAT, loop_program, parse
from tests.swift_toolchain import adapter, needs_swift
from tests.targets.reciting import conversation

ROOT = Path(__file__).parents[3]
SWIFT = path("swift_adapter.swift").read_text(encoding="utf-8")
FILE = ROOT / "tests" / "data" / "swift_conversation.txt"
RECITING = (
    f"{shlex.quote(sys.executable)} {shlex.quote(str(ROOT / 'tests' / 'targets' / 'reciting.py'))}"
    f" {shlex.quote(str(FILE))}"
)

LOOPS = """
def f(x, y, n: "int", b: "bool"):
    acc = 1.0
    for i in range(n):
        if acc < 0.125 or b:
            acc = acc * x + i
            continue
        acc = sin(acc * x) - y
    k = 0
    while k < n:
        k = k + 1
        acc = acc + where(b, y, x) ** 2
        if 3.0 < acc:
            break
    while True:
        acc = maximum(acc, -acc) / 2.0
        if not 1.0 < acc:
            break
    return acc, k % 3, b
"""
FORMS = """
def f(x, y, n: "int"):
    acc = 1.0
    total = 0.0
    for i in range(n):
        acc = acc * x
        if acc < 0.2:
            acc = y / (acc - 2.0)
        total = total + sin(acc) * y
    return total, n
"""
WAYS = ["function", "inout", "calls", "struct", "array", "closure"]
COMES = [
    *[Verdict.DISAGREE.value] * 2,  # by the bug of Swift #78264: the last loop has two trips
    Verdict.AGREE.value,
    *[Verdict.AGREE.value] * len(WAYS),
    *["ok"] * 6,
    "error: the program ended with status 15",
    "unsupported: there are scalars only, not float[2]",
    "bad_request: the program never defined was never defined",
]
"""What comes of the conversation."""
RECORDED = json.loads((ROOT / "tests" / "data" / "swift_loops.json").read_text())["rows"]

SAME = 'def f(x, n: "int"):\n    return x, n\n'
ENDLESS = "def f(x):\n    while x < x + 1.0:\n        x = x * 0.5\n    return x\n"
ARRAYS = 'def f(v: "float[2]"):\n    return v\n'


def asked(command: str = RECITING) -> list[str]:
    """What is asked, in its order, and what comes of it."""
    ways = resolve(f"cmd:{command}")
    assert [way.way.name for way in ways if isinstance(way, ForeignOracle)] == WAYS
    way = ways[0]
    assert isinstance(way, ForeignOracle)
    said = []
    points = [
        {"x": np.asarray(x), "y": np.asarray(0.75), "n": np.asarray(n), "b": np.asarray(b)}
        for x, n, b in ((0.5, 3, False), (-1.25, 4, True), (2.0, 0, False))
    ]
    question = plain_question(parse(LOOPS), [Point(p) for p in points], "float64", ("x", "y"), ("rev",))
    said += [case.verdict.value for case in check_question(question, [way]).cases]
    point = {name: points[0][name] for name in ("x", "y", "n")}
    for form in ways:
        question = plain_question(parse(FORMS), [Point(point)], "float32", ("x",), ("rev",))
        said += [case.verdict.value for case in check_question(question, [form]).cases]
    special = [
        {"x": np.asarray(x), "n": np.asarray(-(2**53) - 1)}
        for x in (np.nan, np.inf, -np.inf, -0.0, 5e-324, 0.1)
    ]
    question = plain_question(parse(SAME), [Point(p) for p in special], "float64", ("x",), ())
    for answer, point in zip(way.answer(question), special, strict=True):
        assert np.array_equal(answer.values[0], point["x"], equal_nan=True)
        assert np.signbit(answer.values[0]) == np.signbit(point["x"]) or np.isnan(point["x"])
        assert int(answer.values[1]) == -(2**53) - 1
        said.append(answer.status)
    for text, values in ((ENDLESS, np.asarray(1.0)), (ARRAYS, np.ones(2))):
        program = parse(text)
        (name,) = (p.name for p in program.params)
        (answer,) = way.answer(plain_question(program, [Point({name: values})], "float64", (name,), ()))
        said.append(f"{answer.status}: {answer.message}")
    several = [
        plain_question(parse(SAME), [Point(special[0] | {"x": np.asarray(0.1)})], dtype, ("x",), ("rev",))
        for dtype in ("float64", "float32")
    ]
    for question, (answer,) in zip(several, way.answer_all(several), strict=True):
        assert answer.values[0] == np.asarray(0.1, question.precision)
        assert (answer.gradient["x"], answer.gradient["x"].dtype) == (1.0, question.precision)
    question = plain_question(parse(SAME), [Point(special[0])], "float64", ("x",), ())
    request = way.request(question)
    request = msgspec.structs.replace(request, id=100, program="never defined")
    with pytest.raises(Refused) as refused:
        way.worker.ask(request, EvalOk)
    said.append(f"{refused.value.failure.kind}: {refused.value.message}")
    way.worker.close()
    return said


def test_the_conversation_is_what_gradfuzz_says_and_understands() -> None:
    assert asked() == COMES


@pytest.mark.slow
@needs_swift
def test_swift_says_it_again() -> None:
    """Releases without the bug agree on the first points, too."""
    said = asked(adapter())
    assert said[:2] in (COMES[:2], [Verdict.AGREE.value] * 2)
    assert said[2:] == COMES[2:]


@needs_swift
def test_swift_returns_what_it_returned() -> None:
    """The recorded loops, in one file of programs: while and for are right, and so is repeat once it is."""
    way = resolve(f"cmd:{adapter()}")[0]
    rows = [row for row in RECORDED if row[3] in (2, 3) and row[4] == 1.5 and row[0] == "acc * x"]
    questions = []
    for body, form, start, trips, x, *_ in rows:
        init = {"acc": "x"} if start == "x" else None
        program = loop_program(body, loop=form, trips=trips, init=init, params={"x": FLOAT})
        questions.append(plain_question(program, [Point({"x": np.asarray(x)})], "float64", ("x",), ("rev",)))
    slopes = [float(answer.gradient["x"]) for (answer,) in way.answer_all(questions)]
    way.close()
    assert {row[1] for row in rows} == {"repeat", "while", "for"}
    for (_, form, *_, got, true), slope in zip(rows, slopes, strict=True):
        assert slope in ((got, true) if form == "repeat" else (true,))


def test_the_conversation_is_valid_in_both_directions() -> None:
    jsonschema = pytest.importorskip("jsonschema")
    whole = schema.document()
    del whole["anyOf"]
    requests, replies = conversation(FILE)
    assert len(requests) == len(replies) == 18
    for messages, kind in ((requests, "Request"), (map(json.loads, replies), "Reply")):
        check = jsonschema.Draft202012Validator({**whole, "$ref": f"#/$defs/{kind}"})
        for message in messages:
            check.validate(message)
    for request, reply in zip(requests, replies, strict=True):
        assert (
            protocol.decode_reply(reply.encode()).id
            == protocol.decode_request(json.dumps(request).encode()).id
        )


# The source -------------------------------------------------------------------------------------------------


def names() -> list[str]:
    """The ops that the source has."""
    tables = {
        name: (
            SWIFT[SWIFT.index(f"let {name}") :]
            .partition("= [")[2]
            .partition("\n]" if name == "ops" else "]\n")[0]
        )
        for name in ("ops", "intOps", "formed")
    }
    keyed = {op for name in ("ops", "intOps") for op in re.findall(r'"(\w+)":', tables[name])}
    return sorted(keyed | set(re.findall(r'"(\w+)"', tables["formed"])))


def test_the_ops_of_the_hello_are_those_of_the_source() -> None:
    _, replies = conversation(FILE)
    ways = json.loads(replies[0])["ok"]["ways"]
    assert [way["name"] for way in ways] == WAYS
    for way in ways:
        assert way["ops"] == names()


def test_what_the_adapter_reads_is_there() -> None:
    """Every field by name, and every kind of statement and expression."""
    requests, _ = conversation(FILE)
    read = set(re.findall(r'\b(?:request|form|s|e|w|tensor)\["(\w+)"\]', SWIFT))
    assert read > {
        "assign",
        "value",
        "if",
        "then",
        "else",
        "for",
        "count",
        "while",
        "repeat",
        "body",
        "op",
        "args",
        "params",
    }
    there = set(re.findall(r'"(\w+)":', json.dumps(requests)))
    assert read <= there, read - there
    assert {"break", "continue"} <= set(re.findall(r'"(\w+)"', json.dumps(requests)))
