"""Strategies for programs of linear algebra, on one matrix and on stacks of any batch shape.

    recipes    what is computed: a row for each op and way of using it
    program    a recipe, a shape, what is done before and after, and points of the structure it wants
    goals      what the draws must reach

- A recipe says what its outputs are, the structure that its points need, and hostile structures that it can
  bear. Its outputs do not depend on the signs of a decomposition.
- The other objective is the plain sum of all results, with signs aligned. One that is constant is not drawn.
- Functions of a matrix by its decomposition, V f(w) V^T, are drawn with values apart, if by little. Where
  values repeat, the product has a derivative and its factors have none: a system that differentiates through
  the factors must return NaN or noise, so its answer would be inconclusive.
"""

from __future__ import annotations
