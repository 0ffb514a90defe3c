"""Reads what a person asks for: a program by its body, file or function, and points by their inputs.

    source  ::= BODY | FILE | MODULE:FUNC | "def ..."     a bare loop body becomes one program per loop form
    at      ::= name=value, ...                           one point; an input that is not named takes a
                                                          default
    value   ::= number | true | false | [value, ...]

Questions are about real inputs: a complex input z, as in --at z=0.5+0.25j, becomes the two inputs z_re and
z_im (see `programs.evaluation.pairs`).
"""

from __future__ import annotations

import ast
import importlib
import inspect
import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, cast

import numpy as np

import gradfuzz.engine as engine
from gradfuzz.errors import GradfuzzError, UsageError, did_you_mean
from gradfuzz.oracles.base import Array, Point
from gradfuzz.programs.evaluation.pairs import PARTS, in_pairs
from gradfuzz.programs.language.precision import Precision
from gradfuzz.programs.language.program import Program, names_in
from gradfuzz.programs.language.syntax import Param
from gradfuzz.programs.language.types import Type
from gradfuzz.programs.text.json_form import from_json
from gradfuzz.programs.text.loop_body import loop_program
from gradfuzz.programs.text.parse import parse

LoopForm = Literal["for", "while", "repeat"]
LOOPS: tuple[LoopForm, ...] = ("for", "while", "repeat")

_FUNCTION = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")
_SUFFIXES = (".py", ".txt", ".json", ".gf")


# Inputs -----------------------------------------------------------------------------------------------------


def read_inputs(texts: Sequence[str]) -> list[dict[str, Array]]:
    """One mapping of names to arrays for each text such as "x=0.5, v=[1, 2]". Floats are still float64."""
    return [dict(_item(part, text) for part in _split(text)) for text in texts]


def read_inits(texts: Sequence[str]) -> dict[str, float | str]:
    """First values of carries: "acc=1.0" is a number, "acc=x" an expression."""
    inits: dict[str, float | str] = {}
    for text in texts:
        name, sign, value = (part.strip() for part in text.partition("="))
        if not sign or not name.isidentifier() or not value:
            advice = "write a carry and its first value, as in --init acc=1.0 or --init acc=x"
            raise UsageError(f"--init {text!r}: {advice}")
        try:
            inits[name] = float(value)
        except ValueError:
            inits[name] = value
    return inits


def _split(text: str) -> list[str]:
    """The parts between commas outside brackets."""
    parts, depth, start = [], 0, 0
    for k, character in enumerate(text):
        depth += (character == "[") - (character == "]")
        if character == "," and depth == 0:
            parts.append(text[start:k].strip())
            start = k + 1
    return [part for part in (*parts, text[start:].strip()) if part]


def _item(part: str, text: str) -> tuple[str, Array]:
    name, sign, value = (p.strip() for p in part.partition("="))
    if not sign or not name.isidentifier():
        advice = "write --at x=0.5, or --at x=0.5,v=[1,2] for one point of two inputs"
        raise UsageError(f"--at {text!r}: {part!r} is not name=value; {advice}")
    return name, _value(value, name, text)


def _value(value: str, name: str, text: str) -> Array:
    try:
        if value.startswith("["):
            array = np.asarray(ast.literal_eval(value))
        elif value in ("true", "True", "false", "False"):
            array = np.asarray(value in ("true", "True"))
        elif value.endswith(("j", "J")):
            array = np.asarray(complex(value.replace(" ", "")))
        elif re.fullmatch(r"[+-]?\d+", value):
            array = np.asarray(int(value), np.int64)
        else:
            array = np.asarray(float(value))
    except (ValueError, SyntaxError, TypeError, OverflowError, MemoryError, RecursionError):
        array = np.asarray(None)
    if array.dtype.kind not in "fibc":
        wanted = "number, bool or nested list of equal rows"
        raise UsageError(f"--at {text!r}: the value {value!r} of {name} is not a {wanted}")
    return array


