"""Linear-algebra ops in torch. This module does not import torch.

Every op is torch's own function, because its gradient is tested. Only what torch lacks is composed:
`symmetric`, as torch reads one triangle where the program language means (x + x^H) / 2; a Kronecker product
of stacks; batch axes that broadcast, in `lstsq`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gradfuzz.oracles.emit.op_source import Params, Shape, order_text

_OTHER_NAME = {"expm": "torch.linalg.matrix_exp", "outer": "torch.outer"}
"""Ops that are a single function of torch with another name than in `torch.linalg`."""


def write(op: str, texts: Sequence[str], shapes: Sequence[Shape], params: Params) -> str:
    """The expression for an op; see `op_source.Write`."""
    x, shape = texts[0], shapes[0]
    match op:
        case "cholesky" | "eigh" | "eigvalsh":
            return f"torch.linalg.{op}(symmetric({x}){', upper=True' if params.get('upper') else ''})"
        case "qr":
            option = ', mode="complete"' if params["mode"] == "complete" else ""
            return f"torch.linalg.qr({x}{option})"
        case "svd":
            return f"torch.linalg.svd({x}, full_matrices={params['full_matrices']})"
        case "solve":
            return _solve(texts, shapes)
        case "triangular_solve":
            return _triangular_solve(texts, params)
        case "lstsq":
            return _lstsq(texts, shapes)
        case "matrix_norm" | "vector_norm":
            axis = "" if params.get("axis") is None else f", dim={params['axis']}"
            order = order_text(params["ord"], 'float("inf")')
            return f"torch.linalg.{op}({x}, {order}{axis}{keepdim(params)})"
        case "matrix_power":
            return f"torch.linalg.matrix_power({x}, {params['n']})"
        case "kron":
            function = "torch.kron" if len(shape) == len(shapes[1]) == 2 else "kron_of_stacks"
            return f"{function}({', '.join(texts)})"
        case "einsum":
            return f'torch.einsum("{params["subscripts"]}", {", ".join(texts)})'
        case "trace" if len(shape) == 2 and not params["offset"]:
            return f"torch.trace({x})"
        case "trace":
            return f"torch.diagonal({x}, {params['offset']}, -2, -1).sum(-1)"
        case "diagonal":
            return f"torch.diagonal({x}, {params['offset']}, -2, -1)"
        case "tril" | "triu":
            return f"torch.{op}({x}{f', {k}' if (k := params['k']) else ''})"
    return f"{_OTHER_NAME.get(op, f'torch.linalg.{op}')}({', '.join(texts)})"


def keepdim(params: Params) -> str:
    """The option of a reduction that keeps the axes it reduces."""
    return ", keepdim=True" if params["keepdims"] else ""


def _expanded(text: str, shape: Shape, wanted: Shape) -> str:
    return text if shape == wanted else f"torch.broadcast_to({text}, {wanted})"


def _solve(texts: Sequence[str], shapes: Sequence[Shape]) -> str:
    """Torch may take a right side for a stack of vectors; here only a right side of one axis is a vector."""
    (a, b), (rows, right) = texts, shapes
    if len(right) > 1 and right == rows[:-1]:
        b = _expanded(b, right, (*rows[:-2], *right[-2:]))
    return f"torch.linalg.solve({a}, {b})"


def _triangular_solve(texts: Sequence[str], params: Params) -> str:
    a, b = texts
    upper = bool(params["transposed"]) == bool(params["lower"])
    options = "" if params["left"] else ", left=False"
    options += ", unitriangular=True" if params["unit_diagonal"] else ""
    matrix = f"torch.transpose({a}, -2, -1)" if params["transposed"] else a
    return f"torch.linalg.solve_triangular({matrix}, {b}, upper={upper}{options})"


def _lstsq(texts: Sequence[str], shapes: Sequence[Shape]) -> str:
    """Spelled out because torch broadcasts no batch axes here."""
    (a, b), (rows, right) = texts, shapes
    if len(right) == 1 and len(rows) > 2:
        column = _expanded(f"torch.unsqueeze({b}, -1)", (*right, 1), (*rows[:-1], 1))
        return f"torch.linalg.lstsq({a}, {column}).solution.squeeze(-1)"
    if len(right) > 1:
        batch = np.broadcast_shapes(rows[:-2], right[:-2])
        a, b = _expanded(a, rows, (*batch, *rows[-2:])), _expanded(b, right, (*batch, *right[-2:]))
    return f"torch.linalg.lstsq({a}, {b}).solution"
