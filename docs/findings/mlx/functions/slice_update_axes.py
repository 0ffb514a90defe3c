"""mx.slice_update with an update of more axes than the array, or with one that reaches beyond the array, ends the
process; it should raise, as for an update that is too long.

The calls are made in processes of their own. Exits with 1 while one is ended by a signal.
"""

import importlib.util
import subprocess
import sys

if importlib.util.find_spec("mlx") is None:
    print("this script needs mlx")
    sys.exit(125)

wrong = False
for array, shape, start in (
    ("(2, 2)", "(3, 3)", "[0, 0]"),
    ("(2, 2)", "(1, 2, 2)", "[0, 0]"),
    ("(64, 64)", "(64, 64)", "[60, 40]"),
):
    call = f"mx.eval(mx.slice_update(mx.zeros({array}), mx.ones({shape}), mx.array({start}), (0, 1)))"
    got = subprocess.run([sys.executable, "-c", f"import mlx.core as mx; {call}"], capture_output=True).returncode
    print(call, "-> expected exit code 1 (an exception), got", got)
    wrong = wrong or got < 0
print("wrong" if wrong else "right")
sys.exit(1 if wrong else 0)
