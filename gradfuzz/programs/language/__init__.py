"""What a program is: types, syntax, the op table, type checking, the printed form."""

from __future__ import annotations
