"""Reports as Markdown.

report      the whole report, as GitHub reads it
issue       a finding as the text of an issue
trackers    what the trackers of systems ask for
github      annotations of a workflow, and the summary of a step
sections    tables and paragraphs that these share
"""

from __future__ import annotations
