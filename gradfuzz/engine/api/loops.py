"""Loops and branches for traced functions, which cannot record Python's own statements.

A carry is one value or a tuple of values. Its shapes are the same in every iteration; an int that becomes a
float starts as a float. Outside a trace these functions simply run.

With vectorized values (see `vectorize`), bodies and conditions see one instance, and each instance has its
own trip count and takes its own side.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gradfuzz.engine.api.tracing import active_builder, build, by_instance
from gradfuzz.engine.api.vectorize import Trace, is_vectorized, settled
from gradfuzz.engine.rules.functions import stack
from gradfuzz.engine.rules.value import Operand, Value, as_atom, shape_of
from gradfuzz.errors import UsageError
from gradfuzz.programs.graphs.graph import Atom, LoopForm, Var
from gradfuzz.programs.language.types import INT, Type, fail, promote

Carry = Any


def while_loop(
    condition: Callable[[Carry], Operand], body: Callable[[Carry], Carry], initial: Carry
) -> Carry:
    """carry = body(carry) while condition(carry): tests first, zero iterations possible. Both modes."""
    if is_vectorized(initial):
        return _each(initial, lambda c: while_loop(condition, body, c))
    if active_builder() is None:
        while True:
            verdict = condition(initial)
            if is_vectorized(verdict):
                return _each(initial, lambda c: while_loop(condition, body, c))
            if not verdict:
                return initial
            initial = body(initial)
    return _record("while", lambda i, c: body(c), condition, initial, None)


def repeat_while(
    body: Callable[[Carry], Carry], condition: Callable[[Carry], Operand], initial: Carry
) -> Carry:
    """carry = body(carry), again while condition(carry): body first, at least one iteration."""
    if is_vectorized(initial):
        return _each(initial, lambda c: repeat_while(body, condition, c))
    if active_builder() is None:
        return while_loop(condition, body, body(initial))
    return _record("repeat", lambda i, c: body(c), condition, initial, None)


def fori_loop(
    lower: Operand, upper: Operand, body: Callable[[Operand, Carry], Carry], initial: Carry
) -> Carry:
    """carry = body(i, carry) for i in range(lower, upper). The bounds may be traced ints."""
    if is_vectorized(lower, upper):
        return by_instance(lambda a, b: fori_loop(a, b, body, initial), lower, upper)
    if is_vectorized(initial):
        return _each(initial, lambda c: fori_loop(lower, upper, body, c))
    if active_builder() is None:
        for i in range(int(lower), int(upper)):
            initial = body(i, initial)
        return initial
    if isinstance(lower, int) and lower == 0:
        return _record("for", body, None, initial, upper)
    return _record("for", lambda i, c: body(i + lower, c), None, initial, upper - lower)


def scan(
    body: Callable[[Carry, Operand], tuple[Carry, Operand]], initial: Carry, xs: Operand
) -> tuple[Carry, Operand]:
    """carry, y_k = body(carry, xs[k]) for each row k of the array `xs`; returns the last carry and the array
    of all y_k.

    Raises `UsageError` where `xs` has no axis or no row (the first row determines the shape of y_k).
    """
    if is_vectorized(initial, xs):
        if not isinstance(initial, tuple):
            carry, ys = by_instance(lambda c, rows: scan(body, c, rows), initial, xs)
            return carry, ys

        def flat(*values: Operand) -> tuple[Operand, ...]:
            carry, ys = scan(body, values[:-1], values[-1])
            return (*carry, ys)

        *carries, ys = by_instance(flat, *initial, xs)
        return tuple(carries), ys
    shape = shape_of(xs)
    if not shape or shape[0] == 0:
        raise UsageError(f"scan over an array of shape {shape}; it needs at least one row")
    if active_builder() is None:
        written = []
        for row in xs:
            initial, y = body(initial, row)
            written.append(y)
        return initial, stack(written)
    *carries, ys = _record("for", body, None, initial, None, xs)
    return (tuple(carries) if isinstance(initial, tuple) else carries[0]), ys


def cond(
    predicate: Operand, then: Callable[..., Any], otherwise: Callable[..., Any], *operands: Operand
) -> Any:
    """then(*operands) if `predicate`, a bool scalar, is true, else otherwise(*operands). Only one runs."""
    if is_vectorized(predicate):
        return by_instance(lambda p: cond(p, then, otherwise, *operands), predicate)
    builder = active_builder()
    if builder is None or not isinstance(predicate, Value):
        return then(*operands) if predicate else otherwise(*operands)
    sides = []
    for function in (then, otherwise):
        inner = Trace(by_instance=True)
        with build(inner) as level:
            result = function(*operands)
            sides.append((inner, _flat(result), isinstance(result, tuple), level))
        if inner.instances:
            return by_instance(lambda: cond(predicate, then, otherwise, *operands))
    names = [f"b{k}" for k in range(len(sides[0][1]))]
    if len(sides[0][1]) != len(sides[1][1]) or sides[0][2] != sides[1][2]:
        fail(f"the sides of cond return {len(sides[0][1])} and {len(sides[1][1])} values; they must match")
    outputs: list[list[Atom]] = [[], []]
    for a, b in zip(sides[0][1], sides[1][1], strict=True):
        if a.type.shape != b.type.shape:
            fail(f"the sides of cond return {a.type} and {b.type}; the shapes must be equal")
        wanted = promote((a.type.dtype, b.type.dtype))
        for k, atom in enumerate((a, b)):
            outputs[k].append(sides[k][0].to(atom, wanted) if wanted in ("float", "complex") else atom)
    then_side, other_side = ((s[0], out) for s, out in zip(sides, outputs, strict=True))
    results = builder.join(predicate.atom, then_side, other_side, names)
    values = [Value(builder, r, sides[0][3] - 1) for r in results]
    return tuple(values) if sides[0][2] else values[0]


def _flat(result: Any) -> list[Atom]:
    results = [settled(r) for r in (result if isinstance(result, tuple) else (result,))]
    return [r.atom if isinstance(r, Value) else as_atom(r) for r in results]


def _each(initial: Carry, run: Callable[[Carry], Carry]) -> Carry:
    """run(initial), traced on one instance of the vectorized values."""
    if not isinstance(initial, tuple):
        return by_instance(run, initial)
    return by_instance(lambda *values: run(values), *initial)


def _record(
    form: LoopForm,
    body: Callable[[Any, Carry], Carry],
    condition: Callable[[Carry], Operand] | None,
    initial: Carry,
    count: Operand | None,
    rows: Operand | None = None,
) -> Carry:
    """A loop in the graph being traced. With `rows` it is a `scan`, and the array of y_k comes last."""
    builder = active_builder()
    assert builder is not None, "the caller has looked"
    single = not isinstance(initial, tuple)
    starts = [builder.use(a) for a in _flat(initial)]
    read = [] if rows is None else [builder.use(a) for a in _flat(rows)]
    while True:
        inner = Trace(by_instance=True)
        carries = [inner.input(a.type, f"c{k}") for k, a in enumerate(starts)]
        entries = [inner.input(a.type.element(), "x") for a in read]
        index = inner.input(INT, "i")
        with build(inner) as level:
            state = [Value(inner, c, level) for c in carries]
            carry = state[0] if single else tuple(state)
            if rows is None:
                after, written = _flat(body(Value(inner, index, level), carry)), []
            else:
                new, y = body(carry, Value(inner, entries[0], level))
                after, written = _flat(new), _flat(y)
        if len(after) != len(starts):
            fail(f"the loop's body returns {len(after)} values for a carry of {len(starts)}")
        widened = [_widened(a, b.type, k) for k, (a, b) in enumerate(zip(starts, after, strict=True))]
        if widened == [a.type for a in starts]:
            break
        starts = [builder.to(a, t.dtype) if t.is_inexact else a for a, t in zip(starts, widened, strict=True)]
    ends = zip(after, carries, strict=True)
    after = [inner.use(inner.to(a, c.type.dtype) if c.type.is_inexact else a) for a, c in ends]
    tested: Trace | None = None
    verdict: list[Atom] = []
    seen: list[Var] = []
    if condition is not None:
        tested = Trace(by_instance=True)
        seen = [tested.input(a.type, f"c{k}") for k, a in enumerate(starts)]
        with build(tested) as level:
            values = [Value(tested, c, level) for c in seen]
            verdict = [tested.use(a) for a in _flat(condition(values[0] if single else tuple(values)))]
        if verdict[0].type != Type("bool"):
            fail(f"the loop's condition returns {verdict[0].type}; it must be a bool scalar")
    if inner.instances or (tested is not None and tested.instances):
        return _each(initial, lambda c: _record(form, body, condition, c, count, rows))
    number = None if count is None else count.atom if isinstance(count, Value) else as_atom(int(count))
    lengths = [a.type.shape[0] for a in read]
    results = builder.join_loop(
        form,
        (inner, [*carries, *entries, *([index] if form == "for" else [])], [*after, *written]),
        None if tested is None else (tested, seen, verdict),
        initial=starts,
        stacks=read,
        count=number,
        lengths=lengths,
    )
    out = [Value(builder, r, level - 1) for r in results]
    return out[0] if single and rows is None else tuple(out)


def _widened(start: Atom, after: Type, k: int) -> Type:
    if start.type.shape != after.shape or (start.type.dtype == "bool") != (after.dtype == "bool"):
        fail(
            f"carry {k} of the loop is {start.type} before the body and {after} after it; they must be equal"
        )
    return start.type.with_dtype(promote((start.type.dtype, after.dtype)))
