"""Standalone reproducers: the parts of a script that are the same for every library.

A script needs numpy, mpmath and one library, and nothing of gradfuzz. Its parts are

    heading             what is wrong, the program as text, the imports; a failed import exits with 125
    inputs_source       what is asked: `inputs`, `wrt`, `weights` and, from second order on, `directions`
    (the library's)     a function `gradient()` that asks the library: {name: array}
    reference_source    a function `expected_gradient()`: central differences of the program in mpmath
    verdict_source      (script_verdict) the table input, expected, got, ratio, and the exit code: 1 while an
                        entry is further off than allowed

For a question of order 0 "gradient" means the outputs, under the names "output 0", "output 1", ...
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from gradfuzz.oracles.base import Array, Question
from gradfuzz.oracles.emit import script_linalg, script_tensors
from gradfuzz.oracles.emit.linalg_source import is_linalg, result_shapes
from gradfuzz.oracles.emit.statements import (
    AND,
    ATOM,
    NOT,
    OR,
    POWER,
    PRODUCT,
    SUM,
    UNARY,
    Emitter,
    Piece,
    nested_list,
    number_text,
)
from gradfuzz.oracles.emit.tensor_source import is_tensor_op
from gradfuzz.programs.language.functions import Function
from gradfuzz.programs.language.printer import to_text
from gradfuzz.programs.language.syntax import ArrayConst, ParamValue
from gradfuzz.programs.language.types import Type

RESERVED = frozenset(
    {
        "allowed",
        "comparison",
        "directions",
        "expected_gradient",
        "gradient",
        "h",
        "inputs",
        "mp",
        "mpf",
        "np",
        "sys",
        "weights",
        "wrt",
    }
)
"""Names that every script uses itself."""

_DIGITS = 250
_STEP = 50
"""A step of 1e-50 errs by about 1e-100 of the third derivative; 250 digits are enough for third order."""


def array_text(array: Array, dtype: str) -> str:
    """`np.array(...)` for exactly these entries."""
    if array.size == 0:
        return f'np.zeros({array.shape}, "{dtype}")'
    entries = [number_text(entry) for entry in np.asarray(array).ravel().tolist()]
    return f'np.array({nested_list(entries, array.shape)}, "{dtype}")'


def heading(question: Question, title: str, library: str, imports: str) -> str:
    """The docstring of a script, with the program, and the imports: all scripts' and the library's."""
    program = "\n".join(
        f"    {line}" if line else "" for line in to_text(question.program).rstrip().splitlines()
    )
    return opening(
        f"{title}\n\n{program}",
        f"numpy, mpmath and {library}",
        f"import numpy as np\nfrom mpmath import mp, mpf\n{imports}",
    )


def opening(text: str, needs: str, imports: str) -> str:
    """The docstring with `text`, and the imports. A failed import exits with 125: neither right nor wrong."""
    guarded = "".join(f"    {line}\n" for line in imports.rstrip().splitlines())
    return (
        f'"""{text}\n\n{OUTCOME} Needs {needs}; without them it\n'
        'exits with 125, at which `git bisect run` goes on.\n"""\n\n'
        f"from __future__ import annotations\n\nimport sys\n\ntry:\n{guarded}except ImportError as error:\n"
        f'    print(f"{{error}}; this script needs {needs}", file=sys.stderr)\n    sys.exit(125)\n\n'
    )


OUTCOME = "Prints expected and got, and exits with 1 while they differ, otherwise with 0."


def inputs_source(question: Question, point_index: int, floats: str | None = None) -> str:
    """`inputs`, `wrt`, `weights` (one per output, None where it is not a float) and, from second order on,
    `directions`.

    `floats` is the dtype of their floats; by default the question's precision.
    """
    point, floats = question.points[point_index], floats or question.precision
    dtypes = {"float": floats, "int": "int64", "bool": "bool"}
    lines = ["inputs = {"]
    lines += [
        f'    "{p.name}": {array_text(point.inputs[p.name], dtypes[p.type.dtype])},'
        for p in question.program.params
    ]
    lines += ["}"]
    if question.order > 0:
        texts = ["None" if w is None else array_text(w, floats) for w in question.weights]
        lines += ["wrt = [{}]".format(", ".join(f'"{name}"' for name in question.wrt))]
        lines += [f"weights = [{', '.join(texts)}]  # differentiated is the sum of weight * output"]
    if question.order > 1:
        lines += ["directions = {  # every derivative but the last is taken along these"]
        lines += [f'    "{name}": {array_text(question.directions[name], floats)},' for name in question.wrt]
        lines += ["}"]
    return "\n".join(lines) + "\n"


