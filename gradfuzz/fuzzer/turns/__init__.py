"""The turns of functions in a sweep, in processes of their own.

homes         where a library is: beside gradfuzz, or in the environment of a target
turn          the turn of one function: calls are found, judged, and what is wrong is proved
recheck       asks again about a finding, where its library is
worker        a process that has turns
xla           flags with which JAX compiles sooner, where its XLA knows them
process       such a process from outside; a call may end or block it
set_up        which targets answer no call, so that it is no bug of a library
supervisor    a turn to its end, also where processes die of it
totals        what the turns found out, added up
replay        asks again about a finding, in a process of its own where that is needed
"""

from __future__ import annotations
