"""What gradfuzz says to people, read from its source: `python -m tests.messages` prints the list.

A message is a text of a module that speaks, or one that is raised anywhere. What is known only when it runs
stands in it as an expression in braces.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "gradfuzz"

SPEAKING = ("cli", "fuzzer", "libraries", "oracles/rule", "reports/common", "reports/terminal", "testing")
"""Every text of these folders counts, and of the others those that are raised."""


def messages(words: int = 3) -> Iterator[tuple[str, str]]:
    """(place, text) of each message of one line that has as many words, in the order of the files."""
    for path in sorted(PACKAGE.rglob("*.py")):
        name = path.relative_to(PACKAGE).as_posix()
        if name.startswith("adapters/"):  # programs of their own
            continue
        tree = ast.parse(path.read_text(encoding="utf-8"))
        nodes = list(ast.walk(tree))
        silent = {n.value for n in nodes if isinstance(n, ast.Expr)}  # documentation
        roots = [tree] if name.startswith(SPEAKING) else [n for n in nodes if isinstance(n, ast.Raise)]
        for node, text in (found for root in roots for found in _texts(root, silent)):
            said = re.findall(r"[A-Za-z]{2,}", re.sub(r"\{[^{}]*\}", "", text))
            if len(said) >= words and "\n" not in text.strip("\n"):
                yield f"gradfuzz/{name}:{node.lineno}", text


def _texts(node: ast.AST, silent: set[ast.expr]) -> Iterator[tuple[ast.expr, str]]:
    if isinstance(node, ast.JoinedStr):
        parts = (str(p.value) if isinstance(p, ast.Constant) else f"{{{_shown(p)}}}" for p in node.values)
        yield node, "".join(parts)
        children = [part.value for part in node.values if isinstance(part, ast.FormattedValue)]
    elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in silent:
        yield node, node.value
        children = []
    else:
        children = list(ast.iter_child_nodes(node))
    for child in children:
        yield from _texts(child, silent)


def _shown(part: ast.expr) -> str:
    assert isinstance(part, ast.FormattedValue), "a text or an expression"
    how = "" if part.conversion < 0 else f"!{chr(part.conversion)}"
    return f"{ast.unparse(part.value)}{how}".replace("{", "(").replace("}", ")")


if __name__ == "__main__":
    for place, text in messages():
        print(f"{place}: {text}")
