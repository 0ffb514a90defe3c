"""The fenced blocks of a page of the documents, and how they are run.

A page is run in a folder of its own, its blocks in their order:

    python                     runs, all blocks of the page in one namespace
    pycon                      the same with >>> prompts; what they print and raise is compared
    python title="FILE"        is written into FILE; so is every other language. A command of the page has to
                               use it
    python title="gradfuzz/.." shows lines of a file of the repository in some folder, as they are there
    console                    lines with $ are commands; what is below one is what it writes to stdout.
                               `echo $?` shows its exit code
    toml, yaml, json, jsonl    are read
    ANY title="not run: WHY"   is not run, and the page says why

In outputs `...` stands for anything, as in doctest.
"""

from __future__ import annotations

import contextlib
import doctest
import json
import re
import shlex
import subprocess
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml
from click.testing import CliRunner
from markdown_it import MarkdownIt

from gradfuzz.cli import main

__all__ = ["NOT_RUN", "ROOT", "Block", "Page", "blocks", "page_in", "pages"]

ROOT = Path(__file__).parents[1]
NOT_RUN = "not run: "
_INFO = re.compile(r'(?P<language>[a-z]*)(?: title="(?P<title>[^"]+)")?')
_COMMAND = re.compile(r"^\$ (?P<command>(?:.*\\\n)*.*)\n(?P<shown>(?:(?!\$ ).*\n)*)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block: its language and title, its text, and the line of the page on which it begins."""

    language: str
    title: str
    text: str
    line: int

    @property
    def runs(self) -> bool:
        return not self.title.startswith(NOT_RUN)


def pages() -> list[Path]:
    """The documents."""
    return [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


def blocks(page: Path) -> list[Block]:
    found = []
    for token in MarkdownIt("commonmark").parse(page.read_text(encoding="utf-8")):
        if token.type == "fence":
            assert token.map is not None
            info = _INFO.fullmatch(token.info.strip())
            assert info, (
                f"{page.name}:{token.map[0] + 1}: a block has a language,"
                f" and a title at most: ```{token.info}"
            )
            found.append(Block(info["language"], info["title"] or "", token.content, token.map[0] + 1))
    return found


@dataclass(slots=True)
class Page:
    """Runs blocks of one page in `folder`, which is the current directory meanwhile."""

    path: Path
    folder: Path
    namespace: dict[str, Any] = field(default_factory=lambda: {"__name__": "__main__"})
    unused: set[str] = field(default_factory=set)
    exit_code: int = 0

    def run(self, block: Block) -> None:
        where = f"{self.path.name}:{block.line}"
        if not block.runs:
            assert len(block.title) > len(NOT_RUN), f"{where} does not say why it is not run"
        elif "/" in block.title and (ROOT / block.title).is_file():
            self._quoted(block, where)
        elif block.title:
            target = self.folder / block.title
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(block.text, encoding="utf-8")
            self.unused.add(block.title)
        elif block.language == "python":
            # Lines keep their numbers, so that a traceback points into the page.
            exec(compile("\n" * block.line + block.text, str(self.path), "exec"), self.namespace)
        elif block.language == "pycon":
            self._prompts(block, where)
        elif block.language == "console":
            self._console(block, where)
        elif block.language == "toml":
            tomllib.loads(block.text)
        elif block.language == "yaml":
            yaml.safe_load(block.text)
        elif block.language == "json":
            json.loads(block.text)
        elif block.language == "jsonl":
            for line in block.text.splitlines():
                json.loads(line.removeprefix("> ").removeprefix("< "))
        else:
            raise AssertionError(
                f"{where}: nothing runs {block.language or 'a block without a language'}; give it a title, of"
                f" a file or `{NOT_RUN}WHY`"
            )

    def _quoted(self, block: Block, where: str) -> None:
        whole = (ROOT / block.title).read_text(encoding="utf-8")
        for part in re.split(r"^\s*(?:# )?\.\.\.\n", block.text, flags=re.MULTILINE):
            assert part.strip("\n") in whole, f"{where}: {block.title} has no such lines any more:\n{part}"

    def _prompts(self, block: Block, where: str) -> None:
        test = doctest.DocTestParser().get_doctest(block.text, {}, where, str(self.path), block.line)
        test.globs = self.namespace
        told: list[str] = []
        runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS, verbose=False)
        runner.run(test, out=told.append, clear_globs=False)
        assert not runner.failures, "".join(told)

    def _console(self, block: Block, where: str) -> None:
        for command, expected in _commands(block.text):
            got = self._command(command)
            assert doctest.OutputChecker().check_output(expected, got, doctest.ELLIPSIS), (
                f"{where}: $ {command}\nexit code {self.exit_code}, shown:\n{expected}\nprinted:\n{got}"
            )

    def _command(self, command: str) -> str:
        if command == "echo $?":
            return f"{self.exit_code}\n"
        self.unused -= {
            name for name in self.unused if any(part in command for part in (name, Path(name).stem))
        }
        words = shlex.split(command, comments=True)
        if words[0] == "gradfuzz":
            result = CliRunner().invoke(main, words[1:])
            self.exit_code = result.exit_code
            assert result.exception is None or isinstance(result.exception, SystemExit), repr(
                result.exception
            )
            return _trimmed(result.stdout)
        done = subprocess.run(
            ["bash", "-c", command], capture_output=True, text=True, timeout=120, check=False
        )
        self.exit_code = done.returncode
        return _trimmed(done.stdout)


def _commands(text: str) -> Iterator[tuple[str, str]]:
    """Each command, its continued lines joined, with what is shown below it."""
    for found in _COMMAND.finditer(text):
        yield found["command"].replace("\\\n", " ").strip(), _trimmed(found["shown"])


def _trimmed(text: str) -> str:
    lines = [line.rstrip() for line in text.strip("\n").splitlines()]
    return "".join(f"{line}\n" for line in lines)


@contextlib.contextmanager
def page_in(path: Path, folder: Path) -> Iterator[Page]:
    """The page at `path`, to be run in `folder`; every file that it shows is one that its commands use."""
    page = Page(path, folder)
    with contextlib.chdir(folder):
        yield page
    assert not page.unused, f"no command of {path.name} uses {', '.join(sorted(page.unused))}"
