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


HEAD = "@wp.kernel\ndef program({}):\n    p = wp.tid()\n"
MATRIX = "{}: wp.array2d(dtype={})"
ARRAYS = [("X", "F"), ("N", "I"), ("Y", "F"), ("M", "I")]


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
        key = id(program), dtype
        if key not in self._compiled:  # the program is kept, so that no other one gets its id
            if len(self._compiled) > 64:
                self._compiled.clear()
            self._compiled[key] = program, self.compiled(program.form, layout, dtype)
        found = self._compiled[key][1]
        xs, ns = layout.rows(inputs, count)
        scalar = FLOATS[dtype]
        X, Y = rows(xs, count, layout.widths["X"], scalar), rows(None, count, layout.widths["Y"], scalar)
        N, M = rows(ns, count, layout.widths["N"], wp.int64), rows(None, count, layout.widths["M"], wp.int64)
        slopes = self.run(found, request, layout, [X, N, Y, M])
        ms = M.numpy().tolist()
        return layout.results(dtype, request["wrt"], Y.numpy().tolist(), ms, slopes if request["modes"] else None)

    def run(self, found, request, layout, arrays):
        """Launches the kernel, and gives the derivatives by all floats of every point."""
        X, _, Y, _ = arrays
        count, more = request["count"], self.more(found, request, layout, arrays)
        tape = wp.Tape()
        with tape:
            wp.launch(found["program"], dim=count, inputs=[*arrays, *more], device="cpu")
        if not request["modes"]:
            return None
        weights = layout.weights(request) or [0.0]
        tape.backward(grads={Y: rows([weights] * count, count, len(weights), FLOATS[request["dtype"]])})
        return X.grad.numpy().tolist()

    def more(self, found, request, layout, arrays):
        return []

    def compiled(self, form, layout, dtype):
        unrolled(form)
        writer = Writer(form, dtype)
        head = HEAD.format(", ".join(MATRIX.format(*pair) for pair in ARRAYS))
        return defined(head + writer.written(layout, 1), writer.names)


def rows(values, count, width, dtype):
    """An array with a row for each point, and one column at least."""
    host = np.zeros((count, max(width, 1)), wp.dtype_to_numpy(dtype))
    if values is not None and width:
        host[:, :width] = values
    return wp.array(host, dtype=dtype, device="cpu", requires_grad=dtype in (wp.float32, wp.float64))


if __name__ == "__main__":
    wp.config.quiet = True
    wp.config.kernel_cache_dir = tempfile.mkdtemp(prefix="gradfuzz-warp-")
    atexit.register(shutil.rmtree, wp.config.kernel_cache_dir, ignore_errors=True)
    wp.init()
    kit.serve("warp", wp.__version__ if hasattr(wp, "__version__") else wp.config.version, [Kernel()])
