"""What people call: `grad`, `jvp`, `vmap`, loops, and `derivative` of any order in any mix of modes."""

from __future__ import annotations
