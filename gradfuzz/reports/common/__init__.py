"""What every report says the same way.

    words, numbers       verdicts in words; numbers as people read them
    titles               the title of a finding
    headline, account    the sweep in one sentence; what was asked, met and remembered
    standing             what is known of a finding: new, known, fixed
    summary              counts for each target; the ways into a system added up
    functions            what became of the functions of a library
    proofs               what is proved of a rule
    tables               a finding's tables, as text
    plain                text of others made inert
    pieces               what terminal pages are made of
    scripts              the scripts of findings as files

- Names, messages and scripts may hold anything. A report passes what it is given through `plain.inert` once,
  and then escapes only what is special in its own format.
"""

from __future__ import annotations
