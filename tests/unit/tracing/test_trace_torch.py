"""Torch functions as programs: the values are Torch's, the derivatives of the references are those of
torch.autograd, and what is no program is said.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F  # noqa: N812 - as everybody calls it

from gradfuzz.errors import UntraceableError
from gradfuzz.fuzzer.questions.weighted import weighted_question
from gradfuzz.oracles.base import Point
from gradfuzz.oracles.torch.unrolled import unrolled
from gradfuzz.programs import Program, to_text
from gradfuzz.programs.arithmetic.numpy_namespace import NumpyNamespace
from gradfuzz.programs.evaluation.interpret import interpret
from gradfuzz.strategies import FAMILIES, draw_many
from gradfuzz.tracing.common import compositions
from gradfuzz.tracing.torch.trace import traced
from tests.traced import (
    ARB,
    Array,
    counting,
    drawn,
    proved,
    same_gradient,
    same_truth,
    same_values,
    truth_of,
)


def by_autograd(
    f: Callable[..., Any], args: Sequence[Array], weights: Sequence[Array | None]
) -> tuple[list[Array], list[Array]]:
    """The outputs of `f`, and the gradient of their weighted sum."""
    tensors = [torch.tensor(a, requires_grad=a.dtype.kind == "f") for a in args]
    outputs = torch.utils._pytree.tree_leaves(f(*tensors))
    total = sum(
        ((torch.tensor(w) * y).sum() for w, y in zip(weights, outputs, strict=True) if w is not None),
        torch.zeros(()),
    )
    xs = [t for t in tensors if t.requires_grad]
    grads = torch.autograd.grad(total, xs, allow_unused=True, materialize_grads=True)
    return [y.detach().numpy() for y in outputs], [g.numpy() for g in grads]


def check(f: Callable[..., Any], args: Sequence[Array]) -> Program:
    """Traces `f`; the program has its values and, by `arb`, the gradient that torch.autograd gives."""
    program = traced(f, args)
    truth, weights = proved(program, args)
    values, gradient = by_autograd(f, args, weights)
    same_values(program, truth, args, values)
    same_gradient(truth, gradient)
    return program


def well(x: torch.Tensor) -> torch.Tensor:
    """A symmetric matrix with eigenvalues above 1, well apart."""
    return x @ x.mT + torch.diag(torch.arange(1.0, x.shape[-1] + 1.0, dtype=x.dtype))


V, M, S, T = (4,), (3, 3), (), (2, 3, 4)
W = torch.linspace(-1.0, 1.0, 12, dtype=torch.float64).reshape(3, 4)
IDX = torch.tensor([2, 0, 2])
MASK = torch.tensor([True, False, True, True])


HEADS = torch.nn.MultiheadAttention(4, 2).double()


def inplace(x: torch.Tensor) -> torch.Tensor:
    y = torch.zeros(4, dtype=x.dtype)
    y[1] = x[0] * x[2]
    y[2:] += x[:2].sin()
    y.mul_(2.0)
    return y.exp()


def read_before(x: torch.Tensor) -> torch.Tensor:
    """A constant that a step reads and a later one writes."""
    z = torch.ones(4, dtype=x.dtype)
    y = x + z
    z.copy_(x.sin())
    return y + z


def seen_by_view(x: torch.Tensor) -> torch.Tensor:
    """What is written shows in a view that was there before."""
    y = x * 1.0
    tail = y[1:]
    y.mul_(3.0)
    return tail * y[:3].cos()


def through_view(x: torch.Tensor) -> torch.Tensor:
    y = x * 2.0
    y[0].mul_(x[1])
    return y.sin()


def of_constants(x: torch.Tensor) -> torch.Tensor:
    """Constants that are written in place, one of them by a view, before anything reads them."""
    e, f = torch.zeros(4, 4, dtype=x.dtype), x.new_zeros(4, 4)
    e.diagonal().fill_(2.0)
    f.diagonal(1).add_(torch.arange(3.0, dtype=x.dtype))
    return (e + f) @ x


def many_times(x: torch.Tensor) -> torch.Tensor:
    y = x.sin().abs_().add_(x, alpha=2.0).pow_(2.0)
    y.mul_(3.0)
    mask = x > 0.0
    mask.logical_and_(x < 1.0)
    return torch.where(mask, y, x) + y.masked_fill_(mask, 0.5)


def recurrence(x: torch.Tensor, n: int = 5) -> torch.Tensor:
    h = torch.zeros_like(x)
    for k in range(n):
        h = torch.tanh(h * 0.5 + x * (k + 1))
    return h


def attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    return torch.softmax(q @ k.mT / 2.0, dim=-1) @ v


def physics(x: torch.Tensor) -> torch.Tensor:
    (slope,) = torch.autograd.grad((x**3 * torch.sin(x)).sum(), x, create_graph=True)
    return slope * x


class Wrong(torch.autograd.Function):
    """x sin(x), with a backward that is wrong by a factor."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(x)
        with torch.no_grad():
            inner = x.detach().sin()
        return inner * x

    @staticmethod
    def backward(ctx: Any, g: torch.Tensor) -> torch.Tensor:
        (x,) = ctx.saved_tensors
        return 2.0 * g * (x.sin() + x * x.cos())


