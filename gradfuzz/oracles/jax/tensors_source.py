"""Ops of arrays as JAX's own functions, whose gradients are tested. This module does not import JAX."""

from __future__ import annotations

from collections.abc import Sequence

from gradfuzz.oracles.emit.op_source import Params, Shape, atom, is_linalg, keywords
from gradfuzz.oracles.jax import linalg_source
from gradfuzz.programs.language.windows import padding_of, strides_of

_NAMES = {
    "amax": "jnp.max",
    "amin": "jnp.min",
    "concat": "jnp.concatenate",
    "cumulative_max": "lax.cummax",
    "cumulative_prod": "jnp.cumprod",
    "cumulative_sum": "jnp.cumsum",
    "log_softmax": "jax.nn.log_softmax",
    "logsumexp": "jax.nn.logsumexp",
    "permute_dims": "jnp.transpose",
    "softmax": "jax.nn.softmax",
}
"""Ops without a function of the same name in `jax.numpy`."""


def write(op: str, texts: Sequence[str], shapes: Sequence[Shape], params: Params) -> str:
    """The expression for an op; see `op_source.Write`."""
    rank = len(shapes[0]) if op != "conv" else len(shapes[0]) - 2
    match op:
        case _ if is_linalg(op):
            return linalg_source.write(op, texts, shapes, params)
        case "concat" | "stack":
            texts = [f"[{', '.join(texts)}]"]
        case "window_sum" | "conv":
            stepping = f"{strides_of(params['strides'], rank)}, {padding_of(params['padding'], rank)}"
            if op == "conv":
                return f"lax.conv_general_dilated({', '.join(texts)}, {stepping})"
            return f"lax.reduce_window({texts[0]}, 0.0, lax.add, {params['window']}, {stepping})"
        case "scatter_add":
            x, indices, updates = texts
            before = ":, " * (_axis(params) % rank)
            return f"{atom(x)}.at[{before}{indices}].add({updates})"
        case "cumulative_max":
            return f"lax.cummax({texts[0]}, axis={_axis(params) % rank})"
    return f"{_NAMES.get(op, f'jnp.{op}')}({', '.join([*texts, *keywords(params)])})"


def _axis(params: Params) -> int:
    axis = params["axis"]
    assert isinstance(axis, int), "the type checker lets no other axis through"
    return axis
