"""One line for each finding and one for the sweep, for logs and other programs."""

from __future__ import annotations

from gradfuzz.fuzzer.results.events import SweepFinished
from gradfuzz.fuzzer.results.finding import Finding
from gradfuzz.fuzzer.results.review import Review
from gradfuzz.reports.common import account, plain, words
from gradfuzz.reports.common.headline import headline, work
from gradfuzz.reports.common.standing import Standings, news


def render(finished: SweepFinished, review: Review | None) -> str:
    """As in "GF-7c1e torch.sin, reverse mode: wrong sign (...); at x = 0.5 expected 1, got -1 (known)"."""
    finished, review = plain.inert(finished), plain.inert(review)
    standings = Standings(review)
    lines = []
    for finding in finished.findings:
        marks = standings.of(finding).marks
        lines.append(line(finding) + (f" ({marks})" if marks else ""))
    if told := account.asked(finished):
        lines.append(f"Asked: {'; '.join(told)}.")
    end = " ".join(filter(None, (headline(finished), news(finished.findings, review), work(finished))))
    lines.append(f"{end} Seed {finished.seed}. Again: {finished.rerun}")
    return "".join(f"{text}\n" for text in lines)


def line(finding: Finding) -> str:
    """A finding in one line: its title, the clearest point, and where it is reported."""
    return f"{' '.join(words.title(finding).split())}; {words.in_short(finding)}"
