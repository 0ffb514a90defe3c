"""The former name of `python -m gradfuzz.oracles.server`, kept for existing commands."""

from __future__ import annotations

import sys

from gradfuzz.oracles.server import main

if __name__ == "__main__":
    main(sys.argv[1:])
