"""The library of a function: given by name, else that of the arguments, else that of what it holds or returns
at a first call, else the one that its code names.

A library is imported only if an object of it was found, or it is loaded already.
"""

from __future__ import annotations

import contextlib
import dis
import functools
import importlib
import inspect
import random
import sys
import types
import warnings
from collections.abc import Iterator, Sequence
from typing import Any, get_args

import numpy as np

from gradfuzz.errors import MissingExtraError, UsageError
from gradfuzz.libraries.library import Library, LibraryName
from gradfuzz.oracles.registry import settle
from gradfuzz.tracing.common.leaves import leaves_of, with_leaves

_PACKAGES: dict[str, LibraryName] = {
    **{name: name for name in get_args(LibraryName) if name != "numpy"},
    "jaxlib": "jax",
}

_DEPTH = 3
"""The depth to which the functions that a function names are searched."""


_LOADS = ("LOAD_GLOBAL", "LOAD_NAME", "IMPORT_NAME")
"""The instructions that name a global."""


@functools.cache
def _imported(name: str) -> Library:
    """The library; `UsageError` for an unknown name, `MissingExtraError` if it is not installed."""
    if name not in get_args(LibraryName):
        raise UsageError(f"framework={name!r} is not one of {', '.join(map(repr, get_args(LibraryName)))}")
    try:
        home = importlib.import_module(f"gradfuzz.libraries.{name}")
        found: Library = getattr(home, f"{name.title()}Library")()
    except ImportError as error:
        extra = f"'gradfuzz[{name}]'" if name in ("jax", "torch") else name
        raise MissingExtraError(
            f"the function belongs to {name}, which cannot be imported: {error}; install it with: pip"
            f" install {extra}"
        ) from error
    return found


def library_named(name: str) -> Library:
    """The library, for calls of its own functions. JAX, which would compute on a GPU, is kept on the CPU."""
    settle(name)
    return _imported(name)


def library_of(f: Any, args: Sequence[Any], name: LibraryName | None = None) -> Library:
    """The library of `f` called with `args`; `UsageError` if the arguments belong to two."""
    if name is not None:
        return _imported(name)
    named = {_package_of(type(leaf)) for _, leaf in leaves_of(list(args))} - {None}
    if len(named) > 1:
        several = " and ".join(sorted(map(str, named)))
        raise UsageError(f"the arguments are arrays of {several}; pass those of one framework")
    found = next(iter(named), None) or _package_of(type(f))
    if found is None:
        mentioned = list(_mentioned(f, _DEPTH))
        of_objects = (library for library, is_object in mentioned if is_object)
        spoken = next((library for library, _ in mentioned), None)
        found = next(of_objects, None) or (_used(f, args, spoken) if args else None) or spoken
    return _imported(found or "numpy")


def _used(f: Any, args: Sequence[Any], spoken: LibraryName | None) -> LibraryName | None:
    """The library whose arrays `f` returns for NumPy's. Where it takes none of these, the library among those
    that are loaded whose arrays it takes: first the one that its code names. None where no call tells.
    """
    leaves = [leaf for _, leaf in leaves_of(list(args))]
    returned = _returned(f, args, leaves, None)
    if returned is not None:
        found = next(iter({_package_of(type(y)) for y in returned} - {None}), None)
        if found is None and spoken in sys.modules and spoken != "autograd":  # NumPy's own, or it takes any
            kit = _imported(spoken)
            own = any(map(kit.is_array, _returned(f, args, leaves, kit) or []))
            return spoken if own else "numpy"
        return found
    loaded = [name for name in get_args(LibraryName) if name in sys.modules and name in _PACKAGES]
    for name in sorted(loaded, key=lambda name: name != spoken):
        kit = _imported(name)
        if any(map(kit.is_array, _returned(f, args, leaves, kit) or [])):
            return kit.name
    return None


def _returned(f: Any, args: Sequence[Any], leaves: Sequence[Any], kit: Library | None) -> list[Any] | None:
    """What `f` returns for copies of the arguments, as arrays of a library or of NumPy; None where it raises.
    Random numbers go on as if nobody had called it.
    """
    jax = _imported("jax") if "jax" in sys.modules else None
    torch: Any = sys.modules.get("torch")
    drawn = random.getstate(), np.random.get_state(), torch and torch.random.get_rng_state()  # noqa: NPY002
    try:
        with (
            jax.context("float64") if jax is not None else contextlib.nullcontext(),
            np.errstate(all="ignore"),
            warnings.catch_warnings(),
        ):
            warnings.simplefilter("ignore")
            given = [_given(leaf, kit) for leaf in leaves]
            result = f(*with_leaves(list(args), iter(given)))
            return [leaf for _, leaf in jax.tree(result, "")[0]] if jax else [y for _, y in leaves_of(result)]
    except Exception:  # noqa: BLE001 - it may take no such arrays
        return None
    finally:
        random.setstate(drawn[0])
        np.random.set_state(drawn[1])  # noqa: NPY002
        if torch:
            torch.random.set_rng_state(drawn[2])


