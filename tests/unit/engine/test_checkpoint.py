"""Checkpoints: the same bits from fewer saved states, in every loop form, at every order, in every
arithmetic.
"""

from __future__ import annotations

import functools
import math
import tracemalloc
import weakref
from collections.abc import Sequence
from typing import Any, ClassVar

import mpmath
import numpy as np
import pytest

from gradfuzz import engine
from gradfuzz.engine import compile, derivative
from gradfuzz.errors import DomainError, TripLimitError, UsageError
from gradfuzz.oracles.references.finite_differences import MpmathNamespace
from gradfuzz.programs import FLOAT, INT, Graph, Program, evaluate, loop_program, parse, to_text
from gradfuzz.programs.arithmetic.numpy_namespace import NumpyNamespace
from gradfuzz.programs.graphs.builder import GraphBuilder, constant
from gradfuzz.programs.graphs.graph import Checkpoint, Loop
from gradfuzz.programs.graphs.rematerialize import (
    RematerializedStack,
    TripFunctions,
    block_size,
    replay,
    split,
    trips_run,
)
from gradfuzz.strategies import cases, draw_many

BOUNDED: tuple[Checkpoint, ...] = ("sqrt", 1, 2, 3, 8)

PROGRAMS = {
    "nested": """
def f(x, y):
    acc = x
    for i in range(4):
        j = 0
        while j < i + 1:
            acc = sin(acc * y) + x
            j = j + 1
        acc = acc * x
    return acc
""",
    "several carries": """
def f(x, y):
    a = x
    b = y
    c = 1.0
    for i in range(11):
        t = a + b * y
        a = b * x
        b = sin(c)
        c = t
    return a, b * c
""",
    "the trip count depends on the input": """
def f(x, y):
    acc = x
    while abs(acc) < 50.0:
        acc = acc * (1.25 + y)
    return acc
""",
    "repeat with a break": """
def f(x, y):
    acc = 1.0
    i = 0
    while True:
        if acc > 9.0:
            break
        acc = acc + x * y
        i = i + 1
        if not i < 13:
            break
    return acc
""",
    "no trips": """
def f(x, y):
    acc = x
    for i in range(0):
        acc = acc * y
    j = 0
    while j < 0:
        acc = acc * y
        j = j + 1
    return acc * y
""",
    "the counter is used": """
def f(x, y):
    acc = x
    for i in range(9):
        acc = acc * y + i
    return acc
""",
    "vectors": """
def f(x, y):
    v = stack(x, y, x * y)
    for i in range(7):
        t = v[0] + v[2]
        v = sin(v * x)
        v[1] = t
    return sum(v)
""",
}


def _bits(graph: Graph, inputs: Sequence[Any], precision: Any) -> list[bytes] | str:
    """The outputs, with their NaNs and signs of zero, or the error."""
    try:
        return [
            np.asarray(r, precision).tobytes()
            for r in compile(graph, precision=precision, trip_limit=10_000)(*inputs)
        ]
    except DomainError as error:
        return str(error)


def _same(
    program: Program, wrt: Sequence[str], modes: Sequence[Any], inputs: Sequence[Any], precision: Any
) -> int:
    """Asserts the same bits for all checkpoints; returns how many loops wrote stacks that were computed
    again.
    """
    graphs = {c: derivative(program, wrt=wrt, modes=modes, checkpoint=c) for c in ("none", *BOUNDED)}
    expected = _bits(graphs["none"], inputs, precision)
    for checkpoint in BOUNDED:
        assert _bits(graphs[checkpoint], inputs, precision) == expected, (checkpoint, modes, to_text(program))
    return sum(
        isinstance(n, Loop) and n.checkpoint == "sqrt" and len(n.written) > 0 for n in graphs["sqrt"].walk()
    )


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("modes", [("rev",), ("rev", "rev"), ("fwd", "rev"), ("rev", "fwd")], ids="-".join)
@pytest.mark.parametrize("precision", ["float64", "float32"])
def test_the_same_bits(name: str, modes: tuple[Any, ...], precision: str) -> None:
    program = parse(PROGRAMS[name])
    weights = [0.75] * len(program.result.values)
    directions = [1.25, -0.5] if len(modes) > 1 else []
    loops = _same(program, ("x", "y"), modes, [0.875, 1.125, *weights, *directions], precision)
    assert loops > 0 or name in ("no trips", "repeat with a break")  # linear there: nothing is read again


