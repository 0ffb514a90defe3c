"""A library like Taichi in miniature, and its adapter, which is Taichi's: fields, kernels that are compiled
from their source, vectors, reverse mode. The argument names a bug, which only one way of writing shows:

    constant    an entry that is read at a literal index (`x[1]`) gets half its derivative
    counter     the same at the counter of a loop (`x[i]`)
    in_place    of the values that `x[i] += v` adds to one entry only the first has a derivative
    nested      in a loop inside another, with a trip count known at run time, the first trip alone counts
"""

from __future__ import annotations

import ast
import contextlib
import inspect
import math
import operator
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2] / "gradfuzz" / "adapters"))

import fields
import kit

BUG = sys.argv[1] if len(sys.argv) > 1 else ""


class Number:
    """A float that remembers how it was computed: pairs of a number and a slope."""

    def __init__(self, value, slopes=()):
        self.value, self.slopes, self.adjoint = value, slopes, 0.0
        tape.append(self)

    def back(self):
        for number, slope in self.slopes:
            number.adjoint += slope * self.adjoint

    def __float__(self):
        return self.value

    def __neg__(self):
        return Number(-self.value, [(self, -1.0)])


def _number(x):
    return x if isinstance(x, Number) else Number(float(x))


def _binary(function, slopes):
    def method(a, b):
        if isinstance(b, np.ndarray):
            return NotImplemented
        b = _number(b)
        da, db = slopes(a.value, b.value)
        return Number(function(a.value, b.value), [(a, da), (b, db)])

    return method


def _over(a, b):
    return a / b if b else a * math.copysign(math.inf, b) if a else math.nan


for _name, _function, _slopes in (
    ("add", operator.add, lambda a, b: (1.0, 1.0)),
    ("sub", operator.sub, lambda a, b: (1.0, -1.0)),
    ("mul", operator.mul, lambda a, b: (b, a)),
    ("truediv", _over, lambda a, b: (_over(1.0, b), _over(_over(-a, b), b))),
):
    setattr(Number, f"__{_name}__", _binary(_function, _slopes))
    setattr(Number, f"__r{_name}__", lambda a, b, name=f"__{_name}__": getattr(_number(b), name)(a))
for _name in ("lt", "le", "gt", "ge", "eq", "ne"):
    _compare = getattr(operator, _name)
    setattr(Number, f"__{_name}__", lambda a, b, compare=_compare: compare(a.value, float(b)))

tape = []


class Write:
    """An entry of a field that is written, by `=` or by `+=`."""

    def __init__(self, field, place, value, adds):
        self.field, self.place, self.value, self.adds = field, place, value, adds
        tape.append(self)

    def back(self):
        self.value.adjoint += self.field.grad.host[self.place]
        if not self.adds:
            self.field.grad.host[self.place] = 0.0


class Read(Number):
    """An entry of a field that is read; it passes on a share of its adjoint."""

    def __init__(self, field, place, share):
        super().__init__(float(field.host[place]))
        self.field, self.place, self.share = field, place, share

    def back(self):
        self.field.grad.host[self.place] += self.share * self.adjoint


class Field:
    def __init__(self, dtype, shape=(), needs_grad=False, needs_dual=False):
        self.host = np.zeros(shape, float if dtype is _number else int)
        self.grad = Field(dtype, shape) if needs_grad else None

    def to_numpy(self):
        return self.host.copy()

    def from_numpy(self, host):
        self.host[...] = host

    def fill(self, value):
        self.host[...] = value

    def __getitem__(self, place):
        return self.host[place]


depth = SimpleNamespace(muted=0)
"""How many loops are in a trip that a planted bug leaves out."""


def read(field, place, how):
    """`field[place]` in a kernel. `how` it is written: constant, counter or computed."""
    place = () if place is None else place
    if not isinstance(field, Field) or field.host.dtype == int:
        return (field.host if isinstance(field, Field) else field)[place]
    share = 0.0 if depth.muted else 0.5 if how == BUG else 1.0
    return Read(field, place, share)


def write(field, place, value):
    place = () if place is None else place
    if isinstance(field, Field) and field.host.dtype == float:
        value = _number(value)
        Write(field, place, value, adds=False)
        field.host[place] = value.value
    else:
        (field.host if isinstance(field, Field) else field)[place] = value


def change(field, place, sign, value):
    """`field[place] += value`, and with other signs."""
    step = {"Add": operator.add, "Sub": operator.sub, "Mult": operator.mul, "Div": operator.truediv}[sign]
    if not isinstance(field, Field) or sign not in ("Add", "Sub"):
        write(field, place, step(read(field, place, "computed"), value))
        return
    place = () if place is None else place
    added = _number(value) if sign == "Add" else -_number(value)
    added_before = any(
        isinstance(w, Write) and w.field is field and w.place == place and w.adds for w in tape
    )
    if BUG == "in_place" and added_before:
        added = Number(added.value)
    Write(field, place, added, adds=True)
    field.host[place] += added.value


def nested(count):
    """The trips of a loop inside another, whose trip count is known at run time."""
    for k in range(count):
        depth.muted += BUG == "nested" and k > 0
        yield k
        depth.muted -= BUG == "nested" and k > 0


