"""JAX. For float64 arguments 64-bit types are enabled during the call only."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import gc
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, cast

import jax
import jax.numpy as jnp
import numpy as np

from gradfuzz.libraries.library import (
    ArrayFunction,
    Differentiated,
    Forms,
    Library,
    LibraryName,
    Tree,
    Wanted,
)
from gradfuzz.libraries.objects import Opened, of_keras, opened_by
from gradfuzz.libraries.ways import AskedWay
from gradfuzz.oracles.base import Array, Mode
from gradfuzz.oracles.foreign.memory import machine, own
from gradfuzz.oracles.jax.derivatives import Step, before_the_last, derivative
from gradfuzz.oracles.lacks import Lack
from gradfuzz.programs.arithmetic.numpy_namespace import NumpyNamespace
from gradfuzz.programs.evaluation.interpret import entered, interpret
from gradfuzz.programs.graphs.graph import Graph
from gradfuzz.programs.language.precision import Precision
from gradfuzz.programs.language.program import Program
from gradfuzz.tracing.common.units import Unit
from gradfuzz.tracing.jax.walker import all_equations

_LACKS = (
    Lack("(jvp) to a custom_vjp function", "the documents of jax.custom_vjp", fwd=True),
    Lack(
        "Reverse-mode differentiation does not work for lax.while_loop",
        "the documents of jax.lax.while_loop",
        rev=True,
    ),
    Lack("Derivatives of non-symmetric eigenvectors", "jax/_src/lax/linalg.py", fwd=True, rev=True),
    Lack(
        "Derivatives not defined for partial eigen decomposition",
        "jax/_src/lax/linalg.py",
        fwd=True,
        rev=True,
    ),
    Lack(
        "Singular value decomposition JVP not implemented for full matrices",
        "jax/_src/lax/linalg.py",
        fwd=True,
        rev=True,
    ),
    # The gradient of ragged_dot by the matrices is another kind of product
    Lack("for ragged dot general in mode", "jax/_src/lax/lax.py", rev=True),
    # A primitive of a derivative, as random_gamma_grad, has no rule of its own
    Lack("Differentiation rule for", "jax/_src/interpreters/ad.py", many=True),
    # What decides by values in Python is neither compiled nor mapped
    Lack("traced array", "the documents of jax.errors", ways="jax."),
    Lack("Abstract tracer value", "the documents of jax.errors", ways="jax."),
    Lack("must be concrete", "the documents of jax.errors", ways="jax."),
    Lack("Batching rule for", "jax/_src/interpreters/batching.py", ways="jax."),
)

_WAYS = (
    AskedWay("jax.grad", "jax.grad(g, argnums)(*xs)"),
    AskedWay("jax.vjp", "jax.vjp(f, *xs)[1](ws)"),
    AskedWay("jax.vjp (twice)", "second(jax.vjp(f, *xs)[1], ws)"),
    AskedWay("jax.jacrev", "times(ws, jax.jacrev(f, argnums)(*xs))"),
    AskedWay("jax.vmap(jax.grad)", "[x[0] for x in jax.vmap(jax.grad(g, argnums))(*map(doubled, xs))]"),
    AskedWay("jax.checkpoint", "jax.grad(jax.checkpoint(g), argnums)(*xs)"),
    AskedWay("jax.jit(jax.grad)", "jax.jit(jax.grad(g, argnums))(*xs)"),
    AskedWay("jax.jit(jax.grad).lower", "jax.jit(jax.grad(g, argnums)).lower(*xs).compile()(*xs)"),
    AskedWay("jax.jvp", "each(lambda *vs: jax.jvp(g, xs, vs)[1], xs)", ("fwd",)),
    AskedWay("jax.linearize", "each(jax.linearize(g, *xs)[1], xs)", ("fwd",)),
    AskedWay("jax.jacfwd", "jax.jacfwd(g, argnums)(*xs)", ("fwd",)),
    AskedWay("jax.jit(jax.jacfwd)", "jax.jit(jax.jacfwd(g, argnums))(*xs)", ("fwd",)),
    AskedWay("jax.hessian", "times(vs, jax.hessian(g, argnums)(*xs))", ("rev", "fwd")),
)

_KEPT = 200.0, 1 / 32
"""JAX keeps each operation that it has compiled. It may forget when the process has grown by so many MiB and
by this share of the machine's memory: what it forgets, it traces and compiles again.
"""

_CHECKS = 16
"""After so many checks, where nobody says how large the process is."""


class _Growth:
    """How much larger the process is than when JAX kept nothing."""

    def __init__(self) -> None:
        self._checks = 0
        self._least = 0.0

    def begin(self) -> None:
        self._checks, self._least = 0, _resident()

    def is_much(self) -> bool:
        """Called after each check."""
        self._checks += 1
        size = _resident()
        self._least = min(size, self._least) or size
        return size > self._least + _granted() if size else self._checks >= _CHECKS


def _resident() -> float:
    """The memory of this process in MiB; 0 where the system does not say."""
    return own(os.getpid()) / 2**20


@functools.cache
def _granted() -> float:
    """By how many MiB the process may grow."""
    least, share = _KEPT
    return max(least, share * machine() / 2**20)


def _give_back() -> None:
    """Tells glibc to return what is free: it keeps it otherwise."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)


