"""The HTML report: one file that needs nothing else, opens from disk, and is complete without JavaScript.

    page, article       what is shown: around the articles, and of one finding
    functions           the map of a library's functions
    figures, entries    plots of a finding; where in its arrays it is wrong
    svg, scales         plots as SVG text; from values to pixels
    budget              how much of each finding fits
    assets              the templates, style and script of the package
    templates/          how it is laid out, with style and script

- Everything that is shown is made by these modules and in the words of `reports.common`, and laid out by the
  templates.
- A content-security policy allows the file's own style and script, by their hashes, and nothing else.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Sequence

from jinja2 import Environment
from markupsafe import Markup

from gradfuzz.fuzzer.results.events import SweepFinished
from gradfuzz.fuzzer.results.known_reports import entries_of, reports_of
from gradfuzz.fuzzer.results.proof import ProofRecord
from gradfuzz.fuzzer.results.review import Review
from gradfuzz.reports.common import plain, words
from gradfuzz.reports.common import proofs as told
from gradfuzz.reports.common.functions import MEANINGS
from gradfuzz.reports.common.standing import Standings, news
from gradfuzz.reports.common.summary import columns
from gradfuzz.reports.html import page
from gradfuzz.reports.html.article import article
from gradfuzz.reports.html.assets import environment
from gradfuzz.reports.html.budget import BYTES, MOST, Fitted, fit
from gradfuzz.reports.html.functions import function_map
from gradfuzz.reports.markdown.issue import issue


def render(finished: SweepFinished, review: Review | None, *, budget: int = BYTES) -> str:
    """A sweep's report as the text of a UTF-8 file. `budget`: the most bytes of rows and articles,
    and of the map of functions.
    """
    finished, review = _inert(finished), plain.inert(review)
    templates = environment()
    standing = review is not None or any(
        words.flaky(f) or reports_of(f) or entries_of(f) for f in finished.findings
    )
    mapped = function_map(finished.functions)
    left = max(budget - mapped.size, budget // 3)
    fitted = _fitted(templates, finished, review, left, standing=standing)
    shown = finished.findings[: fitted.full + fitted.short]
    return templates.get_template("page.html.j2").render(
        finished=finished,
        map=mapped,
        meanings=MEANINGS,
        matrix=page.matrix(finished),
        fitted=fitted,
        causes=list(page.causes(finished.clusters, finished.findings)),
        here={finding.id for finding in shown},
        standing=standing,
        reviewed=review is not None,
        news=news(finished.findings, review),
        review=review or Review(),
        flaky=list(filter(words.flaky, finished.findings)),
        columns=columns(finished.summaries),
        counts=page.counts,
    )


def proofs(records: Sequence[ProofRecord]) -> str:
    """Proofs about derivative rules as a page of its own."""
    return environment().get_template("proofs.html.j2").render(proofs=records, told=told)


def _inert(finished: SweepFinished) -> SweepFinished:
    """The sweep with inert text. Of findings that are only counted, only the counted fields."""
    first, others = finished.findings[:MOST], finished.findings[MOST:]
    counted = tuple(
        dataclasses.replace(f, target=plain.line(f.target), family=plain.line(f.family)) for f in others
    )
    shown = plain.inert(dataclasses.replace(finished, findings=first))
    return dataclasses.replace(shown, findings=(*shown.findings, *counted))


def _fitted(
    templates: Environment, finished: SweepFinished, review: Review | None, budget: int, *, standing: bool
) -> Fitted:
    """The rows and articles that fit. `standing`: the rows have a cell for what is known of them."""
    standings = Standings(review)
    of_row, of_article = templates.get_template("row.html.j2"), templates.get_template("article.html.j2")
    rows = [
        Markup(  # noqa: S704 - a template with autoescape on
            of_row.render(
                f=finding,
                rank=k,
                numbers=page.at_clearest(finding),
                standing=standing,
                known=standings.of(finding),
                reports=reports_of(finding),
                entries=entries_of(finding),
            )
        )
        for k, finding in enumerate(finished.findings[:MOST], 1)
    ]

    def made(k: int, *, short: bool) -> Markup:
        finding = finished.findings[k]
        text = "" if short else issue(finding, finished.environment)
        view = article(finding, standings.of(finding), text, short=short)
        return Markup(of_article.render(a=view, rank=k + 1))  # noqa: S704 - a template with autoescape on

    full, brief = functools.partial(made, short=False), functools.partial(made, short=True)
    return fit(rows, full, brief, len(finished.findings), budget)