class Compiler(ast.NodeTransformer):
    """Makes calls of accesses to fields and vectors, and of loops inside others over a run-time count."""

    def __init__(self):
        self.counters = []

    def visit_For(self, node):
        self.counters.append(node.target.id)
        inner = len(self.counters) > 2 and not isinstance(node.iter.args[0], ast.Constant)
        node = self.generic_visit(node)
        self.counters.pop()
        if inner:
            node.iter.func = ast.Name("_nested", ast.Load())
        return node

    def _how(self, place):
        if isinstance(place, ast.Constant) and place.value is not None:
            return "constant"
        return "counter" if isinstance(place, ast.Name) and place.id in self.counters else "computed"

    def visit_Subscript(self, node):
        how = self._how(node.slice)
        node = self.generic_visit(node)
        return (
            _call("_read", node.value, node.slice, ast.Constant(how))
            if isinstance(node.ctx, ast.Load)
            else node
        )

    def visit_Assign(self, node):
        (target,) = node.targets
        node = self.generic_visit(node)
        if isinstance(target, ast.Subscript):
            return ast.Expr(_call("_write", target.value, target.slice, node.value))
        if isinstance(node.value, ast.Name):
            node.value = _call("_copied", node.value)
        return node

    def visit_AugAssign(self, node):
        node = self.generic_visit(node)
        if not isinstance(node.target, ast.Subscript):
            return node
        sign = ast.Constant(type(node.op).__name__)
        return ast.Expr(_call("_change", node.target.value, node.target.slice, sign, node.value))

    def visit_Call(self, node):
        if isinstance(node.func, ast.Attribute) and node.func.attr == "atomic_add":
            entry, value = node.args[0], self.visit(node.args[1])
            return _call("_change", entry.value, self.visit(entry.slice), ast.Constant("Add"), value)
        return self.generic_visit(node)


def _call(name, *arguments):
    return ast.Call(ast.Name(name, ast.Load()), list(arguments), [])


def func(function):
    """The function with its accesses made calls."""
    tree = ast.parse(inspect.getsource(function))
    tree.body[0].decorator_list.clear()
    tree = ast.fix_missing_locations(Compiler().visit(tree))
    helpers = {"_read": read, "_write": write, "_change": change, "_nested": nested}
    scope = {
        **function.__globals__,
        **helpers,
        "_copied": lambda x: x.copy() if isinstance(x, np.ndarray) else x,
    }
    exec(compile(tree, function.__name__, "exec"), scope)
    return scope[function.__name__]


def kernel(function):
    compiled = func(function)

    def run(*args):
        tape.clear()
        with contextlib.suppress(OverflowError):
            compiled(*args)

    def grad(*args):
        for entry in reversed(tape):
            entry.back()

    run.grad = grad
    return run


def _function(value, slope):
    def call(x):
        if isinstance(x, np.ndarray):
            return np.array([call(entry) for entry in x.ravel()], object).reshape(x.shape)
        return Number(value(x.value), [(x, slope(x.value))])

    return call


def _chosen(better):
    def call(a, b):
        if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
            return np.frompyfunc(call, 2, 1)(a, b)
        if not isinstance(a, Number) and not isinstance(b, Number):
            return better(a, b)
        a, b = _number(a), _number(b)
        share = 0.5 if a.value == b.value else float(better(a.value, b.value) == a.value)
        return Number(better(a.value, b.value), [(a, share), (b, 1.0 - share)])

    return call


def _int(x):
    return int(x.value if isinstance(x, Number) else x)


library = SimpleNamespace(
    cpu="cpu",
    ERROR="error",
    reset=lambda: None,
    init=lambda **options: None,
    field=Field,
    kernel=kernel,
    func=func,
    f64=_number,
    i64=_int,
    i32=_int,
    Vector=lambda entries: np.array(entries, object),
    Matrix=lambda rows: np.array(rows, object),
    max=_chosen(max),
    min=_chosen(min),
    sin=_function(math.sin, math.cos),
    cos=_function(math.cos, lambda x: -math.sin(x)),
    exp=_function(math.exp, math.exp),
    tanh=_function(math.tanh, lambda x: 1.0 - math.tanh(x) ** 2),
)

KNOWN = "add subtract multiply divide negative maximum minimum sin cos exp tanh index index_update sum astype"
OPS = {op: fields.OPS[op] for op in (*KNOWN.split(), "stack", "logical_and", "logical_or", "logical_not")}
OPS.update({op: fields.OPS[op] for op in fields.kernels.SIGNS})


def way(own):
    """A way of Taichi's adapter with this library's ops, which compiles at once."""
    more = {"ops": OPS, "hints": {}, "dtypes": ("float64",)}
    return type(own.__name__, (own,), more)


if __name__ == "__main__":
    shared = fields.Fields(library)
    kept = (fields.Reverse, fields.Vectors, fields.Functions, fields.Plain, fields.InPlace)
    kit.serve("like_taichi", "1", [way(own)(shared) for own in kept])
