"""Shrinking against synthetic predicates: no oracle is asked."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pytest

from gradfuzz.errors import GradfuzzError
from gradfuzz.fuzzer.findings.signature import skeleton
from gradfuzz.fuzzer.questions.candidate import Candidate
from gradfuzz.fuzzer.shrinking.reductions import REDUCTIONS, canonical_names
from gradfuzz.fuzzer.shrinking.shrink import Interest, Interesting, cost, operations, shrink
from gradfuzz.fuzzer.shrinking.variations import variations
from gradfuzz.programs import Call, For, Name, Program, Repeat, While, parse, to_text, typecheck, walk
from gradfuzz.programs.arithmetic.numpy_namespace import NumpyNamespace
from gradfuzz.programs.evaluation.interpret import interpret
from gradfuzz.programs.evaluation.layout import layout_of

LONG = """
def g(a, v: "float[3]", n: "int"):
    result = 1.25
    s = 0.0
    k = 0
    while k < n:
        t = result * a + sin(v[0])
        if t > 2.5:
            s = s + t * 0.37
        else:
            s = s - tanh(t)
        result = t * exp(a * 0.1) + v[1]
        for j in range(3):
            s = s + v[j] * a
        k = k + 1
    return result * 2.0, s + sum(v)
"""

Predicate = Callable[[Program], bool]


def candidate(text: str, **inputs: object) -> Candidate:
    program = parse(text)
    arrays = {name: np.asarray(value) for name, value in inputs.items()}
    floats = tuple(p.name for p in program.params if p.type.is_float)
    weights = tuple(np.asarray(-1.5 + k) for k in range(len(program.result.values)))
    return Candidate(
        program,
        arrays,
        "float64",
        floats,
        ("rev",),
        weights,
        {name: np.ones(arrays[name].shape) for name in floats},
    )


def long() -> Candidate:
    return candidate(LONG, a=0.731, v=[1.1, 2.2, 3.3], n=5)


def runs(s: Candidate) -> bool:
    inputs = {
        name: v if v.shape else v[()] if v.dtype.kind == "f" else v.item() for name, v in s.inputs.items()
    }
    try:
        interpret(s.program, inputs, NumpyNamespace(), trip_limit=100)
    except GradfuzzError:
        return False
    return True


def interesting(predicate: Predicate) -> Callable[[Sequence[Candidate]], list[bool]]:
    return lambda candidates: [runs(s) and predicate(s.program) for s in candidates]


def has(*kinds: type, ops: Sequence[str] = ()) -> Predicate:
    """All these statements, and all these ops inside a loop."""

    def holds(program: Program) -> bool:
        nodes = list(walk(program))
        inside = [n for loop in nodes if isinstance(loop, (For, While, Repeat)) for n in walk(loop.body)]
        called = {n.op for n in inside if isinstance(n, Call)}
        return all(any(isinstance(n, k) for n in nodes) for k in kinds) and called >= set(ops)

    return holds


@pytest.mark.parametrize(
    ("predicate", "operations_left"),
    [
        (has(For, ops=["multiply"]), 1),
        (has(ops=["multiply", "sin"]), 2),
        (has(ops=["exp"]), 1),
        (has(While, ops=["multiply"]), 2),
    ],
    ids=["for", "two ops", "exp", "while"],
)
def test_what_is_left_is_minimal(predicate: Predicate, operations_left: int) -> None:
    shrunk = shrink(long(), interesting(predicate), budget=2000)
    assert shrunk.complete
    program = shrunk.candidate.program
    assert predicate(program)
    assert sum(isinstance(n, (For, While, Repeat)) for n in walk(program)) == 1
    assert operations(program) <= operations_left
    assert len(program.params) <= 1
    assert len(program.result.values) == 1


def test_nothing_depends_on_the_batch() -> None:
    predicate = interesting(has(For, ops=["multiply", "add"]))
    one, many = shrink(long(), predicate, budget=4000), shrink(long(), predicate, budget=4000, batch=8)
    assert one.candidate.key == many.candidate.key
    assert to_text(one.candidate.program) == to_text(many.candidate.program)


def test_who_asks_ahead_asks_seldom() -> None:
    """Candidates are tried in the same order, of which most are known when their turn comes."""
    holds = interesting(has(For, ops=["multiply", "add"]))

    def nearly(candidates: Sequence[Candidate]) -> list[Interest]:
        """Some that are not interesting would be at other numbers: their variations are tried, too."""
        known = [Interest.YES if yes else Interest.NEARLY for yes in holds(candidates)]
        return [k if runs(c) else Interest.NO for k, c in zip(known, candidates, strict=True)]

    for predicate in (holds, nearly):
        sizes: list[int] = []

        def counting(
            candidates: Sequence[Candidate], predicate: Interesting = predicate, sizes: list[int] = sizes
        ) -> Sequence[Interest] | Sequence[bool]:
            sizes.append(len(candidates))
            return predicate(candidates)

        one, many = shrink(long(), predicate), shrink(long(), counting, ahead=32)
        assert (one.candidate.key, one.asked, one.complete) == (many.candidate.key, many.asked, many.complete)
        assert 2 * len(sizes) < one.asked
        assert max(sizes) <= 32


def test_every_accepted_step_is_smaller() -> None:
    accepted = [long()]

    def note(candidates: Sequence[Candidate]) -> list[bool]:
        verdicts = interesting(has(ops=["multiply"]))(candidates)
        accepted.extend(s for s, holds in zip(candidates, verdicts, strict=True) if holds)
        return verdicts

    shrink(long(), note, budget=2000)
    costs = [cost(s) for s in accepted[:-1]]  # the last one is only renamed
    assert all(after < before for before, after in itertools.pairwise(costs))


def test_the_budget_holds() -> None:
    shrunk = shrink(long(), interesting(lambda program: True), budget=7)
    assert not shrunk.complete
    assert shrunk.asked <= 8  # and one for the renaming


def test_nothing_smaller_means_unchanged() -> None:
    start = candidate(
        "def f(x):\n    acc = 1.0\n    for i in range(2):\n        acc = acc * x\n    return acc\n", x=0.5
    )
    text = to_text(start.program)
    shrunk = shrink(start, interesting(lambda program: to_text(program) == text))
    assert to_text(shrunk.candidate.program) == text


def test_a_repeat_loop_stays_where_it_is_needed() -> None:
    start = candidate(
        """
