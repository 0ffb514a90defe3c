"""Where the package excuses an answer: found in its source and its tables, and named in the field's terms.

A site is a line such as "fuzzer/verdict/judge.py joined: Reason.REFERENCES": the module, the function in it
and what stands there. The same may stand in one function several times.

    Reason.X, Doubt.X, Verdict.X    what ends as anything but a finding, wherever the package makes it; where
                                    it is only compared with, it is no site
    Answer 'unsupported'            what an oracle says that it cannot be asked, or that nothing is known
    doubted()                       a verdict taken back by the helper of `rounding`
    inf                             an allowance without end, in what judges
    except Exception                an exception that is taken for an answer of another kind, in what judges
    a constant                      a number at the head of a module that judges
    a row                           of a table: conventions, what a library lacks, refusals, the forms of a
                                    derivative whose loss is allowed
"""

from __future__ import annotations

import ast
import functools
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from gradfuzz.fuzzer.conventions.table import CONVENTIONS
from gradfuzz.fuzzer.tolerance.alternatives import written_otherwise
from gradfuzz.programs.language.functions import _ROWS
from gradfuzz.programs.language.ops import OPS
from gradfuzz.programs.language.program import Program
from gradfuzz.programs.language.syntax import Call, Return

PACKAGE = Path(__file__).parents[2] / "gradfuzz"

JUDGING = (
    *("fuzzer/tolerance", "fuzzer/conventions", "fuzzer/verdict", "fuzzer/measuring"),
    *("fuzzer/calling/judge", "fuzzer/calling/repeated"),
)
"""Where an allowance without end, an exception or a number excuses."""

_WORDS = ("Reason", "Doubt")
_VERDICTS = ("Verdict.AGREE", "Verdict.CONVENTION", "Verdict.INCONCLUSIVE", "Verdict.UNSUPPORTED")


def sites() -> Counter[str]:
    """Every site of the package, with how often it stands there."""
    return Counter(_sites())


@functools.cache
def _sites() -> Counter[str]:
    found = Counter(_of_tables())
    for path in sorted(PACKAGE.rglob("*.py")):
        name = path.relative_to(PACKAGE).as_posix()
        found.update(sites_in(name, path.read_text(encoding="utf-8")))
    return found


def sites_in(name: str, source: str) -> Iterator[str]:
    """Those in the source of one module."""
    judges = name.startswith(JUDGING)
    tree = ast.parse(source)
    for node in tree.body:
        if isinstance(node, ast.Assign | ast.AnnAssign) and judges:
            yield from (f"{name}: {constant}" for constant in _constants(node))
    if name.startswith("adapters/"):
        yield from (f"{name}: lacks {row}" for row in _lacks(tree))
    yield from (f"{name} {where}: {what}" for where, what in _walk(tree, "module", judges=judges))


def _walk(node: ast.AST, where: str, *, judges: bool) -> Iterator[tuple[str, str]]:
    if isinstance(node, ast.Compare):
        return
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        where = node.name if where == "module" else f"{where}.{node.name}"
    if where == "module" and isinstance(node, ast.Tuple):  # a list of what is compared with, or a table
        for row in ast.walk(node):
            if isinstance(row, ast.Call) and getattr(row.func, "id", "") == "Lack":
                yield where, ast.unparse(row)
        return
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        what = f"{node.value.id}.{node.attr}"
        if node.value.id in _WORDS or (what in _VERDICTS and where != "module"):
            yield where, what
        elif judges and what in ("math.inf", "np.inf"):
            yield where, "inf"
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        if node.func.id == "doubted":
            yield where, "doubted()"
        elif where == "wide_tolerances" and node.func.id == "_by_modes":
            yield where, ast.unparse(node)
        elif node.func.id == "Lack":
            yield where, ast.unparse(node)
        elif node.func.id == "Answer" and node.args:
            yield from (
                (where, f"Answer {n.value!r}")
                for n in ast.walk(node.args[0])
                if isinstance(n, ast.Constant) and n.value in ("unsupported", "inconclusive")
            )
    if isinstance(node, ast.Assign) and any(getattr(t, "id", "") == "refusals" for t in node.targets):
        for word in ast.walk(node.value):
            if isinstance(word, ast.Constant) and isinstance(word.value, str):
                yield where, f"refusal {word.value!r}"
    if judges and isinstance(node, ast.ExceptHandler) and ast.unparse(node.type or node) == "Exception":
        yield where, "except Exception"
    for child in ast.iter_child_nodes(node):
        yield from _walk(child, where, judges=judges)


def _lacks(tree: ast.Module) -> Iterator[str]:
    """The rows of what an adapter lists that its library says."""
    for node in ast.walk(tree):
        named = isinstance(node, ast.Assign) and [getattr(t, "id", "").lower() for t in node.targets]
        if named == ["lacks"] and isinstance(node, ast.Assign) and isinstance(node.value, ast.Tuple):
            yield from map(ast.unparse, node.value.elts)


def _constants(node: ast.Assign | ast.AnnAssign) -> Iterator[str]:
    """The names that a statement at the head of a module gives to numbers."""
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    parts = [n for n in ast.walk(node.value) if isinstance(n, ast.Constant)] if node.value else []
    if not parts or not all(isinstance(p.value, int | float) for p in parts):
        return
    for target in targets:
        for name in ast.walk(target):
            if isinstance(name, ast.Name) and name.id.isupper():
                yield name.id


def _of_tables() -> Iterator[str]:
    yield from (f"convention of programs: {row.name}" for row in CONVENTIONS if row.ops)
    yield from (f"convention of calls: {row.name}" for row in CONVENTIONS if row.functions)
    for row in _ROWS:
        if row.otherwise:
            yield f"function written otherwise: {row.name}"
        if row.conditioned:
            yield f"function conditioned: {row.name}"
    functions = {row.name for row in _ROWS}
    for op in OPS:
        if op not in functions and written_otherwise(Program("f", (), (Return((Call(op, ()),)),))):
            yield f"op written otherwise: {op}"
