"""The picture of the terminal report in README.md: a real sweep of a planted bug, printed by rich and kept as
SVG.

    python -m benchmarks.pictures

The sweep is small and has a fixed seed, so the picture changes only where the report does.
"""

from __future__ import annotations

import argparse
import io
import re
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import MONOKAI

from gradfuzz.fuzzer.results.events import SweepFinished
from gradfuzz.fuzzer.results.review import Review
from gradfuzz.fuzzer.sweep import SweepConfig, sweep
from gradfuzz.reports.terminal import report as terminal

PICTURE = Path("docs/pictures/terminal.svg")
CONFIG = SweepConfig(targets=("mutant:nx-1747",), families=("loops",), max_examples=12, jobs=1)
COMMAND = "gradfuzz sweep mutant:nx-1747 --max-examples 12"
_WIDTH = 100


def swept(config: SweepConfig) -> SweepFinished:
    """The end of a sweep."""
    *_, last = sweep(config)
    assert isinstance(last, SweepFinished), "a sweep ends so"
    return last


def picture(finished: SweepFinished, title: str) -> str:
    """The terminal report as SVG that loads nothing: where its font is not installed, any other of equal
    widths does.
    """
    console = Console(
        record=True,
        file=io.StringIO(),
        width=_WIDTH,
        force_terminal=True,
        color_system="truecolor",
        highlight=False,
    )
    console.print(terminal.brief(finished, {}, review=Review()))
    svg = console.export_svg(title=title, theme=MONOKAI, unique_id="gradfuzz")
    return re.sub(r"@font-face\s*\{.*?\}\s*", "", svg, flags=re.DOTALL)


def main() -> None:
    """Sweeps, and writes the picture."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--to", type=Path, default=PICTURE)
    path: Path = parser.parse_args().to
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(picture(swept(CONFIG), COMMAND), encoding="utf-8")
    print(f"{path}: {path.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