FUNCTIONS: dict[str, tuple[Callable[..., Any], list[tuple[int, ...]]]] = {
    "trigonometry": (lambda x: torch.sin(x) * torch.cos(x) + torch.tan(x), [V]),
    "inverse trigonometry": (lambda x: torch.asin(x) + torch.acos(x * 0.7) * torch.atan(x), [V]),
    "atan2": (torch.atan2, [V, V]),
    "ints of floats": (lambda x: x[(x * 3).long() % 3], [(3,)]),
    "hyperbolic": (lambda x: torch.sinh(x) + torch.cosh(x) * torch.tanh(x), [V]),
    "inverse hyperbolic": (lambda x: torch.asinh(x) + torch.acosh(x + 1.5) + torch.atanh(x), [V]),
    "exponentials": (lambda x: torch.exp(x) + torch.exp2(x) + torch.expm1(x), [V]),
    "logarithms": (lambda x: torch.log(x) * torch.log2(x) + torch.log10(x) - torch.log1p(x), [V]),
    "roots": (lambda x: torch.sqrt(x) + torch.rsqrt(x) + x.reciprocal(), [V]),
    "powers": (lambda x, y: x**y + x**3 + x**-2 + x**0.5 + x**1.5 + 2.0**x, [V, V]),
    "scalars": (lambda x: (2.0 - x) / 3.0 + 1.0 / x * 0.1 - 4, [V]),
    "alpha": (
        lambda x, y: torch.add(x, y, alpha=2.5) - torch.sub(x, y, alpha=0.5) + torch.rsub(x, y, alpha=3.0),
        [V, V],
    ),
    "0-d": (lambda x, y: torch.sin(x) * y + y**2, [S, S]),
    "sigmoid": (lambda x: torch.sigmoid(x * 4 - 2), [V]),
    "silu": (lambda x: F.silu(x - 0.5), [V]),
    "relu": (lambda x: F.relu(x - 0.5) + F.leaky_relu(x - 0.5, 0.1), [V]),
    "elu": (lambda x: F.elu(x - 0.5) + F.selu(x - 0.5) + F.celu(x - 0.5, 0.5), [V]),
    "softplus": (lambda x: F.softplus(x * 3 - 1, beta=2.0), [V]),
    "logsigmoid": (lambda x: F.logsigmoid(x * 3 - 1), [V]),
    "mish": (lambda x: F.mish(x - 0.5), [V]),
    "gelu tanh": (lambda x: F.gelu(x - 0.5, approximate="tanh"), [V]),
    "gelu": (lambda x: F.gelu(x - 0.5) + torch.erf(x) - torch.erfc(x), [V]),
    "gamma": (lambda x: torch.lgamma(x + 0.3) * x + torch.digamma(torch.tensor(0.25)), [V]),
    "whole numbers": (
        lambda x: (
            torch.floor(x * 5) * x
            + torch.ceil(x * 3)
            + (x * 7) % 1.5
            + torch.trunc(-x * 4) * torch.frac(x * 3)
        ),
        [V],
    ),
    "added masks": (
        lambda x: (
            torch.softmax(x @ x.T + torch.zeros(3, 3).masked_fill(torch.eye(3).bool(), -torch.inf), 0) @ x
        ),
        [M],
    ),
    "masked heads": (
        lambda x: HEADS(x, x, x, attn_mask=torch.full((3, 3), -torch.inf, dtype=x.dtype).triu(1))[0],
        [(3, 1, 4)],
    ),
    "masks": (
        lambda x: torch.softmax((x @ x.T).masked_fill(torch.ones(3, 3).triu(1).bool(), -torch.inf), -1) @ x,
        [M],
    ),
    "causal": (lambda x: F.scaled_dot_product_attention(x, x, x, is_causal=True), [(1, 1, 3, 2)]),
    "undefined elsewhere": (
        lambda x: torch.xlogy(x, x) + torch.nan_to_num(x) + torch.where(torch.isfinite(x), x, 0.0),
        [V],
    ),
    "pooling": (
        lambda x: (
            F.max_pool2d(x, 2, stride=1)[..., :2, :2] * F.avg_pool2d(x, 2) + F.adaptive_avg_pool2d(x, 1)
        ),
        [(1, 2, 4, 4)],
    ),
    "patches": (lambda x: F.unfold(x, 2).prod(1) + F.interpolate(x, scale_factor=2).sum(), [(1, 1, 3, 3)]),
    "hardtanh": (lambda x: F.hardtanh(x * 3 - 1.6) + F.relu6(x * 2), [V]),
    "logit": (torch.logit, [V]),
    "hypot": (torch.hypot, [V, V]),
    "logaddexp": (torch.logaddexp, [V, V]),
    "lerp": (lambda x, y: torch.lerp(x, y, 0.3), [V, V]),
    "addcmul": (lambda x, y: torch.addcmul(x, x, y, value=2.0) + torch.addcdiv(x, x, y), [V, V]),
    "sums": (lambda x: x.sum() * x.sum(1) + x.mean(0).sum() + x.mean(), [M]),
    "several axes": (lambda x: x.sum((0, 2), keepdim=True) * x, [T]),
    "prod": (lambda x: x.prod() + x.prod(1).sum(), [M]),
    "variances": (lambda x: x.var() + x.std(1).sum() + x.var(0, correction=0).sum(), [M]),
    "extremes": (
        lambda x: x.max() * x.min() + x.amax(1).sum() + x.max(0).values.sum() + x.aminmax(dim=1).max.sum(),
        [M],
    ),
    "logsumexp": (lambda x: torch.logsumexp(x, (0, 1)) + torch.logsumexp(x, 1), [M]),
    "norms": (
        lambda x: (
            torch.norm(x)
            + x.norm(dim=1).sum()
            + torch.linalg.vector_norm(x, 3)
            + torch.linalg.norm(x, 1, dim=0).sum()
        ),
        [M],
    ),
    "odd norms": (
        lambda x: torch.linalg.vector_norm(x, 2.5, dim=1) + torch.linalg.vector_norm(x, float("inf"), dim=0),
        [M],
    ),
    "scans": (lambda x: torch.cumsum(x, 0) * torch.cumprod(x, 1) + torch.logcumsumexp(x, 0), [M]),
    "cummax": (lambda x: torch.cummax(torch.sin(9 * x), 1).values + torch.cummin(x, 0).values, [M]),
    "softmax": (lambda x: torch.softmax(x, -1) + F.log_softmax(x, 0), [M]),
    "cross entropy": (lambda x: F.cross_entropy(x, torch.tensor([0, 2, 1])), [M]),
    "mse": (lambda x, y: F.mse_loss(x, y) + F.l1_loss(x, y) + F.smooth_l1_loss(x, y), [M, M]),
    "bce": (lambda x, y: F.binary_cross_entropy_with_logits(x, y) + F.binary_cross_entropy(x, y), [V, V]),
    "layer norm": (lambda x: F.layer_norm(x, (4,)), [T]),
    "cosine": (lambda x, y: F.cosine_similarity(x, y, dim=-1), [M, M]),
    "views": (
        lambda x: x.reshape(4, 6).t().unsqueeze(0).squeeze(0).flatten() * x.permute(2, 0, 1).reshape(-1),
        [T],
    ),
    "slices": (lambda x: x[0, 1:, ::2] * x[1, :2, 1::2] + x[..., -1].sum(), [T]),
    "narrow": (
        lambda x: (
            torch.narrow(x, 1, 1, 2) + torch.stack(x.unbind(1)[:2], 1) + torch.cat(x.split(1, dim=1)[:2], 1)
        ),
        [T],
    ),
    "moving": (lambda x: x.flip(0) * torch.roll(x, 1, 1) + torch.rot90(x), [M]),
    "expand": (lambda x: x.expand(2, 4) * x.repeat(2, 1) + x[None] * x.unsqueeze(0), [V]),
    "repeat_interleave": (lambda x: torch.repeat_interleave(x, 2) * torch.tile(x, (2,)), [V]),
    "index": (lambda x: x[IDX] * x[:, IDX] + x[IDX, torch.tensor([1, 1, 0])], [M]),
    "mask": (lambda x: x[MASK].sum() * torch.where(MASK, x, x * x) + x.masked_fill(MASK, 2.0), [V]),
    "gather": (
        lambda x: (
            torch.gather(x, 1, torch.tensor([[0, 2], [1, 1]])) + torch.take(x, torch.tensor([[0, 5], [8, 1]]))
        ),
        [M],
    ),
    "by argmax": (lambda x: torch.gather(x, 1, x.argmax(1, keepdim=True)) * x[x.argmin(0)], [M]),
    "scatter": (
        lambda x: torch.zeros(5, dtype=x.dtype).scatter_add(0, torch.tensor([4, 1, 1, 0]), x).sin(),
        [V],
    ),
    "scatter set": (lambda x: x.scatter(1, torch.tensor([[2], [0], [1]]), x[:, :1] * 3), [M]),
    "index_put": (lambda x: x.index_put((IDX,), x[0] * 2, accumulate=True) + x.index_add(0, IDX, x), [M]),
    "index_copy": (
        lambda x: x.index_copy(0, torch.tensor([2, 0]), x[:2] ** 2).index_fill(1, torch.tensor([1]), 0.5),
        [M],
    ),
    "in place": (inplace, [V]),
    "a constant that is written later": (read_before, [V]),
    "written, and seen by a view": (seen_by_view, [V]),
    "written through a view": (through_view, [V]),
    "constants in place": (of_constants, [V]),
    "in place, many times": (many_times, [V]),
    "mask in place": (lambda x: (x * 1.0).masked_fill_(x > 0.5, 0.25) * x, [V]),
    "boolean assignment": (
        lambda x: torch.index_put(x, (x > 0.5,), torch.tensor(0.25, dtype=x.dtype)) * x,
        [V],
    ),
    "diagonals": (
        lambda x: torch.diag(x).sum() * torch.diag_embed(x[0]) + torch.diagonal(x, 1).sum() + torch.trace(x),
        [M],
    ),
    "triangles": (lambda x: torch.tril(x) @ torch.triu(x, 1), [M]),
    "padding": (lambda x: F.pad(x, (1, 2), value=0.5) * F.pad(x, (2, 1)), [V]),
    "unfold": (lambda x: x.unfold(0, 2, 1).prod(1), [V]),
    "matmul": (lambda x, y: x @ y + torch.mm(y, x) + torch.addmm(x, x, y, beta=0.5, alpha=2.0), [M, M]),
    "vectors": (
        lambda x, y: torch.dot(x, y) * torch.outer(x, y) + torch.cross(x[:3], y[:3], dim=0).sum(),
        [V, V],
    ),
    "matvec": (lambda x, y: torch.mv(x, y[:3]) + x @ y[1:] + y[:3] @ x, [M, V]),
    "bmm": (lambda x: torch.bmm(x, x.mT) + x @ x.mT[0], [T]),
    "einsum": (
        lambda x, y: (
            torch.einsum("ij,jk->ki", x, y) + torch.einsum("ii->i", x) + torch.einsum("ij,ij->", x, y)
        ),
        [M, M],
    ),
    "tensordot": (
        lambda x, y: torch.tensordot(x, y, dims=([1], [0])) + torch.kron(x, y)[:2, :2, None].sum(),
        [(2, 3), (3, 2)],
    ),
    "linear": (lambda x: F.linear(x, W, torch.ones(3, dtype=x.dtype)), [(2, 4)]),
    "attention": (attention, [(3, 2), (4, 2), (4, 3)]),
    "scaled dot product": (F.scaled_dot_product_attention, [(1, 1, 3, 2), (1, 1, 4, 2), (1, 1, 4, 2)]),
    "conv1d": (lambda x, k: F.conv1d(x, k, padding=1, stride=2), [(2, 3, 5), (2, 3, 3)]),
    "conv2d": (lambda x, k, b: F.conv2d(x, k, b, dilation=2, groups=2), [(1, 2, 4, 4), (2, 1, 2, 2), (2,)]),
    "inv": (lambda x: torch.linalg.inv(well(x)), [M]),
    "solve": (lambda x, y: torch.linalg.solve(well(x), y) + torch.linalg.solve(well(x), y[:3]), [M, (3, 3)]),
    "solve a vector": (lambda x, y: torch.linalg.solve(well(x), y[:3]), [M, V]),
    "det": (lambda x: torch.linalg.det(x) + torch.slogdet(well(x)).logabsdet + torch.logdet(well(x)), [M]),
    "cholesky": (
        lambda x: torch.linalg.cholesky(well(x)) + torch.cholesky_solve(x, torch.linalg.cholesky(well(x))),
        [M],
    ),
    "qr": (lambda x: torch.linalg.qr(x).R.abs() + torch.linalg.qr(x).Q.abs(), [M]),
    "eigh": (lambda x: (lambda w, v: w * (v**2)[0])(*torch.linalg.eigh(well(x))), [M]),
    "eigvalsh": (lambda x: torch.linalg.eigvalsh(well(x)), [M]),
    "svd": (
        lambda x: (lambda u, s, vh: s * (u @ vh).diagonal())(*torch.linalg.svd(well(x), full_matrices=False)),
        [M],
    ),
    "svdvals": (
        lambda x: (
            torch.linalg.svdvals(x) + torch.linalg.matrix_norm(x, "nuc") + torch.linalg.matrix_norm(x, 2)
        ),
        [M],
    ),
    "triangular": (lambda x, y: torch.linalg.solve_triangular(x, y, upper=False), [M, (3, 2)]),
    "lu": (lambda x: (lambda p, low, up: low @ up)(*torch.linalg.lu(x)), [M]),
    "matrix powers": (
        lambda x: (
            torch.linalg.matrix_power(x, 3) + torch.linalg.matrix_exp(x) + torch.matrix_power(well(x), -1)
        ),
        [M],
    ),
    "pinv": (torch.linalg.pinv, [(3, 2)]),
    "cdist": (torch.cdist, [(2, 3), (4, 3)]),
    "sort": (
        lambda x: torch.sort(x, 1).values * torch.arange(3) + torch.sort(x, 0, descending=True).values,
        [M],
    ),
    "topk": (
        lambda x: torch.topk(x, 2, dim=1).values + torch.kthvalue(x, 2, 1).values[:, None] + x.median(),
        [M],
    ),
    "argsort": (lambda x: x[torch.argsort(x[:, 0])] * torch.arange(3), [M]),
    "clamp": (lambda x: x.clamp(0.4, 0.7) + torch.clamp(x, min=0.5) * x.clamp_max(0.6), [V]),
    "maximum": (lambda x, y: torch.maximum(x, y) + torch.minimum(x, y) ** 2 + torch.max(x, y), [V, V]),
    "where": (lambda x, y: torch.where((x > y) & (x < 2.0), x * y, x - y).sum() * (x > 0.5), [V, V]),
    "rounding": (lambda x: torch.round(x * 5) * x + torch.round(x * 3, decimals=1) - torch.fix(x * 7), [V]),
    "sign": (lambda x: torch.sign(x - 0.5) * x + torch.abs(x - 0.5), [V]),
    "counts": (
        lambda x: x / (x > 0.4).sum() + torch.eye(4, dtype=x.dtype) @ x + torch.ones_like(x).cumsum(0),
        [V],
    ),
    "complex inside": (lambda x, y: torch.complex(x, y).exp().abs() + (torch.polar(x, y) * 1j).imag, [V, V]),
    "meshgrid": (lambda x, y: (lambda a, b: a * b**2)(*torch.meshgrid(x, y, indexing="ij")), [V, (3,)]),
    "float32 constants": (lambda x: x * torch.tensor([0.5, 1.5, 2.5, 0.1]), [V]),
    "recurrence": (recurrence, [V]),
    "vmap": (lambda x: torch.func.vmap(lambda row: row.sin().sum())(x), [M]),
    "a gradient inside": (lambda x: torch.func.grad(lambda y: (y**3).sum())(x), [V]),
    "autograd inside": (physics, [V]),
    "what is constant": (
        lambda x: [torch.zeros_like(x), (x > 0.5).to(x.dtype), x.sign() * x, x.new_ones(2)],
        [V],
    ),
    "several results": (lambda x, y: {"b": (x * y, [x.sum()]), "a": y.exp()}, [V, V]),
    "a module": (
        torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.Tanh(), torch.nn.Linear(3, 1)).double(),
        [(2, 4)],
    ),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_values_and_derivatives(name: str, seed: int) -> None:
    f, shapes = FUNCTIONS[name]
    check(f, drawn(name, shapes, seed))


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_other_precisions_are_those_of_the_arguments(dtype: str) -> None:
    args = [np.asarray([0.5, 0.75, 0.25], dtype)]
    program = traced(lambda x: (torch.sin(x) * 0.1 + torch.sigmoid(x)).sum(), args)
    (value,) = interpret(program, {program.params[0].name: args[0]}, NumpyNamespace(dtype))  # type: ignore[arg-type]
    x = torch.tensor(args[0].astype(float), dtype=getattr(torch, dtype))
    expected = float((torch.sin(x) * 0.1 + torch.sigmoid(x)).sum())
    assert float(value) == pytest.approx(expected, rel=8 * float(torch.finfo(x.dtype).eps))


