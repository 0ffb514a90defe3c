"""One case of the power table: a function, right or with a plant, and what is said of it."""

from __future__ import annotations

import contextlib
import signal
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.power.planting import planted, right_product
from benchmarks.power.plants import PLANTS, Asked, Plant
from benchmarks.power.rows import Library, Row
from gradfuzz.errors import UnsupportedError
from gradfuzz.testing import measure_gradient

__all__ = ["Case", "cases", "changes", "measured", "said_by_others", "within"]

LIMIT = 60
"""Seconds for each who is asked."""

ROUNDINGS = 64.0
"""A plant counts where it changes an entry by more than so many roundings of it, and by more than so many
times what the last bits of the arguments change."""


class _TimeUpError(BaseException):
    """It is no Exception, as these are taken for the function's."""


@contextlib.contextmanager
def within(seconds: int) -> Iterator[None]:
    def stop(*_: Any) -> None:
        raise _TimeUpError

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


@contextlib.contextmanager
def surroundings(row: Row) -> Iterator[None]:
    """Without warnings, and with JAX's 64-bit types where the arguments have them."""
    with warnings.catch_warnings(), np.errstate(all="ignore"), contextlib.ExitStack() as stack:
        warnings.simplefilter("ignore")
        if row.library == "jax":
            import jax

            stack.enter_context(jax.enable_x64(row.dtype in ("float64", "complex128")))
        yield


# What a plant changes ---------------------------------------------------------------------------------------


def _numpy(value: Any) -> Any:
    if hasattr(value, "detach"):
        import torch

        value = value.detach()
        value = value.to(torch.float64) if value.dtype == torch.bfloat16 else value
        return value.resolve_conj().numpy()
    array = np.asarray(value)
    return array if array.dtype.kind in "fc" else array.astype(np.float64)


def _like(array: Any, other: Any) -> Any:
    if hasattr(other, "detach"):
        import torch

        return torch.from_numpy(np.asarray(array)).to(other.dtype)
    return np.asarray(array).astype(other.dtype)


def _tuple(value: Any) -> tuple[Any, ...]:
    return tuple(value) if isinstance(value, (tuple, list)) else (value,)


def _moved(x: Any, lane: int, unit: float) -> Any:
    """Each entry another number of the dtype, next to it; strides are kept."""
    signs = np.random.default_rng(lane).choice([-1.0, 1.0], tuple(x.shape)) * 2 * unit
    factor = _like(1.0 + signs, x)
    return (
        (x * factor).as_strided(x.shape, x.stride())
        if hasattr(x, "stride") and x.is_contiguous()
        else x * factor
    )


def _answer(library: Library, asked: Asked, xs: Sequence[Any], lane: int) -> list[Any]:
    """The derivative in the mode in which the plant is, along random directions."""
    f = asked.function
    if asked.modes is not None and asked.modes[0] == "fwd":
        return _pushed(library, f, xs, lane)
    product = right_product(library, f)

    def pulled(*xs: Any) -> Any:
        values = _tuple(f(*xs))
        return product(tuple(xs), tuple(_drawn(y, lane, k) for k, y in enumerate(values)))

    if asked.order == 1:
        return [_numpy(g) for g in _of_values(library, pulled, xs)]
    again = right_product(library, pulled)
    shapes = [_like(np.zeros(x.shape), x) for x in xs]
    return [
        _numpy(g) for g in _of_values(library, again, tuple(xs), tuple(_drawn(s, lane, 9) for s in shapes))
    ]


def _of_values(library: Library, f: Callable[..., Any], *arguments: Any) -> tuple[Any, ...]:
    if library == "torch":
        import torch

        def leaf(x: Any) -> Any:
            return x.detach().requires_grad_() if isinstance(x, torch.Tensor) else tuple(map(leaf, x))

        with torch.enable_grad():
            return (
                tuple(f(*map(leaf, arguments[0]))) if len(arguments) == 1 else tuple(f(*map(leaf, arguments)))
            )
    return tuple(f(*arguments[0])) if len(arguments) == 1 else tuple(f(*arguments))


