"""Reports for a terminal, while a sweep runs and at its end.

report          the end of a sweep, answers to one program, report cards, proofs, recorded findings, targets
block, sheet    one finding; tables that stay readable when they do not fit
live            what is said while a sweep runs
functions       the catalogue of a library's functions, and what a sweep asked of them
concise         one line for each finding
selftest        the score of a self-test
"""

from __future__ import annotations
