"""NVIDIA Warp on its CPU device: reverse mode by wp.Tape, first order.

launches    one launch for each op; loops are Python's
kernel      a program is one kernel; loops over a number of trips are unrolled by Warp
function    the same in a wp.func that the kernel calls
grad        wp.grad of that function
stored      loops stay loops, and what they carry is kept in an array, one row for each trip

Warp's manual says that a loop which is not unrolled is not replayed on the way back ("Dynamic Loops"): what needs a value that such a loop computed in a local
variable is not asked about. `stored` is the remedy that the manual names.
"""

# mypy: ignore-errors

from __future__ import annotations

import atexit
import itertools
import linecache
import math
import shutil
import tempfile

import kernels
import kit
import numpy as np
import warp as wp

__all__ = ["Function", "Grad", "Kernel", "Stored"]

MOST_UNROLLED = 200
"""Trips of all unrolled loops of a program; the compiler's time grows with them."""

FLOATS = {"float64": wp.float64, "float32": wp.float32}


# Spelling --------------------------------------------------------------------------------------------------------------


def spelled(template, native=""):
    """An elementwise op. Where the operands of one shape are vectors (v) or matrices (m) too, `native` says so."""

    def write(writer, sources, types, result):
        shapes = {t[1] for t in types}
        kind = " vm"[len(result[1])]
        if not result[1] or (kind in native and shapes == {result[1]}):
            return template.format(*sources)
        return writer.by_entry(lambda entries: template.format(*entries), sources, types, result)

    return write


def product(writer, sources, types, result):
    if len({t[1] for t in types}) == 1 and result[1]:
        return "wp.cw_mul({}, {})".format(*sources)
    if any(not t[1] for t in types):
        return "({} * {})".format(*sources)
    return writer.by_entry(lambda entries: "({} * {})".format(*entries), sources, types, result)


def quotient(writer, sources, types, result):
    if len({t[1] for t in types}) == 1 and result[1]:
        return "wp.cw_div({}, {})".format(*sources)
    if not types[1][1]:
        return "({} / {})".format(*sources)
    return writer.by_entry(lambda entries: "({} / {})".format(*entries), sources, types, result)


def astype(writer, sources, types, result, dtype):
    ((own, shape),) = types
    if not shape:
        return writer.converted(sources[0], own, dtype)
    return writer.by_entry(lambda entries: writer.converted(entries[0], own, dtype), sources, types, result)


