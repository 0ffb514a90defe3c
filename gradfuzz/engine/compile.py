"""Graphs as straight Python source: compiled once, run many times.

Two dialects. A graph whose values are all scalars is, in float64, written with Python floats and `math`: about thirty nanoseconds an
operation. Where Python raises and IEEE 754 goes on (1/0, log(0), an overflow in exp), the call is made again in the other dialect,
NumPy, which all other graphs use from the start. Values used once are written where they are used.

A loop with a checkpoint becomes functions of its trips, which `programs.replay` runs, and runs again where the stacks are read.
"""

from __future__ import annotations

import builtins
import functools
import keyword
import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal

import numpy as np

from gradfuzz.engine.prune import prune
from gradfuzz.errors import DomainError, TripLimitError
from gradfuzz.programs.graph import Atom, Branch, Constant, Equation, Graph, Loop, Var
from gradfuzz.programs.numpy_namespace import NumpyNamespace
from gradfuzz.programs.ops import OPS
from gradfuzz.programs.replay import Trips, columns, replay
from gradfuzz.programs.syntax import ArrayConst
from gradfuzz.programs.types import Type

__all__ = ["Compiled", "compile", "to_source"]

Precision = Literal["float32", "float64"]
_WIDEST = 120
"""Longer expressions get a name of their own: Python's parser has a limit, and so have readers."""

_INFIX = {
    "add": "+",
    "subtract": "-",
    "multiply": "*",
    "divide": "/",
    "remainder": "%",
    "less": "<",
    "less_equal": "<=",
    "greater": ">",
    "greater_equal": ">=",
    "equal": "==",
    "not_equal": "!=",
    "matmul": "@",
}
_CALLS = frozenset(
    {"sin", "cos", "tan", "tanh", "exp", "log", "sqrt", "log1p", "expm1", "abs", "sign", "maximum", "minimum", "clip", "pow"}
)
_IDENTITY_ON_SCALARS = frozenset(
    {"sum", "mean", "prod", "amax", "amin", "logsumexp", "all", "any", "reshape", "broadcast_to", "permute_dims", "index"}
    | {"flip", "cumulative_sum"}
)


def compile(graph: Graph, *, precision: Precision = "float64", trip_limit: int | None = None) -> Compiled:
    """`graph` as a Python function of its inputs that returns the tuple of its outputs.

    Floats are computed in `precision`, with IEEE results and no warnings. A loop of more than `trip_limit` trips raises
    `TripLimitError` (None: no limit); an index outside its array raises `DomainError`.
    """
    return Compiled(graph, precision, trip_limit)


def to_source(graph: Graph) -> str:
    """`graph` as Python statements, for people to read."""
    return _Writer(graph, scalar=True, trip_limit=None).source


class Compiled:
    """A compiled graph. `source` is what runs."""

    def __init__(self, graph: Graph, precision: Precision, trip_limit: int | None) -> None:
        self._graph, self._precision, self._trip_limit = graph, precision, trip_limit
        self._types = [v.type for v in graph.inputs]
        self._numpy: Callable[..., tuple[Any, ...]] | None = None
        self._fast: Callable[..., tuple[Any, ...]] | None = None
        self._casts = [{"float": float, "int": int, "bool": bool}[t.dtype] for t in self._types]
        self._dtype: Any = np.dtype(precision).type
        if precision == "float64" and _all_scalar(graph):
            writer = _Writer(graph, scalar=True, trip_limit=trip_limit)
            self.source = writer.source
            self._fast = _load(writer, _MATH)
        else:
            self.source = self._careful().__doc__ or ""

    def __call__(self, *inputs: Any) -> tuple[Any, ...]:
        if len(inputs) != len(self._types):
            raise TypeError(f"{self._graph.name} takes {len(self._types)} inputs, got {len(inputs)}")
        if self._fast is not None:
            try:
                return self._fast(*[cast(x) for cast, x in zip(self._casts, inputs, strict=True)])
            except (ArithmeticError, ValueError):
                pass  # IEEE 754 has a result where Python has an exception
        function = self._careful()
        with np.errstate(all="ignore"):
            ready = [self._convert(x, t) for x, t in zip(inputs, self._types, strict=True)]
            try:
                return function(*ready)
            except IndexError as error:
                raise DomainError(f"{error}; an index must stay inside its array") from None

    def _convert(self, x: Any, type: Type) -> Any:
        if type.dtype == "float":
            array = np.asarray(x, self._dtype)
            if array.shape != type.shape:
                raise TypeError(f"an input of shape {array.shape} where {self._graph.name} takes {type}")
            return array[()]
        if type.shape:
            return np.asarray(x, np.int64 if type.dtype == "int" else np.bool_)
        return int(x) if type.dtype == "int" else bool(x)

    def _careful(self) -> Callable[..., tuple[Any, ...]]:
        if self._numpy is None:
            writer = _Writer(self._graph, scalar=False, trip_limit=self._trip_limit)
            self._numpy = _load(writer, _numpy_names(self._precision))
        return self._numpy


