"""The bugs of docs/trophies: which of them still stand, and the table of the page docs/trophies.md.

    python -m benchmarks.trophies            # all scripts of docs/findings
    python -m benchmarks.trophies paddle jax
    python -m benchmarks.trophies --table    # no script: the table, as docs/trophies.md has it

A script runs where its library is: beside gradfuzz, or in the environment with the newest release that
`gradfuzz targets install` made (`GRADFUZZ_ENVS` names the folder of environments). Its exit code says whether
the bug stands (1), is gone (0), or could not be asked (125). Any other code means that the script itself is
broken; the exit code is then 1.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import mpmath
from packaging.version import Version

from gradfuzz.oracles.foreign import managed
from gradfuzz.oracles.target_name import TargetName

ROOT = Path(__file__).parents[1]
PAGES = ROOT / "docs" / "trophies"
SCRIPTS = ROOT / "docs" / "findings"
SEVERITIES = "ABCDE"
SECONDS = 300
"""What a script may take."""

_MISSING = 125
_SCRIPT = re.compile(r"`([a-z]+/(?:functions/|rules/)?[a-z0-9_]+\.(?:py|js|exs|cpp|swift))`")
_OUTCOMES = {0: "gone", 1: "stands", _MISSING: "not asked"}


@dataclass(frozen=True)
class Entry:
    """A bug of a page."""

    number: int
    title: str
    raises: bool
    severity: str
    scripts: tuple[str, ...]
    elsewhere: bool
    """Whether it is an entry of another system, too, and counted there."""


@dataclass(frozen=True)
class Page:
    """The bugs of a system. The folder of its scripts has the name of the page's file."""

    name: str
    system: str
    version: str
    entries: tuple[Entry, ...]

    @property
    def counted(self) -> list[Entry]:
        return [entry for entry in self.entries if not entry.elsewhere]


