"""What a finding shows as its subject: a program, or the code of a call of a library's function.

Of a call the program is only a stand-in with the same inputs, so nothing may be read from it.
"""

from __future__ import annotations

from collections.abc import Callable

from gradfuzz.fuzzer.results.finding import Finding
from gradfuzz.programs.language.program import Program, to_text


def source(finding: Finding, text: Callable[[Program], str] = to_text) -> str:
    """The shrunk call in the library's language, or the text of the shrunk program."""
    return text(finding.program) if finding.code is None else finding.code


def drawn_source(finding: Finding, text: Callable[[Program], str] = to_text) -> str:
    """The same as it was drawn; of a call that was not shrunk the call itself."""
    if finding.code is None:
        return text(finding.original)
    return finding.code if finding.drawn_code is None else finding.drawn_code


def functions(finding: Finding) -> tuple[str, ...]:
    """The public names of the library's functions that a call is wrong about; none of a program."""
    if finding.call is None:
        return ()
    return finding.culprits or (finding.call.function,)
