"""What people and machines read. A report listens to events and renders findings; it computes nothing.

common      what every report says the same way
terminal    for a terminal, while a sweep runs and at its end
markdown    for pages of others: reports, issues, annotations of GitHub
html        one file for people
machine     JSON, JUnit, SARIF, JSON lines
formats     the table of the formats that `--report` knows; a row and a module with `render` add one
"""

__all__: list[str] = []
