"""The parts of an adapter's source that a script needs to ask the library exactly as the adapter does.

Kept are the functions of the ops that the program uses, also those that the kit looks up in the library, the
entry point's methods that make, read and differentiate tensors, and everything these refer to. Annotations
are dropped. Of the kit nothing is kept: its exceptions become Python's. An entry point that needs more of it
cannot be cut: one that runs programs itself, whose methods read the table of ops, or that calls a function of
the kit.
"""

from __future__ import annotations

import ast
import builtins
import functools
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from gradfuzz import adapters
from gradfuzz.adapters.kit import SPELLED
from gradfuzz.oracles.emit.plain_source import untyped
from gradfuzz.programs.language.functions import FUNCTIONS

_METHODS = ("array", "entries", "decide", "differentiate")
_OWN = ("structured", "answer")
"""Members of an entry point that only the kit can serve."""

_ABOUT = ("name", "ops", "functions", "dtypes", "modes", "orders", "loops", "features", "hints")
"""Members that describe an entry point in its hello."""


_BESIDE = {file.stem for file in adapters.path("kit.py").parent.glob("*.py")}
"""The modules that adapters import from beside them, as the kit."""


class CutError(ValueError):
    """The adapter is not written in a form that can be cut."""


@dataclass(frozen=True, slots=True)
class AdapterCut:
    """The parts of an adapter that a script needs."""

    imports: str
    source: str
    way: str
    """The name of the class."""
    spelling: Mapping[str, str]
    """Op -> its function: "tf.sin", or the name of a function in `source`."""


def cut(
    script: Path, way: str, ops: Iterable[str], taken: Collection[str] = (), *, bare: bool = False
) -> AdapterCut:
    """The parts of the adapter `script` that entry point `way` needs for these ops; raises `CutError`.

    Definitions whose name is `taken` are renamed. `bare`: the ops alone, without the class of the way.
    """
    return _Adapter.of(script).cut(way, sorted(set(ops)), frozenset(taken), bare=bare)


