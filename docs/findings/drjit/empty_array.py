"""dr.sin of an array without entries ends the process; so do cos, tan, exp, exp2, log, tanh, sinh, asin, erf and cbrt, where sqrt, abs and floor return it.

The sine of no number is no number. Dr.Jit takes an array of size 0 as a variable that does not exist ("jit_var(r0): unknown variable!").
Prints expected and got, and exits with 1 while they differ, 125 where Dr.Jit is missing.
"""

import subprocess
import sys

try:
    import drjit as dr
    import drjit.llvm  # noqa: F401 - the backend may be missing
except ImportError as error:
    print(error)
    sys.exit(125)

wrong = False
for name in ("sqrt", "sin", "exp"):
    line = f"import drjit as dr; from drjit.llvm.ad import Float64; print(len(dr.{name}(Float64([]))))"
    ended = subprocess.run([sys.executable, "-c", line], capture_output=True, text=True, check=False)
    got = ended.stdout.strip() if not ended.returncode else f"the process ended by {ended.returncode}"
    print(f"Dr.Jit {dr.__version__}: entries of {name} of no entries: expected 0, got {got}")
    wrong = wrong or got != "0"
print("wrong" if wrong else "right")
sys.exit(wrong)
