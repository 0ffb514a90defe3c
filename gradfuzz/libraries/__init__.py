"""The libraries of arrays that are called in Python, a file for each.

    library                          what a library says of itself: its arrays, its derivatives, its language
    composed                         libraries whose gradients and slopes are nested, and that are not traced
    detect                           which library a function belongs to: what is said, else its arguments,
                                     else its code
    objects                          modules and others that hold numbers, as pure functions of these
    watching                         functions that tell of their calls
    layouts                          how an argument lies in memory
    jax, torch, autograd, numpy, tensorflow, mlx, paddle

- A library is imported only where a function is one of its own.
- What a script shows is what runs.
"""

from __future__ import annotations
