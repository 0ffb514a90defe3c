"""Who answers: the references that say what is true, the engine, the libraries on trial, and the planted
bugs.

    resolve(name)    the oracles that a name stands for
    references()     the sources of truth
    available()      what there is, installed or not

A library is imported when one of its oracles is made, not before.
"""

from gradfuzz.oracles.base import Answer, Mode, Oracle, Point, Question, Reference, Traits, Truth
from gradfuzz.oracles.registry import Available, available, references, resolve
from gradfuzz.programs.language.precision import Precision

__all__ = [
    "Answer",
    "Available",
    "Mode",
    "Oracle",
    "Point",
    "Precision",
    "Question",
    "Reference",
    "Traits",
    "Truth",
    "available",
    "references",
    "resolve",
]
