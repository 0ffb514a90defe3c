"""What all reproducers share: statements, headings, truth by mpmath, verdicts. No emitter imports a library
of a target.
"""

from __future__ import annotations
