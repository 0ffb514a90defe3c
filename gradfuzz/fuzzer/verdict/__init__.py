"""Truth and answer compared: agree, disagree, convention, inconclusive, unsupported or crashed."""

from __future__ import annotations
