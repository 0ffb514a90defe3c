"""The functions that Torch offers: `python -m gradfuzz.oracles.torch.catalogue FILE`.

The operators are those of `native_functions.yaml` and `derivatives.yaml` in the wheel, a row for each
overload; their schemas are read by Torch's own parser. Public names are those of the namespaces below. What
Python defines itself, and what has no operator, is a row by its public names. A Python function that is the
only public name of an operator of the same name stands in the rows of the operator.

An operator is differentiable by its entry in `derivatives.yaml`, or as a composition of other operators, by
its dispatch in `native_functions.yaml`.
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib import resources
from typing import TYPE_CHECKING, Any

import torch
import torch.overrides

from gradfuzz.adapters.catalogue import (
    A_CLASS,
    ARRAY,
    ARRAYS,
    DIFFERENTIABLE,
    DTYPE,
    FLAG,
    INTEGER,
    INTEGERS,
    LEFT_OUT,
    NOT_DIFFERENTIABLE,
    NUMBER,
    STRUCTURE,
    TEXT,
    Function,
    Parameter,
    Public,
    parameters,
    public,
    read_rows,
    signature,
    texts,
    unread,
    write,
    written,
)
from gradfuzz.oracles.torch import left_out
from gradfuzz.private_names import private

if TYPE_CHECKING:
    from torchgen.model import Argument, FunctionSchema

NAMESPACES = {
    "torch": torch,
    "torch.special": torch.special,
    "torch.linalg": torch.linalg,
    "torch.fft": torch.fft,
    "torch.nn.functional": torch.nn.functional,
    "torch.Tensor": torch.Tensor,
}

_SPELT = {
    "index": "torch.Tensor.__getitem__",
    "slice": "torch.Tensor.__getitem__",
    "numpy_T": "torch.Tensor.T",
    "matrix_H": "torch.Tensor.H",
    "mT": "torch.Tensor.mT",
    "mH": "torch.Tensor.mH",
}
"""How a program writes operators that are no calls."""

_MODEL = private("torchgen.model")
private("torchgen.packaged")
_PACKAGED = resources.files("torchgen") / "packaged"

_ENTRY = "an entry in derivatives.yaml"
_COMPOSITE = "CompositeImplicitAutograd"
_COMPOSED = f"composed of other operators ({_COMPOSITE})"


@dataclass(frozen=True, slots=True)
class Item:
    """An item of one of the two files: the schema, and the other keys with their values."""

    schema: FunctionSchema
    keys: dict[str, list[str]]


@dataclass(frozen=True, slots=True)
class Operator:
    """An overload, with its public names."""

    schema: FunctionSchema
    entry: Item | None = None
    """Its item in derivatives.yaml."""
    is_composed: bool = False
    """Of other operators, for which nothing is dispatched or the one kernel that says so."""
    copies: Item | None = None
    """The item of the view that it copies; code generation gives it the same derivative."""
    names: list[str] = field(default_factory=list)

    @property
    def base(self) -> str:
        """The name without the overload: "add_" of `add_.Tensor`."""
        return str(self.schema.name.name)


def functions() -> list[Function]:
    """All functions of the installed Torch."""
    known = public(NAMESPACES)
    odd: list[Function] = []
    operators, rest = _named(_operators(odd), known)
    stated = _undifferentiated()
    functional = {one.base for one in operators if one.schema.kind() == _MODEL.SchemaKind.functional}
    rows = [_row(one, functional, stated) for one in operators]
    return [*rows, *odd, *read_rows(rest, _defined_in_python)]


def _row(one: Operator, functional: set[str], stated: frozenset[str]) -> Function:
    try:
        reason = _left_out(one, functional)
        outcome, why = (LEFT_OUT, reason) if reason else _outcome(one, stated)
        taken = _parameters(one) if outcome == DIFFERENTIABLE else ()
    except Exception as error:  # noqa: BLE001 - one odd operator is no reason to lose the others
        return unread(one.names, str(one.schema), error)
    return Function(tuple(one.names), str(one.schema), outcome, why, taken)


# Reading ----------------------------------------------------------------------------------------------------


def _items(file: str, head: str, odd: list[Function]) -> Iterator[Item]:
    """The items of a file. Its YAML is plain: a key and its value on a line, indented by their depth.

    `odd` gets the rows of those with a schema that Torch's parser refuses.
    """
    text = (_PACKAGED / file).read_text(encoding="utf-8")
    for block in re.split(rf"^- {head}:", text, flags=re.MULTILINE)[1:]:
        schema, *lines = block.splitlines()
        keys: dict[str, list[str]] = {}
        for line in lines:
            found = re.fullmatch(r" {2,6}(\w[\w, ]*): *([^#]*).*", line)
            if found:
                keys.setdefault(found[1], []).append(found[2].strip())
        try:
            parsed = _MODEL.FunctionSchema.parse(schema.strip())
        except Exception as error:  # noqa: BLE001 - its own errors are assertions and others
            odd.append(unread((), schema.strip(), error))
        else:
            yield Item(parsed, keys)


def _operators(odd: list[Function]) -> list[tuple[Operator, str]]:
    """Every overload of the two files, with its variants ("function, method")."""
    entries = {str(item.schema.name): item for item in _items("autograd/derivatives.yaml", "name", odd)}
    found = []
    for item in _items("ATen/native/native_functions.yaml", "func", odd):
        name = str(item.schema.name)
        is_copy = any("view_copy" in tags for tags in item.keys.get("tags", []))
        copies = entries.get(name.replace("_copy", "", 1)) if is_copy else None
        (variants,) = item.keys.get("variants", ["function"])
        found.append((Operator(item.schema, entries.get(name), _is_composed(item), copies), variants))
    listed = {str(one.schema.name) for one, _ in found}
    generated = [
        (Operator(item.schema, item), "function") for name, item in entries.items() if name not in listed
    ]
    return [*found, *generated]


def _is_composed(native: Item) -> bool:
    kernels = {name for key in native.keys for name in key.split(", ")}
    return _COMPOSITE in kernels or kernels.isdisjoint(("dispatch", "structured", "structured_delegate"))


def _undifferentiated() -> frozenset[str]:
    """What Torch's code generation lists as without a derivative: DONT_REQUIRE_DERIVATIVE."""
    text = (_PACKAGED / "autograd/gen_variable_type.py").read_text(encoding="utf-8")
    for node in ast.parse(text).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "DONT_REQUIRE_DERIVATIVE":
            return frozenset(ast.literal_eval(node.value))
    return frozenset()


