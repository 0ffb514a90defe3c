"""Derivatives of Torch as graphs: they give the numbers that Torch itself computes, in both modes and in
reverse mode of reverse mode.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F  # noqa: N812 - as everybody calls it

from gradfuzz.programs.arithmetic.numpy_namespace import NumpyNamespace
from gradfuzz.programs.evaluation.interpret import evaluate
from gradfuzz.tracing.torch.trace import traced_graph

Array = np.ndarray[Any, Any]
Function = Callable[..., Any]


def total(f: Function) -> Function:
    """The outputs of `f`, complex ones as pairs, with a weight for each, added up."""

    def weighted(*xs: torch.Tensor) -> torch.Tensor:
        result = torch.zeros((), dtype=torch.float64)
        for y in torch.utils._pytree.tree_leaves(f(*xs)):
            if y.is_complex() or y.is_floating_point():
                y = torch.view_as_real(y).flatten() if y.is_complex() else y.flatten()
                result = result + (torch.linspace(0.5, 1.5, y.numel(), dtype=torch.float64) * y).sum()
        return result

    return weighted


def reverse(f: Function) -> Function:
    def gradients(*xs: torch.Tensor) -> Any:
        return torch.func.grad(f, tuple(range(len(xs))))(*xs)

    return gradients


def forward(f: Function) -> Function:
    return lambda *xs: torch.func.jvp(f, xs, tuple(map(torch.cos, xs)))[1]


def twice(f: Function) -> Function:
    return reverse(lambda *xs: sum(g.sin().sum() for g in reverse(f)(*xs)))


MODES = {"rev": reverse, "fwd": forward, "rev, rev": twice}

TWICE = ("irfft of an rfft", "det", "solve")
"""Functions that are differentiated twice, which takes longer."""

NOT_FORWARD = (
    *("conv_tbc", "embedding_bag", "ormqr", "igamma", "igammac", "cdist", "pdist", "zeta", "weight norm"),
    *("masked softmax", "multi_margin_loss", "index_reduce mean", "index_reduce amax", "segment_reduce"),
    *(
        "slow_conv2d",
        "slow_conv_dilated2d",
        "slow_conv_transpose2d",
        "foreach_mm",
        "foreach_pow of a number",
        "lstsq",
    ),
)
"""Functions of which Torch has no forward derivative."""


def close(f: Function, arrays: Sequence[Array], *, derivative: bool) -> None:
    """The graph of `f` has the numbers of `f`."""
    graph = traced_graph(f, arrays, derivative=derivative)
    mine = evaluate(graph, [a[()] if a.ndim else float(a) for a in arrays], NumpyNamespace())
    theirs = torch.utils._pytree.tree_leaves(f(*map(torch.tensor, arrays)))
    assert len(mine) == len(theirs)
    for here, there in zip(mine, theirs, strict=True):
        np.testing.assert_allclose(here, there.numpy(), rtol=1e-9, atol=1e-10)


def drawn(name: str, shapes: Sequence[tuple[int, ...]]) -> list[Array]:
    """Numbers between 0.2 and 0.9."""
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    return [rng.uniform(0.2, 0.9, shape) for shape in shapes]


FUNCTIONS: dict[str, tuple[Function, list[tuple[int, ...]]]] = {
    "fft": (lambda x: torch.fft.fft(x, n=5, norm="ortho"), [(3, 4)]),
    "ifft2": (torch.fft.ifft2, [(2, 3)]),
    "rfft2": (lambda x: torch.fft.rfft2(x, norm="forward"), [(3, 4)]),
    "irfft of an rfft": (lambda x: torch.fft.irfft(torch.fft.rfft(x) ** 2, n=5), [(5,)]),
    "irfftn": (lambda x: torch.fft.irfftn(torch.fft.rfftn(x).exp(), s=(3, 4)), [(3, 4)]),
    "ihfftn": (lambda x: torch.fft.ihfft2(x), [(3, 4)]),
    "stft": (
        lambda x: torch.stft(x, 4, window=torch.ones(4, dtype=torch.float64), return_complex=True),
        [(8,)],
    ),
    "det": (torch.linalg.det, [(3, 3)]),
    "det of a transposed matrix": (lambda x: torch.linalg.det(x.mT), [(3, 3)]),
    "slogdet": (torch.linalg.slogdet, [(2, 3, 3)]),
    "solve": (torch.linalg.solve, [(3, 3), (3, 2)]),
    "solve for a vector": (torch.linalg.solve, [(3, 3), (3,)]),
    "solve from the right": (lambda a, b: torch.linalg.solve(a, b, left=False), [(3, 3), (2, 3)]),
    "LU factors": (torch.linalg.lu_factor, [(3, 3)]),
    "LU factors unpacked": (lambda x: torch.lu_unpack(*torch.linalg.lu_factor(x)), [(3, 2)]),
    "LU factors that solve": (
        lambda a, b: torch.linalg.lu_solve(*torch.linalg.lu_factor(a), b, adjoint=True),
        [(3, 3), (3, 2)],
    ),
    "LU factors that solve from the right": (
        lambda a, b: torch.linalg.lu_solve(*torch.linalg.lu_factor(a), b, left=False),
        [(3, 3), (2, 3)],
    ),
    "householder_product": (torch.linalg.householder_product, [(4, 3), (2,)]),
    "pinv with a bound": (lambda x: torch.linalg.pinv(x, rtol=1e-3, atol=1e-4), [(3, 2)]),
    "conv1d with groups": (
        lambda x, k, b: F.conv1d(x, k, b, stride=2, padding=1, dilation=2, groups=2),
        [(2, 4, 7), (6, 2, 2), (6,)],
    ),
    "conv2d": (lambda x, k: F.conv2d(x, k, stride=(2, 1), padding=(0, 1)), [(1, 2, 4, 3), (2, 2, 2, 2)]),
    "conv3d": (lambda x, k: F.conv3d(x, k, stride=2, padding=1), [(1, 2, 3, 2, 3), (1, 2, 2, 2, 1)]),
    "conv_transpose1d": (
        lambda x, k, b: F.conv_transpose1d(
            x, k, b, stride=2, padding=1, output_padding=1, groups=2, dilation=2
        ),
        [(2, 4, 3), (4, 1, 3), (2,)],
    ),
    "conv_transpose2d": (
        lambda x, k: F.conv_transpose2d(x, k, stride=2, padding=1),
        [(1, 2, 2, 3), (2, 1, 2, 3)],
    ),
    "conv_tbc": (lambda x, k, b: torch.conv_tbc(x, k, b, pad=1), [(3, 1, 2), (2, 2, 2), (2,)]),
    "a negative pad": (lambda x: F.pad(x, (-1, 2, 1, -1), value=2.0), [(3, 4)]),
    "avg_pool2d that is cut off": (
        lambda x: F.avg_pool2d(x, 2, stride=2, padding=1, ceil_mode=True, count_include_pad=False),
        [(1, 1, 4, 3)],
    ),
    "avg_pool3d": (lambda x: F.avg_pool3d(x, 2, stride=1), [(1, 1, 2, 3, 3)]),
    "adaptive_avg_pool2d": (lambda x: F.adaptive_avg_pool2d(x, (2, 2)), [(1, 1, 3, 4)]),
    "max_pool2d that is padded and dilated": (
        lambda x: F.max_pool2d(x, 2, stride=1, padding=1, dilation=2, ceil_mode=True),
        [(1, 2, 4, 3)],
    ),
    "max_pool1d": (lambda x: F.max_pool1d(x, 2), [(1, 2, 5)]),
    "max_pool3d": (lambda x: F.max_pool3d(x, 2, stride=1), [(1, 1, 2, 3, 2)]),
    "adaptive_max_pool2d": (lambda x: F.adaptive_max_pool2d(x, (2, 2)), [(1, 2, 3, 3)]),
    "lp_pool1d": (lambda x: F.lp_pool1d(x, 3, 2), [(1, 1, 4)]),
    "quantile": (lambda x: torch.quantile(x, 0.4), [(5,)]),
    "cummax": (lambda x: torch.cummax(x, 1)[0], [(2, 4)]),
    "cummin": (lambda x: torch.cummin(x, 0)[0], [(4, 2)]),
    "nanmedian": (lambda x: torch.nanmedian(x, 1)[0], [(2, 3)]),
    "logsigmoid": (lambda x: F.logsigmoid(x - 0.5), [(4,)]),
    "embedding_bag": (
        lambda x: F.embedding_bag(torch.tensor([1, 0, 2, 1]), x, torch.tensor([0, 1]), mode="mean"),
        [(3, 2)],
    ),
    "hardshrink": (lambda x: F.hardshrink(x - 0.5, 0.2), [(6,)]),
    "softshrink": (lambda x: F.softshrink(x - 0.5, 0.2), [(6,)]),
    "glu": (lambda x: F.glu(x, 0), [(4, 2)]),
    "sort": (lambda x: torch.sort(x, dim=0, descending=True)[0], [(4, 2)]),
    "put": (lambda x, y: torch.Tensor.put(x, torch.tensor([3, -5]), y), [(2, 3), (2,)]),
    "masked_scatter": (
        lambda x, y: torch.masked_scatter(x, torch.tensor([True, False, True]), y),
        [(2, 3), (5,)],
    ),
    "ormqr": (lambda x, t, y: torch.ormqr(x, t, y, left=False, transpose=True), [(3, 2), (2,), (2, 3)]),
    "diag beside the diagonal": (lambda x: torch.diag(x, 1), [(2,)]),
    "diag_embed elsewhere": (lambda x: torch.diag_embed(x, -1, 0, 2), [(2, 2)]),
    "narrow_copy": (lambda x: torch.narrow_copy(x, 0, 1, 2), [(4,)]),
    "fill": (lambda x, y: torch.fill(x, y) * x, [(3,), ()]),
    "cumprod": (lambda x: torch.cumprod(x, 0), [(3,)]),
    "norm of a number": (lambda x: torch.linalg.vector_norm(x, 2, -1), [()]),
    "igamma": (lambda x: torch.igamma(torch.tensor([0.5, 2.25], dtype=torch.float64), x), [(2,)]),
    "igammac": (lambda x: torch.igammac(torch.tensor([0.5, 2.25], dtype=torch.float64), x), [(2,)]),
    "erfcx": (torch.special.erfcx, [(3,)]),
    "log_ndtr": (torch.special.log_ndtr, [(3,)]),
    "ndtri": (torch.special.ndtri, [(3,)]),
    "entr": (torch.special.entr, [(3,)]),
    "zeta": (lambda x: torch.special.zeta(torch.tensor([2.0, 3.0], dtype=torch.float64), x), [(2,)]),
    "frexp": (lambda x: torch.frexp(x)[0], [(4,)]),
    "addbmm": (lambda x, a, b: torch.addbmm(x, a, b, beta=0.5, alpha=2.0), [(2, 2), (2, 2, 3), (2, 3, 2)]),
    "bilinear": (F.bilinear, [(2, 2), (2, 3), (2, 2, 3)]),
    "cdist": (lambda x, y: torch.cdist(x, y, p=3.0), [(2, 3, 2), (2, 2, 2)]),
    "pdist": (lambda x: F.pdist(x, p=1.0), [(4, 2)]),
    "lstsq": (lambda a, b: torch.linalg.lstsq(a, b)[0], [(3, 2), (3, 1)]),
    "masked softmax": (
        lambda x: torch._masked_softmax(x, torch.tensor([[False, True, False]]).expand(2, 3), 1),
        [(2, 3)],
    ),
    "weight norm": (lambda v, g: torch._weight_norm(v, g, 0), [(2, 3), (2, 1)]),
    "multi_margin_loss": (
        lambda x: F.multi_margin_loss(x, torch.tensor([1, 0]), p=2, margin=0.5),
        [(2, 3)],
    ),
    "index_reduce mean": (
        lambda x, y: torch.index_reduce(x, 1, torch.tensor([2, 0]), y, "mean"),
        [(2, 3), (2, 2)],
    ),
    "index_reduce amax": (
        lambda x, y: torch.index_reduce(x, 0, torch.tensor([1]), y, "amax"),
        [(2, 3), (1, 3)],
    ),
    "segment_reduce": (
        lambda x: torch.segment_reduce(x, "mean", lengths=torch.tensor([2, 3])),
        [(5,)],
    ),
    "fractional_max_pool2d": (
        lambda x: F.fractional_max_pool2d(
            x, 2, output_size=2, _random_samples=torch.full((1, 2, 2), 0.25, dtype=torch.float64)
        ),
        [(1, 2, 4, 3)],
    ),
    "upsampling, bilinear with antialiasing": (
        lambda x: F.interpolate(x, size=(2, 3), mode="bilinear", antialias=True),
        [(1, 1, 4, 3)],
    ),
    "upsampling to the nearest": (lambda x: F.interpolate(x, size=(5,), mode="nearest-exact"), [(1, 2, 3)]),
    "a border of the last entries": (lambda x: F.pad(x, (1, 2, 0, 1), mode="replicate"), [(1, 2, 2, 2)]),
    "slow_conv2d": (
        lambda x, k, b: torch.ops.aten._slow_conv2d_forward(x, k, [2, 1], b, [1, 2], [1, 0]),
        [(1, 2, 3, 3), (2, 2, 2, 1), (2,)],
    ),
    "slow_conv_dilated2d": (
        lambda x, k, b: torch.ops.aten.slow_conv_dilated2d(x, k, [2, 2], b, [1, 1], [1, 0], [2, 1]),
        [(1, 2, 3, 3), (2, 2, 2, 2), (2,)],
    ),
    "slow_conv_transpose2d": (
        lambda x, k, b: torch.ops.aten.slow_conv_transpose2d(x, k, [2, 2], b, [2, 1], [1, 0], [1, 0], [1, 1]),
        [(1, 2, 2, 3), (2, 1, 2, 2), (1,)],
    ),
    "foreach_div": (lambda x, y: torch._foreach_div([x, y], [y, x]), [(2,), (2,)]),
    "foreach_mm": (lambda x, y: torch._foreach_mm([x], [y]), [(2, 3), (3, 2)]),
    "foreach_pow": (lambda x: torch._foreach_pow([x, x], [2.0, 0.5]), [(3,)]),
    "foreach_pow of a number": (lambda x: torch._foreach_pow(1.5, [x]), [(3,)]),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_graphs_have_the_numbers_of_the_function_and_its_derivatives(name: str) -> None:
    f, shapes = FUNCTIONS[name]
    arrays = drawn(name, shapes)
    close(total(f), arrays, derivative=False)
    for mode, derived in MODES.items():
        if (mode == "fwd" and name in NOT_FORWARD) or (mode == "rev, rev" and name not in TWICE):
            continue
        close(derived(total(f)), arrays, derivative=True)
