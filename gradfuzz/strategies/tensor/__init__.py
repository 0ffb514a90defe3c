"""Strategies for programs of tensor ops.

recipes    what is computed: a row for each op and way of using it
blanks     what stands in the braces of a recipe: axes, places, windows that fit a shape
program    one to three recipes after each other, in loops or not, and points with ties on purpose
goals      what the draws must reach
"""

from __future__ import annotations
