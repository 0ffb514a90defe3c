"""Names of targets: "warp==1.19.0:kernel" is the entry point "kernel" of release 1.19.0 of "warp", and
"nx==./checkout:while" the entry point "while" of the Nx in a folder.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass

RULE = ":rule"
"""How the name ends of a way that gives the rules of another one in exact numbers."""

_FORM = re.compile(
    r"(?P<library>[A-Za-z][\w.-]*)\s*(?P<specifier>(?:===|==|~=|!=|<=|>=|<|>)[^:]*)?(?::(?P<way>.*))?",
    re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class TargetName:
    """The parts of a name. What follows "cmd:" or "mutant:" is its `way`."""

    library: str
    specifier: str = ""
    """Releases as Python packages specify them ("==1.19.0", ">=1.2,<2"); empty: the installed one."""
    way: str = ""

    @classmethod
    def of(cls, text: str) -> TargetName:
        """The parts of `text`; a text of another form becomes the name of an unknown library."""
        found = _FORM.fullmatch(text.strip())
        if found is None:
            return cls(text)
        return cls(found["library"], "".join((found["specifier"] or "").split()), found["way"] or "")

    @property
    def base(self) -> str:
        """The name without the entry point: "warp==1.19.0"."""
        return f"{self.library}{self.specifier}"

    @property
    def whole(self) -> str:
        return f"{self.base}:{self.way}" if self.way else self.base

    @property
    def bare(self) -> str:
        """The name without the release: "warp:kernel"."""
        return f"{self.library}:{self.way}" if self.way else self.library

    @property
    def computing(self) -> str:
        """The bare name of the way whose rules are asked: "jax:scan" of "jax:scan:rule"."""
        return self.bare.removesuffix(RULE)

    @property
    def command(self) -> str:
        """COMMAND of "cmd:COMMAND#way"; empty for what no command starts."""
        return self._command_and_entry[0]

    @property
    def entry(self) -> str:
        """The way into what a command starts: "way" of "cmd:COMMAND#way"."""
        return self._command_and_entry[1]

    @property
    def _command_and_entry(self) -> tuple[str, str]:
        if self.library != "cmd":
            return "", ""
        command, _, entry = self.way.rpartition("#")
        return (command, entry) if command and entry and " " not in entry else (self.way, "")

    @property
    def system(self) -> str:
        """What is asked, with all its ways: "torch" of "torch:scan", "warp==1.19.0" of "warp==1.19.0:kernel",
        "cmd:COMMAND" of "cmd:COMMAND#way"; a mutant is a system of its own.
        """
        if self.library == "cmd" and self.way:
            return f"cmd:{self.command}"
        return self.whole if self.library == "mutant" else self.base

    @property
    def owner(self) -> str:
        """Whose bug it is: "torch" for every way into every release, "cmd:python adapter.py" for every way
        into what "cmd:/usr/bin/python tools/adapter.py" starts, in whatever folders it lies. The ids of
        findings are made from it, and baselines hold them.
        """
        if self.command:
            return f"cmd:{_bare_command(self.command)}"
        return self.whole if self.library in ("cmd", "mutant") else self.library

    @property
    def version(self) -> str:
        """The one release that fits, or the folder; empty where several do."""
        releases = self.specifier
        exact = releases.startswith("==") and not releases.startswith("===") and "," not in releases
        return releases[2:] if exact and not releases.endswith("*") else ""

    @property
    def is_folder(self) -> bool:
        """Whether a folder is named in place of a release: "nx==./nx-0.11"."""
        return self.specifier.startswith("==") and "/" in self.specifier

    def at(self, version: str) -> TargetName:
        """The same entry point of another release."""
        return TargetName(self.library, f"=={version}", self.way)


_FOLDERS = re.compile(r"[^\s='\"]*[/\\](?=[^\s/\\])")
"""All of a path in a text up to its last part."""

_PATH = re.compile(r"[^=]*[/\\](?=[^/\\])")
"""The same of a path that is a word, or the value in "--option=value"; its folders may have spaces."""


def without_folders(text: str) -> str:
    """The text with the folders of its paths taken off: "python adapter.py" of "/bin/python x/adapter.py"."""
    return _FOLDERS.sub("", text)


def _bare_command(command: str) -> str:
    """The words of a command as a shell reads them, without folders; quotes make no difference."""
    try:
        words = shlex.split(command)
    except ValueError:
        words = command.split()
    scripts = {k + 1 for k, word in enumerate(words) if word == "-c"}
    bare = (without_folders(w) if k in scripts else _PATH.sub("", w) for k, w in enumerate(words))
    return shlex.join(bare)
