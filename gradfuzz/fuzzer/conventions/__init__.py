"""What is right where no derivative decides: the conventions of programs and of calls, in one table.

    convention           a row, its examples, and whether it excuses an answer
    accepted             the answers that a row accepts: a span for each entry
    situation            what a row looks at: an answer about a program at a point, or about a call
    table                the rows
    predicted            what is accepted, row by row
    written, phases      places that are written twice; vectors that have a phase
    excluded, limits     calls that documents exclude; limits that the rules of autograd state
    ties                 which rows a program meets: its exact ties, found by running it

A program meets a row where an op of it does, so it is run, and computed numbers are equal up to their
rounding. A call shows what it meets in its arguments, which are exact.
"""

from __future__ import annotations
