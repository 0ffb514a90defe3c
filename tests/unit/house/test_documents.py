"""The documents and the code name the same things. That their code blocks run is in test_docs_code.py."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from benchmarks import trophies
from gradfuzz.adapters.shipped import ADAPTERS
from gradfuzz.cli import main
from gradfuzz.fuzzer.results.finding import Class
from gradfuzz.version import __version__

ROOT = Path(__file__).parents[3]
JUDGING = ROOT / "docs" / "judging.md"
TROPHIES = JUDGING.with_name("trophies.md")


def test_the_changelog_has_releases_and_the_version_is_the_latest() -> None:
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    releases = re.findall(r"^## \[(\d+\.\d+\.\d+)\] - (\d{4}-\d\d-\d\d)$", text, re.MULTILINE)
    assert releases[-2:] == [("0.2.0", "2026-11-23"), ("0.1.0", "2026-11-22")]
    assert releases[0][0] == __version__
    assert text.index("## [Unreleased]") < text.index(f"## [{__version__}]")


def test_every_class_of_numbers_is_explained() -> None:
    text = JUDGING.read_text(encoding="utf-8")
    for kind in Class:
        if kind.of_numbers:
            assert f"`{kind.value}`" in text


def test_every_bug_has_a_script_and_every_script_a_bug() -> None:
    """Each entry names one severity, too: the reader of the pages refuses others."""
    named = {script for page in trophies.pages() for entry in page.entries for script in entry.scripts}
    assert [e.title for page in trophies.pages() for e in page.entries if not e.scripts] == []
    there = {
        path.relative_to(trophies.SCRIPTS).as_posix()
        for path in trophies.SCRIPTS.glob("*/**/*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert named == there


@pytest.mark.parametrize("page", trophies.pages(), ids=lambda page: page.name)
def test_the_bugs_of_a_page_are_numbered(page: trophies.Page) -> None:
    assert [entry.number for entry in page.entries] == [*range(1, len(page.entries) + 1)]


def written(page: trophies.Page) -> list[str]:
    """The entries of a page as they stand there."""
    text = (trophies.PAGES / f"{page.name}.md").read_text(encoding="utf-8")
    return re.split(r"^\*\*\d+\. ", text, flags=re.MULTILINE)[1:]


@pytest.mark.parametrize("page", trophies.pages(), ids=lambda page: page.name)
def test_each_bug_in_common_use_says_who_meets_it(page: trophies.Page) -> None:
    for entry, text in zip(page.entries, written(page), strict=True):
        said = re.findall(r"^- Who meets it: \S", text, re.MULTILINE)
        assert len(said) == (entry.severity == "A"), entry.title


@pytest.mark.parametrize("page", trophies.pages(), ids=lambda page: page.name)
def test_a_shared_cause_is_that_of_an_earlier_bug(page: trophies.Page) -> None:
    entries = written(page)
    for number, text in enumerate(entries, 1):
        for line in re.findall(r"^- Same cause\b.*", text, re.MULTILINE):
            shared = re.fullmatch(r"- Same cause as entry (\d+)\.", line)
            assert shared, line
            assert 0 < int(shared[1]) < number, line
            assert "- Same cause" not in entries[int(shared[1]) - 1], f"{line} That is no first one."


def test_the_table_of_trophies_counts_the_entries() -> None:
    """By hand, and by severity: the reader that makes the table is not asked here."""
    text = TROPHIES.read_text(encoding="utf-8")
    rows = re.findall(
        r"^\| (.+?) \| (?:\S+ )?\| (\d+) \| (\d+) \| (?:(\S+) )?\|((?: \d+ \|){8})$", text, re.MULTILINE
    )
    figures_of = {
        link: [int(bugs), int(causes), *map(int, re.findall(r"\d+", others))]
        for link, bugs, causes, _, others in rows
    }
    newest_of = {link: newest for link, _, _, newest, _ in rows}
    together = figures_of.pop("together")
    counted = [0] * 10
    for link, figures in figures_of.items():
        name = re.fullmatch(r"\[.+\]\(trophies/(\w+)\.md\)", link)
        assert name, link
        page = (TROPHIES.with_suffix("") / f"{name[1]}.md").read_text(encoding="utf-8")
        entries = [" ".join(part.split()) for part in re.split(r"^\*\*\d+\. ", page, flags=re.MULTILINE)[1:]]
        own = sum("- Same cause as entry" not in entry for entry in entries)
        standing = sum(f"- Stands in {newest_of[link]}" in entry for entry in entries)
        raising = sum(bool(re.search(r"(?:- |[.;] )Raises\b", entry)) for entry in entries)
        by_severity = [sum(f"Severity {s}" in entry for entry in entries) for s in "ABCDE"]
        expected = [len(entries), own, standing, len(entries) - raising, raising, *by_severity]
        assert figures == expected, link
        assert sum(by_severity) == len(entries), link
        elsewhere = sum("- As entry " in entry for entry in entries)
        assert elsewhere in (0, len(entries)), "the sum below takes a page as a whole"
        if not elsewhere:
            counted = [a + b for a, b in zip(counted, figures, strict=True)]
    assert together == counted
    assert len(figures_of) == len(trophies.pages())


def test_the_readme_counts_the_bugs_and_the_systems() -> None:
    readme = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    row = re.search(r"^\| together \|.*$", TROPHIES.read_text(encoding="utf-8"), re.MULTILINE)
    assert row
    bugs, _, standing, silent = re.findall(r"\d+", row[0])[:4]
    assert f"[{bugs} bugs](docs/trophies.md)" in readme
    assert f"{silent} of them silent" in readme
    assert f"{standing} stand in the newest releases" in readme
    assert f"{len(ADAPTERS)} more systems" in readme


def test_every_command_is_on_the_page_of_commands() -> None:
    page = JUDGING.with_name("commands.md").read_text(encoding="utf-8")
    assert {name for name in main.commands if f"| `gradfuzz {name}" not in page} == set()


PATHS = re.compile(r"(?<![\w./])[a-z_]+/[\w./-]+\.[a-z]+(?![\w/])")
PAGES = sorted(
    path
    for folder, pattern in ((ROOT, "*.md"), (ROOT / "docs", "**/*.md"), (ROOT / "examples", "**/*.md"))
    for path in folder.glob(pattern)
    if path.name != "CHANGELOG.md"  # it names what there was
)
TOP = ("benchmarks/", "docs/", "examples/", "gradfuzz/", "tests/")
PACKAGES = tuple(f"{path.name}/" for path in (ROOT / "gradfuzz").iterdir() if path.is_dir())


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_paths_of_a_page_exist(page: Path) -> None:
    """Paths in code are those of the repository, of the package, or seen from the page."""
    codes = re.findall(r"(?<!`)`([^`\n]+)`(?!`)", page.read_text(encoding="utf-8"))
    named = {path for code in codes for path in PATHS.findall(code) if path.startswith((*TOP, *PACKAGES))}
    assert named == {
        path
        for path in named
        if any((folder / path).exists() for folder in (ROOT, ROOT / "gradfuzz", page.parent))
    }


def test_what_the_architecture_names_in_a_module_stands_there() -> None:
    """The rows of "Where it happens": names, then "of" a module or a folder."""
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8").partition("## Where it happens")[2]
    named = re.findall(r"((?:`[\w.]+` and )?`[\w.]+`) of `([\w/.]+)`", text)
    assert len(named) == 6
    for names, place in named:
        path = ROOT / "gradfuzz" / place
        for name in re.findall(r"`([\w.]+)`", names):
            if path.is_dir():
                assert (path / name).is_file()
            else:
                source = path.read_text(encoding="utf-8")
                for part in name.split("."):
                    assert re.search(rf"^ *(?:def|class) {part}\b", source, re.MULTILINE)


PARTS = sorted(path.parent for path in (ROOT / "gradfuzz").glob("*/*/**/__init__.py"))


@pytest.mark.parametrize("package", PARTS, ids=lambda package: str(package.relative_to(ROOT / "gradfuzz")))
def test_the_docstring_of_a_package_lists_its_modules(package: Path) -> None:
    """At most 35 lines: what it is for, a line for each module or a few, what a maintainer must know."""
    text = ast.get_docstring(ast.parse((package / "__init__.py").read_text(encoding="utf-8")))
    assert text
    assert len(text.splitlines()) <= 35
    listed = [
        name
        for names in re.findall(r"^(?:    )?(\w+(?:, \w+)*)(?: {4,}\S.*)?$", text, re.MULTILINE)
        for name in names.split(", ")
    ]
    there = {path.stem for path in package.iterdir() if path.suffix == ".py"} - {"__init__"}
    there |= {path.parent.name for path in package.glob("*/__init__.py")}
    assert sorted(listed) == sorted(there)
