"""What a function executes, as steps: ATen ops on the results of others, on arguments and on constants.

`TorchRecorder` writes the steps down while the function runs on its own numbers. So every decision that
depends on a number has to be noticed: the ops that hand numbers of the arguments to Python are refused. What
is known without the arguments is computed and is a constant.

A step that writes in place into memory of its own is the op that makes a new tensor. Any other one ends the
recording: see `functional`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from gradfuzz.errors import UntraceableError
from gradfuzz.private_names import private
from gradfuzz.tracing.torch.moves import LIKES
from gradfuzz.tracing.torch.ops import handler_of

pytree = private("torch.utils._pytree", UntraceableError)
TorchDispatchMode: Any = private("torch.utils._python_dispatch.TorchDispatchMode", UntraceableError)
private("torch.ops.aten.sin.default._schema", UntraceableError)  # the others have it where this op has

_DECIDING = torch.Tag.data_dependent_output
_SIZING = torch.Tag.dynamic_output_shape
_RANDOM = torch.Tag.nondeterministic_seeded


@dataclass(frozen=True, slots=True)
class Ref:
    """The result of a step: the one numbered `part` where it has several. The first steps are the arguments,
    which have no op.
    """

    step: int
    part: int | None = None


@dataclass(frozen=True, slots=True, eq=False)
class TorchStep:
    """`op` on `args` and `options`, in which a `Ref` stands for what is not known. `results` are the tensors
    that Torch made, or such without data.
    """

    op: Callable[..., Any] | None
    args: tuple[Any, ...]
    options: dict[str, Any]
    results: Any

    @property
    def sources(self) -> list[Ref]:
        return [leaf for leaf in pytree.tree_leaves((self.args, self.options)) if isinstance(leaf, Ref)]


@dataclass(frozen=True, slots=True, eq=False)
class Steps:
    """The steps in order, the leaves of what the function returned, and the decisions that Python took: bools
    of the arguments, and what they were.
    """

    steps: tuple[TorchStep, ...]
    results: tuple[Any, ...]
    decisions: tuple[tuple[Ref, bool], ...] = ()

    def tensor(self, leaf: Any) -> torch.Tensor | None:
        """The tensor that an argument of a step is; None for anything else."""
        if isinstance(leaf, Ref):
            made = self.steps[leaf.step].results
            leaf = made if leaf.part is None else made[leaf.part]
        return leaf if isinstance(leaf, torch.Tensor) else None

    def needed(self) -> set[int]:
        """The numbers of the steps that a result depends on."""
        found = {leaf.step for leaf in self.results if isinstance(leaf, Ref)}
        found.update(ref.step for ref, _ in self.decisions)
        for k in reversed(range(len(self.steps))):
            if k in found:
                found.update(ref.step for ref in self.steps[k].sources)
        return found


def name_of(op: Any) -> str:
    """The name of an op without its overload: "add" of aten.add.Tensor."""
    schema = getattr(op, "_schema", None)
    return schema.name.partition("::")[2] if schema is not None else str(op)


def is_random(op: Any) -> bool:
    return _RANDOM in getattr(op, "tags", ())


def is_mutable(op: Any) -> bool:
    return bool(getattr(getattr(op, "_schema", None), "is_mutable", False))


def _without_writing(op: Any) -> Any:
    """The op that makes a new tensor of what `op` writes into its first argument; None where there is none
    that gradfuzz knows.
    """
    name = name_of(op).removesuffix("_")
    if name == name_of(op) or torch.Tag.inplace_view in op.tags or handler_of(name) is None:
        return None
    packet = getattr(torch.ops.aten, name, None)
    others = [getattr(packet, overload) for overload in packet.overloads()] if packet is not None else []
    return next((one for one in others if _takes(one) == _takes(op) and not is_mutable(one)), None)


def _takes(op: Any) -> list[tuple[str, str]]:
    """The names and types of the arguments of an op."""
    return [(a.name, str(a.type)) for a in op._schema.arguments]  # noqa: SLF001 - it is private to Torch


def failure(what: str, error: Exception) -> UntraceableError:
    """What Torch cannot do, in its own words."""
    text = str(error).strip().partition("\n")[0][:300]
    return UntraceableError(f"torch cannot {what}: {type(error).__name__}: {text}")


def decision(name: str) -> str:
    """Why there is no program where a function makes a number of the arguments one of Python's."""
    return (
        f"{name} of a tensor: what happens next depends on a number (an `if` or `while` on a tensor, item(),"
        " numpy(), a mask as an index), and a program traced at one point is blind to the other side; use"
        " torch.where, or ask about a function without it"
    )


