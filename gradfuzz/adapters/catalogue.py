"""The record of a library's function, and how a catalogue of them is written down.

A catalogue lists every public function of a library and what becomes of it. Its script runs where the
library is installed: `PYTHON SCRIPT FILE` writes the functions into FILE as JSON. As the adapters it needs
Python 3.8 or newer and nothing else.
"""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

DIFFERENTIABLE = "differentiable"
NOT_DIFFERENTIABLE = "not differentiable"
LEFT_OUT = "left out"

OUTCOMES = (DIFFERENTIABLE, NOT_DIFFERENTIABLE, LEFT_OUT)
"""What becomes of a function. By the library's own documents it is differentiable or not; it is left out for
a reason that a person wrote.
"""

A_CLASS = "a class or type, not a function"


ARRAY = "array"
ARRAYS = "arrays"
NUMBER = "number"
INTEGER = "integer"
INTEGERS = "integers"
FLAG = "flag"
TEXT = "text"
DTYPE = "dtype"

VARIADIC = "variadic"

KINDS = (ARRAY, ARRAYS, NUMBER, INTEGER, INTEGERS, FLAG, TEXT, DTYPE, VARIADIC)
"""What a parameter takes: an array, a list of arrays, a number, an integer, a list of integers, a flag, a
text, a dtype, any count of arrays one after the other.
"""


@dataclass(frozen=True)
class Parameter:
    """A parameter of a function."""

    name: str
    kinds: tuple[str, ...]
    """Those of `KINDS` that it may take; none where it takes something that gradfuzz does not draw."""
    required: bool = False
    keyword: bool = False
    """Whether it is given by its name only."""
    choices: tuple[str, ...] = ()
    """Texts that the library names for it, as Python literals: "'mean'"."""
    default: str = ""
    """Its default as a Python literal; empty where it has none, or where that is no literal."""


@dataclass(frozen=True)
class Function:
    """A row of a catalogue."""

    names: tuple[str, ...]
    """Its public names, as a program writes them; none where only the library itself calls it."""
    signature: str
    """Its schema or signature, in the library's own notation."""
    outcome: str
    """One of `OUTCOMES`."""
    why: str
    """The document that says so, or the reason that a person wrote."""
    parameters: tuple[Parameter, ...] = ()
    """What a call of it takes, by its schema, annotations and docstring."""


@dataclass(frozen=True)
class Public:
    """A public object that can be called, with every name under which it stands."""

    names: tuple[str, ...]
    value: Any


def public(namespaces: Mapping[str, object]) -> list[Public]:
    """What can be called in the namespaces (dotted name -> module or class), each object once.

    Names that begin with an underscore are not public.
    """
    names: dict[int, list[str]] = {}
    values: dict[int, Any] = {}
    for space, owner in namespaces.items():
        for attribute in dir(owner):
            value = None if attribute.startswith("_") else getattr(owner, attribute, None)
            if callable(value):
                names.setdefault(id(value), []).append(f"{space}.{attribute}")
                values[id(value)] = value
    return [Public(tuple(names[key]), value) for key, value in values.items()]


def written(reasons: Mapping[str, str], names: Iterable[str]) -> str | None:
    """The reason whose patterns (reason -> patterns with spaces between) fit one of the names, or None."""
    named = list(names)
    for reason, patterns in reasons.items():
        for pattern in patterns.split():
            if any(fnmatchcase(name, pattern) for name in named):
                return reason
    return None


def signature(name: str, value: Any) -> str:
    """The name and signature of a function: Python's, or the first line of the docstring where it has one."""
    last = name.rpartition(".")[2]
    try:
        return f"{last}{inspect.signature(value)}"
    except (TypeError, ValueError):
        first = (inspect.getdoc(value) or "").strip().partition("\n")[0]
        return first if first.startswith(f"{last}(") else f"{last}(...)"


# What a call takes ------------------------------------------------------------------------------------------

_LISTS = r"(?:list|tuple|[Ll]ist|[Tt]uple|Sequence|Iterable)\["
_READ = (
    (ARRAYS, _LISTS + r"[^\]]*(?:Array|Tensor|ndarray)"),
    (ARRAY, r"Array|Tensor|ndarray|^Any$"),
    (INTEGERS, _LISTS + r"(?:int|Sym)|Shape|Axis|Axes"),
    (INTEGER, r"\bint\b|\bAxis\b|\bDimSize\b"),
    (NUMBER, r"\bfloat\b|\bScalar\b"),
    (FLAG, r"\bbool\b"),
    (TEXT, r"\bstr\b|Literal\[|Mode"),
    (DTYPE, r"DType|dtype"),
)
"""Kind -> what stands in the annotation of a parameter that takes it."""

