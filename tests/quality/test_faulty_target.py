"""A target that fails in nine ways, each once in forty cases: every other case is answered, each fault is
told as what it was, nothing is left.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import uuid
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from gradfuzz.oracles.base import Answer, Point, Question
from gradfuzz.oracles.foreign.memory import resident
from gradfuzz.oracles.foreign.oracle import ForeignOracle
from gradfuzz.oracles.foreign.process import ResourceLimits
from gradfuzz.oracles.foreign.worker import Worker
from gradfuzz.programs import parse

ROOT = Path(__file__).parents[2]
TARGET = ROOT / "tests" / "targets" / "faulty.py"
PROGRAM = parse("def f(x):\n    return x * x\n")
SECONDS = 3
LIMITS = ResourceLimits(start=60.0, request=SECONDS, memory=256 << 20, line=16 << 20, restarts=100_000)

TOLD: dict[str, tuple[str, str]] = {
    "segfault": ("signal", "SIGSEGV: the process was killed by signal 11"),
    "hang": ("timeout", "timed out: no answer within "),
    "flood": ("flood", "flood: "),
    "allocate": ("memory", "out of memory: it took more than the 256 MiB it may"),
    "nan_text": ("protocol", "protocol: the line is no reply (JSON is malformed"),
    "half_line": ("half_line", "half a line: "),
    "wrong_id": ("wrong_id", "wrong id: the reply to request "),
    "garbage": ("protocol", "protocol: the line is no reply ("),
    "exit": ("exit", "exited: the process ended with code 3"),
}
"""Fault: its kind, and how the message begins."""


def fault_of(k: int) -> str | None:
    place = 17 * k % 40
    return tuple(TOLD)[place] if place < len(TOLD) else None


def question(*numbers: int) -> Question:
    points = tuple(Point({"x": np.asarray(float(k))}) for k in numbers)
    return Question(PROGRAM, points, "float64", ("x",), ("fwd",), (np.asarray(1.0),), {"x": np.asarray(1.0)})


def oracle(mark: str, seconds: float = SECONDS) -> ForeignOracle:
    worker = Worker(
        f"{sys.executable} {TARGET}", replace(LIMITS, request=seconds), {"GRADFUZZ_TEST_MARK": mark}
    )
    hello = worker.hello
    return ForeignOracle("faulty", worker, hello.ways[0], hello.version)


def marked(mark: str) -> list[int]:
    """The processes that were started with the mark, alive."""
    found = []
    for folder in Path("/proc").iterdir():
        try:
            if (
                folder.name.isdigit()
                and f"GRADFUZZ_TEST_MARK={mark}".encode() in (folder / "environ").read_bytes()
            ):
                found.append(int(folder.name))
        except OSError:
            continue
    return found


def left(mark: str) -> list[int]:
    """Those that do not end within half a minute: one that has been killed with its memory full takes a
    moment.
    """
    until = time.monotonic() + 30.0
    while (found := marked(mark)) and time.monotonic() < until:
        time.sleep(0.1)
    return found


def mistake(k: int, answer: Answer) -> str:
    """What is wrong about the answer to number k; "" where nothing is."""
    fault = fault_of(k)
    if fault is not None:
        fits = answer.status == "error" and answer.message.startswith(TOLD[fault][1])
        return "" if fits else f"{k}: {fault} was told as {answer.status} {answer.message[:200]}"
    if answer.status != "ok":
        return f"{k}: {answer.status} {answer.message[:200]}"
    return "" if answer.values[0] == k * k and answer.gradient["x"] == 2 * k else f"{k}: a wrong answer"


def run(cases: int, jobs: int, mark: str, seconds: float) -> tuple[Counter[str], int, list[int], list[str]]:
    """Asks about 0, ..., cases - 1; how often each kind of fault was counted, how many processes were
    started, memory along the way, mistakes.
    """

    def share(job: int) -> tuple[Counter[str], int, list[int], list[str]]:
        target = oracle(mark, seconds)
        memory, mistakes = [], []
        for turn, k in enumerate(range(job * cases // jobs, (job + 1) * cases // jobs)):
            (answer,) = target.answer(question(k))
            mistakes += [text] if (text := mistake(k, answer)) else []
            if turn % max(1, cases // jobs // 10) == 0:
                memory.append(own_memory())
        target.worker.close()
        return target.worker.faults, target.worker.starts, memory, mistakes

    with ThreadPoolExecutor(jobs) as pool:
        shares = list(pool.map(share, range(jobs)))
    faults: Counter[str] = Counter()
    for counted, _, _, _ in shares:
        faults.update(counted)
    return (
        faults,
        sum(share[1] for share in shares),
        shares[0][2],
        [text for share in shares for text in share[3]],
    )


def own_memory() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def judged(cases: int, jobs: int, seconds: float = SECONDS) -> None:
    mark = uuid.uuid4().hex
    started = time.monotonic()
    faults, starts, memory, mistakes = run(cases, jobs, mark, seconds)
    took = time.monotonic() - started
    early = memory[len(memory) // 3]  # after every kind of fault has been met
    growth = (memory[-1] - early) / (1 << 20)
    print(
        f"{cases:,} cases, {sum(faults.values())} faults {dict(faults)}, {starts} processes, {took:.0f} s"
        f" with {jobs} workers, memory {early / (1 << 20):.0f} MiB early and {memory[-1] / (1 << 20):.0f} MiB"
        " in the end"
    )
    expected = Counter(TOLD[fault][0] for k in range(cases) if (fault := fault_of(k)) is not None)
    assert mistakes == []
    assert faults == expected
    assert (
        sum(expected.values()) <= starts <= sum(expected.values()) + jobs
    )  # nobody is started after a last fault
    assert left(mark) == []
    assert cases < 1000 or growth < 32.0  # a few buffers of the size of a flood come and go


@pytest.mark.slow
def test_two_hundred_cases() -> None:
    judged(200, jobs=4)


@pytest.mark.slow
def test_four_thousand_cases() -> None:
    judged(4000, jobs=4, seconds=10)


def test_the_other_points_of_a_question_are_answered() -> None:
    """Of a question with a point that ends the process, the others have the answers that they would have had
    alone.
    """
    target = oracle(uuid.uuid4().hex)
    bad = next(k for k in range(100) if fault_of(k) == "exit")
    numbers = (1, bad, 3)
    assert [fault_of(k) for k in numbers] == [None, "exit", None]
    for k, answer in zip(numbers, target.answer(question(*numbers)), strict=True):
        assert mistake(k, answer) == ""
    target.worker.close()


def test_nothing_is_left_when_gradfuzz_is_killed() -> None:
    mark = uuid.uuid4().hex
    code = (
        "import sys, numpy as np\n"
        f"sys.path[:0] = [{str(ROOT)!r}, {str(ROOT / 'tests' / 'quality')!r}]\n"
        "import test_faulty_target as t\n"
        f"target = t.oracle({mark!r})\n"
        "print('ready', flush=True)\n"
        "target.answer(t.question(next(k for k in range(100) if t.fault_of(k) == 'hang')))\n"
    )
    environment = {k: v for k, v in os.environ.items() if not k.startswith("GRADFUZZ_TEST_MARK")}
    parent = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, env=environment)
    assert parent.stdout is not None
    assert parent.stdout.readline() == b"ready\n"
    until = time.monotonic() + 10.0
    while (
        len(marked(mark)) < 2 and time.monotonic() < until
    ):  # the target, and its child, which take a moment to be seen
        time.sleep(0.05)
    assert len(marked(mark)) >= 2
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    parent.stdout.close()
    assert left(mark) == []


def test_the_memory_of_children_counts() -> None:
    code = (
        "import subprocess, sys; subprocess.run([sys.executable, '-c', 'x = b\"x\" * (200 << 20); print(1,"
        " flush=True); input()'])"
    )
    process = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.readline()
    assert resident(process.pid) > 200 << 20
    process.communicate(b"\n")
