"""The templates, the style and the script of the pages."""

from __future__ import annotations

import base64
import functools
import hashlib
from importlib.resources import files

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup


def environment() -> Environment:
    """A new environment for templates; what is shown is escaped."""
    return Environment(
        loader=PackageLoader(__package__),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


@functools.cache
def asset(name: str) -> Markup:
    """A file of the package, for literal inclusion in the page."""
    text = (files(__package__) / "templates" / name).read_text(encoding="utf-8")
    return Markup(text.replace("\r\n", "\n").strip())  # noqa: S704 - our own file


def hash_of(text: str) -> str:
    """The hash of a style or script as a content-security policy writes it."""
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
