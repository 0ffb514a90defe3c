"""The functions that JAX offers: `python -m gradfuzz.oracles.jax.catalogue FILE`.

They are what can be called in the namespaces below, each with its names and its signature. JAX has no list
of what it differentiates, but it says so of a function that it follows (`jax.eval_shape` computes nothing):

- what returns integers or booleans alone, or takes no floats, is not differentiable;
- nor is what consists of a primitive without a rule, where `jax.jvp` raises NotImplementedError.

A function is followed with its default keywords, at arrays of a few shapes and dtypes. One that takes none of
them counts as differentiable by its signature, unless a person wrote a reason against it.
"""

from __future__ import annotations

import importlib
import inspect
import itertools
import pkgutil
import sys
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from types import ModuleType
from typing import Any, get_origin

import jax
import jax.numpy as jnp
import jax.scipy

from gradfuzz.adapters.catalogue import (
    A_CLASS,
    DIFFERENTIABLE,
    LEFT_OUT,
    NOT_DIFFERENTIABLE,
    Function,
    Public,
    parameters,
    public,
    read_rows,
    signature,
    write,
    written,
)
from gradfuzz.oracles.jax import left_out
from gradfuzz.private_names import missing, private

_RULES = "jax.interpreters.ad.primitive_jvps"

_OF_ARRAYS = ("Array", "Any", "ndarray", "Result")
"""What stands in the annotation of an array, of what may be one, or of a named tuple of them."""

_SHAPES = ((3,), (3, 3), ())
_MOST = 4
"""Required parameters of a function that is followed."""


def namespaces() -> dict[str, ModuleType]:
    """The public modules of functions by their names."""
    names = ["jax.numpy", "jax.numpy.linalg", "jax.numpy.fft", "jax.nn", "jax.lax", "jax.lax.linalg"]
    found = pkgutil.walk_packages(jax.scipy.__path__, "jax.scipy.")
    names += [module.name for module in found if "._" not in module.name]
    return {name: importlib.import_module(name) for name in names}


