"""The commands that run a sweep.

sweep      `gradfuzz sweep`
merge      `gradfuzz merge`
running    what both do: the store, the live display, the reports, the exit code
"""

from __future__ import annotations