def _named(operators: list[tuple[Operator, str]], known: list[Public]) -> tuple[list[Operator], list[Public]]:
    """The operators with their public names, and what has a public name and is none of them."""
    by_base: dict[str, list[tuple[Operator, str]]] = {}
    for one, variants in operators:
        by_base.setdefault(one.base, []).append((one, variants))
        one.names.extend(filter(None, [_SPELT.get(one.base)]))
    in_python, rest = [], []
    for thing in known:
        overloads = by_base.get(getattr(thing.value, "__name__", ""), [])
        if inspect.isfunction(thing.value):
            in_python.append(thing)
        elif overloads and inspect.isroutine(thing.value):
            for name in thing.names:
                for one in _of_variant(name, overloads):
                    one.names.append(name)
        else:
            rest.append(thing)
    bound = {one.base for one, _ in operators if one.names}
    for thing in in_python:
        base = thing.names[0].rpartition(".")[2]
        if base in bound or base not in by_base or written(left_out.PUBLIC, thing.names):
            rest.append(thing)
        else:
            for one, _ in by_base[base]:
                one.names.extend(thing.names)
    return [one for one, _ in operators], rest


def _of_variant(name: str, overloads: list[tuple[Operator, str]]) -> list[Operator]:
    """The overloads that a name reaches: methods or functions. Torch binds a few names by hand."""
    variant = "method" if name.startswith("torch.Tensor.") else "function"
    return [one for one, variants in overloads if variant in variants] or [one for one, _ in overloads]


# What becomes of it -----------------------------------------------------------------------------------------


def _left_out(one: Operator, functional: set[str]) -> str | None:
    schema = one.schema
    kind = schema.kind()
    if kind == _MODEL.SchemaKind.out:
        return "out=: the function that returns its result covers it"
    if kind == _MODEL.SchemaKind.inplace and one.base.removesuffix("_") in functional:
        return "in-place: the function without the underscore covers it"
    if kind != _MODEL.SchemaKind.functional:
        return "writes into its arguments"
    if one.base.startswith("_") and not one.names:
        return "internal: its name begins with an underscore"
    reason = written(left_out.OPERATORS, [one.base])
    if reason:
        return reason
    if not any(a.type.is_tensor_like() for a in schema.arguments.flat_all):
        return "takes no tensor"
    if not any(r.type.is_tensor_like() for r in schema.returns):
        return "returns no tensor"
    return None if one.names else "has no public name: the public functions that call it cover it"


