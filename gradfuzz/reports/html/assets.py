"""The templates, the style and the script of the pages."""

from __future__ import annotations

import base64
import functools
import hashlib
from importlib.resources import files

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from gradfuzz.reports.common import account, headline, plain, titles, words
from gradfuzz.reports.common.standing import safe_link
from gradfuzz.reports.html.article import anchor


@functools.cache
def environment(*packages: str) -> Environment:
    """The environment for the templates of these packages and of this one; what is shown is escaped."""
    templates = Environment(
        loader=ChoiceLoader([PackageLoader(package) for package in (*packages, __package__)]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.globals |= {"words": words, "titles": titles, "plain": plain, "account": account}
    templates.globals |= {"headline": headline, "anchor": anchor, "safe_link": safe_link}
    templates.globals |= {"asset": asset, "hash_of": hash_of}
    return templates


@functools.cache
def asset(name: str, package: str = __package__) -> Markup:
    """A file of a package, for literal inclusion in the page."""
    text = (files(package) / "templates" / name).read_text(encoding="utf-8")
    return Markup(text.replace("\r\n", "\n").strip())  # noqa: S704 - our own file


def hash_of(text: str) -> str:
    """The hash of a style or script as a content-security policy writes it."""
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