def test_the_same_bits_on_drawn_programs(seed: int) -> None:
    loops = 0
    for drawn in draw_many(cases(max_points=1), 40, seed):
        point = drawn.points[0]
        parameters = {p.name: p.type for p in drawn.program.params}
        outputs = compile(derivative(drawn.program, wrt=drawn.wrt, modes=()), precision=drawn.precision)
        weights = [np.ones(t.shape) for t in (a.type for a in outputs._graph.outputs) if t.is_float]
        order = min(len(drawn.modes), 2)
        directions = [np.full(parameters[n].shape, 0.5) for n in drawn.wrt] if order == 2 else []
        inputs = [point[p.name] for p in drawn.program.params] + weights + directions
        loops += _same(drawn.program, drawn.wrt, drawn.modes[:order], inputs, drawn.precision)
    assert loops > 20


@pytest.mark.parametrize("checkpoint", BOUNDED)
@pytest.mark.parametrize("loop", ["for", "while", "repeat"])
def test_a_power_in_closed_form(checkpoint: Checkpoint, loop: Any) -> None:
    """d/dx x**21 and its derivatives at 2, which are exact in float64."""
    program = loop_program("acc*x", trips=21, loop=loop)
    exact = [21 * 2.0**20, 420 * 2.0**19, 420 * 19 * 2.0**18]
    for order in (1, 2, 3):
        weights = [1.0] * min(order, 2)
        for last in ("fwd", "rev"):
            graph = derivative(
                program, wrt=("x",), modes=(*["rev"] * (order - 1), last), checkpoint=checkpoint
            )
            assert compile(graph)(2.0, *weights) == (2.0**21, exact[order - 1])


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("modes", [("rev",), ("rev", "rev")], ids="-".join)
def test_a_checkpoint_holds_in_every_arithmetic(name: str, modes: tuple[Any, ...]) -> None:
    """`evaluate` computes again, too: in float64 what is compiled, bit for bit, and in mpmath what it
    computes without.
    """
    program = parse(PROGRAMS[name])
    inputs = [0.875, 1.125, *[0.75] * len(program.result.values), *([1.25, -0.5] if len(modes) > 1 else [])]
    float64, exact = NumpyNamespace("float64"), MpmathNamespace(mpmath.MPContext())
    graphs = [derivative(program, wrt=("x", "y"), modes=modes, checkpoint=c) for c in ("none", "sqrt", 3)]
    computed = [[float(r) for r in evaluate(g, [np.float64(x) for x in inputs], float64)] for g in graphs]
    compiled = [
        [float(r) for r in compile(g, precision="float64")._careful()(*map(np.float64, inputs))]
        for g in graphs
    ]
    assert computed == compiled == [computed[0]] * 3
    precise = [evaluate(g, [exact.constant(x) for x in inputs], exact) for g in graphs]
    assert precise == [precise[0]] * 3
    assert all(math.isclose(float(a), b, rel_tol=1e-9) for a, b in zip(precise[0], computed[0], strict=True))


def _sum_of_powers(checkpoint: Checkpoint, reverse: bool) -> Graph:
    """One loop writes x, x**2, ..., x**n, the next reads them, with x, backwards or not: total <- x total +
    entry.
    """
    builder = GraphBuilder()
    x, n = builder.input(FLOAT, "x"), builder.input(INT, "n")
    body = GraphBuilder()
    factor, power, index = body.input(FLOAT, "x"), body.input(FLOAT, "power"), body.input(INT, "i")
    product = body.emit("multiply", power, factor)
    write = body.finish([factor, power, index], [product, product], "write")
    _, powers = builder.loop(
        "for", constants=[x], initial=[constant(1.0)], body=write, count=n, checkpoint=checkpoint
    )
    body = GraphBuilder()
    factor, total, entry, index = (
        body.input(t, s) for t, s in ((FLOAT, "x"), (FLOAT, "total"), (FLOAT, "entry"), (INT, "i"))
    )
    after = body.emit("add", body.emit("multiply", total, factor), entry)
    read = body.finish([factor, total, entry, index], [after], "read")
    (total,) = builder.loop(
        "for", constants=[x], initial=[constant(0.0)], stacks=[powers], body=read, reverse=reverse
    )
    return builder.finish([x, n], [total, powers])


