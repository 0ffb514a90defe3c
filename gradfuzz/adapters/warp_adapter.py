"""NVIDIA Warp on its CPU device: reverse mode by wp.Tape, first order.

launches    one launch for each op; loops are Python's
kernel      a program is one kernel; Warp unrolls loops with a constant trip count
function    the same in a wp.func that the kernel calls
stored      loops stay loops, and an array keeps their carries, one row for each iteration

Warp's manual says that reverse mode does not replay a loop that is not unrolled ("Dynamic Loops"). So
programs are not asked about that need a value computed in a local variable of such a loop. `stored` is the
remedy that the manual gives.
"""

# mypy: ignore-errors

from __future__ import annotations

import atexit
import functools
import itertools
import linecache
import math
import shutil
import tempfile
import types

import kernels
import kit
import numpy as np
import warp as wp

MOST_UNROLLED = 200
"""The most iterations of all unrolled loops of a program: the compiler's time grows with them."""

FLOATS = {"float64": wp.float64, "float32": wp.float32}


# Spelling ---------------------------------------------------------------------------------------------------


CHOICE = "wp.where({0}, {1}, {2})" if hasattr(wp, "where") else "wp.select({0}, {2}, {1})"
"""The choice by a bool, which older releases have under another name and with the operands the other way."""


def spelled(template, native=""):
    """An elementwise op. `native`: operands of one shape may also be vectors (v) or matrices (m)."""

    def whole(shapes, result):
        return not result or (" vm"[len(result)] in native and set(shapes) == {result})

    return kernels.elementwise(template, whole)


def by_scalar(name, sign, places):
    """A product or quotient: of arrays by a function; by a sign where an operand at `places` is a scalar."""
    of_arrays, of_scalars = (
        kernels.elementwise(template, lambda shapes, result: True)
        for template in (f"wp.{name}({{}}, {{}})", f"({{}} {sign} {{}})")
    )

    def write(writer, sources, types, result):
        if len({t[1] for t in types}) == 1 and result[1]:
            return of_arrays(writer, sources, types, result)
        if any(not types[k][1] for k in places):
            return of_scalars(writer, sources, types, result)
        return spelled(f"({{}} {sign} {{}})")(writer, sources, types, result)

    return write


def integer_pow(writer, sources, types, result, n):
    template = "wp.pow({}, " + writer.constant("float", float(n)) + ")"
    return spelled(template)(writer, sources, types, result)


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


def matmul(writer, sources, types, result):
    if all(len(t[1]) == 1 for t in types):
        return "wp.dot({}, {})".format(*sources)
    return "({} @ {})".format(*sources)


def matrices(template, sizes=()):
    """A function of one matrix, of one of these sizes only."""

    def write(writer, sources, types, result, **params):
        shape = types[0][1]
        square = len(shape) == 2 and len(set(shape)) == 1
        if not square or (sizes and shape[0] not in sizes) or any(params.values()):
            raise kit.Unsupported("Warp has this for small square matrices only")
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
    "multiply": by_scalar("cw_mul", "*", (0, 1)),
    "divide": by_scalar("cw_div", "/", (1,)),
    "negative": spelled("(-{})", "vm"),
    "remainder": spelled("((({0} % {1}) + {1}) % {1})"),  # Warp's is C's
    "maximum": spelled("wp.max({}, {})", "v"),
    "minimum": spelled("wp.min({}, {})", "v"),
    "clip": spelled("wp.clamp({}, {}, {})"),
    "abs": spelled("wp.abs({})", "v"),
    "where": spelled(CHOICE),
    "pow": spelled("wp.pow({}, {})"),
    "integer_pow": integer_pow,
    "logical_and": spelled("({} and {})"),
    "logical_or": spelled("({} or {})"),
    "logical_not": spelled("(not {})"),
    "astype": kernels.astype,
    "sum": kernels.total,  # Warp has no sum of a vector
    "mean": functools.partial(kernels.total, mean=True),
    **kernels.MOVES,
    "permute_dims": transposed,
    "index": index,
    "matmul": matmul,
    "outer": lambda w, s, t, r: "wp.outer({}, {})".format(*s),
    "trace": matrices("wp.trace({})"),
    "diagonal": matrices("wp.get_diag({})"),
    "det": matrices("wp.determinant({})", (2, 3, 4)),
    "inv": matrices("wp.inverse({})", (2, 3, 4)),
    "qr": qr,
    "vector_norm": norm,
}
OPS.update({op: spelled(f"wp.{op}({{}})") for op in ("sin", "cos", "tan", "tanh", "exp", "log", "sqrt")})
OPS.update({op: spelled(f"({{}} {sign} {{}})") for op, sign in kernels.SIGNS.items()})
"""Warp lacks ops without a row (log1p, expm1, sign with a zero, ...). Its manual says that an entry of a
vector may be assigned once: so no index_update.
"""


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
        # The constructor of 2 x 1, 4 x 1, ... is ambiguous to Warp's C++ compiler.
        if len(shape) == 2 and 1 in shape and len(parts) > 1:
            rows = [parts] if shape[0] == 1 else [[part] for part in parts]
            return f"wp.matrix_from_rows({', '.join(self.array(dtype, (len(row),), row) for row in rows)})"
        return f"{self.constructor(dtype, shape)}({', '.join(parts)})"

    def constructor(self, dtype, shape):
        name = "{}{}".format(dtype, "x".join(map(str, shape)))
        if name not in self.names:
            scalar = self.names["F" if dtype == "float" else "I"]
            vector = len(shape) == 1
            self.names[name] = wp.types.vector(shape[0], scalar) if vector else wp.types.matrix(shape, scalar)
        return name

    def count(self, source):
        return f"int({source})"

    def converted(self, source, own, wanted):
        if own == "bool":
            one = self.constant(wanted, 1.0 if wanted == "float" else 1)
            return CHOICE.format(source, one, self.zero(wanted, ()))
        if wanted == "bool":
            return f"({source} != {self.zero(own, ())})"
        return f"{'F' if wanted == 'float' else 'I'}({source})"


