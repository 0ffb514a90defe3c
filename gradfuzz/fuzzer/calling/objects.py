"""Arguments of calls as data, and back.

Arrays, numbers, texts and lists are data. What else is an argument is kept in a form that runs nothing when
it is read: `Argument.made` says what its items become.

    tuple, dict, set, frozenset    the items; of a dict key, value, key, value
    slice, treedef, key            a slice; the structure of a pytree like the item; JAX's key of its data
    method                         the method of the first item that the second one names
    bound                          a module of Flax's linen, its variables, its keys, and what it may change
    functools.partial              of a function, a tuple of arguments, a dict of keywords
    package.Class                  an object of the class with these fields, set without a call of `__init__`
    package.Class()                what the class makes of these arguments, where they hold arrays of floats,
                                   or where its fields cannot be kept

A function, a class, a member of an enumeration or a module is the literal "name:package.name". A function
that was defined inside another one has no such name: it is pickled where that is wanted, and is the literal
"pickle:...".

What a name stands for may be run by the call. So only names of the function's own package and of modules of
mathematics are followed, and no pickle is read, unless the user trusts the file (`TRUST`).
"""

from __future__ import annotations

import ast
import base64
import enum
import functools
import importlib
import importlib.util
import inspect
import math
import os
import pickle
import sys
import types
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from gradfuzz.errors import UsageError
from gradfuzz.fuzzer.calling.public_calls import Package
from gradfuzz.fuzzer.results.call import Argument, Call
from gradfuzz.libraries.library import Library
from gradfuzz.libraries.watching import found_at

TRUST = "GRADFUZZ_TRUST"
"""The variable of the environment that says that recorded calls may run what they name."""

_MATHEMATICS = (
    *("jax.numpy", "jax.nn", "jax.lax", "jax.scipy", "jax.random", "jax.tree_util", "jax.ShapeDtypeStruct"),
    *("torch.nn", "torch.linalg", "torch.special", "torch.distributions"),
    *("equinox", "numpy.linalg", "math", "operator"),
)
"""The modules, beside the function's own, whose names are followed in a file that somebody else gave."""

_FILES = ("load", "save", "savez", "fromfile", "tofile", "serialise", "deserialise")
"""How the names in them begin that are about files."""

_PLAIN = (bool, int, float, complex, str, bytes, type(None), type(...))
_DEEP, _MANY = 12, 1000
"""How deep objects lie in one another, and how many parts an argument has at most."""

TOO_MANY = "an object has too many parts"

_HEAPTYPE = 1 << 9
"""In the flags of a class: it is defined in Python."""


class NotData(Exception):  # noqa: N818 - the reason why a call is not noted
    """An argument that cannot be kept."""


def made(cls: type, fields: Mapping[str, Any]) -> Any:
    """An object of a class with these fields; its `__init__` is not called."""
    if issubclass(cls, tuple):
        return tuple.__new__(cls, fields.values())
    found = object.__new__(cls)
    for name, value in fields.items():
        object.__setattr__(found, name, value)
    return found


# Noting -----------------------------------------------------------------------------------------------------


