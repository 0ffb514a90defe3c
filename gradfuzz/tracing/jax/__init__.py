"""Programs from jaxprs.

trace                            `trace(f, ...)`: the walk through a jaxpr
walker                           whoever walks, as the rules of loops and devices see it
cell                             what a variable of a jaxpr is meanwhile: a recording value or a constant
ops, arrays, indexing, linalg    JAX's primitives as ops
windows                          reductions of windows, and those by a function
flow                             loops, branches, linear solves by functions
decisions                        what Python asks for to decide by, and the answers
devices                          functions of several devices, and what these tell each other
held                             a function in which what it stops is a constant
units                            the equations of a jaxpr, one by one
source                           which function a piece comes from
"""

from __future__ import annotations
