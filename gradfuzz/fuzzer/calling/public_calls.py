"""The calls of a package's public functions and of its classes' methods, told while a program runs.

Python's own report of each call (`sys.setprofile`) tells which code begins and with what. So nothing is put
in the place of a function, but of those that are compiled and no code of Python.
"""

from __future__ import annotations

import contextlib
import importlib.util
import inspect
import re
import sys
import threading
import types
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from gradfuzz.errors import UsageError
from gradfuzz.fuzzer.results.call import Call
from gradfuzz.libraries.watching import patched

_PRIVATE = re.compile(r"\._|\.tests?\b|_test\b|\.conftest\b|\.test_")
"""In the names of modules that are not public."""

_SPECIAL = ("__call__", "__matmul__", "__add__", "__sub__", "__mul__", "__truediv__", "__neg__")
"""The methods with two underscores that are told of."""

PROTOCOL = frozenset(["tree_flatten", "tree_unflatten", "extra_repr", "setup", "backward", "setup_context"])
"""Methods that a library calls, and no person."""

_OBJECTS = 2000
"""The latest objects of a package of which it is remembered what they were made of."""

Given = tuple[Iterable[Any], Mapping[str, Any]]
"""Positional arguments, and those by keyword."""


class Package:
    """The public functions and classes of a package, as far as the program has imported it."""

    def __init__(self, name: str) -> None:
        """`UsageError` where there is no such package. It is not imported: the program does that itself."""
        self.name = name
        try:
            known = importlib.util.find_spec(name) is not None
        except (ImportError, ValueError):
            known = False
        if not known:
            raise UsageError(f"--package {name!r}: Python finds no package of this name")
        self.compiled: dict[str, None] = {}
        """The names of functions that are no code of Python."""
        self._functions: dict[types.CodeType, tuple[str, Any]] = {}
        """By their code: the public name, and the function."""
        self._methods: dict[types.CodeType, str] = {}
        """By their code: the name of the method."""
        self._classes: dict[type, str] = {}
        """The public classes by themselves: their public names."""
        self._constructors: set[types.CodeType] = set()
        """The code of the `__init__` of a public class."""
        self._objects: OrderedDict[int, tuple[Any, Given]] = OrderedDict()
        """The latest objects by their ids, and what they were made of."""
        self.others: set[types.CodeType] = set()
        """What is not public."""
        self._modules = 0
        """How many modules there were when the package was read."""

    def is_told(self, frame: types.FrameType) -> bool:
        """Whether a frame begins a public function or a method."""
        code = frame.f_code
        if code in self._functions or code in self._methods or code in self._constructors:
            return True
        home = str(frame.f_globals.get("__name__", ""))
        if home.partition(".")[0] != self.name.partition(".")[0]:
            self.others.add(code)
            return False
        own = [m for n, m in list(sys.modules.items()) if f"{n}.".startswith(f"{self.name}.")]
        if any(getattr(getattr(m, "__spec__", None), "_initializing", False) for m in own):
            return False  # it is being imported
        if len(sys.modules) != self._modules:
            self._modules = len(sys.modules)
            self._read()
            return self.is_told(frame)
        self.others.add(code)
        return False

    def _read(self) -> None:
        top = self.name.partition(".")[0]
        seen: set[int] = set()
        for space in self._spaces():
            for attribute, value in sorted(vars(sys.modules[space]).items()):
                name = f"{space}.{attribute}"
                if attribute.startswith("_") or not callable(value) or id(value) in seen:
                    continue
                home = getattr(value, "__module__", None) or type(value).__module__
                if str(home).partition(".")[0] != top:
                    continue
                seen.add(id(value))
                if isinstance(value, type):
                    self._read_class(name, value)
                elif isinstance(code := getattr(_inner(value), "__code__", None), types.CodeType):
                    self._functions.setdefault(code, (name, _inner(value)))
                if not isinstance(value, (type, types.FunctionType)) or hasattr(value, "dispatch"):
                    self.compiled[name] = None

    def _spaces(self) -> list[str]:
        """The package and its public modules, those nearest to it first."""
        own = [n for n in sys.modules if n == self.name or n.startswith(f"{self.name}.")]
        public = [n for n in own if not _PRIVATE.search(n.removeprefix(self.name))]
        is_module = [n for n in public if isinstance(sys.modules[n], types.ModuleType)]
        return sorted(is_module, key=lambda n: (n.count("."), n))

    def _read_class(self, name: str, cls: type) -> None:
        self._classes[cls] = name
        top = self.name.partition(".")[0]
        code = getattr(_inner(inspect.getattr_static(cls, "__init__")), "__code__", None)
        self._constructors |= {code} if isinstance(code, types.CodeType) else set()
        for base in cls.__mro__:
            if base.__module__.partition(".")[0] != top:
                continue
            for attribute in vars(base):
                if (attribute.startswith("_") and attribute not in _SPECIAL) or attribute in PROTOCOL:
                    continue
                static = inspect.getattr_static(base, attribute)
                if isinstance(static, (property, classmethod, staticmethod, type)):
                    continue
                code = getattr(_inner(getattr(base, attribute, None)), "__code__", None)
                if isinstance(code, types.CodeType):
                    self._methods.setdefault(code, attribute)

    def keep_object(self, frame: types.FrameType) -> None:
        """Remembers what an object is made of, where a frame begins the whole constructor of its class."""
        code = frame.f_code
        if code not in self._constructors or not code.co_argcount:
            return
        own = frame.f_locals.get(code.co_varnames[0])
        constructor = _inner(inspect.getattr_static(type(own), "__init__"))
        if getattr(constructor, "__code__", None) is code:
            (_, *args), kwargs = _given(frame, constructor)
            self._objects[id(own)] = own, (args, kwargs)
            if len(self._objects) > _OBJECTS:
                self._objects.popitem(last=False)

    def class_name(self, cls: type) -> str | None:
        """The public name of a class."""
        return self._classes.get(cls)

    def made_of(self, value: Any) -> Given | None:
        """What an object of a public class was made of, as far as it is remembered."""
        known = self._objects.get(id(value))
        return known[1] if known and known[0] is value and type(value) in self._classes else None

    def name_of(self, frame: types.FrameType) -> tuple[str, Any] | None:
        """The public name of what a frame runs, and the function; None where it has none."""
        code = frame.f_code
        if code in self._functions:
            return self._functions[code]
        method = self._methods.get(code)
        if method is None or not code.co_argcount:
            return None
        own = type(frame.f_locals.get(code.co_varnames[0]))
        for cls in own.__mro__:
            function = _inner(getattr(cls, method, None))
            if cls in self._classes and getattr(function, "__code__", None) is code:
                return f"{self._classes[cls]}.{method}", function
        return None