class ArgumentWriter:
    """Writes the arguments of one call."""

    def __init__(
        self, library: Library, *, entries: int, pickles: bool, package: Package | None = None
    ) -> None:
        """`entries` is the most of an array; `pickles` whether functions without a name are pickled, and
        `package` the one whose modules count as installed, and which remembers what its objects are made of.
        """
        self._library, self._entries, self._pickles = library, entries, pickles
        self._of, self._package = package, package.name.partition(".")[0] if package else ""
        self._parts = self._tried = 0

    def argument(self, keyword: str, value: Any, depth: int = 0) -> Argument:
        """The value as an argument; `NotData` with the reason where it cannot be kept."""
        self._parts += 1
        self._tried += 1
        if depth > _DEEP or self._parts > _MANY or self._tried > 10 * _MANY:
            raise NotData(TOO_MANY)
        if type(value) in _PLAIN:
            if isinstance(value, float) and not math.isfinite(value):
                return Argument(keyword, literal=f"number:{value!r}")
            return Argument(keyword, literal=repr(value))
        dtype = self._library.dtype_name(value)
        if dtype is not None:
            return Argument(keyword, literal=f"dtype:{dtype}")
        if self._library.is_array(value) or isinstance(value, (np.ndarray, np.generic)):
            return self._array(keyword, value)
        in_place = self._library.name == "torch"  # its modules change after they were made
        constructed = None if in_place else self._constructed(keyword, value, depth)
        if constructed is not None and _has_floats(constructed):
            return constructed
        before = self._parts
        try:
            return self._of_parts(keyword, value, depth)
        except NotData:
            self._parts = before
            constructed = constructed or self._constructed(keyword, value, depth)
            if constructed is None:
                raise
            return constructed

    def _constructed(self, keyword: str, value: Any, depth: int) -> Argument | None:
        """An object as what its class makes of the arguments that it was made of; None where they are not
        known, or cannot be kept.
        """
        given = self._of.made_of(value) if self._of else None
        if self._of is None or given is None:
            return None
        pairs = [*(("", one) for one in given[0]), *given[1].items()]
        before = self._parts
        try:
            items = tuple(self.argument(name, one, depth + 1) for name, one in pairs)
        except NotData:
            self._parts = before
            return None
        return Argument(keyword, items=items, made=f"{self._of.class_name(type(value))}()")

    def _of_parts(self, keyword: str, value: Any, depth: int) -> Argument:
        """A value by its parts, an object by its fields."""
        made, parts = self._parts_of(value)
        if made is None:
            return Argument(keyword, literal=parts)
        if made in ("list", "tuple") and all(_is_literal(one) for one in parts.values()):
            return Argument(keyword, literal=repr(list(value) if made == "list" else tuple(value)))
        items = tuple(self.argument(name, one, depth + 1) for name, one in parts.items())
        if made in _UNNAMED:
            items = tuple(
                Argument(array=i.array, items=i.items, literal=i.literal, made=i.made) for i in items
            )
        return Argument(keyword, items=items, made=None if made == "list" else made)

    def _array(self, keyword: str, value: Any) -> Argument:
        array = self._library.concrete(value)
        if array is None:
            keys = self._library.described(value)
            if keys is not None:
                items = tuple(self.argument("", one) for one in keys[1])
                return Argument(keyword, items=items, made=keys[0])
            raise NotData("an array is being traced")
        if array.dtype.kind not in "biufcV" or array.dtype.names:
            raise NotData(f"an array of dtype {array.dtype.name} cannot be recorded")
        if array.size > self._entries:
            raise NotData(f"an array has more than {self._entries} entries")
        return Argument(keyword, array=np.array(array))

    def _parts_of(self, value: Any) -> tuple[str | None, Any]:
        """What a value is made of: a kind and its parts by name, or None and a literal."""
        if isinstance(value, enum.Enum) and (home := path_of(type(value), self._package)) is not None:
            return None, f"name:{home}.{value.name}"
        if type(value) in (list, tuple, set, frozenset) or type(value).__name__ == "Size":
            kind = "tuple" if isinstance(value, tuple) else type(value).__name__
            return kind, _numbered(value)
        if type(value) is dict or type(value).__name__ == "OrderedDict":
            return "dict", _numbered(part for pair in value.items() for part in pair)
        if isinstance(value, slice):
            return "slice", _numbered((value.start, value.stop, value.step))
        if isinstance(value, functools.partial):
            parts = value.func, value.args, dict(value.keywords)
            return path_of(type(value)) or "functools.partial", _numbered(parts)
        if isinstance(value, types.MethodType):
            return "method", _numbered((value.__self__, value.__name__))
        if (described := self._library.described(value)) is not None:
            return described[0], _numbered(described[1])
        if isinstance(value, types.ModuleType):
            return None, f"name:{value.__name__}"
        if (path := path_of(value, self._package)) is not None:
            if not (self._pickles or _is_followed(path, self._package)):
                raise NotData(f"{path} is not of a known library, and is recorded with --pickle only")
            return None, f"name:{path}"
        cls = type(value)
        name = path_of(cls, self._package)
        if isinstance(value, (types.FunctionType, type)) or (name is None and self._pickles):
            return None, self._pickled(value)
        if name is None or not cls.__flags__ & _HEAPTYPE or isinstance(value, (dict, list, set)):
            raise NotData(f"an argument of type {cls.__name__} cannot be recorded")
        public = self._of.class_name(cls) if self._of else None
        return public or name, _fields(value)

    def _pickled(self, value: Any) -> str:
        if not self._pickles:
            raise NotData(
                "a function has no name by which it is imported, and is recorded with --pickle only"
            )
        try:
            import cloudpickle

            own = [m for m in list(sys.modules.values()) if m.__name__ != "__main__" and _is_beside(m)]
            for module in own:
                cloudpickle.register_pickle_by_value(module)
            try:
                data = cloudpickle.dumps(value)
            finally:
                for module in own:
                    cloudpickle.unregister_pickle_by_value(module)
        except Exception as error:
            raise NotData(f"a function cannot be pickled: {type(error).__name__}") from error
        if len(data) > _LONGEST:
            raise NotData("a pickled function is too long")
        return f"pickle:{base64.b64encode(data).decode()}"


_LONGEST = 100_000
"""Bytes of a pickled function."""

