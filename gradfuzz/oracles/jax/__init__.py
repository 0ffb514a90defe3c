"""JAX as a target: its ways, derivatives and scripts. `ways` and what it needs import JAX; emitters
do not.
"""

from __future__ import annotations
