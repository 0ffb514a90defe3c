"""Python expressions (as `ast` nodes) to expressions of the program language. Nothing is executed."""

from __future__ import annotations

import ast
import difflib
import math
from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar

from gradfuzz.errors import ProgramTypeError, listed
from gradfuzz.programs.language.ops import ALIASES, OPS, defaults_of
from gradfuzz.programs.language.program import walk
from gradfuzz.programs.language.syntax import ArrayConst, Call, Const, Expr, Name, ParamValue
from gradfuzz.programs.language.typecheck import MAX_NESTING, RESERVED, expression_type
from gradfuzz.programs.language.types import DType, Type, fail
from gradfuzz.programs.text.reading import refuse, source, syntax_error

_BINARY: dict[type[ast.operator], str] = {
    ast.Add: "add",
    ast.Sub: "subtract",
    ast.Mult: "multiply",
    ast.Div: "divide",
    ast.Mod: "remainder",
    ast.MatMult: "matmul",
}
_COMPARE: dict[type[ast.cmpop], str] = {
    ast.Lt: "less",
    ast.LtE: "less_equal",
    ast.Gt: "greater",
    ast.GtE: "greater_equal",
    ast.Eq: "equal",
    ast.NotEq: "not_equal",
}
_CONSTANTS = {"inf": math.inf, "nan": math.nan, "pi": math.pi}
_INSTEAD: dict[type[ast.AST], str] = {
    ast.BitXor: "`^` is not power; use **",
    ast.BitAnd: "`&` is not in the language; use `and` or logical_and(a, b)",
    ast.BitOr: "`|` is not in the language; use `or` or logical_or(a, b)",
    ast.Invert: "`~` is not in the language; use `not` or logical_not(a)",
    ast.FloorDiv: "`//` is not in the language; use / (and % for the remainder of ints)",
    ast.LShift: "`<<` is not in the language; use * or **",
    ast.RShift: "`>>` is not in the language; use /",
    ast.Is: "`is` is not in the language; use ==",
    ast.IsNot: "`is not` is not in the language; use !=",
    ast.In: "`in` is not in the language; compare with ==",
    ast.NotIn: "`not in` is not in the language; compare with !=",
    ast.IfExp: "`a if c else b` is not in the language; use where(c, a, b), or an if statement",
    ast.Attribute: "attributes and methods are not in the language; write op(x) instead of x.op()",
    ast.Lambda: "lambda is not in the language; write the expression where it is used",
    ast.ListComp: "comprehensions are not in the language; use a for loop",
    ast.SetComp: "comprehensions are not in the language; use a for loop",
    ast.DictComp: "comprehensions are not in the language; use a for loop",
    ast.GeneratorExp: "comprehensions are not in the language; use a for loop",
    ast.JoinedStr: "strings are not in the language",
    ast.NamedExpr: "`:=` is not in the language; assign in a statement of its own",
    ast.Tuple: "a tuple is no value; tuples stand for shapes, axes and several returned values only",
    ast.List: "a list is no value; write array([...]), stack([...]) or concat([...])",
    ast.Starred: "`*` arguments are not in the language; write the arguments out",
    ast.Slice: "a slice stands only inside [ ]",
}


def call(op: str, *args: Expr, line: int = 0, **params: ParamValue) -> Call:
    """A call that holds all parameters of its op, the defaults included, sorted by name.

    `ProgramSyntaxError` for an unknown op or parameter, or where one without default is missing.
    """
    row = OPS.get(op)
    if row is None:
        refuse(line, f"unknown op {op!r}; the ops are {listed(OPS, op)}")
    known, full = [name for name, _ in row.params], {**defaults_of(op), **params}
    for name in known:
        if name not in full:
            refuse(line, f"{op} needs its parameter {name}")
    for name in params:
        if name not in known:
            refuse(line, f"{op} has no parameter {name!r}; it has {', '.join(known) or 'none'}")
    return Call(op, args, tuple(sorted(full.items())), line)


def _int_literal(node: ast.expr | None) -> int | None:
    """The value of an int literal with or without a minus; None for anything else."""
    sign = 1
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        node, sign = node.operand, -1
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return _fitting(node, sign * node.value)
    return None


def _fitting(node: ast.AST, value: int) -> int:
    if not -(2**63) <= value < 2**63:
        refuse(node, f"the int {source(node)} does not fit 64 bits; write it as a float")
    return value


