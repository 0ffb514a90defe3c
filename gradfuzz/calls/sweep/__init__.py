"""The sweep of a library's functions.

targets     whose functions can be called
turn        the turn of one function: calls are found, judged, and what is wrong is proved
workers     the processes that have the turns; a call may end or block them
totals      what the turns found out, added up
replay      asks again about a finding
run         the sweep: its turns in order, its events
card        the report card: a few calls of each function
"""

from __future__ import annotations
