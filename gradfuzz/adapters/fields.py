"""Taichi, and Quadrants, its fork: programs as kernels over fields. Both adapters import this, and pass their
library.

reverse     kernel.grad(): loops are loops, and arrays that are never assigned to are read from the field
vectors     the same with all arrays in local vectors and matrices
unrolled    loops with a constant trip count are ti.static(range(...)), which the compiler unrolls
forward     ad.FwdMode, one run for each entry
functions   the program is a ti.func, which the kernel calls
plain       a field for every input and output, at indices as people write them: x[None], x[1], x[i + 1]
in_place    the same, and floats that a loop changes are fields: y[None] += x[i], ti.atomic_add(y[None], x[i])

The compilers answer "Not supported" to while loops and to `break` and `continue` in differentiated code, and
"WhileStmt is not supported in AutoDiff" to a while loop beside a for loop.
"""

from __future__ import annotations

import ctypes
import functools
import itertools
import linecache
import math
import re
from collections import Counter

import kernels
import kit
import numpy as np

CAPACITY = 4096
"""Entries of each field. A question with more is asked in parts."""
MOST_KERNELS = 150
"""The most cached kernels; beyond them the library is restarted."""


# Spelling ---------------------------------------------------------------------------------------------------


def spelled(template):
    """An elementwise op. The library broadcasts scalars; other shapes are written entry by entry."""
    return kernels.elementwise(template, lambda shapes, result: all(s in ((), result) for s in shapes))


def power(writer, sources, types, result, n):
    return f"({sources[0]} ** {n})" if n >= 0 else f"({sources[0]} ** ({n}))"


total = functools.partial(kernels.total, of_all="{}.sum()")


def sign(writer, sources, types, result):
    found = f"ti.math.sign({sources[0]})"
    return found if result[1] else f"{'F' if result[0] == 'float' else 'ti.i64'}({found})"


def extreme(name):
    def write(writer, sources, types, result, axis, keepdims):
        if result[1] or len(types[0][1]) == 0:
            raise kit.Unsupported("there is the extreme of all entries only")
        return f"{writer.bound(sources[0])}.{name}()"

    return write


def transposed(writer, sources, types, result, axes):
    return f"{writer.bound(sources[0])}.transpose()" if axes == (1, 0) else sources[0]


def index(writer, sources, types, result, pattern):
    if not pattern:
        return sources[0]
    array, *indices = sources
    ats = [f"ti.i32({i})" for i in indices]
    if all(entry == "at" for entry in pattern):
        flat = writer.in_field(array, types[0][1], ats)
        return flat or f"{writer.bound(array)}[{', '.join(ats)}]"
    shape, rest = types[0][1], iter(ats)
    choices = [[next(rest)] if entry == "at" else list(range(entry[1], entry[2])) for entry in pattern]
    array = writer.bound(array)
    parts = [
        writer.in_field(array, shape, [str(k) for k in place]) or f"{array}[{', '.join(map(str, place))}]"
        for place in itertools.product(*choices)
    ]
    return writer.array(result[0], result[1], parts)


def index_update(writer, sources, types, result, pattern):
    array, value, *indices = sources
    if not pattern:
        return value
    name, rest = writer.fresh("u"), iter(indices)
    if writer.in_condition:
        raise kit.Unsupported("the condition of a loop changes an array")
    choices = [
        [f"ti.i32({next(rest)})"] if entry == "at" else list(range(entry[1], entry[2])) for entry in pattern
    ]
    writer.line(f"{name} = {array}")
    value = writer.bound(value)
    for place, own in zip(itertools.product(*choices), kernels.entries_of(types[1][1])):
        writer.line(f"{name}[{', '.join(map(str, place))}] = {writer.entry(value, own)}")
    return name


def matmul(writer, sources, types, result):
    a, b = (writer.bound(s) for s in sources)
    if len(types[1][1]) == 1 and len(types[0][1]) == 1:
        return f"{a}.dot({b})"
    return f"({a} @ {b})"


