"""Reports for machines: JSON, JUnit, SARIF, and events as JSON lines."""

from __future__ import annotations
