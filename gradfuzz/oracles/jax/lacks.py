"""What JAX lacks of programs, by its own source; what depends on their loops, `supports` of a way says."""

from __future__ import annotations

from gradfuzz.oracles.lacks import Lack

LACKS = (
    Lack(
        "Singular value decomposition JVP not implemented for full matrices",
        "https://github.com/jax-ml/jax/blob/main/jax/_src/lax/linalg.py",
        fwd=True,
        rev=True,
        ops="svd",
    ),
    # Of wide matrices, and of mode "complete", in older releases
    Lack(
        "Unimplemented case of QR decomposition derivative",
        "https://github.com/jax-ml/jax/blob/jax-v0.5.0/jax/_src/lax/linalg.py",
        fwd=True,
        rev=True,
        ops="qr",
    ),
    Lack(
        "Derivatives of non-symmetric eigenvectors",
        "https://docs.jax.dev/en/latest/_autosummary/jax.lax.linalg.eig.html",
        many=True,
        ops="eigvals eig",
    ),
)
