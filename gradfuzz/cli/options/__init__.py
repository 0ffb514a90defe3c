"""The options that several commands have.

arguments     texts as names, paths, times and numbers
completion    what a shell completes
device        where JAX and Torch compute
limits        how much a command may take
storage       the store and the environments beside it
"""

from __future__ import annotations
