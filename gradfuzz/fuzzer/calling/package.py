"""The functions, classes and methods of a user's own module, or of a package without a catalogue.

They are all that can be called of the public names of the module, and of its public modules that importing it
loads. A method is called on an object that is made of what its class takes, by its annotations: a
distribution of its parameters, a module of its sizes, an operator of a matrix. The rows are those of a
catalogue; the reason of a row is the library whose arrays it takes, or why it is left out.
"""

from __future__ import annotations

import collections.abc
import contextlib
import enum
import functools
import importlib
import inspect
import sys
import types
import typing
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from gradfuzz.adapters.catalogue import (
    ARRAY,
    DIFFERENTIABLE,
    LEFT_OUT,
    NOT_DIFFERENTIABLE,
    NUMBER,
    OBJECT,
    STRUCTURE,
    TEXT,
    UNREAD,
    Function,
    Parameter,
    Public,
    around,
    parameters,
    public,
    read_rows,
    resolved,
    signature,
)
from gradfuzz.fuzzer.calling.public_calls import PROTOCOL
from gradfuzz.libraries.detect import library_named, library_of
from gradfuzz.libraries.library import CALLED
from gradfuzz.oracles.catalogues import made

_KEYS = ("key", "rng", "rng_key", "prng_key", "PRNGKeyArray")
_KEY = "jax.random.PRNGKey(seed=int)"
"""Parameters that take a key of JAX's random numbers, and how one is made."""

_MOST_CLASSES = 6
"""Classes of which an argument may be an object, where a function takes one of an abstract class."""

_NO_FLOATS = (bool, int, str, bytes, type)
"""What a function returns that has no derivative."""

_ABSTRACT = "abstract, so there are no objects of it"
_NO_LIBRARY = "neither its annotations nor its code nor its package name JAX, Torch or autograd"


_Change = Callable[[Any, tuple[Parameter, ...]], tuple[Parameter, ...]]


def functions(module: str) -> list[Function]:
    """What can be called, with what becomes of it."""
    return _Package(module).rows()