def _load(writer: _Writer, names: dict[str, Any]) -> Callable[..., tuple[Any, ...]]:
    scope = {**names, **_RUNTIME}
    namespace = names.get("ns")
    for name, value in writer.constants.items():
        assert isinstance(namespace, NumpyNamespace), "only the NumPy dialect names its constants"
        scope[name] = namespace.array(value) if isinstance(value, ArrayConst) else namespace.constant(value)
    exec(builtins.compile(writer.source, f"<gradfuzz {writer.graph.name}>", "exec"), scope)  # noqa: S102 - text of our own making, from a typed graph
    function: Callable[..., tuple[Any, ...]] = scope["run"]
    function.__doc__ = writer.source
    return function


_RUNTIME: dict[str, Any] = {
    "TripLimitError": TripLimitError,
    "Trips": Trips,
    "columns": columns,
    "partial": functools.partial,
    "replay": replay,
}


def _sign(x: float) -> float:
    return x if x != x else float((x > 0) - (x < 0))


def _maximum(a: float, b: float) -> float:
    return a if a > b or a != a else b


def _minimum(a: float, b: float) -> float:
    return a if a < b or a != a else b


_MATH: dict[str, Any] = {
    **{n: getattr(math, n) for n in ("sin", "cos", "tan", "tanh", "exp", "log", "sqrt", "log1p", "expm1", "pow")},
    "abs": abs,
    "sign": _sign,
    "maximum": _maximum,
    "minimum": _minimum,
    "clip": lambda x, lower, upper: _minimum(_maximum(x, lower), upper),
    "inf": math.inf,
    "nan": math.nan,
}


def _numpy_names(precision: Precision) -> dict[str, Any]:
    namespace = NumpyNamespace(precision)
    return {**{n: getattr(namespace, n) for n in _CALLS}, "ns": namespace, "real": namespace.dtype}


def _all_scalar(graph: Graph) -> bool:
    """Whether no array occurs: stacks of scalars do not count."""

    def plain(atom: Atom) -> bool:
        return all(n is None for n in atom.type.shape)

    def values(g: Graph) -> bool:
        return all(map(plain, (*g.inputs, *g.outputs)))

    inner: list[Graph] = [graph]
    for node in graph.walk():
        if not all(map(plain, (*node.inputs, *node.outputs))):
            return False
        if isinstance(node, Loop):
            inner.append(node.body)
        elif isinstance(node, Branch):
            inner += [node.then, node.otherwise]
    return all(map(values, inner))


