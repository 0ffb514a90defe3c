"""What the operands of a scan are: constants first, then carries, then what is read row by row."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def constants_and_carries(params: Mapping[str, Any]) -> tuple[int, int]:
    """From the parameters of an equation: JAX 0.12 has trees of the three in the place of two counts."""
    if "ft_in" not in params:
        return params["num_consts"], params["num_carry"]
    constants, carries, _ = params["ft_in"].unpack()
    return len(list(constants.vals)), len(list(carries.vals))