def _given(leaf: Any, kit: Library | None) -> Any:
    if kit is not None and isinstance(leaf, (float, complex, np.ndarray, np.generic)):
        return kit.given(np.array(leaf))
    return leaf.copy() if isinstance(leaf, np.ndarray) else leaf


def _package_of(what: Any) -> LibraryName | None:
    """The library that defines a class or a module; None for autograd's classes: its arrays are NumPy's."""
    for cls in getattr(what, "__mro__", (what,)):
        module = cls.__name__ if isinstance(cls, types.ModuleType) else getattr(cls, "__module__", None) or ""
        found = _PACKAGES.get(module.partition(".")[0])
        if found is not None:
            return found
    return None


def _mentioned(f: Any, depth: int) -> Iterator[tuple[LibraryName, bool]]:
    """The libraries named in a function's code, and in the functions that it names, each with whether it is
    named by an object of one of its classes, as a module with parameters.
    """
    owner = getattr(f, "__self__", None)
    if inspect.isclass(owner) and _package_of(owner):  # autograd.Function.apply
        yield _package_of(owner) or "numpy", True
    for inner in (getattr(f, "__wrapped__", None), getattr(f, "func", None), getattr(f, "__func__", None)):
        if callable(inner):
            yield from _mentioned(inner, depth)
    code = getattr(f, "__code__", None)
    if code is None:
        call = None if inspect.isclass(f) else inspect.getattr_static(type(f), "__call__", None)
        if isinstance(call, types.FunctionType):
            yield from _mentioned(call, depth)
        return
    cells = [_content(cell) for cell in f.__closure__ or ()]
    named = [f.__globals__[name] for name in _names(code) if name in f.__globals__]
    for value in (*named, *cells):
        package = _package_of(value) if isinstance(value, types.ModuleType) else _of_value(value)
        if package is not None:
            plain = inspect.isclass(value) or isinstance(value, (types.ModuleType, types.FunctionType))
            yield package, not plain and _package_of(type(value)) is not None
        elif depth and callable(value) and not inspect.isclass(value):
            yield from _mentioned(value, depth - 1)


def _of_value(value: Any) -> LibraryName | None:
    if inspect.isclass(value):
        return _package_of(value)
    module = getattr(value, "__module__", None) or ""
    return _PACKAGES.get(str(module).partition(".")[0]) or _package_of(type(value))


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return None


def _names(code: types.CodeType) -> Iterator[str]:
    """The global names that a code object loads or imports, and those of nested ones. Attributes are none,
    though `co_names` has them.
    """
    for step in dis.get_instructions(code):
        if step.opname in _LOADS:
            yield step.argval
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _names(constant)


def signature_of(f: Any, count: int) -> list[str]:
    """The names of the first `count` arguments; "arg0", "arg1" if the signature is unknown."""
    owner = getattr(f, "__self__", None)
    skipped = 0
    if inspect.isclass(owner) and hasattr(owner, "forward"):
        # autograd.Function.apply: the names are those of forward, after ctx.
        f, skipped = owner.forward, int(not _has_setup(owner))
    for own in (f, getattr(f, "call", f), getattr(f, "forward", f)):  # of a module
        try:
            parameters = list(inspect.signature(own).parameters.values())[skipped:]
        except (TypeError, ValueError):
            parameters = []
        plain = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
        if plain or inspect.isroutine(f):
            break
    star = next((p.name for p in parameters if p.kind is p.VAR_POSITIONAL), "arg")
    return [plain[k] if k < len(plain) else f"{star}{k - len(plain)}" for k in range(count)]


def _has_setup(function: Any) -> bool:
    """Whether an autograd.Function takes its context in setup_context, so that forward takes none."""
    setup = inspect.getattr_static(function, "setup_context", None)
    base = next((c for c in function.__mro__ if c.__module__.startswith("torch.")), None)
    if setup is None or base is None:
        return False
    return setup is not inspect.getattr_static(base, "setup_context", None)
