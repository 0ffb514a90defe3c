"""The functional form of programs: how it is built, lowered from a program, and turned back into one."""

from __future__ import annotations
