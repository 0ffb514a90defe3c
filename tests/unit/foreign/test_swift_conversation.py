"""The Swift adapter, which nobody has run: a conversation as its source spells it. gradfuzz asks just this,
and takes the replies for what they say.

The derivatives in the replies are not Swift's: no Swift was asked. They are right, as the references find, so
that what is tested is the protocol.
"""

from __future__ import annotations

import json
import re
import shlex
import sys
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from gradfuzz.adapters import path
from gradfuzz.fuzzer.questions.weighted import plain_question
from gradfuzz.fuzzer.results.finding import Verdict
from gradfuzz.fuzzer.verdict.checking import check_question
from gradfuzz.oracles.base import Point
from gradfuzz.oracles.foreign import protocol, schema
from gradfuzz.oracles.foreign.protocol import EvalOk
from gradfuzz.oracles.foreign.worker import Refused
from gradfuzz.oracles.registry import resolve
from gradfuzz.programs import parse
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
SAME = 'def f(x, n: "int"):\n    return x, n\n'
ENDLESS = "def f(x):\n    while x < x + 1.0:\n        x = x * 0.5\n    return x\n"
ARRAYS = 'def f(v: "float[2]"):\n    return v\n'


def asked() -> list[str]:
    """What is asked, in its order, and what comes of it."""
    (way,) = resolve(f"cmd:{RECITING}")
    said = []
    points = [
        {"x": np.asarray(x), "y": np.asarray(0.75), "n": np.asarray(n), "b": np.asarray(b)}
        for x, n, b in ((0.5, 3, False), (-1.25, 4, True), (2.0, 0, False))
    ]
    question = plain_question(parse(LOOPS), [Point(p) for p in points], "float64", ("x", "y"), ("rev",))
    said += [case.verdict.value for case in check_question(question, [way]).cases]
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
    question = plain_question(parse(SAME), [Point(special[0])], "float64", ("x",), ())
    request = way.request(question)
    request = msgspec.structs.replace(request, id=100, program="never defined")
    with pytest.raises(Refused) as refused:
        way.worker.ask(request, EvalOk)
    said.append(f"{refused.value.failure.kind}: {refused.value.message}")
    way.worker.close()
    return said


def test_the_conversation_is_what_gradfuzz_says_and_understands() -> None:
    assert asked() == [
        *[Verdict.AGREE.value] * 3,
        *["ok"] * 6,
        "error: the program ended with status 15",
        "unsupported: there are scalars only, not float[2]",
        "bad_request: the program never defined was never defined",
    ]


def test_the_conversation_is_valid_in_both_directions() -> None:
    jsonschema = pytest.importorskip("jsonschema")
    whole = schema.document()
    del whole["anyOf"]
    requests, replies = conversation(FILE)
    assert len(requests) == len(replies) == 10
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


def literal(anchor: str) -> str:
    """The string that begins with the last character of `anchor` in the source, as it is written there."""
    start = at = SWIFT.index(anchor) + len(anchor)
    depth = 0
    while depth or SWIFT[at] != '"':
        if SWIFT.startswith("\\(", at):
            depth, at = depth + 1, at + 2
        elif depth:
            depth, at = depth + {"(": 1, ")": -1}.get(SWIFT[at], 0), at + 1
        else:
            at += 2 if SWIFT[at] == "\\" else 1
    return SWIFT[start:at]


def filled(text: str, *values: object) -> str:
    """What the string is with these values in the places of its expressions."""
    parts, rest, depth = [], iter(values), 0
    for token in re.findall(r"\\\(|\\.|.", text, re.DOTALL):
        if token == "\\(" and not depth:
            parts.append(str(next(rest)))
        elif not depth:
            parts.append(token[-1])
        depth += {"\\(": 1, "(": 1 if depth else 0, ")": -1 if depth else 0}.get(token, 0)
    assert next(rest, None) is None
    return "".join(parts)


def tensor(message: dict[str, Any]) -> str:
    (entry,) = message["data"]
    assert message["shape"] == []
    return filled(
        literal('let dtype = ["float": "float64", "int": "int64", "bool": "bool"][type]!\n  return "'),
        message["dtype"],
        json.dumps(entry),
    )


def point(arm: dict[str, Any]) -> str:
    if "error" in arm:
        status = arm["error"]["message"].rpartition(" ")[2]
        return filled(literal('guard k < said.count else { return "'), status)
    values = ", ".join(map(tensor, arm["ok"]["values"]))
    slopes = ", ".join(f'"{name}": {tensor(slope)}' for name, slope in arm["ok"]["gradient"].items())
    return filled(literal('floats.firstIndex(of: $0)!], "float") } : []\n    return "'), values, slopes)


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


def ok(request: dict[str, Any], payload: dict[str, Any]) -> str:
    if request["do"] == "hello":
        text = SWIFT[SWIFT.index('case "hello":') :].split('"""')[1]
        return filled(re.sub(r"\\?\n *", "", text), ", ".join(f'"{op}"' for op in names()))
    if request["do"] == "eval":
        return filled(literal('"\n  }\n  return "'), ", ".join(map(point, payload["results"])))
    return "{}"


def test_the_replies_are_spelled_as_the_source_spells_them() -> None:
    for request, line in zip(*conversation(FILE), strict=True):
        reply = json.loads(line)
        if "ok" in reply:
            arm = filled(literal('    arm = "')) + ok(request, reply["ok"])
        elif "error" in reply:
            arm = filled(
                literal('catch let error as BadRequest {\n    arm = "'), json.dumps(reply["error"]["message"])
            )
        else:
            arm = filled(
                literal('catch let error as Unsupported {\n    arm = "'), json.dumps(reply["unsupported"])
            )
        assert filled(literal('  print("'), reply["id"], arm) == line


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
