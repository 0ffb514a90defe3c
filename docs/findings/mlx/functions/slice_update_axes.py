"""mx.slice_update with an update of more axes than the array ends the process; it should raise, as for an update that is too long.

The call is made in a process of its own. Exits with 1 while it is ended by a signal.
"""

import importlib.util
import subprocess
import sys

if importlib.util.find_spec("mlx") is None:
    print("this script needs mlx")
    sys.exit(125)

wrong = False
for shape in ("(3, 3)", "(1, 2, 2)"):
    call = f"mx.eval(mx.slice_update(mx.zeros((2, 2)), mx.ones({shape}), mx.array([0, 0]), (0, 1)))"
    got = subprocess.run([sys.executable, "-c", f"import mlx.core as mx; {call}"], capture_output=True).returncode
    print(call, "-> expected exit code 1 (an exception), got", got)
    wrong = wrong or got < 0
print("wrong" if wrong else "right")
sys.exit(1 if wrong else 0)
