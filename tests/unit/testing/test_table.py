"""Forty custom gradients, and who judges them right: check_gradient all of them, the frameworks' own checkers
not quite.
"""

from __future__ import annotations

import contextlib
import warnings

import numpy as np
import pytest

from gradfuzz.testing import GradientMismatch, check_gradient
from tests.custom_gradients.row import Row
from tests.custom_gradients.table import ROWS

FRAMEWORKS = {"jax": "jax", "torch": "torch", "autograd": "autograd", "numpy": "numpy"}


def test_the_table_is_twenty_and_twenty() -> None:
    assert [sum(row.right for row in ROWS), sum(not row.right for row in ROWS)] == [20, 20]
    assert len({(row.framework, row.name) for row in ROWS}) == len(ROWS)


@pytest.mark.slow
@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.framework}-{row.name}")
def test_check_gradient_judges_right(row: Row) -> None:
    pytest.importorskip(FRAMEWORKS[row.framework])
    made = row.make()
    if row.right:
        check_gradient(made.f, *made.args, **made.options)
    else:
        with pytest.raises(GradientMismatch) as raised:
            check_gradient(made.f, *made.args, **made.options)
        assert raised.value.measured.worst is not None, "an entry is named"


def by_gradcheck(row: Row) -> bool:
    """Whether torch.autograd.gradcheck, and gradgradcheck where the second order is asked, accept it."""
    import torch

    made = row.make()
    f = made.f.apply if isinstance(made.f, type) else made.f
    args = [a.clone().requires_grad_() for a in made.args]
    checks = [torch.autograd.gradcheck, torch.autograd.gradgradcheck][: made.options.get("order", 1)]
    return all(check(f, args, raise_exception=False) for check in checks)


def by_check_grads(row: Row) -> bool:
    """Whether jax.test_util.check_grads accepts it, in the modes that it has."""
    import jax
    from jax.test_util import check_grads

    made = row.make()
    single = any(np.asarray(a).dtype == np.float32 for a in made.args)
    options = {"order": made.options.get("order", 1)}
    with contextlib.nullcontext() if single else jax.enable_x64(True):
        try:
            try:
                check_grads(made.f, made.args, modes=("fwd", "rev"), **options)
            except TypeError as error:
                if "custom_vjp" not in str(error):
                    raise
                check_grads(made.f, made.args, modes=("rev",), **options)
        except AssertionError:
            return False
    return True


@pytest.mark.slow
@pytest.mark.parametrize(
    ("framework", "accepts", "misjudged"),
    [
        ("torch", by_gradcheck, {"jvp_halved"}),
        ("jax", by_check_grads, {"relu_at_zero", "layer_norm_in_single", "half_kernel_in_single"}),
    ],
)
def test_the_frameworks_own_checkers(framework, accepts, misjudged) -> None:
    """Measured with their default settings: what they get wrong is known by name."""
    pytest.importorskip(framework)
    rows = [row for row in ROWS if row.framework == framework]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wrong = {row.name for row in rows if accepts(row) is not row.right}
    print(
        f"{framework}: {len(rows) - len(wrong)} of {len(rows)} judged right; not: {', '.join(sorted(wrong))}"
    )
    assert wrong == misjudged
