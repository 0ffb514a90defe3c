"""The engine on all points of a question at once: the peers of `jax:vmap` and `torch:vmap`, and the body of
the mutants of batching.

    engine:vectorize   named axes: the derivative of a function of vectorized values, by `engine.vjp`, `jvp`,
                       `grad` and `jacobian`
    engine:vmap        batching: the derivative of one instance, as a graph, made the graph of a batch; once
                       per axis

So the two meet batching and differentiation in either order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

import gradfuzz.engine as engine
from gradfuzz.engine.api.derivative import derivative
from gradfuzz.engine.api.tracing import call_instances
from gradfuzz.engine.api.vectorize import Vectorized, align, devectorize, vectorize
from gradfuzz.engine.batching.batch import Batching, batch
from gradfuzz.engine.compiling.compile import compile
from gradfuzz.engine.modes.prune import prune
from gradfuzz.errors import GradfuzzError
from gradfuzz.oracles.base import Answer, Array, Mode, Oracle, Question, Traits
from gradfuzz.oracles.engine.oracle import failure, weights_and_directions
from gradfuzz.programs.arithmetic.half_numpy import refused_op
from gradfuzz.programs.evaluation.interpret import TRIP_LIMIT
from gradfuzz.programs.evaluation.layout import Layout, layout_of
from gradfuzz.programs.graphs.graph import Graph
from gradfuzz.programs.graphs.lower import lower
from gradfuzz.programs.language.precision import Precision
from gradfuzz.programs.language.program import Program
from gradfuzz.version import __version__


class _Batched(Oracle):
    """What both share: one call, and its results taken apart. The smallest stride: a batch takes as long as a
    point or two.
    """

    version = __version__
    traits = Traits(batched=True, sampling_stride=4)

    def supports(self, question: Question) -> str | None:
        if question.modes and not question.wrt:
            return "there is no input to differentiate"
        return refused_op(question.program, question.precision)

    def answer(self, question: Question) -> list[Answer]:
        if not question.points:
            return []
        layout = layout_of([point.inputs for point in question.points])
        try:
            with np.errstate(all="ignore"):
                outputs, gradient = self.whole(question, layout)
        except GradfuzzError as error:
            return [failure(error)] * len(question.points)
        answers = []
        for k in range(len(question.points)):
            place = layout.instance(k)
            slopes = {name: np.asarray(g[place]) for name, g in zip(question.wrt, gradient, strict=False)}
            answers.append(Answer("ok", tuple(np.asarray(y[place]) for y in outputs), slopes))
        return answers

    def whole(self, question: Question, layout: Layout) -> tuple[list[Array], list[Array]]:
        """The outputs and the gradient with all axes in front."""
        raise NotImplementedError


class EngineVectorize(_Batched):
    """Derivatives of a function of vectorized values. Inputs that are not differentiated are closed over.

    Not `aligned`, it is a mutant: what is differentiated keeps its own axes, so its gradient is a sum over
    the axes of the others.
    """

    def __init__(self, name: str = "engine:vectorize", *, aligned: bool = True) -> None:
        self.name = name
        self.aligned = aligned

    def whole(self, question: Question, layout: Layout) -> tuple[list[Array], list[Array]]:
        points = [point.inputs for point in question.points]
        names = [p.name for p in question.program.params]
        columns = {name: _vectorized(layout, layout.column(points, name), name) for name in names}
        graph = lower(question.program)

        def f(*xs: Any) -> tuple[Any, ...]:
            changed = {**columns, **dict(zip(question.wrt, xs, strict=True))}
            return tuple(call_instances(graph, list(changed.values())))

        xs = [columns[name] for name in question.wrt]
        outputs = f(*xs)
        gradient: Sequence[Any] = ()
        if question.modes:
            weights = [None if w is None else w.astype(question.precision) for w in question.weights]
            along = question.wrt if question.order > 1 else ()
            directions = [question.directions[name].astype(question.precision) for name in along]
            if self.aligned:
                gradient = _gradient(f, xs, weights, directions, question.modes)
            else:
                data = [devectorize(x) for x in xs]
                directions = [np.broadcast_to(v, np.shape(x)) for v, x in zip(directions, data, strict=False)]
                parts = _gradient(_summed(f, xs), data, weights, directions, question.modes)
                gradient = [_vectorized(layout, g, name) for g, name in zip(parts, question.wrt, strict=True)]
        sizes = dict(layout.sizes)
        return [np.asarray(align(y, sizes)) for y in outputs], [np.asarray(align(g, sizes)) for g in gradient]


def _vectorized(layout: Layout, column: Array, name: str) -> Any:
    return vectorize(column, *layout.axes[name]) if layout.axes[name] else column


def _gradient(
    f: Callable[..., Any],
    xs: Sequence[Any],
    weights: Sequence[Any],
    directions: Sequence[Any],
    modes: Sequence[Mode],
) -> Sequence[Any]:
    """The gradient of the weighted sum of f(*xs), instance by instance, through the public functions."""
    if list(modes) == ["rev"]:
        parts: tuple[Any, ...] = engine.vjp(f, *xs)[1](*weights)
        return parts
    every = range(len(xs))

    def objective(*xs: Any) -> Any:
        return sum(engine.sum(w * y) for w, y in zip(weights, f(*xs), strict=True) if w is not None)

    def along(g: Callable[..., Any], mode: Mode) -> Callable[..., Any]:
        if mode == "fwd":
            return lambda *xs: engine.jvp(g, xs, directions)[1]
        slopes = engine.grad(g, every)
        return lambda *xs: sum(engine.sum(s * v) for s, v in zip(slopes(*xs), directions, strict=True))

    g = objective
    for mode in modes[:-1]:
        g = along(g, mode)
    if modes[-1] == "rev":
        gradient: tuple[Any, ...] = engine.grad(g, every)(*xs)
        return gradient
    return [engine.jacobian(g, k, mode="fwd")(*xs) for k in every]


def _summed(f: Callable[..., Any], xs: Sequence[Any]) -> Callable[..., tuple[Any, ...]]:
    """`f` as a function of the whole arrays of `xs`; its results are summed over the instances."""
    own = [x.axes if isinstance(x, Vectorized) else () for x in xs]

    def whole(*data: Any) -> tuple[Any, ...]:
        results = f(*[vectorize(x, *axes) if axes else x for x, axes in zip(data, own, strict=True)])
        return tuple(
            engine.sum(devectorize(r), axis=tuple(range(len(r.axes)))) if isinstance(r, Vectorized) else r
            for r in results
        )

    return whole


class EngineVmap(_Batched):
    """The graph of the derivative, batched: the inner axis first, then the outer one."""

    def __init__(self, name: str = "engine:vmap", rules: type[Batching] = Batching) -> None:
        self.name = name
        self.rules: Any = rules

    def whole(self, question: Question, layout: Layout) -> tuple[list[Array], list[Array]]:
        points = [point.inputs for point in question.points]
        params = [p.name for p in question.program.params]
        extra = weights_and_directions(question)
        axes = (*(layout.axes[name] for name in params), *[()] * len(extra))
        asked = question.program, question.wrt, question.modes, question.precision
        function, flags = _function(*asked, tuple(layout.sizes.items()), axes, self.rules)
        results = function(*(layout.column(points, name) for name in params), *extra)
        shape = layout.shape
        whole = []
        for result, own in zip(results, flags, strict=True):
            array = np.asarray(result)
            at = tuple(slice(None) if axis in own else np.newaxis for axis in layout.sizes)
            whole.append(np.broadcast_to(array[at], (*shape, *array.shape[len(own) :])))
        count = len(question.weights)
        return whole[:count], whole[count:]


@lru_cache(maxsize=256)
def _function(
    program: Program,
    wrt: tuple[str, ...],
    modes: tuple[Mode, ...],
    precision: Precision,
    sizes: tuple[tuple[str, int], ...],
    axes: tuple[tuple[str, ...], ...],
    rules: Any,
) -> tuple[Callable[..., tuple[Any, ...]], list[tuple[str, ...]]]:
    """The compiled graph, and the axes that each of its results has."""
    graph: Graph = derivative(program, wrt=wrt, modes=modes)
    own: list[tuple[str, ...]] = [()] * len(graph.outputs)
    for axis, n in reversed(sizes):
        graph, flags = batch(graph, [axis in named for named in axes], n, rules)
        own = [(axis, *named) if flag else named for named, flag in zip(own, flags, strict=True)]
    return compile(prune(graph), precision=precision, trip_limit=TRIP_LIMIT), own