class _Adapter:
    def __init__(self, tree: ast.Module) -> None:
        self.tree = tree
        self.defined: dict[str, ast.stmt] = {}
        self.strings: dict[str, str] = {}
        for node in tree.body:
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                self.defined[node.name] = node
            elif isinstance(node, ast.Assign):
                self.defined |= dict.fromkeys(_targets(node), node)
                if isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
                    self.strings |= dict.fromkeys(_targets(node), node.value.value)
            elif isinstance(node, ast.AugAssign) and (name := ast.unparse(node.target)) in self.strings:
                self.strings[name] += ast.literal_eval(node.value)

    @classmethod
    @functools.lru_cache(maxsize=32)
    def of(cls, script: Path) -> _Adapter:
        return cls(untyped(ast.parse(script.read_text(encoding="utf-8"))))

    def cut(self, way: str, ops: list[str], taken: frozenset[str], *, bare: bool) -> AdapterCut:
        chain = self._chain(way)
        table = self._attribute(chain, "ops")
        if table is None:
            raise CutError(f"the way {way} has no table of ops")
        spelling: dict[str, str] = {}
        made: list[ast.stmt] = []
        called: list[ast.stmt] = []
        for op in ops:
            value = self._entry(table, op) or self._looked_up(chain, op)
            if value is None:
                raise CutError(f"there is no op {op}")
            if isinstance(value, (ast.Name, ast.Attribute)):
                spelling[op] = ast.unparse(value)
                called.append(ast.Expr(value))
            else:
                spelling[op] = f"op_{op}"
                made.append(_function(spelling[op], value))
        classes = {} if bare else self._trimmed(chain)
        wanted = self._reached([*made, *called, *classes.values()], classes)
        source: list[ast.stmt] = []
        for node in self.tree.body:
            names = [_name(node)] if not isinstance(node, ast.Assign) else _targets(node)
            source += [classes.get(names[0] or "", node)] if {*wanted, *classes}.intersection(names) else []
        cleaned = _Cleaned({name: f"{name}_" for name in self.defined if name in taken})
        parts = [cleaned.of(node) for node in [*source, *made]]
        used = _names([*parts, *called])
        kept = [line for node in self.tree.body if (line := _kept(node, used))]
        text = "\n\n\n".join(map(ast.unparse, parts)) + "\n"
        spelled = {op: cleaned.name(name) for op, name in spelling.items()}
        lacking = _undefined(ast.parse("\n".join([*kept, text, *spelled.values()])))
        if lacking or used & _BESIDE:
            raise CutError(f"it uses {', '.join(sorted(lacking | used & _BESIDE))}")
        return AdapterCut(
            "".join(f"{line}\n" for line in kept if line != "import numpy as np"),
            text,
            cleaned.name(chain[0].name),
            spelled,
        )

    # The way

    def _chain(self, way: str) -> list[ast.ClassDef]:
        """The class of an entry point and its base classes."""
        for node in self.tree.body:
            if isinstance(node, ast.ClassDef):
                chain = self._bases(node)
                name = self._attribute(chain, "name")
                if isinstance(name, ast.Constant) and name.value == way:
                    if any(_has(c, own) for c in chain for own in _OWN):
                        raise CutError(f"the way {way} needs the kit")
                    return chain
        raise CutError(f"there is no class of the way {way!r}")

    def _bases(self, node: ast.ClassDef) -> list[ast.ClassDef]:
        chain = [node]
        for base in node.bases:
            found = self.defined.get(base.id) if isinstance(base, ast.Name) else None
            if isinstance(found, ast.ClassDef):
                chain += self._bases(found)
        return chain

    @staticmethod
    def _attribute(chain: Iterable[ast.ClassDef], name: str) -> ast.expr | None:
        for node in chain:
            for statement in node.body:
                if isinstance(statement, ast.Assign) and ast.unparse(statement.targets[0]) == name:
                    return statement.value
        return None

    def _trimmed(self, chain: list[ast.ClassDef]) -> dict[str, ast.ClassDef]:
        """The classes with the methods and attributes that differentiating needs."""
        wanted = set(_METHODS)
        while True:
            kept = [s for c in chain for s in c.body if _name(s) in wanted]
            nodes = [n for s in kept for n in ast.walk(s) if isinstance(n, ast.Attribute)]
            found = {n.attr for n in nodes if ast.unparse(n.value) == "self"}
            if found & {"ops", "answer"}:
                raise CutError("its methods read the table of ops")
            if found <= wanted:
                break
            wanted |= found
        trimmed = {}
        for node in chain:
            body = [s for s in node.body if _name(s) in wanted and _name(s) not in _ABOUT]
            bases = [b for b in node.bases if isinstance(b, ast.Name) and b.id in self.defined]
            body = [*node.body[:1], *body] if _documented(node) else body or [ast.Pass()]
            trimmed[node.name] = ast.ClassDef(node.name, [*bases], [], body, [])
        return trimmed

    # The table

    def _looked_up(self, chain: list[ast.ClassDef], op: str) -> ast.expr | None:
        """An elementwise function in the namespaces of a way: its path, or where there are several places the
        first that the library has.
        """
        namespaces = self._attribute(chain, "functions")
        if op not in FUNCTIONS or not isinstance(namespaces, ast.Tuple) or not namespaces.elts:
            return None
        places = [(n, name) for name in (op, *SPELLED.get(op, ())) for n in namespaces.elts]
        (*others, (namespace, name)) = places
        path = ast.Attribute(namespace, name, ast.Load())
        if not others:
            return path
        get = ast.Name("getattr", ast.Load())
        tried = [ast.Call(get, [n, ast.Constant(other), ast.Constant(None)], []) for n, other in others]
        return ast.BoolOp(ast.Or(), [*tried, path])

    def _entry(self, table: ast.expr, op: str) -> ast.expr | None:
        """The function of an op, as the table has it."""
        match table:
            case ast.Name(id=name):
                node = self.defined.get(name)
                return self._entry(node.value, op) if isinstance(node, ast.Assign) else None
            case ast.Dict(keys, values):
                names = [None if key is None else str(_constant(key)) for key in keys]
                return self._last([*zip(names, values, strict=True)], op)
            case ast.DictComp(ast.Name(id=key), value, [ast.comprehension(ast.Name(id=name), words)]):
                if name == key and op in self._words(words):
                    return _With({key: ast.Constant(op)}).of(value)
            case ast.DictComp(
                ast.Name(id=key),
                value,
                [
                    ast.comprehension(
                        ast.Tuple([ast.Name(id=name), ast.Name(id=other)]),
                        ast.Call(ast.Attribute(whole, "items"), []),
                    )
                ],
            ):  # another table; what an `if` leaves out of it is not asked
                found = self._entry(whole, op) if name == key else None
                return None if found is None else _With({key: ast.Constant(op), other: found}).of(value)
            case ast.Call(func=ast.Name(id="dict"), args=args, keywords=keywords):
                found = self._last([(keyword.arg, keyword.value) for keyword in keywords], op)
                return found or next((found for a in args if (found := self._entry(a, op)) is not None), None)
        return None

    def _last(self, items: list[tuple[str | None, ast.expr]], op: str) -> ast.expr | None:
        """The last entry of an op among the items of a table; the key None: another table."""
        for key, value in reversed(items):
            found = self._entry(value, op) if key is None else value if key == op else None
            if found is not None:
                return found
        return None

    def _words(self, iterable: ast.expr) -> list[str]:
        """The words of NAME.split(), or the strings of a tuple or list."""
        match iterable:
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="split"), args=[]):
                return self.strings.get(name, "").split()
            case ast.Tuple(elts) | ast.List(elts):
                return [str(_constant(e)) for e in elts]
        return []

    def _reached(self, nodes: list[ast.stmt], own: Collection[str]) -> set[str]:
        """The definitions that `nodes` refer to, directly and indirectly, by name."""
        reached: set[str] = set()
        waiting = list(nodes)
        while waiting:
            for name in _names([waiting.pop()]):
                if name in self.defined and name not in reached and name not in own:
                    reached.add(name)
                    waiting.append(self.defined[name])
        return reached


