"""Report cards: canonical questions, asked op by op, without drawing.

report    one target on the loop cases, a label for each row
status    op by situation, one word for each cell, and a script for each wrong one
"""

from __future__ import annotations