@pytest.mark.parametrize("checkpoint", BOUNDED)
def test_stacks_written_and_read_by_a_program(checkpoint: Checkpoint) -> None:
    """The sum over k = 1..6 of x**(n-k) x**k is 6 x**6; read backwards it is x + x**3 + ... + x**11."""
    for reverse, exponents in ((False, [6] * 6), (True, range(1, 12, 2))):
        graph = _sum_of_powers(checkpoint, reverse)
        total, powers = compile(graph)(2.0, 6)
        assert (total, list(powers)) == (sum(2.0**e for e in exponents), [2.0**k for k in range(1, 7)])
        total, powers = evaluate(graph, [np.float64(2.0), 6], NumpyNamespace("float64"))
        assert (total, powers) == (sum(2.0**e for e in exponents), [2.0**k for k in range(1, 7)])
        total_alone = Graph(graph.inputs, graph.nodes, graph.outputs[:1])
        first, second = (
            sum(functools.reduce(lambda c, k: c * (e - k), range(d), 1) * 2.0 ** (e - d) for e in exponents)
            for d in (1, 2)
        )
        for kept in ("none", checkpoint):
            for modes, expected in ((("rev",), first), (("rev", "rev"), second), (("fwd", "rev"), second)):
                result = compile(derivative(total_alone, wrt=("x",), modes=modes, checkpoint=kept))(
                    2.0, 6, *[1.0] * len(modes)
                )
                assert result[1] == expected


@pytest.mark.parametrize("checkpoint", BOUNDED)
def test_the_functions_for_people_take_a_checkpoint(checkpoint: Checkpoint) -> None:
    def f(x: Any) -> Any:
        return engine.fori_loop(0, 30, lambda i, acc: np.sin(acc * x), 1.0)

    assert engine.grad(f, checkpoint=checkpoint)(1.25) == engine.grad(f)(1.25)
    assert engine.value_and_grad(f, checkpoint=checkpoint)(1.25) == engine.value_and_grad(f)(1.25)
    assert engine.vjp(f, 1.25, checkpoint=checkpoint)[1](0.5) == engine.vjp(f, 1.25)[1](0.5)
    assert engine.jacobian(f, checkpoint=checkpoint)(1.25) == engine.jacobian(f)(1.25)
    assert engine.hessian(f, checkpoint=checkpoint)(1.25) == engine.hessian(f)(1.25)
    twice = engine.grad(engine.grad(f))(1.25)
    assert engine.grad(engine.grad(f, checkpoint=checkpoint))(1.25) == twice
    assert engine.grad(engine.grad(f), checkpoint=checkpoint)(1.25) == twice


@pytest.mark.parametrize("checkpoint", BOUNDED)
def test_a_trip_count_per_instance(checkpoint: Checkpoint) -> None:
    """Mapped over instances, the derivative's loops carry masks; checkpoints change no bit of that either."""

    def f(x: Any) -> Any:
        return engine.while_loop(lambda acc: acc < 50.0, lambda acc: acc * x * x, x)

    xs = np.array([1.25, 7.5, 60.0, 1.0625])
    # x**(2n+1) where n is the number of trips.
    exponents = [2 * next(n for n in range(99) if x ** (2 * n + 1) >= 50.0) + 1 for x in xs]
    expected = [float(e * mpmath.mpf(x) ** (e - 1)) for x, e in zip(xs, exponents, strict=True)]
    result = engine.vmap(engine.grad(f, checkpoint=checkpoint))(xs)
    assert np.array_equal(result, engine.vmap(engine.grad(f))(xs))
    assert np.allclose(result, expected, rtol=1e-13, atol=0.0)  # some sixty roundings


@pytest.mark.parametrize("wrong", ["sqr", 0, -1, True, 2.0, None])
def test_another_checkpoint_is_refused(wrong: Any) -> None:
    program = loop_program("acc*x", trips=2)
    for call in (
        lambda: engine.grad(program, checkpoint=wrong),
        lambda: engine.vjp(program, 1.0, checkpoint=wrong),
        lambda: derivative(program, wrt=("x",), modes=("fwd",), checkpoint=wrong),
    ):
        with pytest.raises(UsageError, match="'none', 'sqrt' or a positive int"):
            call()


@pytest.mark.parametrize("checkpoint", ["none", "sqrt", 3])
@pytest.mark.parametrize("loop", ["for", "while", "repeat"])
def test_the_trip_limit_holds(checkpoint: Checkpoint, loop: Any) -> None:
    graph = derivative(
        loop_program("sin(acc*x)", trips=20, loop=loop), wrt=("x",), modes=("rev",), checkpoint=checkpoint
    )
    one = np.float64(1.0)
    assert compile(graph, trip_limit=20)(1.0, 1.0) == evaluate(
        graph, [one, one], NumpyNamespace("float64"), trip_limit=20
    )
    with pytest.raises(TripLimitError, match="19 trips"):
        compile(graph, trip_limit=19)(1.0, 1.0)
    with pytest.raises(TripLimitError, match="19 trips"):
        evaluate(graph, [one, one], NumpyNamespace("float64"), trip_limit=19)


# The schedule -----------------------------------------------------------------------------------------------