def _inner(value: Any) -> Any:
    """A function without what is wrapped around it."""
    try:
        return inspect.unwrap(value)
    except (ValueError, AttributeError):
        return value


@contextlib.contextmanager
def told(
    package: Package,
    note: Callable[[str, Iterable[Any], Mapping[str, Any]], Call | None],
    take_back: Callable[[Call], None],
) -> Iterator[None]:
    """As long as it is open, `note` is told of every call of the package as it begins, and `take_back` of a
    call that was noted and raised, or returned None.
    """
    done: set[str] = set()
    others = package.others
    running: dict[types.FrameType, Call] = {}

    def profile(frame: types.FrameType, event: str, returned: Any) -> None:
        if event == "return" and running:
            call = running.pop(frame, None)
            if call is not None and returned is None:
                take_back(call)
        if event != "call" or frame.f_code in others:  # most calls end here
            return
        if package.is_told(frame):
            package.keep_object(frame)
            found = package.name_of(frame)
            if found is not None:
                call = note(found[0], *_given(frame, found[1]))
                if call is not None:
                    running[frame] = call
            if new := [name for name in package.compiled if name not in done]:
                done.update(new)
                stack.enter_context(patched(note, new))

    before = sys.getprofile()
    with contextlib.ExitStack() as stack:
        threading.setprofile(profile)
        sys.setprofile(profile)
        try:
            yield
        finally:
            sys.setprofile(before)
            threading.setprofile(None)


def _given(frame: types.FrameType, function: Any) -> Given:
    """The arguments of the call that a frame begins, without those at the end that are their defaults."""
    code, values = frame.f_code, frame.f_locals
    names = list(code.co_varnames)
    count, by_keyword = code.co_argcount, code.co_kwonlyargcount
    args = [values[name] for name in names[:count]]
    keywords = getattr(function, "__kwdefaults__", None) or {}
    only = names[count : count + by_keyword]
    kwargs = {n: values[n] for n in only if not (n in keywords and keywords[n] is values[n])}
    rest = names[count + by_keyword :]
    if code.co_flags & inspect.CO_VARARGS:
        args += values[rest.pop(0)]
    else:
        defaults = getattr(function, "__defaults__", None) or ()
        while defaults and len(args) > count - len(defaults) and args[-1] is defaults[len(args) - count - 1]:
            args.pop()
    if code.co_flags & inspect.CO_VARKEYWORDS:
        kwargs.update(values[rest[0]])
    return args, kwargs
