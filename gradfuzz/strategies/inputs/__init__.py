"""Strategies for inputs: arrays, matrices, points of a program, cotangents.

    array                     ordinary entries, and those where derivatives go wrong: zeros, ties, extremes
    matrix, complex_matrix    matrices with a structure, a spectrum and a condition number
    wants                     what a program asks of its inputs: domains, structures, sizes of ints
    point                     `points(program)`, for programs of every family
    cotangent                 the weights of a program's outputs

- All entries are exact in the dtype in which they are asked.
- `points` reads what it needs off the program, so it needs no word from the strategy that drew it.
"""

from __future__ import annotations
