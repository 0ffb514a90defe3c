"""Reports for a terminal, while a sweep runs and at its end.

report          findings, the summary of a sweep, answers to one program, report cards, targets
block, sheet    one finding; tables that stay readable when they do not fit
live            what is said while a sweep runs
functions       the catalogue of a library's functions, and what a sweep asked of them
proofs          what is proved of the rules of a function
concise         one line for each finding
listing         the recorded findings, a row for each
selftest        the score of a self-test
"""

from __future__ import annotations
