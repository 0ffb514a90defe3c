"""Whether there is a Swift for tests, and the command of its adapter."""

from __future__ import annotations

import functools
import os
import shutil
import tempfile
from unittest import mock

import pytest

from gradfuzz.oracles.foreign import managed

VARIABLE = "GRADFUZZ_SWIFT"
REASON = f"there is no Swift: no swiftc on the path, and {VARIABLE} names no adapter's command"

needs_swift = pytest.mark.skipif(
    not os.environ.get(VARIABLE) and shutil.which("swiftc") is None, reason=REASON
)


@functools.cache
def adapter() -> str:
    """The command that starts the adapter: the variable's, or that of an environment with swiftc."""
    said = os.environ.get(VARIABLE)
    if said:
        return said
    folder = tempfile.mkdtemp(prefix="gradfuzz-swift-")
    with mock.patch.dict(os.environ, {managed.VARIABLE: folder}):
        managed.install("swift")
        return managed.plan("swift").command()
