"""Calls for rows of Torch's table of derivatives that no drawn call reaches, or reaches where they have a
derivative.
"""
# ruff: noqa: SLF001 - many a row has no public name

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import torch
from torch.nn import functional

from benchmarks.proofs.written import Draw, Written, apart, between, call

aten = torch.ops.aten

_POSITIVE = partial(between, 0.6, 3.0)

_INSIDE = partial(between, -0.7, 0.7)


def _positive_definite(x: Any) -> Any:
    """A matrix that is symmetric and positive definite."""
    return x @ x.T + 4.0 * torch.eye(len(x), dtype=x.dtype)


def _triangular(x: Any) -> Any:
    """A lower triangular matrix with a positive diagonal."""
    return torch.linalg.cholesky(_positive_definite(x))


def _complex(x: Any) -> Any:
    """A complex number of each two real ones."""
    return torch.view_as_complex(x.contiguous())


def _real(z: Any) -> Any:
    return torch.view_as_real(z.resolve_conj().clone())


def _ints(*values: int) -> Any:
    return torch.tensor(values)


def _in_place(name: str, *rest: Any) -> Callable[..., Any]:
    """A method that writes into x^2, whose result is multiplied by x."""
    return lambda x: getattr(x * x, name)(*rest) * x


def _in_place_by(name: str) -> Callable[..., Any]:
    return lambda x, y: getattr(x * x, name)(y) * x


def _resized(x: Any, mode: str, size: tuple[int, ...], **options: Any) -> Any:
    return functional.interpolate(x, size=size, mode=mode, **options)


def _padded(x: Any, mode: str, size: tuple[int, ...]) -> Any:
    return functional.pad(x, size, mode=mode)


def _of_images() -> Iterator[Written]:
    """Images made larger or smaller, and given a border."""
    sizes: dict[int, tuple[int, ...]] = {1: (6,), 2: (6, 4), 3: (4, 2, 4)}
    shapes: dict[int, tuple[int, ...]] = {1: (1, 2, 3), 2: (1, 1, 3, 2), 3: (1, 1, 2, 3, 2)}
    for axes in (1, 2, 3):
        for mode in ("nearest", "nearest-exact"):
            resized = partial(_resized, mode=mode, size=sizes[axes])
            yield call(f"interpolate {mode} {axes}d", resized, shapes[axes])
    for mode, axes in (("linear", 1), ("bilinear", 2), ("trilinear", 3)):
        resized = partial(_resized, mode=mode, size=sizes[axes])
        yield call(f"interpolate {mode}", resized, shapes[axes])
    yield call("interpolate bicubic", partial(_resized, mode="bicubic", size=(6, 2)), shapes[2])
    for mode in ("bilinear", "bicubic"):
        resized = partial(_resized, mode=mode, size=(2, 3), antialias=True)
        yield call(f"interpolate {mode} with antialiasing", resized, (1, 1, 4, 3))
    for mode in ("reflect", "replicate"):
        for axes in (1, 2, 3):
            padded = partial(_padded, mode=mode, size=(1, 1) * axes)
            yield call(f"pad {mode} {axes}d", padded, shapes[axes])
    yield call("adaptive_avg_pool3d", lambda x: functional.adaptive_avg_pool3d(x, (2, 1, 2)), (1, 1, 3, 2, 3))


def _in_place_calls() -> Iterator[Written]:
    for name in ("eq", "ne", "lt", "le", "gt", "ge"):
        yield call(f"{name}_ of a number", _in_place(f"{name}_", 0.7), (3,))
        yield call(f"{name}_", _in_place_by(f"{name}_"), (3,), (3,))
    yield call("fill_ of a number", _in_place("fill_", 0.5), (3,))
    yield call("fill_", _in_place_by("fill_"), (3,), ())
    yield call("zero_", _in_place("zero_"), (3,))
    yield call("polygamma_", _in_place("polygamma_", 1), _POSITIVE(3))
    yield call("celu_", lambda x: functional.celu_(x * 1.0, 1.5), apart(4))
    yield call("elu_", lambda x: functional.elu_(x * 1.0, 1.5), apart(4))
    yield call("leaky_relu_", lambda x: functional.leaky_relu_(x * 1.0, 0.25), apart(4))
    yield call("threshold_", lambda x: functional.threshold_(x * 1.0, 0.1, 0.5), apart(4))
    yield call("squeeze_", lambda x: (x * x).squeeze_() * x[0], (1, 3))
    yield call("squeeze_ of axes", lambda x: (x * x).squeeze_((0, 2)) * x[0, :, 0], (1, 3, 1))
    yield call("t_", lambda x: (x * x).t_() @ x, (2, 3))
    yield call("as_strided_", lambda x: (x * x).as_strided_((2, 2), (2, 1)) * x[:2, :2], (3, 2))
    yield call("conj_physical_", lambda x: _real(_complex(x * x).conj_physical_() * _complex(x)), (3, 2))


