"""NVIDIA Warp on its CPU device: reverse mode by wp.Tape, first order.

launches    one launch for each op; loops are Python's
kernel      a program is one kernel; Warp unrolls loops with a constant trip count
function    the same in a wp.func that the kernel calls
stored      loops stay loops, and an array keeps their carries, one row for each iteration
plain       an array for every input and output, at indices as people write them: x[1], x[i], x[i + 1]
in_place    the same, and floats that a loop changes are in arrays: y[0] += x[i]

Warp's manual says what reverse mode cannot do: it does not replay a loop that is not unrolled, it needs the
old entries of arrays that are overwritten, and it differentiates the first assignment to an entry of a local
vector. Programs that meet such a limit are asked about, with the limit in the reply. `stored` is the remedy
that the manual gives for loops.
"""

from __future__ import annotations

import atexit
import functools
import inspect
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

try:
    from warp._src import codegen
except ImportError:  # older releases
    from warp import codegen

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


def index_update(writer, sources, types, result, pattern):
    array, value, *indices = sources
    if not pattern:
        return value
    no_empty_slices(pattern)
    if writer.in_condition:
        raise kit.Unsupported("the condition of a loop changes an array")
    name, rest = writer.fresh("u"), iter(indices)
    choices = [
        [f"int({next(rest)})"] if entry == "at" else list(range(entry[1], entry[2])) for entry in pattern
    ]
    writer.line(f"{name} = {array}")
    value = writer.bound(value)
    for place, own in zip(itertools.product(*choices), kernels.entries_of(types[1][1])):
        writer.line(f"{name}[{', '.join(map(str, place))}] = {writer.entry(value, own)}")
    writer.assigns_entries = True
    return name


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
OPS.update({op: spelled(f"wp.{op}({{}})") for op in ("sin", "cos", "tan", "tanh", "exp", "log", "sqrt")})
OPS.update({op: spelled(f"({{}} {sign} {{}})") for op, sign in kernels.SIGNS.items()})
"""Warp lacks ops without a row (log1p, expm1, sign with a zero, ...)."""


class Writer(kernels.Writer):
    ops = OPS

    def __init__(self, form, dtype, limit=0):
        self.names = {"wp": wp, "F": FLOATS[dtype], "I": wp.int64, "B": wp.bool}
        super().__init__(form)
        self._limit = limit
        self.watches = False
        """Whether the kernel limits a loop that may not end, and reports it in `T`."""
        self.assigns_entries = False
        """Whether it assigns to entries of local vectors."""

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
            if not hasattr(wp, "matrix_from_rows"):
                raise kit.Unsupported(
                    "this release has no wp.matrix_from_rows, which makes matrices of one row"
                )
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

    def watched(self, condition):
        self.watches = True
        trip = self.fresh("trip")
        self.line(f"{trip} = int(0)")
        counted = [f"if {trip} == {self._limit}:", "    over = int(1)", f"{trip} = {trip} + 1"]
        return f"over == 0 and {condition}", counted

    def ended(self, body, depth):
        """The lines of a body, and those that report a loop that did not end."""
        indent = "    " * depth
        return f"{indent}over = int(0)\n{body}{indent}T[p] = over\n" if self.watches else body

    def converted(self, source, own, wanted):
        if own == "trip" and wanted == "bool":
            return f"({source} != 0)"
        if own == "bool":
            one = self.constant(wanted, 1.0 if wanted == "float" else 1)
            return CHOICE.format(source, one, self.zero(wanted, ()))
        if wanted == "bool":
            return f"({source} != {self.zero(own, ())})"
        return f"{'F' if wanted == 'float' else 'I'}({source})"


MANUAL = "https://nvidia.github.io/warp/user_guide/differentiability.html"

DYNAMIC = {
    "name": "dynamic-loop",
    "what": "a loop that is not unrolled is not replayed, and its values are needed on the way back",
    "link": f"{MANUAL}#dynamic-loops",
}
OVERWRITTEN = {
    "name": "array-overwritten",
    "what": "a kernel overwrites an entry of an array whose old value is needed on the way back",
    "link": f"{MANUAL}#array-overwrites",
}
ENTRIES = {
    "name": "vector-entry-assigned",
    "what": "an entry of a local vector or matrix is assigned a second time",
    "link": f"{MANUAL}#vector-matrix-and-quaternion-component-assignment",
}
"""The limits that the manual states."""

OVERWRITES = "retain_grad" in inspect.signature(wp.array.__init__).parameters
"""Whether an overwritten entry passes no gradient on. The manual of older releases warns of it."""

