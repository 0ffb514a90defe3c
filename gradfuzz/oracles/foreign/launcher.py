"""Runs a module of a gradfuzz installed elsewhere: `PYTHON launcher.py MODULE ARGUMENTS`.

The interpreter is that of another environment, which has a library and the requirements of gradfuzz. Only
gradfuzz itself is imported from this file's location: the folder around it may hold other releases of the
same packages.
"""

from __future__ import annotations

import importlib.util
import runpy
import sys
from pathlib import Path


def main() -> None:
    """Does what `python -m MODULE ARGUMENTS` does where gradfuzz is installed."""
    package = Path(__file__).resolve().parents[2]
    sys.path[:] = [place for place in sys.path if Path(place).resolve() != Path(__file__).resolve().parent]
    found = importlib.util.spec_from_file_location(
        "gradfuzz", package / "__init__.py", submodule_search_locations=[str(package)]
    )
    assert found is not None and found.loader is not None, "it is the package that this file is in"  # noqa: PT018
    module = sys.modules["gradfuzz"] = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    del sys.argv[0]
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