class _Writer:
    """Writes one graph in one dialect."""

    def __init__(self, graph: Graph, *, scalar: bool, trip_limit: int | None) -> None:
        self.graph, self.scalar, self.trip_limit = graph, scalar, trip_limit
        self.constants: dict[str, Any] = {}
        self._constant_names: dict[Constant, str] = {}
        self._taken = {
            *_CALLS,
            *keyword.kwlist,
            "ns",
            "real",
            "run",
            "inf",
            "nan",
            "range",
            "zip",
            "reversed",
            "len",
            *_RUNTIME,
        }
        self._text: dict[Var, str] = {}
        self._lines: list[str] = []
        self._functions: list[str] = []
        self._replays = any(isinstance(n, Loop) and _is_replayed(n) for n in graph.walk())
        names = [self._bind(v) for v in graph.inputs]
        self._write(f"def run({', '.join(names)}):", 0)
        self._block(graph, 1)
        outputs = [self._entry(a) for a in graph.outputs]
        self._write(f"return ({''.join(_bare(o) + ', ' for o in outputs)})", 1)
        self.source = "\n".join([*self._functions, *self._lines]) + "\n"

    # Names and operands ------------------------------------------------------------------------------------------------

    def _fresh(self, hint: str) -> str:
        base = "".join(c for c in hint if c.isalnum() or c == "_") or "t"
        name, k = base, 0
        while name in self._taken:
            k += 1
            name = f"{base}_{k}"
        self._taken.add(name)
        return name

    def _bind(self, var: Var) -> str:
        self._text[var] = self._fresh(var.name)
        return self._text[var]

    def _atom(self, atom: Atom) -> str:
        if isinstance(atom, Var):
            return self._text[atom]
        value = atom.value
        if isinstance(value, ArrayConst) or (value.dtype == "float" and not self.scalar):
            if atom not in self._constant_names:
                self._constant_names[atom] = name = self._fresh("c")
                self.constants[name] = value if isinstance(value, ArrayConst) else value.value
            return self._constant_names[atom]
        text = repr(value.value)
        return f"({text})" if text.startswith("-") else text

    def _entry(self, atom: Atom) -> str:
        """An atom that outlives the trip or the call: a stack as a list of its own."""
        return f"[*{self._atom(atom)}]" if self._replays and atom.type.is_stack else self._atom(atom)

    def _write(self, text: str, depth: int) -> None:
        self._lines.append("    " * depth + text)

    # Blocks ------------------------------------------------------------------------------------------------------------

    def _block(self, graph: Graph, depth: int) -> None:
        """The nodes of `graph`; afterwards every output has a text."""
        uses: dict[Var, int] = {}
        for node in graph.nodes:
            for atom in node.inputs:
                if isinstance(atom, Var):
                    uses[atom] = uses.get(atom, 0) + (1 if isinstance(node, Equation) else 2)
        for atom in graph.outputs:
            if isinstance(atom, Var):
                uses[atom] = uses.get(atom, 0) + 1
        computed: dict[tuple[Any, ...], str] = {}
        for node in graph.nodes:
            if isinstance(node, Equation):
                text = self._one_of_several(node, computed, depth) if OPS[node.op].parts else self._expression(node)
                if text.isidentifier() or (uses.get(node.output, 0) == 1 and len(text) <= _WIDEST):
                    self._text[node.output] = text
                else:
                    name = self._bind(node.output)
                    self._write(f"{name} = {_bare(text)}", depth)
            elif isinstance(node, Loop):
                self._loop(node, depth)
            else:
                self._branch(node, depth)

    def _one_of_several(self, node: Equation, computed: dict[tuple[Any, ...], str], depth: int) -> str:
        """A result of an op that has several: all are computed where the first is wanted."""
        params = {name: value for name, value in node.params if name != "part"}
        key = (node.op, node.inputs, tuple(params.items()))
        if key not in computed:
            computed[key] = self._fresh(node.op)
            listed = [*(_bare(self._atom(a)) for a in node.inputs), *(f"{k}={v!r}" for k, v in params.items())]
            self._write(f"{computed[key]} = ns.{node.op}({', '.join(listed)})", depth)
        return f"{computed[key]}[{dict(node.params)['part']}]"

    def _expression(self, node: Equation) -> str:
        args = [self._atom(a) for a in node.inputs]
        types = [a.type for a in node.inputs]
        params = dict(node.params)
        scalar = not any(t.shape for t in (*types, node.output.type))
        if node.op in _INFIX:
            return f"({args[0]} {_INFIX[node.op]} {args[1]})"
        if node.op == "negative":
            return f"(-{args[0]})"
        if node.op == "integer_pow":
            n = params["n"]
            if n == 2 and args[0].isidentifier():
                return f"({args[0]} * {args[0]})"
            return f"({args[0]} ** {n})" if self.scalar else f"ns.integer_pow({_bare(args[0])}, n={n})"
        if node.op == "where" and scalar:
            return f"({args[1]} if {args[0]} else {args[2]})"
        if node.op in ("logical_and", "logical_or") and scalar:
            return f"({args[0]} {node.op[8:]} {args[1]})"
        if node.op == "logical_not" and scalar:
            return f"(not {args[0]})"
        if node.op == "astype" and scalar:
            if params["dtype"] == types[0].dtype:
                return args[0]
            cast = {"float": "float" if self.scalar else "real", "int": "int", "bool": "bool"}[str(params["dtype"])]
            return f"{cast}({_bare(args[0])})"
        if node.op in _CALLS and (node.output.type.is_float or node.op in ("abs", "maximum", "minimum")):
            return f"{node.op}({', '.join(map(_bare, args))})"
        if scalar and node.op in _IDENTITY_ON_SCALARS:
            return args[0]
        if node.op == "index":
            return f"{args[0]}[{_subscript(params['pattern'], args[1:])}]"
        listed = [*map(_bare, args), *(f"{k}={v!r}" for k, v in params.items())]
        return f"ns.{node.op}({', '.join(listed)})"

    def _branch(self, node: Branch, depth: int) -> None:
        names = [self._bind(v) for v in node.outputs]
        for head, graph in ((f"if {_bare(self._atom(node.predicate))}:", node.then), ("else:", node.otherwise)):
            self._write(head, depth)
            for var, operand in zip(graph.inputs, node.operands, strict=True):
                self._text[var] = self._atom(operand)
            self._block(graph, depth + 1)
            self._assign(names, [self._atom(a) for a in graph.outputs], depth + 1)

    def _assign(self, names: Sequence[str], texts: Sequence[str], depth: int) -> None:
        """All at once; `x = x` is left out."""
        pairs = [(n, _bare(t)) for n, t in zip(names, texts, strict=True) if n != t]
        if pairs:
            self._write(f"{', '.join(n for n, _ in pairs)} = {', '.join(t for _, t in pairs)}", depth)
        else:
            self._write("pass", depth)

    # Loops -------------------------------------------------------------------------------------------------------------

    def _loop(self, node: Loop, depth: int) -> None:
        if _is_replayed(node):
            self._replayed(node, depth)
            return
        nc, ni, ns = len(node.constants), len(node.initial), len(node.stacks)
        body = node.body
        for var, operand in zip(body.inputs[:nc], node.constants, strict=True):
            self._text[var] = self._atom(operand)
        carries = [self._bind(v) for v in body.inputs[nc : nc + ni]]
        stacks = [self._bind(v) for v in node.written]
        if carries:
            self._assign(carries, [self._atom(a) for a in node.initial], depth)
        pushes = self._pushes(stacks, depth)
        for var, name in zip(node.carries, carries, strict=True):
            self._text[var] = name
        self._head(node, body.inputs[nc + ni : nc + ni + ns], depth)
        self._trip(body, carries, pushes, depth + 1)
        if node.form == "repeat":
            self._leave_unless(node, depth + 1)
        if node.reverse:
            for stack in stacks:
                self._write(f"{stack}.reverse()", depth)

    def _pushes(self, stacks: Sequence[str], depth: int) -> list[str]:
        """Makes empty stacks. Returns the names of what appends to them."""
        pushes = []
        for stack in stacks:
            pushes.append(self._fresh(f"push_{stack}"))
            self._write(f"{stack} = []", depth)
            self._write(f"{pushes[-1]} = {stack}.append", depth)
        return pushes

    def _trip(self, body: Graph, carries: Sequence[str], pushes: Sequence[str], depth: int) -> None:
        """One trip: the body, what it writes, what it carries on."""
        self._block(body, depth)
        for push, atom in zip(pushes, body.outputs[len(carries) :], strict=True):
            self._write(f"{push}({_bare(self._entry(atom))})", depth)
        self._assign(carries, [self._atom(a) for a in body.outputs[: len(carries)]], depth)

    def _head(self, node: Loop, entries: Sequence[Var], depth: int) -> None:
        if node.form != "for":
            self._guarded_head(node, depth)
            return
        index = node.body.inputs[-1]
        if self._replays and node.stacks:
            self._reading_head(node, entries, depth)
            return
        counted = any(a is index for inner in node.body.nodes for a in inner.inputs) or index in node.body.outputs
        sources = [f"reversed({self._atom(s)})" if node.reverse else self._atom(s) for s in node.stacks]
        targets = [self._bind(v) for v in entries]
        if counted or not sources:
            limit = self._atom(node.count) if node.count is not None else f"len({self._atom(node.stacks[0])})"
            if self.trip_limit is not None and node.count is not None:
                self._write(f"if {limit} > {self.trip_limit}:", depth)
                self._write(f"    {self._too_long()}", depth)
            span = f"range({_bare(limit)})"
            sources.append(f"reversed({span})" if node.reverse else span)
            targets.append(self._bind(index) if counted else self._fresh("_"))
        source = f"zip({', '.join(sources)})" if len(sources) > 1 else sources[0]
        self._write(f"for {', '.join(targets)} in {source}:", depth)

    def _reading_head(self, node: Loop, entries: Sequence[Var], depth: int) -> None:
        """Over stacks of which some may be computed as they are read: those that are not used are not read."""
        used = {a for inner in node.body.nodes for a in inner.inputs} | {*node.body.outputs}
        read = [(self._bind(v), self._atom(s)) for v, s in zip(entries, node.stacks, strict=True) if v in used]
        targets = [*(name for name, _ in read), self._bind(node.body.inputs[-1])]
        span = f"range(len({self._atom(node.stacks[0])})){'[::-1]' if node.reverse else ''}"
        source = f"zip(*columns({_tuple(s for _, s in read)}, {span}), {span})" if read else span
        self._write(f"for {', '.join(targets)} in {source}:", depth)

    def _guarded_head(self, node: Loop, depth: int) -> None:
        limited = self.trip_limit is not None
        trips = self._fresh("trips") if limited else ""
        if limited:
            self._write(f"{trips} = 0", depth)
        simple = None if node.form == "repeat" else self._simple_condition(node)
        self._write(f"while {simple or 'True'}:", depth)
        if node.form == "while" and simple is None:
            self._leave_unless(node, depth + 1)
        if limited:
            self._write(f"{trips} += 1", depth + 1)
            self._write(f"if {trips} > {self.trip_limit}:", depth + 1)
            self._write(f"    {self._too_long()}", depth + 1)

    # Loops with a checkpoint -------------------------------------------------------------------------------------------

    def _replayed(self, node: Loop, depth: int) -> None:
        """Functions of the loop's trips, and the call that runs them."""
        rest = prune(Graph(node.body.inputs, node.body.nodes, node.body.outputs[: len(node.initial)], node.body.name))
        functions = [self._stretch("advance", node, rest, []), self._stretch("record", node, node.body, node.written)]
        if node.form != "for":
            functions.append(self._explore(node, rest))
        shared = "".join(f", {_bare(self._atom(a))}" for a in node.constants)
        trips = ", ".join(f"partial({f}{shared})" if shared else f for f in functions)
        initial = _tuple(_bare(self._atom(a)) for a in node.initial)
        options = [f"written={len(node.written)}"]
        if node.stacks:
            options.append(f"stacks={_tuple(map(self._atom, node.stacks))}")
        if node.count is not None:
            options.append(f"count={_bare(self._atom(node.count))}")
        if node.reverse:
            options.append("reverse=True")
        if self.trip_limit is not None:
            options.append(f"trip_limit={self.trip_limit}")
        results = f"{_tuple(map(self._bind, node.carries))}, {_tuple(map(self._bind, node.written))}"
        self._write(
            f"{results} = replay({node.form!r}, {node.checkpoint!r}, Trips({trips}), {initial}, {', '.join(options)})", depth
        )

    def _function(self, hint: str, node: Loop, first: str, write: Callable[[list[str], str], None]) -> str:
        """A function of the constants, of `first` and of the carries, whose lines `write` writes. Returns its name."""
        nc, ni = len(node.constants), len(node.initial)
        outer, self._lines = self._lines, []
        name, parameter = self._fresh(hint), self._fresh(first)
        constants = [self._bind(v) for v in node.body.inputs[:nc]]
        carries = [self._bind(v) for v in node.body.inputs[nc : nc + ni]]
        self._write(f"def {name}({', '.join([*constants, parameter, *carries])}):", 0)
        write(carries, parameter)
        self._functions += [*self._lines, ""]
        self._lines = outer
        return name

    def _stretch(self, hint: str, node: Loop, body: Graph, written: Sequence[Var]) -> str:
        """Given trips, in order; returns the carries, or the entries of `written` where there are some."""

        def write(carries: list[str], trips: str) -> None:
            stacks = [self._fresh(v.name) for v in written]
            pushes = self._pushes(stacks, 1)
            entries = node.body.inputs[len(node.constants) + len(carries) :]
            targets = [*map(self._bind, [*entries[-1:], *entries[:-1]])] or [self._fresh("_")]
            self._write(f"for {', '.join(targets)} in {trips}:", 1)
            self._trip(body, carries, pushes, 2)
            self._write(f"return {_tuple(stacks if written else carries)}", 1)

        return self._function(hint, node, "trips", write)

    def _explore(self, node: Loop, body: Graph) -> str:
        """At most so many trips as long as the condition holds; returns how many, and the carries."""

        def write(carries: list[str], most: str) -> None:
            trips = self._fresh("trips")
            self._write(f"{trips} = 0", 1)
            simple = self._simple_condition(node)
            self._write(f"while {trips} < {most}{f' and ({simple})' if simple else ''}:", 1)
            if simple is None:
                self._leave_unless(node, 2)
            self._write(f"{trips} += 1", 2)
            self._trip(body, carries, [], 2)
            self._write(f"return {trips}, {_tuple(carries)}", 1)

        return self._function("explore", node, "most", write)

    def _too_long(self) -> str:
        return f'raise TripLimitError("a loop took more than {self.trip_limit} trips; raise the trip limit if that is meant")'

    def _see(self, node: Loop) -> Graph:
        """The loop's condition, with its inputs bound to what the loop carries."""
        assert node.condition is not None, "while and repeat have a condition"
        for var, other in zip(node.condition.inputs, node.body.inputs, strict=False):
            self._text[var] = self._text[other]
        return node.condition

    def _simple_condition(self, node: Loop) -> str | None:
        """The condition as one expression, or None."""
        condition = self._see(node)
        before = len(self._lines)
        self._block(condition, 0)
        if len(self._lines) == before:
            return _bare(self._atom(condition.outputs[0]))
        del self._lines[before:]
        return None

    def _leave_unless(self, node: Loop, depth: int) -> None:
        condition = self._see(node)
        self._block(condition, depth)
        self._write(f"if not {self._atom(condition.outputs[0])}:", depth)
        self._write("break", depth + 1)


def _is_replayed(node: Loop) -> bool:
    return node.checkpoint != "none" and len(node.outputs) > len(node.initial)


def _tuple(texts: Iterable[str]) -> str:
    return f"({''.join(f'{t}, ' for t in texts)})"


def _subscript(pattern: Any, indices: Sequence[str]) -> str:
    rest = iter(indices)
    parts = [_bare(next(rest)) if entry == "at" else f"{entry[1]}:{entry[2]}" for entry in pattern]
    return ", ".join(parts) or "()"


def _bare(text: str) -> str:
    """`text` without the parentheses around all of it."""
    if not (text.startswith("(") and text.endswith(")")):
        return text
    depth = 0
    for k, c in enumerate(text):
        depth += (c == "(") - (c == ")")
        if depth == 0 and k < len(text) - 1:
            return text
    return text[1:-1]
