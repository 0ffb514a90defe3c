"""What is asked of a target: questions about drawn programs, and questions with one thing changed.

weighted                 from a drawn case to a question
request                  from what a person writes to a question
candidate                a program at one point with all that a question fixes: what is shrunk and shown
rewrite, axes            programs with one thing changed; programs with an axis less
loop_forms               a program's loop in the other forms
target_programs          programs drawn from what a target says it can do
suites                   the canonical loop cases of a report card
grids, vectorize_grid    op by situation; the same in vectorized calls
abilities                what an oracle can be asked, without running anything
tested                   what the programs of a sweep had in them
"""

from __future__ import annotations