def _of_losses() -> Iterator[Written]:
    signs = [1.0, -1.0, 1.0]

    def soft_margin(x: Any, reduction: str) -> Any:
        return functional.soft_margin_loss(x, torch.tensor(signs).to(x), reduction=reduction)

    for reduction in ("mean", "none"):
        mse, smooth = (
            partial(f, reduction=reduction) for f in (functional.mse_loss, functional.smooth_l1_loss)
        )
        yield call(f"mse_loss {reduction}", mse, (3,), (3,))
        yield call(f"smooth_l1_loss {reduction}", smooth, apart(4), (4,))
        yield call(f"soft_margin_loss {reduction}", partial(soft_margin, reduction=reduction), (3,))
    yield call(
        "binary_cross_entropy",
        lambda x: functional.binary_cross_entropy(x, torch.tensor([0.25, 1.0, 0.0]).to(x)),
        between(0.3, 0.7, 3),
    )
    yield call("multi_margin_loss", lambda x: functional.multi_margin_loss(x, _ints(1, 0)), apart(2, 3))


def _listed(name: str, *rest: Any) -> Callable[..., Any]:
    """A function of a list of one array."""
    return lambda x: getattr(torch, f"_foreach_{name}")([x], *rest)[0]


def _of_lists() -> Iterator[Written]:
    yield call("foreach_div", lambda x, y: torch._foreach_div([x], [y])[0], (3,), _POSITIVE(3))
    yield call("foreach_mm", lambda x, y: torch._foreach_mm([x], [y])[0], (2, 3), (3, 2))
    yield call("foreach_norm", _listed("norm", 3), (3,))
    yield call("foreach_pow", lambda x, y: torch._foreach_pow([x], [y])[0], _POSITIVE(3), (3,))
    yield call("foreach_pow of numbers", _listed("pow", [3.0]), _POSITIVE(3))
    yield call("foreach_pow of a number", lambda x: torch._foreach_pow(1.5, [x])[0], (3,))
    for name in ("maximum", "minimum"):
        yield call(f"foreach_{name} of a number", _listed(name, 0.1), apart(4))
        yield call(f"foreach_{name} of numbers", _listed(name, [0.1]), apart(4))


def _of_convolutions() -> Iterator[Written]:
    def slow(name: str, axes: int) -> Callable[..., Any]:
        function = getattr(aten, name)
        return lambda x, w, b: function(x, w, w.shape[2:], b, [1] * axes, [0] * axes)

    for name, axes in (
        ("_slow_conv2d_forward", 2),
        ("slow_conv3d_forward", 3),
        ("slow_conv_dilated2d", 2),
        ("slow_conv_dilated3d", 3),
        ("slow_conv_transpose2d", 2),
        ("slow_conv_transpose3d", 3),
    ):
        yield call(name, slow(name, axes), (1, 2, *[3] * axes), (2, 2, *[2] * axes), (2,))
    yield call(
        "_convolution",
        lambda x, w, b: torch._convolution(x, w, b, [1], [0], [1], False, [0], 1, False, False, False, False),
        (1, 2, 4),
        (2, 2, 2),
        (2,),
    )
    yield call("conv_tbc", torch.conv_tbc, (4, 1, 2), (2, 2, 2), (2,))