def f(x):
    acc = x
    i = 0
    while True:
        t = acc * x + 0.3
        acc = sin(t) * 1.7
        i = i + 1
        if not i < 4:
            break
    return acc
""",
        x=0.9,
    )
    kept = shrink(start, interesting(has(Repeat, ops=["multiply"])), budget=2000).candidate.program
    assert [type(n) for n in walk(kept) if isinstance(n, (For, While, Repeat))] == [Repeat]
    assert operations(kept) <= 2


def test_shapes_shrink() -> None:
    start = candidate(
        """
def f(v: "float[4]", m: "float[4, 4]"):
    acc = v
    for i in range(4):
        acc = m @ acc + v
    return sum(acc)
""",
        v=np.arange(4.0),
        m=np.arange(16.0).reshape(4, 4),
    )
    scalar = shrink(start, interesting(has(For, ops=["multiply"])), budget=2000).candidate
    assert all(not p.type.shape for p in scalar.program.params)
    matrix = shrink(start, interesting(has(For, ops=["matmul"])), budget=2000).candidate
    sizes = {n for p in matrix.program.params for n in p.type.shape}
    assert sizes == {1}
    for p in matrix.program.params:
        assert matrix.inputs[p.name].shape == p.type.shape


def test_what_goes_with_a_program_fits_it() -> None:
    for reduction in REDUCTIONS:
        for draft in reduction(long()):
            if isinstance(draft, Candidate):
                assert set(draft.inputs) >= {p.name for p in draft.program.params}
                assert len(draft.weights) == len(draft.program.result.values)
                assert set(draft.directions) == set(draft.wrt)


def test_names_become_canonical() -> None:
    renamed = canonical_names(long())
    assert [p.name for p in renamed.program.params] == ["x", "y", "z"]
    assert set(renamed.inputs) == {"x", "y", "z"}
    assert renamed.wrt == ("x", "y")
    assert to_text(canonical_names(renamed).program) == to_text(renamed.program)


def test_a_skeleton_has_neither_names_nor_constants() -> None:
    one = parse("def f(x):\n    acc = 1.0\n    for i in range(2):\n        acc = acc * x\n    return acc\n")
    two = parse("def g(y):\n    b = 0.25\n    for j in range(17):\n        b = b * y\n    return b\n")
    other = parse(
        "def f(x):\n    acc = 1.0\n    for i in range(2):\n        acc = acc * acc\n    return acc\n"
    )
    assert skeleton(one) == skeleton(two)
    assert skeleton(one) != skeleton(other)


@pytest.mark.parametrize(
    "text",
    [
        'def f(a: "float[2, 3, 4, 4]"):\n q, r = qr(a)\n return sin(permute_dims(q, (0, 1, 3, 2)) @ r), r',
        'def f(a: "float[3, 5, 4]", b: "float[3, 5, 2]"):\n return lstsq(a, b) * 2.0 + sum(svdvals(a))',
        'def f(a: "float[2, 3, 3]"):\n return cholesky(a @ transpose(a, (0, 2, 1)) + a[0, 0, 0])',
    ],
)
def test_matrix_programs_lose_their_batch_axes_and_shrink_to_the_smallest_matrices(text: str) -> None:
    program = parse(text)
    rng = np.random.default_rng(0)
    inputs = {p.name: rng.normal(size=p.type.shape) for p in program.params}  # type: ignore[arg-type]
    wanted = {n.op for n in walk(program) if isinstance(n, Call) and n.op in ("qr", "lstsq", "cholesky")}
    outputs = tuple(np.ones(()) for _ in program.result.values)
    first = Candidate(program, inputs, "float64", tuple(inputs), ("rev",), outputs, {})

    def holds(candidates: Sequence[Candidate]) -> list[bool]:
        return [wanted <= {n.op for n in walk(c.program) if isinstance(n, Call)} for c in candidates]

    last = shrink(first, holds, budget=400).candidate
    assert {p.type.shape for p in last.program.params} == {(1, 1)}, to_text(last.program)


def test_a_smaller_matrix_is_the_leading_block() -> None:
    program = parse('def f(a: "float[3, 3]"):\n return cholesky(a)')
    matrix = np.array([[4.0, 1.0, 0.5], [1.0, 5.0, 2.0], [0.5, 2.0, 6.0]])
    first = Candidate(program, {"a": matrix}, "float64", ("a",), ("rev",), (np.ones((3, 3)),), {})
    smaller = parse('def f(a: "float[2, 2]"):\n return cholesky(a)')
    assert first.fitted(smaller, typecheck(smaller)).inputs["a"].tolist() == [[4.0, 1.0], [1.0, 5.0]]


def test_programs_that_differ_in_sizes_only_are_built_alike() -> None:
    three, five, none = (parse(f'def f(a: "float[{n}, {n}]"):\n return det(a) * 2.0') for n in (3, 5, 0))
    assert skeleton(three) == skeleton(five)
    assert skeleton(three) != skeleton(none)


# Axes of tensor programs ------------------------------------------------------------------------------------


def shrunk(text: str, op: str, shapes: dict[str, tuple[int, ...]]) -> Program:
    """The smallest program that still runs and gives a parameter to `op`."""
    program = parse(text)
    rng = np.random.default_rng(0)
    arrays = {
        p.name: (
            rng.uniform(-1.0, 1.0, shapes[p.name]) if p.type.is_float else rng.integers(0, 2, shapes[p.name])
        )
        for p in program.params
    }
    floats = tuple(p.name for p in program.params if p.type.is_float)
    weights = tuple(np.ones(t.sizes) for t in typecheck(program).outputs)
    first = Candidate(
        program,
        arrays,
        "float64",
        floats,
        ("rev",),
        weights,
        {name: np.ones(shapes[name]) for name in floats},
    )

    def interesting(candidates: Sequence[Candidate]) -> list[bool]:
        return [
            any(isinstance(n, Call) and n.op == op and isinstance(n.args[0], Name) for n in walk(c.program))
            and runs(c)
            for c in candidates
        ]

    return shrink(first, interesting).candidate.program


@pytest.mark.parametrize(
    ("text", "op", "shapes", "shape", "parameters"),
    [
        (
            'def f(a: "float[2, 3, 4]", k: "int[5]"):\n    return sin(take(a * a, k, axis=-2))\n',
            "take",
            {"a": (2, 3, 4), "k": (5,)},
            (1,),
            {"axis": 0},
        ),
        (
            (
                'def f(a: "float[2, 1, 5]"):\n    return window_sum(a, (1, 1, 3), strides=(1, 1, 2),'
                " padding=((0, 0), (0, 0), (1, 0)))\n"
            ),
            "window_sum",
            {"a": (2, 1, 5)},
            (1,),
            {"window": (1,), "strides": None, "padding": None},
        ),
        (
            'def f(a: "float[2, 3, 4]"):\n    return a[0:2, 0:3, 3] * amax(a, axis=(-1,))\n',
            "amax",
            {"a": (2, 3, 4)},
            (),
            {"axis": None, "keepdims": False},
        ),
        (
            'def f(a: "float[0, 3, 2]"):\n    return sort(a, axis=1)\n',
            "sort",
            {"a": (0, 3, 2)},
            (1,),
            {"axis": -1},
        ),
    ],
    ids=["take", "window_sum", "amax", "sort"],
)
def test_axes_go_and_windows_become_plain(
    text: str,
    op: str,
    shapes: dict[str, tuple[int, ...]],
    shape: tuple[int, ...],
    parameters: dict[str, object],
) -> None:
    program = shrunk(text, op, shapes)
    (call,) = [n for n in walk(program) if isinstance(n, Call)]
    assert (call.op, dict(call.params)) == (op, parameters)
    assert [p.type.sizes for p in program.params] == [shape]


def test_smaller_matrices_are_tried_at_ordinary_ones() -> None:
    """What is left of the first matrices has equal entries; the batch is as long as they are."""
    program = parse('def f(x: "float[2, 2, 2]"):\n    return inv(x)\n')
    x = np.array([[[1.0, 2.0], [3.0, 4.0]], [[1.0, 5.0], [6.0, 7.0]]])
    first = Candidate(
        program, {"x": x}, "float64", ("x",), ("rev",), (np.ones((2, 2, 2)),), {"x": np.ones((2, 2, 2))}
    )

    def differ(candidates: Sequence[Candidate]) -> list[bool]:
        """Two instances whose first entries differ, or the whole first matrices."""
        arrays = [c.inputs["x"] for c in candidates]
        return [
            a.shape[:1] == (2,) and a.ndim == 3 and (a[0, 0, 0] != a[1, 0, 0] or np.array_equal(a, x))
            for a in arrays
        ]

    smallest = shrink(first, differ).candidate
    assert smallest.inputs["x"].shape == (2, 1, 1)


def test_smaller_matrices_are_tried_as_near_to_singular_as_the_larger_ones() -> None:
    """A row and column less leave nothing singular of these, nor are ordinary matrices."""
    program = parse('def f(x: "float[4, 4]"):\n    return det(x)\n')
    x = np.diag([1.0, 2.0, 3.0, 1e-6])[::-1, :]
    first = Candidate(program, {"x": x}, "float64", ("x",), ("rev",), (np.ones(()),), {"x": np.ones((4, 4))})

    def bad(candidates: Sequence[Candidate]) -> list[bool]:
        matrices = [c.inputs["x"] for c in candidates]
        return [m.ndim == 2 and len(m) > 1 and 1e4 < np.linalg.cond(m) < 1e12 for m in matrices]

    smallest = shrink(first, bad).candidate.inputs["x"]
    assert smallest.shape == (2, 2)


def test_arrays_without_entries_get_smaller_too() -> None:
    program = parse('def f(x: "float[0, 3, 3]"):\n    return inv(x)\n')
    x, w = np.zeros((0, 3, 3)), np.ones((0, 3, 3))
    first = Candidate(program, {"x": x}, "float64", ("x",), ("rev",), (w,), {"x": w})
    smallest = shrink(
        first, lambda candidates: [c.inputs["x"].shape[:1] == (0,) for c in candidates]
    ).candidate
    assert smallest.inputs["x"].size == 0
    assert sum(smallest.inputs["x"].shape) <= 2


@pytest.mark.parametrize("own", range(6))
def test_a_grid_of_points_gets_smaller_by_lines(own: int) -> None:
    """The bug needs a grid: without one point of it, or alone, nothing is wrong."""
    grid = [{"x": np.asarray(x), "y": np.asarray(y)} for x in (1.25, 0.75) for y in (0.5, 1.5, 2.5)]
    others = tuple(point for k, point in enumerate(grid) if k != own)
    first = replace(candidate("def f(x, y):\n    return x\n", **grid[own]), others=others, place=own)

    def a_grid(candidates: Sequence[Candidate]) -> list[bool]:
        layouts = [layout_of([point.inputs for point in c.question().points]) for c in candidates]
        return [len(layout.sizes) == 2 for layout in layouts]

    shrunk = shrink(first, a_grid).candidate
    assert len(shrunk.others) == 3
    assert a_grid([shrunk]) == [True]


# Other numbers ----------------------------------------------------------------------------------------------


def stack() -> Candidate:
    """Three matrices, and a weight for each."""
    program = parse('def f(x: "float[3, 2, 2]"):\n    return trace(inv(x)) * 2.0\n')
    x = np.eye(2) * np.array([2.0, 3.0, 4.0])[:, np.newaxis, np.newaxis]
    w = np.array([-1.0, 0.5, 0.75])
    return Candidate(program, {"x": x}, "float64", ("x",), ("rev",), (w,), {"x": np.ones((3, 2, 2))})


def signs_differ(candidates: Sequence[Candidate]) -> list[Interest]:
    """Interesting are instances that weigh against each other, nearly those of which there are two at all."""

    def interest(weights: np.ndarray) -> Interest:
        if weights.ndim != 1 or weights.size < 2:
            return Interest.NO
        return Interest.YES if weights.min() < 0 < weights.max() else Interest.NEARLY

    return [interest(np.asarray(c.weights[0])) for c in candidates]


def test_a_candidate_that_is_nearly_interesting_is_tried_with_other_weights() -> None:
    """The first two weights, and all weights 1, have one sign."""
    first = replace(stack(), weights=(np.array([1.0, 0.5, -0.75]),))
    shrunk = shrink(first, signs_differ).candidate
    assert shrunk.inputs["x"].size == 2
    assert signs_differ([shrunk]) == [Interest.YES]


def test_what_is_nearly_interesting_is_never_taken() -> None:
    first = replace(stack(), weights=(np.ones(3),))

    def only_the_first(candidates: Sequence[Candidate]) -> list[Interest]:
        return [Interest.YES if c.key == first.key else Interest.NEARLY for c in candidates]

    assert shrink(first, only_the_first, budget=200).candidate.key == first.key


@pytest.mark.parametrize("start", [long(), stack()], ids=["scalars", "matrices"])
def test_variations_differ_in_numbers_only(start: Candidate) -> None:
    found = list(variations(start))
    assert len({v.key for v in found}) > 8
    for v in found:
        assert (v.program, v.wrt, v.modes, v.precision, v.others) == (
            start.program,
            start.wrt,
            start.modes,
            start.precision,
            (),
        )
        assert {n: (x.shape, x.dtype) for n, x in v.inputs.items()} == {
            n: (x.shape, x.dtype) for n, x in start.inputs.items()
        }
        assert [np.shape(w) for w in v.weights] == [np.shape(w) for w in start.weights]


def test_directions_vary_where_they_count() -> None:
    start = replace(stack(), modes=("rev", "fwd"))
    assert {v.directions["x"][-1, 0, 0] for v in variations(start)} >= {1.0, -1.0, 16.0}
    assert not {v.directions["x"][-1, 0, 0] for v in variations(stack())} & {-1.0, 16.0}


def test_nothing_complex_is_a_candidate() -> None:
    start = candidate(
        "def f(x, y):\n    z = complex(x, y) * complex(y, x)\n    return real(z), imag(z * z)\n", x=0.7, y=1.3
    )
    seen: list[Program] = []

    def note(candidates: Sequence[Candidate]) -> list[bool]:
        seen.extend(c.program for c in candidates)
        return [any(isinstance(n, Call) and n.op == "complex" for n in walk(c.program)) for c in candidates]

    shrink(start, note)
    assert seen
    assert all(t.is_float for program in seen for t in typecheck(program).outputs)
