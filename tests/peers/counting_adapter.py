"""The adapter for HIPS autograd, which counts how often each derivative rule runs.

    python counting_adapter.py FOLDER     keeps {"vjp sin 0": 12, ...} there: mode, primitive, argument

A target's process is killed when a sweep ends, so the counts are written every second, to a file per process.
"""

from __future__ import annotations

import json
import os
import runpy
import sys
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import autograd.numpy.linalg
import autograd.scipy.linalg
import autograd.scipy.signal
import autograd.scipy.special  # noqa: F401 - each module brings its rules
from autograd.core import primitive_jvps, primitive_vjps

COUNTS: Counter[str] = Counter()


def reverse(name: str, rule: Callable[..., Any]) -> Callable[..., Any]:
    def counted(argnums: Any, *rest: Any) -> Any:
        run = rule(argnums, *rest)

        def counted_run(g: Any) -> Any:
            COUNTS.update(f"vjp {name} {k}" for k in argnums)
            return run(g)

        return counted_run

    return counted


def forward(name: str, rule: Callable[..., Any]) -> Callable[..., Any]:
    def counted(argnums: Any, *rest: Any) -> Any:
        COUNTS.update(f"jvp {name} {k}" for k in argnums)
        return rule(argnums, *rest)

    return counted


def keep(folder: Path) -> None:
    """Writes the counts every second, as long as the process lives."""
    path = folder / f"{os.getpid()}.json"
    while not threading.Event().wait(1.0):
        part = path.with_suffix(".part")
        part.write_text(json.dumps(dict(COUNTS)), encoding="utf-8")
        part.replace(path)


def main(folder: Path) -> None:
    """Wraps every rule, and runs the adapter."""
    for table, wrapped in ((primitive_vjps, reverse), (primitive_jvps, forward)):
        for function, rule in list(table.items()):
            table[function] = wrapped(function.__name__, rule)
    threading.Thread(target=keep, args=(folder,), daemon=True).start()
    script = Path(__file__).parents[2] / "gradfuzz" / "adapters" / "autograd_adapter.py"
    sys.path.insert(0, str(script.parent))
    sys.argv = [script.name]
    runpy.run_path(str(script), run_name="__main__")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