def _of_norms() -> Iterator[Written]:
    def statistics(x: Any) -> tuple[Any, Any]:
        return torch.tensor([0.25, -0.5]).to(x), torch.tensor([1.5, 0.75]).to(x)

    shapes: tuple[tuple[int, ...], ...] = ((3, 2), (2,), (2,))
    yield call(
        "_native_batch_norm_legit",
        lambda x, w, b: aten._native_batch_norm_legit(x, w, b, *statistics(x), True, 0.1, 1e-3)[0],
        *shapes,
    )
    yield call(
        "_native_batch_norm_legit without statistics",
        lambda x, w, b: aten._native_batch_norm_legit(x, w, b, True, 0.1, 1e-3)[0],
        *shapes,
    )
    yield call(
        "_native_batch_norm_legit_no_training",
        lambda x, w, b: aten._native_batch_norm_legit_no_training(x, w, b, *statistics(x), 0.1, 1e-3)[0],
        *shapes,
    )
    yield call(
        "_batch_norm_with_update",
        lambda x, w, b: aten._batch_norm_with_update(x, w, b, *statistics(x), 0.1, 1e-3)[0],
        *shapes,
    )
    yield call(
        "_batch_norm_no_update",
        lambda x, w, b: aten._batch_norm_no_update(x, w, b, *statistics(x), 0.1, 1e-3)[0],
        *shapes,
    )
    yield call("_fused_rms_norm", lambda x, w: aten._fused_rms_norm(x, [3], w, 1e-3)[0], (2, 3), (3,))
    yield call("_weight_norm_interface", lambda v, g: aten._weight_norm_interface(v, g, 0)[0], (2, 3), (2, 1))
    yield call("norm of order 3", lambda x: aten.norm.Scalar(x, 3), (3,))
    yield call("norm with a dtype", lambda x: aten.norm.ScalarOpt_dtype(x, 3, dtype=torch.float64), (3,))
    yield call(
        "norm along an axis with a dtype",
        lambda x: aten.norm.ScalarOpt_dim_dtype(x, 3, [1], False, dtype=torch.float64),
        (2, 3),
    )


def _of_matrices() -> Iterator[Written]:
    yield call("cholesky", lambda x: torch.cholesky(_positive_definite(x)), (3, 3))
    yield call("linalg_cholesky_ex", lambda x: torch.linalg.cholesky_ex(_positive_definite(x))[0], (3, 3))
    yield call("cholesky_inverse", lambda x: torch.cholesky_inverse(_triangular(x)), (2, 2))
    yield call("cholesky_solve", lambda x, b: torch.cholesky_solve(b, _triangular(x)), (2, 2), (2, 1))
    yield call("eigh", lambda x: [part**2 for part in torch.linalg.eigh(x + x.T)], (3, 3))
    yield call("eigvalsh", lambda x: torch.linalg.eigvalsh(x + x.T), (3, 3))
    yield call("lstsq", lambda x, b: torch.linalg.lstsq(x, b)[0], (3, 2), (3, 1))
    yield call(
        "triangular_solve",
        lambda b, a: torch.triangular_solve(b, _triangular(a), upper=False)[0],
        (2, 1),
        (2, 2),
    )
    yield call("addbmm", torch.addbmm, (2, 2), (2, 2, 3), (2, 3, 2))
    yield call("addr", torch.addr, (2, 3), (2,), (3,))
    yield call("bilinear", functional.bilinear, (2, 2), (2, 3), (2, 2, 3))


def _of_distances() -> Iterator[Written]:
    for p in (1.0, 2.0, 3.0):
        yield call(
            f"cdist of order {p:.0f}",
            partial(torch.cdist, p=p, compute_mode="donot_use_mm_for_euclid_dist"),
            apart(2, 2),
            apart(3, 2),
        )
        yield call(f"pdist of order {p:.0f}", partial(functional.pdist, p=p), apart(3, 2))
    yield call("_euclidean_dist", aten._euclidean_dist, apart(2, 2), apart(3, 2))


