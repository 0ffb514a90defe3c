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
import textwrap
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from gradfuzz.oracles.base import Array, Question
from gradfuzz.oracles.emit import script_linalg, script_tensors
from gradfuzz.oracles.emit.host import on_numbers
from gradfuzz.oracles.emit.op_source import WRITTEN, Params, is_linalg, result_shapes
from gradfuzz.oracles.emit.plain_source import called
from gradfuzz.oracles.emit.statements import (
    ATOM,
    POWER,
    PRODUCT,
    UNARY,
    Emitter,
    Piece,
    Pieces,
    Written,
    nested_list,
    number_text,
)
from gradfuzz.programs.language.functions import Function
from gradfuzz.programs.language.program import to_text
from gradfuzz.programs.language.syntax import ArrayConst
from gradfuzz.programs.language.types import Type

_WORDS = "allowed comparison directions expected_gradient gradient h inputs mp mpf np sys weights wrt"
RESERVED = frozenset(_WORDS.split())
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
    program = textwrap.indent(to_text(question.program).rstrip(), "    ")
    imports = f"import numpy as np\nfrom mpmath import mp, mpf\n{imports}"
    return opening(f"{title}\n\n{program}", f"numpy, mpmath and {library}", imports)


def opening(text: str, needs: str, imports: str) -> str:
    """The docstring with `text`, and the imports. A failed import exits with 125: neither right nor wrong."""
    imports = textwrap.indent(imports.rstrip(), "    ")
    return _OPENING.format(text=text, outcome=OUTCOME, needs=needs, imports=imports)


_OPENING = '''\
"""{text}

{outcome} Needs {needs}; without them it
exits with 125, at which `git bisect run` goes on.
"""

from __future__ import annotations

import sys

try:
{imports}
except ImportError as error:
    print(f"{{error}}; this script needs {needs}", file=sys.stderr)
    sys.exit(125)

'''
OUTCOME = "Prints expected and got, and exits with 1 while they differ, otherwise with 0."


def inputs_source(question: Question, point_index: int, floats: str | None = None) -> str:
    """`inputs`, `wrt`, `weights` (one per output, None where it is not a float) and, from second order on,
    `directions`.

    `floats` is the dtype of their floats; by default the question's precision.
    """
    point, floats = question.points[point_index], floats or question.precision
    dtypes = {"float": floats, "int": "int64", "bool": "bool"}

    def table(arrays: Mapping[str, tuple[Array, str]]) -> list[str]:
        return [*(f'    "{name}": {array_text(*array)},' for name, array in arrays.items()), "}"]

    given = {p.name: (point.inputs[p.name], dtypes[p.type.dtype]) for p in question.program.params}
    lines = ["inputs = {", *table(given)]
    if question.order > 0:
        texts = ["None" if w is None else array_text(w, floats) for w in question.weights]
        lines += ["wrt = [{}]".format(", ".join(f'"{name}"' for name in question.wrt))]
        lines += [f"weights = [{', '.join(texts)}]  # differentiated is the sum of weight * output"]
    if question.order > 1:
        lines += ["directions = {  # every derivative but the last is taken along these"]
        lines += table({name: (question.directions[name], floats) for name in question.wrt})
    return "\n".join(lines) + "\n"


# The truth --------------------------------------------------------------------------------------------------

_EXACTLY = '''\
def exactly(values):
    """The same numbers as mpf."""
    return np.frompyfunc(mpf, 1, 1)(np.asarray(values, dtype=float))
'''
_REPLACED = '''\
def replaced(array, place, value):
    """A copy of `array` with `value` at `place`."""
    array = array.copy()
    array[place] = value
    return array
'''
_HELPERS = {"exactly": _EXACTLY, "replaced": _REPLACED, **script_linalg.HELPERS, **script_tensors.HELPERS}

_SLOPE = '''\
def slope(function, step):
    """The derivative of `function` along `step`, by a central difference."""

    def at(point, size):
        return function({**point, **{name: point[name] + size * step[name] for name in step}})

    return lambda point: (at(point, h) - at(point, -h)) / (2 * h)
'''

_VALUES = """\
def expected_gradient():
    point = POINT
    outputs = OUTPUTS
    return {f"output {k}": np.array(output, dtype=float) for k, output in enumerate(outputs)}
"""

_GRADIENT = """\
def expected_gradient():
    point = POINT
    function = objective
ALONG
    expected = {name: np.zeros(inputs[name].shape) for name in wrt}
    for name in wrt:
        for index in np.ndindex(inputs[name].shape):
            unit = np.zeros(inputs[name].shape)
            unit[index] = 1.0
            expected[name][index] = float(slope(function, {name: exactly(unit)})(point))
    return expected
"""

_SIDES = """\
def sides(direction):
    point = POINT
    step = {name: h * exactly(d) for name, d in direction.items()}
    here = objective(point)
    left = here - objective({**point, **{name: point[name] - step[name] for name in step}})
    right = objective({**point, **{name: point[name] + step[name] for name in step}}) - here
    return sorted([float(left / h), float(right / h)])
"""

_OBJECTIVE = """\
def objective(point):
    outputs = OUTPUTS
    return sum(np.sum(exactly(w) * output) for w, output in zip(weights, outputs) if w is not None)
"""


