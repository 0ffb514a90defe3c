"""The complex ops on Python numbers, for the references: every selection they make is kept in the trace."""

from __future__ import annotations

import abc
from typing import Any

import numpy as np


class ComplexObjects(abc.ABC):
    """A subclass says how a complex number is made of two real ones; its real numbers and its complex ones
    add and multiply.
    """

    # What a subclass gives

    @abc.abstractmethod
    def is_complex(self, x: Any) -> bool:
        """Whether a scalar is a complex number, which it is also where its imaginary part is 0."""

    @abc.abstractmethod
    def pair(self, re: Any, im: Any) -> Any:
        """The complex number re + i im."""

    @abc.abstractmethod
    def parts(self, z: Any) -> tuple[Any, Any]:
        """The real and the imaginary part of a complex number."""

    @abc.abstractmethod
    def nonzero(self, z: Any) -> bool:
        """Whether a complex number is not 0; `UndecidedError` where it is 0 here and may not be 0 nearby."""

    # Numbers

    def squared_modulus(self: Any, x: Any) -> Any:
        """|x|^2."""
        if not self.is_complex(x):
            return self.times(x, x)
        re, im = self.parts(x)
        return self.plus(self.times(re, re), self.times(im, im))

    def modulus(self: Any, z: Any) -> Any:
        """|z|. Whether z is 0 is a choice: |z| has no derivative there."""
        nonzero = self.nonzero(z)
        self.choices.append(int(nonzero))
        return self.function("sqrt", self.squared_modulus(z)) if nonzero else self.scalar(0)

    def conjugate(self: Any, x: Any) -> Any:
        """The conjugate of a scalar."""
        if not self.is_complex(x):
            return x
        re, im = self.parts(x)
        return self.pair(re, -im)

    def from_complex(self: Any, value: complex) -> Any:
        """A complex constant, exactly."""
        return self.pair(self.scalar(value.real), self.scalar(value.imag))

    def promoted(self: Any, x: Any) -> Any:
        """A real scalar as a complex number."""
        return x if self.is_complex(x) else self.pair(x, self.scalar(0))

    def same(self: Any, a: Any, b: Any) -> bool:
        """Whether two scalars are equal."""
        if self.is_complex(a) or self.is_complex(b):
            return a is b or not self.nonzero(a - b)
        return bool(self.compare(a, b) == 0)

    # Ops

    def complex(self: Any, re: Any, im: Any) -> Any:
        return self.over_entries(self.pair, re, im)

    def conj(self: Any, x: Any) -> Any:
        return self.over_entries(self.conjugate, x)

    def real(self: Any, x: Any) -> Any:
        return self.over_entries(lambda y: self.parts(y)[0] if self.is_complex(y) else y, x)

    def imag(self: Any, x: Any) -> Any:
        return self.over_entries(lambda y: self.parts(y)[1] if self.is_complex(y) else self.scalar(0), x)

    def over_entries(self: Any, function: Any, *arguments: Any) -> Any:
        """`function` of every entry of object arrays, or of scalars."""
        if any(isinstance(a, np.ndarray) for a in arguments):
            return np.frompyfunc(function, len(arguments), 1)(*map(self.as_array, arguments))
        return function(*arguments)
