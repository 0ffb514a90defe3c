"""A worker survives whatever its process does, and says what that was."""

from __future__ import annotations

import pickle
import shlex
import sys
from pathlib import Path

import numpy as np
import pytest

from gradfuzz.errors import TargetProcessError, UnknownTargetError, UsageError
from gradfuzz.oracles.base import Answer, Point, Question
from gradfuzz.oracles.foreign.oracle import ForeignOracle, named_ways
from gradfuzz.oracles.foreign.process import ResourceLimits
from gradfuzz.oracles.foreign.worker import Defined, Worker, last_words
from gradfuzz.programs import parse

KIT = Path(__file__).parents[3] / "gradfuzz" / "adapters"
PROGRAM = parse("def f(x):\n    return x * x\n")
LIMITS = ResourceLimits(start=60.0, request=20.0, line=1 << 20)

HEAD = f"""
import json, os, signal, sys, time
sys.path.insert(0, {str(KIT)!r})
import kit
from toy_adapter import Toy
server = kit._Server({{"name": "t", "version": "1", "language": "Python"}}, [Toy()])
def say(text, end="\\n"):
    sys.stdout.write(text + end)
    sys.stdout.flush()
def serve(before=lambda request: None, after=lambda request: None):
    for line in sys.stdin.buffer:
        request = json.loads(line)
        if not before(request):
            say(json.dumps(server.reply(line)[0]))
        after(request)
"""


@pytest.fixture
def adapter(tmp_path: Path):
    """Makes a worker of an adapter whose code follows HEAD, and ends it."""
    workers = []

    def make(code: str, limits: ResourceLimits = LIMITS) -> Worker:
        script = tmp_path / f"adapter{len(workers)}.py"
        script.write_text(HEAD + code, encoding="utf-8")
        workers.append(Worker(shlex.join([sys.executable, str(script)]), limits))
        return workers[-1]

    yield make
    for worker in workers:
        worker.close()


def oracle(worker: Worker) -> ForeignOracle:
    hello = worker.hello
    return ForeignOracle("t", worker, hello.ways[0], hello.version, features=hello.features)


def question(*points: float, modes: tuple = ("fwd",)) -> Question:
    at = tuple(Point({"x": np.asarray(float(x))}) for x in points)
    return Question(PROGRAM, at, "float64", ("x",), modes, (np.asarray(1.0),), {"x": np.asarray(1.0)})


def asked(worker: Worker, *points: float) -> list[Answer]:
    return oracle(worker).answer(question(*(points or (3.0,))))


def good(answers: list[Answer], *points: float) -> bool:
    return [(a.status, float(a.values[0]), float(a.gradient["x"])) for a in answers] == [
        ("ok", x * x, 2 * x) for x in points
    ]


def test_questions_are_answered(adapter) -> None:
    worker = adapter("serve()")
    assert good(asked(worker), 3.0)
    assert good(asked(worker, *range(40)), *range(40))
    assert worker.starts == 1
    assert worker.faults == {}


def test_banners_before_hello_are_kept(adapter) -> None:
    worker = adapter("say('Welcome')\nsay('  to the library')\nserve()")
    assert good(asked(worker), 3.0)
    assert worker.banners == ["Welcome", "  to the library"]


@pytest.mark.parametrize(
    ("code", "kind", "words"),
    [
        ("serve(lambda r: r['do'] == 'eval' and say('progress: 3 %'))", "protocol", "progress: 3 %"),
        ("serve(after=lambda r: r['do'] == 'define' and say('done'))", "protocol", "done"),
        (
            "serve(lambda r: r['do'] == 'eval' and os._exit(7))",
            "exit",
            "exited: the process ended with code 7",
        ),
        (
            "serve(lambda r: r['do'] == 'eval' and os.kill(os.getpid(), signal.SIGSEGV))",
            "signal",
            "SIGSEGV: the process was killed by signal 11",
        ),
        (
            "serve(lambda r: r['do'] == 'eval' and (say('{\"id\": 3, ', ''), os._exit(0)))",
            "exit",
            "in the middle of the line",
        ),
        (
            "serve(lambda r: r['do'] == 'eval' and say(json.dumps({'id': 99, 'ok': {}})) is None)",
            "wrong_id",
            "has the id 99",
        ),
        ("serve(lambda r: r['do'] == 'eval' and say('x' * (2 << 20), ''))", "flood", "flood: "),
        ("serve(lambda r: r['do'] == 'eval' and [say('x' * 1000) for _ in range(3000)])", "flood", "flood: "),
        (
            "serve(lambda r: r['do'] == 'eval' and os.close(1) is None and time.sleep(9))",
            "exit",
            "closed its stdout",
        ),
        (
            (
                "serve(lambda r: r['do'] == 'eval' and say(json.dumps({'id': r['id'], 'ok': {'results': []},"
                " 'note': 1})) is None)"
            ),
            "protocol",
            "note",
        ),
    ],
)
def test_a_fault_is_told_as_what_it_was(adapter, code: str, kind: str, words: str) -> None:
    worker = adapter(code)
    (answer,) = asked(worker)
    assert answer.status == "error"
    assert words in answer.message, answer.message
    assert worker.faults == {kind: 1}


