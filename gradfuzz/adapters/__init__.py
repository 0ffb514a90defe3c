"""Scripts that speak the protocol for a library, each started in a process of its own.

    kit.py          the protocol and the walk through programs, for Python 3.8 or newer, without a dependency
    *_adapter.py    a library through the kit; `toy_adapter.py` is the one to begin with
    catalogue.py    the record of a library's function, for catalogues
    *_catalogue.py  the functions of a library
    kernels.py      programs as source, for libraries that compile kernels
    fields.py       what Taichi and Quadrants share
    cpp/ elixir/ js/ swift/
                    the same for other languages, a folder each
    shipped.py      the table of the adapters that gradfuzz ships

- The scripts run where the library is installed and import nothing of gradfuzz. `path` says where each of
  them lies.
- The kit runs loops and branches in Python, or hands them to a library that has its own (`structured`). For a
  library that wants source, a program is written as a kernel.
- They import one another by name (`import kit`); `stubs/` tells mypy which modules these are.
- `docs/targets.md` says which of the other languages' kits were run.
"""

from __future__ import annotations

from pathlib import Path

_FOLDERS = {
    ".py": "",
    ".exs": "elixir",
    ".js": "js",
    ".cpp": "cpp",
    ".hpp": "cpp",
    ".swift": "swift",
    ".sh": "swift",
    "chroot.sh": "elixir",
}
"""The folder of a language by file suffix, or of a file. Python has none: users' adapters import `kit`."""


def path(name: str) -> Path:
    """The path of the file `name` of an adapter or a kit."""
    return Path(__file__).parent / _FOLDERS.get(name, _FOLDERS.get(Path(name).suffix, "")) / name
