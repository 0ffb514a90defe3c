"""Automatic differentiation in reverse mode, on a tape of NumPy arrays: small enough to be read at a sitting.

>>> x = Variable(3.0)
>>> gradient([x * x], [1.0], [x])
[array(6.)]
"""

from tinytape.tape import Variable, gradient

__all__ = ["Variable", "gradient"]