class _Package:
    """The public things of a module that its own package defines."""

    def __init__(self, module: str) -> None:
        self._owner = importlib.import_module(module)
        self._name = module.partition(".")[0]
        things = [
            Public(one.names, _written(one.value)) for one in public(dict(_spaces(module, self._owner)))
        ]
        self._things = [one for one in things if self._is_own(one.value)]
        self._library = self._most_named()
        # A library's own arrays are given as such, and are not made of what their class takes.
        kit = library_named(self._name) if self._name in CALLED else None
        self._array = type(kit.array(np.zeros(()))) if kit is not None else None
        self._names = {one.value: one.names[0] for one in self._things if isinstance(one.value, type)}
        self._parts: dict[type, tuple[Parameter, ...] | str] = {cls: _parts(cls) for cls in self._names}
        self._parts |= {
            cls: _parts(cls, self._with_objects) for cls in self._names
        }  # of objects of the others

    def _is_own(self, value: Any) -> bool:
        """Whether the package defines it, and not one from which it is imported."""
        home = getattr(value, "__module__", None) or type(value).__module__
        return str(home).partition(".")[0] == self._name

    def _most_named(self) -> str | None:
        """The library that most modules of the package name."""
        modules = [m for name, m in list(sys.modules.items()) if f"{name}.".startswith(f"{self._name}.")]
        named = [
            {
                one.__name__.partition(".")[0]
                for one in vars(module).values()
                if isinstance(one, types.ModuleType)
            }
            for module in modules
        ]
        counts = Counter(library for names in named for library in CALLED if library in names)
        return counts.most_common(1)[0][0] if counts else None

    def rows(self) -> list[Function]:
        found: list[Function] = []
        for thing in self._things:
            if isinstance(thing.value, type):
                found += self._of_class(thing)
            else:
                found += read_rows([thing], self._of_thing)
        return found

    def _of_thing(self, thing: Public, first: Sequence[Parameter] = ()) -> Function:
        """The row of a function, or of a method that takes its object `first`."""
        names, value = thing.names, thing.value
        shown = signature(names[0], value)
        made_of = _made_of(value) or self._library
        if made_of is None:
            return Function(names, shown, LEFT_OUT, _NO_LIBRARY)
        own = self._with_objects(value, parameters(value))
        returned = _annotations(value).get("return")
        if returned in _NO_FLOATS:
            return Function(names, shown, NOT_DIFFERENTIABLE, f"returns {returned.__name__}")
        return Function(names, shown, DIFFERENTIABLE, made_of, (*first, *own[len(first) :]))

    def _of_class(self, thing: Public) -> Iterator[Function]:
        """The row of a class, which says what becomes of its objects, and those of its methods."""
        cls = thing.value
        if _is_function_of_torch(cls):
            taken = self._with_objects(cls.forward, parameters(cls.forward))
            taken = taken if "setup_context" in vars(cls) else taken[1:]
            name = f"{thing.names[0]}.apply"
            yield Function((name,), signature("apply", cls.forward), DIFFERENTIABLE, "torch", taken)
            return
        methods = list(self._methods(cls))
        why = self._parts[cls]
        told = (
            f"a class: {why}" if isinstance(why, str) else f"a class, whose {len(methods)} methods are called"
        )
        yield Function(thing.names, signature(thing.names[0], cls), LEFT_OUT, told)
        for name, static in methods:
            names, value = (f"{thing.names[0]}.{name}",), getattr(cls, name)
            if isinstance(static, (staticmethod, classmethod)):
                yield from read_rows([Public(names, value)], self._of_thing)
            elif isinstance(why, str):
                yield Function(names, signature(name, value), LEFT_OUT, f"a method: its class is {why}")
            else:
                row = functools.partial(self._of_thing, first=(self._object("self", cls),))
                yield from read_rows([Public(names, value)], row)

    def _methods(self, cls: type) -> Iterator[tuple[str, Any]]:
        """The methods that a class defines, or takes from one of which there are no objects."""
        for name in dir(cls):
            static = inspect.getattr_static(cls, name, None)
            home = next((base for base in cls.__mro__ if name in vars(base)), cls)
            if (name.startswith("_") and name != "__call__") or name in PROTOCOL:
                continue
            if isinstance(static, (type, property)) or not callable(getattr(cls, name, None)):
                continue
            is_elsewhere = home is not cls and not isinstance(self._parts.get(home, ""), str)
            if self._is_own(home) and not is_elsewhere:
                yield name, static

    # Objects

    def _object(self, name: str, cls: type) -> Parameter:
        """A parameter that takes an object of a class."""
        parts = self._parts[cls]
        assert not isinstance(parts, str), "there are objects of it"
        return Parameter(name, (OBJECT,), required=True, parts=parts, made=self._names[cls])

    def _with_objects(self, value: Any, taken: tuple[Parameter, ...]) -> tuple[Parameter, ...]:
        """The parameters of a function, with objects where an annotation names a class of the package."""
        annotations = _annotations(value)
        return tuple(self._with_object(one, annotations.get(one.name)) for one in taken)

    def _with_object(self, one: Parameter, annotation: Any) -> Parameter:
        wanted = [part for part in (annotation, *typing.get_args(annotation)) if isinstance(part, type)]
        wanted = [cls for cls in wanted if self._is_own(cls) and cls is not self._array]
        wanted = [cls for cls in wanted if not issubclass(cls, (enum.Enum, tuple))]
        able = [
            cls
            for cls, parts in self._parts.items()
            if not isinstance(parts, str) and any(issubclass(cls, of) for of in wanted)
        ]
        if typing.get_origin(annotation) in (dict, collections.abc.Mapping) and one.required:
            return replace(one, kinds=(TEXT,), choices=("{}",))
        if not able:
            return replace(one, kinds=()) if wanted and ARRAY not in one.kinds else one
        objects = tuple(self._object(one.name, cls) for cls in able[:_MOST_CLASSES])
        whole = objects[0] if len(objects) == 1 else replace(objects[0], made="", parts=objects)
        return replace(whole, name=one.name, required=one.required, keyword=one.keyword, default=one.default)


