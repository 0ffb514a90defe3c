"""Graphs as straight-line Python source: compiled once, run many times.

There are two dialects. In float64 a graph of scalars only is written with Python floats and `math`: about
thirty nanoseconds an operation. Where Python raises and IEEE 754 does not (1/0, log(0), an overflow in exp),
the call is repeated in the other dialect, NumPy, which all other graphs use from the start. Values used once
are written in place.
"""

from __future__ import annotations

import builtins
import functools
import keyword
import math
from collections import Counter
from collections.abc import Callable, Sequence
from types import CodeType
from typing import Any

import numpy as np

from gradfuzz.engine.compiling.loop_source import RUNTIME, LoopSource, bare
from gradfuzz.engine.rules.value import CASTS
from gradfuzz.errors import DomainError
from gradfuzz.programs.arithmetic.numpy_namespace import NumpyNamespace
from gradfuzz.programs.graphs.graph import Atom, Branch, Constant, Equation, Graph, Loop, Var
from gradfuzz.programs.language.functions import FUNCTIONS
from gradfuzz.programs.language.ops import OPS
from gradfuzz.programs.language.precision import FORMATS, HALF, Precision
from gradfuzz.programs.language.syntax import ArrayConst
from gradfuzz.programs.language.types import Type

_WIDEST = 120
"""Longer expressions get a name of their own: Python's parser has a limit, and so have readers."""

_INFIX = {
    "add": "+",
    "subtract": "-",
    "multiply": "*",
    "divide": "/",
    "remainder": "%",
    "matmul": "@",
    "less": "<",
    "less_equal": "<=",
    "greater": ">",
    "greater_equal": ">=",
    "equal": "==",
    "not_equal": "!=",
}
_FUNCTIONS = frozenset(
    name for name, row in FUNCTIONS.items() if hasattr(math, name) and not (row.step or row.composition)
)
_CALLS = frozenset({"abs", "sign", "maximum", "minimum", "clip", "pow"}) | _FUNCTIONS
"""Ops of scalars that both dialects call by name. Other elementwise functions are the namespace's."""
_IDENTITY_ON_SCALARS = {
    *("sum", "mean", "prod", "amax", "amin", "logsumexp", "all", "any", "cumulative_sum"),
    *("reshape", "broadcast_to", "permute_dims", "index", "flip"),
}


def compile(graph: Graph, *, precision: Precision = "float64", trip_limit: int | None = None) -> Compiled:
    """`graph` as a Python function of its inputs that returns the tuple of its outputs.

    Floats are computed in `precision`, with IEEE results and no warnings. A loop of more than `trip_limit`
    iterations raises `TripLimitError` (None: no limit); an index outside its array raises `DomainError`.
    """
    return Compiled(graph, precision, trip_limit)


def to_source(graph: Graph) -> str:
    """`graph` as Python statements, for people to read."""
    return _Writer(graph, scalar=True, trip_limit=None).source


class Compiled:
    """A compiled graph. `source` is the text that runs."""

    def __init__(self, graph: Graph, precision: Precision, trip_limit: int | None) -> None:
        self._graph, self._precision, self._trip_limit = graph, precision, trip_limit
        self._types = [v.type for v in graph.inputs]
        self._numpy: Callable[..., tuple[Any, ...]] | None = None
        self._fast: Callable[..., tuple[Any, ...]] | None = None
        self._casts = [CASTS[t.dtype] for t in self._types]
        self._dtype: Any = FORMATS[precision].dtype.type
        if precision == "float64" and _all_scalar(graph):
            writer = _Writer(graph, scalar=True, trip_limit=trip_limit)
            if not writer.needs_numpy:
                self._fast = _load(writer, _MATH)
        self.source = (self._fast or self._careful()).__doc__ or ""

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
        if type.is_inexact:
            array = np.asarray(x, self._dtype if type.is_float else FORMATS[self._precision].complex_dtype)
            if array.shape != type.shape:
                raise TypeError(f"an input of shape {array.shape} where {self._graph.name} takes {type}")
            return array[()]
        if type.shape:
            return np.asarray(x, np.int64 if type.dtype == "int" else np.bool_)
        return int(x) if type.dtype == "int" else bool(x)

    def _careful(self) -> Callable[..., tuple[Any, ...]]:
        if self._numpy is None:
            infix = self._precision not in HALF  # where NumPy's own operator may return float32
            writer = _Writer(self._graph, scalar=False, trip_limit=self._trip_limit, infix_matmul=infix)
            self._numpy = _load(writer, _numpy_names(self._precision))
        return self._numpy


