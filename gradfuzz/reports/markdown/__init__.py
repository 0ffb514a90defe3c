"""Reports as Markdown: pages, issues, annotations of GitHub."""

from __future__ import annotations