# The truth --------------------------------------------------------------------------------------------------

_HELPERS = {
    "exactly": (
        "def exactly(values):\n"
        '    """The same numbers as mpf."""\n'
        "    return np.frompyfunc(mpf, 1, 1)(np.asarray(values, dtype=float))\n"
    ),
    "replaced": (
        "def replaced(array, place, value):\n"
        '    """A copy of `array` with `value` at `place`."""\n'
        "    array = array.copy()\n"
        "    array[place] = value\n"
        "    return array\n"
    ),
}

_SLOPE = '''\
def slope(function, step):
    """The derivative of `function` along `step`, by a central difference."""

    def at(point, size):
        return function({**point, **{name: point[name] + size * step[name] for name in step}})

    return lambda point: (at(point, h) - at(point, -h)) / (2 * h)
'''


def reference_source(question: Question, point_index: int) -> str:
    """`expected_gradient()`: central differences of the program with mpmath numbers, as float64 arrays.

    It reads the globals of `inputs_source(question, point_index)`.
    """
    assert 0 <= point_index < len(question.points), f"point {point_index} of {len(question.points)}"
    point = f"    point = {_exact_point(question)}"
    lines = ["def expected_gradient():", point]
    if question.order == 0:
        lines += [f"    outputs = {_outputs(question)}"]
        lines += [
            '    return {f"output {k}": np.array(output, dtype=float) for k, output in enumerate(outputs)}'
        ]
        return "\n\n".join([f"mp.dps = {_DIGITS}\n", *_exact_function(question), "\n".join(lines) + "\n"])
    lines += ["    function = objective"]
    if question.order > 1:
        lines += ["    along = {name: exactly(v) for name, v in directions.items()}"]
        lines += ["    function = slope(function, along)"] * (question.order - 1)
    lines += [
        "    expected = {name: np.zeros(inputs[name].shape) for name in wrt}",
        "    for name in wrt:",
        "        for index in np.ndindex(inputs[name].shape):",
        "            unit = np.zeros(inputs[name].shape)",
        "            unit[index] = 1.0",
        "            expected[name][index] = float(slope(function, {name: exactly(unit)})(point))",
        "    return expected",
    ]
    return "\n\n".join(
        [_STEPS, *_exact_function(question), _objective(question), _SLOPE, "\n".join(lines) + "\n"]
    )


_STEPS = f"mp.dps = {_DIGITS}\nh = mpf(10) ** -{_STEP}\n"


def kink_source(question: Question) -> str:
    """`sides(direction)`: the slopes on both sides of the point, the lower first, for order 1."""
    assert question.order == 1, "one-sided slopes are of order 1"
    lines = [
        "def sides(direction):",
        f"    point = {_exact_point(question)}",
        "    step = {name: h * exactly(d) for name, d in direction.items()}",
        "    here = objective(point)",
        "    left = here - objective({**point, **{name: point[name] - step[name] for name in step}})",
        "    right = objective({**point, **{name: point[name] + step[name] for name in step}}) - here",
        "    return sorted([float(left / h), float(right / h)])",
    ]
    return "\n\n".join([_STEPS, *_exact_function(question), _objective(question), "\n".join(lines) + "\n"])


def _exact_function(question: Question) -> list[str]:
    """The program with mpmath numbers as a function `exact`, after the functions it calls."""
    function = MpmathEmitter(question.precision).function(question.program, "exact")
    helpers = [text for name, text in _HELPERS.items() if name == "exactly" or f"{name}(" in function]
    return [*helpers, *script_linalg.helpers_of(function), *script_tensors.helpers_of(function), function]


