"""The HTML report: one file that needs nothing else, opens from disk, and is complete without JavaScript.

    page, article       what is shown: around the articles, and of one finding
    functions           the map of a library's functions
    proofs              a page of its own: proofs about derivative rules
    figures, entries    plots of a finding; where in its arrays it is wrong
    svg, scales         plots as SVG text; from values to pixels
    budget              how much of each finding fits
    assets              the templates, style and script of the package
    templates/          how it is laid out, with style and script

- Everything that is shown is made by `page`, `article` and `figures` and laid out by the templates.
- A content-security policy allows the file's own style and script, by their hashes, and nothing else.
"""

from __future__ import annotations

import dataclasses
import functools

from jinja2 import Environment
from markupsafe import Markup

from gradfuzz.fuzzer.results.events import SweepFinished
from gradfuzz.fuzzer.results.known_reports import reports_of
from gradfuzz.fuzzer.results.review import Review
from gradfuzz.reports.common import account, headline, plain, titles, words
from gradfuzz.reports.common.functions import MEANINGS
from gradfuzz.reports.common.standing import Standings, safe_link
from gradfuzz.reports.common.summary import columns
from gradfuzz.reports.html import page
from gradfuzz.reports.html.article import anchor, article
from gradfuzz.reports.html.assets import asset, environment, hash_of
from gradfuzz.reports.html.budget import BYTES, MOST, Fitted, fit
from gradfuzz.reports.html.functions import function_map
from gradfuzz.reports.markdown.issue import issue


def render(finished: SweepFinished, review: Review | None, *, budget: int = BYTES) -> str:
    """A sweep's report as the text of a UTF-8 file. `budget`: the most bytes of rows and articles,
    and of the map of functions.
    """
    finished, review = _inert(finished), plain.inert(review)
    templates = _templates()
    style, script = asset("report.css"), asset("report.js")
    standing = review is not None or any(words.flaky(f) or reports_of(f) for f in finished.findings)
    mapped = function_map(finished.functions)
    left = max(budget - mapped.size, budget // 3)
    fitted = _fitted(templates, finished, review, left, standing=standing)
    shown = finished.findings[: fitted.full + fitted.short]
    return templates.get_template("page.html.j2").render(
        style=style,
        script=script,
        style_hash=hash_of(style),
        script_hash=hash_of(script),
        finished=finished,
        headline=headline.headline(finished),
        work=headline.work(finished),
        drawn=headline.drawn(finished),
        silence=headline.silence(finished),
        map=mapped,
        meanings=MEANINGS,
        matrix=page.matrix(finished),
        fitted=fitted,
        causes=list(page.causes(finished.clusters, finished.findings)),
        here={finding.id for finding in shown},
        standing=standing,
        reviewed=review is not None,
        review=review or Review(),
        flaky=list(filter(words.flaky, finished.findings)),
        unsupported=[s for s in finished.summaries if s.unsupported],
        reasons=account.inconclusive(finished),
        asked=account.asked(finished),
        never=account.never(finished),
        proofs=account.proofs(finished),
        columns=columns(finished.summaries),
        counts=page.counts,
        tested=page.tested(finished.tested),
        coverage=page.coverage(finished.coverage),
    )


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
        Markup(of_row.render(row=row, rank=k, standing=standing))  # noqa: S704 - a template with autoescape on
        for k, row in enumerate(page.rows(finished.findings[:MOST], standings), 1)
    ]

    def made(k: int, *, short: bool) -> Markup:
        finding = finished.findings[k]
        text = "" if short else issue(finding, finished.environment)
        view = article(finding, standings.of(finding), text, short=short)
        return Markup(of_article.render(a=view, rank=k + 1))  # noqa: S704 - a template with autoescape on

    full, brief = functools.partial(made, short=False), functools.partial(made, short=True)
    return fit(rows, full, brief, len(finished.findings), budget)


@functools.cache
def _templates() -> Environment:
    templates = environment()
    templates.globals |= {"words": words, "titles": titles, "anchor": anchor, "safe_link": safe_link}
    return templates
