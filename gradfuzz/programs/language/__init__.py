"""What a program is: its types, its syntax, the table of ops, the type checker, the printed form.

    types                         a dtype and a shape
    syntax                        the grammar and its nodes
    ops                           the op table, a row for each op: arity, parameters, type rule, domain, kink
    functions                     elementwise functions: a row says all that is known of one
    linalg_rules, tensor_rules    the type rules of linear algebra and of tensor ops
    axes, windows                 axes as parameters name them; windows that slide over axes
    typecheck                     the types of variables and outputs, definite assignment, errors with line
                                  and reason
    precision                     the formats that `float` may be, with their roundoff and range
    printer                       the printed form: Python that a person would write
    program                       a program, its text, and what stands inside one
    reach                         the part of a program that one entry of an input reaches
    recent                        what was made of the latest programs, found by their identity

- `float` means the working precision, which the question fixes: float64, float32, bfloat16 or float16. In the
  last two the ops of LAPACK are unsupported. `complex` is a pair of two such floats. One program cannot mix
  precisions.
- Programs that are drawn or judged take and return floats. Complex numbers exist inside them only, by
  `complex(re, im)`, `real(z)` and `imag(z)`. So the gradient of a question is that of a real function, and
  the sign that a library gives an imaginary part cannot make a finding.
- A derivative is a `Graph` and no program. The language that strategies draw has no stacks, and stays small.
"""

from __future__ import annotations