def _spaces(name: str, owner: types.ModuleType) -> Iterator[tuple[str, types.ModuleType]]:
    """The module and its public modules, by their names."""
    waiting, seen = [(name, owner)], {owner}
    while waiting:
        space, module = waiting.pop(0)
        yield space, module
        for attribute in dir(module):
            one = None if attribute.startswith("_") else vars(module).get(attribute)
            if (
                isinstance(one, types.ModuleType)
                and one not in seen
                and one.__name__ == f"{space}.{attribute}"
            ):
                seen.add(one)
                waiting.append((one.__name__, one))


def _written(value: Any) -> Any:
    """The function that a person wrote: without decorators, and of a custom op of Torch its first kernel."""
    return value if isinstance(value, type) else inspect.unwrap(getattr(value, "_init_fn", value))


def _parts(cls: type, change: _Change = lambda cls, taken: taken) -> tuple[Parameter, ...] | str:
    """What an object of a class is made of, after a `change` of its parameters, or why none can be made."""
    if issubclass(cls, BaseException):
        return "an exception"
    if issubclass(cls, enum.Enum):
        return "an enumeration"
    if inspect.isabstract(cls) or typing.Protocol in cls.__bases__:
        return _ABSTRACT
    try:
        inspect.signature(cls)
        taken = tuple(map(_part, change(cls, parameters(cls))))
    except Exception as error:  # noqa: BLE001 - whatever is odd about its signature
        return f"{UNREAD}: {type(error).__name__}"
    undrawn = [one.name for one in taken if one.required and not one.kinds]
    return f"one that needs {undrawn[0]}, which gradfuzz cannot make" if undrawn else taken


def _part(one: Parameter) -> Parameter:
    """A parameter of a class: a number may be an array, a key is one of JAX's."""
    if one.name in _KEYS:
        return replace(one, kinds=(STRUCTURE,), form=_KEY, dims=None, entries=())
    return replace(one, kinds=(ARRAY, NUMBER)) if one.kinds == (NUMBER,) else one


def _is_function_of_torch(cls: type) -> bool:
    """Whether it is a function with a gradient of its own, which is called by `apply`."""
    return any(
        f"{base.__module__}.{base.__name__}" == "torch.autograd.function.Function" for base in cls.__mro__
    )


def _annotations(value: object) -> Mapping[str, Any]:
    names = getattr(value, "__globals__", None) or around(value)
    with contextlib.suppress(TypeError, ValueError):
        taken = inspect.signature(value).parameters.values()  # type: ignore[arg-type]
        found = {one.name: resolved(one.annotation, names) for one in taken}
        written = getattr(value, "__annotations__", {})
        return {**found, "return": resolved(written.get("return"), names)}
    return {}


def _made_of(value: object) -> str | None:
    """The library whose arrays a function takes."""
    annotations = " ".join(map(_read, _annotations(value).values()))
    for name, words in (("jax", ("jax", "jnp")), ("torch", ("torch", "Tensor"))):
        if any(word in annotations for word in words):
            return name
    library = library_of(value, ()).name
    return library if library in CALLED else None


def _read(annotation: object) -> str:
    """An annotation as text; of one with dimensions the type of the array, which names its library."""
    parts = (annotation, *typing.get_args(annotation))
    arrays = [one.array_type for one in parts if hasattr(one, "array_type")]
    return str(arrays[0] if arrays else annotation)


def listed(module: str) -> list[Function]:
    """The same in a process of its own. `TargetProcessError` where the module takes it down."""
    command = [sys.executable, "-c", _CHILD, repr(sys.path), module]
    return made(f"the list of the functions of {module}", command, str, here=True)


_CHILD = """import ast, sys
sys.path[:] = ast.literal_eval(sys.argv[1])
from gradfuzz.adapters.catalogue import write
from gradfuzz.fuzzer.calling.package import functions
write(sys.argv[3], functions(sys.argv[2]))
"""
"""What the process runs: it finds modules where this one does."""
