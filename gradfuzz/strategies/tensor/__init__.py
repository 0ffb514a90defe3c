"""Strategies for programs of tensor ops."""

from __future__ import annotations
