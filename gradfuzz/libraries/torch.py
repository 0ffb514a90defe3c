"""Torch: torch.autograd.grad and forward_ad; torch.func for nested modes."""

from __future__ import annotations

import contextlib
import functools
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
import torch.utils.checkpoint
from torch.autograd import forward_ad
from torch.overrides import TorchFunctionMode, resolve_name

from gradfuzz.errors import SideEffectError
from gradfuzz.libraries.library import (
    ArrayFunction,
    Differentiated,
    Forms,
    Library,
    LibraryName,
    Scalar,
    Wanted,
)
from gradfuzz.libraries.objects import GENERATORS, Generator, Opened, of_keras, opened_by
from gradfuzz.libraries.watching import Note
from gradfuzz.libraries.ways import AskedWay
from gradfuzz.oracles.base import Array, Mode
from gradfuzz.oracles.emit.plain_source import plain_source
from gradfuzz.oracles.lacks import Lack
from gradfuzz.oracles.torch.derivatives import by_autograd, by_func, by_reverse, each_direction
from gradfuzz.private_names import private
from gradfuzz.programs.graphs.graph import Graph
from gradfuzz.programs.language.precision import FORMATS, Precision
from gradfuzz.programs.language.program import Program
from gradfuzz.tracing.common.leaves import leaves_of
from gradfuzz.tracing.common.units import Unit

# The DeprecationWarning of Torch's first forward derivative would count as an error of the tested function.
with warnings.catch_warnings(), forward_ad.dual_level():
    warnings.simplefilter("ignore")
    forward_ad.make_dual(torch.zeros(()), torch.zeros(()))

_LACKS = (
    Lack(
        "jvp function for custom autograd.Function", "the documents of torch.autograd.Function.jvp", fwd=True
    ),
    Lack("Trying to use forward AD with", "tools/autograd/derivatives.yaml", fwd=True),
    Lack("marked with @once_differentiable", "torch.autograd.function.once_differentiable", many=True),
    # A function of a derivative has no formula
    Lack("is not implemented", "torch/csrc/autograd/functions/basic_ops.h", many=True),
    # torch.func, by which forward mode is nested
    Lack("override the setup_context", "Extending torch.func with autograd.Function", fwd=True),
    Lack("generate_vmap_rule", "Extending torch.func with autograd.Function", fwd=True),
    # What is in forward mode itself, by forward_ad: torch.func does not nest it either
    Lack("Nested forward mode AD", "the documents of torch.autograd.forward_ad", fwd=True),
    # torch.autograd.grad inside the function does not see the levels of torch.func
    Lack("does not require grad and does not have a grad_fn", "the documents of torch.func.grad", fwd=True),
    Lack(
        "donated buffers", "torch/_functorch/_aot_autograd/runtime_wrappers.py", ways="autograd.grad (twice)"
    ),
    Lack("When use_reentrant=True", "the documents of torch.utils.checkpoint", rev=True),
    Lack("support saved tensor hooks", "torch/_functorch/eager_transforms.py", ways="torch.func"),
    Lack("support saved tensor hooks", "torch/_functorch/eager_transforms.py", ways="torch.utils.checkpoint"),
    Lack("No working C++ compiler", "the documents of torch.compile", ways="torch.compile"),
    Lack("Nested forward mode AD", "the documents of torch.autograd.forward_ad", ways="autograd.forward_ad"),
    Lack("override the setup_context", "Extending torch.func with autograd.Function", ways="torch.func"),
    Lack("generate_vmap_rule", "Extending torch.func with autograd.Function", ways="torch.func"),
    Lack("does not require grad and does not have a grad_fn", "torch.func.grad", ways="torch.func"),
    Lack("vmap: It looks like you", "UX Limitations of torch.func", ways="torch.func"),
    Lack("vmap: called random operation", "UX Limitations of torch.func", ways="torch.func"),
)

_AUTOGRAD = "gradient_by_autograd"

