"""The record of a library's function, and how a catalogue of them is written down.

A catalogue lists every public function of a library and what becomes of it. Its script runs where the
library is installed: `PYTHON SCRIPT FILE` writes the functions into FILE as JSON. As the adapters it needs
Python 3.8 or newer and nothing else.
"""

from __future__ import annotations

import ast
import collections.abc
import dataclasses
import inspect
import itertools
import json
import re
import sys
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
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

UNREAD = "its signature cannot be read"
"""How the reason of a function begins that is left out because its row cannot be made."""


ARRAY = "array"
ARRAYS = "arrays"
NUMBER = "number"
INTEGER = "integer"
INTEGERS = "integers"
FLAG = "flag"
TEXT = "text"
DTYPE = "dtype"

STRUCTURE = "structure"
OBJECT = "object"
VARIADIC = "variadic"

KINDS = (ARRAY, ARRAYS, NUMBER, INTEGER, INTEGERS, FLAG, TEXT, DTYPE, STRUCTURE, OBJECT, VARIADIC)
"""What a parameter takes: an array, a list of arrays, a number, an integer, a list of integers, a flag, a
text, a dtype, lists in lists or a record (`Parameter.form` says of what), an object of a class, any count of
arrays one after the other.
"""


ENTRIES = (
    *("float64", "float32", "complex128", "complex64", "float16", "bfloat16", "int64", "int32", "bool"),
)
"""The dtypes of arrays that are drawn, the usual ones first."""


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
    form: str = ""
    """What a structure consists of, as `form` writes it; empty for other kinds."""
    dims: str | None = None
    """The dimensions of an array as its annotation names them, "batch n"; None where it names none."""
    entries: tuple[str, ...] = ()
    """The dtypes of an array that its annotation allows, of `ENTRIES`; empty where it allows any."""
    made: str = ""
    """The public name of the class of an object."""
    parts: tuple[Parameter, ...] = ()
    """What an object is made of; without a class the objects of which it is one."""


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


def read_rows(things: Iterable[Public], row: Callable[[Public], Function]) -> list[Function]:
    """The row of each. One that cannot be made says so, and is no reason to lose the others."""
    rows = []
    for thing in things:
        try:
            rows.append(row(thing))
        except Exception as error:  # whatever is odd about it
            rows.append(unread(thing.names, signature(thing.names[0], thing.value), error))
    return rows


def unread(names: Iterable[str], shown: str, error: Exception) -> Function:
    """The row of a function whose own row cannot be made."""
    words = " ".join(str(getattr(error, "text", None) or f"{type(error).__name__}: {error}").split())
    return Function(tuple(names), shown, LEFT_OUT, f"{UNREAD}: {words}")


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

_WORDS = (
    (r"Array|Tensor|(?:^|\.|nd)array$", (ARRAY,)),
    (r"Axis", (INTEGERS, INTEGER)),
    (r"Shape$|Axes", (INTEGERS,)),
    (r"(?:^|\.)int$|SymInt$|^DimSize$", (INTEGER,)),
    (r"^float$|[Ss]calar", (NUMBER,)),
    (r"^bool$", (FLAG,)),
    (r"^str$|Mode$|^'", (TEXT,)),
    (r"DType|dtype", (DTYPE,)),
)
"""What a word of an annotation says; the first that fits."""

_ORDER = (ARRAYS, ARRAY, INTEGERS, INTEGER, NUMBER, FLAG, TEXT, DTYPE)
"""That in which the kinds of an annotation are written down."""

_LISTS = ("list", "tuple", "Sequence", "Iterable", "Collection")
_OPAQUE = ("Callable", "type", "dict", "Mapping")
"""The words before a bracket in which elements stand, and what gradfuzz does not draw."""

