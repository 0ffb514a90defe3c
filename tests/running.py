"""Scripts of findings, run as a reader runs them: by another Python that knows nothing of this process."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def run_script(text: str, folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Runs a script in `folder`; it must not need gradfuzz."""
    assert "gradfuzz" not in text
    path = folder / "script.py"
    path.write_text(text, encoding="utf-8")
    return subprocess.run(
        [sys.executable, "-I", *options, str(path)],
        capture_output=True,
        text=True,
        timeout=300,
        cwd=folder,
        check=False,
    )