UNROLLED_THROUGH = ("continue",) if hasattr(codegen.Adjoint, "lower_unrolled_continues") else ()
"""The jumps in a loop's body that do not keep Warp from unrolling it."""

LINEAR = {"add", "subtract", "negative", "sum", "mean", "astype", "trace", "diagonal", *kernels.MOVES}
LINEAR.update(("permute_dims", *kernels.SIGNS, "logical_and", "logical_or", "logical_not"))
"""Ops whose adjoint needs none of their operands."""


def unrolled(form):
    """The statements after all loops with a constant trip count are unrolled."""

    def of(statements):
        found = 1
        for s in statements:
            if isinstance(s, dict) and "if" in s:
                found += of(s["then"]) + of(s["else"])
            elif isinstance(s, dict) and "for" in s:
                found += (kernels.count_of_loop(s) or 1) * of(s["body"])
            elif isinstance(s, dict) and "while" in s:
                found += of(s["body"] if "body" in s else s["repeat"])
        return found

    return of(form["body"][:-1])


class Replayed:
    """Whether a program needs, on the way back, what a loop computes that is not unrolled.

    Such values are what the loop carries, and what is computed from them. Linear ops do not need them.
    Variables in `held` are in arrays.
    """

    def __init__(self, form, most_unrolled, held=()):
        self._most, self._held = most_unrolled, set(held)
        self._stale = set()
        self.needed = False
        for _ in range(2):  # what a trip computes is read by the next
            self._block(form["body"])

    def _block(self, statements):
        for s in statements:
            if not isinstance(s, dict):
                continue
            if "assign" in s:
                if self._is_stale(s["value"]) and s["assign"] not in self._held:
                    self._stale.add(s["assign"])
            elif "return" in s:
                list(map(self._is_stale, s["return"]))
            elif "if" in s:
                self.needed = self._is_stale(s["if"]) or self.needed
                self._block(s["then"])
                self._block(s["else"])
            else:
                self._loop(s, s["body"] if "body" in s else s["repeat"])

    def _loop(self, s, body):
        trips = kernels.count_of_loop(s) if "for" in s else None
        if "while" in s or trips is None or trips > self._most or _is_left(body):
            self._stale |= {*s["carries"], *s["results"]} - self._held
        self.needed = "while" in s or self._is_stale(s["count"]) or self.needed
        self._block(body)

    def _is_stale(self, e):
        if isinstance(e, str):
            return e in self._stale
        if "op" not in e:
            return False
        stale = list(map(self._is_stale, e["args"]))
        if any(stale) and not self._is_linear(e, stale):
            self.needed = True
        return any(stale)

    def _is_linear(self, e, stale):
        if e["op"] == "where":
            return not stale[0]
        if e["op"] in ("index", "index_update"):
            return not any(stale[2 if e["op"] == "index_update" else 1 :])
        known = [_is_constant(part) and not is_stale for part, is_stale in zip(e["args"], stale)]
        return (
            e["op"] in LINEAR or (e["op"] == "multiply" and any(known)) or (e["op"] == "divide" and known[1])
        )


def _is_constant(e):
    """Whether an operand has no derivative: a literal, or an int that is converted."""
    return isinstance(e, dict) and (e.get("op") == "astype" or "op" not in e)


def _is_left(body):
    """Whether a jump is in a loop's body, for this loop, that keeps Warp from unrolling it."""
    return any(
        (s in ("break", "continue") and s not in UNROLLED_THROUGH)
        or ("if" in s and _is_left([*s["then"], *s["else"]]))
        for s in body
        if isinstance(s, str) or "if" in s
    )


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


USUAL = 16
"""The most iterations of a loop that Warp unrolls unless it is told otherwise."""

PARAMETERS = [f"{name}: wp.array2d(dtype={'F' if name in 'XY' else 'I'})" for name in "XNYM"]
PARAMETERS.append("T: wp.array(dtype=int)")


def kernel_of(body, *more):
    return f"@wp.kernel\ndef program({', '.join([*PARAMETERS, *more])}):\n    p = wp.tid()\n{body}"


