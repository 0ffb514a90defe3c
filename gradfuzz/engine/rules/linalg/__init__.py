"""Derivative rules of linear algebra: one module for each decomposition, with its rules for both modes.

    cholesky, qr, lu, svd, eigh, eig    decompositions
    solving, det, pinv, norms, powers, products
                                        systems, determinants, pseudo-inverses, norms, powers, products
    gaps                                division by gaps between eigenvalues or singular values
    matrices, table                     what the rules are written with; the form of the tables

The rules have the form of those in `rules.vjp` and `rules.jvp`. `VJP[op]` has a rule for each argument,
(g, ans, *args, **params) -> cotangent; `JVP[op]` one for each argument, (t, ans, *args, **params) -> tangent.
`VJP_SEVERAL[op]` serves an op with several results: (gs, ans, *args, **params) -> one cotangent for each
argument, where `gs` has a cotangent or None and `ans` a value for each result. `FORTH[op]` is how the value
of an op is computed when its derivative is wanted, too: (*args, **params) -> value by a decomposition that
the rules need anyway, or None for the op itself.

All rules are made of ops of the table, so they differentiate again. All take any leading batch axes.
"""

from __future__ import annotations

from gradfuzz.engine.rules.linalg import (
    cholesky,
    det,
    eig,
    eigh,
    gaps,
    lu,
    norms,
    pinv,
    powers,
    products,
    qr,
    solving,
    svd,
)
from gradfuzz.engine.rules.linalg.table import Rule, Rules

VJP: Rules = {
    "trace": products.VJP["trace"],
    "diagonal": products.VJP["diagonal"],
    "tril": products.VJP["tril"],
    "triu": products.VJP["triu"],
    "outer": products.VJP["outer"],
    "kron": products.VJP["kron"],
    "einsum": products.VJP["einsum"],
    "solve": solving.VJP["solve"],
    "triangular_solve": solving.VJP["triangular_solve"],
    "inv": solving.VJP["inv"],
    "det": det.VJP["det"],
    "cofactor": det.VJP["cofactor"],
    "cholesky": cholesky.VJP["cholesky"],
    "eigvals": eig.VJP["eigvals"],
    "eigvalsh": eigh.VJP["eigvalsh"],
    "svdvals": svd.VJP["svdvals"],
    "divide_by_gaps": gaps.VJP["divide_by_gaps"],
    "pinv": pinv.VJP["pinv"],
    "lstsq": pinv.VJP["lstsq"],
    "matrix_norm": norms.VJP["matrix_norm"],
    "vector_norm": norms.VJP["vector_norm"],
    "matrix_power": powers.VJP["matrix_power"],
    "expm": powers.VJP["expm"],
}

VJP_SEVERAL: dict[str, Rule] = {
    "slogdet": det.VJP_SEVERAL["slogdet"],
    "qr": qr.VJP_SEVERAL["qr"],
    "lu": lu.VJP_SEVERAL["lu"],
    "eig": eig.VJP_SEVERAL["eig"],
    "eigh": eigh.VJP_SEVERAL["eigh"],
    "svd": svd.VJP_SEVERAL["svd"],
}

JVP: Rules = {
    "trace": products.JVP["trace"],
    "diagonal": products.JVP["diagonal"],
    "tril": products.JVP["tril"],
    "triu": products.JVP["triu"],
    "outer": products.JVP["outer"],
    "kron": products.JVP["kron"],
    "einsum": products.JVP["einsum"],
    "solve": solving.JVP["solve"],
    "triangular_solve": solving.JVP["triangular_solve"],
    "inv": solving.JVP["inv"],
    "det": det.JVP["det"],
    "cofactor": det.JVP["cofactor"],
    "slogdet": det.JVP["slogdet"],
    "cholesky": cholesky.JVP["cholesky"],
    "qr": qr.JVP["qr"],
    "lu": lu.JVP["lu"],
    "eig": eig.JVP["eig"],
    "eigvals": eig.JVP["eigvals"],
    "eigh": eigh.JVP["eigh"],
    "eigvalsh": eigh.JVP["eigvalsh"],
    "svd": svd.JVP["svd"],
    "svdvals": svd.JVP["svdvals"],
    "divide_by_gaps": gaps.JVP["divide_by_gaps"],
    "pinv": pinv.JVP["pinv"],
    "lstsq": pinv.JVP["lstsq"],
    "matrix_norm": norms.JVP["matrix_norm"],
    "vector_norm": norms.JVP["vector_norm"],
    "matrix_power": powers.JVP["matrix_power"],
    "expm": powers.JVP["expm"],
}

FORTH: dict[str, Rule] = {
    "svdvals": svd.FORTH["svdvals"],
    "eigvals": eig.FORTH["eigvals"],
    "eigvalsh": eigh.FORTH["eigvalsh"],
    "matrix_norm": norms.FORTH["matrix_norm"],
    "lstsq": pinv.FORTH["lstsq"],
}
