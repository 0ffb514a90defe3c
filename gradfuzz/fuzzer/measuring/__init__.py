"""Functions asked and judged: by the program that was traced, or by their own differences.

    measure, measured       how a derivative is measured; what came of it, as data
    subject                 a function of nested arguments as one of real arrays
    oracle                  the function answers questions about its program
    accuracy                how exact an approximation is, as it is said or measured
    attached                exact references that are given with a function
    setting, own_rule       the library's derivative as a graph; what it says where numbers do not decide
    numeric                 the truth of a function that cannot be traced, measured on the function itself

- A function's derivative is judged as a target's is (`fuzzer.verdict.checking`), on the traced program. The
  program is believed where it computes what the function computes, at the arguments and around them.
- Where JAX or Torch is asked and numbers do not agree plainly, the library's own rule decides, without
  rounding: wrong, right, right with lost digits, or NaN where there is a number.
- Before an answer is called wrong otherwise there are two more questions. Does the answer stray as far when
  the last bits of its inputs change? Do the function's own differences contradict the program? Where they
  do, only they count.
- Differences also speak where the program is undefined and the function is not, as on the unused side of a
  `where`. Their bound is measured. Where a convention of the library decides what the gradient is, no number
  is called wrong; a value that the function itself hides from differentiation is no excuse. Where it is
  allowed to be hidden, it is a constant in the truth.
"""

from __future__ import annotations
