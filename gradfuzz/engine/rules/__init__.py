"""The ops as functions of recorded values, and two tables of derivative rules that are independent of each
other.

    value                          values that record what is done to them
    elementwise                    the rules of elementwise functions, from the slopes that their rows give
    functions, tensor_functions    the ops as functions of such values
    vjp, jvp                       the tables for reverse and for forward mode, a line for each op
    tensor_vjp, tensor_jvp         the rules of tensor ops that need more than a line
    linalg                         a module for each decomposition, with its rules of both modes

- Rules are made of ops of the table, so they can be differentiated again. No table uses the other one.
- The cotangent of z = a + ib is dL/da + i dL/db. So a holomorphic op pulls back by the conjugate of its
  slope, a matrix by its adjoint. `conj` and `real` vanish on what is real, and one rule serves real and
  complex numbers.
"""

from __future__ import annotations