def test_a_hang_ends_at_its_deadline(adapter) -> None:
    worker = adapter(
        "serve(lambda r: r['do'] == 'eval' and time.sleep(100))", ResourceLimits(start=60.0, request=0.3)
    )
    (answer,) = asked(worker)
    assert answer.message == "timed out: no answer within 0.3 seconds"
    worker = adapter(
        "serve(lambda r: r['do'] == 'eval' and (say('{', ''), time.sleep(100)))",
        ResourceLimits(start=60.0, request=0.3),
    )
    assert asked(worker)[0].message.startswith("half a line: '{', and no end of it")


@pytest.mark.parametrize(("fd", "words"), [(2, "timed out: "), (1, "half a line: ")])
def test_who_writes_without_end_is_late_all_the_same(adapter, fd: int, words: str) -> None:
    code = (
        f"def write(r):\n    while r['do'] == 'eval':\n        os.write({fd}, b'x' * 100)\n       "
        " time.sleep(0.001)\nserve(write)"
    )
    worker = adapter(code, ResourceLimits(start=60.0, request=0.5))
    (answer,) = asked(worker)
    assert answer.message.startswith(words), answer.message


def test_stderr_is_kept_bounded_and_its_end_shown(adapter) -> None:
    code = (
        "def die(r):\n    if r['do'] == 'eval':\n        sys.stderr.write('x' * 200000 + '\\nfatal: no"
        " device\\n')\n        sys.stderr.flush()\n        os._exit(1)\nserve(die)"
    )
    worker = adapter(code)
    defined = Defined.of(PROGRAM)
    with pytest.raises(TargetProcessError, match="code 1") as caught:
        worker.eval(defined, oracle(worker).request(question(1.0)))
    assert len(caught.value.stderr) <= LIMITS.stderr
    assert caught.value.stderr.endswith("fatal: no device\n")
    assert pickle.loads(pickle.dumps(caught.value)).stderr == caught.value.stderr
    assert asked(worker)[0].message.endswith("its stderr says: fatal: no device")


@pytest.mark.parametrize(
    ("stderr", "words"),
    [
        ("", ""),
        ("loading\nno library here\n\n", "; its stderr ends with: no library here"),
        (
            "LLVM ERROR: no f32\n  v4f32 = bitcast\nIn function: f_12\n",
            "; its stderr says: LLVM ERROR: no f32",
        ),
        ("FatalError: `SIGSEGV`\n[*** Aborted at 3]\n", "; its stderr says: FatalError: `SIGSEGV`"),
        ("the error is:\n>>> unknown variable!\n", "; its stderr says: >>> unknown variable!"),
        ("I0000 00:00:1795646860.262969   21437 stub.cc:31] no GPU, fails later\n", ""),
        ("3:9: error: expected value\n  %a = b\n  ^\n", "; its stderr says: 3:9: error: expected value"),
    ],
)
def test_the_words_of_a_process_that_ended_are_those_that_name_a_fault(stderr: str, words: str) -> None:
    assert last_words(stderr) == words


def test_an_ended_process_is_started_again_and_told_the_program(adapter, tmp_path: Path) -> None:
    flag = tmp_path / "flag"
    code = (
        f"serve(lambda r: r['do'] == 'eval' and not os.path.exists({str(flag)!r}) and (open({str(flag)!r},"
        " 'w'), os._exit(1)))"
    )
    worker = adapter(code)
    assert asked(worker)[0].status == "error"
    assert good(asked(worker), 3.0)
    assert worker.starts == 2
    worker.kill()
    assert asked(worker)[0].message.startswith("SIGKILL")
    assert good(asked(worker), 3.0)
    assert worker.starts == 3


