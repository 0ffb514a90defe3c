"""CI installs the Chromium of the browser tests where it may, and says why where it does not."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
SCRIPT = ROOT / ".ci" / "chromium"

USED = ("bash", "cat", "chmod", "env", "timeout")
ROOT_USER = "#!/bin/sh\necho 0\n"
NO_ROOT = "#!/bin/sh\necho 1000\n"
NO_NETWORK = "#!/bin/sh\necho 'E: Unable to fetch some archives' >&2\nexit 100\n"
INSTALLS = """#!/bin/sh
case "$*" in
  *update*) echo updated >{place}/updated ;;
  *" install "*" chromium "*) cat {place}/updated && echo >{place}/chromium && chmod +x {place}/chromium ;;
esac
"""
DOES_NOTHING = "#!/bin/sh\n"
SKIPPED = "no Chromium, so the browser tests are skipped: "


@pytest.mark.parametrize(
    ("commands", "said"),
    [
        ({"chromium": DOES_NOTHING, "apt-get": NO_NETWORK, "id": ROOT_USER}, ""),
        ({"id": ROOT_USER}, f"{SKIPPED}there is no apt-get\n"),
        ({"id": NO_ROOT, "apt-get": INSTALLS}, f"{SKIPPED}only root may install it\n"),
        ({"id": ROOT_USER, "apt-get": INSTALLS}, "Chromium was missing and is installed\n"),
        (
            {"id": ROOT_USER, "apt-get": NO_NETWORK},
            f"{SKIPPED}apt-get could not install it: E: Unable to fetch some archives\n",
        ),
        ({"id": ROOT_USER, "apt-get": DOES_NOTHING}, f"{SKIPPED}apt-get could not install it: \n"),
    ],
    ids=["it is there", "no apt-get", "no root", "installed", "no network", "no such package"],
)
def test_the_script(commands: dict[str, str], said: str, tmp_path: Path) -> None:
    for name in USED:
        (tmp_path / name).symlink_to(str(shutil.which(name)))
    for name, text in commands.items():
        (tmp_path / name).write_text(text.replace("{place}", str(tmp_path)))
        (tmp_path / name).chmod(0o755)
    done = subprocess.run([SCRIPT], capture_output=True, text=True, check=False, env={"PATH": str(tmp_path)})
    assert (done.returncode, done.stdout, done.stderr) == (0, said, "")
