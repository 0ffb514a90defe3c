"""Strategies for inputs: arrays, matrices, points of a program, cotangents."""

from __future__ import annotations
