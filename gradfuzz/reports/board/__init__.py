"""The board: a site that shows what many recorded runs know of many systems. It loads nothing from elsewhere.

    collection    the runs by system, release, op and finding
    pages         the pages: all systems, a system, an op, a finding
    badges        a badge for each system, as SVG and for endpoints
    feed          the findings as an Atom feed
    templates/    how pages are laid out, with style and script

A page is complete without JavaScript, which adds the search and the filters. Addresses are relative, so the
site opens from disk.
"""

from __future__ import annotations
