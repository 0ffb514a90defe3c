"""Strategies for programs with complex numbers inside.

    recipes    what is computed: a row for each op and way of using it
    program    a recipe with float parameters and float results
    goals      what the draws must reach

- No phase and no order of eigenvalues touches the result of a recipe: a decomposition leaves both free.
"""

from __future__ import annotations