def _static(node: ast.expr, depth: int = 0) -> ParamValue:
    """A static parameter: int, bool, None, a string, a dtype by its name, or a tuple or list of these."""
    number = _int_literal(node)
    if number is not None:
        return number
    if isinstance(node, ast.Constant) and (node.value is None or isinstance(node.value, (bool, str))):
        return node.value
    if isinstance(node, (ast.Tuple, ast.List)) and depth < 2:  # tuples of pairs, and no deeper
        return tuple(_static(e, depth + 1) for e in node.elts)
    if isinstance(node, ast.Name) and node.id in ("float", "complex", "int", "bool"):
        return node.id
    static = "an axis, shape or exponent is written out, as 0, (2, 3) or None"
    raise syntax_error(node, f"`{source(node)}` is not static: {static}")


class Expressions:
    """Converts expressions. `types` are the types known so far: subscripts are completed from the array's
    shape.

    `untyped` holds the names whose assignment does not type-check, with the error; it is raised where the
    shape is needed.
    """

    def __init__(self, types: Mapping[str, Type]) -> None:
        self.types = dict(types)
        self.untyped: dict[str, ProgramTypeError] = {}
        self.depth = 0

    def expression(self, node: ast.expr) -> Expr:
        """The expression that `node` writes."""
        self.depth += 1
        if self.depth > MAX_NESTING:
            refuse(node, f"nested deeper than {MAX_NESTING} levels; use temporaries")
        result = self._expression(node)
        self.depth -= 1
        return result

    def type_of(self, expr: Expr) -> Type:
        """The type of a converted expression; the error that explains it where it has none."""
        for node in walk(expr) if self.untyped else ():
            if isinstance(node, Name) and node.id in self.untyped:
                raise self.untyped[node.id]
        return expression_type(expr, self.types)

    def _expression(self, node: ast.expr) -> Expr:
        line = node.lineno
        match node:
            case ast.Constant(complex() as value):
                return Call("complex", (Const(0.0, line), Const(value.imag, line)), (), line)
            case ast.Constant():
                return self._constant(node, 1)
            case ast.Name(id):
                if id in _CONSTANTS:
                    return Const(_CONSTANTS[id], line)
                if id in RESERVED:
                    refuse(node, f"{id} is not a value here; call it, or use another name")
                return Name(id, line)
            case ast.UnaryOp(sign, operand):
                return self._unary(node, sign, operand)
            case ast.BinOp(left, ast.Pow(), right):
                return self.power(self.expression(left), right, line)
            case ast.BinOp(left, operator, right):
                op = self.operator(node, operator)
                return Call(op, (self.expression(left), self.expression(right)), (), line)
            case ast.BoolOp(connective, values):
                name = "logical_and" if isinstance(connective, ast.And) else "logical_or"
                return self._fold(name, [self.expression(v) for v in values], line)
            case ast.Compare():
                return self._comparison(node)
            case ast.Call():
                return self._call(node)
            case ast.Subscript(ast.Call(ast.Name(id)) as several, place) if self._parts(id):
                return self._call(several, self._part(id, place))
            case ast.Subscript(array, place):
                base = self.expression(array)
                pattern, indices = self.place(base, place)
                return Call("index", (base, *indices), (("pattern", pattern),), line)
        raise syntax_error(node, _INSTEAD.get(type(node), f"`{source(node)}` is not in the language"))

    # Operators

    def operator(self, node: ast.AST, operator: ast.operator) -> str:
        """The op of a binary operator other than `**`."""
        op = _BINARY.get(type(operator))
        if op is None:
            refuse(node, _INSTEAD[type(operator)])
        return op

    def power(self, base: Expr, exponent: ast.expr, line: int) -> Expr:
        """`base ** exponent`: integer_pow where the exponent is an int literal, pow otherwise."""
        n = _int_literal(exponent)
        if n is not None:
            return Call("integer_pow", (base,), (("n", n),), line)
        return Call("pow", (base, self.expression(exponent)), (), line)

    def _unary(self, node: ast.UnaryOp, op: ast.unaryop, operand: ast.expr) -> Expr:
        line = node.lineno
        match op, operand:
            case ast.USub(), ast.Constant(float() | int() as value) if not isinstance(value, bool):
                return self._constant(operand, -1)
            case ast.USub(), ast.Name(id) if id in _CONSTANTS:
                return Const(-_CONSTANTS[id], line)
            case ast.USub(), _:
                return Call("negative", (self.expression(operand),), (), line)
            case ast.UAdd(), _:
                return self.expression(operand)
            case ast.Not(), ast.Constant(bool() as value):
                return Const(not value, line)
            case ast.Not(), _:
                return Call("logical_not", (self.expression(operand),), (), line)
        raise syntax_error(node, _INSTEAD[type(op)])

    def _constant(self, node: ast.Constant, sign: int) -> Const:
        value = node.value
        if isinstance(value, bool):
            return Const(value, node.lineno)
        if isinstance(value, float):
            return Const(-value if sign < 0 else value, node.lineno)
        if isinstance(value, int):
            return Const(_fitting(node, sign * value), node.lineno)
        kind = "strings are" if isinstance(value, (str, bytes)) else f"{value} is"
        raise syntax_error(node, f"{kind} not in the language; a constant is a float, an int, True or False")

    def _fold(self, op: str, parts: Sequence[Expr], line: int) -> Expr:
        result = parts[0]
        for part in parts[1:]:
            result = Call(op, (result, part), (), line)
        return result

    def _comparison(self, node: ast.Compare) -> Expr:
        """`a < b < c` is `a < b and b < c`."""
        values = [self.expression(v) for v in (node.left, *node.comparators)]
        parts: list[Expr] = []
        for k, operator in enumerate(node.ops):
            op = _COMPARE.get(type(operator))
            if op is None:
                refuse(node, _INSTEAD[type(operator)])
            parts.append(Call(op, (values[k], values[k + 1]), (), node.lineno))
        return self._fold("logical_and", parts, node.lineno)

    # Calls

    @staticmethod
    def _parts(function: str) -> tuple[str, ...]:
        """The names of the results of an op that has several."""
        op = OPS.get(ALIASES.get(function, function))
        return op.parts if op is not None else ()

    def _part(self, function: str, place: ast.expr) -> int:
        """Which result `function(...)[place]` is."""
        parts, number = self._parts(function), _int_literal(place)
        if number is None or not -len(parts) <= number < len(parts):
            returned = f"{function} returns {', '.join(parts)}; write {function}(...)[0]"
            refuse(place, f"{function}(...)[{source(place)}]: {returned}")
        return number % len(parts)

    def _call(self, node: ast.Call, part: int | None = None) -> Expr:
        if not isinstance(node.func, ast.Name):
            other = f"`{source(node.func)}` cannot be called; the ops are {listed(OPS, source(node.func))}"
            refuse(node, _INSTEAD.get(type(node.func), other))
        name = node.func.id
        for keyword in node.keywords:
            if keyword.arg is None:
                refuse(node, "`**` arguments are not in the language; write the arguments out")
        special = self._special.get(name)
        if special is not None:
            return special(self, node)
        if name not in OPS and name not in ALIASES:
            close = difflib.get_close_matches(name, [*OPS, *ALIASES], 1)
            hint = f"did you mean {close[0]}? " if close else ""
            refuse(node, f"unknown function {name}; {hint}the ops are {listed(OPS, name)}")
        op = ALIASES.get(name, name)
        args = list(node.args)
        free = [p for p, _ in OPS[op].params]
        params: dict[str, ParamValue] = {}
        if OPS[op].parts:
            if part is None:
                names = ", ".join(OPS[op].parts)
                refuse(node, f"{op} returns {names}; write {op}(...)[0], or {names} = {op}(...)")
            free.remove("part")
            params["part"] = part
        if op == "einsum" and args and isinstance(args[0], ast.Constant):
            params["subscripts"] = _static(args.pop(0))
        for keyword in node.keywords:
            if keyword.arg not in free:
                refuse(node, f"{op} has no parameter {keyword.arg!r}; it has {', '.join(free) or 'none'}")
            params[str(keyword.arg)] = _static(keyword.value)
        if op in ("concat", "stack") and args and isinstance(args[0], (ast.List, ast.Tuple)):
            values, extra = args[0].elts, args[1:]
        else:
            most = OPS[op].arity[1]
            values, extra = (args, []) if most is None else (args[:most], args[most:])
        if len(extra) > len(free):
            values, extra = args, []
        for p, value in zip(free, extra, strict=False):
            if p in params:
                refuse(node, f"{op} is given {p} twice")
            params[p] = _static(value)
        arguments = [self.expression(v) for v in values]
        if op == "permute_dims" and not params and len(arguments) == 1:
            params["axes"] = tuple(reversed(range(self.type_of(arguments[0]).rank)))
        return call(op, *arguments, line=node.lineno, **params)

    def _arguments(self, node: ast.Call, *names: str, optional: Sequence[str] = ()) -> dict[str, ast.expr]:
        """The arguments of a call by name; all of `names` must be there."""
        given = dict(zip(names, node.args, strict=False))
        given.update((str(k.arg), k.value) for k in node.keywords)
        allowed = {*names, *optional}
        if not set(names) <= set(given) <= allowed or len(node.args) + len(node.keywords) != len(given):
            refuse(node, f"`{source(node)}`: it is written {source(node.func)}({', '.join(names)})")
        return given

    def _convert(self, node: ast.Call) -> Expr:
        """float(i), int(b), bool(n), complex(x); complex(re, im) is an op."""
        if source(node.func) == "complex" and len(node.args) + len(node.keywords) == 2:
            parts = self._arguments(node, "re", "im")
            return call("complex", *(self.expression(parts[name]) for name in ("re", "im")), line=node.lineno)
        given = self._arguments(node, "x")
        dtype = source(node.func)
        return call("astype", self.expression(given["x"]), line=node.lineno, dtype=dtype)

    def _filled(self, node: ast.Call) -> Expr:
        """zeros(shape), ones(shape), full(shape, value)."""
        name = source(node.func)
        given = self._arguments(node, *(("shape", "value") if name == "full" else ("shape",)))
        shape = _static(given["shape"])
        shape = shape if isinstance(shape, tuple) else (shape,)
        value: Expr = Const(float(name == "ones"), node.lineno)
        if name == "full":
            value = self.expression(given["value"])
        return call("broadcast_to", value, line=node.lineno, shape=shape)

    def _array(self, node: ast.Call) -> Expr:
        """array([[1.0, 2.0], [3.0, 4.0]]); an empty one may need its shape and dtype: array([], shape=(0, 3),
        dtype=int).
        """
        given = self._arguments(node, "entries", optional=("shape", "dtype"))
        entries: list[Const] = []
        shape = self._nested(given["entries"], entries)
        if "shape" in given:
            wanted = _static(given["shape"])
            wanted = wanted if isinstance(wanted, tuple) else ()
            if entries or 0 not in wanted or not all(type(n) is int and n >= 0 for n in wanted):
                refuse(node, "only an empty array is given its shape, as in array([], shape=(0, 3))")
            shape = tuple(n for n in wanted if isinstance(n, int))
        dtypes = {e.dtype for e in entries}
        dtype: DType = "bool" if dtypes == {"bool"} else "int" if dtypes == {"int"} else "float"
        if "bool" in dtypes and len(dtypes) > 1:
            refuse(node, "an array constant of bools and numbers; make them one dtype")
        if "dtype" in given:
            wider = "float" if dtype == "int" else dtype
            match _static(given["dtype"]):
                case ("float" | "int" | "bool") as other if not entries or other in (dtype, wider):
                    dtype = other
                case other:
                    mixed = f"an array of {dtype} entries with dtype {other}"
                    refuse(node, f"{mixed}; write the entries in that dtype")
        if dtype == "float":
            entries = [Const(float(e.number), e.line) for e in entries]
        return ArrayConst(dtype, shape, tuple(entries), node.lineno)

    def _nested(self, node: ast.expr, entries: list[Const]) -> tuple[int, ...]:
        """The shape of a nested list; its entries are appended in row-major order."""
        if not isinstance(node, (ast.List, ast.Tuple)):
            entry = self.expression(node)
            if not isinstance(entry, Const):
                what = source(node)
                refuse(node, f"array([...]) holds constants, not `{what}`; use stack([...]) for values")
            entries.append(entry)
            return ()
        self.depth += 1
        if self.depth > MAX_NESTING:
            refuse(node, f"nested deeper than {MAX_NESTING} levels")
        shapes = {self._nested(e, entries) for e in node.elts}
        self.depth -= 1
        if len(shapes) > 1:
            refuse(node, "the rows of an array constant have different lengths")
        return (len(node.elts), *(shapes.pop() if shapes else ()))

    def _slice(self, node: ast.Call) -> Expr:
        place = "index_update(array, value, ...)"
        refuse(node, f"slice(start, stop) stands only in {place}; elsewhere write array[start:stop]")

    def _range(self, node: ast.Call) -> Expr:
        refuse(node, "range stands only in `for i in range(n)`")

    def _index(self, node: ast.Call) -> Expr:
        """index(array, i, slice(0, 2)) is array[i, 0:2]; index_update(array, value, i, slice(0, 2)) has no
        other form.
        """
        updating = source(node.func) == "index_update"
        least = 2 if updating else 1
        if node.keywords or len(node.args) < least:
            update = "index_update(array, value, i, slice(start, stop), ...)"
            written = update if updating else "array[i, start:stop]"
            refuse(node, f"`{source(node)}`: write {written}")
        base, *value = [self.expression(a) for a in node.args[:least]]
        entries: list[ast.expr] = []
        for a in node.args[least:]:
            match a:
                case ast.Call(ast.Name("slice"), [start, stop], []):
                    entries.append(ast.copy_location(ast.Slice(start, stop, None), a))
                case _:
                    entries.append(a)
        pattern, indices = self.place(base, ast.copy_location(ast.Tuple(entries, ast.Load()), node))
        return Call(source(node.func), (base, *value, *indices), (("pattern", pattern),), node.lineno)

    # Subscripts

    def place(self, array: Expr, node: ast.expr) -> tuple[ParamValue, list[Expr]]:
        """The index pattern and the int arguments of `array[node]`, completed from the array's shape."""
        entries = node.elts if isinstance(node, ast.Tuple) else [node]
        try:
            t = self.type_of(array)
        except ProgramTypeError as error:
            raise (error if error.line else ProgramTypeError(str(error), line=node.lineno)) from None
        if len(entries) > t.rank:
            fail(f"{len(entries)} indices on {t}, which has {t.rank} axes", node.lineno)
        pattern: list[ParamValue] = []
        indices: list[Expr] = []
        for axis, size in enumerate(t.shape):
            assert size is not None, "programs have no stacks"
            entry = entries[axis] if axis < len(entries) else None
            if entry is None:
                pattern.append(("slice", 0, size))
            elif isinstance(entry, ast.Slice):
                pattern.append(self._bounds(entry, axis, size, t))
            else:
                pattern.append("at")
                indices.append(self._at(entry, axis, size, t))
        return tuple(pattern), indices

    def _at(self, node: ast.expr, axis: int, size: int, t: Type) -> Expr:
        if isinstance(node, ast.Constant) and (node.value is None or node.value is ...):
            refuse(node, f"`{source(node)}` is no index; use reshape, or write the slices out")
        number = _int_literal(node)
        if number is None or number >= 0:
            return self.expression(node)
        if number < -size:
            fail(f"index {number} is outside axis {axis} of {t}", node.lineno)
        return Const(number + size, node.lineno)

    def _bounds(self, node: ast.Slice, axis: int, size: int, t: Type) -> ParamValue:
        if node.step is not None and _int_literal(node.step) != 1:
            refuse(node, "a slice has no step; use flip to turn an axis round, stack to pick entries")
        bounds: list[int] = []
        for bound, default in ((node.lower, 0), (node.upper, size)):
            number = default if bound is None else _int_literal(bound)
            if number is None:
                refuse(node, f"the bounds of `{source(node)}` are not int literals; shapes are static")
            bounds.append(number + size if number < 0 else number)
        start, stop = bounds
        if not 0 <= start <= stop <= size:
            fail(f"the slice `{source(node)}` is outside axis {axis} of {t}", node.lineno)
        return ("slice", start, stop)

    _special: ClassVar[dict[str, Callable[[Expressions, ast.Call], Expr]]] = {
        "array": _array,
        "bool": _convert,
        "complex": _convert,
        "float": _convert,
        "full": _filled,
        "index": _index,
        "index_update": _index,
        "int": _convert,
        "ones": _filled,
        "range": _range,
        "slice": _slice,
        "zeros": _filled,
    }
    """What is written as a call and is not simply an op of the table."""