_WAYS = (
    AskedWay("autograd.grad", "gradients(*followed(f, xs, ws))", inner=_AUTOGRAD),
    AskedWay("autograd.grad (twice)", "second(*followed(f, xs, ws))", inner=_AUTOGRAD),
    AskedWay("autograd.grad (of the sum)", "of_sum(*followed(f, xs, ws))", inner=_AUTOGRAD),
    AskedWay("autograd.grad(is_grads_batched=True)", "batched(*followed(f, xs, ws))", inner=_AUTOGRAD),
    AskedWay("backward", "backward(*followed(f, xs, ws))", inner=_AUTOGRAD),
    AskedWay(
        "torch.utils.checkpoint",
        "backward(*followed(checkpointed(f), xs, ws))",
        inner=_AUTOGRAD,
    ),
    AskedWay("torch.func.grad", "torch.func.grad(g, argnums)(*xs)"),
    AskedWay("torch.func.vjp", "torch.func.vjp(f, *xs)[1](ws)"),
    AskedWay("torch.func.jacrev", "times(ws, torch.func.jacrev(f, argnums)(*xs))"),
    AskedWay(
        "torch.vmap(torch.func.grad)",
        "[x[0] for x in torch.vmap(torch.func.grad(g, argnums))(*map(doubled, xs))]",
        refusals=("doesn't match the broadcast shape",),  # rows that are written into what is no row
    ),
    AskedWay("autograd.forward_ad", "each(lambda *vs: dual_slope(g, xs, vs), xs)", ("fwd",)),
    AskedWay("torch.func.jvp", "each(lambda *vs: torch.func.jvp(g, xs, vs)[1], xs)", ("fwd",)),
    AskedWay("torch.func.jacfwd", "torch.func.jacfwd(g, argnums)(*xs)", ("fwd",)),
    AskedWay("torch.func.hessian", "times(vs, torch.func.hessian(g, argnums)(*xs))", ("rev", "fwd")),
    AskedWay("torch.compile(torch.func.grad)", "torch.compile(torch.func.grad(g, argnums))(*xs)", slow=True),
    AskedWay(
        'torch.compile(torch.func.grad, backend="aot_eager")',
        'torch.compile(torch.func.grad(g, argnums), backend="aot_eager")(*xs)',
    ),
    AskedWay(
        "torch.compile(torch.func.jacfwd)",
        "torch.compile(torch.func.jacfwd(g, argnums))(*xs)",
        ("fwd",),
        slow=True,
    ),
    AskedWay(
        'torch.compile(torch.func.jvp, backend="aot_eager")',
        'each(torch.compile(lambda *vs: torch.func.jvp(g, xs, vs)[1], backend="aot_eager"), xs)',
        ("fwd",),
    ),
)


_VIEWS = (
    *("torch::autograd::AccumulateGrad", "ViewBackward", "UnsafeViewBackward", "TransposeBackward"),
    *("TBackward", "PermuteBackward", "SelectBackward", "SliceBackward", "ExpandBackward"),
    *("UnsqueezeBackward", "SqueezeBackward", "CloneBackward", "ViewAsRealBackward", "ToCopyBackward"),
)
"""How the nodes begin that every call may have."""


# Shown in scripts -------------------------------------------------------------------------------------------


def leaves(result: Any) -> list[Any]:
    if isinstance(result, dict):
        result = list(result.values())
    if isinstance(result, (list, tuple)):
        return [y for part in result for y in leaves(part)]
    is_tensor = isinstance(result, torch.Tensor)
    return [result] if is_tensor and (result.is_floating_point() or result.is_complex()) else []


def total(y: Any) -> Any:
    return (y.real if y.is_complex() else y).sum()


def real_parts(ys: Any) -> list[Any]:
    return [part for y in ys for part in ((y.real, y.imag) if y.is_complex() else (y,))]


def doubled(x: Any) -> Any:
    return torch.stack([x, 1.25 * x])


def gradient(g: Any, xs: Any) -> Any:
    return torch.func.grad(g, tuple(range(len(xs))))(*xs)