def _exact_point(question: Question) -> str:
    return (
        "{" + ", ".join(f'"{p.name}": {_exact_input(p.name, p.type)}' for p in question.program.params) + "}"
    )


def _outputs(question: Question) -> str:
    return (
        "[exact(*point.values())]" if len(question.program.result.values) == 1 else "exact(*point.values())"
    )


def _objective(question: Question) -> str:
    terms = "sum(np.sum(exactly(w) * output) for w, output in zip(weights, outputs) if w is not None)"
    return f"def objective(point):\n    outputs = {_outputs(question)}\n    return {terms}\n"


def _exact_input(name: str, of: Type) -> str:
    if of.dtype == "float":
        return f'exactly(inputs["{name}"])'
    return f'inputs["{name}"]' if of.shape else f'{of.dtype}(inputs["{name}"])'


_IDENTITY_ON_SCALARS = frozenset({"sum", "mean", "prod", "reshape", "broadcast_to", "permute_dims", "index"})
"""Ops that leave a scalar as it is, where the result is a scalar too."""
_FUNCTIONS = {"sign": "sign", "conj": "conj", "real": "re", "imag": "im"}
"""Functions of floats and complex numbers in mpmath."""


class MpmathEmitter(Emitter):
    """Programs with mpmath: scalars are mpf, mpc, Python ints and bools; arrays are NumPy arrays of them."""

    reserved = frozenset(
        {"exactly", "mp", "mpf", "np", "replaced", *script_linalg.HELPERS, *script_tensors.HELPERS}
    )

    def constant(self, value: float | complex) -> str:
        return f"{'mp.mpc' if isinstance(value, complex) else 'mpf'}({number_text(value)})"

    def array(self, array: ArrayConst) -> str:
        if not array.values:
            return f"np.zeros({array.shape}, {array.dtype if array.dtype in ('int', 'bool') else 'object'})"
        return (
            f"exactly({self.entries(array)})"
            if array.dtype == "float"
            else f"np.array({self.entries(array)})"
        )

    def to_float(self, piece: Piece) -> str:
        return f"elementwise(mpf, {piece.text})" if piece.type.shape else f"mpf({piece.text})"

    def to_complex(self, piece: Piece) -> str:
        return f"elementwise(mp.mpc, {piece.text})" if piece.type.shape else f"mp.mpc({piece.text})"

    def elementwise(
        self, row: Function, args: Sequence[Piece], params: Mapping[str, ParamValue], result: Type
    ) -> Piece | None:
        if row.composition and not row.mpmath:
            return None
        arrays = bool(result.shape) or any(a.type.shape for a in args)
        if not row.mpmath and len(args) == 1:
            (x,) = (a.text for a in args)
            return Piece(f"elementwise(mp.{row.name}, {x})" if arrays else f"mp.{row.name}({x})", result)
        text = row.mpmath or f"mp.{row.name}({', '.join(row.arguments)})"
        for name, value in params.items():
            text = re.sub(rf"\b{name}\b", str(value), text)
        function = f"np.frompyfunc(lambda {', '.join(row.arguments)}: {text}, {len(args)}, 1)"
        if arrays:
            return Piece(f"{function}({', '.join(a.text for a in args)})", result)
        texts = dict(zip(row.arguments, (a.at(ATOM) for a in args), strict=True))
        return Piece(re.sub(r"\b[xy]\b", lambda m: texts[m[0]], text), result, PRODUCT)

    def call(self, op: str, args: Sequence[Piece], params: Mapping[str, ParamValue], result: Type) -> Piece:
        x, texts = args[0], [a.text for a in args]
        scalar = not result.shape and not any(a.type.shape for a in args)
        if scalar and op in _IDENTITY_ON_SCALARS:
            return replace(x, type=result)
        if is_tensor_op(op):
            (shape,) = self.shapes([Piece("", result)])
            return Piece(script_tensors.write(op, texts, self.shapes(args), params, shape), result)
        function = _FUNCTIONS.get(op)
        if function is not None and result.is_inexact:
            return Piece(
                f"mp.{function}({x.text})" if scalar else f"elementwise(mp.{function}, {x.text})", result
            )
        match op:
            case _ if is_linalg(op):
                texts, results = [a.at(ATOM) for a in args], result_shapes(op, [a.type for a in args], params)
                own = PRODUCT if op in ("lstsq", "solve", "triangular_solve") else ATOM
                return Piece(script_linalg.write(op, texts, self.shapes(args), params, results), result, own)
            case "complex":
                number = (
                    f"mp.mpc({', '.join(texts)})"
                    if scalar
                    else f"np.frompyfunc(mp.mpc, 2, 1)({', '.join(texts)})"
                )
                return Piece(number, result)
            case "integer_pow":
                return Piece(f"{x.at(ATOM)} ** {params['n']}", result, POWER)
            case "pow":
                return Piece(f"{x.at(ATOM)} ** {args[1].at(UNARY)}", result, POWER)
            case "abs":
                return Piece(f"abs({x.text})", result)
            case "sign":
                return (
                    Piece(f"({x.text} > 0) - ({x.text} < 0)", result, SUM)
                    if scalar
                    else Piece(f"np.sign({x.text})", result)
                )
            case "maximum" | "minimum":
                return Piece(f"{op[:3] if scalar else f'np.{op}'}({', '.join(texts)})", result)
            case "where":
                return Piece(
                    f"({texts[1]} if {texts[0]} else {texts[2]})"
                    if scalar
                    else f"np.where({', '.join(texts)})",
                    result,
                )
            case "logical_and" if scalar:
                return Piece(f"{x.at(AND)} and {args[1].at(NOT)}", result, AND)
            case "logical_or" if scalar:
                return Piece(f"{x.at(OR)} or {args[1].at(AND)}", result, OR)
            case "logical_not" if scalar:
                return Piece(f"not {x.at(NOT)}", result, NOT)
            case "logical_and" | "logical_or" | "logical_not":
                return Piece(f"np.{op}({', '.join(texts)})", result)
            case "astype":
                return self._cast(x, result)
            case "concat" | "stack":
                function = "np.concatenate" if op == "concat" else "np.stack"
                return Piece(f"{function}([{', '.join(texts)}], {params['axis']})", result)
            case "sum" | "mean" | "prod":
                options = [f"axis={params['axis']}"] if params["axis"] is not None else []
                options += ["keepdims=True"] if params["keepdims"] else []
                return Piece(f"np.{op}({', '.join([x.text, *options])})", result)
            case "cumulative_sum":
                return Piece(f"np.cumsum({x.text}, {params['axis']})", result)
            case "flip":
                return Piece(f"np.flip({x.text}, {params['axis']})", result)
            case "permute_dims":
                return Piece(f"np.transpose({x.text}, {params['axes']})", result)
            case "reshape" | "broadcast_to" if not x.type.shape:
                return Piece(f"np.full({params['shape']}, {x.text})", result)
            case "reshape" if not result.shape:
                return Piece(f"{x.at(ATOM)}.item()", result)
            case "reshape" | "broadcast_to":
                return Piece(f"np.{op}({x.text}, {params['shape']})", result)
            case "index":
                return Piece(f"{x.at(ATOM)}[{', '.join(self.places(params['pattern'], texts[1:]))}]", result)
            case "index_update" if not x.type.shape:
                return args[1]
            case "index_update":
                places = self.places(params["pattern"], texts[2:], "slice({}, {})")
                place = places[0] if len(places) == 1 else f"({', '.join(places)})"
                return Piece(f"replaced({x.text}, {place}, {texts[1]})", result)
        raise AssertionError(f"no mpmath form of {op}; every row of the op table has one")

    def _cast(self, x: Piece, result: Type) -> Piece:
        if result.dtype == x.type.dtype:
            return x
        if result.is_complex:
            return Piece(self.to_complex(x), result)
        return Piece(
            f"{x.at(ATOM)}.astype({result.dtype})" if x.type.shape else f"{result.dtype}({x.text})", result
        )
