"""From a disagreement to a finding: proved, shrunk, diagnosed, with evidence and a script."""

from __future__ import annotations