_TOLD = (
    (ARRAYS, r"(?:sequence|list|tuple)s? of (?:[\w-]+ ){0,4}(?:array|tensor)[\w-]*"),
    (
        INTEGERS,
        r"(?:sequence|list|tuple|iterable|array)s? of (?:\w+ )?int\w*|\(int\w*(?:, *int\w*)+\)|\btuple\b",
    ),
    (ARRAY, r"array[\w-]*|tensor|matrix"),
    (INTEGER, r"\bint(?:eger)?\b"),
    (NUMBER, r"\b(?:float|scalar|number)\b"),
    (FLAG, r"\bbool(?:ean)?\b"),
    (TEXT, r"\bstr(?:ing)?\b|\{ *['\"]"),
    (DTYPE, r"d-?type|data-type"),
)
"""Kind -> what stands in the type that a docstring gives to a parameter."""

_NESTED = r"(?:sequence|list|tuple)s? of (?:\w+ )?(?:sequence|list|tuple|pair|triple)s?.*"

_ANY_NUMBER = r"(?:typing\.)?Union\[[\w.]*Array, numpy\.ndarray[^\]]*\]"
"""How Python writes an annotation of whatever becomes an array."""

_NEVER = frozenset(["out", "casting", "subok", "device", "like", "sharding", "out_sharding"])
"""Parameters that say where a result lies."""

_COUNTS = (INTEGER, INTEGERS)
_COUNTED = frozenset(["axis", "axes", "dim", "dims", "shape", "size", "newshape", "shift", "reps"])
"""Parameters that take integers also where a docstring says that they are arrays."""

_NAMED: dict[str, tuple[str, ...]] = {
    name: kinds
    for names, kinds in (
        (" ".join(_COUNTED) + " n k s", _COUNTS),
        ("norm mode method kind order uplo UPLO subscripts", (TEXT,)),
        ("dtype out_dtype preferred_element_type", (DTYPE,)),
        ("keepdims lower full_matrices overwrite_a overwrite_b", (FLAG,)),
    )
    for name in names.split()
}
"""Parameters without annotation and type in the docstring, by the names that libraries give them."""

_OF_DEFAULT: tuple[tuple[type, tuple[str, ...]], ...] = (
    (bool, (FLAG,)),
    (int, (INTEGER, NUMBER)),
    (float, (NUMBER,)),
    (str, (TEXT,)),
    (tuple, (INTEGERS,)),
)
"""Type of a default -> what a parameter takes of which nothing else is known."""


@dataclass(frozen=True)
class Told:
    """What a docstring tells of a parameter."""

    type: str
    """"int or tuple of ints, optional"."""
    text: str
    """The type and what follows it."""


def parameters(value: Any) -> tuple[Parameter, ...]:
    """What a call of a Python function takes: by its annotations, else by its docstring, else by the names
    and defaults of its parameters.
    """
    arrays = getattr(value, "nin", None)
    if arrays is not None:
        return tuple(Parameter(f"x{k}", (ARRAY,), required=True) for k in range(arrays))
    try:
        found = list(inspect.signature(value).parameters.values())
    except (TypeError, ValueError):
        return ()
    doc = inspect.getdoc(value) or ""
    if all(one.kind in (one.VAR_POSITIONAL, one.VAR_KEYWORD) for one in found):
        found = _written(getattr(value, "__name__", ""), doc) or found
    told, quoted = documented(doc), texts(doc)
    names = getattr(inspect.unwrap(value), "__globals__", None) or around(value)
    read = [*_before(found[0], told)] if found else []
    for k, one in enumerate(found):
        if one.kind is one.VAR_KEYWORD:
            continue
        annotation = resolved(one.annotation, names)
        kinds = _kinds(one, annotation, told.get(one.name))
        if one.kind is one.VAR_POSITIONAL:  # what stands before it has to be given by its place
            kinds = () if any(before.default is not before.empty for before in found[:k]) else (VARIADIC,)
        choices = _choices(annotation, told.get(one.name), quoted) if TEXT in kinds else ()
        structure = "" if one.kind is one.VAR_POSITIONAL or one.name in _NEVER else structured(annotation)
        array = dimensioned(annotation)
        if array is not None:
            read.append(replace(_parameter_of(one, (ARRAY,), (), ""), dims=array[0], entries=array[1]))
            continue
        if structure:
            kinds = (*(kind for kind in kinds if kind in (TEXT, INTEGER)), STRUCTURE)
        read.append(_parameter_of(one, kinds, choices, structure))
    return tuple(read)