_GROWTH = _Growth()


def _given(value: Array, dtype: Any = None) -> Any:
    """An array of JAX's. `jnp.asarray` would compile an operation for each new shape."""
    if isinstance(value, jax.Array):
        return jnp.asarray(value, dtype)
    return jax.device_put(np.asarray(value, dtype))


def _about(
    f: ArrayFunction, xs: Sequence[Any], wanted: Wanted
) -> tuple[ArrayFunction, list[Any], tuple[Any, ...], Sequence[Mode]]:
    """The function and what is wanted of it, all in the dtype of the inputs: JAX takes a cotangent only in
    the dtype of its output, which may be wider than the inputs'.
    """
    dtype = np.dtype(xs[0].dtype)

    def in_one_dtype(*xs: Any) -> tuple[Any, ...]:
        outputs = (y if isinstance(y, jax.Array) else jnp.asarray(y) for y in f(*xs))
        return tuple(
            y.astype(dtype) if y.dtype != dtype and jnp.issubdtype(y.dtype, jnp.floating) else y
            for y in outputs
        )

    cotangents = [None if w is None else _given(w, dtype) for w in wanted.weights]
    return in_one_dtype, cotangents, tuple(_given(v, dtype) for v in wanted.directions), wanted.modes


def _pushed(step: Step, weights: Sequence[Any], xs: Sequence[Any], probe: Sequence[Array]) -> tuple[Any, Any]:
    """The outputs, and the weighted sum of the slopes of `step` along `probe`, by one jvp."""
    tangents = tuple(_given(v, x.dtype) for v, x in zip(probe, xs, strict=True))
    _, slopes, outputs = jax.jvp(step, (tuple(xs),), (tangents,), has_aux=True)
    pairs = zip(weights, slopes, strict=True)
    return outputs, sum([np.sum(np.asarray(w, np.float64) * np.asarray(t, np.float64)) for w, t in pairs])


_FEW = 8
"""So many entries have a jvp each. A batch of jvp's would have each operation compiled once more."""

_NO_BATCH = "Batching rule for"
"""The words of JAX about an operation that has derivatives, and not a batch of them at once."""

_LONG = 50
"""Operations of a function that is compiled as a whole."""

_CONTROL = frozenset({"scan", "while", "cond", "custom_linear_solve"})
"""What is compiled anew in each call; a linear solve has the loops of its solver."""


_JIT = frozenset({"jit", "pjit"})
"""A function under `jax.jit` is one operation, which JAX compiles once, if it is the same in each call."""


def _is_long(call: ArrayFunction, arrays: Sequence[Any]) -> bool:
    """Whether there is a loop or a branch, or there are many operations."""
    names = _names(call, arrays)
    return len(names) >= _LONG or not _CONTROL.isdisjoint(names)


def _has_control(call: ArrayFunction, arrays: Sequence[Any]) -> bool:
    try:
        return not _CONTROL.isdisjoint(_names(call, arrays))
    except Exception:  # noqa: BLE001 - Python may decide on values
        return False


def _has_parts(call: ArrayFunction, arrays: Sequence[Any]) -> bool:
    """Whether a function is more than one that is compiled already. Equinox's `filter_jit` of a closure is
    another function in each call, and is traced anew.
    """
    first, second = (
        jax.make_jaxpr(lambda *xs: call(*xs))(*arrays).jaxpr.eqns for _ in range(2)
    )  # not cached
    if len(first) != 1 or first[0].primitive.name not in _JIT:
        return True
    return first[0].params["jaxpr"] is not second[0].params["jaxpr"]


