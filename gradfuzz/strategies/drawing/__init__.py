"""What strategies draw with: dice, tables, op sets, shapes, and drawing outside a test.

    dice                   one integer for each decision, the simple choices first
    draw                   `draws`, `draw_many`: the k-th draw of a seed is the same on every machine
    variety                the ways in which programs use an op, and draws that visit them all soon
    climb                  leads Hypothesis to the worst error
    op_set                 the ops of `ops=`, and what can be written with them alone
    shape, algebra         shapes of arrays and stacks; patterns and constructors of expressions
    blanks                 recipes as text with blanks, and tables that say what fills them
    display, validation    how draws are shown; what an option may be

- Every public strategy is a function under `st.composite`. Its options are keywords, checked when it draws,
  and its repr is the call that makes it again.
- With `ops=` the dice hold the set, and every table leaves out what needs another op. Without a set, or with
  the set of all ops, the draws are the same.
"""

from __future__ import annotations