def unrolled(form):
    """The iterations of all loops, if every trip count is constant; refuses what Warp would not unroll."""

    def of(statements):
        found = 1
        for s in statements:
            if s == "break":
                words = "is not unrolled, and what it computes not replayed on the way back"
                raise kit.Unsupported(f"a loop that is left early {words}")
            if isinstance(s, dict) and "if" in s:
                found += of(s["then"]) + of(s["else"])
            elif isinstance(s, dict) and "for" in s:
                trips = kernels.count_of_loop(s)
                if trips is None:
                    words = "a number that is not constant is not replayed on the way back"
                    raise kit.Unsupported(f"a loop over {words}")
                found += trips * of(s["body"])
            elif isinstance(s, dict) and "while" in s:
                raise kit.Unsupported("a loop with a condition is not replayed on the way back")
        return found

    found = of(form["body"][:-1])
    if found > MOST_UNROLLED:
        raise kit.Unsupported(f"{found} statements after unrolling take too long to compile")


# Compiling --------------------------------------------------------------------------------------------------

_numbers = itertools.count()


def defined(source, names, most_unrolled=1024):
    """The functions of a source, in a module of their own, where Warp finds their lines."""
    number = next(_numbers)
    file = f"<program {number}>"
    linecache.cache[file] = len(source), None, source.splitlines(True), file
    scope = dict(names, __name__=f"program_{number}")
    exec(compile(source, file, "exec"), scope)  # noqa: S102 - the source is what we wrote
    python_module = types.ModuleType(scope["__name__"])  # older releases take no module of Warp's
    wp.set_module_options({"max_unroll": most_unrolled}, module=python_module)
    return scope


