"""Who answers: the references that say what is true, the engine, the libraries on trial, and the planted
bugs.

    resolve(name)    the oracles that a name stands for
    references()     the sources of truth
    available()      what there is, installed or not

    base          the contract: a question in, an answer or a truth for each point out
    registry      which oracles there are, by name; `target_name` takes names apart
    rule          the rule of a way as an oracle of its own
    libraries     the table of the libraries with oracles of gradfuzz's own
    plugins       oracles of other distributions, found by their entry points
    said          the line of an exception that says what happened
    lacks         what a library lacks by its documents or its source; `jax` and `torch` list theirs
    device        where JAX and Torch compute, and what a product may lose there
    catalogues    every function that a library lists, and whether it is differentiable
    server        serves the oracles of this installation by the protocol
    references, engine, mutants, jax, torch
                  the oracles, a package each
    foreign       targets in processes of their own
    emit          what all standalone scripts share
    dialects      scripts for other languages and libraries; `dialect_table` has a row for each

- A library is imported when one of its oracles is made, not before.
- A plug-in is imported when its target is named, and then in a process of its own. What is wrong with it is a
  `PluginError`. It cannot take a name of gradfuzz's own.
- A library that answers wrong, raises or crashes has answered: an oracle repairs nothing.
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
