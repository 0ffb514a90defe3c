"""The form of the rule tables; see the package's docstring."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Rule = Callable[..., Any]

Rules = dict[str, tuple[Rule, ...] | Rule]
"""By op: one rule per argument, or one for all that takes the argument's number first."""
