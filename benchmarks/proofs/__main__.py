"""Makes docs/proofs.md.

    python -m benchmarks.proofs
    python -m benchmarks.proofs torch --calls 4
    python -m benchmarks.proofs jax --only acosh cholesky

Calls of every function of the library are drawn, and their derivatives proved, at several points each; calls
for rules that none of these reaches are written down (`calls_jax`, `calls_torch`). A proof counts for every
rule that takes part: for each primitive whose jvp or transpose JAX calls when it makes the derivative, and
for each row of Torch's table of derivatives that autograd uses, in the derivative of the derivative as well.
The sections of libraries that are not asked stay as they are. With `--only` the page stays as it is, and the
section is printed.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from benchmarks.proofs.page import section
from benchmarks.proofs.proving import collected
from benchmarks.proofs.rules import RULES

PAGE = Path(__file__).parents[2] / "docs" / "proofs.md"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("libraries", nargs="*", default=list(RULES), choices=[[], *RULES])
    parser.add_argument("--calls", type=int, default=4, help="calls of each function")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", nargs="+", default=[], metavar="WORD", help="functions with such a name")
    options = parser.parse_args()
    for library in options.libraries:
        text = section(library, collected(library, options.calls, options.seed, options.only))
        if options.only:
            print(text)
            continue
        page = PAGE.read_text(encoding="utf-8")
        begin, end = f"<!-- {library} -->", f"<!-- end of {library} -->"
        before, _, rest = page.partition(begin)
        _, _, after = rest.partition(end)
        PAGE.write_text(f"{before}{begin}\n{text}{end}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