_ANY_NUMBER = r"Union\[[\w.]*Array, numpy\.ndarray[^\]]*\]"
"""How Python writes an annotation of whatever becomes an array."""

_NAMED: dict[str, tuple[str, ...]] = {
    name: kinds
    for names, kinds in (
        ("axis axes dim dims shape size newshape shift reps n k N M m s", (INTEGER, INTEGERS)),
        ("norm mode method kind order uplo UPLO subscripts", (TEXT,)),
        ("dtype out_dtype preferred_element_type", (DTYPE,)),
        ("keepdims lower full_matrices overwrite_a overwrite_b", (FLAG,)),
        ("out casting subok device like sharding out_sharding", ()),
    )
    for name in names.split()
}
"""Parameters without annotation, by the names that libraries give them."""

_OF_DEFAULT: tuple[tuple[type, tuple[str, ...]], ...] = (
    (bool, (FLAG,)),
    (int, (INTEGER, NUMBER)),
    (float, (NUMBER,)),
    (str, (TEXT,)),
    (tuple, (INTEGERS,)),
)
"""Type of a default -> what a parameter takes that has neither annotation nor a known name."""


def parameters(value: Any) -> tuple[Parameter, ...]:
    """What a call of a Python function takes, by its signature: annotations, else names and defaults."""
    arrays = getattr(value, "nin", None)
    if arrays is not None:
        return tuple(Parameter(f"x{k}", (ARRAY,), required=True) for k in range(arrays))
    try:
        found = inspect.signature(value).parameters.values()
    except (TypeError, ValueError):
        return ()
    quoted = texts(inspect.getdoc(value) or "")
    return tuple(_read(one, quoted) for one in found if one.kind is not one.VAR_KEYWORD)


def _read(one: inspect.Parameter, quoted: tuple[str, ...]) -> Parameter:
    kinds = (VARIADIC,) if one.kind is one.VAR_POSITIONAL else _kinds(one)
    text = "" if one.annotation is one.empty else str(one.annotation)
    literals = re.findall(r"'[^']*'", text) if "Literal[" in text else []
    default = repr(one.default) if isinstance(one.default, (bool, int, float, str, tuple, type(None))) else ""
    return Parameter(
        one.name,
        kinds,
        required=one.default is one.empty and one.kind is not one.VAR_POSITIONAL,
        keyword=one.kind is one.KEYWORD_ONLY,
        choices=tuple(literals) or (quoted if TEXT in kinds else ()),
        default="" if one.default is one.empty else default,
    )


def _kinds(one: inspect.Parameter) -> tuple[str, ...]:
    annotated = one.annotation is not one.empty and one.annotation is not None
    text = re.sub(_ANY_NUMBER, "ArrayLike", str(one.annotation)) if annotated else ""
    known = tuple(kind for kind, pattern in _READ if re.search(pattern, text))
    if "ArrayLike" in text:
        known = tuple(kind for kind in known if kind not in (NUMBER, FLAG))
    if known:
        return known
    if one.name in _NAMED:
        return _NAMED[one.name]
    for of, kinds in _OF_DEFAULT:
        if isinstance(one.default, of):
            return kinds
    if one.default is one.empty:
        return (ARRAY, INTEGER, INTEGERS, NUMBER, ARRAYS) if not annotated else (INTEGER, INTEGERS)
    return (ARRAY, INTEGER, NUMBER)


def texts(doc: str) -> tuple[str, ...]:
    """The short words in quotation marks of a docstring, as Python literals."""
    found = re.findall(r"""(?<![\w'"])['"]([a-zA-Z_][\w-]{0,24})['"](?![\w'"])""", doc)
    return tuple(repr(word) for word in dict.fromkeys(found))


def write(file: str, functions: Iterable[Function]) -> None:
    """Writes the functions of a library into `file`."""
    rows = [asdict(function) for function in functions]
    Path(file).write_text(json.dumps(rows), encoding="utf-8")


def read(file: Path) -> list[Function]:
    """The functions that `write` wrote. Another file raises OSError, ValueError, KeyError or TypeError."""
    rows = json.loads(file.read_text(encoding="utf-8"))
    return [_function(row) for row in rows]


def _function(row: dict[str, Any]) -> Function:
    parameters = tuple(map(_parameter, row["parameters"]))
    return Function(tuple(row["names"]), row["signature"], row["outcome"], row["why"], parameters)


def _parameter(row: dict[str, Any]) -> Parameter:
    return Parameter(**{**row, "kinds": tuple(row["kinds"]), "choices": tuple(row["choices"])})