def slope(g: Any, xs: Any, directions: Any) -> Any:
    return torch.func.jvp(g, tuple(xs), tuple(directions))[1]


def gradient_by_autograd(g: Any, xs: Any) -> Any:
    xs = [x if x.requires_grad else x.clone().requires_grad_() for x in xs]
    return torch.autograd.grad(g(*xs), xs, create_graph=True, materialize_grads=True)


def weighted(f: Any, ws: Any) -> Any:
    return lambda *xs: sum((w * y).sum() for w, y in zip(ws, f(*xs), strict=True))


def times(ws: Any, rows: Any) -> Any:
    def by(k: Any) -> Any:
        pairs = [(w, row[k]) for w, row in zip(ws, rows, strict=True)]
        return sum(torch.tensordot(w.to(r.dtype), r, w.ndim) for w, r in pairs)

    return [by(k) for k, _ in enumerate(rows[0])]


def each(push: Any, xs: Any) -> Any:
    found = [torch.zeros(x.shape, dtype=x.dtype) for x in xs]
    for k, slopes in enumerate(found):
        for i in range(slopes.numel()):
            units = [torch.zeros_like(x) for x in found]
            units[k].view(-1)[i] = 1.0
            slopes.view(-1)[i] = push(*units).detach()
    return found


def dual_slope(g: Any, xs: Any, vs: Any) -> Any:
    duals = torch.autograd.forward_ad
    with duals.dual_level():
        y = g(*[duals.make_dual(x, v) for x, v in zip(xs, vs, strict=True)])
        slope = duals.unpack_dual(y).tangent
        return torch.zeros(()) if slope is None else slope


def followed(f: Any, xs: Any, ws: Any) -> Any:
    xs = [x.detach().requires_grad_() for x in xs]
    pairs = [(y, w) for y, w in zip(f(*xs), ws, strict=True) if y.requires_grad]
    return [y for y, _ in pairs], xs, [w for _, w in pairs]


def checkpointed(f: Any) -> Any:
    return lambda *xs: torch.utils.checkpoint.checkpoint(f, *xs, use_reentrant=False)


def gradients(ys: Any, xs: Any, ws: Any, **how: Any) -> Any:
    found = torch.autograd.grad(ys, xs, ws, allow_unused=True, **how) if ys else [None] * len(xs)
    return [torch.zeros_like(x) if slope is None else slope for x, slope in zip(xs, found, strict=True)]


_ALONE = 4
"""Of at most so many results each is differentiated alone, too."""


def _must_stand_alone(ys: Sequence[Any], xs: Sequence[Any], ws: Sequence[Any]) -> None:
    """`SideEffectError` where the gradient of one result is another one beside zeros for the others. A
    backward that says `set_materialize_grads(False)` has None for what is not used.
    """
    for k in range(len(ys)):
        alone = gradients([ys[k]], xs, [ws[k]], retain_graph=True)
        rest = [w if j == k else torch.zeros_like(w) for j, w in enumerate(ws)]
        for one, other in zip(alone, gradients(ys, xs, rest, retain_graph=True), strict=True):
            known = torch.isfinite(one) & torch.isfinite(other)
            a, b = one[known], other[known]
            room = torch.finfo(one.dtype).eps ** 0.5
            if a.numel() and torch.max(torch.abs(a - b)) > room * torch.max(torch.abs(b)):
                beside = "than beside zeros for the other results"
                raise SideEffectError(f"the gradient of result {k} alone is another one {beside}")


def second(ys: Any, xs: Any, ws: Any) -> Any:
    gradients(ys, xs, ws, retain_graph=True)
    return gradients(ys, xs, ws)


def of_sum(ys: Any, xs: Any, ws: Any) -> Any:
    ones = [torch.ones((), dtype=y.dtype).expand(y.shape) for y in ys]  # as sum() has it
    rest = gradients(ys, xs, [w - one for w, one in zip(ws, ones, strict=True)], retain_graph=True)
    return [a + b for a, b in zip(rest, gradients(ys, xs, ones), strict=True)]


