"""Runs scripts, one after the other, each in a copy of a process that has loaded a library and done nothing.

It is `python script_server.py MODULE ...`, by the Python of a target. A line names the folder of a
`script.py`; the answer is how the script ended, and what it says is in the file `said` of the folder.
"""

import importlib
import os
import runpy
import sys
import traceback


def main() -> None:
    """Makes a copy for each line, until there are no more."""
    sys.path.pop(0)  # the folder of this file
    for name in sys.argv[1:]:
        importlib.import_module(name)
    del sys.argv[1:]
    for line in sys.stdin:
        copy = os.fork()
        if not copy:
            code = _run(line.strip())
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)  # putting away what a library has loaded takes a second
        status = os.waitpid(copy, 0)[1]
        code = -os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)
        sys.stdout.write(f"{code}\n")
        sys.stdout.flush()


def _run(folder: str) -> int:
    """Runs the script in a folder, as Python would; its exit code."""
    os.chdir(folder)
    said = os.open("said", os.O_WRONLY | os.O_APPEND)
    for source, target in ((os.open(os.devnull, os.O_RDONLY), 0), (said, 1), (said, 2)):
        os.dup2(source, target)
    sys.path.insert(0, folder)
    sys.argv[0] = os.path.join(folder, "script.py")  # noqa: PTH118 - a string, as scripts have it
    try:
        runpy.run_path(sys.argv[0], run_name="__main__")
    except SystemExit as ended:
        if ended.code is None or isinstance(ended.code, int):
            return (ended.code or 0) & 255
        sys.stderr.write(f"{ended.code}\n")
        return 1
    except BaseException:  # noqa: BLE001 - what ends a script
        traceback.print_exc()
        return 1
    return 0


if __name__ == "__main__":
    main()
