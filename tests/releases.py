"""Which release of a library is installed: some tests tell what one answers, and a later one differs."""

from __future__ import annotations

from importlib.metadata import version

import pytest
from packaging.version import Version


def is_from(library: str, release: str) -> bool:
    """Whether `library` is of this release or a later one."""
    return Version(Version(version(library)).base_version) >= Version(release)


def skip_where_right(library: str, release: str) -> None:
    """Leaves out a test of a bug that a release has mended."""
    if is_from(library, release):
        pytest.skip(f"{library} is right here since {release}")