def batched(ys: Any, xs: Any, ws: Any) -> Any:
    found = gradients(ys, xs, [doubled(w) for w in ws], is_grads_batched=True)
    return [slope if slope.ndim == x.ndim else slope[0] for x, slope in zip(xs, found, strict=True)]


def backward(ys: Any, xs: Any, ws: Any) -> Any:
    if ys:
        torch.autograd.backward(ys, ws)
    return [torch.zeros_like(x) if x.grad is None else x.grad for x in xs]


# ------------------------------------------------------------------------------------------------------------


_GENERATORS = (
    Generator(
        *("torch", torch.get_rng_state, torch.set_rng_state, lambda: torch.manual_seed(0)),
        lambda state: state.numpy().tobytes(),
    ),
    Generator(
        "torch.cuda",
        lambda: torch.cuda.get_rng_state_all() if torch.cuda.is_initialized() else [],
        torch.cuda.set_rng_state_all,
        lambda: None,  # torch.manual_seed does it
        lambda states: [state.numpy().tobytes() for state in states],
    ),
)


class TorchLibrary(Library):
    name: LibraryName = "torch"
    version = str(torch.__version__)
    classes = (torch.Tensor,)
    lacks = _LACKS
    ways = _WAYS
    helpers = (
        *("total", "doubled", "weighted", "times", "each", "dual_slope", "followed", "gradients", "second"),
        *("batched", "backward", "checkpointed"),
    )
    twice = "autograd.grad (twice)"
    pushes = True
    draws_to = 5e-3  # what its own tests ask of them: test/distributions/test_distributions.py
    refusals = (
        *("The derivative of", "derivative for", "not differentiable", "not implemented", "not support"),
        *("doesn't support", "Cannot access data pointer", "vmap:", "data-dependent", "in-place"),
        *("non-zero size", "ill-defined", "does not currently support", "donated buffers"),
    )
    forms = Forms(
        header="import torch",
        sin="torch.sin",
        array="torch.tensor({entries}, dtype={dtype})",
        zeros="torch.zeros({shape}, dtype={dtype})",
        dtype="torch.{name}",
        pair="torch.complex({re}, {im})",
        transposed="{x}.transpose(-1, -2)",
        expanded="{x}.expand({shape})",
        parts="torch",
        mapped="torch.vmap({f})",
        compiled='torch.compile({f}, backend="aot_eager", dynamic=False)',
        seed="torch.manual_seed(0)",
        cast="w.to(x.dtype)",
        of_form={
            "symmetric": "({x} + {x}.transpose(-1, -2)) / 2",
            "lower": "torch.tril({x})",
            "upper": "torch.triu({x})",
            "unit norm": "{x} / torch.linalg.vector_norm({x}, dim=-1, keepdim=True)",
            "simplex": "{x} / torch.sum({x}, dim=-1, keepdim=True)",
        },
    )

    generators = (*GENERATORS, *_GENERATORS)

    def opened(self, f: Callable[..., Any], args: Mapping[str, Any]) -> Opened | None:
        return opened_by(f, (of_keras,)) or _of_modules(f, args)

    def fixed(self, x: Any) -> Any:
        """Detached, though nothing is hidden by it, so that whoever watches calls is not told."""
        if not isinstance(x, torch.Tensor):
            return x
        with private("torch._C.DisableTorchFunction")():
            return x.detach()

    def computes_in(self, call: ArrayFunction, arrays: Sequence[Any]) -> frozenset[str]:
        with _Dtypes(arrays) as seen:
            call(*arrays)
        return frozenset(str(dtype).removeprefix("torch.") for dtype in seen.dtypes)

    def prepared(self, call: ArrayFunction) -> ArrayFunction:
        """A function may itself differentiate by its arguments, so they always require a gradient."""
        return lambda *arrays: call(
            *[a.requires_grad_().clone() if a.is_floating_point() else a for a in arrays]
        )

    def without_derivative(
        self, leaves: Callable[..., Sequence[Any]], arrays: Sequence[Any]
    ) -> frozenset[int]:
        followed = [a.requires_grad_().clone() if a.is_floating_point() else a for a in arrays]
        with torch.enable_grad(), _Undifferentiated() as seen:
            found = leaves(*followed)
        hidden = frozenset(k for k, leaf in enumerate(found) if seen.has(leaf))
        rest = [leaf for k, leaf in enumerate(found) if k not in hidden]
        return hidden if any(map(_is_float, rest)) else frozenset()

    def array(self, value: Array, like: Any = None) -> Any:
        if isinstance(value, torch.Tensor):
            return value
        value = np.array(value)  # tensors share the memory of their array, and need it writable
        if value.dtype == FORMATS["bfloat16"].dtype:
            tensor = torch.from_numpy(value.view(np.int16)).view(torch.bfloat16)
        else:
            tensor = torch.from_numpy(value)
        return tensor.to(like.device) if isinstance(like, torch.Tensor) else tensor

    def like(self, value: Array, other: Any) -> Any:
        return self.array(value, other).to(other.dtype)

    def numpy(self, value: Any) -> Array:
        if not isinstance(value, torch.Tensor):
            return np.asarray(value)
        if value.layout is not torch.strided:  # the gradient of an embedding may be sparse
            value = value.to_dense()
        value = value.detach().cpu().resolve_conj().resolve_neg().clone()  # a known zero has no memory yet
        if value.dtype == torch.bfloat16:
            return np.asarray(value.contiguous().view(torch.int16).numpy().view(FORMATS["bfloat16"].dtype))
        return np.asarray(value.numpy())

    def dtype_name(self, value: Any) -> str | None:
        return str(value).removeprefix("torch.") if isinstance(value, torch.dtype) else None

    def is_complex(self, value: Any) -> bool:
        return bool(torch.is_complex(value))

    def derivative(self, f: ArrayFunction, xs: Sequence[Any], wanted: Wanted) -> Differentiated:
        modes = wanted.modes
        cotangents = [None if w is None else self.like(w, xs[0]) for w in wanted.weights]
        along = [self.like(v, xs[0]) for v in wanted.directions]
        if "fwd" not in modes:
            try:
                return by_reverse(f, xs, cotangents, along, len(modes))
            except RuntimeError as error:
                if "When use_reentrant=True" not in str(error) or len(modes) > 1:
                    raise  # a checkpoint of this kind is asked by `backward` alone
                outputs = f(*(xs := [x.detach().requires_grad_() for x in xs]))
                pairs = [(y, w) for y, w in zip(outputs, cotangents, strict=True) if w is not None]
                active = [(y, w) for y, w in pairs if y.requires_grad]
                reached = [id(getattr(node, "variable", None)) for node in _nodes(y for y, _ in active)]
                if not {id(x) for x in xs} <= {*reached}:  # what a module holds is recomputed by what it had
                    raise
                return outputs, backward([y for y, _ in active], xs, [w for _, w in active])

        def of_one_dtype(*xs: Any) -> tuple[Any, ...]:
            return tuple(y.to(xs[0].dtype) if y.is_floating_point() else y for y in f(*xs))

        if modes.count("fwd") == 1:
            try:
                return by_autograd(_for_duals(f), xs, cotangents, along, modes)
            except RuntimeError as error:
                _must_nest(error)
            if modes[-1] == "fwd":
                return f(*xs), _one_by_one(self.nested(of_one_dtype, xs, wanted), xs)
        try:
            return f(*xs), by_func(of_one_dtype, xs, cotangents, along, modes)
        except Exception as error:
            # no vmap took part, or there is no such mode
            if modes[-1] == "rev" or self.refusal(error, modes):
                raise
            return f(*xs), _one_by_one(self.nested(of_one_dtype, xs, wanted), xs)

    def derivative_twice(self, f: ArrayFunction, xs: Sequence[Any], wanted: Wanted) -> Differentiated:
        cotangents = [None if w is None else self.like(w, xs[0]) for w in wanted.weights]
        xs = [x.detach().requires_grad_() for x in xs]
        outputs = f(*xs)
        pairs = zip(outputs, cotangents, strict=True)
        active = [(y, w) for y, w in pairs if w is not None and y.requires_grad]
        about = [y for y, _ in active], xs, [w for _, w in active]
        first = [g.clone() for g in gradients(*about, retain_graph=True)]  # the second may write into it
        if 1 < len(active) <= _ALONE:
            _must_stand_alone(*about)
        return outputs, [*first, *gradients(*about)]

    def derivative_by(
        self, way: AskedWay, f: ArrayFunction, xs: Sequence[Any], wanted: Wanted
    ) -> Differentiated:
        """After eight functions of one code Torch would compile no more of them, and not say so."""
        if "compile" not in way.form:
            return super().derivative_by(way, f, xs, wanted)
        torch.compiler.reset()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # those of the compiler about itself
            return super().derivative_by(way, f, xs, wanted)

    def inner(self, xs: Sequence[Any], ys: Sequence[Any], like: Any) -> Any:
        terms = [(x * y).sum() for x, y in zip(xs, ys, strict=True)]
        return sum(terms, torch.zeros((), dtype=like.dtype))

    def push(
        self, f: ArrayFunction, xs: Sequence[Any], wanted: Wanted, probe: Sequence[Array]
    ) -> tuple[Sequence[Any], Any] | None:
        if len(wanted.modes) > 1:
            return None
        like = xs[0]
        cotangents = [None if w is None else self.like(w, like) for w in wanted.weights]
        along = [self.like(v, x) for v, x in zip(probe, xs, strict=True)]
        with forward_ad.dual_level():
            try:
                duals = _for_duals(f)(*[forward_ad.make_dual(*pair) for pair in zip(xs, along, strict=True)])
            except RuntimeError as error:
                _must_nest(error)
                return None
            outputs, slope = [], torch.zeros((), dtype=like.dtype)
            for y, w in zip(duals, cotangents, strict=True):
                primal, tangent = (y, None) if w is None else forward_ad.unpack_dual(y)
                outputs.append(primal)
                if tangent is not None:
                    slope = slope + (tangent * w).sum()
        return outputs, slope

    def traced(
        self, call: ArrayFunction, arrays: Sequence[Array], rounded: Precision | None = None
    ) -> Program:
        from gradfuzz.tracing.torch.trace import traced

        return traced(call, arrays, rounded)

    def held(self, call: ArrayFunction, xs: Sequence[Any], holding: Sequence[Any]) -> Sequence[Any]:
        from gradfuzz.tracing.torch.held import held

        return held(call, xs, holding)

    def by_quantiles(self, call: ArrayFunction, xs: Sequence[Any], holding: Sequence[Any]) -> Sequence[Any]:
        from gradfuzz.tracing.torch.held import by_quantiles

        return by_quantiles(call, xs, holding)

    def by_documents(self, call: ArrayFunction, xs: Sequence[Any], holding: Sequence[Any]) -> Sequence[Any]:
        from gradfuzz.tracing.torch.held import by_documents

        return by_documents(call, xs, holding)

    def graph(self, call: Callable[..., Any], arrays: Sequence[Array], *, derivative: bool = False) -> Graph:
        from gradfuzz.tracing.torch.trace import traced_graph

        return traced_graph(call, arrays, derivative=derivative)

    def units(self, call: Callable[..., Any], arrays: Sequence[Array], mode: Mode) -> Iterable[Unit]:
        from gradfuzz.tracing.torch.units import units

        return units(call, arrays, mode)

    def watched(self, note: Note, names: frozenset[str]) -> contextlib.AbstractContextManager[None]:
        return _Watching(note, names)

    def fresh(self, x: Any) -> Any:
        return x.clone()

    def followed(self, f: Callable[..., Any], arrays: Sequence[Any]) -> tuple[int, ...] | None:
        results = f(*[x.detach().requires_grad_() for x in arrays])
        found = tuple(k for k, y in enumerate(results) if y.requires_grad)
        return found if len(found) < len(results) else None

    def check(self, f: Callable[..., Any], arrays: Sequence[Any]) -> None:
        with torch.no_grad():
            f(*arrays)

    def random_state(self) -> object:
        return torch.get_rng_state().numpy().tobytes()

    def rules(self, f: Callable[..., Any], arrays: Sequence[Any]) -> tuple[str, ...]:
        """The names of the nodes of autograd's graph, without those that only look at an array otherwise."""
        inputs = [x.detach().requires_grad_() for x in arrays]
        found = {node.name() for node in _nodes(leaves(f(*inputs)))}
        return tuple(sorted(name for name in found if not name.startswith(_VIEWS)))

    def slope_source(self, modes: Sequence[Mode]) -> str:
        """torch.func takes no autograd.Function without setup_context; torch.autograd.grad takes any."""
        source = super().slope_source(modes)
        if "fwd" in modes:
            return source
        own = plain_source(gradient_by_autograd).replace("gradient_by_autograd", "gradient")
        return source.replace(plain_source(gradient), own)


