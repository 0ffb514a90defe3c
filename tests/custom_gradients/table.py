"""Forty custom gradients: twenty right ones, some of them hard to judge, and twenty wrong by small typical
mistakes.
"""

from __future__ import annotations

from tests.custom_gradients import jax_rows, numpy_rows, torch_rows
from tests.custom_gradients.row import Row

ROWS: list[Row] = [
    *jax_rows.TABLE.rows,
    *torch_rows.TABLE.rows,
    *numpy_rows.NUMPY.rows,
    *numpy_rows.AUTOGRAD.rows,
]