def test_of_several_points_the_others_are_answered(adapter) -> None:
    worker = adapter("serve(lambda r: r['do'] == 'eval' and 2.0 in r['inputs']['x']['data'] and os._exit(1))")
    one, two, three = asked(worker, 1.0, 2.0, 3.0)
    assert good([one, three], 1.0, 3.0)
    assert two.message == "exited: the process ended with code 1"


def test_after_two_faults_in_a_row_the_others_are_not_asked(adapter) -> None:
    worker = adapter("serve(lambda r: r['do'] == 'eval' and os._exit(1))")
    answers = asked(worker, *range(30))
    assert [a.status for a in answers] == ["error"] * 30
    assert worker.starts == 3


def test_a_budget_of_starts(adapter) -> None:
    worker = adapter(
        "serve(lambda r: r['do'] == 'eval' and os._exit(1))",
        ResourceLimits(start=60.0, request=20.0, restarts=2),
    )
    messages = [asked(worker)[0].message for _ in range(4)]
    assert [m.partition(":")[0] for m in messages] == ["exited", "exited", "exited", "gone"]
    assert "was started 3 times" in messages[-1]


def test_a_target_that_never_says_hello(adapter) -> None:
    worker = adapter("sys.exit('no library here')")
    for _ in range(3):
        with pytest.raises(
            TargetProcessError, match="before it said hello; its stderr ends with: no library here"
        ):
            worker.hello  # noqa: B018 - it starts the process
    with pytest.raises(
        TargetProcessError, match="ended before its hello 3 times in a row, and is not started again"
    ):
        worker.hello  # noqa: B018


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ('say(\'{"id": 1, "ok": {}}\')\ntime.sleep(9)', "the reply is no HelloOk"),
        ('say(\'{"id": 7, "ok": {}}\')\ntime.sleep(9)', "has the id 7, not 1"),
        ("server._answers['hello'] = lambda r: 0\nserve()", "the reply is no HelloOk"),
        (
            'say(\'{"id": 1, "error": {"kind": "exception", "message": "no GPU"}}\')\ntime.sleep(9)',
            "start: exception: no GPU",
        ),
        ("kit.VERSION = 2\nserve()", "it speaks version 2"),
    ],
)
def test_a_hello_that_is_none(adapter, code: str, words: str) -> None:
    with pytest.raises(TargetProcessError, match=words):
        adapter(code).hello  # noqa: B018


def test_a_long_line_each_way_does_not_block(adapter) -> None:
    """Both pipes are full at once: the adapter echoes while it reads."""
    worker = adapter("serve()", ResourceLimits(start=60.0, request=60.0))
    numbers = tuple(float(k) + 0.125 for k in range(20_000))
    assert good(asked(worker, *numbers), *numbers)


def test_programs_are_forgotten_in_turn(adapter, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gradfuzz.oracles.foreign.worker._KEPT", 2)
    worker = adapter("serve()")
    programs = [Defined.of(parse(f"def f(x):\n    return x + {k}.0\n")) for k in range(4)]
    for _ in range(2):
        for defined in programs:
            worker.define(defined)
    assert len(worker._defined) == 2
    assert good(asked(worker), 3.0)


def test_a_command_that_cannot_be_started() -> None:
    with pytest.raises(UnknownTargetError, match="start: /no/such/program cannot be started"):
        named_ways("cmd:/no/such/program", "/no/such/program")
    with pytest.raises(UsageError, match="needs a command"):
        Worker(" ")
    with pytest.raises(UsageError, match="cannot be read: No closing quotation"):
        Worker("python 'x")


def test_a_script_comes_from_those_that_emit_one(adapter) -> None:
    plain = oracle(adapter("serve()"))
    assert plain.script(question(3.0)) == ""
    code = (
        "server._answers['emit'] = lambda r: {'language': 'toy', 'source':"
        " f\"f({r['inputs']['x']['data'][0]})\"}\nhello = server._answers['hello']\nserver._answers['hello']"
        " = lambda r: dict(hello(r), features=['emit'])\nserve()"
    )
    assert oracle(adapter(code)).script(question(3.0)) == "f(3.0)"