def default_input(param: Param) -> Array:
    """The default value of an input.

    A float is 0.5, the entries of an array are 0.5, 0.75, 1.0, ...; an int is 3; a bool is true.
    """
    shape = param.type.sizes
    if param.type.dtype == "float":
        return (0.5 + 0.25 * np.arange(np.prod(shape, dtype=int))).reshape(shape)
    return np.full(shape, 3 if param.type.dtype == "int" else True)


def points_of(
    program: Program, given: Sequence[Mapping[str, Array]], precision: Precision
) -> tuple[Point, ...]:
    """The points of `program` in `precision`, one per mapping in `given`; one of defaults without any.

    A scalar fills an array input. Raises `UsageError` for names that are no inputs and for values that do not
    fit.
    """
    names = [param.name for param in program.params]
    given = [_in_parts(program, values) for values in given]
    for values in given:
        for name in values:
            if name not in names:
                known = (", ".join(names) or "none") + did_you_mean(name, names)
                raise UsageError(
                    f"--at names {name!r}, which is not an input of the program; its inputs are {known}"
                )
    return tuple(
        Point({p.name: _fitted(values.get(p.name, default_input(p)), p, precision) for p in program.params})
        for values in given or [{}]
    )


def remarks(program: Program, given: Sequence[Mapping[str, Array]], source: str) -> list[str]:
    """What a person should know about the inputs: defaults taken, and names that the program does not use.
    `UsageError` where --at names such a one and leaves out another: it is taken for a slip.
    """
    given = [_in_parts(program, values) for values in given]
    used = names_in(program)
    defaults = [p for p in program.params if any(p.name not in values for values in given or [{}])]
    values = ", ".join(f"{p.name} = {default_input(p).tolist()}" for p in defaults)
    idle = [p.name for p in program.params if p.name not in used]
    slips = [name for name in idle if any(name in values for values in given)]
    if slips and defaults:
        missing = ", ".join(p.name for p in defaults)
        what = f"{', '.join(slips)} does not occur in {_short(source)!r}, and {missing} is not given"
        raise UsageError(f"{what}; write --at {defaults[0].name}=0.5")
    return [
        *([f"Not given by --at, so taken as: {values}."] if defaults else []),
        *(f"{name} does not occur in {_short(source)!r}: its derivative is zero." for name in idle),
    ]


def inputs_named(program: Program, names: Iterable[str]) -> tuple[str, ...]:
    """`names`, with a complex input replaced by its two parts."""
    return tuple(part for name in names for part in _parts(program, name))


def _parts(program: Program, name: str) -> Iterator[str]:
    own, parts = {p.name for p in program.params}, [name + part for part in PARTS]
    yield from parts if name not in own and own.issuperset(parts) else [name]


def _in_parts(program: Program, values: Mapping[str, Array]) -> dict[str, Array]:
    """The values, with that of a complex input split into its two parts."""
    result: dict[str, Array] = {}
    for name, value in values.items():
        parts = list(_parts(program, name))
        values_of_parts = [value] if len(parts) == 1 else [np.real(value), np.imag(value)]
        result.update(zip(parts, values_of_parts, strict=True))
    return result


def _fitted(value: Array, param: Param, precision: Precision) -> Array:
    shape = param.type.sizes
    this, given = f"the input {param.name} is", value.tolist()
    if value.shape not in ((), shape):
        wanted = shape or "a scalar"
        raise UsageError(f"{this} {param.type}, and the value given has shape {value.shape}; give {wanted}")
    if value.dtype.kind == "c":
        raise UsageError(f"{this} {param.type}, not {given!r}; give real numbers")
    if (param.type.dtype == "bool") != (value.dtype.kind == "b"):
        raise UsageError(f"{this} {param.type}, not {given!r}; only a bool is true or false")
    if param.type.dtype == "int" and np.any(value.astype(np.float64) % 1 != 0):
        raise UsageError(f"{this} an int, not {given!r}; give a whole number")
    dtype = {"float": precision, "int": "int64", "bool": "bool"}[param.type.dtype]
    with np.errstate(over="ignore"):
        return np.broadcast_to(value.astype(dtype), shape).copy()


# Programs ---------------------------------------------------------------------------------------------------


