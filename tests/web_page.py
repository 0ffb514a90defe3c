"""A page of HTML, as any parser sees it."""

from __future__ import annotations

from html.parser import HTMLParser

VOID = {"meta", "link", "input", "br", "hr", "img", "wbr"}


class Page(HTMLParser):
    """Elements with their attributes, and the text of reproducers, as any HTML parser sees them."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.reproducers: dict[tuple[str, str], str] = {}
        self._open: list[str] = []
        self._article = ""
        self._pre: tuple[str, str] | None = None
        self.feed(text)
        self.close()
        assert self._open == [], "everything that was opened is closed"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        known = {name: value or "" for name, value in attrs}
        self.elements.append((tag, known))
        if tag not in VOID:
            self._open.append(tag)
        if tag == "article":
            self._article = known["id"]
        if "data-reproducer" in known:
            self._pre = self._article, known["data-reproducer"]
            self.reproducers[self._pre] = ""

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag
        if tag == "pre":
            self._pre = None

    def handle_data(self, data: str) -> None:
        if self._pre:
            self.reproducers[self._pre] += data

    def all(self, *tags: str) -> list[tuple[str, dict[str, str]]]:
        return [element for element in self.elements if element[0] in tags]

    def values(self, *names: str) -> list[str]:
        """The values of these attributes."""
        return [known[name] for _, known in self.elements for name in names if name in known]
