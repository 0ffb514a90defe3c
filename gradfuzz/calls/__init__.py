"""Whole libraries: the functions of a library are called, and their derivatives judged.

library     the interface of a library whose functions are called; `libraries` has one module for each
numbers     numbers of arrays as text
values      the values of arrays of floats, in styles
learned     what is learned about a function by calling it
drawing     calls of a function, drawn
asking      a call as a function of its differentiated arrays, with what stands around it
"""

from __future__ import annotations
