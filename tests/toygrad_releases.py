"""A library in several releases, as wheels in a folder: what managed environments are tested with, without a
network.
"""

from __future__ import annotations

import zipfile
from pathlib import Path

ADAPTER = Path(__file__).parent / "targets" / "toygrad_adapter.py"

RELEASES = {
    "1.0": "SIGN = 1.0",
    "1.1": "SIGN = 1.0",
    "1.2": "raise ImportError('built for another planet')",
    "1.3": "SIGN = -1.0",
} | {
    "1.4": "SIGN = -1.0",
    "1.5": "SIGN = 1.0",
    "2.0rc1": "SIGN = 1.0",
}
"""Version -> what is in it: the bug came in 1.3, or in 1.2, which cannot be imported, and went in 1.5."""


def write_wheels(folder: Path, python: str = ">=3.8") -> None:
    """One for each release, all for the same Pythons."""
    folder.mkdir(exist_ok=True)
    about = f"Metadata-Version: 2.1\nName: toygrad\nRequires-Python: {python}\n"
    for version, source in RELEASES.items():
        info = f"toygrad-{version}.dist-info"
        files = {
            "toygrad.py": f"__version__ = {version!r}\n{source}\n",
            f"{info}/METADATA": f"{about}Version: {version}\n",
            f"{info}/WHEEL": (
                "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
            ),
        }
        record = "".join(f"{name},,\n" for name in (*files, f"{info}/RECORD"))
        with zipfile.ZipFile(folder / f"toygrad-{version}-py3-none-any.whl", "w") as wheel:
            for name, text in (*files.items(), (f"{info}/RECORD", record)):
                wheel.writestr(name, text)