def method(name, most=(), vectors=False):
    """A method of a square matrix, or of vectors."""

    def write(writer, sources, types, result, **params):
        shape = types[0][1]
        fits = len(shape) == 1 if vectors else len(shape) == 2 and shape[0] == shape[1]
        if not fits or any(params.values()):
            raise kit.Unsupported("the library has this for small square matrices only")
        if most and shape[0] > most:
            raise kit.Unsupported(f"the library has this for matrices up to {most} x {most}")
        first, *others = sources
        return f"{writer.bound(first)}.{name}({', '.join(others)})"

    return write


def solve(writer, sources, types, result):
    if types[0][1] not in ((2, 2), (3, 3)) or len(types[1][1]) != 1:
        raise kit.Unsupported("the library solves 2 x 2 and 3 x 3 systems for a vector")
    return f"ti.solve({writer.bound(sources[0])}, {writer.bound(sources[1])}, F)"


def norm(writer, sources, types, result, ord, keepdims, axis=None):
    rank = len(types[0][1])
    of_all = ord == "fro" or (ord == 2 and rank == 1)
    if keepdims or axis is not None or not rank or not of_all:
        raise kit.Unsupported("the library has the norm of all entries only")
    return f"{writer.bound(sources[0])}.norm()"


OPS = {
    "add": spelled("({} + {})"),
    "subtract": spelled("({} - {})"),
    "multiply": spelled("({} * {})"),
    "divide": spelled("({} / {})"),
    "negative": spelled("(-{})"),
    "remainder": spelled("({} % {})"),
    "maximum": spelled("ti.max({}, {})"),
    "minimum": spelled("ti.min({}, {})"),
    "clip": spelled("ti.math.clamp({}, {}, {})"),
    "pow": spelled("({} ** {})"),
    "integer_pow": power,
    "where": kernels.elementwise("ti.select({}, {}, {})", lambda shapes, result: set(shapes) == {result}),
    "logical_and": kernels.elementwise("({} and {})"),  # the library has these words for scalars only
    "logical_or": kernels.elementwise("({} or {})"),
    "logical_not": kernels.elementwise("(not {})"),
    "astype": kernels.astype,
    "sign": sign,
    "sum": total,
    "mean": functools.partial(total, mean=True),
    "amax": extreme("max"),
    "amin": extreme("min"),
    **kernels.MOVES,
    "permute_dims": transposed,
    "index": index,
    "index_update": index_update,
    "matmul": matmul,
    "outer": method("outer_product", vectors=True),
    "trace": method("trace"),
    "det": method("determinant", 4),
    "inv": method("inverse", 4),
    "solve": solve,
    "vector_norm": norm,
    "matrix_norm": norm,
}
IN_TAICHI = ("sin", "cos", "tan", "tanh", "exp", "log", "sqrt", "abs")
OPS.update({op: spelled(f"ti.{op}({{}})") for op in IN_TAICHI})
OPS.update({op: spelled(f"({{}} {sign} {{}})") for op, sign in kernels.SIGNS.items()})


