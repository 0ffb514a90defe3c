"""A board of every system that is installed here: `build/board`.

    python -m benchmarks.board [--seconds S] [--out FOLDER] [TARGET...]

A TARGET is a library, or a release in an environment (`gradfuzz targets install`); where none is named they
are all that answer here. Each is swept for so many seconds. The store keeps what it has from earlier times.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

from gradfuzz.errors import GradfuzzError
from gradfuzz.oracles import registry
from gradfuzz.oracles.foreign import managed

FAMILIES = "loops,linalg,tensor,elementwise"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("targets", nargs="*")
    parser.add_argument("--seconds", type=float, default=120.0)
    parser.add_argument("--out", type=Path, default=Path("build") / "board")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    store = str(options.out / "store.sqlite")
    environment = {**os.environ, managed.VARIABLE: str(managed.root())}

    def run(*words: str, check: bool = True) -> None:
        command = [sys.executable, "-m", "gradfuzz", *words]
        subprocess.run(command, check=check, env=environment)  # noqa: S603

    here = [*registry.names(), *(one.target for one in managed.everything())]
    for target in options.targets or dict.fromkeys(name for name in here if _answers(name)):
        print(f"{target} ...", flush=True)
        flags = "--family", FAMILIES, "--max-time", f"{options.seconds:g}", "--store", store
        run("sweep", target, *flags, "--format", "concise", check=False)  # findings are no failure
    run("board", store, "--out", str(options.out / "site"))


def _answers(name: str) -> bool:
    try:
        return bool(registry.resolve(name, supervised=True))
    except GradfuzzError:
        return False


if __name__ == "__main__":
    main()
