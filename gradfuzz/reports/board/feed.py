"""The findings as an Atom feed (RFC 4287), the newest first."""

from __future__ import annotations

from xml.etree import ElementTree

from gradfuzz.fuzzer.results.identity import signature_of
from gradfuzz.reports.board.collection import Board
from gradfuzz.reports.common import plain, words

_SPACE = "http://www.w3.org/2005/Atom"
_MOST = 200


def atom(board: Board, title: str, url: str) -> str:
    """The feed of the latest findings. `url` is where the site is, with a slash at its end, if anywhere."""
    ElementTree.register_namespace("", _SPACE)
    feed = ElementTree.Element(f"{{{_SPACE}}}feed")

    def add(parent: ElementTree.Element, name: str, text: str = "", **attributes: str) -> ElementTree.Element:
        child = ElementTree.SubElement(parent, f"{{{_SPACE}}}{name}", attributes)
        child.text = text or None
        return child

    add(feed, "title", title)
    add(feed, "id", url or "urn:gradfuzz:board")
    add(feed, "updated", board.latest)
    add(add(feed, "author"), "name", "gradfuzz")
    if url:
        add(feed, "link", href=f"{url}feed.xml", rel="self")
    newest = sorted(board.findings(), key=lambda known: known.first, reverse=True)
    for known in newest[:_MOST]:
        finding = plain.inert(known.finding)
        entry = add(feed, "entry")
        add(entry, "title", words.title(finding))
        add(entry, "id", f"urn:gradfuzz:{signature_of(known.finding)}")
        add(entry, "published", known.first)
        add(entry, "updated", known.last)
        add(entry, "link", href=f"{url}findings/{known.key}.html", rel="alternate")
        add(entry, "summary", words.in_short(finding))
    ElementTree.indent(feed)
    return ElementTree.tostring(feed, encoding="unicode", xml_declaration=True) + "\n"
