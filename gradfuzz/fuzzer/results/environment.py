"""Where and when a sweep runs: what is needed to reproduce its numbers."""

from __future__ import annotations

import datetime
import importlib.metadata
import platform

from gradfuzz.oracles.device import device
from gradfuzz.version import __version__

_LIBRARIES = ("numpy", "mpmath", "python-flint")


def environment(started: datetime.datetime) -> dict[str, str]:
    """Versions of gradfuzz, Python and the references' libraries; the platform; `started` in UTC seconds."""
    return {
        "gradfuzz": __version__,
        "python": platform.python_version(),
        "platform": platform.platform(),
        **({} if device() == "cpu" else {"device": device()}),
        **{name: importlib.metadata.version(name) for name in _LIBRARIES},
        "started": started.astimezone(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
    }
