"""JAX as a target: its ways, its derivatives, its scripts.

    ways                        `ways()`, and `script()` for the reproducer of a finding
    structured, loops           programs with JAX's own loops, from the functional form
    lowered                     programs as functions of JAX; what several ways trace alike, traced once
    rule                        what the loop constructs would run, in exact numbers
    unrolled, namespace         programs whose loops Python runs
    vmap                        all points of a question in one call
    derivatives, answers        the ways into JAX's derivatives; questions as arrays, and what comes back
    lacks                       what JAX lacks of programs, with sources
    compile, evaluate, exact    compiling what runs once; running a traced function step by step
    trips                       trip counts that are known before a program runs
    tensors_source, linalg_source
                                ops of arrays and linear algebra, by the text that a script shows
    catalogue, left_out         all functions that JAX lists, and why some are left out
    emit, script                expressions as source; the reproducer, and the same question as a dialect
    short                       a reproducer of a few lines

- JAX is imported when the ways are asked for. From then on the process has 64-bit floats and ints. `emit`,
  `script` and the modules of source do not import it.
- The source of `derivatives` is what reproducers show.
"""

from __future__ import annotations