def reference_source(question: Question, point_index: int) -> str:
    """`expected_gradient()`: central differences of the program with mpmath numbers, as float64 arrays.

    It reads the globals of `inputs_source(question, point_index)`.
    """
    assert 0 <= point_index < len(question.points), f"point {point_index} of {len(question.points)}"
    if question.order == 0:
        return _exact(question, f"mp.dps = {_DIGITS}\n", _VALUES)
    along = "    along = {name: exactly(v) for name, v in directions.items()}\n" if question.order > 1 else ""
    along += "    function = slope(function, along)\n" * (question.order - 1)
    return _exact(question, _STEPS, _OBJECTIVE, _SLOPE, _GRADIENT.replace("ALONG\n", along))


_STEPS = f"mp.dps = {_DIGITS}\nh = mpf(10) ** -{_STEP}\n"


def kink_source(question: Question) -> str:
    """`sides(direction)`: the slopes on both sides of the point, the lower first, for order 1."""
    assert question.order == 1, "one-sided slopes are of order 1"
    return _exact(question, _STEPS, _OBJECTIVE, _SIDES)


def _exact(question: Question, settings: str, *parts: str) -> str:
    """The program with mpmath numbers as a function `exact`, after the functions that it calls; then `parts`,
    which call it.
    """
    program = question.program
    function = MpmathEmitter(question.precision).function(program, "exact")
    helpers = called(f"{function}\nexactly\n", _HELPERS)
    point = ", ".join(f'"{p.name}": {_exact_input(p.name, p.type)}' for p in program.params)
    outputs = "[exact(*point.values())]" if len(program.result.values) == 1 else "exact(*point.values())"
    filled = [part.replace("OUTPUTS", outputs).replace("POINT", f"{{{point}}}") for part in parts]
    return "\n\n".join([settings, *helpers, function, *filled])


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

    reserved = frozenset({"mp", "mpf", "np", *_HELPERS})

    def constant(self, value: float | complex) -> str:
        return f"{'mp.mpc' if isinstance(value, complex) else 'mpf'}({number_text(value)})"

    def array(self, array: ArrayConst) -> str:
        if not array.values:
            return f"np.zeros({array.shape}, {array.dtype if array.dtype in ('int', 'bool') else 'object'})"
        return f"{'exactly' if array.dtype == 'float' else 'np.array'}({self.entries(array)})"

    def to_float(self, piece: Piece) -> str:
        return self.each("mpf", piece)

    def to_complex(self, piece: Piece) -> str:
        return self.each("mp.mpc", piece)

    def each(self, function: str, piece: Piece) -> str:
        """A function of a number, or of every entry."""
        return f"elementwise({function}, {piece.text})" if piece.type.shape else f"{function}({piece.text})"

    def elementwise(self, row: Function, args: Pieces, params: Params, result: Type) -> Written | None:
        if row.composition and not row.mpmath:
            return None
        if not row.mpmath and len(args) == 1:
            return self.each(f"mp.{row.name}", args[0])
        text = row.mpmath or f"mp.{row.name}({', '.join(row.arguments)})"
        for name, value in params.items():
            text = re.sub(rf"\b{name}\b", str(value), text)
        if result.shape or any(a.type.shape for a in args):
            function = f"np.frompyfunc(lambda {', '.join(row.arguments)}: {text}, {len(args)}, 1)"
            return f"{function}({', '.join(a.text for a in args)})"
        texts = dict(zip(row.arguments, (a.at(ATOM) for a in args), strict=True))
        return Piece(re.sub(r"\b[xy]\b", lambda m: texts[m[0]], text), result, PRODUCT)

    def call(self, op: str, args: Pieces, params: Params, result: Type) -> Written:
        x, texts = args[0], [a.text for a in args]
        scalar = not result.shape and not any(a.type.shape for a in args)
        if scalar and op in _IDENTITY_ON_SCALARS:
            return replace(x, type=result)
        if op in WRITTEN and not is_linalg(op):
            return script_tensors.write(op, texts, self.shapes(args), params, result.sizes)
        if op in _FUNCTIONS and result.is_inexact:
            return self.each(f"mp.{_FUNCTIONS[op]}", x)
        match op:
            case _ if is_linalg(op):
                texts, results = [a.at(ATOM) for a in args], result_shapes(op, [a.type for a in args], params)
                own = PRODUCT if op in ("lstsq", "solve", "triangular_solve") else ATOM
                return Piece(script_linalg.write(op, texts, self.shapes(args), params, results), result, own)
            case "complex":
                return f"{'mp.mpc' if scalar else 'np.frompyfunc(mp.mpc, 2, 1)'}({', '.join(texts)})"
            case "integer_pow":
                return Piece(f"{x.at(ATOM)} ** {params['n']}", result, POWER)
            case "pow":
                return Piece(f"{x.at(ATOM)} ** {args[1].at(UNARY)}", result, POWER)
            case "astype":
                return self._cast(x, result)
            case "abs":
                return f"abs({x.text})"
            case _ if scalar and (written := on_numbers(op, args, result)):
                return written
            case "sign" | "maximum" | "minimum" | "where" | "logical_and" | "logical_or" | "logical_not":
                return f"np.{op}({', '.join(texts)})"
            case "index":
                return self.indexed(x, args[1:], params["pattern"], result)
            case "index_update":
                return f"replaced({x.text}, {self.place(params['pattern'], args[2:])}, {texts[1]})"
        raise AssertionError(f"no mpmath form of {op}; every row of the op table has one")

    def _cast(self, x: Piece, result: Type) -> Written:
        if result.is_complex:
            return self.to_complex(x)
        return f"{x.at(ATOM)}.astype({result.dtype})" if x.type.shape else f"{result.dtype}({x.text})"