_UNNAMED = (
    "list",
    "tuple",
    "set",
    "frozenset",
    "dict",
    "slice",
    "method",
    "treedef",
    "key",
    "bound",
    "functools.partial",
)


def _has_floats(argument: Argument) -> bool:
    return argument.is_differentiated or any(map(_has_floats, argument.items or ()))


def _numbered(values: Any) -> dict[str, Any]:
    return {str(k): value for k, value in enumerate(values)}


def _is_literal(value: Any) -> bool:
    return type(value) in _PLAIN and not (isinstance(value, float) and not math.isfinite(value))


def _fields(value: Any) -> dict[str, Any]:
    """The fields of an object, without what it only remembers."""
    cls = type(value)
    if isinstance(value, tuple):
        names = getattr(cls, "_fields", None)
        if names is None:
            raise NotData(f"an argument of type {cls.__name__} cannot be recorded")
        return dict(zip(names, value, strict=True))
    slots: dict[str, None] = {}
    for base in cls.__mro__:
        own = base.__dict__.get("__slots__", ())
        for slot in (own,) if isinstance(own, str) else own:
            slots[f"_{base.__name__.lstrip('_')}{slot}" if slot.startswith("__") else slot] = None
    found = {slot: getattr(value, slot) for slot in slots if slot[:2] != "__" and hasattr(value, slot)}
    found.update(getattr(value, "__dict__", {}))
    is_cached = {name for name in found if isinstance(inspect.getattr_static(cls, name, None), _CACHED)}
    return {name: one for name, one in found.items() if name not in is_cached}


_CACHED = (functools.cached_property,)


def path_of(value: Any, package: str = "") -> str | None:
    """The name by which an installed function, class or object of one is imported; None where it has none."""
    name = getattr(value, "__qualname__", None) or getattr(value, "__name__", None)
    module = getattr(value, "__module__", None)
    if not isinstance(name, str) or "<" in name or not hasattr(value, "__name__"):
        return None
    if module and module.partition(".")[0] != package and _is_beside(sys.modules.get(module)):
        return None
    short = value.__name__
    public = [home for home in _HOMES if not module or home.partition(".")[0] == module.partition(".")[0]]
    for home, own in (*((home, short) for home in public), (module or "torch", name)):
        try:
            if home in sys.modules and found_at(f"{home}.{own}") is value:
                return f"{home}.{own}"
        except (ImportError, AttributeError, ValueError):
            continue
    return None


_HOMES = (
    *("torch.nn.functional", "torch.special", "torch.linalg", "torch"),
    *("jax.numpy", "jax.nn", "jax.lax", "jax.scipy.special", "jax.numpy.linalg", "jax"),
)
"""The public modules in which a function is looked for before its own one."""


def _is_beside(module: Any) -> bool:
    """Whether a module is no installed one, but lies in a folder as tests do."""
    file = getattr(getattr(module, "__spec__", None), "origin", None)
    name = getattr(module, "__name__", "")
    if module is None or name == "__main__":
        return module is not None
    if not isinstance(file, str) or name.partition(".")[0] in sys.stdlib_module_names:
        return False
    return not {"site-packages", "dist-packages"} & set(Path(file).parts)


# Reading ----------------------------------------------------------------------------------------------------


def built(argument: Argument, library: Library, given: Iterator[Any], home: str) -> Any:
    """The argument of a call of a function of the package `home`; `given` are the differentiated arrays.

    `UsageError` for a name that is not followed, or a pickle that is not read.
    """
    if argument.items is not None or argument.is_called:
        parts = [built(item, library, given, home) for item in argument.items or ()]
        return _assembled(argument, parts, library, home)
    if argument.literal is not None:
        head, _, rest = argument.literal.partition(":")
        if head == "record":
            return _record(ast.parse(rest, mode="eval").body)
        if head == "name":
            return named(rest, home)
        if head == "number":
            return float(rest)
        if head == "pickle":
            _trusted("a pickled function")
            return pickle.loads(base64.b64decode(rest))  # noqa: S301 - the user trusts the file
        return library.dtype(rest) if head == "dtype" else ast.literal_eval(argument.literal)
    assert argument.array is not None, "an argument has an array, items or a literal"
    one = next(given) if argument.is_differentiated else library.constant(argument.array)
    return library.view(one, argument.layout)


