"""What is asked of a target: questions about drawn programs, and questions with one thing changed."""

from __future__ import annotations