def _always(call: ArrayFunction, arrays: Sequence[Any]) -> bool:
    return True


def _names(call: ArrayFunction, arrays: Sequence[Any]) -> list[str]:
    return list(_operations(jax.make_jaxpr(call)(*arrays).jaxpr))


def _operations(jaxpr: Any) -> Iterator[str]:
    for equation in jaxpr.eqns:
        name, inner = equation.primitive.name, equation.params.get("call_jaxpr")
        if name.startswith("custom_") and inner is not None:
            yield from _operations(inner.jaxpr)
        else:
            yield name


class _Evaluation:
    """A function of arrays of JAX's or NumPy's, compiled where that is possible and `gains` says so of it and
    its first arrays.
    """

    def __init__(self, call: ArrayFunction, gains: Callable[[ArrayFunction, Sequence[Any]], bool]) -> None:
        self._call, self._gains = call, gains
        self._compiled: ArrayFunction | None = None
        self._is_decided = self.has_control = False

    def __call__(self, *arrays: Any) -> tuple[Any, ...]:
        if not self._is_decided:
            self._is_decided = True
            try:
                if self._gains(self._call, arrays):
                    compiled = jax.jit(self._call)
                    found = tuple(compiled(*arrays))
                    self._compiled = compiled
                    self.has_control = _has_control(self._call, arrays)
                    return found
            except Exception:  # noqa: BLE001, S110 - Python decides on values; or it fails, and does so again
                pass
        if self._compiled is not None:
            return tuple(self._compiled(*arrays))  # it takes NumPy's arrays faster than JAX makes its own
        return tuple(self._call(*map(_given, arrays)))

    def often(self) -> _Evaluation:
        """The same function, to be compiled as well where only hundreds of evaluations gain by it."""
        return self if self._compiled is not None else _Evaluation(self._call, _has_parts)


_NEEDS_VALUES = (jax.errors.JAXTypeError, jax.errors.JAXIndexError)
"""What a function raises that Python follows by the values of its arrays, which `eval_shape` has not."""

_VIEWS = frozenset(
    ["reshape", "broadcast_in_dim", "transpose", "squeeze", "slice", "rev", "copy", "convert_element_type"]
)
"""Primitives that every call may have."""

_CUSTOM = {"custom_jvp_call": "custom_jvp", "custom_vjp_call": "custom_vjp"}

_WIDE = ("float64", "complex128")


# Shown in scripts -------------------------------------------------------------------------------------------


def leaves(result: Any) -> list[Any]:
    found = [y for y in jax.tree.leaves(result) if isinstance(y, jax.Array)]
    return [y for y in found if jnp.issubdtype(y.dtype, jnp.inexact)]


def total(y: Any) -> Any:
    return jnp.sum(jnp.real(y))


def real_parts(ys: Any) -> list[Any]:
    return [part for y in ys for part in ((y.real, y.imag) if jnp.iscomplexobj(y) else (y,))]


def doubled(x: Any) -> Any:
    return jnp.stack([x, 1.25 * x])


def gradient(g: Any, xs: Any) -> Any:
    return jax.grad(g, tuple(range(len(xs))))(*xs)


def slope(g: Any, xs: Any, directions: Any) -> Any:
    return jax.jvp(g, tuple(xs), tuple(directions))[1]


def weighted(f: Any, ws: Any) -> Any:
    return lambda *xs: sum(jnp.sum(w * y) for w, y in zip(ws, f(*xs), strict=True))


def times(ws: Any, rows: Any) -> Any:
    def by(k: Any) -> Any:
        return sum(jnp.tensordot(w, row[k], w.ndim) for w, row in zip(ws, rows, strict=True))

    return [by(k) for k, _ in enumerate(rows[0])]


def each(push: Any, xs: Any) -> Any:
    found = [jnp.zeros_like(x) for x in xs]
    for k, x in enumerate(xs):
        for i in range(x.size):
            units = [jnp.zeros_like(x) for x in xs]
            units[k] = units[k].reshape(-1).at[i].set(1.0).reshape(x.shape)
            found[k] = found[k].reshape(-1).at[i].set(push(*units)).reshape(x.shape)
    return found


