"""What earlier sweeps and the baseline know about a finding."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlsplit

from gradfuzz.fuzzer.results.finding import Finding
from gradfuzz.fuzzer.results.review import BaselineEntry, Review


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


class Standings:
    """The standing of each finding of a sweep."""

    def __init__(self, review: Review | None) -> None:
        self._review = review
        self._known = {entry.id: entry for entry in review.known} if review else {}
        self._expired = {entry.id: entry for entry in review.expired} if review else {}
        self._seen = dict(review.first_seen) if review else {}

    def of(self, finding: Finding) -> Standing:
        """The standing of one finding. The baseline takes precedence over earlier sweeps."""
        flaky = finding.reproduced[0] < finding.reproduced[1]
        since = self._seen.get(finding.id, "")
        if self._review is None:
            return Standing(flaky=flaky)
        if finding.id in self._known:
            return _accepted("known", self._known[finding.id], since, flaky)
        if finding.id in self._expired:
            return _accepted("expired", self._expired[finding.id], since, flaky)
        return Standing("open" if since else "new", since=since, flaky=flaky)


def _accepted(word: str, entry: BaselineEntry, since: str, flaky: bool) -> Standing:
    return Standing(word, since, entry.reason, safe_link(entry.link), flaky)


_NEVER = frozenset(' <>"\\^`{|}')
"""Characters that no address may contain (RFC 3986, appendix A)."""


def safe_link(link: str) -> str:
    """The link if it leads to a web page, else ""."""
    try:
        parts = urlsplit(link)
    except ValueError:
        return ""
    good = (
        parts.scheme in ("http", "https") and parts.hostname and link.isprintable() and not _NEVER & set(link)
    )
    return link if good else ""