def total(writer, sources, types, result, axis, keepdims, mean=False):
    """Warp has no sum of a vector: the entries are added up."""
    source, (dtype, shape) = writer.bound(sources[0]), types[0]
    axes = range(len(shape)) if axis is None else [a % len(shape) for a in (axis if isinstance(axis, tuple) else (axis,))]
    kept = [k for k in range(len(shape)) if k not in axes]
    sums = {}
    for place in kernels.entries_of(shape):
        sums.setdefault(tuple(place[k] for k in kept), []).append(writer.entry(source, place))
    parts = ["(" + " + ".join(terms) + ")" for terms in sums.values()]
    if mean:
        size = writer.constant("float", float(math.prod(shape) // len(parts)))
        parts = [f"({part} / {size})" for part in parts]
    return writer.array(dtype, result[1], parts) if result[1] else parts[0]


def moved(place_of):
    """An op that moves entries: `place_of(place, shapes, **params)` is the operand and the place in it."""

    def write(writer, sources, types, result, **params):
        sources = [writer.bound(s) for s in sources]
        shapes = [t[1] for t in types]
        parts = []
        for place in kernels.entries_of(result[1]):
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
    return 0, kernels.entries_of(shapes[0])[flat] if shapes[0] else ()


def flipped(place, shapes, result, axis):
    axis %= len(result)
    return 0, tuple(n - 1 - k if a == axis else k for a, (k, n) in enumerate(zip(place, result)))


def transposed(writer, sources, types, result, axes):
    return f"wp.transpose({sources[0]})" if axes == (1, 0) else sources[0]


def index_of(writer, pattern, indices):
    rest = iter(indices)
    return ", ".join(f"int({next(rest)})" if entry == "at" else f"{entry[1]}:{entry[2]}" for entry in pattern)


def no_empty_slices(pattern):
    if any(entry != "at" and entry[1] == entry[2] for entry in pattern):
        raise kit.Unsupported("there are no arrays without entries here")


def index(writer, sources, types, result, pattern):
    if not pattern:
        return sources[0]
    no_empty_slices(pattern)
    return f"{writer.bound(sources[0])}[{index_of(writer, pattern, sources[1:])}]"


def index_update(writer, sources, types, result, pattern):
    """A copy, and an assignment to its entries. The manual's caveat: an entry may be assigned once, besides where it is made."""
    array, value, *indices = sources
    if not pattern:
        return value
    no_empty_slices(pattern)
    name = writer.fresh("u")
    writer.line(f"{name} = {writer.copied(array, types[0][1])}")
    writer.line(f"{name}[{index_of(writer, pattern, indices)}] = {value}")
    return name


def matmul(writer, sources, types, result):
    if all(len(t[1]) == 1 for t in types):
        return "wp.dot({}, {})".format(*sources)
    return "({} @ {})".format(*sources)


def matrices(template, sizes=()):
    """A function of one matrix, of one of these sizes only."""

    def write(writer, sources, types, result, **params):
        if len(types[0][1]) != 2 or (sizes and types[0][1][0] not in sizes) or any(params.values()):
            raise kit.Unsupported("Warp has this for small matrices only")
        return template.format(*sources)

    return write


def qr(writer, sources, types, result, mode, part):
    if types[0][1] != (3, 3):
        raise kit.Unsupported("Warp has this for 3 x 3 matrices only")
    q, r = writer.fresh("q"), writer.fresh("r")
    writer.line(f"{q}, {r} = wp.qr3({sources[0]})")
    return (q, r)[part]


def norm(writer, sources, types, result, ord, axis, keepdims):
    if len(types[0][1]) != 1 or keepdims or axis not in (None, 0, -1) or ord not in (1, 2):
        raise kit.Unsupported("Warp has norms of vectors only")
    return f"wp.{'norm_l1' if ord == 1 else 'length'}({sources[0]})"


OPS = {
    "add": spelled("({} + {})", "vm"),
    "subtract": spelled("({} - {})", "vm"),
    "multiply": product,
    "divide": quotient,
    "negative": spelled("(-{})", "vm"),
    "remainder": spelled("((({0} % {1}) + {1}) % {1})"),  # Warp's is C's
    "maximum": spelled("wp.max({}, {})", "v"),
    "minimum": spelled("wp.min({}, {})", "v"),
    "clip": spelled("wp.clamp({}, {}, {})"),
    "abs": spelled("wp.abs({})", "v"),
    "where": spelled("wp.where({}, {}, {})"),
    "pow": spelled("wp.pow({}, {})"),
    "integer_pow": lambda w, s, t, r, n: spelled("wp.pow({}, " + w.constant("float", float(n)) + ")")(w, s, t, r),
    "logical_and": spelled("({} and {})"),
    "logical_or": spelled("({} or {})"),
    "logical_not": spelled("(not {})"),
    "astype": astype,
    "sum": total,
    "mean": lambda *operands, **params: total(*operands, mean=True, **params),
    "reshape": moved(reshaped),
    "broadcast_to": moved(lambda place, shapes, result, shape: (0, kernels.broadcast_entry(place, shapes[0]))),
    "permute_dims": transposed,
    "flip": moved(flipped),
    "concat": moved(place_in_concat),
    "stack": moved(place_in_stack),
    "index": index,
    "index_update": index_update,
    "matmul": matmul,
    "outer": lambda w, s, t, r: "wp.outer({}, {})".format(*s),
    "trace": matrices("wp.trace({})"),
    "diagonal": matrices("wp.get_diag({})"),
    "det": matrices("wp.determinant({})", (2, 3, 4)),
    "inv": matrices("wp.inverse({})", (2, 3, 4)),
    "qr": qr,
    "vector_norm": norm,
}
OPS.update({op: spelled(f"wp.{op}({{}})") for op in "sin cos tan tanh exp log sqrt".split()})
OPS.update(
    {
        op: spelled(f"({{}} {sign} {{}})")
        for op, sign in zip("less less_equal greater greater_equal equal not_equal".split(), "< <= > >= == !=".split())
    }
)
"""What has no row (log1p, expm1, sign with a zero, ...) Warp does not have."""


class Writer(kernels.Writer):
    ops = OPS

    def __init__(self, form, dtype):
        self.names = {"wp": wp, "F": FLOATS[dtype], "I": wp.int64, "B": wp.bool}
        super().__init__(form)

    def checked(self, dtype, shape):
        super().checked(dtype, shape)
        if shape and dtype == "bool":
            raise kit.Unsupported("there are no arrays of bools here")
        if len(shape) == 2 and dtype == "int":
            raise kit.Unsupported("there are no matrices of ints here")

    def constant(self, dtype, value):
        if dtype != "float":
            return f"{'I' if dtype == 'int' else 'B'}({value})"
        if value != value:
            return "F(wp.nan)"
        return f"F({'-' if value < 0 else ''}wp.inf)" if math.isinf(value) else f"F({value!r})"

    def array(self, dtype, shape, parts):
        return f"{self.constructor(dtype, shape)}({', '.join(parts)})"

    def constructor(self, dtype, shape):
        name = "{}{}".format(dtype, "x".join(map(str, shape)))
        if name not in self.names:
            scalar = self.names["F" if dtype == "float" else "I"]
            self.names[name] = wp.types.vector(shape[0], scalar) if len(shape) == 1 else wp.types.matrix(shape, scalar)
        return name

    def copied(self, source, shape):
        return f"{self.constructor('float', shape)}({source})" if len(shape) == 1 else source

    def count(self, source):
        return f"int({source})"

    def converted(self, source, own, wanted):
        if own == "bool":
            return f"wp.where({source}, {self.constant(wanted, 1.0 if wanted == 'float' else 1)}, {self.zero(wanted, ())})"
        if wanted == "bool":
            return f"({source} != {self.zero(own, ())})"
        return f"{'F' if wanted == 'float' else 'I'}({source})"


def unrolled(form):
    """How often loops run in all, where every one is over a number; refuses what Warp would not unroll."""

    def of(statements):
        found = 1
        for s in statements:
            if s == "break":
                raise kit.Unsupported(
                    "a loop that is left early is not unrolled, and what it computes not replayed on the way back"
                )
            if isinstance(s, dict) and "if" in s:
                found += of(s["then"]) + of(s["else"])
            elif isinstance(s, dict) and "for" in s:
                trips = kernels.count_of_loop(s)
                if trips is None:
                    raise kit.Unsupported("a loop over a number that is not constant is not replayed on the way back")
                found += trips * of(s["body"])
            elif isinstance(s, dict) and "while" in s:
                raise kit.Unsupported("a loop with a condition is not replayed on the way back")
        return found

    found = of(form["body"][:-1])
    if found > MOST_UNROLLED:
        raise kit.Unsupported(f"{found} statements after unrolling take too long to compile")


# Compiling -------------------------------------------------------------------------------------------------------------

_numbers = itertools.count()


def defined(source, names, most_unrolled=1024):
    """The functions of a source, where Warp finds their lines, in a module of their own."""
    number = next(_numbers)
    file = f"<program {number}>"
    linecache.cache[file] = len(source), None, source.splitlines(True), file
    scope = dict(names, __name__=f"program_{number}")
    exec(compile(source, file, "exec"), scope)
    module = wp.get_module(f"program_{number}")
    wp.set_module_options({"max_unroll": most_unrolled}, module=module)
    return scope


PARAMETERS = [f"{name}: wp.array2d(dtype={dtype})" for name, dtype in (("X", "F"), ("N", "I"), ("Y", "F"), ("M", "I"))]


def kernel_of(body, *more):
    return f"@wp.kernel\ndef program({', '.join([*PARAMETERS, *more])}):\n    p = wp.tid()\n{body}"


class Kernel(kit.Way):
    """A program as one kernel, at all points at once."""

    name = "kernel"
    ops = OPS
    loops = ("for",)
    features = ("branches", "continue", "nested")
    hints = {"stride": 8}

    def __init__(self):
        self._compiled = {}

    def array(self, dtype, shape, entries):
        raise kit.Unsupported("programs are written as kernels here")

    def answer(self, program, request, inputs):
        dtype, count = request["dtype"], request["count"]
        layout = kernels.Layout(program.form)
        key = id(program), dtype, self.variant(program.form, request, inputs)
        if key not in self._compiled:
            if len(self._compiled) > 64:
                self._compiled.clear()
            scope = self.compiled(program.form, layout, dtype, key[2])
            self._compiled[key] = scope, program  # which is kept, so that no other one gets its id
        xs, ns = layout.rows(inputs, count)
        scalar, widths = FLOATS[dtype], layout.widths
        X, N = rows(xs, count, widths["X"], scalar), rows(ns, count, widths["N"], wp.int64)
        Y, M = rows(None, count, widths["Y"], scalar), rows(None, count, widths["M"], wp.int64)
        slopes = self.launched(self._compiled[key][0], request, layout, [X, N, Y, M])
        return layout.results(dtype, request["wrt"], Y.numpy().tolist(), M.numpy().tolist(), slopes)

    def variant(self, form, request, inputs):
        """What else of a question is compiled into the kernel."""
        return None

    def compiled(self, form, layout, dtype, variant):
        unrolled(form)
        writer = Writer(form, dtype)
        return defined(kernel_of(writer.written(layout, 1)), writer.names)

    def launched(self, scope, request, layout, arrays):
        """Runs the kernel, and gives the derivatives by all floats of every point; None where none are asked for."""
        X, _, Y, _ = arrays
        count, scalar = request["count"], FLOATS[request["dtype"]]
        tape = wp.Tape()
        with tape:
            wp.launch(scope["program"], dim=count, inputs=[*arrays, *self.more(scope, count, scalar)], device="cpu")
        if not request["modes"]:
            return None
        weights = layout.weights(request)
        tape.backward(grads={Y: rows([weights] * count, count, len(weights), scalar)})
        return X.grad.numpy().tolist()

    def more(self, scope, count, scalar):
        """Further arrays that the kernel takes."""
        return []


def rows(values, count, width, dtype):
    """An array with a row for each point, and one column at least."""
    host = np.zeros((count, max(width, 1)), wp.dtype_to_numpy(dtype))
    if values is not None and width:
        host[:, :width] = values
    return wp.array(host, dtype=dtype, device="cpu", requires_grad=dtype != wp.int64)


# Functions -------------------------------------------------------------------------------------------------------------


class FunctionWriter(Writer):
    """A program as a function of its inputs."""

    def written(self, layout, depth):
        self._depth = depth
        self.defined.update(name for name, *_ in layout.inputs)
        self.block(self.form["body"][:-1])
        self.line("return " + ", ".join([self.bound(self.expression(e)) for e in self.form["body"][-1]["return"]]))
        parameters = ", ".join(
            f"{self.name(name)}: {self.annotation(dtype, shape)}" for name, dtype, shape, _, _ in layout.inputs
        )
        return f"@wp.func\ndef body({parameters}):\n" + "\n".join(self.lines) + "\n"

    def annotation(self, dtype, shape):
        return self.constructor(dtype, shape) if shape else {"float": "F", "int": "I", "bool": "B"}[dtype]

    def called(self, layout):
        """The call of the function by a kernel."""
        parts = []
        for _, dtype, shape, array, start in layout.inputs:
            entries = [self.loaded(array, start + k, dtype) for k in range(math.prod(shape))]
            parts.append(self.array(dtype, shape, entries) if shape else entries[0])
        return f"body({', '.join(parts)})"


# Loops whose carries are stored ----------------------------------------------------------------------------------------


def most_trips(form, inputs):
    """The most trips of each loop at these points, in the order of the loops."""
    found, params = [], {name for name, _ in form["params"]}

    def of(statements):
        for s in statements:
            if s == "break":
                raise kit.Unsupported("where a loop is left early is not known on the way back")
            if isinstance(s, dict) and "if" in s:
                of(s["then"])
                of(s["else"])
            elif isinstance(s, dict) and "while" in s:
                raise kit.Unsupported("a loop with a condition is not replayed on the way back")
            elif isinstance(s, dict) and "for" in s:
                trips = kernels.count_of_loop(s)
                if trips is None:
                    if s["count"] not in params or s["count"] in kit._assigned(form["body"][:-1]):
                        raise kit.Unsupported("how many rows a loop needs is not known before")
                    trips = max(inputs[s["count"]][2])
                found.append(max(trips, 0))
                of(s["body"])

    of(form["body"][:-1])
    return tuple(found)


class StoringWriter(Writer):
    """What a loop carries is read from a row of `S` (floats) or `T` (ints and bools) in each trip, and written to the next one."""

    def __init__(self, form, dtype, trips):
        super().__init__(form, dtype)
        self.sizes = {"S": 1, "T": 1}
        self._trips = iter(trips)
        self._alias = {}
        self._row, self._rows, self._store = "0", 1, []

    def name(self, variable):
        return self._alias.get(variable, super().name(variable))

    def renamed(self, names):
        self._alias.update({name: self.fresh(f"v_{name}_") for name in names})

    def counted(self, s):
        outer = self._row, self._rows, self._store
        most, carries = next(self._trips), s["carries"]
        places = {name: [] for name in carries}
        widths = {"S": 0, "T": 0}
        for name in carries:
            dtype, shape = self.types[name]
            array = "S" if dtype == "float" else "T"
            for _ in range(math.prod(shape)):
                places[name].append((array, widths[array]))
                widths[array] += 1
        starts, self._rows = dict(self.sizes), self._rows * (most + 1)
        for array, width in widths.items():
            self.sizes[array] += self._rows * width

        def place(array, column, row):
            return f"{array}[p, {starts[array] + column} + ({row}) * {widths[array]}]"

        def store(row):
            for name in carries:
                dtype, shape = self.types[name]
                for entry, (array, column) in zip(kernels.entries_of(shape), places[name]):
                    self.line(f"{place(array, column, row)} = {self.stored(self.entry(self.name(name), entry), dtype)}")

        def load(row):
            self.renamed(carries)
            for name in carries:
                dtype, shape = self.types[name]
                parts = [place(array, column, row) for array, column in places[name]]
                parts = [f"({part} != I(0))" if dtype == "bool" else part for part in parts]
                self.line(f"{self.name(name)} = {self.array(dtype, shape, parts) if shape else parts[0]}")

        first, count, trip, row = (self.fresh(stem) for stem in ("first", "count", "i", "row"))
        self.line(f"{first} = {outer[0]} * {most + 1}")
        literal = kernels.count_of_loop(s)
        self.line(f"{count} = {literal if literal is not None else self.count(self.expression(s['count']))}")
        store(first)
        before = dict(self._alias)
        self.line(f"for {trip} in range({count if literal is None else literal}):")
        self._depth += 1
        self.line(f"{row} = {first} + {trip}")
        self.renamed([*kit._assigned(s["body"]), s["for"]])
        self.line(f"{self.name(s['for'])} = I({trip})")
        self.defined.add(s["for"])
        load(row)
        self._row, self._store = row, [lambda: store(f"{row} + 1")]
        self._depth -= 1
        self.inside(s["body"])
        self._depth += 1
        store(f"{row} + 1")
        self._depth -= 1
        self._alias = before
        self._row, _, self._store = outer
        self._rows = outer[1]
        load(f"{first} + {count}")

    def statement(self, s):
        if s == "continue":
            self._store[-1]()
        super().statement(s)


class Stored(Kernel):
    """Loops are loops of the kernel; what they carry lies in an array, one row for each trip."""

    name = "stored"
    features = ("branches", "continue", "nested", "runtime_trips")

    def variant(self, form, request, inputs):
        return most_trips(form, inputs)

    def compiled(self, form, layout, dtype, variant):
        writer = StoringWriter(form, dtype, variant)
        body = writer.written(layout, 1)
        if max(writer.sizes.values()) > 100_000:
            raise kit.Unsupported("the loops have too many rows")
        scope = defined(kernel_of(body, "S: wp.array2d(dtype=F)", "T: wp.array2d(dtype=I)"), writer.names, 0)
        return {**scope, "sizes": writer.sizes}

    def more(self, scope, count, scalar):
        return [rows(None, count, scope["sizes"]["S"], scalar), rows(None, count, scope["sizes"]["T"], wp.int64)]


class Function(Kernel):
    """A program as a function that the kernel calls."""

    name = "function"

    def compiled(self, form, layout, dtype, variant):
        unrolled(form)
        writer = FunctionWriter(form, dtype)
        function = writer.written(layout, 1)
        names = [f"y{k}" for k in range(len(layout.outputs))]
        lines = [f"    {', '.join(names)} = {writer.called(layout)}"]
        for name, (_, kind, shape, array, start) in zip(names, layout.outputs):
            for k, place in enumerate(kernels.entries_of(shape)):
                lines.append(f"    {writer.place(array, start + k)} = {writer.stored(writer.entry(name, place), kind)}")
        return defined(function + kernel_of("\n".join(lines) + "\n"), writer.names)


if __name__ == "__main__":
    wp.config.quiet = True
    wp.config.kernel_cache_dir = tempfile.mkdtemp(prefix="gradfuzz-warp-")
    atexit.register(shutil.rmtree, wp.config.kernel_cache_dir, ignore_errors=True)
    wp.init()
    kit.serve("warp", wp.config.version, [Kernel(), Function(), Stored()])