def second(pull: Any, ws: Any) -> Any:
    pull(ws)
    return pull(ws)


# ------------------------------------------------------------------------------------------------------------


_BESIDE = 2.0**8
"""A root is known to so many eps of it, or of 1."""


class JaxLibrary(Library):
    """JAX with its own pytrees."""

    name: LibraryName = "jax"
    version = str(jax.__version__)
    classes = (jax.Array,)
    lacks = _LACKS
    immutable = True
    ways = _WAYS
    helpers = ("total", "doubled", "weighted", "times", "each", "second")
    refusals = (
        *("not supported", "not implemented", "does not accept dtype", "Derivatives of non-symmetric"),
        "Derivatives not defined",
    )
    forms = Forms(
        header=(
            "import jax\nimport jax.numpy as jnp\nimport jax.scipy\n\n"
            'jax.config.update("jax_enable_x64", True)'
        ),
        sin="jnp.sin",
        array="jnp.array({entries}, {dtype})",
        zeros="jnp.zeros({shape}, {dtype})",
        dtype="jnp.{name}",
        pair="jax.lax.complex({re}, {im})",
        transposed="jnp.swapaxes({x}, -1, -2)",
        expanded="jnp.repeat({x}, 2, axis=0)",
        parts="jnp",
        mapped="jax.vmap({f})",
        compiled="jax.jit({f})",
        of_form={
            "symmetric": "({x} + jnp.swapaxes({x}, -1, -2)) / 2",
            "lower": "jnp.tril({x})",
            "upper": "jnp.triu({x})",
            "unit norm": "{x} / jnp.linalg.norm({x}, axis=-1, keepdims=True)",
            "simplex": "{x} / jnp.sum({x}, axis=-1, keepdims=True)",
        },
    )

    def context(self, precision: Precision) -> contextlib.AbstractContextManager[Any]:
        return jax.enable_x64(True) if precision == "float64" else contextlib.nullcontext()

    def constants(self, f: Callable[..., Any]) -> tuple[int, ...]:
        """Those that a custom rule takes as no arrays."""
        return tuple(getattr(f, "nondiff_argnums", ()))

    def tree(self, value: Any, path: str) -> Tree:
        leaves, form = jax.tree_util.tree_flatten_with_path(value)
        named = [(path + jax.tree_util.keystr(keys), leaf) for keys, leaf in leaves]
        return named, lambda new: jax.tree_util.tree_unflatten(form, new)

    def tidy(self) -> None:
        """A test suite checks hundreds of functions, and their compiled operations would take gigabytes."""
        if not _GROWTH.is_much():
            return
        _give_back()
        if not _GROWTH.is_much():  # it was free already
            return
        jax.clear_caches()
        gc.collect()
        _give_back()
        _GROWTH.begin()

    def prepared(self, call: ArrayFunction) -> ArrayFunction:
        """Compiled once where it has a loop or a branch, which each call would compile again, and where it
        is long. The operations of a short function are compiled when its gradient is asked.
        """
        return _Evaluation(call, _is_long)

    def repeated(self, call: ArrayFunction) -> ArrayFunction:
        """Compiled once: JAX goes through Python for each operation, and traces a derivative each time."""
        return call.often() if isinstance(call, _Evaluation) else _Evaluation(call, _always)

    def operand(self, value: Array, like: Any = None) -> Any:
        return value

    def compiles_anew(self, call: ArrayFunction) -> bool:
        return isinstance(call, _Evaluation) and call.has_control

    def at_once(self, call: ArrayFunction) -> ArrayFunction:
        """Compiled as a whole: otherwise each operation of a new shape would be."""
        compiled: ArrayFunction = jax.jit(call)
        return compiled

    def array(self, value: Array, like: Any = None) -> Any:
        return jnp.asarray(value)

    def given(self, value: Array, like: Any = None) -> Any:
        return _given(value)

    def constant(self, value: Array) -> Any:
        """Python may read its numbers inside of a function that is traced."""
        with _types_of([value]), jax.ensure_compile_time_eval():
            return _given(value)

    def described(self, value: Any) -> tuple[str, list[Any]] | None:
        if isinstance(value, jax.tree_util.PyTreeDef):
            return "treedef", [jax.tree.unflatten(value, range(value.num_leaves))]
        if isinstance(value, jax.Array) and jnp.issubdtype(value.dtype, jax.dtypes.prng_key):
            return "key", [np.asarray(jax.random.key_data(value)), str(jax.random.key_impl(value))]
        if _is_bound(value):
            mutable = value.scope.mutable
            return "bound", [*value.unbind(), _rngs(value), mutable if isinstance(mutable, bool) else True]
        return None

    def rebuilt(self, kind: str, parts: Sequence[Any]) -> Any:
        if kind == "treedef":
            return jax.tree.structure(parts[0])
        if kind == "bound":
            free, variables, rngs, mutable = parts
            return sys.modules["flax.linen"].Module.bind(free, variables, rngs=rngs, mutable=mutable)
        return jax.random.wrap_key_data(parts[0], impl=parts[1])

    def dtype(self, name: str) -> Any:
        return jnp.dtype(name)

    def is_complex(self, value: Any) -> bool:
        return bool(jnp.iscomplexobj(value))

    def derivative(self, f: ArrayFunction, xs: Sequence[Any], wanted: Wanted) -> Differentiated:
        about = _about(f, xs, wanted)
        whole = wanted.modes[-1] == "rev" or any(isinstance(x, jax.core.Tracer) for x in xs)
        if whole or not 0 < sum(x.size for x in xs) <= _FEW:
            f, cotangents, along, modes = about
            try:
                return derivative(f, tuple(xs), cotangents, along, modes)
            except NotImplementedError as error:
                if whole or _NO_BATCH not in str(error):
                    raise
        step, active = before_the_last(*about)
        if sum(x.size for x in xs) > 1 and _has_control(lambda *xs: step(xs)[0], xs):
            step = jax.jit(step)
        slopes = [np.zeros(x.shape, x.dtype) for x in xs]
        for k, slope in enumerate(slopes):
            for index in np.ndindex(slope.shape):
                unit = [np.zeros(x.shape) for x in xs]
                unit[k][index] = 1.0
                outputs, slope[index] = _pushed(step, active, xs, unit)
        return outputs, slopes

    def derivative_by(
        self, way: AskedWay, f: ArrayFunction, xs: Sequence[Any], wanted: Wanted
    ) -> Differentiated:
        return super().derivative_by(way, _about(f, xs, wanted)[0], xs, wanted)

    def inner(self, xs: Sequence[Any], ys: Sequence[Any], like: Any) -> Any:
        return sum([jnp.sum(x * y) for x, y in zip(xs, ys, strict=True)], jnp.zeros((), like.dtype))

    def push(
        self, f: ArrayFunction, xs: Sequence[Any], wanted: Wanted, probe: Sequence[Array]
    ) -> tuple[Sequence[Any], Any]:
        """One jvp: JAX would compile every operation of a batch of them anew."""
        step, active = before_the_last(*_about(f, xs, wanted))
        return _pushed(step, active, xs, probe)

    def opened(self, f: Callable[..., Any], args: Mapping[str, Any]) -> Opened | None:
        return opened_by(f, (of_keras, _of_linen, _of_nnx, _of_tree))

    def computes_in(self, call: ArrayFunction, arrays: Sequence[Any]) -> frozenset[str]:
        equations = all_equations(jax.make_jaxpr(call)(*arrays))
        made = (v.aval for equation in equations if equation.invars for v in equation.outvars)
        return frozenset(
            a.dtype.name for a in made if jnp.issubdtype(getattr(a, "dtype", None), jnp.floating)
        )

    def draws(self, call: ArrayFunction, arrays: Sequence[Any]) -> bool:
        names = (equation.primitive.name for equation in all_equations(jax.make_jaxpr(call)(*arrays)))
        return any(name.startswith(("random_", "threefry")) for name in names)

    def is_passed_on(self, value: Any) -> bool:
        """Keys of `jax.random.PRNGKey` are arrays, two words each."""
        return isinstance(value, jax.Array) and value.dtype == np.uint32 and value.shape[-1:] == (2,)

    def traced(
        self, call: ArrayFunction, arrays: Sequence[Array], rounded: Precision | None = None
    ) -> Program:
        from gradfuzz.tracing.jax.trace import traced

        return traced(call, arrays, rounded)

    def held(self, call: ArrayFunction, xs: Sequence[Any], holding: Sequence[Any]) -> Sequence[Any]:
        from gradfuzz.tracing.jax.held import held

        return held(call, xs, holding)

    def by_quantiles(self, call: ArrayFunction, xs: Sequence[Any], holding: Sequence[Any]) -> Sequence[Any]:
        from gradfuzz.tracing.jax.held import GAMMA, held

        return held(call, xs, holding, GAMMA)

    def finds_roots(self, call: ArrayFunction, arrays: Sequence[Any]) -> bool:
        """By lax.custom_root, whose function is no larger at the root than it changes a little beside it."""
        plain, found = jax.lax.custom_root, list[bool]()

        def watched(f: Any, initial_guess: Any, solve: Any, tangent_solve: Any, has_aux: bool = False) -> Any:
            result = plain(f, initial_guess, solve, tangent_solve, has_aux=has_aux)
            root = result[0] if has_aux else result
            beside = jax.tree.map(
                lambda x: x + _BESIDE * jnp.finfo(x.dtype).eps * jnp.maximum(abs(x), 1.0), root
            )
            left, there = (jax.tree.leaves(f(x)) for x in (root, beside))
            change = sum(float(jnp.sum(abs(y - z))) for y, z in zip(left, there, strict=True))
            found.append(sum(float(jnp.sum(abs(y))) for y in left) <= change)
            return result

        try:
            jax.lax.custom_root = watched
            with jax.disable_jit():
                call(*arrays)
        finally:
            jax.lax.custom_root = plain
        return bool(found) and all(found)

    def graph(self, call: Callable[..., Any], arrays: Sequence[Array], *, derivative: bool = False) -> Graph:
        from gradfuzz.tracing.jax.trace import traced_graph

        return traced_graph(call, arrays, derivative=derivative)

    def units(self, call: Callable[..., Any], arrays: Sequence[Array], mode: Mode) -> Iterable[Unit]:
        from gradfuzz.tracing.jax.units import units

        return units(call, arrays, mode)

    def begin(self) -> None:
        jax.config.update("jax_enable_x64", True)  # so that no function rounds a constant to float32
        jax.config.update("jax_traceback_filtering", "off")  # it takes longer than the call that raises
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)  # operations are small and many
        jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)

    def followed(self, f: Callable[..., Any], arrays: Sequence[Any]) -> tuple[int, ...] | None:
        """Without what `f` returns beside its results and stops itself, as the state of a solver."""
        with _types_of(arrays):
            jaxpr = jax.make_jaxpr(f)(*arrays).jaxpr
        free = _free(jaxpr, [True] * len(jaxpr.invars))
        kept = tuple(k for k, one in enumerate(free) if one)
        return kept if 0 < len(kept) < len(free) else None

    def check(self, f: Callable[..., Any], arrays: Sequence[Any]) -> None:
        with _types_of(arrays):
            try:
                jax.eval_shape(f, *arrays)
            except _NEEDS_VALUES:
                f(*arrays)

    def estimate(self, f: Callable[..., Any], values: Sequence[Array]) -> list[Array] | None:
        """By the traced program: JAX compiles each operation anew for the shapes of each call."""
        try:
            program = self.traced(f, values)
            inputs = {p.name: entered(value) for p, value in zip(program.params, values, strict=True)}
            namespace = NumpyNamespace(cast("Precision", values[0].dtype.name))
            return [np.asarray(y) for y in interpret(program, inputs, namespace)]
        except Exception:  # noqa: BLE001 - not every function makes a program
            return None

    def rules(self, f: Callable[..., Any], arrays: Sequence[Any]) -> tuple[str, ...]:
        """The names of the primitives of floats, without those that only look at an array otherwise, and of
        functions with a rule of their own: "custom_jvp relu".
        """
        with _types_of(arrays):
            return tuple(sorted(set(_primitives(jax.make_jaxpr(f)(*arrays).jaxpr))))


