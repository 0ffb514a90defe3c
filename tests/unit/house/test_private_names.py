"""The table of private names is the code's: every private access goes through it, and every row is used."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from gradfuzz.private_names import PRIVATE_NAMES

PACKAGE = Path(__file__).parents[3] / "gradfuzz"
TABLE = PACKAGE / "private_names.py"
MODULES = sorted(set(PACKAGE.rglob("*.py")) - {TABLE})

NOT_COVERED = (
    "torchgen",
    "tensorflow.core",
    "tensorflow.python",
    "jax.interpreters",
    "jax.lib",
    "paddle.base",
)
"""Modules without an underscore that their libraries do not call public."""

_HIDDEN = r"(?:jax|torch|tensorflow|paddle|mlx)(?:\.[a-zA-Z]\w*)*\._[a-zA-Z]\w*"
PRIVATE = re.compile(rf"\b(?:{_HIDDEN}|{'|'.join(map(re.escape, NOT_COVERED))})(?:\.\w+)*")
"""A private name in a text, as a script that gradfuzz writes."""

OTHERS = {
    ("adapters/autograd_catalogue.py", "_is_autograd_primitive"): "autograd; older releases have another",
    ("adapters/autograd_catalogue.py", "_is_primitive"): "autograd; newer releases have another",
    ("adapters/tinygrad_adapter.py", "_devices"): "tinygrad",
    (
        "adapters/warp_adapter.py",
        "warp._src.codegen",
    ): "Warp; older releases have it elsewhere, which is tried",
    (
        "fuzzer/calling/package.py",
        "_init_fn",
    ): "a custom op of Torch's, which decorates a function; read where it is",
    ("libraries/torch.py", "_backward_hooks"): "every tensor's, which nobody can take away; read where it is",
    ("fuzzer/findings/script_server.py", "_exit"): "Python's own, and documented",
    (
        "fuzzer/calling/public_calls.py",
        "_initializing",
    ): "importlib's, whether a module is being imported; read where it is",
    ("fuzzer/workers/local.py", "_inheriting"): "multiprocessing; read where it is",
    ("fuzzer/workers/local.py", "_processes"): "concurrent.futures; read where it is",
    ("fuzzer/workers/local.py", "_exit"): "os, documented",
    ("fuzzer/workers/local.py", "_replace"): "a named tuple, documented",
    ("oracles/references/mpmath_linalg.py", "_mpf_"): "mpmath",
    ("oracles/references/mpmath_linalg.py", "_mpc_"): "mpmath",
    ("reports/common/pieces.py", "_environ"): "rich",
    ("testing/leading.py", "_stateful_run_times"): "Hypothesis; read where it is",
    ("tracing/numpy/functions.py", "_implementation"): "NumPy; read where it is",
}
"""What is private to others than the five libraries, with whom it is."""

FIELDS = ("_fields", "_schema", "__nb_signature__")
"""Of a named tuple, documented; of every op of Torch, and of every function of MLX: rows ask one of them."""


def is_private(dotted: str) -> bool:
    hidden = any(part.startswith("_") and not part.startswith("__") for part in dotted.split("."))
    return hidden or any(dotted == name or dotted.startswith(f"{name}.") for name in NOT_COVERED)


def checked_only(tree: ast.AST) -> set[ast.AST]:
    """What stands under `if TYPE_CHECKING:`, which never runs."""
    return {
        inner
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        for inner in ast.walk(node)
    }


def imports(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        return [f"{node.module}.{alias.name}" for alias in node.names]
    return []


def own(tree: ast.AST) -> set[str]:
    """The names with an underscore that a module itself defines, as of its own classes."""
    found = {n.name for n in ast.walk(tree) if isinstance(n, (ast.FunctionDef, ast.ClassDef))}
    return found | {n.attr for n in ast.walk(tree) if isinstance(n, ast.Attribute) and on_self(n)}


def on_self(node: ast.Attribute) -> bool:
    return ast.unparse(node.value) in ("self", "cls", "super()", "kit")


def accesses(tree: ast.AST) -> Iterator[str]:
    """The private attributes that are read by a dot or by a text, and what is imported that is private."""
    defined, skipped = own(tree), checked_only(tree)
    for node in ast.walk(tree):
        if node in skipped:
            continue
        yield from filter(is_private, imports(node))
        if isinstance(node, ast.Attribute) and not on_self(node) and node.attr not in defined:
            yield from [node.attr] if is_private(node.attr) else []
        if isinstance(node, ast.Call) and ast.unparse(node.func) in (
            "getattr",
            "hasattr",
            "setattr",
            "delattr",
        ):
            name = node.args[1]
            if isinstance(name, ast.Constant) and isinstance(name.value, str) and is_private(name.value):
                yield name.value


def texts(tree: ast.AST) -> Iterator[str]:
    """The constants, without docstrings."""
    bare = {node.value for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in bare:
            yield node.value


def guarded(tree: ast.AST) -> set[str]:
    """What is imported under `try: ... except ImportError`, as the scripts in `adapters` do."""
    return {
        name
        for node in ast.walk(tree)
        if isinstance(node, ast.Try) and any("ImportError" in ast.unparse(h) for h in node.handlers)
        for line in node.body
        for name in imports(line)
    }


TREES = {p.relative_to(PACKAGE).as_posix(): ast.parse(p.read_text(encoding="utf-8")) for p in MODULES}


@pytest.mark.parametrize("module", TREES)
def test_what_is_private_is_asked_for(module: str) -> None:
    tree = TREES[module]
    allowed = {name for name in guarded(tree) if module.startswith("adapters/") and name in PRIVATE_NAMES}
    for name in accesses(tree):
        assert name in allowed or name in FIELDS or (module, name) in OTHERS, (
            f"gradfuzz/{module} reads {name}, which is private; ask for it by a row of"
            " gradfuzz/private_names.py, or use what is public"
        )
    for text in texts(tree):
        for match in PRIVATE.finditer(text):
            name = match[0].removesuffix(".py")
            assert any(row == name or row.startswith(f"{name}.") for row in PRIVATE_NAMES), (
                f"gradfuzz/{module} writes {name}, which is private; it has no row in"
                " gradfuzz/private_names.py"
            )


def test_every_row_is_used() -> None:
    used = {text for tree in TREES.values() for text in texts(tree)}
    used |= {
        name for module, tree in TREES.items() if module.startswith("adapters/") for name in guarded(tree)
    }
    unused = [row for row in PRIVATE_NAMES if not any(row in text for text in used)]
    assert unused == []


def test_every_exception_is_met() -> None:
    found = {(module, name) for module, tree in TREES.items() for name in accesses(tree)}
    assert set(OTHERS) - found == set()


@pytest.mark.parametrize(
    "line",
    [
        "from torch._decomp import decomposition_table",
        "import jax._src.core",
        "from torchgen.model import Argument",
        "x = torch._C",
        "y = x._version",
        "if hasattr(op, '_version'): pass",
        "from tensorflow.python.framework import ops",
    ],
)
def test_a_private_access_is_seen(line: str) -> None:
    assert list(accesses(ast.parse(line)))


@pytest.mark.parametrize("line", ["from torch.func import vjp", "self._x = 1", "x.__name__", "jax.lax.scan"])
def test_a_public_access_is_none(line: str) -> None:
    assert list(accesses(ast.parse(line))) == []
