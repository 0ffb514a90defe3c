"""Whose function it is, and how its derivatives are asked for.

    framework                      what a framework of arrays must say of itself
    detect                         which framework a function belongs to: what is said, else its arguments,
                                   else its code
    composed                       frameworks whose gradients and slopes are nested, and that are not traced
    jax, torch, autograd, numpy    a module for each
    tensorflow, mlx, paddle        the same, by way of `composed`

- A framework is imported only where a function is one of its own.
"""

from __future__ import annotations