class _With(ast.NodeTransformer):
    """Puts expressions in the place of names, and `module.word` in that of `getattr(module, "word")`."""

    def __init__(self, values: Mapping[str, ast.expr]) -> None:
        self._values = values

    def of(self, node: ast.expr) -> ast.expr:
        """A copy of an expression."""
        (copied,) = ast.parse(ast.unparse(node)).body
        assert isinstance(copied, ast.Expr)
        return self.visit(copied.value)

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return self._values.get(node.id, node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        match node:
            case ast.Call(ast.Name(id="getattr"), [module, ast.Constant(value=str(name))]):
                return ast.Attribute(module, name, ast.Load())
        return node


def _targets(node: ast.Assign) -> list[str]:
    """The names that an assignment defines."""
    (target, *_) = node.targets
    parts = target.elts if isinstance(target, ast.Tuple) else [target]
    return [part.id for part in parts if isinstance(part, ast.Name)]


def _undefined(tree: ast.Module) -> set[str]:
    """The names that a source reads and never defines."""
    defined, read = set(dir(builtins)), set[str]()
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name, ctx=ast.Load()):
                read.add(name)
            case ast.Name(id=name) | ast.arg(arg=name) | ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                defined.add(name)
            case ast.alias(name=name, asname=other):
                defined.add((other or name).partition(".")[0])
            case ast.ExceptHandler(name=str(name)):
                defined.add(name)
    return read - defined


def _name(node: ast.stmt) -> str | None:
    """The name that a definition or an assignment defines."""
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        return node.name
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
        return node.targets[0].id
    return None


def _has(node: ast.ClassDef, name: str) -> bool:
    return any(_name(s) == name for s in node.body)


def _documented(node: ast.ClassDef) -> bool:
    return isinstance(node.body[0], ast.Expr)


def _constant(node: ast.expr) -> object:
    return node.value if isinstance(node, ast.Constant) else None


def _names(nodes: Iterable[ast.AST]) -> set[str]:
    return {n.id for node in nodes for n in ast.walk(node) if isinstance(n, ast.Name)}


def _function(name: str, value: ast.expr) -> ast.stmt:
    """The entry of an op as a definition."""
    if isinstance(value, ast.Lambda):
        return ast.fix_missing_locations(ast.FunctionDef(name, value.args, [ast.Return(value.body)], []))
    return ast.fix_missing_locations(ast.Assign([ast.Name(name, ast.Store())], value))


def _kept(node: ast.stmt, used: Collection[str]) -> str | None:
    """An import that is used, or a call that makes settings; None for every other statement."""
    if isinstance(node, ast.Expr):
        return ast.unparse(node) if isinstance(node.value, ast.Call) else None
    if not isinstance(node, (ast.Import, ast.ImportFrom)) or getattr(node, "module", "") == "__future__":
        return None
    bound = {(a.asname or a.name).partition(".")[0] for a in node.names}
    system = isinstance(node, ast.Import) and bound & {"os", "sys"}
    return ast.unparse(node) if system or bound & set(used) else None


class _Cleaned(ast.NodeTransformer):
    """Replaces the kit's exceptions by Python's, and renames definitions."""

    def __init__(self, names: Mapping[str, str]) -> None:
        self._names = names

    def name(self, name: str) -> str:
        return self._names.get(name, name)

    def of(self, node: ast.stmt) -> ast.stmt:
        """A copy of a definition."""
        (copied,) = ast.parse(ast.unparse(node)).body
        if isinstance(copied, (ast.FunctionDef, ast.ClassDef)):
            copied.name = self.name(copied.name)
        self.visit(copied)
        return ast.fix_missing_locations(copied)

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.value, ast.Name) and node.value.id == "kit" and node.attr in _EXCEPTIONS:
            return ast.Name(_EXCEPTIONS[node.attr], ast.Load())
        return node

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return ast.Name(self.name(node.id), node.ctx)


_EXCEPTIONS = {"Unsupported": "NotImplementedError", "NonFinite": "ArithmeticError"}