def _drawn(like: Any, lane: int, salt: int) -> Any:
    draw = np.random.default_rng([lane, salt]).uniform(0.5, 1.5, tuple(like.shape))
    return _like(draw, like)


def _pushed(library: Library, f: Callable[..., Any], xs: Sequence[Any], lane: int) -> list[Any]:
    tangents = [_drawn(x, lane, k) for k, x in enumerate(xs)]
    if library == "jax":
        import jax

        return [_numpy(t) for t in _tuple(jax.jvp(f, tuple(xs), tuple(tangents))[1])]
    from torch.autograd import forward_ad

    with forward_ad.dual_level():
        duals = _tuple(f(*[forward_ad.make_dual(x, t) for x, t in zip(xs, tangents, strict=True)]))
        found = [forward_ad.unpack_dual(y) for y in duals]
        return [_numpy(p.primal * 0 if p.tangent is None else p.tangent) for p in found]


@dataclass(frozen=True, slots=True, eq=False)
class _Right:
    """What the right function answers: along two directions, and how far its answer is granted to stray."""

    answers: list[list[Any]]
    granted: list[Any]


def _right(row: Row, asked: Asked) -> _Right:
    unit, xs = row.roundoff, [_still(x) for x in asked.arguments]
    here = [_answer(row.library, asked, xs, lane) for lane in range(2)]
    near = [_answer(row.library, asked, [_moved(x, k, unit) for x in xs], 0) for k in range(1, 4)]
    stray = [np.max([abs(n[k] - x) for n in near], axis=0) for k, x in enumerate(here[0])]
    known = [np.nan_to_num(s, nan=np.inf) for s in stray]
    return _Right(here, [ROUNDINGS * (unit * abs(x) + s) for x, s in zip(here[0], known, strict=True)])


def _still(x: Any) -> Any:
    """As the library's own array, which it differentiates by no more."""
    if hasattr(x, "detach"):
        return x.detach()
    import jax.numpy

    return jax.numpy.asarray(x)


def changes(row: Row, asked: Asked, known: dict[Any, _Right]) -> str:
    """Whether the plant changes a derivative by more than rounding does, or raises: "yes", "no", or why it
    cannot be told. `known` keeps what the row's function answers.
    """
    key = asked.order, asked.modes, asked.right
    try:
        if key not in known:
            f = asked.right or row.function
            known[key] = _right(row, Asked(f, asked.arguments, asked.order, asked.modes))
    except Exception as error:  # noqa: BLE001 - a plant fits where the right function has such a derivative
        return f"the right one raises {type(error).__name__}: {str(error)[:80]}"
    right, xs = known[key], [_still(x) for x in asked.arguments]
    if not all(np.isfinite(x).all() for answer in right.answers for x in answer):
        return "the right one is not finite"
    try:
        there = [_answer(row.library, asked, xs, lane) for lane in range(2)]
    except Exception as error:  # noqa: BLE001 - what some plants do
        raises = {"RuntimeError", "NotImplementedError", "TypeError"}
        meant = type(error).__name__ in raises and "the derivative" in str(error)
        return "yes" if meant else f"the plant raises {type(error).__name__}: {str(error)[:80]}"
    shows = [
        any(np.any(~(abs(y - x) <= g)) for x, y, g in zip(a, b, right.granted, strict=True))
        for a, b in zip(right.answers, there, strict=True)
    ]
    return "yes" if all(shows) else "no"


# What is said -----------------------------------------------------------------------------------------------


