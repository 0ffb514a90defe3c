"""Linear algebra as functions, named as in NumPy and the array API standard: `engine.linalg.solve(a, b)`.

Matrices are the last two axes; all leading axes are batch axes, of any number and size, and those of two
arguments broadcast. Every function has derivatives of every order in both modes; where they do not exist it
says what comes instead. What LAPACK cannot do (solve with a singular matrix, factor one that is not positive
definite) is NaN, for that matrix of the batch alone; shapes that do not fit raise `ProgramTypeError`.

Matrices may be complex. Products do not conjugate. Vectors of complex decompositions have phases that LAPACK
chooses: what does not depend on them is differentiated right, such as |v|^2, v v^H, or u v^H of a pair of
singular vectors.
"""

from __future__ import annotations

from typing import Any, Literal

from gradfuzz.engine.rules.value import Operand, apply

__all__ = ["cholesky", "eig", "eigh", "eigvals", "eigvalsh", "lu", "qr", "svd", "svdvals"]
__all__ += ["inv", "lstsq", "pinv", "solve", "triangular_solve"]
__all__ += ["det", "expm", "matrix_norm", "matrix_power", "slogdet", "vector_norm"]
__all__ += ["diagonal", "einsum", "kron", "outer", "trace", "tril", "triu"]


def _parts(op: str, count: int, x: Operand, **params: Any) -> tuple[Any, ...]:
    return tuple(apply(op, x, **params, part=k) for k in range(count))


# Decompositions ---------------------------------------------------------------------------------------------


def qr(x: Operand, *, mode: Literal["reduced", "complete"] = "reduced") -> tuple[Any, Any]:
    """q of shape (..., m, k) and r of (..., k, n) with x = q r, where x is (..., m, n) and k = min(m, n), or
    m for "complete".

    r has a real diagonal. The first min(m, n) columns must be independent. The last columns of a complete q
    have a derivative where there is one of them; the derivative of what depends on how several of them are
    chosen is NaN.
    """
    q, r = _parts("qr", 2, x, mode=mode)
    return q, r


def lu(x: Operand) -> tuple[Any, Any, Any]:
    """p of shape (..., m, m), l of (..., m, k) and u of (..., k, n) with x = p l u and k = min(m, n): row
    pivoting, l unit lower triangular.

    p is real and constant. The first k pivots must not be 0.
    """
    p, lower, upper = _parts("lu", 3, x)
    return p, lower, upper


def cholesky(x: Operand, *, upper: bool = False) -> Any:
    """The lower triangular l with l l^H = (x + x^H) / 2 and a real diagonal, or its adjoint. The gradient is
    Hermitian.
    """
    return apply("cholesky", x, upper=upper)


def eigh(x: Operand) -> tuple[Any, Any]:
    """Eigenvalues (..., n), ascending, and eigenvectors (..., n, n), as columns, of (x + x^H) / 2. The
    gradient is Hermitian.

    At repeated eigenvalues the gradient of a function of the values in which they may change places is right;
    one that depends on the choice of vectors is NaN, and so are second derivatives there.
    """
    w, v = _parts("eigh", 2, x)
    return w, v


def eigvalsh(x: Operand) -> Any:
    """The eigenvalues of `eigh` alone."""
    return apply("eigvalsh", x)


def eig(x: Operand) -> tuple[Any, Any]:
    """Eigenvalues (..., n), in LAPACK's order, and eigenvectors (..., n, n), as columns of length 1. Both are
    complex, also where x is real.

    What is asked of the vectors must not depend on their phases. At repeated eigenvalues as `eigh`, where
    there is a basis of eigenvectors.
    """
    w, v = _parts("eig", 2, x)
    return w, v


def eigvals(x: Operand) -> Any:
    """The eigenvalues of `eig` alone: complex."""
    return apply("eigvals", x)


def svd(x: Operand, *, full_matrices: bool = False) -> tuple[Any, Any, Any]:
    """u of shape (..., m, k), s of (..., k), descending, and vh of (..., k, n) with x = u diag(s) vh and k =
    min(m, n).

    With `full_matrices` u is (..., m, m) and vh (..., n, n). At repeated singular values, and for vectors at
    one that is 0, as `eigh`; further vectors as in `qr`.
    """
    u, s, vh = _parts("svd", 3, x, full_matrices=full_matrices)
    return u, s, vh


def svdvals(x: Operand) -> Any:
    """The singular values of `svd` alone."""
    return apply("svdvals", x)


