"""Report cards of two targets side by side, as a table in Markdown: `gradfuzz probe ... --format json` twice.

gradfuzz probe nx==./before --suite linalg --format json > before.json
gradfuzz probe nx==./after --suite linalg --format json > after.json
python -m benchmarks.side_by_side before.json after.json --columns 2-D,batch,float32,vectorized
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

Cells = Mapping[tuple[str, str], Mapping[str, str]]


def cells(card: Mapping[str, Any]) -> Cells:
    """The words of a status table by op and use, of a way of its own where there are several."""
    (table,) = (t for t in card["tables"] if t["title"] == "Status")
    rows = [dict(zip(table["columns"], row, strict=True)) for row in table["rows"]]
    return {(row["op"], row["use"]): row for row in rows if row.get("way", "all") == "all"}


def rows(before: Cells, after: Cells, columns: Sequence[str]) -> list[str]:
    """A row for each op that differs in one of the columns, in the first of its uses that does."""
    shown: dict[str, str] = {}
    for key, old in before.items():
        op, use = key
        new = after.get(key, {})
        pairs = [(old.get(c) or "-", new.get(c) or "-") for c in columns]
        if op not in shown and any(a != b for a, b in pairs):
            words = [a if a == b else f"{a} → {b}" for a, b in pairs]
            shown[op] = f"| `{op}` | {use} | {' | '.join(words)} |"
    return list(shown.values())


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("before", type=Path)
    parser.add_argument("after", type=Path)
    parser.add_argument("--columns", required=True)
    asked = parser.parse_args()
    columns = asked.columns.split(",")
    before, after = (json.loads(p.read_text(encoding="utf-8")) for p in (asked.before, asked.after))
    print(f"| op | use | {' | '.join(columns)} |")
    print(f"|---|---|{'---|' * len(columns)}")
    print("\n".join(rows(cells(before), cells(after), columns)))
    for card in (before, after):
        print(f"\n{card['target']} {card['version']}: {card['summary'][0]}")


if __name__ == "__main__":
    main()
