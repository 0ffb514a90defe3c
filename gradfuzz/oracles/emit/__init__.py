"""What all standalone scripts of findings share. No emitter imports a library of a target.

    statements, graph, host          programs and graphs as source of another library; dialects with
                                     functional loops, and with Python's own scalars
    several                          ops with several results: computed once, where the first is wanted
    op_source, elementwise_source    how an op is written in a library: the namespace runs the text that a
                                     script shows
    plain_source                     functions of ours as text
    script, script_gradient, script_verdict
                                     the parts of a script; how JAX and Torch are asked; the end, which
                                     compares and exits
    short, short_forms               reproducers of a few lines; how each library is asked in them
    script_linalg, script_tensors    the truth in mpmath, for the script to compute

- A script computes the truth itself, with mpmath. It exits with 1 while the answer is wrong, and with 0 once
  it is right.
- Most ops of arrays are written as text once for each library. What runs and what is shown cannot differ.
"""

from __future__ import annotations