class Writer(kernels.Writer):
    ops = OPS
    local = False
    """Whether arrays that are never assigned to are read from local variables."""
    static = False
    """Whether loops with a constant trip count are unrolled."""

    def __init__(self, form, layout, limit):
        super().__init__(form)
        self._layout = layout
        self._limit = limit
        self.watches = False
        """Whether the kernel limits a loop that may not end, and reports it in `T`. A `for` always ends."""
        assigned = kit._assigned(form["body"][:-1])
        self._fields = (
            {} if self.local else {self.name(p[0]): p for p in layout.inputs if p[2] and p[0] not in assigned}
        )

    def constant(self, dtype, value):
        if dtype == "bool":
            return f"ti.i32({int(value)})"
        if dtype == "int":
            return f"ti.i64({value})"
        if value != value or math.isinf(value):
            return "F(NAN)" if value != value else f"F({'-' if value < 0 else ''}INF)"
        return f"F({value!r})"

    def array(self, dtype, shape, parts):
        if len(shape) == 1:
            return f"ti.Vector([{', '.join(parts)}])"
        rows = [parts[k * shape[1] : (k + 1) * shape[1]] for k in range(shape[0])]
        return f"ti.Matrix([{', '.join('[' + ', '.join(row) + ']' for row in rows)}])"

    def place(self, array, k):
        return f"{array}[p * {max(self._layout.widths[array], 1)} + {k}]"

    def in_field(self, name, shape, indices):
        """The entry of an input in its field; None for a local variable."""
        if name not in self._fields:
            return None
        _, _, _, array, start = self._fields[name]
        flat = indices[0] if len(indices) == 1 else f"{indices[0]} * {shape[1]} + {indices[1]}"
        return f"{array}[p * {self._layout.widths[array]} + {start} + {flat}]"

    def count(self, source):
        return f"ti.i32({source})"

    def converted(self, source, own, wanted):
        if wanted == "bool":
            return f"ti.i32({source} != 0)"
        return f"{'F' if wanted == 'float' else 'ti.i64'}({source})"

    def range_of(self, s):
        plain = super().range_of(s)
        return f"ti.static({plain})" if self.static and kernels.count_of_loop(s) is not None else plain

    def source(self):
        """The kernel."""
        body = self.written(self._layout, 2)
        return f"@ti.kernel\ndef program():\n    for p in range(P[0]):\n{body}"

    def written(self, layout, depth):
        body, indent = super().written(layout, depth), "    " * depth
        return f"{indent}over = 0\n{body}{indent}T[p] = over\n" if self.watches else body

    def watched(self, condition):
        """A loop that starts one iteration too many ends, and so do all loops around it."""
        self.watches = True
        trip = self.fresh("trip")
        self.line(f"{trip} = 0")
        counted = [f"if {trip} == {self._limit}:", "    over = 1", f"{trip} = {trip} + 1"]
        return f"over == 0 and {condition}", counted


class LocalWriter(Writer):
    local = True


class FunctionWriter(LocalWriter):
    """The program as a ti.func."""

    def source(self):
        self._depth = 1
        self.defined.update(name for name, *_ in self._layout.inputs)
        self.block(self.form["body"][:-1])
        results = [self.bound(self.expression(e)) for e in self.form["body"][-1]["return"]]
        given, calls = [], []
        for _, dtype, shape, array, start in self._layout.inputs:
            parts = [self.loaded(array, start + k, dtype) for k in range(math.prod(shape))]
            given.append(self.array(dtype, shape, parts) if shape else parts[0])
        for k, (_, dtype, shape, array, start) in enumerate(self._layout.outputs):
            for n, place in enumerate(kernels.entries_of(shape)):
                calls.append(
                    f"{self.place(array, start + n)} = {self.stored(self.entry(f'r{k}', place), dtype)}"
                )
        over = ["T[p] = over"] if self.watches else []
        names = [f"r{k}" for k in range(len(results))] + ["over"] * self.watches
        calls = [f"{', '.join(names)} = body({', '.join(given)})", *calls, *over]
        lines = [*["    over = 0"] * self.watches, *self.lines]
        lines.append(f"    return {', '.join([*results, *['over'] * self.watches])}")
        parameters = ", ".join(self.name(name) for name, *_ in self._layout.inputs)
        body = "".join(f"        {line}\n" for line in calls)
        function = f"@ti.func\ndef body({parameters}):\n" + "\n".join(lines) + "\n"
        return f"{function}@ti.kernel\ndef program():\n    for p in range(P[0]):\n{body}"


