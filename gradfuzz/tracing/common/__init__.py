"""What the tracers share.

graph             the precision of the arguments, and the program that a trace makes
units             the steps of a function that have a rule each
leaves            nested arguments and results, taken apart and put together again
compositions      elementwise functions by their rows; others composed of ops
integers          floats that become ints
fourier           Fourier transforms
factors           factors of matrices as LAPACK stores them
convolutions      convolutions
incomplete        incomplete gamma and beta functions
quantiles         draws as functions of the parameters of their distribution
"""

from __future__ import annotations
