"""Runs the benchmarks and writes docs/performance.md: what each printed, and on what.

python -m benchmarks.performance            all, an hour of two quiet cores
python -m benchmarks.performance gradients start
"""

from __future__ import annotations

import argparse
import platform
import subprocess
import sys
import textwrap
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from types import MappingProxyType

ROOT = Path(__file__).parents[1]
WIDTH = 108
PAGE = ROOT / "docs" / "performance.md"

BENCHMARKS: Mapping[str, str] = MappingProxyType(
    {
        "gradients": "check_gradient beside gradcheck and check_grads",
        "proving": "A proof beside the trace of the rule",
        "start": "The first question of a process",
        "growth": "Memory of a process that checks many functions",
        "loops": "Loops of the engine beside Torch, autograd and JAX",
        "memory": "Memory of the engine's loops",
        "linalg": "Linear algebra of the engine beside Torch",
        "generation": "Programs drawn per second",
        "workers": "What worker processes cost and gain",
    }
)

HEAD = """# Performance

<!-- Made by `make bench`; edit benchmarks/performance.py. -->

Machines differ, and this one is shared: compare numbers of one table with each other, and nothing else. The
modules of `benchmarks/` say what is measured.
"""


def sections(page: str) -> dict[str, str]:
    """The sections of an earlier page by their headings: what is not run again stays."""
    parts = page.split("\n## ")[1:]
    return {part.partition("\n")[0]: part.partition("\n")[2].strip() for part in parts}


def ran(name: str) -> str:
    """What a benchmark printed, as a block with the versions before it."""
    command = [sys.executable, "-m", f"benchmarks.{name}"]
    done = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True)  # noqa: S603 - of this folder
    libraries = ", ".join(f"{package} {version(package)}" for package in ("numpy", "torch", "jax"))
    told = f"Python {platform.python_version()}, {libraries}, {platform.machine()}, `{' '.join(command[1:])}`"
    rows = [
        textwrap.wrap(line, WIDTH, subsequent_indent=" " * 8) or [""] for line in done.stdout.splitlines()
    ]
    lines = "\n".join(part.rstrip() for row in rows for part in row).strip("\n")
    return f'{told}\n\n```text title="not run: what was measured"\n{lines}\n```'


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("names", nargs="*", help=f"of {', '.join(BENCHMARKS)}; all unless named")
    options = parser.parse_args(arguments)
    known = sections(PAGE.read_text(encoding="utf-8")) if PAGE.exists() else {}
    for name in options.names or BENCHMARKS:
        print(f"{name}: {BENCHMARKS[name]}", file=sys.stderr, flush=True)
        known[BENCHMARKS[name]] = ran(name)
        told = [f"## {title}\n{known[title]}\n" for title in BENCHMARKS.values() if title in known]
        PAGE.write_text("\n".join([HEAD, *told]), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