# Solving ----------------------------------------------------------------------------------------------------


def solve(a: Operand, b: Operand) -> Any:
    """x with a x = b, for a of shape (..., n, n) and b of (..., n, k), or one vector b of shape (n,)."""
    return apply("solve", a, b)


def triangular_solve(
    a: Operand,
    b: Operand,
    *,
    lower: bool = True,
    transposed: bool = False,
    unit_diagonal: bool = False,
    left: bool = True,
) -> Any:
    """x with op(a) x = b, or x op(a) = b (`left` false), where op(a) is a or its transpose, which is not its
    adjoint.

    Only the triangle of a that `lower` names is read, without its diagonal where `unit_diagonal` says that it
    is 1; the gradient is 0 elsewhere.
    """
    return apply(
        "triangular_solve", a, b, lower=lower, transposed=transposed, unit_diagonal=unit_diagonal, left=left
    )


def inv(x: Operand) -> Any:
    """The inverse. Where it only multiplies something, `solve` loses less."""
    return apply("inv", x)


def pinv(x: Operand) -> Any:
    """The pseudo-inverse (..., n, m) of (..., m, n); differentiable along what does not change the rank."""
    return apply("pinv", x)


def lstsq(a: Operand, b: Operand) -> Any:
    """The shortest x of those with the least |a x - b|, for a of shape (..., m, n) and b of (..., m, k), or
    one vector b of shape (m,).
    """
    return apply("lstsq", a, b)


# Determinants, norms, powers --------------------------------------------------------------------------------


def det(x: Operand) -> Any:
    """The determinant. Its derivatives of every order are right at singular matrices, too."""
    return apply("det", x)


def slogdet(x: Operand) -> tuple[Any, Any]:
    """det / |det|, which has the derivative 0 where x is real, and the logarithm of |det|, which is real."""
    sign, logabsdet = _parts("slogdet", 2, x)
    return sign, logabsdet


def matrix_norm(
    x: Operand, *, ord: Literal["fro", "nuc", 1, -1, 2, -2, "inf", "-inf"] = "fro", keepdims: bool = False
) -> Any:
    """The Frobenius or nuclear norm, the greatest (or least) sum over a column (1) or a row ("inf"), or
    singular value (2).

    At a tie each side has an equal share of the gradient; at 0 that of "fro" is 0.
    """
    return apply("matrix_norm", x, ord=ord, keepdims=keepdims)


def vector_norm(
    x: Operand, *, ord: int | Literal["inf", "-inf"] = 2, axis: int | None = None, keepdims: bool = False
) -> Any:
    """The norm of the entries along an axis, or of all (None); ties and 0 as in `matrix_norm`. Order 0
    counts, and has the derivative 0.
    """
    return apply("vector_norm", x, ord=ord, axis=axis, keepdims=keepdims)


def matrix_power(x: Operand, n: int) -> Any:
    """x multiplied n times, or its inverse -n times."""
    return apply("matrix_power", x, n=n)


def expm(x: Operand) -> Any:
    """The exponential of a matrix."""
    return apply("expm", x)


# Diagonals, triangles, products -----------------------------------------------------------------------------


def trace(x: Operand, *, offset: int = 0) -> Any:
    """The sum of the diagonal `offset` above the main one, over the last two axes."""
    return apply("trace", x, offset=offset)


def diagonal(x: Operand, *, offset: int = 0) -> Any:
    """The diagonal `offset` above the main one, over the last two axes, as a last axis."""
    return apply("diagonal", x, offset=offset)


def tril(x: Operand, *, k: int = 0) -> Any:
    """x with zeros above the diagonal k."""
    return apply("tril", x, k=k)


def triu(x: Operand, *, k: int = 0) -> Any:
    """x with zeros below the diagonal k."""
    return apply("triu", x, k=k)


def outer(x: Operand, y: Operand) -> Any:
    """All products of two vectors, (m,) and (n,), as (m, n)."""
    return apply("outer", x, y)


def kron(x: Operand, y: Operand) -> Any:
    """The Kronecker product (..., m p, n q) of (..., m, n) and (..., p, q)."""
    return apply("kron", x, y)


def einsum(subscripts: str, *operands: Operand) -> Any:
    """The sum of products that `subscripts` says, as "ij,jk->ik": letters, with an arrow, no ellipsis; a
    letter may repeat in one operand.
    """
    return apply("einsum", *operands, subscripts=subscripts)
