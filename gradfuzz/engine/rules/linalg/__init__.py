"""Derivative rules of linear algebra: one module for each decomposition, with its rules for both modes.

    cholesky, qr, lu, svd, eigh, eig    decompositions
    solving, det, pinv, norms, powers, products
                                        systems, determinants, pseudo-inverses, norms, powers, products
    gaps                                division by gaps between eigenvalues or singular values
    matrices                            what the rules are written with; the form of the tables

The rules have the form of those in `rules.vjp` and `rules.jvp`. `VJP[op]` has a rule for each argument,
(g, ans, *args, **params) -> cotangent; `JVP[op]` one for each argument, (t, ans, *args, **params) -> tangent.
`VJP_SEVERAL[op]` serves an op with several results: (gs, ans, *args, **params) -> one cotangent for each
argument, where `gs` has a cotangent or None and `ans` a value for each result. `FORTH[op]` is how the value
of an op is computed when its derivative is wanted, too: (*args, **params) -> value by a decomposition that
the rules need anyway, or None for the op itself.

All rules are made of ops of the table, so they differentiate again. All take any leading batch axes.
"""

from __future__ import annotations

from typing import Any

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
from gradfuzz.engine.rules.linalg.matrices import Rule, Rules

_MODULES = (products, solving, det, cholesky, qr, lu, eig, eigh, svd, gaps, pinv, norms, powers)


def _joined(table: str) -> dict[str, Any]:
    """The tables of one name of all modules, as one."""
    return {op: rule for module in _MODULES for op, rule in getattr(module, table, {}).items()}


VJP: Rules = _joined("VJP")
VJP_SEVERAL: dict[str, Rule] = _joined("VJP_SEVERAL")
JVP: Rules = _joined("JVP")
FORTH: dict[str, Rule] = _joined("FORTH")
