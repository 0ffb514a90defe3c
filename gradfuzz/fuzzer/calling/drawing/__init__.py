"""Calls of a function.

values        the values of arrays of floats, in styles
learned       what is learned about a function by calling it
dimensions    shapes by the axes that annotations name
structures    lists in lists, tuples with arrays, and records
draw          calls, drawn from what the parameters of a function take
forms         what an array is, as symmetric or sorted: told, kept, and asked for by docstrings
replayed      recorded calls with other floats, whose structures are kept
search        valid calls: draw, try, learn
"""

from __future__ import annotations
