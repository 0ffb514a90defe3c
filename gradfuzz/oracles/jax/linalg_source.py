"""Linear-algebra ops in JAX. This module does not import JAX.

Every op is JAX's own function, because its gradient is tested; where that function takes no batch axes
(`kron`, `lstsq`, `lu`), `jnp.vectorize` maps it. `eig` asks for the derivatives of eigenvectors, which JAX
gives only on request. `cholesky`, `eigh` and `eigvalsh` symmetrize by default.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gradfuzz.oracles.emit.op_source import Params, Shape, keywords, order_text

_OTHER_NAME = {"expm": "jax.scipy.linalg.expm", "outer": "jnp.outer"}
"""Ops that are a single function of JAX outside `jnp.linalg`."""


def write(op: str, texts: Sequence[str], shapes: Sequence[Shape], params: Params) -> str:
    """The expression for an op; see `op_source.Write`."""
    x, operands = texts[0], ", ".join(texts)
    plain = all(len(s) <= 2 for s in shapes)
    match op:
        case "cholesky" if params["upper"]:
            return f"jnp.linalg.cholesky({x}, upper=True)"
        case "qr" if params["mode"] != "reduced":
            return f'jnp.linalg.qr({x}, mode="{params["mode"]}")'
        case "svd":
            return f"jnp.linalg.svd({x}, full_matrices={params['full_matrices']})"
        case "eig":
            return f"lax.linalg.eig({x}, compute_left_eigenvectors=False, enable_eigvec_derivs=True)"
        case "lu" if plain:
            return f"jax.scipy.linalg.lu({x})"
        case "lu":
            return f'jnp.vectorize(jax.scipy.linalg.lu, signature="(m,n)->(m,m),(m,k),(k,n)")({x})'
        case "kron" if plain:
            return f"jnp.kron({operands})"
        case "kron":
            return f'jnp.vectorize(jnp.kron, signature="(m,n),(p,q)->(r,s)")({operands})'
        case "lstsq" if plain:
            return f"jnp.linalg.lstsq({operands})[0]"
        case "lstsq":
            signature = "(m,n),(m)->(n)" if len(shapes[1]) == 1 else "(m,n),(m,k)->(n,k)"
            solution = "lambda a, b: jnp.linalg.lstsq(a, b)[0]"
            return f'jnp.vectorize({solution}, signature="{signature}")({operands})'
        case "triangular_solve":
            return _triangular_solve(texts, shapes, params)
        case "matrix_norm" | "vector_norm":
            order = f"ord={order_text(params['ord'], 'jnp.inf')}"
            others = keywords({**params, "ord": None})
            return f"jnp.linalg.{op}({', '.join([x, order, *others])})"
        case "matrix_power":
            return f"jnp.linalg.matrix_power({x}, {params['n']})"
        case "einsum":
            return f'jnp.einsum("{params["subscripts"]}", {operands})'
        case "trace" | "diagonal":
            return f"jnp.{op}({x}, {params['offset']}, -2, -1)"
        case "tril" | "triu":
            return f"jnp.{op}({x}{f', {k}' if (k := params['k']) else ''})"
    return f"{_OTHER_NAME.get(op, f'jnp.linalg.{op}')}({operands})"


def _triangular_solve(texts: Sequence[str], shapes: Sequence[Shape], params: Params) -> str:
    """The one of JAX's two functions that also solves from the right. It does not broadcast batch axes."""
    batch = np.broadcast_shapes(*(s[:-2] for s in shapes))
    wanted = [(t, s, (*batch, *s[-2:])) for t, s in zip(texts, shapes, strict=True)]
    a, b = (t if s == w else f"jnp.broadcast_to({t}, {w})" for t, s, w in wanted)
    options = f"left_side={params['left']}, lower={params['lower']}"
    options += ", transpose_a=True" if params["transposed"] else ""
    options += ", unit_diagonal=True" if params["unit_diagonal"] else ""
    return f"lax.linalg.triangular_solve({a}, {b}, {options})"