def _load(writer: _Writer, names: dict[str, Any]) -> Callable[..., tuple[Any, ...]]:
    scope = {**names, **RUNTIME}
    namespace = names.get("ns")
    for name, value in writer.constants.items():
        assert isinstance(namespace, NumpyNamespace), "only the NumPy dialect names its constants"
        scope[name] = namespace.array(value) if isinstance(value, ArrayConst) else namespace.constant(value)
    exec(_code(writer.source, writer.graph.name), scope)  # noqa: S102 - text of our own making, from a typed graph
    function: Callable[..., tuple[Any, ...]] = scope["run"]
    function.__doc__ = writer.source
    return function


@functools.lru_cache(maxsize=1024)
def _code(source: str, name: str) -> CodeType:
    """`source` compiled by Python. Programs that differ only in shapes and constants often share it."""
    return builtins.compile(source, f"<gradfuzz {name}>", "exec")


def _sign(x: float) -> float:
    return x if x != x else float((x > 0) - (x < 0))


def _maximum(a: float, b: float) -> float:
    return a if a > b or a != a else b


def _minimum(a: float, b: float) -> float:
    return a if a < b or a != a else b


_MATH: dict[str, Any] = {
    **{name: getattr(math, name) for name in (*_FUNCTIONS, "pow")},
    "abs": abs,
    "sign": _sign,
    "maximum": _maximum,
    "minimum": _minimum,
    "clip": lambda x, lower, upper: _minimum(_maximum(x, lower), upper),
    "inf": math.inf,
    "nan": math.nan,
}


@functools.cache
def _numpy_names(precision: Precision) -> dict[str, Any]:
    namespace = NumpyNamespace(precision)
    names = {n: getattr(namespace, n) for n in _CALLS}
    return {**names, "ns": namespace, "real": namespace.dtype, "cplx": namespace.complex_dtype}


def _all_scalar(graph: Graph) -> bool:
    """Whether there is no array; stacks of scalars do not count."""

    def plain(atom: Atom) -> bool:
        return not atom.type.is_complex and all(n is None for n in atom.type.shape)

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