class PlainWriter(kernels.PlainWriter, Writer):
    """The program at one point, as people write it."""

    local = True

    def source(self):
        parameters = ", ".join(f"{self.argument(n)}: ti.i32" for n in self.ints)
        # The outermost loop of a kernel is parallel, and all others are not.
        return f"@ti.kernel\ndef program({parameters}):\n    for _ in range(1):\n{self.written(2)}"

    def written(self, depth):
        body, indent = super().written(depth), "    " * depth
        return f"{indent}over = 0\n{body}{indent}T[0] = over\n" if self.watches else body

    def cell(self, array, place):
        return f"{array}[{', '.join(place) or None}]"

    def as_index(self, source):
        return f"ti.i32({source})"


class InPlaceWriter(PlainWriter):
    """The same with the floats that a loop changes in fields."""

    in_place = True

    def updated(self, cell, sign, value):
        if sign == "+" and next(self._fresh) % 2:
            return f"ti.atomic_add({cell}, {value})"
        return super().updated(cell, sign, value)


class StaticWriter(Writer):
    local = True
    static = True


# Kernels ----------------------------------------------------------------------------------------------------


class Fields:
    """The library and its fields, one set per dtype. `limit` is the documented one of fields that a kernel
    reads and changes (see `kit.Way.limit`).
    """

    def __init__(self, ti, limit=None, **options):
        self.ti = ti
        self.limit = limit
        self._options = options
        self._numbers = itertools.count()
        self._kernels = {}
        self.start()

    def start(self):
        ti = self.ti
        ti.reset()
        ti.init(
            arch=ti.cpu,
            cpu_max_num_threads=1,
            default_fp=ti.f64,
            offline_cache=False,
            fast_math=False,
            log_level=ti.ERROR,
            **self._options,
        )
        # init makes the thread flush subnormal numbers to 0; this restores FE_DFL_ENV.
        ctypes.CDLL(None).fesetenv(ctypes.c_void_p(-1))
        self._kernels.clear()
        self._sets = {}
        self._pool = {}

    def of(self, dtype):
        """The fields of a dtype by name."""
        if dtype not in self._sets:
            ti, scalar = self.ti, getattr(self.ti, {"float64": "f64", "float32": "f32"}[dtype])
            float_field = functools.partial(ti.field, scalar, needs_grad=True, needs_dual=True)
            floats = {name: float_field(shape=CAPACITY) for name in "XY"}
            ints = {name: ti.field(ti.i64, shape=CAPACITY) for name in "NM"}
            self._sets[dtype] = {**floats, **ints, "P": ti.field(ti.i32, shape=1), "F": scalar}
            self._sets[dtype]["T"] = ti.field(ti.i32, shape=CAPACITY)
        return self._sets[dtype]

    def kernel(self, program, layout, dtype, writer):
        """The kernel of a program, and how it was written."""
        key = id(program), dtype, writer
        if key not in self._kernels:
            if len(self._kernels) >= MOST_KERNELS:
                self.start()
            lines = writer(program.form, layout, program._limit)
            # It holds the program, so that no other one gets its id.
            self._kernels[key] = self._compiled(lines.source(), self.of(dtype)), lines, program
        return self._kernels[key][:2]

    def _compiled(self, source, names):
        file = f"<program {next(self._numbers)}>"
        linecache.cache[file] = len(source), None, source.splitlines(True), file
        scope = {"ti": self.ti, "INF": math.inf, "NAN": math.nan, **names}
        code = compile(source, file, "exec", dont_inherit=True)  # annotations are types there
        exec(code, scope)  # noqa: S102 - the source is what we wrote
        return scope["program"]

    def plain(self, program, dtype, writer):
        """The kernel of a program with fields of its own, how it was written, and the fields by name."""
        key = id(program), dtype, writer
        if key not in self._kernels:
            if len(self._kernels) >= MOST_KERNELS:
                self.start()
            lines = writer(program.form, kernels.Layout(program.form), program._limit)
            source, taken, found = lines.source(), Counter(), {}
            for name, (kind, shape) in lines.arrays.items():
                kind = dtype if kind == "float" else "int"
                found[name] = self._one_of(kind, shape, taken[kind, shape])
                taken[kind, shape] += 1
            names = {"F": self.of(dtype)["F"], "T": self.of(dtype)["T"], **found}
            self._kernels[key] = self._compiled(source, names), lines, program, found
        kernel, lines, _, found = self._kernels[key]
        return kernel, lines, found

    def _one_of(self, kind, shape, k):
        """The field number `k` of a type and shape."""
        ti, fields = self.ti, self._pool.setdefault((kind, shape), [])
        if len(fields) == k:
            exact = {"float64": "f64", "float32": "f32", "int": "i64"}[kind]
            fields.append(ti.field(getattr(ti, exact), shape=shape, needs_grad=kind != "int"))
        return fields[k]


