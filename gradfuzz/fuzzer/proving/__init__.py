"""The derivative rules of a library, evaluated in balls: proofs, and no tolerance.

proof        what follows from both
prove        one derivative at one point, and which step of the function is wrong
causes       which number of a wrong rule makes it wrong
gradient     all derivatives of a function: `prove_gradient`
listing      a proof as reports show it, with the rule as Python
"""

from __future__ import annotations
