"""The sweep of a library's functions.

targets      whose functions can be called
homes        where a library is: beside gradfuzz, or in the environment of a target
turn         the turn of one function: calls are found, judged, and what is wrong is proved
again        asks again about a finding, where its library is
worker       a process that has turns
xla          flags with which JAX compiles sooner, where its XLA knows them
process      such a process from outside; a call may end or block it
set_up       which targets answer no call, so that it is no bug of a library
supervise    a turn to its end, also where processes die of it
totals       what the turns found out, added up
replay       asks again about a finding, in a process of its own where that is needed
functions    the plan of a sweep of functions: turns in order
run          the sweep of functions, of programs, or of both
card         the report card: a few calls of each function
"""

from __future__ import annotations
