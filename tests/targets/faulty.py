"""A target that fails in one of nine ways, nine times in forty: which way is decided by the number that it is
asked about.

Number k fails in the way FAULTS[17 k mod 40], where there is one. Otherwise it answers x * x and 2 x by the
toy of the adapters. It starts a child of its own, which has to be gone, too, when it is ended.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "gradfuzz" / "adapters"))

import kit
from toy_adapter import Toy

FAULTS = ("segfault", "hang", "flood", "allocate", "nan_text", "half_line", "wrong_id", "garbage", "exit")


def fault_of(k: int) -> str | None:
    place = 17 * k % 40
    return FAULTS[place] if place < len(FAULTS) else None


def fail(fault: str, number: int) -> None:
    match fault:
        case "segfault":
            os.kill(os.getpid(), signal.SIGSEGV)
        case "hang":
            time.sleep(1000)
        case "flood":
            while True:
                os.write(1, b"x" * 65536)
        case "allocate":
            kept = [b"x" * (16 << 20) for _ in range(100 * 64)]
            write(b"%d" % len(kept))
        case "nan_text":
            tensor = {"dtype": "float64", "shape": [], "data": [float("nan")]}
            write(
                json.dumps(
                    {
                        "id": number,
                        "ok": {"results": [{"ok": {"values": [tensor], "gradient": {"x": tensor}}}]},
                    }
                ).encode()
            )
        case "half_line":
            write(b'{"id": %d, "ok": {"results": [{"ok"' % number, b"")
            time.sleep(1000)
        case "wrong_id":
            write(b'{"id": %d, "unsupported": "no"}' % (number + 1))
        case "garbage":
            write(os.urandom(10 << 20).replace(b"\n", b" "))
        case "exit":
            os._exit(3)


def write(line: bytes, end: bytes = b"\n") -> None:
    rest = memoryview(line + end)
    while rest:
        rest = rest[os.write(1, rest) :]


def main() -> None:
    subprocess.Popen(
        ["sleep", "1000"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    server = kit._Server({"name": "faulty", "version": "1", "language": "Python"}, [Toy()])
    for line in sys.stdin.buffer:
        request = json.loads(line)
        if request["do"] == "eval":
            faults = [fault_of(int(k)) for k in request["inputs"]["x"]["data"]]
            fault = next((f for f in faults if f is not None), None)
            if fault is not None:
                fail(fault, request["id"])
                continue
        reply, goes_on = server.reply(line)
        write(json.dumps(reply).encode())
        if not goes_on:
            break


if __name__ == "__main__":
    main()