def test_a_wrong_backward_does_not_change_the_program(seed: int) -> None:
    args = drawn("wrong backward", [V], seed)
    program = traced(Wrong.apply, args)
    truth, weights = truth_of(program, args)
    (x,) = args
    np.testing.assert_allclose(
        truth.gradient[program.params[0].name], weights[0] * (np.sin(x) + x * np.cos(x)), rtol=1e-14
    )


def test_what_is_written_into_memory_of_its_own_takes_one_run(monkeypatch: pytest.MonkeyPatch) -> None:
    def needless(*given: Any) -> None:
        raise AssertionError("the function is traced anew, without data")

    monkeypatch.setattr("gradfuzz.tracing.torch.functional.functional_steps", needless)
    x = np.array([0.3, -0.4, 1.5, 2.0])
    for f in (of_constants, many_times):
        traced(f, [x])
    for f in (read_before, seen_by_view, through_view):
        with pytest.raises(UntraceableError, match="AssertionError: the function is traced anew"):
            traced(f, [x])


def test_parameters_are_named_as_those_of_the_function() -> None:
    def area(width: torch.Tensor, height: torch.Tensor) -> torch.Tensor:
        return width * height

    assert to_text(traced(area, [np.float64(2.0), np.float64(3.0)])).startswith("def area(width, height)")


