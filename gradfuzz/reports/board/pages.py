"""The pages of the board, as texts by their places in the site."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace

from gradfuzz.fuzzer.results.review import Review
from gradfuzz.reports.board import badges, feed
from gradfuzz.reports.board.collection import (
    FIXED,
    GONE,
    OPEN,
    REFUSES,
    RIGHT,
    UNASKED,
    WRONG,
    Board,
    BoardFinding,
    BoardSystem,
    in_address,
)
from gradfuzz.reports.common import plain, words
from gradfuzz.reports.common.standing import Standing, news
from gradfuzz.reports.html.article import article
from gradfuzz.reports.html.assets import asset, environment
from gradfuzz.reports.markdown.issue import issue

SIGNS = {WRONG: "✗", RIGHT: "✓", REFUSES: "–", UNASKED: "", OPEN: "✗", FIXED: "✓", GONE: "○"}
"""What a cell of a map shows for each state."""

FEW, MANY = 10, 100
"""Of fewer programs or calls than these a cell shows the number alone, and it is pale; of so many it is
strong.
"""


def site(board: Board, title: str, url: str = "") -> Iterator[tuple[str, str]]:
    """Every file of the site: its place and its text. `url` is where the site will be, if anywhere."""
    templates = environment(__package__)
    ops = board.ops()
    places = {op: f"ops/{in_address(op)}.html" for op in ops}
    shared = {"title": title, "board": board, "places": places, "url": url}
    shared |= {
        "signs": SIGNS,
        "in_address": in_address,
        "sign": _sign,
        "news": _news,
        "few": FEW,
        "many": MANY,
    }

    def page(name: str, root: str, **values: object) -> str:
        return templates.get_template(name).render(root=root, **shared, **values)

    told = {op: [(system, *system.about(op)) for system in board.systems] for op in ops}
    rows = [(op, [_cell(*one) for one in told[op]]) for op in ops]
    yield "index.html", page("index.html.j2", "", rows=rows)
    for system in board.systems:
        own = [
            (op, *what) for op in ops for one, *what, _ in told[op] if one is system and what[0] != UNASKED
        ]
        yield f"systems/{system.key}.html", page("system.html.j2", "../", system=system, ops=own)
        yield f"badges/{system.key}.svg", badges.svg(system)
        yield f"badges/{system.key}.json", badges.endpoint(system)
    for op in ops:
        releases = [(system, system.history(op)) for system in board.systems]
        yield places[op], page("op.html.j2", "../", op=op, told=told[op], releases=releases)
    for system in board.systems:
        for known in system.findings:
            finding = plain.inert(known.finding)
            view = article(finding, Standing(known.state), issue(finding, {}))
            yield (
                f"findings/{known.key}.html",
                page("finding.html.j2", "../", known=known, a=view, system=system),
            )
    yield "feed.xml", feed.atom(board, title, url)
    yield "assets/board.css", f"{asset('report.css')}\n{asset('board.css', __package__)}\n"
    yield "assets/board.js", f"{asset('board.js', __package__)}\n"
    yield "assets/index.js", f"const INDEX = {json.dumps(list(_index(board, places)), ensure_ascii=True)};\n"


def _sign(state: str, times: int, found: int = 0) -> tuple[str, str]:
    """(style, text) of what is known: "✗ 3" of three findings; "✓ 40" of an op that was in forty programs or
    calls in which nothing wrong was found, and of too few the number alone.
    """
    style = state.replace(" ", "-")
    if state != RIGHT:
        return style, f"{SIGNS[state]} {found or ''}".strip()
    number = f"{times // 1000}k" if times >= 1000 else f"{times}"
    if times < FEW:
        return f"{style} few", number
    return f"{style} {'many' if times >= MANY else 'some'}", f"{SIGNS[state]} {number}"


def _news(systems: Sequence[BoardSystem]) -> str:
    """As in "3 new, 48 known: 48 recorded before": what the last run of each system found first is new."""
    found = [(system, known) for system in systems for known in system.open]
    before = tuple((known.key, known.first) for system, known in found if known.first < system.latest)
    return news([replace(known.finding, id=known.key) for _, known in found], Review(first_seen=before))


def _cell(
    system: BoardSystem, state: str, times: int, found: list[BoardFinding]
) -> tuple[str, int, int, str, str]:
    """One op of one system on the map: its state, how often it was asked, the number of findings, an address,
    and the family, check and dtype of each finding, by spaces: "loops/vjp/float64 linalg/order-2/float32".
    """
    href = f"findings/{found[0].key}.html" if len(found) == 1 else f"systems/{system.key}.html"
    kinds = {f"{in_address(k.finding.family)}/{_mode(k)}/{k.finding.precision}" for k in found}
    return state, times, len(found), href, " ".join(sorted(kinds))


def _mode(known: BoardFinding) -> str:
    modes = known.finding.modes
    return (
        f"order-{len(modes)}" if len(modes) > 1 else {"rev": "vjp", "fwd": "jvp"}.get("".join(modes), "value")
    )


def _index(board: Board, places: dict[str, str]) -> Iterator[dict[str, str]]:
    """What the search looks through."""
    for system in board.systems:
        yield {"t": system.name, "k": "system", "p": f"systems/{system.key}.html"}
    for op, place in places.items():
        yield {"t": op, "k": "op", "p": place}
    for known in board.findings():
        finding = plain.inert(known.finding)
        yield {"t": words.title(finding), "k": known.state, "p": f"findings/{known.key}.html"}
