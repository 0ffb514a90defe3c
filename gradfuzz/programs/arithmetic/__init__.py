"""What an op computes: for machine floats (NumPy), and for any scalar objects with + and *.

    namespace                          what an arithmetic is: a method for each op
    numpy_namespace                    machine floats with IEEE semantics, scalars and arrays
    elementwise                        elementwise functions: the expressions of a row, or NumPy's own
    half_numpy                         bfloat16 and float16 where NumPy has no kernel for them
    object_namespace                   the base of the references' arithmetics
    linalg_numpy, tensor_numpy         linear algebra by NumPy and SciPy; tensor ops
    triangular_numpy                   triangular systems
    per_matrix                         NaN for single matrices of a stack
    linalg_internal                    the two ops that only derivatives use
    linalg_objects                     linear algebra on objects, but for the algorithms
    matrix_objects                     stacks of matrices of objects; their triangles and products
    tensor_objects, complex_objects    tensor ops and complex numbers made of such objects

- How a matrix of objects is factored is the business of each reference, in a subclass of its own. So the two
  references share no decomposition.
- A selection that an object arithmetic makes (a maximum, a sign) is kept in a trace, from which kinks and
  ties are known.
- The operands of an op are converted to one dtype before it is called. No rule and no library meets mixed
  ones.
"""

from __future__ import annotations