def test_ints_and_bools_are_inputs() -> None:
    def f(x: torch.Tensor, k: torch.Tensor, flag: torch.Tensor) -> torch.Tensor:
        return torch.where(flag, torch.take(x, k), x.sum() * k)

    args = [np.array([0.5, 0.25, 2.0]), np.array(2), np.array(False)]
    program = traced(f, args)
    assert [p.type.dtype for p in program.params] == ["float", "int", "bool"]
    for k, flag in ((0, True), (1, False)):
        (value,) = interpret(program, {"x": args[0], "k": k, "flag": flag}, NumpyNamespace())
        assert float(value) == float(f(torch.tensor(args[0]), torch.tensor(k), torch.tensor(flag)))


# What is no program -----------------------------------------------------------------------------------------


def no_grad(x: torch.Tensor) -> torch.Tensor:
    with torch.no_grad():
        scale = x.norm()
    return x / scale


def hooked(x: torch.Tensor) -> torch.Tensor:
    y = x * 2
    y.register_hook(lambda g: g * 3)
    return y


class Marked(torch.autograd.Function):
    """A result that no gradient flows through."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        y = x.sin()
        ctx.mark_non_differentiable(y)
        return y

    @staticmethod
    def backward(ctx: Any, g: torch.Tensor) -> torch.Tensor:
        return g


def random(x: torch.Tensor) -> torch.Tensor:
    return x * torch.rand(3, dtype=x.dtype)


UNTRACEABLE: dict[str, tuple[Callable[..., Any], str, bool]] = {
    "item": (lambda x: x * x.sum().item(), "item of a tensor", False),
    "float": (lambda x: x * float(x[0]), "item of a tensor|__float__ of a tensor", False),
    "numpy": (lambda x: x * torch.tensor(np.sin(x.detach().numpy())), "detach hides", True),
    "tolist": (lambda x: x * x.tolist()[0], "tolist of a tensor|item of a tensor", False),
    "mask": (lambda x: x[x > 0.5], "mask as an index", False),
    "nonzero": (lambda x: x.sum() * torch.nonzero(x).sum(), "no counterpart|depends on a number", False),
    "detach": (lambda x: x * x.detach(), "detach hides a value", True),
    "data": (lambda x: x * x.data, "Tensor.data hides a value", True),
    "no_grad": (no_grad, "under torch.no_grad", True),
    "detach under vmap": (lambda x: torch.func.vmap(lambda y: y * y.detach())(x), "detach hides", True),
    "no_grad under grad": (
        lambda x: torch.func.grad(lambda y: (y * no_grad(y)).sum())(x),
        "under torch.no_grad",
        True,
    ),
    "a hook": (hooked, "register_hook changes", True),
    "requires_grad_": (lambda x: x.requires_grad_(False) * 2, "requires_grad_ changes", True),
    "marked as not differentiable": (Marked.apply, "result 0 is hidden from autograd", True),
    "a constant copy": (lambda x: torch.tensor(x) * x, "hides a value", True),
    "a gradient that is a constant": (
        lambda x: x * torch.autograd.grad((x**2).sum(), x)[0],
        "create_graph=True",
        True,
    ),
    "random numbers": (random, "draws random numbers", False),
    "dropout": (lambda x: F.dropout(x, 0.5), "draws random numbers", False),
    "an op that nobody has": (lambda x: torch.mode(x)[0], "mode has no counterpart", False),
    "one triangle": (
        lambda x: torch.linalg.cholesky(torch.diag(x + 1.0) + 0.1 * torch.outer(x, x**2)),
        "cholesky reads one triangle",
        True,
    ),
    "eigenvectors of one triangle": (
        lambda x: torch.linalg.eigh(torch.outer(x, x) + torch.diag(x).roll(1, 0))[0],
        "eigh reads one triangle",
        True,
    ),
    "mixed precisions": (lambda x: x.float() * 2, "one precision", False),
    "mixed by a default": (lambda x: x * (torch.arange(3) / 3 + x.float()), "one precision", False),
    "complex results": (lambda x: torch.complex(x, x), "returns complex numbers", False),
    "other results": (lambda x: "sum", "returns str", False),
    "no result": (lambda x: None, "returns a None", False),
    "another result each time": (counting(), "changes from call to call", False),
    "it raises": (lambda x: x.reshape(7), "torch cannot trace the function", False),
    "an infinite result": (
        lambda x: x.masked_fill(torch.tensor([True, False, False]), -torch.inf),
        "does something that the trace does not see",
        False,
    ),
    "NaN": (lambda x: x * torch.nan, "a constant is NaN", False),
}


@pytest.mark.parametrize("name", UNTRACEABLE)
def test_untraceable(name: str) -> None:
    f, reason, detached = UNTRACEABLE[name]
    with pytest.raises(UntraceableError, match=reason) as caught:
        traced(f, [np.array([0.5, 0.75, 0.25])])
    assert caught.value.detached is detached
    assert str(caught.value) == caught.value.reason


def test_a_loop_of_many_trips(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compositions, "MOST_EQUATIONS", 50)
    with pytest.raises(UntraceableError, match="more than 50 steps"):
        traced(lambda x: sum((x * k for k in range(60)), x), [np.array(0.5)])


def test_arguments_that_no_program_has() -> None:
    with pytest.raises(UntraceableError, match="complex128"):
        traced(torch.sin, [np.array(1j)])
    with pytest.raises(UntraceableError, match="float32 and float64"):
        traced(torch.add, [np.float32(1.0), np.float64(1.0)])


# There and back ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("family", "count", "least"), [("loops", 16, 8), ("tensor", 14, 8), ("linalg", 14, 8), ("complex", 4, 2)]
)
def test_programs_that_torch_runs_are_traced_back(family: str, count: int, least: int, seed: int) -> None:
    """What decides by a value is no trace; all others have the values and the gradient of the program."""
    told = 0
    for case in draw_many(FAMILIES[family].cases(("float64",)), count, f"torch/{seed}"):
        point = Point(case.points[0])
        question = weighted_question(case.program, [point], "float64", ("rev",))
        args = [point.inputs[name] for name in question.wrt]
        try:
            back = traced(unrolled(question, point), args)
        except UntraceableError:
            continue
        told += same_truth(ARB.truth(question)[0], truth_of(back, args)[0], question.wrt)
    assert told >= least
