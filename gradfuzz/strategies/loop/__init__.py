"""Strategies for loop programs, and the situations that they must reach.

    program, body, expression    `loops`, `loop_bodies`, `expressions`
    plan                         what a program consists of, drawn before its details, so that each part
                                 shrinks alone
    writer                       the program of a plan
    patterns                     the tables that expressions are made of
    facts                        what can be read off a program without running it
    goals, coverage              situations in which some system was wrong; how often draws reach them
    statistics                   events: what Hypothesis's statistics and Tyche show of a drawn program
    case                         `cases`: a program, points, the inputs to differentiate, a precision, modes

- A goal names the planted bugs that it triggers. A planted bug of loops is right on every program that
  reaches none of its goals.
"""

from __future__ import annotations