def _outcome(one: Operator, stated: frozenset[str]) -> tuple[str, str]:
    if one.entry is not None and (_implemented(_formulas(one.entry)) or not one.is_composed):
        return _by_entry(one.entry, _ENTRY)
    if one.base in stated:
        return NOT_DIFFERENTIABLE, "DONT_REQUIRE_DERIVATIVE in gen_variable_type.py lists it"
    if one.is_composed:
        return DIFFERENTIABLE, _COMPOSED
    if one.copies is not None:
        return _by_entry(one.copies, "the entry in derivatives.yaml of the view that it copies")
    return NOT_DIFFERENTIABLE, "no entry in derivatives.yaml, and not composed of other operators"


def _by_entry(entry: Item, source: str) -> tuple[str, str]:
    (outputs,) = entry.keys.get("output_differentiability", ["[True]"])
    if set(re.findall(r"\w+", outputs)) == {"False"}:
        return NOT_DIFFERENTIABLE, "output_differentiability in derivatives.yaml is False"
    formulas = _formulas(entry)
    if not formulas:
        return NOT_DIFFERENTIABLE, "derivatives.yaml has no formula for any of its arguments"
    if not _implemented(formulas):
        return NOT_DIFFERENTIABLE, "derivatives.yaml says that the derivative is not implemented"
    return DIFFERENTIABLE, source


def _formulas(entry: Item) -> list[str]:
    """The formulas for reverse mode, those of the default dispatch."""
    arguments = {argument.name for argument in entry.schema.arguments.flat_all}
    found = [formulas[0] for key, formulas in entry.keys.items() if arguments & set(key.split(", "))]
    return [formula for formula in found if formula != "non_differentiable"]


def _implemented(formulas: list[str]) -> list[str]:
    return [formula for formula in formulas if not formula.startswith("not_implemented(")]


def _defined_in_python(thing: Public) -> Function:
    """The row of what is no operator."""
    shown = signature(thing.names[0], thing.value)
    reason = written(left_out.PUBLIC, thing.names)
    if reason:
        return Function(thing.names, shown, LEFT_OUT, reason)
    if not inspect.isroutine(thing.value):
        return Function(thing.names, thing.names[0].rpartition(".")[2], LEFT_OUT, A_CLASS)
    if thing.value in torch.overrides.get_ignored_functions() and "Tensor" not in shown:
        return Function(thing.names, shown, LEFT_OUT, "takes no tensor: torch.overrides ignores it")
    taken = parameters(thing.value)
    if not taken and thing.names[0].startswith("torch.Tensor."):  # a method without a signature
        taken = (Parameter("self", (ARRAY,), required=True),)
    return Function(thing.names, shown, DIFFERENTIABLE, "defined in Python, composed of operators", taken)


# What a call takes ------------------------------------------------------------------------------------------

_KINDS = (
    (r"Tensor\??\[", (ARRAYS,)),
    (r"Tensor", (ARRAY,)),
    (r"(?:Sym)?[Ii]nt\[1\]", (INTEGER, INTEGERS)),
    (r"(?:Sym)?[Ii]nt\[", (INTEGERS,)),
    (r"(?:Sym)?[Ii]nt", (INTEGER,)),
    (r"bool", (FLAG,)),
    (r"float\[|Scalar\[", (STRUCTURE,)),
    (r"float|Scalar", (NUMBER,)),
    (r"str", (TEXT,)),
    (r"ScalarType", (DTYPE,)),
)
"""The beginning of a type in a schema, and the kinds of a parameter of that type; the first that fits."""


def _parameters(one: Operator) -> tuple[Parameter, ...]:
    """What a call of an operator takes, by its schema; texts by the docstring of its first name."""
    documents = [inspect.getdoc(found) or "" for name in one.names for found in [_object(name)] if found]
    quoted = texts("\n".join(documents))
    given = one.schema.arguments
    only = {a.name for a in given.flat_kwarg_only}
    return tuple(_parameter(a, a.name in only, quoted) for a in given.flat_all)


def _parameter(argument: Argument, keyword: bool, quoted: tuple[str, ...]) -> Parameter:
    type_ = str(argument.type)
    kinds = next((kinds for start, kinds in _KINDS if re.match(start, type_)), ())
    if type_.startswith("ScalarType"):
        kinds = (DTYPE,)
    default = "" if argument.default is None else _literal(argument.default)
    choices = quoted if TEXT in kinds else ()
    form = "[float]" if STRUCTURE in kinds else ""
    return Parameter(argument.name, kinds, argument.default is None, keyword, choices, default, form)


def _literal(default: str) -> str:
    """A default of a schema as a literal of Python; empty for a constant that only the schema knows."""
    try:
        ast.literal_eval(default)
    except (SyntaxError, ValueError):
        return ""
    return default


def _object(name: str) -> Any:
    found: Any = torch
    for part in name.split(".")[1:]:
        found = getattr(found, part, None)
    return found


if __name__ == "__main__":
    write(sys.argv[1], functions())
