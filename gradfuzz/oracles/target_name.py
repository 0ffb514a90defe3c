"""What a target is called: "warp==1.19.0:kernel" is the way "kernel" into the release 1.19.0 of the library
"warp".
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_FORM = re.compile(
    r"(?P<library>[A-Za-z][\w.-]*)\s*(?P<specifier>(?:===|==|~=|!=|<=|>=|<|>)[^:]*)?(?::(?P<way>.*))?",
    re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class TargetName:
    """The parts of a name. What follows "cmd:" or "mutant:" counts as the way."""

    library: str
    specifier: str = ""
    """Which releases, as packages of Python say it ("==1.19.0", ">=1.2,<2"); empty: the one that is
    installed.
    """
    way: str = ""

    @classmethod
    def of(cls, text: str) -> TargetName:
        """The parts of `text`; one that has another form is the name of a library that nobody knows."""
        found = _FORM.fullmatch(text.strip())
        if found is None:
            return cls(text)
        return cls(found["library"], "".join((found["specifier"] or "").split()), found["way"] or "")

    @property
    def base(self) -> str:
        """The name without the way: "warp==1.19.0"."""
        return f"{self.library}{self.specifier}"

    @property
    def whole(self) -> str:
        return f"{self.base}:{self.way}" if self.way else self.base

    @property
    def bare(self) -> str:
        """The name without the release: "warp:kernel"."""
        return f"{self.library}:{self.way}" if self.way else self.library

    @property
    def version(self) -> str:
        """The one release that fits, or empty where several do."""
        exact = (
            self.specifier.startswith("==")
            and not self.specifier.startswith("===")
            and "," not in self.specifier
        )
        return self.specifier[2:] if exact and not self.specifier.endswith("*") else ""

    def at(self, version: str) -> TargetName:
        """The same way into another release."""
        return TargetName(self.library, f"=={version}", self.way)
