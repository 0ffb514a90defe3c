"""The functions that MLX offers: `python mlx_catalogue.py FILE`.

They are what can be called in the namespaces below. MLX has no list of what it differentiates, but it says so
of a function that it follows: it is lazy, so mx.vjp of it makes a graph, and nothing is computed. What
consists of a primitive without a rule raises. A function that takes none of the arguments counts as
differentiable by its signature, unless a person wrote a reason against it.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import re
import sys
from collections.abc import Sequence
from typing import Any

import mlx.core as mx
from catalogue import (
    A_CLASS,
    ARRAY,
    ARRAYS,
    DIFFERENTIABLE,
    LEFT_OUT,
    NOT_DIFFERENTIABLE,
    OTHERS,
    Function,
    Parameter,
    Public,
    arguments,
    outcome,
    parameters,
    public,
    read_rows,
    returned,
    signature,
    write,
    written,
)

NAMESPACES = "core core.linalg core.fft core.random core.fast nn nn.losses"

REASONS = {
    "a setting or a tool of MLX, not a function of arrays": (
        "*.async_eval *.eval *.clear_* *.default_* *.device_* *.*able_compile *.get_* *.reset_* *.set_*"
        " *.new_* *.stream *.synchronize *.is_available *.isdtype *.issubdtype *.can_cast *.result_type"
        " *.*printoptions *.einsum_path *.broadcast_shapes *.depends *.random.seed *.random.key"
        " *.random.split *.fully_shard *.average_gradients *.get_args"
    ),
    "writes, loads or takes foreign memory": (
        "*.save* *.load *.import_function *.export* *.from_dlpack *.empty *.empty_like"
    ),
    "takes functions, not arrays": (
        "*.compile *.checkpoint *.custom_function *.grad *.jvp *.vjp *.value_and_grad *.vmap *.*_kernel"
    ),
    "hides its argument from differentiation": "*.stop_gradient",
    "for quantized numbers": "*.quantize* *.dequantize *.*qmm *.from_fp8 *.to_fp8",
    "makes an array from sizes alone": (
        "*.arange *.eye *.identity *.linspace *.ones *.zeros *.tri *.bartlett *.blackman *.hamming *.hanning"
        " *.fftfreq *.rfftfreq *.full"
    ),
    "sees the bits of numbers": "*.view *.bitwise_*",
}
"""Reason that a person wrote -> patterns of public names."""


def namespaces() -> dict[str, Any]:
    return {f"mlx.{name}": importlib.import_module(f"mlx.{name}") for name in ("core", "nn", "nn.losses")} | {
        f"mlx.core.{name}": getattr(mx, name) for name in ("linalg", "fft", "random", "fast")
    }


def functions() -> list[Function]:
    if not hasattr(mx.sin, "__nb_signature__"):
        sys.exit("this mlx has lost a private name that its catalogue needs: mlx.core.sin.__nb_signature__")
    return read_rows((one for one in public(namespaces()) if is_own(one.value)), row)


def is_own(value: Any) -> bool:
    """Whether it is MLX's own, not a name of `typing` in one of its modules."""
    return str(getattr(value, "__module__", "mlx")).startswith("mlx")


def row(thing: Public) -> Function:
    name = thing.names[0].rpartition(".")[2]
    if isinstance(thing.value, type):
        return Function(thing.names, name, LEFT_OUT, A_CLASS)
    value = stand_in(name, thing.value)
    taken = tuple(one for one in parameters(value) if one.name not in ("stream", "s"))
    told = outcome_of(thing, taken)
    taken = taken if told[0] == DIFFERENTIABLE else ()
    return Function(thing.names, signature(name, value), *told, taken)


def outcome_of(thing: Public, taken: tuple[Parameter, ...]) -> tuple[str, str]:
    reason = written(REASONS, thing.names)
    if reason:
        return LEFT_OUT, reason
    if not any({ARRAY, ARRAYS} & set(one.kinds) for one in taken):
        return LEFT_OUT, "takes no array"
    return outcome(taken, functools.partial(followed, thing.value))


def stand_in(name: str, value: Any) -> Any:
    """A function of Python with the first signature and the docstring of one that is compiled."""
    signatures = getattr(value, "__nb_signature__", None)
    if not signatures:
        return value
    head, doc = signatures[0][:2]
    head = re.sub(r"\[\w+=\w+\]", "", head)  # ndarray[writable=False]
    head = re.sub(r"= (?!None|True|False|[-\d.'\"(])[^,)]+", "= None", head)
    made: dict[str, Any] = {}
    exec(f"from __future__ import annotations\n{head}: ...", made)  # noqa: S102 - a signature of MLX
    function = made[re.findall(r"^def (\w+)", head)[0]]
    function.__doc__ = inspect.cleandoc(doc or "")
    return function


def followed(
    value: Any, required: Sequence[Parameter], dtype: str, shape: tuple[int, ...]
) -> tuple[str, str] | None:
    """What MLX says of a function that it follows; nothing is computed."""
    given, inputs = arguments(
        required, lambda: mx.ones(shape, getattr(mx, "bool_" if dtype == "bool" else dtype))
    )
    out = leaves(value(*given.values()))
    if not inputs or not out:
        return None
    if not any(mx.issubdtype(y.dtype, mx.inexact) for y in out):
        return returned([str(y.dtype).rpartition(".")[2] for y in out])
    if dtype in OTHERS:
        return DIFFERENTIABLE, ""
    places = [k for k, one in enumerate(given.values()) if any(one is x for x in inputs)]

    def smooth(*xs: Any) -> Any:
        whole = list(given.values())
        for place, x in enumerate(xs):
            whole[places[place]] = x
        return [y for y in leaves(value(*whole)) if mx.issubdtype(y.dtype, mx.inexact)]

    try:
        primals = [list(given.values())[k] for k in places]
        mx.vjp(smooth, primals, [mx.ones_like(y) for y in smooth(*primals)])
    except (ValueError, RuntimeError) as error:
        words = str(error).splitlines()[0]
        if "implemented" not in words:
            return None
        return NOT_DIFFERENTIABLE, f"MLX: {words}"
    return DIFFERENTIABLE, "MLX can differentiate it: no rule is missing"


def leaves(result: Any) -> list[Any]:
    if isinstance(result, (list, tuple)):
        return [y for part in result for y in leaves(part)]
    return [result] if isinstance(result, mx.array) else []


if __name__ == "__main__":
    write(sys.argv[1], functions())
