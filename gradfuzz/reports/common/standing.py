"""What earlier sweeps and the baseline know about a finding."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from gradfuzz.fuzzer.results.events import SweepFinished
from gradfuzz.fuzzer.results.finding import Finding
from gradfuzz.fuzzer.results.identity import signature_of
from gradfuzz.fuzzer.results.known_reports import entries_of, reports_of
from gradfuzz.fuzzer.results.review import Review
from gradfuzz.reports.common import words
from gradfuzz.reports.common.headline import headline


@dataclass(frozen=True, slots=True)
class Standing:
    """The standing of a finding as a word, and the details."""

    word: str = ""
    """"new", "open" (recorded), "known" (the baseline accepts it), "expired" (no longer) or "" (no review).
    """
    since: str = ""
    reason: str = ""
    link: str = ""
    flaky: bool = False
    is_listed: bool = False
    """Whether the library's tracker or docs/trophies has it."""

    @property
    def told(self) -> str:
        """The word for people, to whom what is listed is not new."""
        return "known" if self.word == "new" and self.is_listed else self.word

    @property
    def marks(self) -> str:
        """The word, and whether it is flaky: "new, flaky"."""
        return ", ".join(filter(None, (self.told, "flaky" if self.flaky else "")))


class Standings:
    """The standing of each finding of a sweep."""

    def __init__(self, review: Review | None) -> None:
        self._review = review
        told = review or Review()
        self._seen = dict(told.first_seen)
        self._entries = {entry.signature: ("expired", entry) for entry in told.expired}
        self._entries |= {entry.signature: ("known", entry) for entry in told.known}

    def of(self, finding: Finding) -> Standing:
        """The standing of one finding. The baseline takes precedence over earlier sweeps."""
        flaky = words.flaky(finding)
        since = self._seen.get(finding.id, "")
        if self._review is None:
            return Standing(flaky=flaky)
        if signature_of(finding) in self._entries:
            word, entry = self._entries[signature_of(finding)]
            return Standing(word, since, entry.reason, safe_link(entry.link), flaky)
        listed = bool(reports_of(finding) or entries_of(finding))
        return Standing("open" if since else "new", since=since, flaky=flaky, is_listed=listed)


def divided(
    findings: Sequence[Finding], review: Review | None
) -> tuple[list[Finding], dict[str, list[Finding]]]:
    """The new findings, and the known ones by how they are known. Without a review all are new."""
    standings = Standings(review)
    new: list[Finding] = []
    known: dict[str, list[Finding]] = {}
    for finding in findings:
        word = standings.of(finding).word
        how = {"known": "accepted", "open": "recorded before"}.get(word, "")
        if word and word != "expired" and not how:
            how = "reported" if reports_of(finding) else "on docs/trophies" if entries_of(finding) else ""
        (known.setdefault(how, []) if how else new).append(finding)
    return new, known


def news(findings: Sequence[Finding], review: Review | None) -> str:
    """As in "3 new, 48 known: 31 reported, 17 on docs/trophies"; empty without findings or a review."""
    if review is None or not findings:
        return ""
    new, known = divided(findings, review)
    parts = ", ".join(f"{len(some)} {how}" for how, some in sorted(known.items()))
    return f"{len(new)} new, {len(findings) - len(new)} known{f': {parts}' if parts else ''}."


def opening(finished: SweepFinished, review: Review | None) -> str:
    """What a report says first: what is new, and then the headline."""
    return " ".join(filter(None, (news(finished.findings, review), headline(finished))))


_NEVER = frozenset(' <>"\\^`{|}')
"""Characters that no address may contain (RFC 3986, appendix A)."""


def safe_link(link: str) -> str:
    """The link if it leads to a web page, else ""."""
    try:
        parts = urlsplit(link)
    except ValueError:
        return ""
    web = parts.scheme in ("http", "https") and parts.hostname
    return link if web and link.isprintable() and not _NEVER & set(link) else ""
