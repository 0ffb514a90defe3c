"""Ops of linear algebra with their parameters and arguments, real and complex ones."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

BATCHES: tuple[tuple[int, ...], ...] = ((), (1,), (2,), (2, 3), (0,))
# An op, its parameters, and its arguments: the shape of the matrix, with a letter in front. "s" square and
# far from singular, "p" positive definite, "m" any, "v" a vector, "u" one without batch axes.
Case = tuple[str, dict[str, Any], tuple[str, ...]]

CASES: list[Case] = [
    *[("trace", {"offset": k}, ("m3,4",)) for k in (0, 1, -1)],
    *[("diagonal", {"offset": k}, ("m4,3",)) for k in (0, 2, -1)],
    *[(op, {"k": k}, ("m3,4",)) for op in ("tril", "triu") for k in (0, -1)],
    ("outer", {}, ("u3", "u2")),
    ("kron", {}, ("m2,3", "m3,2")),
    ("kron", {}, ("u2,1", "m2,2")),
    *[
        ("einsum", {"subscripts": s}, x)
        for s, x in {"ii->i": ("u3,3",), "ii->": ("u3,3",), "ij,jk->ik": ("u3,2", "u2,4")}.items()
    ],
    ("einsum", {"subscripts": "bij,bjk->bik"}, ("u2,3,2", "u2,2,4")),
    ("einsum", {"subscripts": "iaii,aj->ij"}, ("u2,3,2,2", "u3,2")),
    ("einsum", {"subscripts": "ij,k->j"}, ("u3,2", "u2")),
    ("solve", {}, ("s3,3", "m3,2")),
    ("solve", {}, ("s3,3", "u3,2")),
    ("solve", {}, ("u3,3", "m3,2")),
    ("solve", {}, ("s3,3", "u3")),
    *[
        (
            "triangular_solve",
            {"lower": low, "transposed": t, "unit_diagonal": unit, "left": left},
            ("s3,3", "m3,2" if left else "m2,3"),
        )
        for low, t, unit, left in itertools.product((True, False), repeat=4)
    ],
    ("triangular_solve", {}, ("s3,3", "u3,2")),
    ("inv", {}, ("s3,3",)),
    *[("det", {}, (f"s{n},{n}",)) for n in (1, 2, 3, 4)],
    ("slogdet", {"part": 1}, ("s3,3",)),
    *[("cholesky", {"upper": u}, ("p3,3",)) for u in (False, True)],
    *[
        ("qr", {"part": k, "mode": "reduced"}, (x,))
        for k in (0, 1)
        for x in ("m3,3", "m4,2", "m2,4", "m1,3", "m3,1")
    ],
    *[("qr", {"part": k, "mode": "complete"}, (x,)) for k in (0, 1) for x in ("m3,3", "m3,2", "m2,3")],
    ("qr", {"part": 1, "mode": "complete"}, ("m4,2",)),
    *[("lu", {"part": k}, (x,)) for k in (1, 2) for x in ("m3,3", "m4,2", "m2,4")],
    *[
        ("svd", {"part": k, "full_matrices": False}, (x,))
        for k in (0, 1, 2)
        for x in ("m3,3", "m4,2", "m2,4")
    ],
    *[("svd", {"part": k, "full_matrices": True}, (x,)) for k in (0, 1, 2) for x in ("m3,2", "m2,3")],
    *[("svd", {"part": 1, "full_matrices": True}, ("m4,2",))],
    *[("svdvals", {}, (x,)) for x in ("m3,3", "m2,4")],
    *[("eigh", {"part": k}, ("m3,3",)) for k in (0, 1)],
    ("eigvalsh", {}, ("m4,4",)),
    *[("pinv", {}, (x,)) for x in ("s3,3", "m4,2", "m2,4")],
    *[("lstsq", {}, x) for x in (("s3,3", "m3,2"), ("m4,2", "m4,2"), ("m2,4", "u2,1"), ("m4,2", "u4"))],
    *[("matrix_norm", {"ord": o}, ("m3,2",)) for o in ("fro", "nuc", 1, -1, 2, -2, "inf", "-inf")],
    ("matrix_norm", {"ord": "fro", "keepdims": True}, ("m3,2",)),
    *[("vector_norm", {"ord": o, "axis": -1}, ("m3,2",)) for o in (0, 1, 2, 3, 4, -1, -2, "inf", "-inf")],
    ("vector_norm", {"ord": 3, "axis": None, "keepdims": True}, ("m3,2",)),
    *[("matrix_power", {"n": n}, ("s3,3",)) for n in (0, 1, 2, 3, 6, -1, -3)],
    ("expm", {}, ("m3,3",)),
]

INTERNAL: list[Case] = [
    ("cofactor", {}, ("s3,3",)),
    ("cofactor", {}, ("s3,3", "m3,3")),
    ("cofactor", {}, ("s4,4", "m4,4", "m4,4")),
    ("divide_by_gaps", {"hollow": False}, ("m3,2", "m3", "m2")),
    ("divide_by_gaps", {"hollow": True}, ("m3,3", "m3", "m3")),
]


COMPLEX: list[Case] = [
    *CASES,
    *INTERNAL,
    ("solve", {}, ("u3,3", "u3")),
    ("det", {}, ("s0,0",)),
    ("slogdet", {"part": 0}, ("s3,3",)),
    *[("eig", {"part": k}, (x,)) for k in (0, 1) for x in ("m3,3", "m1,1", "m0,0")],
    *[("eigvals", {}, (x,)) for x in ("m4,4", "m0,0")],
    ("cofactor", {}, ("s4,4", "m4,4")),
]
"""Those of complex matrices: with complex results, too."""


def draw(kind: str, batch: tuple[int, ...], rng: np.random.Generator, *, of_complex: bool = False) -> Any:
    """Numbers, or their parts, from 1/4 to 3/2 in size, of either sign; real ones are those of float32."""
    shape = tuple(int(n) for n in kind[1:].split(","))
    full = (*((2,) if of_complex else ()), *(() if kind[0] == "u" else batch), *shape)
    parts = rng.uniform(0.25, 1.5, full) * rng.choice([-1, 1], full)
    x = parts[0] + 1j * parts[1] if of_complex else parts.astype(np.float32).astype(np.float64)
    if kind[0] == "p":
        x = x @ np.swapaxes(x, -1, -2).conj()
    square = len(shape) == 2 and shape[0] == shape[1]
    return x + np.diag(np.arange(shape[-1]) / 2 + 3) if square and kind[0] != "m" else x


def named(cases: list[Case]) -> list[Any]:
    return [pytest.param(c, k, id=f"{c[0]}-{k}") for k, c in enumerate(cases)]


def of_instances(cases: list[Case]) -> list[Any]:
    """Those whose arguments all have the batch axes, and whose axes do not."""
    return named([c for c in cases if all(k[0] != "u" for k in c[2]) and c[1].get("axis", 0) is not None])