def _free(jaxpr: Any, given: Iterable[bool]) -> list[bool]:
    """Which results of a jaxpr come from an input that is free, other than through `stop_gradient`."""
    free = {id(v) for v, one in zip(jaxpr.invars, given, strict=True) if one}
    for equation in jaxpr.eqns:
        own = [id(v) in free for v in equation.invars]
        if equation.primitive.name == "jit":
            found = _free(equation.params["jaxpr"].jaxpr, own)
        else:
            found = [any(own) and equation.primitive.name != "stop_gradient"] * len(equation.outvars)
        free |= {id(v) for v, one in zip(equation.outvars, found, strict=True) if one}
    return [id(v) in free for v in jaxpr.outvars]


def _of_tree(f: Any) -> Opened | None:
    """A pytree that is called, such as a module of Equinox: it is differentiated by its arrays of floats."""
    found, form = jax.tree_util.tree_flatten_with_path(f)
    if jax.tree_util.treedef_is_leaf(form) or not any(map(_is_float, (leaf for _, leaf in found))):
        return None

    def made(new: Sequence[Any]) -> Callable[..., Any]:
        fresh: Callable[..., Any] = jax.tree_util.tree_unflatten(form, new)
        return fresh

    state = [(_dotted(keys).removeprefix("__self__."), leaf) for keys, leaf in found]
    return Opened(state, [_is_float(leaf) for _, leaf in found], made)