def read(path: Path) -> Page:
    """A page; ValueError where an entry does not have exactly one severity."""
    heading, *parts = re.split(r"^\*\*(?=\d+\. )", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    system, version = heading.splitlines()[0].removeprefix("# ").rsplit(" ", 1)
    return Page(path.stem, system, version, tuple(map(_entry, parts)))


def _entry(text: str) -> Entry:
    number, _, rest = text.partition(". ")
    title, *points = re.split(r"^- ", rest, flags=re.MULTILINE)
    said = [" ".join(point.split()) for point in points]
    severities = re.findall(r"\bSeverity ([A-E])\b", " ".join(said))
    if len(severities) != 1:
        raise ValueError(f"the severities of {title.strip()!r} are {severities}, and not one")
    named = [name for point in said if point.startswith("Script") for name in _SCRIPT.findall(point)]
    return Entry(
        int(number),
        " ".join(title.split()).removesuffix("**"),
        any(re.search(r"(?:^|\s)Raises\b", point) for point in said),
        severities[0],
        tuple(named),
        any(point.startswith("As entry ") for point in said),
    )


def pages() -> list[Page]:
    """The pages in the order of the table: those with most bugs first."""
    found = map(read, PAGES.glob("*.md"))
    return sorted(found, key=lambda page: (-len(page.entries), page.system.lower()))


# The table --------------------------------------------------------------------------------------------------


def table() -> str:
    """Of all systems; the last row counts each bug once."""
    lines = [f"| system | version | bugs | silent | raise | {' | '.join(SEVERITIES)} |", "|---" * 10 + "|"]
    every = pages()
    for page in every:
        link = f"[{page.system}](trophies/{page.name}.md)"
        lines.append(f"| {link} | {page.version} | {_figures(page.entries)} |")
    lines.append(f"| together | | {_figures([entry for page in every for entry in page.counted])} |")
    return "\n".join(lines) + "\n"


def _figures(entries: Sequence[Entry]) -> str:
    raising = sum(entry.raises for entry in entries)
    by_severity = Counter(entry.severity for entry in entries)
    figures = (len(entries), len(entries) - raising, raising, *(by_severity[s] for s in SEVERITIES))
    return " | ".join(map(str, figures))


# The scripts ------------------------------------------------------------------------------------------------


def outcome(script: str) -> tuple[str, str]:
    """What became of the bug by its script, and the last line that it printed."""
    try:
        run = _run(SCRIPTS / script)
    except subprocess.TimeoutExpired:
        return "broken", f"no end within {SECONDS} s"
    said = (run.stdout.strip() or run.stderr.strip()).splitlines()
    return _OUTCOMES.get(run.returncode, "broken"), said[-1] if said else ""


def _run(script: Path) -> subprocess.CompletedProcess[str]:
    with tempfile.TemporaryDirectory() as folder:
        variables = dict(os.environ)
        match script.suffix:
            case ".py":
                command = [_python(script.relative_to(SCRIPTS).parts[0]), str(script)]
                Path(folder, "mpmath").symlink_to(Path(mpmath.__file__).parent)  # environments lack it
                variables["PYTHONPATH"] = folder
            case ".js":
                environment = _environment("tfjs")
                if environment is not None:
                    variables["NODE_PATH"] = str(Path(environment.folder) / "node_modules")
                command = [shutil.which("node") or "", str(script)]
            case ".cpp":
                command = [_compiled(script, Path(folder))]
            case suffix:
                command = [shutil.which({".exs": "elixir", ".swift": "swift"}[suffix]) or "", str(script)]
        if not command[0]:
            return subprocess.CompletedProcess(command, _MISSING, "", "what runs it is not installed")
        return subprocess.run(  # noqa: S603 - a script of docs/findings
            command, cwd=folder, env=variables, capture_output=True, text=True, timeout=SECONDS, check=False
        )


def _python(library: str) -> str:
    """The interpreter that has a library, or an empty text."""
    if importlib.util.find_spec(library) is not None:
        return sys.executable
    environment = _environment(library)
    return str(Path(environment.folder) / "bin" / "python") if environment is not None else ""


def _environment(library: str) -> managed.Environment | None:
    """The environment with the newest release of a library."""
    made = [one for one in managed.everything() if TargetName.of(one.target).library == library]
    return max(made, key=lambda one: Version(one.version), default=None)


def _compiled(script: Path, folder: Path) -> str:
    """The program, or an empty text where a compiler or the library is missing."""
    name, compiler = script.parent.name, shutil.which("g++")
    if compiler is None:
        return ""
    program = folder / name
    links = [] if name == "cppad" else [f"-l{name}"]
    built = subprocess.run(  # noqa: S603 - of the same
        [compiler, str(script), "-o", str(program), *links], capture_output=True, timeout=SECONDS, check=False
    )
    return str(program) if built.returncode == 0 else ""


def asked(names: Sequence[str]) -> Iterator[tuple[Page, Entry, str, str]]:
    """Each bug with what became of it. It stands where one of its scripts says so."""
    known: dict[str, tuple[str, str]] = {}
    for page in pages():
        if names and page.name not in names:
            continue
        for entry in page.entries:
            for script in entry.scripts:
                if script not in known:
                    known[script] = outcome(script)
            said = [known[script] for script in entry.scripts]
            worst = min(said, key=lambda told: ("broken", "stands", "not asked", "gone").index(told[0]))
            yield page, entry, *worst


def main() -> int:
    parser = argparse.ArgumentParser(description="Which bugs of docs/trophies still stand.")
    parser.add_argument("system", nargs="*", help="pages of docs/trophies, such as torch; all by default")
    parser.add_argument("--table", action="store_true", help="print the table of docs/trophies.md")
    arguments = parser.parse_args()
    if arguments.table:
        print(table(), end="")
        return 0
    unknown = set(arguments.system) - {page.name for page in pages()}
    if unknown:
        parser.error(f"there is no page of {', '.join(sorted(unknown))} in docs/trophies")
    counts: dict[str, Counter[str]] = {}
    for page, entry, what, said in asked(arguments.system):
        counts.setdefault(f"{page.system} {page.version}", Counter())[what] += 1
        note = f"  ({said})" if what == "broken" else ""
        print(
            f"{what:9}  {entry.severity}  {page.system} {entry.number}. {entry.title[:78]}{note}", flush=True
        )
    words = ("stands", "gone", "not asked", "broken")
    print(f"\n{'system':24}{''.join(f'{word:>11}' for word in words)}")
    for system, count in [*counts.items(), ("together", sum(counts.values(), Counter()))]:
        print(f"{system:24}{''.join(f'{count[word]:>11}' for word in words)}")
    return int(any(count["broken"] for count in counts.values()))


if __name__ == "__main__":
    sys.exit(main())
