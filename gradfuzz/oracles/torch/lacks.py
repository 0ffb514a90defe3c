"""What Torch lacks of programs, by its documents or its own source; what depends on their loops, `supports`
of a way says.
"""

from __future__ import annotations

from gradfuzz.oracles.lacks import Lack

_DOCS = "https://docs.pytorch.org/docs/stable/"
_SOURCE = "https://github.com/pytorch/pytorch/blob/main/"
_HIGHER = f"{_SOURCE}torch/_higher_order_ops/"
_LOOPS = "torch:while_loop torch:scan"
_COMPILE = "torch:compile:eager torch:compile:aot_eager torch:compile:inductor"
_VMAP = "torch:vmap torch:grad_of_vmap"
_NESTED = f"torch:func torch:jacobian {_VMAP}"
"""Ways that call vmap; jacfwd and jacrev of torch.func do."""

LACKS = (
    Lack(
        "The QR decomposition is not differentiable when mode='complete' and nrows > ncols",
        f"{_DOCS}generated/torch.linalg.qr.html",
        fwd=True,
        rev=True,
        ops="qr",
    ),
    # No entry of the table of derivatives; each op of programs was asked, alone and as a part, up to order 3
    Lack(
        "derivative for aten::floor_divide is not implemented",
        f"{_SOURCE}tools/autograd/derivatives.yaml",
        rev=True,
        ops="floor_divide",
    ),
    Lack(
        "forward AD with aten::floor_divide that does not support it",
        f"{_SOURCE}tools/autograd/derivatives.yaml",
        fwd=True,
        ops="floor_divide",
    ),
    Lack(
        "forward AD with aten::silu_backward that does not support it",
        f"{_SOURCE}tools/autograd/derivatives.yaml",
        fwd=True,
        ops="silu",
    ),
    # Prototypes
    Lack(
        why="torch's while_loop has no forward mode: its torch.autograd.Function has no jvp",
        source=f"{_HIGHER}while_loop.py",
        fwd=True,
        ways="torch:while_loop",
    ),
    Lack(
        why="torch's scan has no forward mode: its torch.autograd.Function has no jvp",
        source=f"{_HIGHER}scan.py",
        fwd=True,
        ways="torch:scan",
    ),
    Lack("Autograd not implemented for while_loop", f"{_HIGHER}utils.py", rev=True, ways="torch:while_loop"),
    Lack("Autograd not implemented for scan", f"{_HIGHER}utils.py", rev=True, ways="torch:scan"),
    # "limited support for input and output types", of which complex ones are none
    Lack("outs_to_grad length", f"{_HIGHER}while_loop.py", rev=True, ops="complex", ways="torch:while_loop"),
    Lack(
        "_conj_copy does not support automatic differentiation for outputs with complex dtype",
        f"{_SOURCE}tools/autograd/gen_variable_type.py",
        rev=True,
        ops="complex",
        ways="torch:scan",
    ),
    # Their restrictions: "the same metadata", where an expanded zero has other strides; "cannot alias"
    Lack("to have same metadata but found", f"{_HIGHER}while_loop.py", ways=_LOOPS),
    Lack(
        "Encountered aliasing during higher order op tracing",
        f"{_HIGHER}while_loop.py",
        ops="complex",
        ways=_LOOPS,
    ),
    Lack("and scan dimension > 0", f"{_HIGHER}scan.py", ways="torch:scan"),
    # What the machine lacks, by the compiler that inductor starts
    Lack("fatal error: Python.h", f"{_SOURCE}torch/_inductor/cpp_builder.py", ways=_COMPILE),
    Lack("No space left on device", f"{_SOURCE}torch/_inductor/cpp_builder.py", ways=_COMPILE),
    # vmap
    Lack("in some data-dependent control flow", f"{_DOCS}func.ux_limitations.html", ways=_VMAP),
    Lack("you're calling .item() on a Tensor", f"{_DOCS}func.ux_limitations.html", ways=_VMAP),
    Lack(
        "vmap: inplace arithmetic(self, *extra_args) is not possible",
        f"{_DOCS}func.ux_limitations.html",
        ops="index_update",
        ways=_VMAP,
    ),
    Lack(
        "Batching rule not implemented for aten::_neg_view",
        f"{_SOURCE}aten/src/ATen/functorch/BatchedFallback.cpp",
        fwd=True,
        rev=True,
        ops="complex",
        ways=_NESTED,
    ),
    Lack(
        "vmap over torch.allclose isn't supported yet",
        f"{_SOURCE}aten/src/ATen/functorch/BatchRulesDynamic.cpp",
        fwd=True,
        rev=True,
        ops="complex",
        ways=_NESTED,
    ),
)