def _of_nnx(module: Any) -> Opened | None:
    """A module of Flax's nnx, which is differentiated by its parameters."""
    nnx = sys.modules.get("flax.nnx")
    if nnx is None or not isinstance(module, nnx.Module):
        return None
    graph, *parts = nnx.split(module, nnx.Param, ...)
    found, form = jax.tree_util.tree_flatten_with_path(parts)
    state = [(_dotted(keys[1:]).removesuffix(".value"), leaf) for keys, leaf in found]
    learned = [keys[0].idx == 0 for keys, _ in found]

    def made(new: Sequence[Any]) -> Callable[..., Any]:
        fresh: Callable[..., Any] = nnx.merge(graph, *jax.tree_util.tree_unflatten(form, new))
        return fresh

    return Opened(state, learned, made)


def _is_bound(value: Any) -> bool:
    """Whether it is a module of Flax's linen that is bound to its variables."""
    linen = sys.modules.get("flax.linen")
    return linen is not None and isinstance(value, linen.Module) and value.scope is not None


def _rngs(module: Any) -> dict[str, Any]:
    """The keys of the random numbers of a bound module."""
    return {name: rng.as_jax_rng() for name, rng in module.scope.rngs.items()}


def _of_linen(module: Any) -> Opened | None:
    """A module of Flax's linen that is bound to its variables, of which it is differentiated by "params"."""
    if not _is_bound(module):
        return None
    free, variables = module.unbind()
    found, form = jax.tree_util.tree_flatten_with_path(variables)
    names = [_dotted(keys) for keys, _ in found]
    learned = [name.startswith("params.") for name in names]
    rngs = _rngs(module)

    def made(new: Sequence[Any]) -> Callable[..., Any]:
        given = jax.tree_util.tree_unflatten(form, new)
        fresh: Callable[..., Any] = free.bind(given, rngs=rngs, mutable=module.scope.mutable)
        return fresh

    state = [(n.removeprefix("params."), leaf) for n, (_, leaf) in zip(names, found, strict=True)]
    return Opened(state, learned, made)