class State:
    """A carry that knows its trip; the class counts those alive, and the trips that were run."""

    alive: ClassVar[weakref.WeakSet[State]]
    most = 0
    trips = 0

    def __init__(self, trip: int) -> None:
        self.trip = trip
        State.alive.add(self)
        State.most = max(State.most, len(State.alive))

    def after(self, trip: int) -> State:
        assert trip == self.trip, "a trip was run from the wrong carry"
        State.trips += 1
        return State(trip + 1)


def _counted(form: Any, checkpoint: Checkpoint, total: int) -> tuple[State, RematerializedStack]:
    def advance(trips: Any, state: State) -> tuple[State]:
        for trip in trips:
            state = state.after(state.trip if form != "for" else trip)
        return (state,)

    def record(trips: Any, state: State) -> tuple[list[State]]:
        entries = []
        for number, _ in enumerate(trips):
            state = state if number == 0 else state.after(state.trip)
            entries.append(state)
        return (entries,)

    def explore(most: int, state: State) -> tuple[int, tuple[State]]:
        done = min(most, total - state.trip)
        return done, advance(range(done), state)

    State.alive, State.most, State.trips = weakref.WeakSet(), 0, 0
    count = total if form == "for" else None
    (final,), (stack,) = replay(
        form, checkpoint, TripFunctions(advance, record, explore), (State(0),), count=count, written=1
    )
    return final, stack


@pytest.mark.parametrize("form", ["for", "while", "repeat"])
@pytest.mark.parametrize("checkpoint", ["sqrt", 1, 2, 5, 9, 40])
@pytest.mark.parametrize("total", [1, 2, 3, 10, 99, 100, 101])
def test_states_are_right_and_few(form: Any, checkpoint: Any, total: int) -> None:
    final, stack = _counted(form, checkpoint, total)
    assert final.trip == len(stack) == total
    del final
    for number, state in enumerate(reversed(stack)):
        assert state.trip == total - 1 - number
    # Besides the kept ones there are: the entry at hand, the one before it, and the two of a step.
    allowed = (2 if form == "for" else 3) * (math.isqrt(total) + 1) if checkpoint == "sqrt" else checkpoint
    assert State.most <= allowed + 4
    del state
    assert [s.trip for s in stack] == list(range(total))
    assert [stack[k].trip for k in (0, -1, total // 2)] == [0, total - 1, total // 2]
    assert [s.trip for s in stack[1:5]] == list(range(total))[1:5]


@functools.cache
def _fewest(states: int, trips: int) -> int:
    """The recursion that defines the best schedule: trips run besides those of a first run to the end."""
    if trips == 1:
        return 0
    if states == 1:
        return trips * (trips - 1) // 2
    return min(m + _fewest(states - 1, trips - m) + _fewest(states, m) for m in range(1, trips))


def test_the_schedule_is_the_best_one() -> None:
    for states in range(1, 8):
        for trips in range(1, 60):
            assert trips_run(states, trips) == _fewest(states, trips)
            if states > 1 and trips > 1:
                m = split(states, trips)
                assert m + _fewest(states - 1, trips - m) + _fewest(states, m) == _fewest(states, trips)


@pytest.mark.parametrize(
    ("states", "total"), [(1, 20), (2, 50), (3, 200), (5, 300), (8, 1000), (16, 1000), (64, 2000)]
)
def test_as_many_trips_are_run_as_the_schedule_says(states: int, total: int) -> None:
    """The way forth and the way back together; blocks of several trips may cost a quarter more."""
    _, stack = _counted("for", states, total)
    for _ in reversed(stack):
        pass
    blocks = block_size(states, total)
    least = trips_run(states, total)
    assert State.trips <= (least + total) * (1.25 if blocks > 1 else 1.0)
    if blocks == 1:  # what the best schedule runs to keep its first states is part of the way forth
        assert State.trips == total + least - _last_start(states, total)


def _last_start(states: int, total: int) -> int:
    """Where the last of the kept states lies after the way forth."""
    at = 0
    while total - at > states > 1:
        at, states = at + split(states, total - at), states - 1
    return at


def test_memory_is_bounded() -> None:
    """What Python allocates for 6,000 trips: a tenth at most, in both orders."""
    program = loop_program("sin(acc*x)", trips=6_000)
    for modes in (("rev",), ("rev", "rev")):
        used = {}
        for checkpoint in ("none", "sqrt", *([50] if len(modes) == 1 else [])):
            f = compile(derivative(program, wrt=("x",), modes=modes, checkpoint=checkpoint))
            tracemalloc.start()
            f(1.25, *[1.0] * len(modes))
            used[checkpoint] = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
        assert all(10 * used[c] < used["none"] for c in used if c != "none"), used