class Kernel(kit.Way):
    """A program as one kernel, at all points at once."""

    name = "kernel"
    ops = OPS
    hints = {"stride": 4}

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
            scope = self.compiled(program, layout, dtype, key[2])
            self._compiled[key] = scope, program  # keeps the program, so that no other one gets its id
        xs, ns = layout.rows(inputs, count)
        scalar, widths = FLOATS[dtype], layout.widths
        X, N = rows(xs, count, widths["X"], scalar), rows(ns, count, widths["N"], wp.int64)
        Y, M = rows(None, count, widths["Y"], scalar), rows(None, count, widths["M"], wp.int64)
        scope = self._compiled[key][0]
        overs = wp.zeros(count, dtype=int, device="cpu")
        slopes = self.launched(scope, request, layout, [X, N, Y, M, overs])
        results = layout.results(dtype, request["wrt"], Y.numpy().tolist(), M.numpy().tolist(), slopes)
        endless = kit.arm_of(RuntimeError(f"a loop is still running after {program._limit} trips"))
        return [endless if over else result for over, result in zip(overs.numpy(), results)]

    def limit(self, program, request):
        known = self._compiled.get((id(program), request["dtype"], ()))
        return known[0].get("limit") if known is not None and request["modes"] else None

    def variant(self, form, request, inputs):
        """Further parts of a question that are compiled into the kernel."""
        return ()

    def compiled(self, program, layout, dtype, variant):
        writer = Writer(program.form, dtype, program._limit)
        body = writer.ended(writer.written(layout, 1), 1)
        return self.limited(program.form, writer, kernel_of(body))

    def limited(self, form, writer, source):
        """The functions of a source, and the limit that the program meets."""
        most = 1024 if unrolled(form) <= MOST_UNROLLED else USUAL
        scope = defined(source, writer.names, most)
        limit = DYNAMIC if Replayed(form, most).needed else ENTRIES if writer.assigns_entries else None
        return {**scope, "limit": limit}

    def launched(self, scope, request, layout, arrays):
        """Runs the kernel; the derivatives by all floats of every point, or None if none are asked for."""
        X, _, Y, *_ = arrays
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
        if self.watches:
            self.lines.insert(0, "    over = int(0)")
            results.append("over")
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
    """Each iteration reads the carries from a row of `S` (floats) or `R` (ints, bools), writes the next."""

    def __init__(self, form, dtype, trips):
        super().__init__(form, dtype)
        self.sizes = {"S": 1, "R": 1}
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
        widths = {"S": 0, "R": 0}
        for name in carries:
            dtype, shape = self.types[name]
            array = "S" if dtype == "float" else "R"
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
    loops = ("for",)
    features = ("branches", "continue", "nested", "runtime_trips")

    def variant(self, form, request, inputs):
        return most_trips(form, inputs)

    def limit(self, program, request):
        found = [
            scope["limit"]
            for (asked, dtype, _), (scope, _) in self._compiled.items()
            if asked == id(program) and dtype == request["dtype"]
        ]
        return found[0] if found and request["modes"] else None

    def compiled(self, program, layout, dtype, variant):
        writer = StoringWriter(program.form, dtype, variant)
        body = writer.written(layout, 1)
        if max(writer.sizes.values()) > 100_000:
            raise kit.Unsupported("the loops have too many rows")
        scope = defined(kernel_of(body, "S: wp.array2d(dtype=F)", "R: wp.array2d(dtype=I)"), writer.names, 0)
        limit = ENTRIES if writer.assigns_entries else None
        return {**scope, "sizes": writer.sizes, "limit": limit}

    def more(self, scope, count, scalar):
        sizes = scope["sizes"]
        return [rows(None, count, sizes["S"], scalar), rows(None, count, sizes["R"], wp.int64)]


class Function(Kernel):
    """A program as a function that the kernel calls."""

    name = "function"

    def compiled(self, program, layout, dtype, variant):
        writer = FunctionWriter(program.form, dtype, program._limit)
        function = writer.written(layout, 1)
        names = [f"y{k}" for k in range(len(layout.outputs))]
        found = [*names, "over"] if writer.watches else names
        lines = [f"    {', '.join(found)} = {writer.called(layout)}"]
        lines += ["    T[p] = over"] * writer.watches
        for name, (_, kind, shape, array, start) in zip(names, layout.outputs):
            for k, place in enumerate(kernels.entries_of(shape)):
                value = writer.stored(writer.entry(name, place), kind)
                lines.append(f"    {writer.place(array, start + k)} = {value}")
        return self.limited(program.form, writer, function + kernel_of("\n".join(lines) + "\n"))


# Arrays as people write them --------------------------------------------------------------------------------


