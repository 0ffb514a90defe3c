"""How large an error is allowed: derived from rounding each primitive of the derivative program.

    allowed         the allowed error of each entry, and of the value
    perturbed       arithmetic in which every result loses what rounding may take, in lanes
    perturbed_linalg, perturbed_tensors, perturbed_complex
                    the same for these ops
    beyond_range    the same where intermediates leave the range of the dtype
    lanes           what these share: values with lanes
    differences     the slope of a function in machine floats, and its bound
    alternatives    other ways to write the same derivative, which libraries have

- The allowed error is eight times what rounding every primitive result does to the engine's derivative
  program, plus the truth's own bound. No tolerance is fixed.
- What an alternative way loses by rounding is granted, too.
"""

from __future__ import annotations
