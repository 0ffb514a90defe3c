"""The commands of installers: run, logged, and quoted in errors."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path

from packaging.version import InvalidVersion, Version

from gradfuzz.errors import InstallError
from gradfuzz.oracles.foreign import process_registry

_OFFLINE = (
    *("NewConnectionError", "ConnectTimeout", "name resolution", "ProxyError", "ENOTFOUND", "EAI_AGAIN"),
    *("ECONNREFUSED", "nxdomain", "failed_connect", "Failed getting release file"),
)
"""Output of an installer that did not reach its index contains one of these."""

_UNKNOWN = (
    *("No matching distribution", "no version of", "No matching version"),
    *("ETARGET", "E404", "match any versions", "requires a different Python"),
)
"""Output of an installer that found no such release contains one of these."""

_NONE = "(from versions: none)"
"""Output of a pip that found no release, or did not reach its index, contains this."""

NAME_THEM = "name them: --versions 1.0,1.1,1.2"
FORMS = "give a release, as in ==1.2.3, or a range, as in >=1.2,<2"

_QUOTED = 3
"""This many lines of a log are quoted in an error."""

_FIRST_START = 600.0
"""Seconds for the first start of an adapter."""

_ENDS = 150
"""This many characters of a long line are quoted at either end."""


def start_once(command: Sequence[str], log: Path) -> None:
    """Starts an adapter that nobody talks to, so that Python compiles its imports.

    For a large library that takes longer than a sweep waits for a hello.
    """
    run(command, log, _FIRST_START)


def run(command: Sequence[str], log: Path, seconds: float | None = None) -> bool:
    """Whether a command succeeded. It is logged, and ends with this process or after `seconds`."""
    with log.open("ab") as file:
        file.write(f"$ {shlex.join(command)}\n".encode())
        file.flush()
        try:
            child = subprocess.Popen(  # noqa: S603 - an installer, without a shell
                command,
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
                env=_environment(),
                start_new_session=True,
            )
        except OSError as error:
            file.write(f"ERROR: {command[0]} cannot be started: {error.strerror}\n".encode())
            return False
        process_registry.begun(child.pid)
        try:
            return child.wait(seconds) == 0
        except BaseException as error:
            os.killpg(child.pid, signal.SIGKILL)
            child.wait()
            if isinstance(error, subprocess.TimeoutExpired):
                return False
            raise
        finally:
            process_registry.ended(child.pid)


def output(command: Sequence[str], distribution: str) -> str:
    """What a command that lists releases writes to stdout. `InstallError` where it fails."""
    failed = f"the releases of {distribution} cannot be listed"
    try:
        done = subprocess.run(  # noqa: S603 - a list of words of ours
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, env=_environment()
        )
    except OSError as error:
        why = f"{command[0]} cannot be started: {error.strerror}"
        raise InstallError(f"{failed}: {why}; {NAME_THEM}") from error
    if done.returncode:
        raise InstallError(f"{failed}: {_told(done.stderr)}; {NAME_THEM}")
    return done.stdout


def said(command: Sequence[str]) -> str:
    """What a command writes to stdout, and nothing where it cannot be started."""
    try:
        return subprocess.run(  # noqa: S603 - a list of words of ours
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, env=_environment()
        ).stdout
    except OSError:
        return ""


def listed(text: str, mark: str) -> list[str]:
    """The releases in the line that begins with `mark`."""
    told = next((line.partition(":")[2] for line in text.splitlines() if line.startswith(mark)), "")
    return in_order(told.split(","))


def _environment() -> dict[str, str]:
    """This process's environment, without variables that make the installer see other packages."""
    hidden = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV")
    kept = {name: value for name, value in os.environ.items() if name not in hidden}
    return {**kept, "PYTHONNOUSERSITE": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_NO_INPUT": "1"}


def remove(folder: Path) -> None:
    """Removes a folder, if it is there."""
    if folder.exists():
        shutil.rmtree(folder)


def lacks_release(log: Path) -> bool:
    """Whether the last command reached its index and found no such release for its interpreter."""
    text = _last(log)
    return any(sign in text for sign in _UNKNOWN) and not any(sign in text for sign in _OFFLINE)


def failure(requirements: Sequence[str], log: Path, advice: str | None = None) -> InstallError:
    """The error from the last lines of the log, with advice."""
    text = _last(log)
    failed = f"{' '.join(requirements)} cannot be installed: {_told(text)}"
    return InstallError(f"{failed}. {advice or _advice(text)} All that was said is in {log}")


def _advice(text: str) -> str:
    if any(sign in text for sign in (*_OFFLINE, _NONE)):
        why = "No index of packages was reached, or it has no such package"
        return f"{why}: is there a network, and does the installer's configuration name an index?"
    if any(sign in text for sign in _UNKNOWN):
        return "There is no such release for this interpreter and platform; name another one."
    none = "A release that has no package for this interpreter and platform"
    return f"{none} cannot be had; another one may."


def _last(log: Path) -> str:
    """What the last command of a log said."""
    return log.read_text(encoding="utf-8", errors="replace").rpartition("\n$ ")[2]


def _told(text: str) -> str:
    """The relevant lines of an installer's output, joined."""
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.startswith("WARNING")]
    errors = [
        line for line in lines if line.lower().startswith(("error:", "e: ", "npm error", "npm err!", "** ("))
    ]
    chosen = [re.sub(r"^error:\s*", "", line, flags=re.IGNORECASE) for line in errors or lines]
    return " | ".join(map(_short, dict.fromkeys(chosen[-_QUOTED:]))).rstrip(".") or "nothing was said"


def _short(line: str) -> str:
    """The line's start and end: lists of releases are long, and the newest are last."""
    return line if len(line) <= 2 * _ENDS else f"{line[:_ENDS]} ... {line[-_ENDS:]}"


def in_order(versions: Iterable[str]) -> list[str]:
    """Sorted, oldest first; invalid versions are dropped."""
    found: dict[Version, str] = {}
    for text in versions:
        try:
            found[Version(text.strip())] = text.strip()
        except InvalidVersion:
            continue
    return [found[version] for version in sorted(found)]
