"""Torch as a target: its ways, its derivatives, its scripts.

    ways                       `ways()`, and `script()` for the reproducer of a finding
    unrolled, namespace        programs whose loops Python runs
    structured, loops          programs with Torch's `while_loop`, `scan` and `cond`, from the functional
                               form; torch.compile, by three backends
    rule                       what torch.autograd would run, in exact numbers
    vmap                       all points of a question in one call
    derivatives                the ways into Torch's derivatives
    lacks                      what Torch lacks of programs, with sources
    tensors_source, linalg_source, linalg
                               ops of arrays and linear algebra, by the text that a script shows
    catalogue, left_out        all functions that Torch lists, and why some are left out
    emit, script               programs as source; the reproducer, and the same question as a dialect
    short                      a reproducer of a few lines

- Torch is imported when the ways are asked for. A construct that the installed version lacks is left out.
  `emit`, `script` and the modules of source do not import it.
- Ops are out of place, so that torch.autograd and torch.func both see them.
"""

from __future__ import annotations