def _must_nest(error: RuntimeError) -> None:
    """Raises an error but that of torch.autograd.forward_ad about a function that is in forward mode itself,
    as one with torch.func.hessian inside: torch.func nests, and forward_ad does not.
    """
    if "Nested forward mode AD" not in str(error):
        raise error


def _for_duals(f: ArrayFunction) -> ArrayFunction:
    """The function for dual numbers. As in torch.func.jvp they require no gradient: TorchScript drops the
    tangents of those that do, from its second run on. A function that differentiates by its arguments itself
    needs it, and Torch says so. Where tangents are lost, it is asked with gradients, too: a custom op without
    forward mode says so then. What has tangents then counts, if the function makes arguments of its own
    require gradients, as torch.autograd.functional does: torch.func refuses it.
    """

    def of_duals(*xs: Any) -> tuple[Any, ...]:
        found: tuple[Any, ...] | None = None
        try:
            found = f(*xs)
            slopes = [forward_ad.unpack_dual(y).tangent for y in found if _is_float(y)]
            if xs[0].requires_grad or all(slope is not None for slope in slopes):
                return found
        except RuntimeError as error:
            if "require grad" not in str(error):
                raise
        plain = [forward_ad.unpack_dual(x).primal.detach() for x in xs]
        again: tuple[Any, ...] = f(*[x.requires_grad_() for x in xs])
        return again if found is None or _sets_requires_grad(f, plain) else found

    return of_duals


