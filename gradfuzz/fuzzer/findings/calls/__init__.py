"""What is wrong about a call, made fit to be read.

code        a call as code in the library's own language
script      a script that shows what is wrong without gradfuzz
short       the same in about ten lines, with the right number in it
prove       a finding: shrunk, confirmed again, diagnosed
clusters    findings that have one rule of the library as their cause
"""

from __future__ import annotations
