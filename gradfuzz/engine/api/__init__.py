"""What people call: `grad`, `vjp`, `vmap`, loops; and `derivative`, of any order in any mix of modes.

    differentiate      `grad`, `value_and_grad`, `vjp`, `jvp`, `jacobian`, `hessian`, `trace`
    loops              `while_loop`, `repeat_while`, `fori_loop`, `scan`, `cond` for functions that are traced
    derivative         from a program to the graph of its derivative; `Rules` is what a mutant replaces
    tracing            a Python function, run once on values that record
    vectorize, vmap    named batch axes; a function of one instance as one of a batch
    check              a check that vectorized does what stacked does

- A function sees a vectorized value whole; every op sees one instance at a time.
- What is differentiated is aligned with the axes of the other arguments, and of what the function closes
  over, before the trace. So a gradient sums over no foreign axis.
"""

from __future__ import annotations