def _of_places() -> Iterator[Written]:
    rows = _ints(2, 0)
    yield call("index_copy", lambda x, y: torch.index_copy(x, 0, rows, y), (3, 2), (2, 2))
    for name in ("prod", "mean", "amax", "amin"):
        yield call(
            f"index_reduce {name}",
            lambda x, y, name=name: torch.index_reduce(x, 0, rows, y, name),
            apart(3, 2),
            _POSITIVE(2, 2),
        )
    yield call("scatter_reduce", lambda x, y: torch.scatter_reduce(x, 0, rows, y, "sum"), (4,), (2,))
    for name in ("sum", "mean"):
        yield call(
            f"segment_reduce {name}",
            lambda x, name=name: torch.segment_reduce(x, name, lengths=_ints(2, 3)),
            (5,),
        )
    mask = torch.tensor([True, False, True])
    yield call("masked_scatter", lambda x, y: torch.masked_scatter(x, mask, y), (3,), (2,))
    yield call("_unsafe_index", lambda x: aten._unsafe_index(x, [rows]), (3, 2))
    yield call("_unsafe_index_put", lambda x, y: aten._unsafe_index_put(x, [rows], y), (3, 2), (2, 2))
    yield call(
        "_unsafe_masked_index",
        lambda x: aten._unsafe_masked_index(x, torch.tensor([True, False]), [rows], 0.5),
        (3,),
    )
    yield call(
        "_unsafe_masked_index_put_accumulate",
        lambda x, y: aten._unsafe_masked_index_put_accumulate(x, torch.tensor([True, False]), [rows], y),
        (3,),
        (2,),
    )
    yield call(
        "as_strided_scatter", lambda x, y: torch.as_strided_scatter(x, y, (2, 2), (2, 1)), (3, 2), (2, 2)
    )
    for axes in (2, 3):
        function = getattr(functional, f"fractional_max_pool{axes}d")
        samples = torch.full((1, 1, axes), 0.25, dtype=torch.float64)
        yield call(
            f"fractional_max_pool{axes}d",
            lambda x, function=function, axes=axes, samples=samples: function(
                x, 2, output_size=[2] * axes, _random_samples=samples
            ),
            apart(1, 1, *[axes + 1] * axes),
        )
    yield call(
        "max_unpool2d",
        lambda x: functional.max_unpool2d(x, torch.tensor([[[[0, 3], [8, 14]]]]), 2),
        (1, 1, 2, 2),
    )
    yield call(
        "max_unpool3d",
        lambda x: functional.max_unpool3d(x, torch.tensor([[[[[1, 7]]]]]), (2, 2, 2)),
        (1, 1, 1, 1, 2),
    )


def _of_numbers() -> Iterator[Written]:
    one: list[tuple[str, Callable[..., Any], Draw]] = [
        ("acos", torch.acos, _INSIDE(3)),
        ("acosh", torch.acosh, between(2.0, 4.0, 3)),
        ("asin", torch.asin, _INSIDE(3)),
        ("special_ndtri", torch.special.ndtri, between(0.2, 0.7, 3)),
        ("special_entr", torch.special.entr, _POSITIVE(3)),
        ("frexp", lambda x: torch.frexp(x)[0], between(1.2, 1.5, 3)),
        ("div of a number", lambda x: torch.div(x, 0.7, rounding_mode="floor") * x, apart(4)),
    ]
    for name, function, draw in one:
        yield call(name, function, draw)
    yield call("addcdiv", torch.addcdiv, (3,), (3,), _POSITIVE(3))
    yield call("ldexp", torch.ldexp, (3,), (3,))
    orders = np.array([2.0, 3.0, 4.0])
    yield call("special_zeta", lambda x: torch.special.zeta(torch.tensor(orders).to(x), x), _POSITIVE(3))
    yield call("special_zeta of a number", lambda x: torch.special.zeta(3.0, x), _POSITIVE(3))
    for name in ("igamma", "igammac"):
        yield call(
            name,
            lambda x, name=name: getattr(torch, name)(torch.tensor([1.5, 0.75, 2.0]).to(x), x),
            _POSITIVE(3),
        )
    yield call(
        "_masked_softmax",
        lambda x: torch._masked_softmax(x, torch.tensor([[False, True, False], [False, False, True]]), 1),
        (2, 3),
    )
    yield call(
        "native_dropout_backward",
        lambda x: aten.native_dropout_backward(x, torch.tensor([True, False, True]), 2.0),
        (3,),
    )
    yield call("_conj_copy", lambda x: aten._conj_copy(x * x), (3, 2))
    yield call("_neg_view_copy", lambda x: aten._neg_view_copy(x * x), (3,))
    yield call("_lazy_clone", lambda x: aten._lazy_clone(x * x), (3,))
    yield call("lift", lambda x: aten.lift(x * x), (3,))
    yield call("lift_fresh", lambda x: aten.lift_fresh(x * x), (3,))
    yield call("lift_fresh_copy", lambda x: aten.lift_fresh_copy(x * x), (3,))
    yield call("_reshape_alias_copy", lambda x: aten._reshape_alias_copy(x * x, [2, 3], [3, 1]), (3, 2))
    yield call("_reshape_copy", lambda x: aten._reshape_copy(x * x, [2, 3]), (3, 2))
    yield call("view_as_real_copy", lambda x: aten.view_as_real_copy(_complex(x * x)), (3, 2))


CALLS: tuple[Written, ...] = (
    *_of_numbers(),
    *_in_place_calls(),
    *_of_lists(),
    *_of_losses(),
    *_of_matrices(),
    *_of_distances(),
    *_of_norms(),
    *_of_convolutions(),
    *_of_images(),
    *_of_places(),
)