def around(value: Any) -> dict[str, Any]:
    """The names that the annotations of a class may use: those of its module."""
    return vars(sys.modules[value.__module__]) if getattr(value, "__module__", "") in sys.modules else {}


def _written(name: str, doc: str) -> list[inspect.Parameter]:
    """The parameters by a call that the docstring begins with: "max_pool1d(input, kernel_size)"."""
    begun = re.match(rf"\s*{re.escape(name)}\((.*?)\)", doc, flags=re.DOTALL)
    if not name or begun is None:
        return []
    try:
        arguments = ast.parse(f"lambda {begun[1]}: 0", mode="eval").body.args  # type: ignore[attr-defined]
    except SyntaxError:
        return []
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    defaults: list[Any] = [inspect.Parameter.empty] * (len(arguments.args) - len(arguments.defaults))
    defaults += [one.value if isinstance(one, ast.Constant) else None for one in arguments.defaults]
    return [inspect.Parameter(one.arg, kind, default=defaults[k]) for k, one in enumerate(arguments.args)]


def _before(first: inspect.Parameter, told: Mapping[str, Told]) -> Iterator[Parameter]:
    """What a function takes before its list of arguments, where the docstring alone has names for it."""
    names = list(told)
    if first.kind is first.VAR_POSITIONAL and first.name in names:
        for name in names[: names.index(first.name)]:
            kinds = _in_words(told[name].type)
            yield Parameter(name, kinds, True, choices=texts(told[name].text) if TEXT in kinds else ())


def _parameter_of(
    one: inspect.Parameter, kinds: tuple[str, ...], choices: tuple[str, ...], structure: str
) -> Parameter:
    default = repr(one.default) if isinstance(one.default, (bool, int, float, str, tuple, type(None))) else ""
    return Parameter(
        one.name,
        kinds,
        required=one.default is one.empty and one.kind is not one.VAR_POSITIONAL,
        keyword=one.kind is one.KEYWORD_ONLY,
        choices=choices,
        default="" if one.default is one.empty else default,
        form=structure,
    )


def _kinds(one: inspect.Parameter, annotation: Any, told: Told | None) -> tuple[str, ...]:
    if one.name in _NEVER:
        return ()
    text = "" if annotation is None else _text(annotation)
    written_out = one.annotation if isinstance(one.annotation, str) else text
    known = annotated(written_out) or annotated(text)
    is_any = text.rpartition(".")[2] == "Any"
    if known:
        return known
    if re.search(_UNDRAWN, text):
        return ()
    if told is not None:
        known = _in_words(told.type)
        if ARRAY in known and one.name in _COUNTED:
            return tuple(kind for kind in known if kind in _COUNTS) or _COUNTS
        if known or re.search("callable|function", told.type):
            return known
    if one.name in _NAMED:
        return _NAMED[one.name]
    if is_any:
        return (ARRAY,)
    for of, kinds in _OF_DEFAULT:
        if isinstance(one.default, of):
            return kinds
    if one.default is one.empty:
        return () if text else (ARRAY, INTEGER, INTEGERS, NUMBER, ARRAYS)
    return () if text else (ARRAY, INTEGER, NUMBER)


# Annotations


