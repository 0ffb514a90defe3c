"""Reports for machines.

json      documents that are stable contracts: fields may be added and are never renamed
junit     for continuous integration: a suite for each way and family
sarif     SARIF 2.1.0, for code scanning ...
place     ... and the file and line at which it shows a finding
ndjson    the events of a sweep, one JSON document a line, as they come
"""

from __future__ import annotations
