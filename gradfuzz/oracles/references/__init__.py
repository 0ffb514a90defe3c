"""The two sources of truth: ball arithmetic (`arb`) and finite differences in mpmath.

    arb                           enclosures of values and derivatives by truncated Taylor series of balls
    arb_numbers, arb_functions    their numbers, real and complex; the functions that rows name
    arb_linalg                    linear algebra by the textbook
    balls                         the numbers that any graph gives, and their derivatives, with bounds
    legal                         enclosures of the gradients that legal choices at ties can make
    finite_differences            the reference `mpmath`: central differences in hundreds of bits, with a
                                  measured bound
    mpmath_linalg                 linear algebra by mpmath's own decompositions
    directions                    derivatives of any order from derivatives along straight lines

- They share the program and `directions`, and nothing else. A wrong number needs both.
- Neither decides anything on a branch cut.
- A result that depends on the phases that a complex decomposition leaves free has no truth. `arb` computes it
  twice with different phases, `mpmath` draws them anew for each matrix.
"""

from __future__ import annotations
