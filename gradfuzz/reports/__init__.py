"""What people and machines read. A report listens to events and renders findings; it computes nothing.

One module per writer: `terminal` and `live` for people, `json` for machines, `scripts` for what reproduces a finding.
"""

__all__: list[str] = []
