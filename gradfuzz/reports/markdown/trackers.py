"""What the trackers of systems ask for: the headings of their forms for bugs, a row of `trackers.toml` for
each system.

A system without a row has no form of its own, or one of free text.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import msgspec

Slot = Literal["bug", "code", "right", "log", "versions", "version", "python", "os", "more"]
"""What stands below a heading.

bug        what is wrong; with the code where no other heading asks for it
code       what reproduces it
right      what is right
log        what the code prints
versions   all versions
version    that of the library
python, os
more       how it was found, and what else is known
"""

YOURS = "(yours)"
"""What the person who files a report has to fill in."""


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading of a form: what belongs below it, or the answer that is always the same."""

    text: str
    slot: Slot | None = None
    answer: str = ""


@dataclass(frozen=True, slots=True)
class Tracker:
    """The form of a system."""

    repository: str
    """On GitHub."""
    headings: tuple[Heading, ...]
    versions: str = ""
    """The command whose output the form wants beside the versions."""
    note: str = ""
    """What the tracker says to people before they file."""


_TABLE = Path(__file__).with_suffix(".toml").read_text(encoding="utf-8")

TRACKERS: Mapping[str, Tracker] = msgspec.convert(tomllib.loads(_TABLE), dict[str, Tracker])
"""The forms by library."""


def filled(tracker: Tracker, parts: Mapping[Slot, Sequence[str]]) -> list[str]:
    """The blocks of a report: each heading with what belongs below it.

    What no heading asks for stands with the bug, so that nothing is lost; but `right` and `log`, which repeat
    it, are left out there.
    """
    asked = {heading.slot for heading in tracker.headings}
    blocks: list[str] = []
    for heading in tracker.headings:
        blocks.append(f"### {heading.text}")
        if heading.slot is None:
            blocks.append(heading.answer)
            continue
        own = list(parts.get(heading.slot, ()))
        if heading.slot == "bug":
            own += [text for slot in ("code", "more") if slot not in asked for text in parts.get(slot, ())]
        if heading.slot == "versions" and tracker.versions:
            own.append(f"`{tracker.versions}`: {YOURS}")
        blocks += own or [YOURS]
    return blocks
