"""The reports to file of the bugs of docs/trophies: a text for each script of docs/findings.

    python -m benchmarks.trophy_texts                           # writes them all, below build/reports
    python -m benchmarks.trophy_texts torch/pow_zero_exponent   # prints that of a script

A text is made from the entries that name its script, from the script, and from the form of the system's
tracker (`gradfuzz.reports.markdown.trackers`). Nothing is run. What a person has to fill in is "(yours)".
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass

from benchmarks.trophies import (
    PAGES,
    ROOT,
    SCRIPTS,
    STATUS,
    Entry,
    Outcomes,
    Page,
    outcomes,
    pages,
    stands,
    status,
)
from gradfuzz.fuzzer.results.known_reports import TRACKERS as REPOSITORIES
from gradfuzz.oracles.base import in_words
from gradfuzz.reports.common.plain import fenced
from gradfuzz.reports.markdown.trackers import TRACKERS, YOURS, Slot, filled

REPORTS = ROOT / "build" / "reports"

_LANGUAGES = {".py": "python", ".js": "javascript", ".exs": "elixir", ".cpp": "cpp", ".swift": "swift"}
_CITED = re.compile(r"(?:(?P<tracker>[A-Za-z/]*[A-Za-z]))?#(?P<number>\d+)")
_FILE = re.compile(r"`([\w./-]+\.(?:py|cpp|h|cu|cc|hpp|yaml|swift|ex|ts))`")
_ENTRY = re.compile(r"(?:(?<=mistake of )|(?<=Same cause as ))entry (\d+)\b")
_LINK = re.compile(r"[\w.-]+/[\w.-]+#\d+")
_HOMES = {
    "adolc": "coin-or/ADOL-C",
    "autograd": "HIPS/autograd",
    "cppad": "coin-or/CppAD",
    "drjit": "mitsuba-renderer/drjit",
    "mygrad": "rsokl/MyGrad",
    "quadrants": "Genesis-Embodied-AI/quadrants",
}
"""The repository of a page's system, where it is not the tracker of its own name."""

_RUNS = "This script prints what is expected and what is got, and exits with 1 while they differ:"
_FOUND = "Found by gradfuzz, which compares the derivatives that systems return with true ones."


@dataclass(frozen=True)
class Bug:
    """What an entry of a page says of a bug."""

    number: int
    title: str
    points: tuple[str, ...]
    """What is wrong, and its cause."""
    reported: tuple[str, ...]
    """The reports of it, "pytorch/pytorch#1"."""
    in_part: bool
    """Whether these are about a part of it."""
    related: str
    """A sentence on other reports; may be empty."""
    scripts: tuple[str, ...]


def bugs(page: Page) -> list[Bug]:
    """The bugs of a page."""
    text = STATUS.sub("", (PAGES / f"{page.name}.md").read_text(encoding="utf-8"))
    parts = re.split(r"^\*\*(?=\d+\. )", text, flags=re.MULTILINE)[1:]
    titles = {str(entry.number): f'"{_title(entry)}"' for entry in page.entries}
    found, file = [], ""
    for part, entry in zip(parts, page.entries, strict=True):
        said = [" ".join(point.split()) for point in re.split(r"^- ", part, flags=re.MULTILINE)[1:]]
        told = []
        for point in said:
            if point.startswith("Cause") and (named := _FILE.search(point)):
                file = named[1]
            if not point.startswith("Script"):
                told.append(_elsewhere(point) or re.sub(r"\bsame file\b", f"`{file}`", point))
        citing = _linked(next((point for point in said if point.startswith("Script")), ""))
        own, related = _cited(citing)
        points = tuple(_ENTRY.sub(lambda match: titles[match[1]], _worded(point)) for point in told)
        in_part = "Reported in part" in citing
        found.append(Bug(entry.number, _title(entry), points, own, in_part, related, entry.scripts))
    return found


def _title(entry: Entry) -> str:
    return _worded(entry.title).rstrip(".")


def _elsewhere(point: str) -> str:
    """What is wrong by the entry of another page to which a point refers; empty where it refers to none."""
    refers = re.match(r"As entry (\d+) of (\w+)\b", point)
    if refers is None:
        return ""
    page = next(page for page in pages() if page.system == refers[2])
    return bugs(page)[int(refers[1]) - 1].points[0]


def _worded(text: str) -> str:
    """The words of an entry for people who do not know the page."""
    text = re.sub(r"\s*Severity [A-E]\b[^.]*\.", "", text)
    text = re.sub(r"\bSilent\.", "Nothing is raised.", text)
    modes = r"\(((?:rev|fwd)(?:, (?:rev|fwd))+)\)"
    text = re.sub(modes, lambda match: in_words(match[1].split(", ")), text)
    return _linked(text.replace(", as there.", "."))


