"""A function of JAX, Torch or NumPy as a program of gradfuzz. What cannot be said raises
`UntraceableError`.
"""

from __future__ import annotations
