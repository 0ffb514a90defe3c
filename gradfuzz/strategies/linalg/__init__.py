"""Strategies for programs of linear algebra."""

from __future__ import annotations
