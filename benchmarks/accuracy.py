"""The engine against the references: its worst error over generated programs, in units of the derived tolerance.

    python benchmarks/accuracy.py --programs 5000 --seed 0

Every program is differentiated at its points to order 1, 2 and 3, each order in every mix of forward and reverse mode in turn. A check
counts where a reference knows the truth and the tolerance says that the point can be judged; the rest is counted by its reason.
"""

from __future__ import annotations
