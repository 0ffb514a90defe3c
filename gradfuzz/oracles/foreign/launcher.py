"""Runs a module of a gradfuzz installed elsewhere: `PYTHON launcher.py [--lend PLACES] MODULE ARGUMENTS`.

The interpreter is that of another environment, which has a library. Only gradfuzz itself is imported from
this file's location: the folder around it may hold other releases of the same packages. What gradfuzz
requires and the environment lacks is lent: PLACES, an object in JSON, says in which folder each package is.
"""

from __future__ import annotations

import importlib.util
import json
import runpy
import sys
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path


class _Lender:
    """Finds packages that the environment itself has not."""

    def __init__(self, places: dict[str, str]) -> None:
        self._places = places

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        place = self._places.get(name)
        return None if place is None else PathFinder.find_spec(name, [place])


def main() -> None:
    """Does what `python -m MODULE ARGUMENTS` does where gradfuzz is installed."""
    package = Path(__file__).resolve().parents[2]
    sys.path[:] = [place for place in sys.path if Path(place).resolve() != Path(__file__).resolve().parent]
    found = importlib.util.spec_from_file_location(
        "gradfuzz", package / "__init__.py", submodule_search_locations=[str(package)]
    )
    assert found is not None and found.loader is not None, "it is the package that this file is in"  # noqa: PT018
    module = sys.modules["gradfuzz"] = importlib.util.module_from_spec(found)
    del sys.argv[0]
    if sys.argv[0] == "--lend":
        sys.meta_path.append(_Lender(json.loads(sys.argv[1])))
        del sys.argv[:2]
    found.loader.exec_module(module)
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
