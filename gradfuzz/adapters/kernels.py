"""Programs as the source of a kernel, for adapters of libraries that compile Python syntax. Needs only
kit.py, beside it.

A kernel runs a program at many points at once, one per thread. Inputs and outputs are rows of four flat
arrays, one row per point: `X` and `N` hold the inputs (floats; ints and bools), `Y` and `M` the outputs. A
subclass of `Writer` defines the library's syntax.
"""

# mypy: ignore-errors

from __future__ import annotations

import itertools
import math

import kit

MOST_ENTRIES = 48
"""The most entries of a local vector or matrix; a compiler takes minutes for thousands."""


class Layout:
    """Where a program's inputs and outputs lie in a row: lists of (name or None, dtype, shape, place)."""

    def __init__(self, form):
        self.inputs, self.widths = [], {"X": 0, "N": 0, "Y": 0, "M": 0}
        for name, text in form["params"]:
            self.inputs.append((name, *self._placed(text, "XN")))
        self.outputs = [(None, *self._placed(text, "YM")) for text in form["outputs"]]

    def _placed(self, text, arrays):
        dtype, shape = kit._type(text)
        array = arrays[dtype != "float"]
        start = self.widths[array]
        self.widths[array] = start + math.prod(shape)
        return dtype, shape, array, start

    def rows(self, inputs, count):
        """The inputs of all points as two lists of rows: floats, and ints."""
        rows = {"X": [[] for _ in range(count)], "N": [[] for _ in range(count)]}
        for name, _, shape, array, _ in self.inputs:
            size, entries = math.prod(shape), inputs[name][2]
            for k in range(count):
                rows[array][k] += entries[k * size : (k + 1) * size]
        return rows["X"], [[int(v) for v in row] for row in rows["N"]]

    def results(self, dtype, wrt, ys, ms, gradients):
        """One result per point, from rows of outputs and of derivatives by all floats (or None)."""
        found = []
        for k in range(len(ys)):
            values = []
            for _, kind, shape, array, start in self.outputs:
                row = (ys if array == "Y" else ms)[k][start : start + math.prod(shape)]
                name = {"float": dtype, "int": "int64", "bool": "bool"}[kind]
                values.append((name, shape, [v != 0 for v in row] if kind == "bool" else list(row)))
            slopes = {}
            for name, _, shape, _, start in self.inputs:
                if gradients is not None and name in wrt:
                    slopes[name] = dtype, shape, list(gradients[k][start : start + math.prod(shape)])
            found.append({"ok": (values, {n: slopes[n] for n in wrt} if gradients is not None else {})})
        return found

    def weights(self, request):
        """The weights of all entries of the float outputs: 0 for an output without a weight."""
        weights = []
        for (_, kind, shape, _, _), tensor in zip(self.outputs, request["weights"]):
            if kind == "float":
                weights += [0.0] * math.prod(shape) if tensor is None else kit.decode_tensor(tensor)[2]
        return weights


def entries_of(shape):
    """All indices of an array, in row-major order."""
    return list(itertools.product(*map(range, shape)))


def broadcast_entry(place, shape):
    """The index, in an array of this shape, that broadcasts to an index of the result."""
    return tuple(0 if n == 1 else k for k, n in zip(place[len(place) - len(shape) :], shape))


def count_of_loop(s):
    """The trip count of a loop if it is a constant, else None."""
    return s["count"]["int"] if isinstance(s["count"], dict) and "int" in s["count"] else None


def moved(place_of):
    """An op that moves entries: `place_of(place, shapes, **params)` is the operand and the index in it."""

    def write(writer, sources, types, result, **params):
        sources = [writer.bound(s) for s in sources]
        shapes = [t[1] for t in types]
        parts = []
        for place in entries_of(result[1]):
            k, there = place_of(place, shapes, result[1], **params)
            parts.append(writer.entry(sources[k], there))
        return writer.array(result[0], result[1], parts) if result[1] else parts[0]

    return write


def place_in_concat(place, shapes, result, axis):
    axis %= len(result)
    k, at = 0, place[axis]
    while at >= shapes[k][axis]:
        at -= shapes[k][axis]
        k += 1
    return k, (*place[:axis], at, *place[axis + 1 :])


def place_in_stack(place, shapes, result, axis):
    axis %= len(result)
    return place[axis], (*place[:axis], *place[axis + 1 :])


def reshaped(place, shapes, result, shape):
    flat = sum(k * math.prod(result[a + 1 :]) for a, k in enumerate(place))
    return 0, entries_of(shapes[0])[flat] if shapes[0] else ()


def flipped(place, shapes, result, axis):
    axis %= len(result)
    return 0, tuple(n - 1 - k if a == axis else k for a, (k, n) in enumerate(zip(place, result)))