def programs_of(
    source: str,
    *,
    loops: Sequence[LoopForm] | None = None,
    trips: int | None = None,
    init: Mapping[str, float | str] | None = None,
    inputs: Sequence[Mapping[str, Array]] = (),
) -> list[tuple[LoopForm | None, Program]]:
    """The programs that `source` stands for: a bare loop body gives one per form in `loops` (default: all),
    anything else gives one.

    `inputs` tells the shapes of a body's inputs and the examples that a Python function is traced with. A
    body-first loop cannot have trip count zero: that form is left out, or refused where it alone is asked
    for.
    """
    whole = _whole_program(source, inputs)
    if whole is not None:
        for flag, value in (("--loop", loops), ("--trips", trips), ("--init", init)):
            if value is not None and value != {}:
                whole_one = f"{_short(source)!r} is a whole program with loops of its own"
                raise UsageError(f"{flag} is for a bare loop body; {whole_one}")
        return [(None, in_pairs(whole))]
    shapes = {
        name: Type("complex" if value.dtype.kind == "c" else "float", value.shape)
        for values in inputs[:1]
        for name, value in values.items()
    }
    forms = tuple(loops or LOOPS)
    count = 3 if trips is None else trips
    if count == 0 and forms != ("repeat",):
        forms = tuple(form for form in forms if form != "repeat")
    programs = (loop_program(source, trips=count, loop=form, init=init, params=shapes) for form in forms)
    return list(zip(forms, map(in_pairs, programs), strict=True))


def _whole_program(source: str, inputs: Sequence[Mapping[str, Array]]) -> Program | None:
    """The program in a text, file or function; None for a bare loop body."""
    if re.match(r"\s*def\s", source):
        return parse(source)
    if _FUNCTION.fullmatch(source):
        return _traced(source, inputs)
    if source.endswith(_SUFFIXES) or (len(source) < 256 and "\n" not in source and Path(source).is_file()):
        return _from_file(Path(source))
    return None


def _from_file(path: Path) -> Program:
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        advice = "give a file that holds one `def`, or a loop body such as acc*x"
        raise UsageError(f"cannot read {str(path)!r}: {error.strerror}; {advice}") from None
    except UnicodeDecodeError:
        advice = "a program file holds one `def`, or the JSON form of one"
        raise UsageError(f"{str(path)!r} is not UTF-8 text; {advice}") from None
    if path.suffix != ".json":
        return parse(text)
    try:
        return from_json(json.loads(text))
    except json.JSONDecodeError as error:
        raise UsageError(f"{str(path)!r} is not JSON: {error}") from None


def _traced(source: str, inputs: Sequence[Mapping[str, Array]]) -> Program:
    """The program of a Python function, traced at the first point. This runs the module and the function."""
    module_name, _, name = source.partition(":")
    function = imported(module_name, name)
    given = inputs[0] if inputs else {}
    try:
        names = list(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        advice = "wrap it in a plain Python function"
        raise UsageError(f"{source} has no signature to read its inputs from; {advice}") from None
    examples = [_example(np.asarray(given.get(n, 0.5))) for n in names]
    try:
        return engine.trace(function, *examples)
    except GradfuzzError:
        raise
    except Exception as error:  # a user's function may raise anything
        raise UsageError(f"tracing {source} raised {_in_a_line(error)}") from error


def _example(value: Array) -> Array:
    """An input to trace with: ints are floats here."""
    return value if value.dtype.kind in "bc" else np.asarray(value, np.float64)


def imported(module_name: str, name: str) -> Callable[..., Any]:
    """A function of a module importable from the current directory. Raises `UsageError` without one."""
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        module = importlib.import_module(module_name)
    except Exception as error:  # a user's module may raise anything
        raise UsageError(f"cannot import {module_name!r}: {_in_a_line(error)}") from error
    function = getattr(module, name, None)
    if not callable(function):
        known = [key for key, value in vars(module).items() if callable(value) and not key.startswith("_")]
        raise UsageError(f"{module_name} has no function {name!r}{did_you_mean(name, known)}")
    return cast("Callable[..., Any]", function)


def _in_a_line(error: Exception) -> str:
    first = (str(error).splitlines() or ["no message"])[0]
    return f"{type(error).__name__}: {first}"


def _short(source: str) -> str:
    return source if len(source) <= 40 else f"{source[:37]}..."
