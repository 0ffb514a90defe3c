"""An adapter that only knows one conversation by heart: `reciting.py FILE`. It says its next line where it is
told the one before, and complains where it is told another.
"""

import json
import sys
from pathlib import Path


def conversation(path):
    """The requests and the replies of a file of lines that begin with > and <."""
    lines = Path(path).read_text(encoding="utf-8").splitlines()
    return [json.loads(line[2:]) for line in lines if line[0] == ">"], [
        line[2:] for line in lines if line[0] == "<"
    ]


def recite(path):
    for expected, reply in zip(*conversation(path), strict=True):
        told = json.loads(sys.stdin.readline() or "{}")
        if told != expected:
            message = f"the request is another one: {json.dumps(told)} in place of {json.dumps(expected)}"
            reply = json.dumps(
                {"id": told.get("id", 0), "error": {"kind": "bad_request", "message": message}}
            )
        sys.stdout.write(f"{reply}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    recite(sys.argv[1])