PARAMETERS = [f"{name}: wp.array2d(dtype={'F' if name in 'XY' else 'I'})" for name in "XNYM"]


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
        return entries  # entries of a constant: the kernel writes them itself

    def answer(self, program, request, inputs):
        dtype, count = request["dtype"], request["count"]
        layout = kernels.Layout(program.form)
        key = id(program), dtype, self.variant(program.form, request, inputs)
        if key not in self._compiled:
            if len(self._compiled) > 64:
                self._compiled.clear()
            scope = self.compiled(program.form, layout, dtype, key[2])
            self._compiled[key] = scope, program  # keeps the program, so that no other one gets its id
        xs, ns = layout.rows(inputs, count)
        scalar, widths = FLOATS[dtype], layout.widths
        X, N = rows(xs, count, widths["X"], scalar), rows(ns, count, widths["N"], wp.int64)
        Y, M = rows(None, count, widths["Y"], scalar), rows(None, count, widths["M"], wp.int64)
        slopes = self.launched(self._compiled[key][0], request, layout, [X, N, Y, M])
        return layout.results(dtype, request["wrt"], Y.numpy().tolist(), M.numpy().tolist(), slopes)

    def variant(self, form, request, inputs):
        """Further parts of a question that are compiled into the kernel."""
        return ()

    def compiled(self, form, layout, dtype, variant):
        unrolled(form)
        writer = Writer(form, dtype)
        return defined(kernel_of(writer.written(layout, 1)), writer.names)

    def launched(self, scope, request, layout, arrays):
        """Runs the kernel; the derivatives by all floats of every point, or None if none are asked for."""
        X, _, Y, _ = arrays
        count, scalar = request["count"], FLOATS[request["dtype"]]
        tape = wp.Tape()
        with tape:
            inputs = [*arrays, *self.more(scope, count, scalar)]
            wp.launch(scope["program"], dim=count, inputs=inputs, device="cpu")
        if not request["modes"]:
            return None
        weights = layout.weights(request)
        tape.backward(grads={Y: rows([weights] * count, count, len(weights), scalar)})
        return X.grad.numpy().tolist()

    def more(self, scope, count, scalar):
        """Further arrays that the kernel takes."""
        return []


def rows(values, count, width, dtype):
    """An array with a row for each point, and at least one column."""
    host = np.zeros((count, max(width, 1)), wp.dtype_to_numpy(dtype))
    if values is not None and width:
        host[:, :width] = values
    return wp.array(host, dtype=dtype, device="cpu", requires_grad=dtype != wp.int64)


# Functions --------------------------------------------------------------------------------------------------


class FunctionWriter(Writer):
    """A program as a function of its inputs."""

    def written(self, layout, depth):
        self._depth = depth
        self.defined.update(name for name, *_ in layout.inputs)
        self.block(self.form["body"][:-1])
        results = [self.bound(self.expression(e)) for e in self.form["body"][-1]["return"]]
        self.line("return " + ", ".join(results))
        annotated = [f"{self.name(p[0])}: {self.annotation(*p[1:3])}" for p in layout.inputs]
        parameters = ", ".join(annotated)
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


# Loops whose carries are stored -----------------------------------------------------------------------------


def most_trips(form, inputs):
    """The most iterations of each loop at these points, in the order of the loops."""
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
    """Each iteration reads the carries from a row of `S` (floats) or `T` (ints, bools), writes the next."""

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
                    value = self.stored(self.entry(self.name(name), entry), dtype)
                    self.line(f"{place(array, column, row)} = {value}")

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
    """Loops are loops of the kernel; an array keeps their carries, one row for each iteration."""

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
        sizes = scope["sizes"]
        return [rows(None, count, sizes["S"], scalar), rows(None, count, sizes["T"], wp.int64)]


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
                value = writer.stored(writer.entry(name, place), kind)
                lines.append(f"    {writer.place(array, start + k)} = {value}")
        return defined(function + kernel_of("\n".join(lines) + "\n"), writer.names)


# One launch for each op -------------------------------------------------------------------------------------

ENTRYWISE = {
    "add": "a[i] + b[i]",
    "subtract": "a[i] - b[i]",
    "multiply": "a[i] * b[i]",
    "divide": "a[i] / b[i]",
    "pow": "wp.pow(a[i], b[i])",
    "maximum": "wp.max(a[i], b[i])",
    "minimum": "wp.min(a[i], b[i])",
    "clip": "wp.clamp(a[i], b[i], c[i])",
    "negative": "-a[i]",
    "integer_pow": "wp.pow(a[i], n)",
    **{op: f"wp.{op}(a[i])" for op in ("abs", "sin", "cos", "tan", "tanh", "exp", "log", "sqrt")},
}
PRELUDE = f"""@wp.kernel
def where(q: wp.array(dtype=wp.bool), a: wp.array(dtype=F), b: wp.array(dtype=F), y: wp.array(dtype=F)):
    i = wp.tid()
    y[i] = {CHOICE.format("q[i]", "a[i]", "b[i]")}

@wp.kernel
def moved(a: wp.array(dtype=F), k: wp.array(dtype=int), m: wp.array(dtype=int), y: wp.array(dtype=F)):
    i = wp.tid()
    y[m[i]] = a[k[i]]

@wp.kernel
def total(a: wp.array(dtype=F), k: wp.array(dtype=int), y: wp.array(dtype=F)):
    i = wp.tid()
    wp.atomic_add(y, k[i], a[i])

@wp.kernel
def weighed(a: wp.array(dtype=F), w: wp.array(dtype=F), y: wp.array(dtype=F)):
    i = wp.tid()
    wp.atomic_add(y, 0, w[i] * a[i])

"""


