"""Reverse and forward mode on graphs: equations, loops, branches. What is not needed is pruned.

    reverse    a graph, then its nodes again from last to first, with cotangents
    forward    a graph with tangents beside its values
    inline     what both share: a rule applied, nodes copied from one graph into another
    prune      removes equations, branches, carries and stacks that no output needs

- The reverse of a loop is a loop. The way forward saves each carry on a stack, the way back reads the stacks
  and computes the body again. Branches are computed again, too. So the size of a derivative is proportional
  to that of the program, at every order.
- With `checkpoint="sqrt"` forward over reverse costs little. Reverse over reverse computes again what
  computes again: five times the time at order two. An int holds for the program's own loops.
- A mutant overrides a method of `ReverseMode` or `ForwardMode`.
"""

from __future__ import annotations
