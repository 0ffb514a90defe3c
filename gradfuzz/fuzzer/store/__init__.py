"""What is kept on disk: runs and findings (SQLite), baselines, event streams, and how they are
found again.
"""

from __future__ import annotations
