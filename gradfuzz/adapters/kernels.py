"""Programs as the source of a kernel, for adapters of libraries that compile Python syntax. Needs only
kit.py, beside it.

A kernel runs a program at many points at once, one per thread. Inputs and outputs are rows of four flat
arrays, one row per point: `X` and `N` hold the inputs (floats; ints and bools), `Y` and `M` the outputs. A
subclass of `Writer` defines the library's syntax.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import math
import operator

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
    if of_all and shape and not kept:
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


# Kernels as people write them -------------------------------------------------------------------------------

FEW = 4
"""A vector or matrix of so many entries is read where it is needed; a larger one is copied before."""

STEPS = {"add": "+", "subtract": "-", "multiply": "*", "divide": "/"}


class PlainWriter(Writer):
    """A kernel for one point. Every input and output is an array of its own, and is read where it is needed.

    Indices stand as people write them: literals (`x[1]`), counters (`x[i]`), and their sums (`x[i + 1]`).
    Scalar ints and bools are arguments of the kernel. `acc = acc + e` is `acc += e`. With `in_place` the
    floats that a loop changes are in arrays, too, which it updates in place.

    `ints` are the names of the arguments; `arrays` are the kernel's arrays: name -> (dtype, shape).
    """

    in_place = False

    def __init__(self, form, *more):
        super().__init__(form, *more)
        body = form["body"][:-1]
        inputs = {name: kit._type(text) for name, text in form["params"]}
        self.ints = [n for n, (dtype, shape) in inputs.items() if dtype != "float" and not shape]
        self.outputs = [kit._type(text) for text in form["outputs"]]
        self.held = _carried_floats(body, self.types) if self.in_place else set()
        self.arrays = {f"a_{n}": t for n, t in inputs.items() if n not in self.ints}
        self.arrays.update({f"s_{n}": self.types[n] for n in sorted(self.held)})
        self.arrays.update({f"y{k}": t for k, t in enumerate(self.outputs)})
        self._inputs = inputs
        self._unchanged = set(inputs) - kit._assigned(body)
        self._native = {n for n in self.ints if n in self._unchanged and inputs[n][0] == "int"}
        self._copied = {}
        self._loops = []
        self._accesses = []

    # The library's syntax

    def cell(self, array, place):
        """The source of an entry of an array; `place` are the sources of its indices, none for a scalar."""
        raise NotImplementedError

    def as_index(self, source):
        """An int of the program as an index or a trip count."""
        raise NotImplementedError

    # Reading

    def name(self, variable):
        dtype, shape = self.types[variable]
        own = super().name(variable)
        if variable in self._native:
            return self.converted(own, "trip", dtype)
        if variable in self.held:
            self._accessed(variable, "read")
            return self._whole(f"s_{variable}", dtype, shape)
        if variable not in self._unchanged:
            return own
        if math.prod(shape) > FEW:
            self._copied[variable] = None
            return own
        return self._given(variable)

    def _given(self, variable):
        """An input as it is given to the kernel."""
        dtype, shape = self._inputs[variable]
        if variable not in self.ints:
            return self._whole(f"a_{variable}", dtype, shape)
        return self.converted(super().name(variable) + "_", "trip", dtype)

    def _whole(self, array, dtype, shape):
        """All entries of an array as a value."""
        parts = [self.cell(array, place) for place in _literals(shape)]
        if dtype == "bool":
            parts = [self.converted(part, "int", "bool") for part in parts]
        return self.array(dtype, shape, parts) if shape else parts[0]

    def call(self, e):
        array = e["args"][0] if e["op"] == "index" else None
        if not isinstance(array, str) or not e["params"]["pattern"] or self.types[array][0] == "bool":
            return super().call(e)
        dtype, shape = kit._type(e["type"])
        self.checked(dtype, shape)
        places = self.places(e["params"]["pattern"], e["args"][1:])
        if array in self.held:
            self._accessed(array, "read")
        if array in self.held or array in self._unchanged:
            parts = [self.cell(("s_" if array in self.held else "a_") + array, at) for at in places]
        else:
            parts = [f"{self.name(array)}[{', '.join(at)}]" for at in places]
        return self.array(dtype, shape, parts) if shape else parts[0]

    def places(self, pattern, indices):
        """The indices of the entries that a pattern selects, as sources."""
        rest = iter(indices)
        choices = [
            [self.index_source(next(rest))] if entry == "at" else [str(k) for k in range(entry[1], entry[2])]
            for entry in kit._tuples(pattern)
        ]
        return list(itertools.product(*choices))

    def index_source(self, e):
        """An index or a trip count, as people write it."""
        if isinstance(e, dict) and "int" in e:
            return str(e["int"])
        if isinstance(e, str) and e in self._native:
            return super().name(e)
        if isinstance(e, dict) and e.get("op") in ("add", "subtract"):
            a, b = (self.index_source(part) for part in e["args"])
            return f"{a} {STEPS[e['op']]} {b if b.isidentifier() or b.isdigit() else f'({b})'}"
        return self.as_index(self.expression(e))

    # Writing

    def statement(self, s):
        name = s.get("assign") if isinstance(s, dict) else None
        if name is None:
            super().statement(s)
        elif name in self.held or self._updates_itself(name, s["value"]):
            self._update(name, s["value"])
            self.defined.add(name)
        else:
            sign, other = self._step(s["value"], lambda e: e == name, self.types[name])
            if sign and not self.types[name][1] and name in self.defined:
                self.line(f"{self.name(name)} {sign}= {self.expression(other)}")
            else:
                super().statement(s)

    def _step(self, value, is_old, own):
        """("+", e) where a value is the old one + e, and so on; else (None, None)."""
        if isinstance(value, dict) and value.get("op") in STEPS and own[0] == "float":
            first, second = value["args"]
            if not is_old(first) and value["op"] in ("add", "multiply"):
                first, second = second, first
            if is_old(first) and self.type_of(second) == own:
                return STEPS[value["op"]], second
        return None, None

    def _updates_itself(self, name, value):
        """Whether entries of an array that the program has defined get new values."""
        known = name in self.defined and isinstance(value, dict) and value.get("op") == "index_update"
        return known and value["args"][0] == name and bool(value["params"]["pattern"])

    def _update(self, name, value):
        """A new value of a variable that is in an array, or of entries of any array."""
        own = self.types[name]
        if self._updates_itself(name, value):
            pattern = value["params"]["pattern"]
            _, value, *indices = value["args"]
            places = self.places(pattern, indices)
            entry = {"op": "index", "args": [name, *indices], "pattern": pattern}
            old, own = functools.partial(_is_entry, entry), self.type_of(value)
        else:
            places, old = _literals(own[1]), functools.partial(operator.eq, name)
        sign, other = self._step(value, old, own)
        value = value if sign is None else other
        source, (_, shape) = self.expression(value), self.type_of(value)
        source = self.bound(source) if shape else source
        parts = [self.entry(source, place) for place in entries_of(shape)]
        self._write(name, sign, places, parts)

    def _write(self, name, sign, places, parts):
        if name in self.held:
            for how in {None: ("write",), "*": ("read", "write"), "/": ("read", "write")}.get(sign, ("add",)):
                self._accessed(name, how)
        for place, part in zip(places, parts):
            local = f"{self.name(name)}[{', '.join(place)}]" if name not in self.held else ""
            self.line(self.updated(local or self.cell(f"s_{name}", place), sign, part))

    def updated(self, cell, sign, value):
        """The statement that updates an entry."""
        return f"{cell} {sign or ''}= {value}"

    def define(self, names):
        for name in self.held.intersection(names) - self.defined:
            dtype, shape = self.types[name]
            places = _literals(shape)
            self._write(name, None, places, [self.zero(dtype, ())] * len(places))
            self.defined.add(name)
        super().define(names)

    def written(self, depth):
        """The lines of the kernel's body, indented `depth` times."""
        self._depth = depth
        for name, (_, shape) in self._inputs.items():
            self.defined.add(name)
            if name in self.held:
                parts = [self.cell(f"a_{name}", place) for place in _literals(shape)]
                self._write(name, None, _literals(shape), parts)
            elif name not in self._unchanged:
                self.line(f"{self.name(name)} = {self._given(name)}")
        self.block(self.form["body"][:-1])
        for k, (e, (dtype, shape)) in enumerate(zip(self.form["body"][-1]["return"], self.outputs)):
            source = self.bound(self.expression(e)) if shape else self.expression(e)
            for own, place in zip(entries_of(shape), _literals(shape)):
                self.line(f"{self.cell(f'y{k}', place)} = {self.stored(self.entry(source, own), dtype)}")
        copies = [
            f"{'    ' * depth}{super(PlainWriter, self).name(n)} = {self._given(n)}" for n in self._copied
        ]
        return "\n".join([*copies, *self.lines]) + "\n"

    def argument(self, name):
        """The name of an argument of the kernel."""
        return super().name(name) + ("" if name in self._native else "_")

    # Loops

    def counted(self, s):
        if s["for"] in kit._assigned(s["body"]):
            with self._loop():
                super().counted(s)
            return
        self.line(f"for {super().name(s['for'])} in {self.range_of(s)}:")
        self._native.add(s["for"])
        with self._loop():
            self.inside(s["body"])

    def range_of(self, s):
        return f"range({self.index_source(s['count'])})"

    def repeated(self, s):
        with self._loop():
            super().repeated(s)

    @contextlib.contextmanager
    def _loop(self):
        self._loops.append(object())
        yield
        self._loops.pop()

    # What libraries forbid

    def _accessed(self, name, how):
        self._accesses.append((name, how, tuple(self._loops)))

    @property
    def changes_what_was_read(self):
        """Whether an entry of an array may be read, and changed afterwards."""
        return self._follows(("add", "write"), ("read",))

    @property
    def overwrites(self):
        """Whether an entry of an array may be written, and overwritten afterwards, other than by += or -=."""
        return self._follows(("write",), ("add", "write"))

    def _follows(self, later, earlier):
        """Whether accesses `later` may follow accesses `earlier` to the same array."""
        return any(
            name == other and then in later and how in earlier and (k < n or set(loops) & set(around))
            for k, (name, how, loops) in enumerate(self._accesses)
            for n, (other, then, around) in enumerate(self._accesses)
        )


def _carried_floats(statements, types):
    """The floats that loops carry."""
    found = set()
    for s in statements:
        if isinstance(s, dict) and "assign" not in s:
            found |= {n for n in s.get("carries", ()) if types[n][0] == "float"}
            for part in ("then", "else", "body", "repeat"):
                found |= _carried_floats(s.get(part, ()), types)
    return found


def _literals(shape):
    """The indices of all entries, as sources."""
    return [tuple(map(str, place)) for place in entries_of(shape)]


def _is_entry(entry, e):
    """Whether an expression reads the entry."""
    same = isinstance(e, dict) and e.get("op") == "index" and e["args"] == entry["args"]
    return same and e["params"]["pattern"] == entry["pattern"]