class PlainWriter(kernels.PlainWriter, Writer):
    """The program at one point, as people write it."""

    def cell(self, array, place):
        return f"{array}[{', '.join(place) or 0}]"

    def as_index(self, source):
        return f"int({source})"

    def updated(self, cell, sign, value):
        local = cell.partition("[")[0] not in self.arrays
        self.assigns_entries = self.assigns_entries or (local and sign not in ("+", "-"))
        return super().updated(cell, sign, value)

    def source(self):
        parameters = [f"{self.argument(n)}: int" for n in self.ints]
        for name, (dtype, shape) in self.arrays.items():
            kind = "array2d" if len(shape) == 2 else "array"
            parameters.append(f"{name}: wp.{kind}(dtype={'F' if dtype == 'float' else 'I'})")
        parameters.append("T: wp.array(dtype=int)")
        body = self.ended(self.written(1), 1)
        return f"@wp.kernel\ndef program({', '.join(parameters)}):\n    p = wp.tid()\n{body}"


class InPlaceWriter(PlainWriter):
    """The same with the floats that a loop changes in arrays."""

    in_place = True


class Plain(kit.Way):
    """A kernel with an array for every input and output, one point at a time."""

    name = "plain"
    ops = OPS
    hints = {"stride": 4}
    writer = PlainWriter

    def __init__(self):
        self._compiled = {}

    def array(self, dtype, shape, entries):
        return entries  # entries of a constant: the kernel writes them itself

    def answer(self, program, request, inputs):
        return kit.each_point(request["count"], lambda k: self.at(program, request, kit.point_of(inputs, k)))

    def kernel(self, program, dtype):
        """The kernel of a program, how it was written, and the limit that it meets."""
        key = id(program), dtype
        if key not in self._compiled:
            if len(self._compiled) > 64:
                self._compiled.clear()
            writer = self.writer(program.form, dtype, program._limit)
            kernel = defined(writer.source(), writer.names, USUAL)["program"]
            if writer.changes_what_was_read or (writer.overwrites and not OVERWRITES):
                limit = OVERWRITTEN
            elif Replayed(program.form, USUAL, writer.held).needed:
                limit = DYNAMIC
            else:
                limit = ENTRIES if writer.assigns_entries else None
            self._compiled[key] = kernel, writer, limit, program
        return self._compiled[key][:3]

    def limit(self, program, request):
        return self.kernel(program, request["dtype"])[2] if request["modes"] else None

    def at(self, program, request, inputs):
        """The answer at a point."""
        dtype = request["dtype"]
        kernel, writer, _ = self.kernel(program, dtype)
        integers = [int(inputs[name][2][0]) for name in writer.ints]
        if any(abs(value) >= 2**31 for value in integers):
            raise kit.Unsupported("an argument of the kernel has 32 bits")
        arrays = {}
        for name, (kind, shape) in writer.arrays.items():
            entries = inputs[name[2:]][2] if name.startswith("a_") else None
            arrays[name] = of_entries(FLOATS[dtype] if kind == "float" else wp.int64, shape, entries)
        over = wp.zeros(1, dtype=int, device="cpu")
        tape = wp.Tape()
        with tape:
            wp.launch(kernel, dim=1, inputs=[*integers, *arrays.values(), over], device="cpu")
        if over.numpy()[0]:
            raise RuntimeError(f"a loop is still running after {program._limit} trips")
        values = []
        for k, (kind, shape) in enumerate(writer.outputs):
            name = {"float": dtype, "int": "int64", "bool": "bool"}[kind]
            entries = arrays[f"y{k}"].numpy().ravel().tolist()
            values.append((name, shape, [v != 0 for v in entries] if kind == "bool" else entries))
        if not request["modes"]:
            return {"ok": (values, {})}
        grads = {
            arrays[f"y{k}"]: of_entries(FLOATS[dtype], kit._type(text)[1], kit.decode_tensor(weight)[2])
            for k, (text, weight) in enumerate(zip(program.form["outputs"], request["weights"]))
            if weight is not None
        }
        tape.backward(grads=grads)
        slopes = {name: arrays[f"a_{name}"].grad.numpy().ravel().tolist() for name in request["wrt"]}
        return {"ok": (values, {n: (dtype, inputs[n][1], entries) for n, entries in slopes.items()})}


class InPlace(Plain):
    """The same with carries of loops in arrays."""

    name = "in_place"
    writer = InPlaceWriter


def of_entries(dtype, shape, entries=None):
    """An array of these entries, or of zeros. A scalar is an array of one entry."""
    host = np.zeros(shape or 1, wp.dtype_to_numpy(dtype))
    if entries is not None:
        host[...] = np.reshape(entries, host.shape)
    return wp.array(host, dtype=dtype, device="cpu", requires_grad=dtype != wp.int64)


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
    kit.serve("warp", wp.config.version, [Launches(), Kernel(), Function(), Stored(), Plain(), InPlace()])
