"""Languages and libraries that a finding's question is written in as a standalone script.

    reproducer_input                  what every dialect gets: a question, a point, the truth
    autograd_script                   HIPS autograd, on the calls of its adapter
    nx_script, nx_emit, nx_linalg_source
                                      Nx, as an Elixir script
    swift_script, swift_emit          Swift's `_Differentiation`
    tfjs_script, tfjs_emit            TensorFlow.js, for Node
    braces                            what Swift and JavaScript share
    limits                            what a system cannot be asked, with reasons
    numbers                           the truth as numbers, for languages without mpmath
    adapter_script, adapter_short, adapter_source
                                      the scripts of a target with an adapter in Python

- The script of such a target is cut out of the adapter's own source: the functions of the ops that the
  program uses, and the methods of the way. A way whose loops the kit makes is asked by gradfuzz itself.
- JAX and Torch are dialects, too; their modules `script` lie with their oracles.
"""

from __future__ import annotations