def functions() -> list[Function]:
    """All functions of the installed JAX."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of functions that are to be removed
        return read_rows(public(namespaces()), _row)


def _row(thing: Public) -> Function:
    name = thing.names[0].rpartition(".")[2]
    if isinstance(thing.value, type) or get_origin(thing.value) is not None:
        return Function(thing.names, name, LEFT_OUT, A_CLASS)
    outcome, why = _outcome(thing)
    taken = parameters(thing.value) if outcome == DIFFERENTIABLE else ()
    return Function(thing.names, signature(name, thing.value), outcome, why, taken)


def _outcome(thing: Public) -> tuple[str, str]:
    reason = written(left_out.PUBLIC, thing.names)
    if reason:
        return LEFT_OUT, reason
    parameters, returned = _annotations(thing.value)
    if parameters is not None and not any(map(_may_be_array, parameters.values())):
        return LEFT_OUT, "takes no array"
    if returned is not None and not _may_be_array(returned):
        return LEFT_OUT, "returns no array"
    primitive = _primitive(thing.names)
    gone = None if primitive is None else missing(_RULES)
    if primitive is not None and gone is None and primitive not in private(_RULES):
        return NOT_DIFFERENTIABLE, "jax.interpreters.ad has no rule for its primitive"
    said = _said(thing.value)
    if said is not None:
        return said
    if gone is not None:
        return LEFT_OUT, gone
    if primitive is not None:
        return DIFFERENTIABLE, "jax.interpreters.ad has a rule for its primitive"
    return DIFFERENTIABLE, "from arrays to arrays by its signature; not followed, its arguments are special"


def _annotations(value: Any) -> tuple[dict[str, Any] | None, Any]:
    """The annotations of the parameters and of the result; None where there are none."""
    try:
        found = inspect.signature(value)
    except (TypeError, ValueError):
        return None, None
    parameters = {name: p.annotation for name, p in found.parameters.items()}
    returned = found.return_annotation
    return parameters, None if returned is inspect.Signature.empty else returned


def _may_be_array(annotation: Any) -> bool:
    if annotation is inspect.Parameter.empty:
        return True
    text = annotation if isinstance(annotation, str) else repr(annotation)
    return any(word in text for word in _OF_ARRAYS)


def _primitive(names: tuple[str, ...]) -> Any:
    """The primitive that a function of `jax.lax` applies, by its name; None where there is none."""
    for name in names:
        space, _, last = name.rpartition(".")
        if space.startswith("jax.lax"):
            return getattr(sys.modules[space], f"{last}_p", None)
    return None


def _said(value: Any) -> tuple[str, str] | None:
    """What JAX says of a function when it follows it; None where it takes none of the arguments."""
    required = _required(value)
    if required is None or len(required) > _MOST:
        return None
    takes_integers = False
    for dtypes, shape in itertools.product(_dtypes(len(required)), _SHAPES):
        arrays = [jax.ShapeDtypeStruct(shape, dtype) for dtype in dtypes]
        given = list(map(_argument, required, arrays))
        places = [k for k, one in enumerate(given) if isinstance(one, jax.ShapeDtypeStruct)]
        called = _Call(value, given, places)
        out = _followed(called, [given[k] for k in places])
        if out is None:
            continue
        if not any(jnp.issubdtype(given[k].dtype, jnp.inexact) for k in places):
            takes_integers = True
        elif not any(jnp.issubdtype(kind, jnp.inexact) for kind in out):
            return NOT_DIFFERENTIABLE, f"returns {' and '.join(sorted({_kind(kind) for kind in out}))}"
        else:
            missing = _missing_rule(called, [given[k] for k in places])
            is_smooth = DIFFERENTIABLE, "JAX can differentiate it: no rule is missing"
            return (NOT_DIFFERENTIABLE, missing) if missing else is_smooth
    return (NOT_DIFFERENTIABLE, "takes no floats") if takes_integers else None


def _required(value: Any) -> list[inspect.Parameter] | None:
    """The parameters that a call needs; None where that is open."""
    if isinstance(value, jnp.ufunc):
        kind = inspect.Parameter.POSITIONAL_ONLY
        return [inspect.Parameter(f"x{k}", kind) for k in range(value.nin)]
    try:
        required = [p for p in inspect.signature(value).parameters.values() if p.default is p.empty]
    except (TypeError, ValueError):
        return None
    of_its_own = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.KEYWORD_ONLY)
    if any(p.kind in of_its_own for p in required):
        return None
    return [p for p in required if p.kind is not p.VAR_KEYWORD]


def _dtypes(count: int) -> Iterator[tuple[str, ...]]:
    """The dtypes to try for so many arrays: floats, floats but for one index or mask, integers but for one
    float, and integers.
    """
    floats = ("float32",) * count
    yield floats
    for other in ("int32", "bool") if count > 1 else ():
        yield from ((*floats[:k], other, *floats[k + 1 :]) for k in range(count))
    integers = ("int32",) * count
    yield from ((*integers[:k], "float32", *integers[k + 1 :]) for k in range(count if count > 2 else 0))
    yield integers


def _argument(parameter: inspect.Parameter, array: jax.ShapeDtypeStruct) -> Any:
    """An argument for a parameter: by its annotation an array, or an axis, or a dtype."""
    text = "" if parameter.annotation is parameter.empty else str(parameter.annotation)
    if "Array" in text:
        return array
    if "DType" in text:
        return "int32" if "index" in parameter.name else "float32"
    if "Sequence[int]" in text:
        return (0,)
    return 0 if "int" in text else array


@dataclass(frozen=True, slots=True)
class _Call:
    """A function of the arrays alone, which stand at `places` of its arguments."""

    function: Any
    arguments: list[Any]
    places: list[int]

    def __call__(self, *arrays: Any) -> Any:
        whole = list(self.arguments)
        for k, array in zip(self.places, arrays, strict=True):
            whole[k] = array
        return self.function(*whole)


def _followed(called: _Call, arrays: list[Any]) -> list[Any] | None:
    """The dtypes of the results; None where the function does not take these arrays, or returns none."""
    try:
        return [leaf.dtype for leaf in jax.tree.leaves(jax.eval_shape(called, *arrays))] or None
    except Exception:  # noqa: BLE001 - whatever it raises, it does not take these arguments
        return None


def _missing_rule(called: _Call, arrays: list[Any]) -> str | None:
    """What JAX says of a primitive without a rule in this function; None where it misses none."""
    try:
        jax.eval_shape(lambda xs, ts: jax.jvp(called, xs, ts), tuple(arrays), tuple(map(_tangent, arrays)))
    except NotImplementedError as error:
        words = str(error).splitlines()[0]
        return f"JAX: {words}" if "rule for" in words else None  # others depend on keywords
    except Exception:  # noqa: BLE001 - a function with rules for reverse mode alone is differentiable, too
        return None
    return None


def _tangent(array: Any) -> jax.ShapeDtypeStruct:
    is_smooth = jnp.issubdtype(array.dtype, jnp.inexact)
    return jax.ShapeDtypeStruct(array.shape, array.dtype if is_smooth else jax.dtypes.float0)


def _kind(dtype: Any) -> str:
    return "booleans" if jnp.issubdtype(dtype, jnp.bool_) else "integers"


if __name__ == "__main__":
    write(sys.argv[1], functions())