def _is_float(leaf: Any) -> bool:
    return isinstance(leaf, (jax.Array, np.ndarray)) and jnp.issubdtype(leaf.dtype, jnp.inexact)


def _dotted(keys: Sequence[Any]) -> str:
    """Where a leaf stands: "layers.0.weight"."""
    return jax.tree_util.keystr(tuple(keys), simple=True, separator=".")


def _primitives(jaxpr: Any) -> Iterator[str]:
    for equation in jaxpr.eqns:
        name, inner = equation.primitive.name, _inner(equation)
        if name in _CUSTOM:
            yield f"{_CUSTOM[name]} {inner[0].debug_info.func_name}"
        elif inner:
            for one in inner:
                yield from _primitives(one)
        elif name not in _VIEWS and any(jnp.issubdtype(y.aval.dtype, jnp.inexact) for y in equation.outvars):
            yield name


def _inner(equation: Any) -> list[Any]:
    """The programs of which an equation consists."""
    leaves = jax.tree_util.tree_leaves(list(equation.params.values()))
    return [one for one in (getattr(leaf, "jaxpr", leaf) for leaf in leaves) if hasattr(one, "eqns")]


def _types_of(arrays: Sequence[Any]) -> contextlib.AbstractContextManager[Any]:
    is_wide = any(x.dtype.name in _WIDE for x in arrays)
    return jax.enable_x64(True) if is_wide else contextlib.nullcontext()