def measured(row: Row, asked: Asked) -> dict[str, Any]:
    """gradfuzz's verdict."""
    start, told = time.perf_counter(), dict[str, Any]()
    try:
        with within(LIMIT):
            found = measure_gradient(
                asked.function, *asked.arguments, order=asked.order, framework=row.library
            )
        verdict = "IN PART" if found.in_part else found.verdict.name
        told = {"verdict": verdict, "reason": found.reason, "untraced": found.untraced}
        told |= {"method": found.method or "", "error": found.error_over_allowed, "worst": str(found.worst)}
        told |= {"expected": found.worst_expected, "got": found.worst_got, "modes": "+".join(found.modes)}
    except _TimeUpError:
        told = {"verdict": "TIME", "reason": f"no verdict within {LIMIT} s"}
    except UnsupportedError as error:
        told = {"verdict": "UNSUPPORTED", "reason": str(error)}
    except Exception as error:  # noqa: BLE001 - a fault of gradfuzz's own
        told = {"verdict": "FAULT", "reason": f"{type(error).__name__}: {error}"[:300]}
    return told | {"seconds": round(time.perf_counter() - start, 2)}


def said_by_others(row: Row, asked: Asked) -> dict[str, Any]:
    """What gradcheck or check_grads says: "passes", "accuses", or "not asked" for what it does not take."""
    ask = _gradcheck if row.library == "torch" else _check_grads
    try:
        with within(LIMIT):
            return {"other": ask(row, asked), "other_reason": ""}
    except _TimeUpError:
        return {"other": "not judged", "other_reason": "time"}
    except Exception as error:  # noqa: BLE001 - an error is what both say no with
        return {"other": "accuses", "other_reason": f"{type(error).__name__}: {str(error)[:200]}"}


def _gradcheck(row: Row, asked: Asked) -> str:
    import torch

    if any(x.dtype not in (torch.float64, torch.complex128) for x in asked.arguments):
        return "not asked"
    xs = tuple(x.detach().requires_grad_() for x in asked.arguments)
    forward = asked.modes is not None and "fwd" in asked.modes
    torch.autograd.gradcheck(asked.function, xs, check_forward_ad=forward)
    if asked.order == 2:
        torch.autograd.gradgradcheck(asked.function, xs)
    return "passes"


def _check_grads(row: Row, asked: Asked) -> str:
    from jax.test_util import check_grads

    modes = asked.modes or (("fwd",) if "forward mode only" in row.tags else ("rev",))
    check_grads(asked.function, asked.arguments, order=asked.order, modes=modes)
    return "passes"


# The cases --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class Case:
    row: Row
    plant: Plant | None
    """None: a right function."""
    wrapped: bool = False
    """Whether the right derivative is given by a custom rule."""

    @property
    def key(self) -> str:
        what = self.plant.kind if self.plant else "right, as a custom rule" if self.wrapped else "right"
        return f"{self.row.library}: {self.row.name} | {what}"

    def asked(self) -> Asked | None:
        if self.plant is not None:
            return self.plant.make(self.row)
        if self.wrapped:
            return Asked(planted(self.row.library, self.row.function), self.row.arguments)
        return Asked(self.row.function, self.row.arguments)


def cases(row: Row, seed: int, count: int, kinds: Sequence[str] | None = None) -> Iterator[tuple[Case, str]]:
    """The right function, as it is and by a custom rule, and the first `count` plants in a drawn order that
    change its derivative, each with "yes"; those that do not fit with the reason.
    """
    known: dict[Any, _Right] = {}
    wrapped = Case(row, None, wrapped=True)
    fits = _fits(wrapped, known)
    yield Case(row, None), "yes"
    yield wrapped, "yes" if fits == "no" else fits
    place = [seed, *row.library.encode(), *row.name.encode()]
    taken = 0
    for k in np.random.default_rng(place).permutation(len(PLANTS)):
        plant = PLANTS[k]
        if taken == count or (kinds is not None and plant.kind not in kinds):
            continue
        if plant.at_places and "at a kink" in row.tags:
            continue
        case = Case(row, plant)
        fits = _fits(case, known)
        if fits is None:
            continue
        taken += fits == "yes"
        yield case, fits


def _fits(case: Case, known: dict[Any, _Right]) -> str | None:
    """What `changes` says, or that it took too long; None where the plant does not fit by its form."""
    asked = case.asked()
    if asked is None:
        return None
    try:
        with within(LIMIT):
            return changes(case.row, asked, known)
    except _TimeUpError:
        return "time"
