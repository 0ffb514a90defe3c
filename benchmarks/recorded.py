"""How much of a package its own test suite lets a sweep ask: a row of the table in docs/functions.md.

    gradfuzz record --pickle --package P -m pytest tests
    gradfuzz sweep P --calls calls.json --trust --report json=sweep.json
    python -m benchmarks.recorded P sweep.json

A public class counts as asked where a method of it is, or a call that holds an object of it. What takes or
returns no floats does not count.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from gradfuzz.fuzzer.sweep.functions import is_class

NO_FLOATS = (
    *("returns no array of floats", "no array of floats is among", "no derivative of anything"),
    *("abstract, so there are", "an enumeration", "an exception", "returns bool", "returns int"),
    "returns str",
    "neither its annotations nor its code nor its package name",
)
"""Why something that can be called has no derivative, in the words of its row. Of what names no library the
suite made no call with arrays of floats, or its row would be another one.
"""


def reached(functions: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """The public callables that touch floats: "asked", or why not."""
    rows: dict[str, list[Mapping[str, Any]]] = {}
    for row in functions:
        owner = row["name"].rpartition(".")[0]
        rows.setdefault(owner if is_class(owner) else row["name"], []).append(row)
    found = {}
    for name, own in rows.items():
        said = [f"{row['outcome']}: {row['why']}" for row in own if "a class, whose" not in row["why"]]
        wanting = [why for why in said if not any(words in why for words in NO_FLOATS)]
        is_asked = any(row["outcome"] == "asked" for row in own)
        if is_asked or wanting:
            found[name] = "asked" if is_asked else wanting[0]
    return found


def main() -> None:
    package, path = sys.argv[1:]
    sweep = json.loads(Path(path).read_text(encoding="utf-8"))
    found = reached(sweep["functions"])
    asked = sum(why == "asked" for why in found.values())
    of = sweep["targets"][0]
    share, findings = f"{asked / len(found):.0%}".replace("%", " %"), len(sweep["findings"])
    cells = f"{len(found)} | {asked} | {share} | {of['checks']} | {of['agree']} | {findings}"
    print(f"| {package} {of['version']} | {cells} |")
    for name, why in sorted(found.items()):
        if why != "asked":
            print(f"  {name}: {why}", file=sys.stderr)


if __name__ == "__main__":
    main()
