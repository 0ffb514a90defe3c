"""A badge for a system: "gradfuzz | 3 open", as SVG and as the JSON of a shields.io endpoint."""

from __future__ import annotations

import json

from markupsafe import escape

from gradfuzz.reports.board.collection import BoardSystem

_LABEL = "gradfuzz"
_FOUND, _NONE = "#ad3108", "#3d6b35"
"""White on either has a contrast above 6."""

_LETTER, _SPACE = 6.6, 12
"""The width of a letter at 11 px, and the space around a text."""


def message(system: BoardSystem) -> str:
    """What the badge says: the open findings of the newest release."""
    number = len(system.open)
    return f"{number} open" if number else "none open"


def svg(system: BoardSystem) -> str:
    """The badge as a picture."""
    text, left = message(system), len(_LABEL) * _LETTER + _SPACE
    right = len(text) * _LETTER + _SPACE
    colour, told = (_FOUND if system.open else _NONE), f"{_LABEL}, {system.name} {system.newest}: {text}"
    round_end = f"M{left:.0f} 0h{right - 3:.0f}a3 3 0 0 1 3 3v14a3 3 0 0 1-3 3H{left:.0f}z"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + right:.0f}" height="20" role="img"'
        f' aria-label="{escape(told)}"><title>{escape(told)}</title>'
        f'<rect width="{left + right:.0f}" height="20" rx="3" fill="#44464d"/>'
        f'<path d="{round_end}" fill="{colour}"/>'
        '<g fill="#fff" font-family="Verdana, DejaVu Sans, sans-serif" font-size="11" text-anchor="middle">'
        f'<text x="{left / 2:.0f}" y="14">{_LABEL}</text>'
        f'<text x="{left + right / 2:.0f}" y="14">{escape(text)}</text></g></svg>\n'
    )


def endpoint(system: BoardSystem) -> str:
    """The same for shields.io's endpoint badge."""
    colour = (_FOUND if system.open else _NONE).removeprefix("#")
    told = {"schemaVersion": 1, "label": _LABEL, "message": message(system), "color": colour}
    return json.dumps(told) + "\n"
