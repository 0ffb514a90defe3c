"""What the site needs beside its pages: the file of the repository that a page links to."""

from __future__ import annotations

from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

__all__ = ["on_files", "on_page_markdown"]

SCHEMA = "../gradfuzz/oracles/foreign/protocol-1.schema.json"
"""As docs/targets.md links to it. In the site it lies beside the page."""


def on_files(files: Files, /, *, config: MkDocsConfig) -> None:
    source = Path(config.docs_dir) / SCHEMA
    files.append(File.generated(config, source.name, abs_src_path=str(source.resolve())))


def on_page_markdown(markdown: str, /, **_: object) -> str:
    return markdown.replace(f"({SCHEMA})", f"({Path(SCHEMA).name})")