class _Writer(LoopSource):
    """Writes one graph in one dialect."""

    def __init__(
        self, graph: Graph, *, scalar: bool, trip_limit: int | None, infix_matmul: bool = True
    ) -> None:
        names = ("ns", "real", "cplx", "run", "inf", "nan", "range", "zip", "reversed", "len")
        super().__init__(graph, trip_limit=trip_limit, taken={*_CALLS, *keyword.kwlist, *names})
        self.graph, self.scalar = graph, scalar
        self._infix = _INFIX if infix_matmul else {op: sign for op, sign in _INFIX.items() if op != "matmul"}
        self.constants: dict[str, Any] = {}
        self.needs_numpy = not scalar
        """Whether an op has no form for Python's floats: the norm of a scalar."""
        self._constant_names: dict[Constant, str] = {}
        self._write(f"def run({', '.join(map(self._bind, graph.inputs))}):", 0)
        self._block(graph, 1)
        outputs = [self._entry(a) for a in graph.outputs]
        self._write(f"return ({''.join(bare(o) + ', ' for o in outputs)})", 1)
        self.source = "\n".join([*self._functions, *self._lines]) + "\n"

    # Operands -----------------------------------------------------------------------------------------------

    def _atom(self, atom: Atom) -> str:
        if isinstance(atom, Var):
            return self._text[atom]
        value = atom.value
        if isinstance(value, ArrayConst) or (value.dtype in ("float", "complex") and not self.scalar):
            if atom not in self._constant_names:
                self._constant_names[atom] = name = self._fresh("c")
                self.constants[name] = value if isinstance(value, ArrayConst) else value.value
            return self._constant_names[atom]
        text = repr(value.value)
        return f"({text})" if text.startswith("-") else text

    # Blocks -------------------------------------------------------------------------------------------------

    def _block(self, graph: Graph, depth: int) -> None:
        """Writes the nodes of `graph`; then every output has a text."""
        uses = Counter[Atom](graph.outputs)
        for node in graph.nodes:
            for atom in node.inputs:
                uses[atom] += 1 if isinstance(node, Equation) else 2
        computed: dict[tuple[Any, ...], str] = {}
        for node in graph.nodes:
            if isinstance(node, Equation):
                several = OPS[node.op].parts
                text = self._one_of_several(node, computed, depth) if several else self._expression(node)
                if text.isidentifier() or (uses[node.output] == 1 and len(text) <= _WIDEST):
                    self._text[node.output] = text
                else:
                    name = self._bind(node.output)
                    self._write(f"{name} = {bare(text)}", depth)
            elif isinstance(node, Loop):
                self._loop(node, depth)
            else:
                self._branch(node, depth)

    def _one_of_several(self, node: Equation, computed: dict[tuple[Any, ...], str], depth: int) -> str:
        """A result of an op with several; all are computed where the first is used."""
        params = {name: value for name, value in node.params if name != "part"}
        key = (node.op, node.inputs, tuple(params.items()))
        if key not in computed:
            computed[key] = self._fresh(node.op)
            listed = [*(bare(self._atom(a)) for a in node.inputs), *(f"{k}={v!r}" for k, v in params.items())]
            self._write(f"{computed[key]} = ns.{node.op}({', '.join(listed)})", depth)
        return f"{computed[key]}[{dict(node.params)['part']}]"

    def _expression(self, node: Equation) -> str:
        args = [self._atom(a) for a in node.inputs]
        if node.op in self._infix:
            return f"({args[0]} {self._infix[node.op]} {args[1]})"
        if node.op == "negative":
            return f"(-{args[0]})"
        params = dict(node.params)
        scalar = not node.output.type.shape and not any(a.type.shape for a in node.inputs)
        if node.op == "integer_pow":
            n = params["n"]
            if n == 2 and args[0].isidentifier():
                return f"({args[0]} * {args[0]})"
            return f"({args[0]} ** {n})" if self.scalar else f"ns.integer_pow({bare(args[0])}, n={n})"
        if node.op == "where" and scalar:
            return f"({args[1]} if {args[0]} else {args[2]})"
        if node.op in ("logical_and", "logical_or") and scalar:
            return f"({args[0]} {node.op[8:]} {args[1]})"
        if node.op == "logical_not" and scalar:
            return f"(not {args[0]})"
        if node.op == "astype" and scalar:
            if params["dtype"] == node.inputs[0].type.dtype:
                return args[0]
            dtype = str(params["dtype"])
            cast = {"float": "float" if self.scalar else "real", "complex": "cplx"}.get(dtype, dtype)
            return f"{cast}({bare(args[0])})"
        if node.op in _CALLS and (node.output.type.is_inexact or node.op in ("abs", "maximum", "minimum")):
            return f"{node.op}({', '.join(map(bare, args))})"
        if self.scalar and node.op == "imag":
            return "0.0"
        if scalar and node.op in _IDENTITY_ON_SCALARS:
            return args[0]
        if scalar and node.op == "index_update":
            return args[1]
        if node.op == "index":
            return f"{args[0]}[{_subscript(params['pattern'], args[1:])}]"
        self.needs_numpy = True
        listed = [*map(bare, args), *(f"{k}={v!r}" for k, v in params.items())]
        return f"ns.{node.op}({', '.join(listed)})"

    def _branch(self, node: Branch, depth: int) -> None:
        names = [self._bind(v) for v in node.outputs]
        head = f"if {bare(self._atom(node.predicate))}:"
        for line, graph in ((head, node.then), ("else:", node.otherwise)):
            self._write(line, depth)
            for var, operand in zip(graph.inputs, node.operands, strict=True):
                self._text[var] = self._atom(operand)
            self._block(graph, depth + 1)
            self._assign(names, [self._atom(a) for a in graph.outputs], depth + 1)


def _subscript(pattern: Any, indices: Sequence[str]) -> str:
    rest = iter(indices)
    parts = [bare(next(rest)) if entry == "at" else f"{entry[1]}:{entry[2]}" for entry in pattern]
    return ", ".join(parts) or "()"
