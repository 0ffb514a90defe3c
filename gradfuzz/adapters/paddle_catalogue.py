"""The functions that Paddle offers: `python paddle_catalogue.py FILE`.

They are what can be called in the namespaces below. Paddle says what it differentiates of a function that it
follows: it is called with small arrays, and its results say whether they have a gradient. A function that
takes none of the arguments counts as differentiable by its signature, unless a person wrote a reason against
it.
"""

from __future__ import annotations

import functools
import sys
import warnings
from collections.abc import Sequence
from typing import Any

import paddle
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

REASONS = {
    "writes into its argument": "*_",
    "a setting or a tool of Paddle, not a function of arrays": (
        "*.batch *.check_shape *.set_* *.get_* *.is_* *.in_dynamic_mode *.*able_* *.seed *.summary *.flops"
        " *.no_grad *.grad *.iinfo *.finfo *.Model *.utils *.disable_* *.enable_* *.tolist *.numpy *.item"
        " *.dim *.ndimension *.numel *.element_size *.data_ptr *.gradient *.clear_grad* *.register_*"
        " *.to_sparse* *.pin_memory *.contiguous *.cuda *.cpu *.to *.gradient *.backward *.apply *.value"
        " *.create_* *.broadcast_shape *.rank *.shape *.nbytes *.monkey_patch* *.ipu *.xpu *.device_*"
        " *.retain_grads *.uva* *.layout* *.data *.dtype *.sharding* *.process_mesh *.placements *.rows"
        " *.strides *.new_init *.original_init *.from_numpy *.dense_dim *.sparse_dim *.stride"
        " *.storage_offset *.offset *.type *.signature *.wait *.cuda_empty_cache"
    ),
    "writes, loads, connects or prints": "*.save *.load *.hub* *.print* *.to_dlpack *.from_dlpack *.onnx*",
    "takes functions, not arrays": "*.jit* *.map_* *.apply*",
    "hides its argument from differentiation": "*.detach",
    "makes an array from sizes alone": (
        "*.zeros *.ones *.full *.eye *.arange *.range *.linspace *.logspace *.empty *.tri*_indices *.rand*"
        " *.normal *.standard_* *.uniform *.gaussian *.fftfreq *.rfftfreq *.*_window *.vander *.empty_like"
    ),
    "for sparse, quantized or distributed arrays": (
        "*.sparse_attention *.*int8* *.quant* *.dequant* *.*fp8* *.*distributed* *.to_dense *.coalesce"
        " *.values *.indices *.crows *.cols *.nnz *.class_center_sample *.margin_cross_entropy"
    ),
    "needs a GPU": "*.flash* *.*flashmask* *.calc_reduced_attn_scores *.*variable_length_memory*",
}
"""Reason that a person wrote -> patterns of public names."""


def namespaces() -> dict[str, Any]:
    return {
        "paddle": paddle,
        "paddle.linalg": paddle.linalg,
        "paddle.fft": paddle.fft,
        "paddle.signal": paddle.signal,
        "paddle.nn.functional": paddle.nn.functional,
        "paddle.Tensor": paddle.Tensor,
    }


def functions() -> list[Function]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return read_rows((one for one in public(namespaces()) if is_own(one.value)), row)


def is_own(value: Any) -> bool:
    """Whether it is Paddle's own, not something that one of its modules imported."""
    return str(getattr(value, "__module__", None) or "paddle").startswith("paddle")


def row(thing: Public) -> Function:
    name = thing.names[0].rpartition(".")[2]
    if isinstance(thing.value, type):
        return Function(thing.names, name, LEFT_OUT, A_CLASS)
    taken = tuple(one for one in parameters(thing.value) if one.name not in ("name", "out"))
    told = outcome_of(thing, taken)
    taken = taken if told[0] == DIFFERENTIABLE else ()
    return Function(thing.names, signature(name, thing.value), *told, taken)


def outcome_of(thing: Public, taken: tuple[Parameter, ...]) -> tuple[str, str]:
    reason = written(REASONS, thing.names)
    if reason:
        return LEFT_OUT, reason
    if not any({ARRAY, ARRAYS} & set(one.kinds) for one in taken):
        return LEFT_OUT, "takes no array"
    return outcome(taken, functools.partial(followed, thing.value))


def followed(
    value: Any, required: Sequence[Parameter], dtype: str, shape: tuple[int, ...]
) -> tuple[str, str] | None:
    """What Paddle says of a function that it calls with ones."""
    given, inputs = arguments(required, lambda: ones(shape, dtype))
    out = leaves(value(**given))
    if not inputs or not out:
        return None
    smooth = [y for y in out if paddle.is_floating_point(y) or paddle.is_complex(y)]
    if not smooth:
        return returned([str(y.dtype).rpartition(".")[2].lower() for y in out])
    if all(y.stop_gradient for y in smooth):
        return NOT_DIFFERENTIABLE, "Paddle follows it, and its results have no gradient"
    return DIFFERENTIABLE, "Paddle follows it, and its results have a gradient"


def ones(shape: tuple[int, ...], dtype: str) -> Any:
    array = paddle.ones(shape, dtype)
    array.stop_gradient = dtype in OTHERS
    return array


def leaves(result: Any) -> list[Any]:
    if isinstance(result, (list, tuple)):
        return [y for part in result for y in leaves(part)]
    return [result] if isinstance(result, paddle.Tensor) else []


if __name__ == "__main__":
    paddle.set_device("cpu")
    write(sys.argv[1], functions())
