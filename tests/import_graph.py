"""What each module of gradfuzz and of the benchmarks imports: by statements, and by names in strings.

Read as text, so functions and `TYPE_CHECKING` count, too. A string that is the name of a module counts as an
import of it: tables of modules are made of such strings. An f-string that begins with the name of a package
is filled with the strings of its module and of the tables that this module imports.
"""

from __future__ import annotations

import ast
import functools
import re
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]

TOPS = ("gradfuzz", "benchmarks")

_IMPORTERS = ("import_module", "__import__", "find_spec", "run_module")
"""The functions that import by a name."""


def _name(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


MODULES = {_name(path): path for top in TOPS for path in sorted((ROOT / top).rglob("*.py"))}
"""Every module, by its dotted name; a package by its own."""

ENTRY_POINTS: dict[str, dict[str, str]] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"][
    "entry-points"
]


def within(name: str, prefix: str) -> bool:
    return name == prefix or name.startswith(f"{prefix}.")


def module_of(name: str) -> str:
    """The module of a dotted name, which is that of a module or of something in one."""
    return name if name in MODULES else name.rpartition(".")[0]


@functools.cache
def tree(name: str) -> ast.Module:
    return ast.parse(MODULES[name].read_text(encoding="utf-8"))


@functools.cache
def statements(name: str) -> tuple[tuple[int, str], ...]:
    """(line, dotted name) of everything that the module imports by a statement."""
    found: list[tuple[int, str]] = []
    for node in ast.walk(tree(name)):
        if isinstance(node, ast.Import):
            found += [(node.lineno, alias.name) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{name}:{node.lineno} is a relative import; write the whole name"
            assert node.module is not None
            found += [(node.lineno, f"{node.module}.{alias.name}") for alias in node.names]
    return tuple(found)


@functools.cache
def named(name: str) -> tuple[tuple[int, str], ...]:
    """(line, module) of the modules of `TOPS` that the module names in strings.

    The name of a package that the module lies in is no import: it was imported before. A program that the
    module names and does not import is another process.
    """
    module = tree(name)
    imports = [
        node for node in ast.walk(module) if isinstance(node, ast.Call) and _called(node) in _IMPORTERS
    ]
    found: list[tuple[int, str]] = []
    for line, text in _strings(module):
        other = text.partition(":")[0]
        if "." in other and other in MODULES and not within(name, other):
            if imports or not _is_program(other):
                found.append((line, other))
        elif text in ENTRY_POINTS and any(_called(n) == "entry_points" for n in ast.walk(module)):
            found += [(line, point.partition(":")[0]) for point in ENTRY_POINTS[text].values()]
    for node in ast.walk(module):
        if isinstance(node, ast.JoinedStr):
            found += [(node.lineno, other) for other in _filled(node, name)]
    for call in imports:
        _check(call, name)
    return tuple(found)


def _called(node: ast.AST) -> str:
    """The name of the function that a call calls, without the module before it."""
    function = node.func if isinstance(node, ast.Call) else None
    return getattr(function, "attr", None) or getattr(function, "id", "")


def _check(call: ast.Call, name: str) -> None:
    """That what is imported can be read: a string, a table, or a name from elsewhere."""
    (what, *others) = call.args
    place = f"{name}:{call.lineno}"
    assert _called(call) != "import_module" or not others, f"{place} imports relatively; write the whole name"
    if isinstance(what, ast.JoinedStr) and _begins_here(what):
        assert _filled(what, name), f"{place} imports what no string of its module or of a table there names"
    else:
        assert isinstance(what, (ast.Name, ast.Attribute, ast.Subscript, ast.Constant, ast.JoinedStr)), (
            f"{place} puts a name together; write an f-string that begins with the package"
        )


def _strings(node: ast.AST) -> Iterator[tuple[int, str]]:
    """(line, text) of the strings in it that are no docstrings."""
    documents = {id(n.value) for n in ast.walk(node) if isinstance(n, ast.Expr)}
    for n in ast.walk(node):
        if isinstance(n, ast.Constant) and isinstance(n.value, str) and id(n) not in documents:
            yield n.lineno, n.value


def _is_program(name: str) -> bool:
    """Whether a module is one that `python -m` runs."""
    return any(
        isinstance(node, ast.If) and ast.unparse(node.test) == "__name__ == '__main__'"
        for node in tree(name).body
    )


def _begins_here(string: ast.JoinedStr) -> bool:
    first = string.values[0]
    return isinstance(first, ast.Constant) and str(first.value).startswith(tuple(f"{top}." for top in TOPS))


def _filled(string: ast.JoinedStr, name: str) -> list[str]:
    """The modules that an f-string names which begins with one of `TOPS`."""
    if not _begins_here(string):
        return []
    parts = [re.escape(v.value) if isinstance(v, ast.Constant) else "(.+)" for v in string.values]
    pattern, words = re.compile("".join(parts)), _words(name)
    return [m for m in MODULES if (match := pattern.fullmatch(m)) and words.issuperset(match.groups())]


@functools.cache
def _words(name: str) -> frozenset[str]:
    """The strings of a module, and of the tables that it imports."""
    words = {text for _, text in _strings(tree(name))}
    for _, other in statements(name):
        module, table = module_of(other), other.rpartition(".")[2]
        for node in tree(module).body if module in MODULES else []:
            targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
            if any(isinstance(t, ast.Name) and t.id == table for t in targets):
                words.update(text for _, text in _strings(node))
    return frozenset(words)


def imported(name: str) -> list[tuple[int, str]]:
    """(line, module) of all modules of `TOPS` that a module imports."""
    own = [(n, module_of(o)) for n, o in statements(name) if any(within(o, top) for top in TOPS)]
    return own + list(named(name))


def circles(graph: dict[str, Iterable[str]]) -> list[list[str]]:
    """The strongly connected components of more than one node (Tarjan)."""
    numbers: dict[str, int] = {}
    lowest: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(node: str) -> None:
        numbers[node] = lowest[node] = len(numbers)
        stack.append(node)
        for other in graph.get(node, ()):
            if other not in numbers:
                visit(other)
            if other in stack:
                lowest[node] = min(lowest[node], lowest[other])
        if lowest[node] == numbers[node]:
            cut = stack.index(node)
            component = stack[cut:]
            del stack[cut:]
            if len(component) > 1:
                found.append(sorted(component))

    for node in graph:
        if node not in numbers:
            visit(node)
    return found