def _sets_requires_grad(f: ArrayFunction, xs: Sequence[torch.Tensor]) -> bool:
    try:
        torch.func.vjp(lambda _: f(*xs), torch.zeros(()))
    except Exception as error:  # noqa: BLE001 - a function may raise anything there
        return "Tensor.requires_grad_()" in str(error)
    return False


def _one_by_one(g: Scalar, xs: Sequence[torch.Tensor]) -> Sequence[torch.Tensor]:
    """The gradient in forward mode along one unit direction after the other: not every function may be called
    under the vmap of torch.func.jacfwd.
    """

    def derivative(tangents: Sequence[torch.Tensor]) -> tuple[Sequence[Any], Sequence[torch.Tensor]]:
        return (), (slope(g, xs, tangents),)

    return each_direction(derivative, xs)[1]


class _Bundle(torch.nn.Module):
    """Calls a function that calls modules."""

    def __init__(self, f: Callable[..., Any], modules: Sequence[torch.nn.Module]) -> None:
        super().__init__()
        self._f = [f]  # not as a part, if it is a module
        for k, module in enumerate(modules):
            self.add_module(f"m{k}", module)

    def forward(self, *args: Any, **options: Any) -> Any:
        return self._f[0](*args, **options)


def _of_modules(f: Callable[..., Any], args: Mapping[str, Any]) -> Opened | None:
    """A function that is a module, a method of one, or takes some. It is differentiated by their parameters,
    but for frozen ones, and writes into copies of their buffers.
    """
    inner = f
    while isinstance(inner, functools.partial):
        first = {f"arg{k}": value for k, value in enumerate(inner.args)}
        args, inner = {**first, **inner.keywords, **args}, inner.func
    held = [leaf for name, value in args.items() for leaf in leaves_of(value, name)]
    named = [("", getattr(inner, "__self__", inner)), *held]
    modules = {id(m): (path, m) for path, m in reversed(named) if isinstance(m, torch.nn.Module)}
    if not modules:
        return None
    paths, parts = zip(*reversed(modules.values()), strict=True)
    bundle = _Bundle(f, parts)
    buffers = dict(bundle.named_buffers())
    found = {**dict(bundle.named_parameters()), **buffers}
    names = [*found]

    def told(name: str) -> str:
        part, _, rest = name.partition(".")
        path = paths[int(part.removeprefix("m"))]
        return f"{path}.{rest}" if path else rest

    def made(new: Sequence[Any]) -> Callable[..., Any]:
        pairs = zip(names, new, strict=True)
        state = {n: t.clone() if n in buffers else _hooked(t, found[n]) for n, t in pairs}
        return lambda *args, **options: torch.func.functional_call(bundle, state, args, options)

    state = [(told(name), found[name].detach()) for name in names]
    return Opened(state, [found[name].requires_grad for name in names], made)