class Reverse(kit.Way):
    """Reverse mode by the kernel's grad."""

    name = "reverse"
    ops = OPS
    hints = {"stride": 4}
    writer = Writer

    def __init__(self, fields):
        self.fields = fields

    def array(self, dtype, shape, entries):
        return entries  # entries of a constant: the kernel writes them itself

    def answer(self, program, request, inputs):
        layout = kernels.Layout(program.form)
        most = CAPACITY // max(1, *layout.widths.values())
        if not most:
            raise kit.Unsupported("the fields are too small for this program")
        xs, ns = layout.rows(inputs, request["count"])
        results = []
        for first in range(0, request["count"], most):
            part = slice(first, first + most)
            results += self.part(program, request, layout, xs[part], ns[part])
        return results

    def part(self, program, request, layout, xs, ns):
        """The answers at points that fit into the fields."""
        dtype, count, widths = request["dtype"], len(xs), layout.widths
        kernel, lines = self.fields.kernel(program, layout, dtype, self.writer)
        fields = self.fields.of(dtype)
        for name, values in (("X", xs), ("N", ns)):
            fill(fields[name], [v for row in values for v in row])
        fill(fields["P"], [count])
        try:
            slopes = self.run(kernel, fields, request, layout, count)
        except RuntimeError as error:
            raise refused(error) from None
        ys = grouped(fields["Y"], widths["Y"], count)
        results = layout.results(dtype, request["wrt"], ys, grouped(fields["M"], widths["M"], count), slopes)
        if lines.watches:
            endless = kit.arm_of(still_running(program))
            overs = fields["T"].to_numpy()[:count]
            results = [endless if over else result for over, result in zip(overs, results)]
        return results

    def run(self, kernel, fields, request, layout, count):
        """Runs the kernel; the derivatives by all floats of every point, or None if none are asked for."""
        kernel()
        if not request["modes"]:
            return None
        fields["X"].grad.fill(0)
        fill(fields["Y"].grad, layout.weights(request) * count)
        kernel.grad()
        return grouped(fields["X"].grad, layout.widths["X"], count)


class Vectors(Reverse):
    """The same with arrays in local variables."""

    name = "vectors"
    writer = LocalWriter


class Unrolled(Reverse):
    """The same with unrolled loops."""

    name = "unrolled"
    loops = ("for",)
    features = ("branches", "nested")
    writer = StaticWriter


class Forward(Reverse):
    """Forward mode along one input entry at a time."""

    name = "forward"
    modes = ("fwd",)

    def run(self, kernel, fields, request, layout, count):
        if not request["modes"]:
            return kernel()
        width, weights = layout.widths["X"], layout.weights(request)
        slopes = [[0.0] * width for _ in range(count)]
        xs = [(start, math.prod(p)) for n, _, p, _, start in layout.inputs if n in request["wrt"]]
        for k in (start + k for start, size in xs for k in range(size)):
            seed = [0.0] * CAPACITY
            seed[k : width * count : width] = [1.0] * count
            with self.fields.ti.ad.FwdMode(loss=fields["Y"], param=fields["X"], seed=seed):
                kernel()
            for row, duals in zip(slopes, grouped(fields["Y"].dual, layout.widths["Y"], count)):
                row[k] = sum(w * d for w, d in zip(weights, duals) if w)
        return slopes