def _place(x: torch.Tensor) -> int:
    """The memory of a tensor, which its views share."""
    try:
        return x.untyped_storage().data_ptr() or -id(x)
    except (NotImplementedError, RuntimeError):  # it has none
        return -id(x)


def drawn_at_random(name: str) -> str:
    """Why there is no program of a function that draws random numbers."""
    return f"the Torch op {name} draws random numbers; pass them to the function as an argument"


def deciding(name: str, args: Sequence[Any]) -> torch.Tensor | None:
    """The tensor of one bool that the function of this name tells Python; None where it tells something else,
    or nothing of what the tensors hold.
    """
    x, *rest = args
    if name == "equal":
        return torch.eq(x, *rest).all() if x.shape == rest[0].shape else None
    if name in ("__bool__", "is_nonzero") or (name == "item" and x.dtype == torch.bool):
        return x if x.dtype == torch.bool else torch.ne(x, 0)
    return None


class TorchRecorder(TorchDispatchMode):
    """Writes down the ops that depend on `inputs`. `refuse` makes the error, from a reason, where there is no
    program.
    """

    def __init__(self, inputs: Sequence[torch.Tensor], refuse: Callable[[str], Exception]) -> None:
        super().__init__()
        self.writes = False
        """Whether something was written in place, so that the steps do not hold."""
        self._refuse = refuse
        self._decisions: dict[Ref, bool] = {}
        self.is_deciding = False
        """Whether Python may be told what a tensor holds."""
        self._steps: list[TorchStep] = []
        self._refs: dict[int, Ref] = {}
        self._kept: list[Any] = []
        self._places: set[int] = set()
        self._lying: dict[int, set[int]] = {}
        """By memory that a step made: the tensors that lie there."""
        self._read: set[int] = set()
        """The memory of constants that steps read."""
        for x in inputs:
            self._note(TorchStep(None, (), {}, x))

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """Asked by Torch: the compiler would be loaded, a second of work, only to be told to keep out."""
        return False

    def depends(self, tensors: Any) -> bool:
        """Whether one of the leaves of `tensors` depends on the arguments, or lies where such a one does."""
        leaves = [t for t in pytree.tree_leaves(tensors) if isinstance(t, torch.Tensor)]
        return any(id(t) in self._refs or _place(t) in self._places for t in leaves)

    def steps(self, results: Any) -> Steps:
        leaves = tuple(self._refs.get(id(leaf), leaf) for leaf in pytree.tree_leaves(results))
        return Steps(tuple(self._steps), leaves, tuple(self._decisions.items()))

    def decide(self, asked: torch.Tensor, outcome: bool) -> bool:
        """Notes what a bool of the arguments is; False where it is not one, or it was something else."""
        ref = self._refs.get(id(asked))
        return ref is not None and self._decisions.setdefault(ref, outcome) == outcome

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if self.is_deciding:
            return func(*args, **kwargs)
        if is_random(func):
            raise self._refuse(drawn_at_random(name_of(func)))
        depends = name_of(func) not in LIKES and self.depends((args, kwargs))
        if is_mutable(func) and not self.writes:
            self.writes = not self._is_alone(func, args, depends)
            if depends and not self.writes:
                return self._written(func, types, args, kwargs)
        if not depends:
            return self._laid(func(*args, **kwargs), args)
        if self.writes:
            results = func(*args, **kwargs)
            reached = (results, args) if is_mutable(func) else results
            self._kept.append(reached)
            self._places |= {_place(t) for t in pytree.tree_leaves(reached) if isinstance(t, torch.Tensor)}
            return results
        self._check(func, args, kwargs)
        results = self._laid(func(*args, **kwargs), args)
        parts = self._decomposed(func, args, kwargs)
        if parts is not NotImplemented:
            self._alias(results, parts)
            return results
        said_args, said_options = pytree.tree_map(self._said, (args, kwargs))
        said = pytree.tree_leaves((said_args, said_options))
        self._read |= {_place(leaf) for leaf in said if isinstance(leaf, torch.Tensor)}
        self._note(TorchStep(func, said_args, said_options, results))
        return results

    def _laid(self, results: Any, args: Any) -> Any:
        """The results, of which is known now which of them lie in memory that others lie in."""
        self._kept.append(results)
        before = {_place(t) for t in pytree.tree_leaves(args) if isinstance(t, torch.Tensor)}
        for t in pytree.tree_leaves(results):
            place = _place(t) if isinstance(t, torch.Tensor) else None
            if place in self._lying or (place is not None and place not in before):
                self._lying.setdefault(place, set()).add(id(t))
        return results

    def _is_alone(self, func: Any, args: Any, depends: bool) -> bool:
        """Whether what is written has been read by no step as a constant, and is no view of, or has none that
        depends on the arguments, or, where it will, any at all.
        """
        x = args[0] if args else None
        lying = self._lying.get(_place(x)) if isinstance(x, torch.Tensor) else None
        if lying is None or _without_writing(func) is None or _place(x) in self._read:
            return False
        return lying == {id(x)} if depends else self._refs.keys().isdisjoint(lying)

    def _written(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        """What an op leaves in its first argument is the result of the op that makes a new tensor."""
        x, *rest = args
        before = x if id(x) in self._refs else x.clone()
        made = self.__torch_dispatch__(_without_writing(func), types, (before, *rest), kwargs)
        self.writes = made.dtype != x.dtype or made.shape != x.shape
        if self.writes:
            self._places.add(_place(x))
        self._refs[id(x)] = self._refs[id(made)]
        return func(*args, **kwargs)

    def _check(self, func: Any, args: Any, kwargs: Any) -> None:
        """Refuses the ops by whose result Python, or a shape, would depend on a number of the arguments."""
        name = name_of(func)
        if _DECIDING in func.tags or name == "_local_scalar_dense":
            raise self._refuse(decision("item" if name == "_local_scalar_dense" else name))
        if _SIZING in func.tags:
            masks = [t for t in pytree.tree_leaves((args[1:], kwargs)) if isinstance(t, torch.Tensor)]
            of_mask = name not in ("index", "_unsafe_index", "_unsafe_masked_index", "linalg_lstsq")
            if of_mask or any(t.dtype in (torch.bool, torch.uint8) and self.depends(t) for t in masks):
                raise self._refuse(decision(name))

    def _decomposed(self, func: Any, args: Any, kwargs: Any) -> Any:
        """The results of an op by those that it is made of, recorded; `NotImplemented` where it is one of
        Torch's own and has a handler or no decomposition.
        """
        rule = None
        if handler_of(name_of(func)) is None:
            try:
                rule = private("torch._decomp.decomposition_table", UntraceableError).get(func)
            except UntraceableError as error:
                raise self._refuse(error.reason) from error
        with self:
            return func.decompose(*args, **kwargs) if rule is None else rule(*args, **kwargs)

    def _alias(self, results: Any, parts: Any) -> None:
        """`results` are what `parts` are."""
        self._kept.append((results, parts))
        for one, same in zip(pytree.tree_leaves(results), pytree.tree_leaves(parts), strict=True):
            if id(same) in self._refs:
                self._refs[id(one)] = self._refs[id(same)]

    def _said(self, leaf: Any) -> Any:
        return self._refs.get(id(leaf), leaf) if isinstance(leaf, torch.Tensor) else leaf

    def _note(self, step: TorchStep) -> None:
        number = len(self._steps)
        self._steps.append(step)
        self._kept.append(step.results)
        if isinstance(step.results, torch.Tensor):
            self._refs[id(step.results)] = Ref(number)
        elif isinstance(step.results, (tuple, list)):
            for part, result in enumerate(step.results):
                if isinstance(result, torch.Tensor):
                    self._refs[id(result)] = Ref(number, part)
