"""How often gradfuzz is right about right and wrong gradients of real functions: docs/power.md.

python -m benchmarks.power                    measure, then write the page
python -m benchmarks.power --part 2/5         a fifth of the rows; the results are kept in build/power
python -m benchmarks.power --rows 'softmax|conv' --plants 'sign|factor' --print

rows            what a row is: a right function with its arguments
torch_rows      the rows of Torch; torch_functions has their longer functions
jax_rows        the rows of JAX; jax_functions has their longer functions
plants          the planted mistakes, a row each
planting        how a function gets a wrong derivative
measuring       one case, and what gradfuzz, gradcheck and check_grads say to it
report          the page
"""