def _hooked(x: Any, parameter: torch.Tensor) -> Any:
    """`x` in the place of a parameter, with the hooks that its gradient goes through."""
    hooks = getattr(parameter, "_backward_hooks", None)  # no public name tells of them
    if not (hooks and x.requires_grad):
        return x
    x = x.view_as(x)
    for hook in hooks.values():
        x.register_hook(hook)
    return x


class _Dtypes(TorchFunctionMode):
    """Sees the float dtypes of what is computed from tensors."""

    def __init__(self, tensors: Sequence[torch.Tensor]) -> None:
        super().__init__()
        self.dtypes: set[torch.dtype] = set()
        self._made = {id(t): t for t in tensors}

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        if any(id(t) in self._made for _, t in leaves_of((args, kwargs))):
            floats = [t for _, t in leaves_of(result) if _is_float(t)]
            self._made.update({id(t): t for t in floats})
            self.dtypes.update(t.dtype for t in floats if not t.is_complex())
        return result


class _Undifferentiated(TorchFunctionMode):
    """Keeps the results that Torch itself does not differentiate.

    A function of Torch that returns several floats, of which autograd follows some only, says so of the
    others (`output_differentiability` in Torch's table of derivatives), as native_batch_norm does of the
    saved mean. What is computed of these alone counts as well. `detach` and `no_grad` hide all that they
    return, which is said by whoever calls them.
    """

    def __init__(self) -> None:
        super().__init__()
        self._found: list[torch.Tensor] = []

    def has(self, value: Any) -> bool:
        return any(value is one for one in self._found)

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        result = func(*args, **kwargs)
        floats = [t for _, t in leaves_of(result) if _is_float(t)]
        hidden = [t for t in floats if not t.requires_grad]
        if torch.is_grad_enabled() and hidden:
            given = [t for _, t in leaves_of((args, kwargs)) if _is_float(t)]
            made = any(map(self.has, given)) and not any(t.requires_grad for t in given)
            if made or len(hidden) < len(floats):
                self._found += hidden
        return result


def _nodes(ys: Iterable[Any]) -> set[Any]:
    """The nodes of autograd's graph behind some results."""
    waiting, found = [y.grad_fn for y in ys], set[Any]()
    while waiting:
        node = waiting.pop()
        if node is not None and node not in found:
            found.add(node)
            waiting += [inner for inner, _ in node.next_functions]
    return found


def _is_float(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and (value.is_floating_point() or value.is_complex())


class _Watching(TorchFunctionMode):
    """Tells of every call of Torch that Python makes, methods and operators among them."""

    def __init__(self, note: Note, names: frozenset[str]) -> None:
        super().__init__()
        self._note = note
        self._names = names

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        name = resolve_name(func)
        if name in self._names:
            self._note(name, args, kwargs)
        return func(*args, **kwargs)
