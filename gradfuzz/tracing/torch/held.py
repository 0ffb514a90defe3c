"""A function of Torch with what it stops held: it hides from autograd what it hides at other arguments.

The function is run at those arguments first, and what `detach`, `.data` or an operation under `no_grad` give
is kept in its order. Then it is run at the arguments, and is given what was kept. So it is of random numbers:
of those whose distribution moves, the quantile is kept. Of rows of embeddings that is kept which they do not
learn by Torch's documents.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch.overrides import TorchFunctionMode

from gradfuzz.errors import UntraceableError
from gradfuzz.tracing.common import quantiles
from gradfuzz.tracing.torch.steps import TorchDispatchMode, is_mutable, is_random, name_of
from gradfuzz.tracing.torch.trace import hides, is_switch

_QUANTILES = {"_standard_gamma": quantiles.of_gamma, "_sample_dirichlet": quantiles.of_dirichlet}
"""Draws that Torch differentiates by the parameters of their distribution."""


class _Hidden(TorchFunctionMode):
    """Keeps what is hidden, or gives what was `kept`."""

    def __init__(self, kept: Sequence[Any] | None = None) -> None:
        super().__init__()
        self.found: list[Any] = []
        self.kept = kept
        self.hiding = False

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = getattr(func, "__name__", str(func))
        if is_switch(func):
            self.hiding = not args[0] and (self.hiding or torch.is_grad_enabled())
        grad = torch.is_grad_enabled()
        if not (hides(func, name) if grad else self.hiding and not is_switch(func)):
            return func(*args, **(kwargs or {}))
        if name.endswith("_") and not name.endswith("__"):
            raise UntraceableError(
                f"{name} writes where autograd does not look, and gradfuzz cannot hold that constant"
            )
        if self.kept is None:
            found = func(*args, **(kwargs or {}))
        elif len(self.found) == len(self.kept):
            raise UntraceableError(
                "the function hides more values from autograd next to the point than at the point"
            )
        else:
            found = self.kept[len(self.found)]
        self.found.append(found)
        return found


def held(call: Callable[..., Sequence[Any]], xs: Sequence[Any], holding: Sequence[Any]) -> list[Any]:
    """The outputs of `call` at `xs`, with what it hides from autograd as it is at `holding`, which autograd
    does not follow.
    """
    with torch.enable_grad():
        with _Hidden() as first:
            call(*holding)
        with _Hidden(first.found) as second:
            results = list(call(*xs))
    if len(second.found) < len(first.found):
        raise UntraceableError(
            "the function hides fewer values from autograd next to the point than at the point"
        )
    return results


class _Drawn(TorchDispatchMode):
    """Keeps what is drawn, and from which parameters, or gives what was `kept`."""

    def __init__(self, kept: Sequence[Any] | None = None) -> None:
        super().__init__()
        self.found: list[tuple[str, Any, Any]] = []
        self.kept = kept

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if not is_random(func):
            return func(*args, **(kwargs or {}))
        name, before = name_of(func), args[0].clone() if isinstance(args[0], torch.Tensor) else args[0]
        if self.kept is None:
            drawn = func(*args, **(kwargs or {}))
            self.found.append((name, before, drawn.clone()))
            return drawn
        if len(self.found) == len(self.kept):
            raise UntraceableError("the function draws more numbers next to the point than at the point")
        _, parameters, drawn = kept = self.kept[len(self.found)]
        self.found.append(kept)
        if name in _QUANTILES:
            numbers = (np.asarray(t.to(torch.float64)) for t in (drawn, parameters, before))
            return torch.from_numpy(np.ascontiguousarray(_QUANTILES[name](*numbers))).to(drawn.dtype)
        return args[0].copy_(drawn) if is_mutable(func) else drawn.clone()


def by_quantiles(call: Callable[..., Sequence[Any]], xs: Sequence[Any], holding: Sequence[Any]) -> list[Any]:
    """The outputs of `call` at `xs`, where its draws have the quantiles that they have at `holding`."""
    with torch.no_grad():
        with _Drawn() as first:
            call(*holding)
        if not any(name in _QUANTILES for name, *_ in first.found):
            raise UntraceableError("the function draws from no distribution whose quantiles could be held")
        with _Drawn(first.found):
            return list(call(*xs))


class _Rows(TorchFunctionMode):
    """Keeps the rows that embeddings look up, or moves them from what was `kept` as their documents say: not
    those of `padding_idx`, and with `scale_grad_by_freq` by a share for each time that an index is there.
    """

    def __init__(self, kept: Sequence[Any] | None = None) -> None:
        super().__init__()
        self.found: list[Any] = []
        self.kept = kept
        self.are_plain = True

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        rows = func(*args, **(kwargs or {}))
        if func is not torch.nn.functional.embedding:
            return rows
        given = _EMBEDDING.bind(*args, **(kwargs or {}))
        given.apply_defaults()
        indices, weight, padding, _, _, scales, _ = given.arguments.values()
        share = torch.ones(indices.shape, dtype=weight.dtype)
        if scales:
            share = share / torch.bincount(indices.flatten(), minlength=len(weight))[indices]
        if padding is not None:
            share = share * (indices != padding % len(weight))
        self.are_plain = self.are_plain and bool((share == 1.0).all())
        kept = rows if self.kept is None else self.kept[len(self.found)]
        self.found.append(rows)
        return kept + (rows - kept) * share.unsqueeze(-1)


_EMBEDDING = inspect.signature(torch.nn.functional.embedding)


def by_documents(call: Callable[..., Sequence[Any]], xs: Sequence[Any], holding: Sequence[Any]) -> list[Any]:
    """The outputs of `call` at `xs`, where what Torch's documents leave out of a gradient is as it is at
    `holding`.
    """
    with torch.no_grad(), _Rows() as first:
        call(*holding)
    if first.are_plain:
        raise UntraceableError("the function looks up no rows that its gradient leaves out")
    with _Rows(first.found):
        return list(call(*xs))