def annotated(text: str) -> tuple[str, ...]:
    """The kinds that an annotation names: "int | Sequence[int]"."""
    tokens = re.findall(r"[\w.]+|'[^']*'|[\[\],|]", re.sub(_ANY_NUMBER, "ArrayLike", text))
    known = _element(tokens)
    if DTYPE in known:  # texts and types are its other names
        known = {DTYPE}
    if "ArrayLike" in tokens:  # of which numbers and flags are
        known -= {NUMBER, FLAG}
    return tuple(kind for kind in _ORDER if kind in known)


def _element(tokens: list[str]) -> set[str]:
    """The kinds up to the next comma or the end of the bracket; takes what it reads from `tokens`."""
    known: set[str] = set()
    while tokens and tokens[0] not in (",", "]"):
        word = tokens.pop(0)
        inner: list[set[str]] = []
        if tokens[:1] == ["["]:
            while tokens and tokens.pop(0) != "]":
                inner.append(_element(tokens))
        last = word.rpartition(".")[2] if not word.startswith("'") else word
        if last.capitalize() in map(str.capitalize, _LISTS):
            said = [kinds for kinds in inner if kinds]
            known |= {many for one, many in _MANY if said and all(one in kinds for kinds in said)}
        elif last not in _OPAQUE:
            known |= set().union(*inner, next((kinds for of, kinds in _WORDS if re.search(of, word)), ()))
    return known


_UNDRAWN = r"Callable|(?:[Ll]ist|[Tt]uple|Sequence)\[(?:[^\[\]]*\W)?(?:[Ll]ist|[Tt]uple|Sequence)\["
"""What gradfuzz does not draw, whatever a docstring says: functions, and lists in lists."""

_MANY = ((ARRAY, ARRAYS), (INTEGER, INTEGERS))
"""The kind of an element, and that of a list of such elements."""


def _text(annotation: Any) -> str:
    return annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)


def resolved(annotation: Any, names: Mapping[str, Any]) -> Any:
    """What an annotation means where it is a text, or the text where that cannot be found; None for none."""
    if annotation in (inspect.Parameter.empty, None, type(None)):
        return None
    if not isinstance(annotation, str):
        return annotation
    try:
        return eval(annotation, dict(names))  # noqa: S307 - as Python does; it stands in the library
    except Exception:  # names that only a type checker has, or the syntax of a later Python
        return annotation


def dimensioned(annotation: Any) -> tuple[str, tuple[str, ...]] | None:
    """The dimensions and the allowed dtypes of an annotation of jaxtyping, or of a union with one."""
    for one in (annotation, *typing.get_args(annotation)):
        if hasattr(one, "array_type") and isinstance(getattr(one, "dim_str", None), str):
            known = getattr(one, "dtypes", None)
            named = [name for name in known if isinstance(name, str)] if isinstance(known, tuple) else []
            return one.dim_str, tuple(name for name in ENTRIES if name in named)
    return None


# Structures


def structured(annotation: Any) -> str:
    """The form of an annotation that stands for lists in lists, tuples with an array, or a record; empty for
    any other.
    """
    found = form(annotation)
    is_nested = bool(re.search(r"[(\[].*[(\[]", found)) or "." in found
    is_mixed = "array" in found and found.startswith("(")
    return found if is_nested or is_mixed or found == "[float]" else ""


def form(annotation: Any) -> str:
    """What an annotation consists of, as an expression: of `int`, `float`, `bool` and `array`; `[int]` is a
    list of any length, `(int, int)` one of two, and `jax.lax.GatherDimensionNumbers(offset_dims=[int])` a
    record by its public name, with the fields that have no default. Empty where a part is something else.
    Of a union it is the first member with a form that is no plain word, else the first with a form.
    """
    if isinstance(annotation, type) and annotation in _NUMBERS:
        return annotation.__name__
    origin, parts = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is None:
        known = annotated(_text(annotation)) if annotation is not None else ()
        return "array" if known == (ARRAY,) else _record(annotation)
    if origin is typing.Union or type(annotation).__name__ == "UnionType":
        whole = annotated(_text(annotation))
        found = [text for text in map(form, parts) if text]
        plain = ["array"] if ARRAY in whole else found
        return next(iter([text for text in found if not text.isidentifier()] + plain), "")
    if origin in (list, tuple, collections.abc.Sequence, collections.abc.Iterable):
        inner = [form(part) for part in parts if part is not Ellipsis]
        if not inner or not all(inner):
            return ""
        is_list = origin is not tuple or Ellipsis in parts
        return f"[{inner[0]}]" if is_list else f"({', '.join(inner)}{',' * (len(inner) == 1)})"
    return ""


