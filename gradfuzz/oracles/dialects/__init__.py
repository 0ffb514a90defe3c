"""Languages and libraries that a finding is put to as a standalone script. A row of `table.DIALECTS` adds
one.
"""

from __future__ import annotations