def launched_ops(dtype):
    """The kernels of all ops of a dtype, in one module."""
    source = PRELUDE
    for op, text in ENTRYWISE.items():
        arrays = [name for name in "abc" if f"{name}[i]" in text]
        number = ["n: F"] if "n)" in text else []
        parameters = [*(f"{name}: wp.array(dtype=F)" for name in arrays), *number, "y: wp.array(dtype=F)"]
        source += f"@wp.kernel\ndef {op}({', '.join(parameters)}):\n    i = wp.tid()\n    y[i] = {text}\n\n"
    return defined(source, {"wp": wp, "F": FLOATS[dtype]})


class Tensor:
    """Floats in a flat array of Warp's."""

    def __init__(self, data, shape):
        self.data, self.shape, self.size = data, tuple(shape), math.prod(shape)
        self.dtype = "float64" if data.dtype == wp.float64 else "float32"

    def numpy(self):
        return self.data.numpy()[: self.size].reshape(self.shape)


def tensor(dtype, shape, entries=None):
    """A tensor of these entries, or of zeros. Warp's arrays have at least one entry here."""
    host = np.zeros(max(math.prod(shape), 1), dtype)
    if entries is not None:
        host[: len(entries)] = entries
    return Tensor(wp.array(host, dtype=FLOATS[dtype], device="cpu", requires_grad=True), shape)


_modules = {}


def launch(op, operands, result, more=(), dim=None):
    """Launches the kernel of an op, and returns its result."""
    if result.dtype not in _modules:
        _modules[result.dtype] = launched_ops(result.dtype)
    inputs = [x.data if isinstance(x, Tensor) else x for x in (*operands, *more)]
    kernel, dim = _modules[result.dtype][op], result.size if dim is None else dim
    wp.launch(kernel, dim=dim, inputs=inputs, outputs=[result.data], device="cpu")
    return result


def places(array):
    return wp.array(np.ascontiguousarray(array, np.int32).ravel(), dtype=int, device="cpu")


def rearranged(sources, wheres, shape):
    """A tensor of entries of the sources.

    `wheres` has an array of (place in the source, place in the result) for each source.
    """
    result = tensor(sources[0].dtype, shape)
    for x, (own, there) in zip(sources, wheres):
        launch("moved", [x], result, (places(own), places(there)), dim=own.size)
    return result


def numbered(shape):
    return np.arange(math.prod(shape)).reshape(shape)


def view(function):
    """An op that moves entries as NumPy's function does."""

    def call(x, *operands, **params):
        if not isinstance(x, Tensor):
            return np.asarray(function(np.asarray(x), *operands, **params))
        own = np.asarray(function(numbered(x.shape), *operands, **params))
        return rearranged([x], [(own, numbered(own.shape))], own.shape)

    return call


def joined(function):
    def call(*arrays, axis):
        if not isinstance(arrays[0], Tensor):
            return function([np.asarray(a) for a in arrays], axis)
        starts = np.cumsum([0] + [a.size for a in arrays])
        of_all = np.asarray(function([numbered(a.shape) + s for a, s in zip(arrays, starts)], axis))
        where = np.argsort(of_all.ravel())
        wheres = [(np.arange(a.size), where[s : s + a.size]) for a, s in zip(arrays, starts)]
        return rearranged(arrays, wheres, of_all.shape)

    return call


def update(x, value, *indices, pattern):
    key = key_of(pattern, indices)
    if not isinstance(x, Tensor):
        raise kit.Unsupported("ints are not assigned to here")
    all_places = numbered(x.shape)
    there = np.asarray(all_places[key])
    kept = np.setdiff1d(all_places, there)
    return rearranged([x, value], [(kept, kept), (numbered(value.shape), there)], x.shape)


def key_of(pattern, indices):
    rest = iter(indices)
    return tuple(int(next(rest)) if entry == "at" else slice(entry[1], entry[2]) for entry in pattern)


