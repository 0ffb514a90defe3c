"""The command `gradfuzz board`."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from gradfuzz.cli.options import PATH
from gradfuzz.cli.output import writing
from gradfuzz.cli.shell import click
from gradfuzz.errors import UsageError

if TYPE_CHECKING:
    from gradfuzz.reports.board.collection import BoardRun


@click.command(short_help="Make a web site from recorded runs.")
@click.argument("stores", nargs=-1, type=PATH, metavar="STORE...")
@click.option("--out", type=PATH, default=Path("site"), metavar="FOLDER", help="Where the site is written.")
@click.option("--title", default="gradfuzz board", metavar="TEXT", help="Its name.")
@click.option(
    "--url", default="", metavar="URL", help="The web address that the site will have; its feed needs it."
)
def board(stores: tuple[Path, ...], out: Path, title: str, url: str) -> None:
    """Make a static site of the runs in STORES (.gradfuzz if none is named) and event streams: which system,
    in which release, is wrong about which derivative.

    The site loads nothing from elsewhere and opens from disk. It has a page for each system, op and finding,
    badges, a search, and an Atom feed.
    """
    from gradfuzz.reports.board.collection import board as collected
    from gradfuzz.reports.board.pages import site
    from gradfuzz.reports.common.numbers import count

    if url and not url.startswith(("https://", "http://")):
        raise UsageError(f"--url {url!r} is not a web address; write one that begins with https://")
    runs = [run for store in stores or (Path(".gradfuzz"),) for run in _runs(store)]
    if not runs:
        raise UsageError("the stores have no run yet; a sweep makes one")
    found = collected(runs)
    address = url if not url or url.endswith("/") else f"{url}/"
    number = 0
    with writing(out, ": the site"):
        for place, text in site(found, title, address):
            path = out / place
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
            number += 1
    systems, findings = len(found.systems), len(found.findings())
    what = f"{count(systems, 'system')}, {count(findings, 'finding')}, {count(number, 'file')}"
    click.echo(f"{out / 'index.html'}: {what}.")


def _runs(path: Path) -> Iterator[BoardRun]:
    from gradfuzz.fuzzer.store.runs import Store
    from gradfuzz.fuzzer.store.stream import is_stream, read
    from gradfuzz.reports.board.collection import BoardRun

    if path.is_file() and is_stream(path):
        finished, review = read(path)
        changed = datetime.datetime.fromtimestamp(path.stat().st_mtime, datetime.UTC)
        began = finished.environment.get("started") or changed.isoformat(timespec="seconds")
        yield BoardRun(began, finished, review)  # a sweep that was killed does not say when it began
        return
    with Store(path) as store:
        for run in store.runs():
            if run.settings["config"].get("shard") is None:
                finished, review = store.finished(run.number)
                yield BoardRun(run.began, finished, review)
