"""Derivative rules of the linear-algebra ops: one module per decomposition, each with its rules for both modes.

The rules of `vjp_rules` and `jvp_rules` in form: `VJP[op]` has one rule per argument, (g, ans, *args, **params) -> cotangent; `JVP[op]` one per
argument, (t, ans, *args, **params) -> tangent. `VJP_SEVERAL[op]` serves an op with several results: (gs, ans, *args, **params) -> one
cotangent per argument, where `gs` has a cotangent or None and `ans` a value for each result. All are made of ops of the table, so they
differentiate again; all take any leading batch axes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["JVP", "VJP", "VJP_SEVERAL"]

Rule = Callable[..., Any]

VJP: dict[str, tuple[Rule, ...] | Rule] = {}
VJP_SEVERAL: dict[str, Rule] = {}
JVP: dict[str, tuple[Rule, ...] | Rule] = {}