def entrywise(op):
    """An op on floats by its kernel; on arrays of ints by NumPy."""

    def call(*operands, **params):
        if not isinstance(operands[0], Tensor):
            raise kit.Unsupported("arrays of ints are not computed with here")
        shape = np.broadcast_shapes(*(x.shape for x in operands))
        operands = [x if x.shape == shape else view(np.broadcast_to)(x, shape) for x in operands]
        more = [FLOATS[operands[0].dtype](float(params["n"]))] if params else []
        return launch(op, operands, tensor(operands[0].dtype, shape), more)

    return call


def choice(condition, a, b):
    if not isinstance(a, Tensor):
        return np.where(condition, a, b)
    shape = np.broadcast_shapes(np.shape(condition), a.shape, b.shape)
    a, b = (x if x.shape == shape else view(np.broadcast_to)(x, shape) for x in (a, b))
    mask = np.ascontiguousarray(np.broadcast_to(condition, shape)).ravel()
    mask = wp.array(mask if mask.size else np.zeros(1, bool), dtype=wp.bool, device="cpu")
    return launch("where", [mask, a, b], tensor(a.dtype, shape))


def added(x, axis, keepdims):
    if not isinstance(x, Tensor):
        return np.sum(x, axis=axis, keepdims=keepdims)
    shape, kept = (np.sum(np.zeros(x.shape), axis=axis, keepdims=kd).shape for kd in (keepdims, True))
    there = places(np.broadcast_to(numbered(kept), x.shape))
    return launch("total", [x], tensor(x.dtype, shape), (there,), dim=x.size)


def averaged(x, axis, keepdims):
    result = added(x, axis, keepdims)
    size = tensor(x.dtype, (), [x.size / max(result.size, 1)])
    return LAUNCHED["divide"](result, size)


def compared(function):
    def call(*operands):
        return function(*(x.numpy() if isinstance(x, Tensor) else x for x in operands))

    return call


def cast(x, dtype):
    if isinstance(x, Tensor):
        raise kit.Unsupported("there is one dtype of floats in a program")
    if dtype.startswith("float"):
        return tensor(dtype, np.shape(x), np.ravel(np.asarray(x, dtype)))
    return np.asarray(x).astype(dtype)


IN_NUMPY = (*kernels.SIGNS, "logical_and", "logical_or", "logical_not", "remainder")
LAUNCHED = {
    **{op: entrywise(op) for op in ENTRYWISE},
    **{op: compared(getattr(np, op)) for op in IN_NUMPY},
    "where": choice,
    "sum": added,
    "mean": averaged,
    "astype": cast,
    "reshape": view(lambda x, shape: x.reshape(shape)),
    "broadcast_to": view(lambda x, shape: np.broadcast_to(x, shape)),
    "permute_dims": view(lambda x, axes: np.transpose(x, axes)),
    "flip": view(lambda x, axis: np.flip(x, axis)),
    "take": view(lambda x, indices, axis: np.take(x, indices, axis)),
    "index": view(lambda x, *indices, pattern: x[key_of(pattern, indices)]),
    "index_update": update,
    "concat": joined(np.concatenate),
    "stack": joined(np.stack),
    "diagonal": view(lambda x, offset: np.diagonal(x, offset, -2, -1)),
}


class Launches(kit.Way):
    """One launch for each op, recorded on one tape; loops are Python's."""

    name = "launches"
    ops = LAUNCHED

    def array(self, dtype, shape, entries):
        if dtype in FLOATS:
            return tensor(dtype, shape, entries)
        return np.array(entries, dtype).reshape(shape)

    def entries(self, value):
        host = value.numpy() if isinstance(value, Tensor) else np.asarray(value)
        return host.dtype.name, host.shape, host.ravel().tolist()

    def differentiate(self, f, xs, weights, directions, modes):
        tape = wp.Tape()
        with tape:
            outputs = f(*xs)
            loss = tensor(xs[0].dtype, ())
            for y, w in zip(outputs, weights):
                if w is not None:
                    launch("weighed", [y, w], loss, dim=y.size)
        if not modes:
            return outputs, []
        tape.backward(loss.data)
        return outputs, [Tensor(x.data.grad, x.shape) for x in xs]


if __name__ == "__main__":
    wp.config.quiet = True
    wp.config.kernel_cache_dir = tempfile.mkdtemp(prefix="gradfuzz-warp-")
    atexit.register(shutil.rmtree, wp.config.kernel_cache_dir, ignore_errors=True)
    wp.init()
    kit.serve("warp", wp.config.version, [Launches(), Kernel(), Function(), Stored()])
