"""The verdicts on a call.

accepted       the answers that are accepted at a call, as spans of numbers
excluded       calls that the documents of their functions exclude
limits         limits that the rules of autograd state
written        places that are written twice
phases         eigenvectors and singular vectors that have a phase
predicted      what is accepted, row by row
conventions    the table of conventions
judge          every derivative of first and second order
"""

from __future__ import annotations
