"""The fault of a set-up in words: what happened, which command it was, and what to try."""

from __future__ import annotations

import shlex
from collections.abc import Sequence


def told(words: str, command: Sequence[str], library: str, home: str) -> str:
    """A message of one line. `home` is the target in whose environment the command ran; empty for the Python
    beside gradfuzz.
    """
    shown = list(command)
    if "--lend" in shown:  # a long list of places
        shown[shown.index("--lend") + 1] = "{...}"
    tries = f"does `{shlex.quote(shown[0])} -c 'import {library}'` work?"
    if home:
        anew = f"`gradfuzz targets remove '{home}'`, then `gradfuzz targets install '{home}'`"
        tries = f"make its environment anew: {anew}"
    return f"{words}. The command was `{shlex.join(shown)}`. To try: {tries}"
