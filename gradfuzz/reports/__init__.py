"""What people and machines read. A report listens to events and renders findings; it computes nothing.

One module per writer: `terminal`, `live`, `concise` and `html` for people, `markdown`, `github` and `issue`
for pages of others, `json`, `junit`, `sarif` and `ndjson` for machines, `scripts` for what reproduces a
finding. `formats` lists those that `--report` knows.
"""

__all__: list[str] = []
