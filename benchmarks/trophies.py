"""The bugs of docs/trophies: their pages, the status of each, and how many there are.

    python -m benchmarks.trophies            # writes the statuses into the pages, and the numbers
    python -m benchmarks.trophies --check    # writes nothing; exit code 1 where they are not up to date

The status of a bug follows from the exit codes of its scripts, which `benchmarks.trophy_runs` writes into
docs/findings/outcomes.toml. It is the last point of the entry. The numbers are the table of docs/trophies.md
and three in README.md.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import textwrap
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec
from packaging.version import Version

ROOT = Path(__file__).parents[1]
PAGES = ROOT / "docs" / "trophies"
SCRIPTS = ROOT / "docs" / "findings"
SEVERITIES = "ABCDE"
RIGHT, WRONG = 0, 1
"""Exit codes of scripts."""

STATUS = re.compile(r"^- (?:Stands in|Right since|Not run in) .*?(?=^- |^$|\Z)", re.MULTILINE | re.DOTALL)
"""The point of an entry that says its status."""

_WIDTH = 110
_ENTRY = re.compile(r"^\*\*(?=\d+\. )", re.MULTILINE)
_SCRIPT = re.compile(r"`([a-z]+/(?:functions/|rules/)?[a-z0-9_]+\.(?:py|js|exs|cpp|swift))`")
_TABLE = re.compile(r"^\| system \|.*?^\| together \|[^\n]*\n", re.MULTILINE | re.DOTALL)


# The pages --------------------------------------------------------------------------------------------------


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
    same_cause: bool
    """Whether it has the cause of an earlier entry."""


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

    @property
    def scripts(self) -> list[str]:
        return list(dict.fromkeys(script for entry in self.entries for script in entry.scripts))


def read(path: Path) -> Page:
    """A page; ValueError where an entry does not have exactly one severity."""
    heading, *parts = _ENTRY.split(path.read_text(encoding="utf-8"))
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
        any(point.startswith("Same cause as entry ") for point in said),
    )


def pages() -> list[Page]:
    """The pages in the order of the table: those with most bugs first."""
    found = map(read, PAGES.glob("*.md"))
    return sorted(found, key=lambda page: (-len(page.entries), page.system.lower()))


# What the scripts said --------------------------------------------------------------------------------------


class Outcomes(msgspec.Struct):
    """What the scripts of a system said."""

    newest: str
    """The newest release on the index when they were run."""
    scripts: dict[str, dict[str, int]] = {}
    """The exit code of a script by release, where it could tell."""
    mended: dict[str, str] = {}
    """The report or change that mended what a script shows, by hand."""

    def code(self, script: str, release: str) -> int | None:
        return self.scripts.get(script, {}).get(release)

    def since(self, script: str) -> str | None:
        """The release from which on a script says right."""
        found = None
        for release, code in sorted(
            self.scripts.get(script, {}).items(), key=lambda of: Version(of[0]), reverse=True
        ):
            if code != RIGHT:
                break
            found = release
        return found


def outcomes() -> dict[str, Outcomes]:
    """What is recorded, by the name of the page."""
    text = (SCRIPTS / "outcomes.toml").read_text(encoding="utf-8")
    return msgspec.convert(tomllib.loads(text), dict[str, Outcomes])


def record(known: dict[str, Outcomes]) -> None:
    """Writes what is recorded."""
    lines = ["# Made by benchmarks/trophy_runs.py: the exit codes of the scripts by release, 1 for wrong and"]
    lines += ["# 0 for right, and the newest release at the time. By hand: what mended the bug of a script."]
    for name, said in sorted(known.items()):
        lines += ["", f"[{name}]", f"newest = {json.dumps(said.newest)}"]
        lines += ["", f"[{name}.scripts]"]
        for script, codes in sorted((script, codes) for script, codes in said.scripts.items() if codes):
            by_release = sorted(codes.items(), key=lambda of: Version(of[0]))
            told = ", ".join(f"{json.dumps(release)} = {code}" for release, code in by_release)
            lines.append(f"{json.dumps(script)} = {{ {told} }}")
        if said.mended:
            lines += ["", f"[{name}.mended]"]
            lines += [
                f"{json.dumps(script)} = {json.dumps(by)}" for script, by in sorted(said.mended.items())
            ]
    path = SCRIPTS / "outcomes.toml"
    passing = path.with_suffix(".new")
    passing.write_text("\n".join(lines) + "\n", encoding="utf-8")
    passing.replace(path)


def stands(scripts: Sequence[str], said: Outcomes) -> bool:
    """Whether one of the scripts of a bug said wrong in the newest release."""
    return any(said.code(script, said.newest) == WRONG for script in scripts)


def status(scripts: Sequence[str], said: Outcomes) -> str:
    """A sentence on what became of a bug."""
    right = [script for script in scripts if said.code(script, said.newest) == RIGHT]
    if stands(scripts, said):
        gone = [f"`{script}` is right since {_since([script], said)}" for script in right]
        return "; ".join([f"Stands in {said.newest}", *gone]) + "."
    if len(right) < len(scripts):
        return f"Not run in {said.newest}."
    return f"Right since {_since(right, said)}."


def _since(scripts: Sequence[str], said: Outcomes) -> str:
    """The release from which on all of these scripts are right, and what mended them."""
    releases = [release for release in map(said.since, scripts) if release is not None]
    by = dict.fromkeys(said.mended[script] for script in scripts if script in said.mended)
    return max(releases, key=Version) + (f" ({', '.join(by)})" if by else "")


# The table --------------------------------------------------------------------------------------------------


def table() -> str:
    """Of all systems; the last row counts each bug once."""
    names = ("system", "version", "bugs", "causes", "newest", "stand", "silent", "raise", *SEVERITIES)
    lines = [f"| {' | '.join(names)} |", "|---" * len(names) + "|"]
    said = outcomes()
    every = pages()
    for page in every:
        link, newest = f"[{page.system}](trophies/{page.name}.md)", said[page.name].newest
        standing = [stands(entry.scripts, said[page.name]) for entry in page.entries]
        lines.append(f"| {link} | {page.version} | {_figures(page.entries, newest, standing)} |")
    counted = [entry for page in every for entry in page.counted]
    standing = [stands(entry.scripts, said[page.name]) for page in every for entry in page.counted]
    lines.append(f"| together | | {_figures(counted, '', standing)} |".replace("|  |", "| |"))
    return "\n".join(lines) + "\n"


def _figures(entries: Sequence[Entry], newest: str, standing: Iterable[bool]) -> str:
    raising = sum(entry.raises for entry in entries)
    causes = sum(not entry.same_cause for entry in entries)
    by_severity = Counter(entry.severity for entry in entries)
    figures = (len(entries), causes, newest, sum(standing), len(entries) - raising, raising)
    return " | ".join(map(str, (*figures, *(by_severity[s] for s in SEVERITIES))))


# What is written --------------------------------------------------------------------------------------------


def written() -> Iterator[tuple[Path, str]]:
    """The files in which statuses or numbers are, with their texts as they should be."""
    said = outcomes()
    for page in pages():
        path = PAGES / f"{page.name}.md"
        yield path, with_statuses(path.read_text(encoding="utf-8"), page, said[page.name])
    overview = PAGES.with_suffix(".md")
    yield overview, _TABLE.sub(lambda _: table(), overview.read_text(encoding="utf-8"))
    readme = ROOT / "README.md"
    yield readme, _with_numbers(readme.read_text(encoding="utf-8"))


def with_statuses(text: str, page: Page, said: Outcomes) -> str:
    """The text of a page with the status of each entry as its last point."""
    heading, *parts = _ENTRY.split(text)
    told = []
    for part, entry in zip(parts, page.entries, strict=True):
        point = textwrap.fill(
            f"- {status(entry.scripts, said)}",
            _WIDTH,
            subsequent_indent="  ",
            break_long_words=False,
            break_on_hyphens=False,
        )
        told.append(f"**{STATUS.sub('', part).rstrip()}\n{point}\n")
    return "\n".join([heading.rstrip() + "\n", *told])


def _with_numbers(readme: str) -> str:
    bugs, _, standing, silent = re.findall(r"\d+", table().splitlines()[-1])[:4]
    for number, words in (
        (bugs, r" bugs\]\(docs/trophies\.md\)"),
        (silent, r"\s+of\s+them\s+silent"),
        (standing, r"\s+stand\s+in\s+the\s+newest\s+releases"),
    ):
        readme = re.sub(rf"\d+({words})", rf"{number}\g<1>", readme)
    return readme


def main() -> int:
    parser = argparse.ArgumentParser(description="The statuses and the numbers of the bugs of docs/trophies.")
    parser.add_argument("--check", action="store_true", help="write nothing; say what is not up to date")
    check = parser.parse_args().check
    stale = []
    for path, text in written():
        if path.read_text(encoding="utf-8") != text:
            stale.append(path.relative_to(ROOT).as_posix())
            if not check:
                path.write_text(text, encoding="utf-8")
    print("\n".join([*stale, f"{len(stale)} {'are not up to date' if check else 'written'}"]))
    return int(check and bool(stale))


if __name__ == "__main__":
    sys.exit(main())
