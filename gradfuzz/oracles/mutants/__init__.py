"""Planted bugs: the engine with one rule overridden.

    mutant, registry           what a planted bug is; the list of those with names
    loops, flow, carries       in loops; in nesting, exits, branches and conditions; in what loops keep and
                               hand on
    rules                      in what the rules of all ops of a kind share
    linalg, tensor, complex    in the rules of these ops
    vectorize                  in batching: every instance alone is right
    systematic, mutations      one for each rule, operand and kind of mistake, by name (`vjp.multiply.0.sign`)

- A row names the report that the bug is after.
- `registry` lists the bugs with names. The systematic ones are made when they are asked for.
"""

from __future__ import annotations