_NUMBERS = (int, float, bool)


def _record(kind: Any) -> str:
    """The form of a named tuple or a dataclass, whose fields have annotations."""
    is_record = isinstance(kind, type) and (
        dataclasses.is_dataclass(kind) or (issubclass(kind, tuple) and hasattr(kind, "_fields"))
    )
    name = _public_name(kind) if is_record else ""
    if not name:
        return ""
    names = vars(sys.modules[kind.__module__])
    try:
        found = inspect.signature(kind).parameters.values()
    except (TypeError, ValueError):
        return ""
    fields = []
    for one in found:
        if one.default is not one.empty or one.kind is one.VAR_KEYWORD:
            continue
        annotation = kind.__annotations__.get(one.name, one.annotation)
        text = form(resolved(getattr(annotation, "__forward_arg__", annotation), names))
        if not text:
            return ""
        fields.append(f"{one.name}={text}")
    return f"{name}({', '.join(fields)})" if fields else ""


def _public_name(kind: type) -> str:
    """The shortest name by which a program reaches a class; empty where there is none."""
    top = kind.__module__.partition(".")[0]
    homes = [
        name
        for name, module in list(sys.modules.items())
        if f"{name}.".startswith(f"{top}.") and "._" not in name
        if getattr(module, kind.__name__, None) is kind
    ]
    return f"{min(homes, key=len)}.{kind.__name__}" if homes else ""


# Docstrings


def documented(doc: str) -> dict[str, Told]:
    """What a docstring in the style of numpydoc or of Google tells of parameters, by their names."""
    sections = re.findall(
        r"^(?:Other )?Parameters\n-+\n(.*?)(?=^[^\n]+\n---|\Z)"
        r"|^(?:Args|Arguments|Parameters|Keyword [Aa]rgs|Keyword [Aa]rguments):\n(.*?)(?=^\S|\Z)",
        doc,
        flags=re.MULTILINE | re.DOTALL,
    )
    found: dict[str, Told] = {}
    for section in sections:
        body = inspect.cleandoc("\n" + (section[0] or section[1]))
        entries = re.findall(
            r"^([*\w][*\w, ]*?)(?: \(([^\n]*?)\))? *:(.*(?:\n(?:[ \t].*|[ \t]*)$)*)", body, flags=re.MULTILINE
        )
        for names, type_, text in entries:
            first = re.split(r"[.;\n]", text.strip() or "\n")[0]
            for name in names.split(","):
                found.setdefault(name.strip(" *"), Told(type_ or first, f"{type_}: {text}"))
    return found


def _in_words(type_: str) -> tuple[str, ...]:
    """The kinds in the type that a docstring gives, in its order."""
    text = re.sub(_NESTED, "", type_.lower().replace("`", ""))
    found = []
    for kind, pattern in _TOLD:
        place = re.search(pattern, text)
        if place:
            found.append((place.start(), kind))
            text = re.sub(pattern, lambda one: " " * len(one[0]), text)
    known = tuple(kind for _, kind in sorted(found))
    return (DTYPE,) if DTYPE in known else known


def _choices(annotation: Any, told: Told | None, quoted: tuple[str, ...]) -> tuple[str, ...]:
    """The texts to choose from: of a Literal, an enumeration, what is told of the parameter, or anything."""
    text = "" if annotation is None else _text(annotation)
    literals = tuple(re.findall(r"'[^']*'", text)) if "Literal[" in text else ()
    return literals or (() if told is None else texts(told.text)) or tuple(_members(annotation)) or quoted


