"""What the site needs beside its pages: the files of the repository that pages link to."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

__all__ = ["on_files", "on_page_markdown"]

_LINK = re.compile(r"(?<=\]\()(?:\.\./)+[^)#\s]+(?=\))")
_FOLDER = "files"
"""Where they lie in the site."""


def on_files(files: Files, /, *, config: MkDocsConfig) -> None:
    found = {
        place: source
        for page in files.documentation_pages()
        for _, place, source in _linked(page, page.content_string, config)
    }
    for place, source in found.items():
        files.append(File.generated(config, place, abs_src_path=str(source)))


def on_page_markdown(markdown: str, /, *, page: Page, config: MkDocsConfig, **_: object) -> str:
    for link, place, _source in _linked(page.file, markdown, config):
        markdown = markdown.replace(
            f"({link})", f"({posixpath.relpath(place, posixpath.dirname(page.file.src_uri))})"
        )
    return markdown


def _linked(page: File, text: str, config: MkDocsConfig) -> Iterator[tuple[str, str, Path]]:
    """Each link that leads out of the documents, the place of its target in the site, and the target."""
    documents = Path(config.docs_dir)
    for link in set(_LINK.findall(text)):
        target = (documents / page.src_uri).parent.joinpath(link).resolve()
        if target.is_file() and not target.is_relative_to(documents):
            yield link, f"{_FOLDER}/{target.relative_to(documents.parent).as_posix()}", target
