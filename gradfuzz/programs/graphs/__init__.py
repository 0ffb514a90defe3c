"""The functional form of programs: how it is built, lowered from a program, and turned back into one.

    graph            single assignment; loops and branches as equations on graphs
    builder          builds graphs, one equation at a time
    lower            from statements to a graph
    raising          from a graph without stacks back to statements
    rematerialize    stacks of which a loop keeps a few states, and computes the entries again as they are
                     read

- There is one loop primitive, `graph.Loop`. It reads and writes stacks, or the rows of arrays (`scan`), which
  no iteration copies.
- A loop's `checkpoint` says how its stacks are kept, never what is in them: all entries, or the carries of
  about sqrt(n) iterations, or at most k states. The graph is the same and so are the bits of its results.
- A graph prints as Python statements (`engine.to_source`) and runs in every arithmetic that a program runs
  in.
"""

from __future__ import annotations