MOVES = {
    "reshape": moved(reshaped),
    "broadcast_to": moved(lambda place, shapes, result, shape: (0, broadcast_entry(place, shapes[0]))),
    "flip": moved(flipped),
    "concat": moved(place_in_concat),
    "stack": moved(place_in_stack),
}
"""Ops that move entries, entry by entry."""

SIGNS = {
    "less": "<",
    "less_equal": "<=",
    "greater": ">",
    "greater_equal": ">=",
    "equal": "==",
    "not_equal": "!=",
}
"""Comparisons as all these libraries write them."""


def elementwise(template, whole=lambda shapes, result: not result):
    """An op on entries. `whole` says of the operands' shapes and the result's whether the template takes
    arrays as they are; else they are written entry by entry.
    """

    def write(writer, sources, types, result):
        if whole([t[1] for t in types], result[1]):
            return template.format(*sources)
        return writer.by_entry(lambda entries: template.format(*entries), sources, types, result)

    return write


def astype(writer, sources, types, result, dtype):
    ((own, shape),) = types
    if not shape:
        return writer.converted(sources[0], own, dtype)
    return writer.by_entry(lambda entries: writer.converted(entries[0], own, dtype), sources, types, result)


def total(writer, sources, types, result, axis, keepdims, mean=False, of_all=""):
    """A sum over some axes is written out; `of_all` is the library's own over all entries, if it has one."""
    source, (dtype, shape) = writer.bound(sources[0]), types[0]
    chosen = axis if isinstance(axis, tuple) else (axis,)
    axes = range(len(shape)) if axis is None else [a % len(shape) for a in chosen]
    kept = [k for k in range(len(shape)) if k not in axes]
    if of_all and not kept:
        parts = [of_all.format(source)]
    else:
        sums = {}
        for place in entries_of(shape):
            sums.setdefault(tuple(place[k] for k in kept), []).append(writer.entry(source, place))
        parts = ["(" + " + ".join(terms) + ")" for terms in sums.values()]
    if mean:
        size = writer.constant("float", float(math.prod(shape) // len(parts)))
        parts = [f"({part} / {size})" for part in parts]
    return writer.array(dtype, result[1], parts) if result[1] else parts[0]


class Writer:
    """The lines of one kernel.

    `ops` maps an op to a function of the writer, the operands' sources and types, the result's type and the
    parameters.
    """

    ops = {}
    most_axes = 2

    def __init__(self, form):
        self.form = form
        self.lines = []
        self.types = {name: kit._type(text) for name, text in form["variables"].items()}
        self.defined = set()
        self._depth = 0
        self._fresh = itertools.count()
        self.in_condition = False
        for dtype, shape in self.types.values():
            self.checked(dtype, shape)

    # The library's syntax

    def constant(self, dtype, value):
        """The source of a scalar."""
        raise NotImplementedError

    def array(self, dtype, shape, parts):
        """The source of a vector or a matrix of these entries."""
        raise NotImplementedError

    def place(self, array, k):
        """The source of entry k of this thread's row of an array."""
        return f"{array}[p, {k}]"

    def copied(self, source, shape):
        """The source of a copy that may be changed in place."""
        return source

    def count(self, source):
        """The source of a loop's trip count."""
        return source

    def checked(self, dtype, shape):
        """Refuses types for which the library has no local variables."""
        if len(shape) > self.most_axes or 0 in shape or math.prod(shape) > MOST_ENTRIES:
            raise kit.Unsupported(f"there are no local arrays of this shape here: {list(shape)}")

    # Lines

    def line(self, text):
        self.lines.append("    " * self._depth + text)

    def fresh(self, stem="t"):
        return f"{stem}{next(self._fresh)}"

    def bound(self, source):
        """A name for a value that is read more than once."""
        if source.isidentifier():
            return source
        if self.in_condition:
            raise kit.Unsupported("the condition of a loop needs names of its own")
        name = self.fresh()
        self.line(f"{name} = {source}")
        return name

    def name(self, variable):
        return f"v_{variable}"

    def zero(self, dtype, shape):
        zero = self.constant(dtype, {"float": 0.0, "int": 0, "bool": False}[dtype])
        return self.array(dtype, shape, [zero] * math.prod(shape)) if shape else zero

    def written(self, layout, depth):
        """The lines of a kernel's body, indented `depth` times."""
        self._depth = depth
        for name, dtype, shape, array, start in layout.inputs:
            parts = [self.loaded(array, start + k, dtype) for k in range(math.prod(shape))]
            self.line(f"{self.name(name)} = {self.array(dtype, shape, parts) if shape else parts[0]}")
            self.defined.add(name)
        self.block(self.form["body"][:-1])
        for e, (_, dtype, shape, array, start) in zip(self.form["body"][-1]["return"], layout.outputs):
            source = self.bound(self.expression(e))
            for k, place in enumerate(entries_of(shape)):
                self.line(f"{self.place(array, start + k)} = {self.stored(self.entry(source, place), dtype)}")
        return "\n".join(self.lines) + "\n"

    def loaded(self, array, k, dtype):
        source = self.place(array, k)
        return f"({source} != {self.constant('int', 0)})" if dtype == "bool" else source

    def stored(self, source, dtype):
        """An entry in the type of its array."""
        return self.converted(source, "bool", "int") if dtype == "bool" else source

    # Expressions

    def type_of(self, e):
        if isinstance(e, str):
            return self.types[e]
        if "op" in e:
            return kit._type(e["type"])
        if "array" in e:
            return e["array"], tuple(e["shape"])
        return next(iter(e)), ()

    def expression(self, e):
        if isinstance(e, str):
            return self.name(e)
        if "op" in e:
            return self.call(e)
        if "array" in e:
            values = [self.constant(e["array"], self._number(v)) for v in e["values"]]
            self.checked(e["array"], tuple(e["shape"]))
            return self.array(e["array"], tuple(e["shape"]), values)
        ((dtype, value),) = e.items()
        return self.constant(dtype, self._number(value))

    def _number(self, value):
        return kit._SPECIAL[value] if isinstance(value, str) else value

    def call(self, e):
        op, result = e["op"], kit._type(e["type"])
        if op not in self.ops:
            raise kit.Unsupported(f"there is no op {op} here")
        types = [self.type_of(a) for a in e["args"]]
        self.checked(*result)
        params = {name: kit._tuples(value) for name, value in e["params"].items()}
        return self.ops[op](self, [self.expression(a) for a in e["args"]], types, result, **params)

    def entry(self, source, place):
        """The source of an entry of an array, at a constant index."""
        return f"{source}[{', '.join(map(str, place))}]" if place else source

    def by_entry(self, function, sources, types, result):
        """An elementwise op on arrays, entry by entry; `function` takes the sources of scalars."""
        sources = [self.bound(s) for s in sources]
        parts = [
            function([self.entry(s, broadcast_entry(place, t[1])) for s, t in zip(sources, types)])
            for place in entries_of(result[1])
        ]
        return self.array(result[0], result[1], parts)

    def converted(self, source, own, wanted):
        """A scalar of another dtype."""
        raise NotImplementedError

    # Statements

    def block(self, statements):
        if not statements:
            self.line("pass")
        for s in statements:
            self.statement(s)

    def inside(self, statements):
        """A nested block: names defined inside are undefined after it."""
        self._depth += 1
        before = set(self.defined)
        self.block(statements)
        self.defined = before
        self._depth -= 1

    def define(self, names):
        """Initializes names that a block below assigns and that are read after it."""
        for name in names:
            if name not in self.defined:
                self.line(f"{self.name(name)} = {self.zero(*self.types[name])}")
                self.defined.add(name)

    def statement(self, s):
        if s in ("break", "continue"):
            self.line(s)
        elif "assign" in s:
            source = self.expression(s["value"])
            self.assign(s["assign"], source)
            self.defined.add(s["assign"])
        elif "if" in s:
            self.branch(s)
        elif "for" in s:
            self.define([*s["carries"], *s["results"]])
            self.counted(s)
        elif "while" in s:
            self.define([*s["carries"], *s["results"]])
            self.repeated(s)
        else:
            raise kit.BadRequest("a statement with {} is none".format(", ".join(map(repr, s))))

    def assign(self, name, source):
        self.line(f"{self.name(name)} = {source}")

    def branch(self, s):
        self.define(s["assigns"])
        self.line(f"if {self.expression(s['if'])}:")
        self.inside(s["then"])
        if s["else"]:
            self.line("else:")
            self.inside(s["else"])

    def counted(self, s):
        trip = self.fresh("i")
        self.line(f"for {trip} in {self.range_of(s)}:")
        self.trip_begins(s, trip)
        self.inside(s["body"])

    def range_of(self, s):
        literal = count_of_loop(s)
        return f"range({literal if literal is not None else self.count(self.expression(s['count']))})"

    def trip_begins(self, s, trip):
        self._depth += 1
        self.line(f"{self.name(s['for'])} = {self.converted(trip, 'trip', 'int')}")
        self.defined.add(s["for"])
        self._depth -= 1

    def repeated(self, s):
        """A loop with a condition. If the condition follows the body, the first test is skipped."""
        self.in_condition = True
        condition = self.expression(s["while"])
        self.in_condition = False
        begins = []
        if "repeat" in s:
            first, yes, no = self.fresh("first"), self.constant("int", 1), self.constant("int", 0)
            self.line(f"{first} = {yes}")
            condition, begins = f"({first} == {yes} or {condition})", [f"{first} = {no}"]
        condition, counted = self.watched(condition)
        self.line(f"while {condition}:")
        for text in begins + counted:
            self.line("    " + text)
        self.inside(s["body"] if "body" in s else s["repeat"])

    def watched(self, condition):
        """The condition of a loop that may not end, and the lines before each iteration: here no limit."""
        return condition, []
