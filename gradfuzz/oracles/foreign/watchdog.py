"""Ends the process groups that a killed gradfuzz leaves behind.

Runs as a script in a session of its own, with a pipe from gradfuzz as its stdin: "+123" adds the process
group 123 to its list, "-123" removes it. When the pipe ends, gradfuzz has ended for whatever reason, and the
groups that are left are killed. It imports little, and only from the standard library: each gradfuzz process
with workers has one.
"""

import os
import signal
import sys


def main() -> None:
    """Reads until the pipe ends, then kills."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    groups: set[int] = set()
    for line in sys.stdin:
        if line.startswith("+"):
            groups.add(int(line[1:]))
        else:
            groups.discard(int(line[1:]))
    for group in groups:
        try:  # noqa: SIM105 - contextlib would be most of what is imported
            os.killpg(group, signal.SIGKILL)
        except OSError:
            pass


if __name__ == "__main__":
    main()