def _cited(point: str) -> tuple[tuple[str, ...], str]:
    """The reports that a point cites as reports of the bug, and the sentence on what is related."""
    before, _, related = point.partition("Related")
    _, _, reported = before.partition("Reported")
    return tuple(dict.fromkeys(_LINK.findall(reported))), f"Related{related}" if related else ""


def _linked(text: str) -> str:
    """Cited reports as GitHub links them from anywhere: "pytorch/pytorch#1" of "pytorch#1"."""
    last = ""

    def whole(match: re.Match[str]) -> str:
        nonlocal last
        last = match["tracker"] or last
        return f"{REPOSITORIES.get(last, last)}#{match['number']}" if last else match[0]

    return _CITED.sub(whole, text)


# The texts --------------------------------------------------------------------------------------------------


def texts() -> Iterator[tuple[str, str]]:
    """Each script and its report, by page."""
    said = outcomes()
    for page in pages():
        by_script: dict[str, list[Bug]] = {}
        for bug in bugs(page):
            for script in bug.scripts:
                if script.partition("/")[0] == page.name:
                    by_script.setdefault(script, []).append(bug)
        for script, own in by_script.items():
            yield script, text(page, script, own, said[page.name])


def text(page: Page, script: str, own: list[Bug], said: Outcomes) -> str:
    """The report on the bugs that a script shows: first what a person must know, below a line the report."""
    path = SCRIPTS / script
    tracker = TRACKERS.get(page.name)
    numbers = f"entr{'y' if len(own) == 1 else 'ies'} {', '.join(str(bug.number) for bug in own)}"
    made = f"`docs/trophies/{page.name}.md`, {numbers}, and `{path.name}`"
    lines = [f"<!-- Made by benchmarks/trophy_texts.py from {made} -->"]
    lines += [f"For <https://github.com/{_home(page)}/issues>. Run the script on the latest release first."]
    for bug in own:
        if (became := status(bug.scripts, said)).startswith("Right"):
            lines += [f"**{became.removesuffix('.')}: do not file it.** ({bug.title})"]
        if bug.reported:
            what = "A part of this is reported" if bug.in_part else "This is reported"
            lines += [f"**{what} as {', '.join(bug.reported)}: do not file it again.** ({bug.title})"]
    lines += [tracker.note] if tracker is not None and tracker.note else []
    lines += [f"Title: {own[0].title}", "---"]
    code = fenced(path.read_text(encoding="utf-8"), _LANGUAGES[path.suffix])
    told = [part for bug in own for part in _told(bug, titled=len(own) > 1)]
    release = said.newest if any(stands(bug.scripts, said) for bug in own) else page.version
    version = f"{page.system} {release}"
    parts: dict[Slot, list[str]] = {
        "bug": told,
        "code": [_RUNS, code],
        "right": ['What stands after "true" above.'],
        "log": [f"What the script prints: {YOURS}"],
        "versions": [f"{version}; Python, operating system: {YOURS}"],
        "version": [release],
        "more": [_FOUND],
    }
    if tracker is None:
        blocks = [*told, *parts["code"], *parts["versions"], *parts["more"]]
    else:
        blocks = filled(tracker, parts)
    return "\n\n".join([*lines, *blocks]) + "\n"


def _home(page: Page) -> str:
    """The repository of a page's system."""
    if page.name in TRACKERS:
        return TRACKERS[page.name].repository
    return _HOMES.get(page.name) or REPOSITORIES[page.name]


def _told(bug: Bug, *, titled: bool) -> list[str]:
    return [*([f"**{bug.title}.**"] if titled else []), *bug.points, *filter(None, [bug.related])]


def main() -> int:
    parser = argparse.ArgumentParser(description="The reports to file of the bugs of docs/trophies.")
    parser.add_argument("script", nargs="?", help="a script, such as torch/pow_zero_exponent; all by default")
    wanted = parser.parse_args().script
    made = {script.rpartition(".")[0]: report for script, report in texts()}
    if wanted is not None:
        name = wanted.removeprefix("docs/findings/").rpartition(".")[0] or wanted
        if name not in made:
            parser.error(f"no entry of docs/trophies names the script {wanted}")
        print(made[name])
        return 0
    for name, report in made.items():
        path = REPORTS / f"{name}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(report, encoding="utf-8")
    print(f"{len(made)} reports are below {REPORTS.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
