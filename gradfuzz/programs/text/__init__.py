"""Programs from text and from JSON. Nothing that is read is ever executed.

    parse                      `parse(text)`: a whole program, by Python's own grammar
    statements, expressions    the two halves of the parser
    reading                    from text to Python's syntax tree, and errors that point back into the text
    loop_body                  `loop_program(body)`: a whole program around a bare loop body
    json_form                  `to_json` and `from_json`

- Both forms round-trip: `parse(to_text(p)) == p`, and JSON keeps every float bit for bit.
- What is read is checked field by field. An error names the line, or the place in the JSON.
"""

from __future__ import annotations
