"""What the first question costs: CPU seconds of new processes, beside the import of the library alone.

python -m benchmarks.start
"""

from __future__ import annotations

import resource
import subprocess
import sys
from collections.abc import Sequence

_FIRST = """
import numpy as np, {library}
from gradfuzz.testing import check_gradient
check_gradient({function}, {argument})
"""

_CHECK = (sys.executable, "-m", "gradfuzz", "check", "acc*x", "--only")


def seconds(command: Sequence[str]) -> float:
    """The CPU time of a command and its children; the least of three."""
    found = []
    for _ in range(3):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command, check=False, capture_output=True)  # noqa: S603 - commands of this file
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        found.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return min(found)


def first(library: str, function: str, argument: str) -> str:
    return _FIRST.format(library=library, function=function, argument=argument)


def main() -> int:
    python = (sys.executable, "-c")
    imports = {name: seconds((*python, f"import numpy, {name}")) for name in ("numpy", "torch", "jax")}
    checks = {
        "numpy": first("numpy", "lambda x: np.sum(x * x)", "np.ones(5), grad=lambda x: 2 * x"),
        "torch": first("torch", "lambda x: torch.tanh(x @ x)", "torch.eye(5, dtype=torch.float64)"),
        "jax": first("jax", "lambda x: jax.numpy.tanh(x @ x)", "jax.numpy.eye(5)"),
    }
    print("first check_gradient in a process, less the import of the framework:")
    for name, text in checks.items():
        print(f"    {name:6} {seconds((*python, text)) - imports[name]:.2f} s")
    print(f"check 'acc*x' --only engine: {seconds((*_CHECK, 'engine')):.2f} s")
    beside = seconds((*_CHECK, "torch:eager")) - imports["torch"]
    print(
        f"check 'acc*x' --only torch:eager: the import of Torch ({imports['torch']:.2f} s) and {beside:.2f} s"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