def _members(annotation: Any) -> list[str]:
    """The names of an enumeration, in the small letters in which libraries take them as texts."""
    parts = [annotation, *getattr(annotation, "__args__", ())]
    members = [name.lower() for part in parts for name in getattr(part, "__members__", ())]
    return [repr(name) for name in dict.fromkeys(members)]


def texts(doc: str) -> tuple[str, ...]:
    """The short words in quotation marks of a docstring, as Python literals."""
    found = re.findall(r"""(?<![\w'"])['"]([a-zA-Z_][\w-]{0,24})['"](?![\w'"])""", doc)
    return tuple(repr(word) for word in dict.fromkeys(found))


# Following --------------------------------------------------------------------------------------------------

SHAPES = ((2, 2), (4,), (), (1, 3, 3, 1))
FLOATS, OTHERS = ("float32", "complex64"), ("int32", "int64", "bool")
"""The arrays at which a library follows a function, so that it says what it returns, and what it misses."""

MOST = 5
"""Required parameters of a function that is followed."""

BY_SIGNATURE = (
    DIFFERENTIABLE,
    "from arrays to arrays by its signature; not followed, its arguments are special",
)


def outcome(
    taken: Sequence[Parameter],
    attempt: Callable[[Sequence[Parameter], str, tuple[int, ...]], tuple[str, str] | None],
) -> tuple[str, str]:
    """What becomes of a function that takes these parameters.

    `attempt(required, dtype, shape)` follows it at arrays of one dtype and shape. It returns None where the
    library takes no such arguments; any exception says so, too.
    """
    required = [one for one in taken if one.required]
    if len(required) > MOST or any(not one.kinds for one in required):
        return BY_SIGNATURE
    takes_others, said = False, None
    for dtype, shape in itertools.product((*FLOATS, *OTHERS), SHAPES):
        try:
            found = attempt(required, dtype, shape)
        except Exception:  # whatever it raises, it does not take these arguments
            found = None
        if found is not None and dtype in FLOATS:
            if found[0] == DIFFERENTIABLE:
                return found
            said = said or found
        takes_others = takes_others or found is not None
    if said is not None:
        return said
    return (NOT_DIFFERENTIABLE, "takes no floats") if takes_others else BY_SIGNATURE


def arguments(required: Iterable[Parameter], array: Callable[[], Any]) -> tuple[dict[str, Any], list[Any]]:
    """An argument for each parameter, by name, and the arrays among them; `array` makes one."""
    given: dict[str, Any] = {}
    arrays: list[Any] = []
    for one in required:
        if ARRAY in one.kinds or ARRAYS in one.kinds:
            made = [array() for _ in range(1 if ARRAY in one.kinds else 2)]
            arrays += made
            given[one.name] = made[0] if ARRAY in one.kinds else made
        elif one.kinds[0] == TEXT:
            given[one.name] = ast.literal_eval(one.choices[0]) if one.choices else ""
        else:
            given[one.name] = _EXAMPLES[one.kinds[0]]
    return given, arrays


_EXAMPLES: dict[str, Any] = {NUMBER: 1.0, INTEGER: 1, INTEGERS: [0], FLAG: False, DTYPE: "float32"}


def returned(dtypes: Iterable[str]) -> tuple[str, str]:
    """The outcome of a function that returns these dtypes, none of them floats."""
    return NOT_DIFFERENTIABLE, "returns " + " and ".join(sorted(set(dtypes)))


# Files ------------------------------------------------------------------------------------------------------


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
    lists = {name: tuple(row[name]) for name in ("kinds", "choices", "entries")}
    return Parameter(**{**row, **lists, "parts": tuple(map(_parameter, row["parts"]))})
