"""Functions of JAX as programs, by their jaxpr.

A jaxpr is walked equation by equation with the functions of the engine; its loops stay loops. What is
differentiated is what the function computes: of a `custom_vjp` or `custom_jvp` the function is walked, never
the rule. What only depends on constants is computed by JAX where the table of ops cannot say it, and for ints
and bools. A jaxpr with mutable references is made a pure one by JAX itself, after its rules have run.
Where Python decides by bools of the arguments, the program is 0 on the other side (`decisions`).

`ops`, `arrays`, `indexing`, `linalg` and `flow` hold what each primitive is.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import Any

import jax
import numpy as np
from jax.extend import core

import gradfuzz.engine as engine
from gradfuzz.engine.api.tracing import type_of
from gradfuzz.engine.rules.value import Operand, Value
from gradfuzz.errors import GradfuzzError, UntraceableError
from gradfuzz.private_names import private
from gradfuzz.programs.graphs.graph import Graph
from gradfuzz.programs.language.precision import FORMATS, Precision, is_float
from gradfuzz.programs.language.program import Program
from gradfuzz.programs.language.types import DType, Type
from gradfuzz.tracing.common.compositions import check_room, kind_of, row_of, where_held
from gradfuzz.tracing.common.graph import graph_of, need_symmetric, positional, program_of
from gradfuzz.tracing.jax.arrays import ARRAYS, REPLAYED
from gradfuzz.tracing.jax.cell import NOTHING, JaxprCell, cell_of, constants_of, is_key
from gradfuzz.tracing.jax.decisions import Decided, decided
from gradfuzz.tracing.jax.devices import mapped, tells, told
from gradfuzz.tracing.jax.flow import FLOW, is_foreign, own_primitive, scan_lanes, written_out
from gradfuzz.tracing.jax.indexing import INDEXING
from gradfuzz.tracing.jax.linalg import BITS, LIBRARY, LINALG
from gradfuzz.tracing.jax.ops import OF_ORDERS, OPS, function_of
from gradfuzz.tracing.jax.source import caller_of, source_of
from gradfuzz.tracing.jax.walker import Walker
from gradfuzz.tracing.jax.windows import FOLDS, WINDOWS

_RULES: dict[str, Callable[..., Any]] = {**OPS, **ARRAYS, **INDEXING, **LINALG, **WINDOWS}

_FLOW = {**FLOW, **FOLDS}
"""Those whose rules walk jaxprs themselves."""

_CALLS = ("jaxpr", "call_jaxpr", "fun_jaxpr", "fwd_jaxpr", "callee", "call")
"""The parameters that hold what a call computes."""

PLAIN_CALLS = ("jit", "pjit", "closed_call", "core_call", "call", "eval_jaxpr", "remat2", "checkpoint")
"""Calls that have no rule of their own: their equations have."""

_CALL_PRIMITIVES = (
    *PLAIN_CALLS,
    *("custom_jvp_call", "custom_vjp_call", "custom_lin", "custom_vmap_call", "linear_call", "remat_opt"),
)

_NEUTRAL = (
    ("/ops/special.py", "logsumexp"),
    ("/numpy/reductions.py", "logsumexp"),
    ("/nn/functions.py", "softmax"),
    ("/lax/linalg.py", "_solve"),
    ("/scipy/linalg.py", "_solve"),
    ("/lax/control_flow/conditionals.py", ""),
)
"""Where JAX stops a gradient by which no result moves: files, and what the names of their functions have in
them.
"""

_MEANT = dict.fromkeys(
    ("_custom_root", "CustomRoot"),
    "lax.custom_root means the derivative of the root, and not that of the steps by which it is found",
)
"""Functions and primitives of JAX that mean another derivative than that of what they compute."""


_PLACED = ("layout_constraint", "relayout", "reshard", "sharding_constraint")
"""Primitives that say where an array lies, on devices that need not be there."""

_LOCAL = "Python asks for a number of the arguments, which is a constant of the program that is traced"

_SILENT = ("debug", "nodce")
"""Effects by which no result moves."""


def body_of(equation: Any) -> Any:
    """What a call computes, as a jaxpr; None of what is no call. `UntraceableError` of the tangent of a
    function with a custom_vjp: only its transpose can be computed.
    """
    name = equation.primitive.name
    if name not in _CALL_PRIMITIVES:
        return None
    found = next((equation.params[p] for p in _CALLS if p in equation.params), None)
    if found is None:
        raise UntraceableError(f"JAX has no forward mode of a function with a custom_vjp ({name})")
    return found


class JaxprWalker(Walker):
    """Walks jaxprs with the rules of all primitives.

    `hidden` says which value is first hidden from differentiation, by which a result may move.
    """

    hidden: UntraceableError | None = None

    def run_lanes(
        self,
        closed: Any,
        lanes: Sequence[Sequence[JaxprCell]],
        wanted: Sequence[bool] = (),
    ) -> list[list[JaxprCell]]:
        is_closed = isinstance(closed, core.ClosedJaxpr)
        jaxpr, consts = (closed.jaxpr, closed.consts) if is_closed else (closed, ())
        scopes = []
        for cells in lanes:
            scope = _JaxprScope()
            scope.cells.update(zip(jaxpr.constvars, map(cell_of, consts), strict=True))
            scope.cells.update(zip(jaxpr.invars, cells, strict=True))
            scopes.append(scope)
        results = [v for k, v in enumerate(jaxpr.outvars) if not wanted or wanted[k]]
        live = set(_variables(results))
        needed = []
        for equation in reversed(jaxpr.eqns):
            if not live.isdisjoint(equation.outvars):
                needed.append(equation)
                live.update(_variables(equation.invars))
        for equation in reversed(needed):
            check_room()
            outputs = self.lanes(equation, scopes, [v in live for v in equation.outvars])
            for scope, made in zip(scopes, outputs, strict=True):
                scope.cells.update(zip(equation.outvars, made, strict=True))
                scope.made.update((v, equation) for v in equation.outvars)
        return [[scope[v] if v in results else NOTHING for v in jaxpr.outvars] for scope in scopes]

    def lanes(
        self, equation: Any, scopes: Sequence[_JaxprScope], wanted: list[bool]
    ) -> Sequence[Sequence[JaxprCell]]:
        """The results of one equation on each device."""
        inputs = [[scope[v] for v in equation.invars] for scope in scopes]
        if self.devices is not None:
            found = told(self.devices, equation, inputs)
            if found is not None:
                return found
            name, bodies = (
                equation.primitive.name,
                [equation.params[p] for p in _CALLS if p in equation.params],
            )
            if name in _CALL_PRIMITIVES and tells(bodies[0]):
                return self.run_lanes(bodies[0], inputs, wanted)
            if name == "scan" and tells(bodies[0]):
                return scan_lanes(self, equation, inputs)
        return [
            self.equation(equation, cells, scope, wanted) for cells, scope in zip(inputs, scopes, strict=True)
        ]

    def equation(
        self, equation: Any, inputs: list[JaxprCell], scope: _JaxprScope, wanted: list[bool]
    ) -> list[JaxprCell]:
        """The results of one equation."""
        name = equation.primitive.name
        if is_foreign(equation):
            return list(written_out(self, equation, inputs))
        if name in _CALL_PRIMITIVES:
            return self.call(equation, inputs, wanted)
        if name in _PLACED:
            return inputs
        if (meant := _MEANT.get(own_primitive(equation))) is not None:
            raise UntraceableError(meant, detached=True)
        if name == "shard_map":
            return mapped(self, equation, inputs)
        if name == "stop_gradient":
            return [self.stopped(equation, inputs[0], scope)]
        if name == "sub" and (shifted := self.shifted(equation, scope)) is not None:
            return [shifted]
        if name == "platform_index":
            return [cell_of(np.int32(_platform(equation.params["platforms"])))]
        if name == "ne" and equation.invars[0] is equation.invars[1]:  # isnan; what is none has no truth
            return [cell_of(np.zeros(equation.outvars[0].aval.shape, bool))]
        if name in ("cholesky", "eigh"):
            (matrix,) = inputs
            need_symmetric(matrix.known if matrix.is_constant else matrix.operand, f"JAX's {name}")
        if all(c.is_constant for c in inputs):
            return self.folded(equation, inputs)
        if self.converts and name == "convert_element_type" and _is_rounding(equation):
            return inputs
        if name in _FLOW:
            outputs = _FLOW[name](self, equation, inputs)
            return [o if isinstance(o, JaxprCell) else cell_of(o) for o in outputs]
        return [cell_of(o) for o in self.applied(equation, inputs)]

    def applied(self, equation: Any, inputs: Sequence[JaxprCell]) -> list[Operand]:
        """The results of an equation that is an op, or several."""
        name = equation.primitive.name
        wanted = [self.type(v.aval, name) for v in equation.outvars]
        for v in equation.invars:
            _check_numbers(v.aval, name)
        operands = [c.operand for c in inputs]
        if name in OF_ORDERS and inputs[0].is_constant:
            operands[0] = np.asarray(inputs[0].known)
        rule = _RULES.get(name) if _is_own(equation, operands) else function_of(name) or _RULES.get(name)
        if rule is None:
            raise UntraceableError(f"gradfuzz has no op for JAX's {name}")
        try:
            result = rule(equation, *operands)
        except UntraceableError:
            raise
        except GradfuzzError as error:
            raise UntraceableError(f"JAX's {name}: {error}") from error
        results = list(result) if isinstance(result, (tuple, list)) else [result]
        for made, type in zip(results, wanted, strict=True):
            if type_of(made) != type:
                raise UntraceableError(f"JAX's {name} is {type} and came out as {type_of(made)}")
        return results

    def folded(self, equation: Any, inputs: Sequence[JaxprCell]) -> list[JaxprCell]:
        """The results of an equation of constants: what is computed of floats is recorded, ints and bools
        NumPy computes, and all else JAX.
        """
        made = constants_of(equation, inputs)
        unsaid = [JaxprCell(None, m) for m in made]
        ins, outs = ([v.aval for v in variables] for variables in (equation.invars, equation.outvars))
        row = row_of("jax primitive", equation.primitive.name)
        if equation.primitive.name in _FLOW or any(map(is_key, (*ins, *outs))) or (row and row.step):
            return unsaid
        kinds = [{_kind(a.dtype) for a in avals} for avals in (ins, outs)]
        floats = [a for a in (*ins, *outs) if _kind(a.dtype) == "float"]
        if len(kinds[0] | kinds[1]) > 1 or not all(a.dtype in (self.dtype, self.pair) for a in floats):
            return unsaid
        try:
            values = self.applied(equation, inputs)
        except UntraceableError:
            return unsaid
        if floats:
            recording = [v if isinstance(v, Value) else None for v in values]
            return list(map(JaxprCell, recording, made))
        if any(isinstance(v, Value) for v in values):
            return unsaid
        arrays = [np.asarray(v) for v in values]
        fitted = [a.astype(o.dtype) for a, o in zip(arrays, outs, strict=True)]
        return list(map(cell_of, fitted)) if all(map(np.array_equal, fitted, arrays)) else unsaid

    def call(self, equation: Any, inputs: Sequence[JaxprCell], wanted: list[bool]) -> list[JaxprCell]:
        """What a call computes, written out. Some functions of JAX are ops of gradfuzz as they stand."""
        closed = body_of(equation)
        name, file = source_of(closed)
        if name in _MEANT:
            raise UntraceableError(_MEANT[name], detached=True)
        whole = LIBRARY.get((name, file))
        if self.derivative and name not in BITS:  # its jaxpr may be the derivative's
            whole = None
        if whole is not None and not _takes(whole, len(inputs)):
            whole = None
        if whole is not None and not all(c.is_constant for c in inputs):
            for v in equation.outvars:
                self.type(v.aval, name)
            result = whole(equation, *(c.operand for c in inputs))
            results = result if isinstance(result, tuple) else (result,)
            if result is not None and len(results) == len(equation.outvars):  # it is no derivative
                return [cell_of(r) for r in results]
        return self.run(closed, inputs, wanted)

    def stopped(self, equation: Any, cell: JaxprCell, scope: _JaxprScope) -> JaxprCell:
        """What `stop_gradient` gives; `hidden` says where that may change a derivative."""
        (variable,) = equation.invars
        moves = np.issubdtype(np.dtype(variable.aval.dtype), np.inexact)
        if self.derivative or cell.is_constant or not moves:
            return cell
        name, file = caller_of(equation)
        if not any(file == f and n in name for f, n in _NEUTRAL):
            self.hidden = self.hidden or UntraceableError(
                "the function uses lax.stop_gradient: its gradient need not be the derivative of what"
                " it computes",
                detached=True,
                stopped=not file,
            )
            return cell
        smooth = self.shift(variable, scope)
        return cell if smooth is None else JaxprCell(smooth)

    def shift(self, variable: Any, scope: _JaxprScope) -> Value | None:
        """A smooth shift in place of the greatest entry, by which JAX's softmax and logsumexp are shifted and
        which nothing depends on.
        """
        chain, stopped = list[Any](), variable
        while (equation := scope.made.get(variable)) is not None:
            name, ins = equation.primitive.name, equation.invars
            if name == "reduce_max":
                axes = tuple(map(int, equation.params["axes"]))
                value = engine.logsumexp(scope[ins[0]].operand, axis=axes)
                for later in reversed(chain):
                    value = REPLAYED[later.primitive.name](later, value)
                scope.shifted[stopped] = ins[0], axes
                return value if isinstance(value, Value) else None
            if name in REPLAYED:
                chain.append(equation)
            elif name not in ("max", "select_n"):
                return None
            loose = [v for v in (ins[1:] if name == "select_n" else ins) if not scope[v].is_constant]
            if len(loose) != 1:
                return None
            (variable,) = loose
        return None

    def shifted(self, equation: Any, scope: _JaxprScope) -> JaxprCell | None:
        """An array less its own shift: the difference of the two would lose the digits that JAX's, of two
        entries, keeps where masks make them large.
        """
        x, variable = equation.invars
        while not isinstance(variable, core.Literal) and variable in scope.made:
            made = scope.made[variable]
            if not made.invars:  # an iota
                break
            variable = made.invars[0]
            if made.primitive.name == "stop_gradient":
                entries, axes = scope.shifted.get(variable, (None, ()))
                whole = entries is x and len(axes) == 1
                return cell_of(engine.log_softmax(scope[x].operand, axis=axes[0])) if whole else None
            if made.primitive.name not in REPLAYED:
                break
        return None

    def type(self, aval: Any, name: str) -> Type:
        """The type of a variable of a jaxpr; `UntraceableError` where programs have none."""
        _check_numbers(aval, name)
        dtype = np.dtype(aval.dtype)
        if dtype.kind == "b":
            kind: DType = "bool"
        elif dtype.kind in "iu" and dtype.itemsize >= 4:
            kind = "int"
        elif dtype == self.dtype:
            kind = "float"
        elif self.pair is not None and dtype == self.pair:
            kind = "complex"
        elif self.converts and jax.numpy.issubdtype(aval.dtype, jax.numpy.inexact):
            kind = "complex" if dtype.kind == "c" else "float"
        elif dtype.kind in "fcV":
            raise UntraceableError(
                f"JAX's {name} gives {dtype} in a function of {self.dtype}: a program has one precision"
            )
        else:
            raise UntraceableError(
                f"JAX's {name} gives {dtype}, which wraps around; the ints of a program do not"
            )
        return Type(kind, tuple(aval.shape))


def _check_numbers(aval: Any, name: str) -> None:
    """`UntraceableError` where a variable is a key of random numbers."""
    if is_key(aval):
        raise UntraceableError(f"JAX's {name} draws random numbers, which a program cannot")


def _is_own(equation: Any, operands: Sequence[Operand]) -> bool:
    """Whether a primitive, if it has the name of an elementwise function, is something else: of ints and
    bools, and where halves are rounded away from 0.
    """
    away = equation.params.get("rounding_method") is jax.lax.RoundingMethod.AWAY_FROM_ZERO
    return away or any(kind_of(o) in ("int", "bool") for o in operands)


def _takes(rule: Callable[..., Any], count: int) -> bool:
    """Whether a rule takes so many operands; the derivative of its function has more."""
    try:
        inspect.signature(rule).bind(None, *range(count))
    except TypeError:
        return False
    return True


class _JaxprScope:
    """The variables of a jaxpr, and the equations that made them."""

    def __init__(self) -> None:
        self.cells: dict[Any, JaxprCell] = {}
        self.made: dict[Any, Any] = {}
        self.shifted: dict[Any, tuple[Any, tuple[int, ...]]] = {}
        """By a shift that is not followed, the entries whose greatest it is, and along which axes."""

    def __getitem__(self, variable: Any) -> JaxprCell:
        if isinstance(variable, core.Literal):
            return cell_of(np.asarray(variable.val, variable.aval.dtype))
        return self.cells[variable]


def _variables(atoms: Sequence[Any]) -> list[Any]:
    """Those that are no literals."""
    return [a for a in atoms if not isinstance(a, core.Literal)]


def _is_rounding(equation: Any) -> bool:
    """Whether a conversion is one of floats to floats, or of complex numbers to such."""
    dtypes = [equation.invars[0].aval.dtype, equation.outvars[0].aval.dtype]
    sides = (jax.numpy.floating, jax.numpy.complexfloating)
    return any(all(jax.numpy.issubdtype(d, side) for d in dtypes) for side in sides)


def _kind(dtype: Any) -> str:
    """Floats and complex numbers, ints, bools."""
    return {"b": "bool", "i": "int", "u": "int"}.get(np.dtype(dtype).kind, "float")


def _platform(platforms: Sequence[tuple[str, ...] | None]) -> int:
    """The branch of `lax.platform_dependent` that is taken where nothing is said about the platform: the
    CPU's, or that of all others.
    """
    return next(k for k, names in enumerate(platforms) if names is None or "cpu" in names)


def _working(args: Sequence[np.ndarray[Any, Any]]) -> np.dtype[Any]:
    """The one float dtype of the arguments."""
    found = {np.zeros(0, a.dtype).real.dtype for a in args if a.dtype.kind == "c" or is_float(a.dtype)}
    if len(found) != 1:
        names = ", ".join(sorted(map(str, found))) or "none"
        raise UntraceableError(f"the float arguments are to have one dtype, theirs are: {names}")
    (dtype,) = found
    if all(dtype != f.dtype for f in FORMATS.values()):
        raise UntraceableError(f"arguments of {dtype}: the precisions of programs are {', '.join(FORMATS)}")
    return dtype


def _wide(dtype: np.dtype[Any]) -> AbstractContextManager[Any]:
    """64-bit numbers in JAX where the arguments ask for them; otherwise as whoever calls has set it."""
    return jax.enable_x64(True) if dtype.itemsize >= 8 else nullcontext()


def _jaxpr(f: Callable[..., Any], args: Sequence[np.ndarray[Any, Any]], *, derivative: bool) -> Decided:
    """The jaxpr of `f`."""
    shapes = [jax.ShapeDtypeStruct(a.shape, jax.dtypes.canonicalize_dtype(a.dtype)) for a in args]
    try:
        found = decided(f, shapes, args, derivative=derivative)
    except UntraceableError:
        raise
    except Exception as error:  # whatever it does with a tracer; where it is wrong, a call of it says so
        first = str(error).strip().partition("\n")[0]
        raise UntraceableError(f"JAX cannot trace the function: {type(error).__name__}: {first}") from error
    closed = found.closed
    if not _is_silent(closed):  # references that are its own are an effect as well
        closed = private("jax._src.state.discharge.discharge_state", UntraceableError)(closed)
    if not _is_silent(closed):
        raise UntraceableError(f"the function has effects: {', '.join(map(str, closed.effects))}")
    return replace(found, closed=closed)


def _is_silent(closed: Any) -> bool:
    return all(any(word in str(effect).lower() for word in _SILENT) for effect in closed.effects)


def traced(
    f: Callable[..., Any], args: Sequence[np.ndarray[Any, Any]], rounded: Precision | None = None
) -> Program:
    """The program that the JAX function `f` computes for arguments of the dtypes and shapes of `args`.

    Its outputs are the leaves of what `f` returns. `UntraceableError` with the reason where a program cannot
    say it: random numbers, effects, mixed precisions, primitives that are no ops, gradients that are stopped.
    With `rounded` a conversion between float dtypes is the number itself.
    """
    graph, hidden = _walked(f, args, rounded=rounded is not None)
    if hidden is None:
        return program_of(graph)
    try:
        hidden.program = program_of(graph)
    except UntraceableError as error:
        raise hidden.beside(error) from error
    raise hidden


def traced_graph(
    f: Callable[..., Any],
    args: Sequence[np.ndarray[Any, Any]],
    *,
    derivative: bool = False,
    rounded: bool = False,
) -> Graph:
    """The same as a graph. `derivative`: `f` is one, and what stops gradients in it means nothing."""
    graph, hidden = _walked(f, args, derivative=derivative, rounded=rounded)
    if hidden is not None and (hidden.detached or hidden.local):
        raise hidden
    return graph


def _walked(
    f: Callable[..., Any],
    args: Sequence[np.ndarray[Any, Any]],
    *,
    derivative: bool = False,
    rounded: bool = False,
) -> tuple[Graph, UntraceableError | None]:
    """The graph, and what is hidden from differentiation in it."""
    arrays = [np.asarray(a) for a in args]
    dtype = _working(arrays)
    walker = JaxprWalker(dtype, derivative=derivative, rounded=rounded)
    with _wide(dtype):
        found = _jaxpr(f, arrays, derivative=derivative)
        closed, sides = found.closed, found.sides
        types = [walker.type(v.aval, "argument") for v in closed.jaxpr.invars]
        for v in closed.jaxpr.outvars:
            walker.type(v.aval, "result")

        def run(*values: Value) -> tuple[Operand, ...]:
            results = [c.operand for c in walker.run(closed, [JaxprCell(v) for v in values])]
            return where_held(zip(results, sides, strict=False), results[len(sides) :])

        run.__name__ = getattr(f, "__name__", "f")
        names = positional(f)[: len(arrays)]
        try:
            graph = graph_of(run, types, names, arrays, derivative=derivative)
        except UntraceableError as error:
            raise (walker.hidden.beside(error) if walker.hidden else error) from error
    if not graph.outputs:
        raise UntraceableError("the function returns no array")
    hidden = walker.hidden
    if found.is_local or found.unseen:
        hidden = hidden or UntraceableError(_LOCAL)
        hidden.local, hidden.unseen = _LOCAL if found.is_local else "", found.unseen
    return graph, hidden
