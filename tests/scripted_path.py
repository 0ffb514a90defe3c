"""A machine for tests of installers, whose path has a few programs of this one and scripts."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from gradfuzz.oracles.foreign import managed


class ScriptedPath:
    """The path of this process, a folder of the test's, where root works."""

    programs: tuple[str, ...] = ()
    """Programs of this machine that scripts need."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.tools = folder / "tools"
        self.tools.mkdir()
        for name in self.programs:
            found = shutil.which(name)
            assert found is not None
            (self.tools / name).symlink_to(found)
        monkeypatch.chdir(folder)
        monkeypatch.delenv(managed.VARIABLE, raising=False)
        monkeypatch.setenv("PATH", str(self.tools))
        monkeypatch.setattr(os, "geteuid", lambda: 0)

    def has(self, name: str, script: str) -> None:
        """Puts a script there."""
        (self.tools / name).write_text(f"#!/bin/sh\n{script}\n")
        (self.tools / name).chmod(0o755)
