"""What gradfuzz does with the libraries of a language."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path


def _nothing(folder: Path, requirements: Sequence[str], log: Path) -> None:
    """Adds nothing."""


@dataclass(frozen=True, slots=True)
class Language:
    """The operations on the libraries of one language."""

    requirement: Callable[[str, str], str]
    """A distribution and its releases in the installer's notation."""
    install: Callable[[Path, Sequence[str], Path], str]
    """Installs requirements into a new folder, with a log. Returns the installer's name, or raises."""
    version: Callable[[Path, str], str | None]
    """The release of a distribution in a folder; None where none works."""
    packages: Callable[[Path], dict[str, str]]
    """All distributions in a folder, with their releases, and the language's own where it is listed."""
    command: Callable[[Path, Path], list[str]]
    """The command that starts a script with a folder's libraries."""
    releases: Callable[[str], list[str]]
    """The releases of a distribution that can be installed here, oldest first; or raises `InstallError`."""
    folders: bool = False
    """Whether a folder with the library can be named in place of a release."""
    complete: Callable[[Path, Sequence[str], Path], None] = _nothing
    """Adds to a new folder which of gradfuzz's own requirements cannot be lent to it."""