def _assembled(argument: Argument, parts: list[Any], library: Library, home: str) -> Any:
    kind = argument.made
    if kind is None:
        return parts
    if kind in _ASSEMBLED:
        return _ASSEMBLED[kind](parts)
    if kind in ("treedef", "key", "bound"):
        return library.rebuilt(kind, parts)
    cls: Any = functools.partial if kind == "functools.partial" else named(kind.removesuffix("()"), home)
    if argument.is_called:
        pairs = list(zip([item.keyword for item in argument.items or ()], parts, strict=True))
        return cls(*(part for name, part in pairs if not name), **{name: p for name, p in pairs if name})
    if isinstance(cls, type) and issubclass(cls, functools.partial):
        return cls(parts[0], *parts[1], **parts[2])
    if not isinstance(cls, type):
        raise UsageError(f"{kind} is no class")
    assert argument.items is not None, "called for it"
    return made(cls, {item.keyword: part for item, part in zip(argument.items, parts, strict=True)})


_ASSEMBLED: Mapping[str, Callable[[list[Any]], Any]] = {
    "tuple": tuple,
    "set": set,
    "frozenset": frozenset,
    "dict": lambda parts: dict(zip(parts[::2], parts[1::2], strict=True)),
    "slice": lambda parts: slice(*parts),
    "method": lambda parts: getattr(parts[0], parts[1]),
}


def named(name: str, home: str) -> Any:
    """What a name stands for; `UsageError` where it is not followed.

    A name leads through packages and classes, and not to what a module has only imported.
    """
    if not _is_followed(name, home):
        _trusted(name)
        return found_at(name)
    module = module_of(name)
    found: Any = importlib.import_module(module)
    for part in name.removeprefix(module).split(".")[1:]:
        found = getattr(found, part)
        is_module = isinstance(found, types.ModuleType)
        owner = getattr(found, "__module__", None) or (None if callable(found) else type(found).__module__)
        if is_module or (isinstance(owner, str) and owner.partition(".")[0] not in _tops(name)):
            _trusted(name)
    if module == "torch" and not isinstance(found, (type, types.BuiltinFunctionType)):
        _trusted(name)  # the others load and compile
    return found


def _tops(name: str) -> tuple[str, ...]:
    """The packages that may have defined what a name of this package stands for."""
    top = name.partition(".")[0]
    return (top, f"_{top}", f"{top}lib", "builtins", "numpy" if top == "jax" else top)


def _is_followed(name: str, home: str) -> bool:
    *parents, last = name.split(".")
    own = name.partition(".")[0] == home.partition(".")[0]
    of_mathematics = any(f"{name}.".startswith(f"{one}.") for one in _MATHEMATICS) or parents == ["torch"]
    of_files = any(last.startswith(one) for one in _FILES)
    return (own or (of_mathematics and not of_files)) and not any(
        one.startswith("__") for one in (*parents, last)
    )


def is_trusted() -> bool:
    """Whether the user trusts recorded calls."""
    return os.environ.get(TRUST, "") not in ("", "0")


def _trusted(what: str) -> None:
    if not is_trusted():
        short = what if len(what) < _SHOWN else f"{what[:_SHOWN]}..."
        raise UsageError(f"a recorded call would run {short}; give --trust if you trust the file")


_SHOWN = 80


def check_trust(call: Call) -> None:
    """Raises `UsageError` where a call needs trust, and there is none. Nothing is imported."""
    for argument in _parts(call.arguments):
        head, _, rest = (argument.literal or "").partition(":")
        if head == "pickle":
            _trusted("a pickled function")
        made_of = argument.made if argument.made not in _UNNAMED else None
        for name in (rest if head == "name" else None, made_of):
            if name is not None and not _is_followed(name, call.function):
                _trusted(name)


def _parts(arguments: Any) -> Iterator[Argument]:
    for argument in arguments:
        yield argument
        yield from _parts(argument.items or ())


@functools.cache
def module_of(name: str) -> str:
    """The longest beginning of a dotted name that is a module."""
    parts = name.split(".")
    for k in range(len(parts), 1, -1):
        module = ".".join(parts[:k])
        if module in sys.modules:
            return module
        try:
            if importlib.util.find_spec(module) is not None:
                return module
        except (ImportError, ValueError, AttributeError):
            continue
    return parts[0]


def modules(call: Call) -> list[str]:
    """The modules that the code of a call has to import, beside those of its library."""
    names = [call.function]
    for one in _parts(call.arguments):
        head, _, rest = (one.literal or "").partition(":")
        names += [rest] if head == "name" else []
        names += [one.made.removesuffix("()")] if one.made and "." in one.made else []
        names += ["pickle", "base64"] if head == "pickle" else []
    return sorted({module_of(name) for name in names if not name.startswith(f"{call.library}.")})


def _record(node: ast.expr) -> Any:
    """The record that a literal names, with literals as fields."""
    if not isinstance(node, ast.Call):
        return ast.literal_eval(node)
    return found_at(ast.unparse(node.func))(**{str(k.arg): _record(k.value) for k in node.keywords})
