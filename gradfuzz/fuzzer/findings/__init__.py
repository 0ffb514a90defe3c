"""From a disagreement to a finding: proved, shrunk, diagnosed, with evidence and a script.

    prove                        asked again alone, confirmed by both references, shrunk, shown at three
                                 points
    representative, signature    a finding and its three points; which programs are built
                                 alike, and which finding leads
    triggers                     whether known findings explain a disagreement, or it is another bug
    survey                       where it shows: other ways, modes, precisions and loop forms
    diagnose, applied_rules      which planted bug it behaves like; which mutants a question concerns
    single_ops, facts            the ops of the program asked alone; what holds at every point, in sentences
    gather                       measures what is shown beside a finding
    curve, variants, bodies, batches
                                 its parts
    reproducer, own_script       the scripts: to its own library, to others, as a test; to gradfuzz itself
    script_run, script_server    the finding's own script, run before the finding is told
    short_run                    whether a short reproducer shows its finding
    calls                        the same for calls of functions
    clusters                     findings that seem to have one root cause

- A disagreement becomes a finding only if it is asked again alone, both references confirm the truth, and it
  survives shrinking with a clear margin and in its class.
- A finding is told after its script was run. One that calls the target right makes a fault of gradfuzz of it.
- A diagnosis is by likeness. Every mutant that can be wrong about the shrunk program is asked what the target
  was asked: at the finding's points and around them, in the other modes and loop forms, and about the program
  as it was drawn. One that says the same everywhere is the probable cause. Several such mutants are told
  apart by standard programs on which they differ. The cause is certain if no other mutant says the same and
  there are errors enough to tell.
- Each op of the shrunk program is also asked alone, on parameters. A mutant that answers otherwise there is
  no cause. What is said besides a cause holds at every point tried; what two explanations fit is not said.
- Evidence decides nothing. Of proofs with programs that are built alike only one that leads so far gathers
  it.
"""

from __future__ import annotations