class Functions(Reverse):
    """The same with the program in a function."""

    name = "functions"
    writer = FunctionWriter


class Plain(Reverse):
    """A kernel with a field for every input and output, one point at a time."""

    name = "plain"
    writer = PlainWriter

    def answer(self, program, request, inputs):
        return kit.each_point(
            request["count"], lambda k: self.at(program, request, kit.point_of(inputs, k)), refused
        )

    def at(self, program, request, inputs):
        """The answer at a point."""
        kernel, lines, fields = self.fields.plain(program, request["dtype"], self.writer)
        integers = [int(inputs[name][2][0]) for name in lines.ints]
        if any(abs(value) >= 2**31 for value in integers):
            raise kit.Unsupported("an argument of the kernel has 32 bits")
        for name, field in fields.items():
            put(field, inputs[name[2:]][2] if name.startswith("a_") else ())
        kernel(*integers)
        if lines.watches and self.fields.of(request["dtype"])["T"][0]:
            raise still_running(program)
        values = []
        for k, (kind, shape) in enumerate(lines.outputs):
            name = {"float": request["dtype"], "int": "int64", "bool": "bool"}[kind]
            entries = fields[f"y{k}"].to_numpy().ravel().tolist()
            values.append((name, shape, [v != 0 for v in entries] if kind == "bool" else entries))
        if not request["modes"]:
            return {"ok": (values, {})}
        for name, field in fields.items():
            if lines.arrays[name][0] == "float":
                weight = request["weights"][int(name[1:])] if name.startswith("y") else None
                put(field.grad, () if weight is None else kit.decode_tensor(weight)[2])
        kernel.grad(*integers)
        slopes = {n: fields[f"a_{n}"].grad.to_numpy().ravel().tolist() for n in request["wrt"]}
        return {"ok": (values, {n: (request["dtype"], inputs[n][1], v) for n, v in slopes.items()})}


class InPlace(Plain):
    """The same with carries of loops in fields."""

    name = "in_place"
    writer = InPlaceWriter

    def limit(self, program, request):
        _, lines, _ = self.fields.plain(program, request["dtype"], self.writer)
        broken = lines.changes_what_was_read or lines.overwrites
        return self.fields.limit if broken and request["modes"] else None


WAYS = (Reverse, Vectors, Unrolled, Forward, Functions, Plain, InPlace)

REFUSED = re.compile(r"Not supported|Stmt is not supported in AutoDiff")
"""The words of the compilers for a statement that they do not differentiate."""


def refused(error):
    """What an exception of the compiler means, if it is a refusal; else the exception."""
    if "is<AllocaStmt>" in str(error):
        what = "the compiler fails, with an assertion, at local vectors and matrices in forward mode"
    elif isinstance(error, RuntimeError) and REFUSED.search(str(error)):
        what = "the compiler differentiates no while loop, no break and no continue"
    else:
        return error
    return kit.Unsupported(what)


def still_running(program):
    return RuntimeError(f"a loop is still running after {program._limit} trips")


def put(field, values):
    """Fills a field with the values; with zeros if there are none."""
    host = field.to_numpy()
    host[...] = np.reshape(values, host.shape) if len(values) else 0
    field.from_numpy(host)


def fill(field, values):
    """Fills a field with the values, then zeros."""
    host = field.to_numpy()
    host[:] = 0
    host[: len(values)] = values
    field.from_numpy(host)


def grouped(field, width, count):
    """Rows of a field."""
    host = field.to_numpy()[: width * count].tolist()
    return [host[k * width : (k + 1) * width] for k in range(count)]
