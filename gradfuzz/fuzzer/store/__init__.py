"""What is kept on disk, and how it is found again.

    database    the SQLite file: opened; its errors in words
    locks       one writer for each run
    runs        runs, their findings, and the finished work of those that did not end
    lookup      what a person means by an id, a run's number or a path
    run_diff    what is new, gone or still there between two sets of findings
    baseline    the findings that are accepted for now: a file beside the code
    stream      an event stream, read again

- Several sweeps may write, each its own run. SQLite's log keeps the file whole wherever one is killed.
- Stores of gradfuzz 0.2 and later open; what is in them is brought up to date when it is read.
"""

from __future__ import annotations
