"""Custom gradients in JAX."""

from __future__ import annotations

import numpy as np

from tests.custom_gradients.row import Made, Table

TABLE = Table("jax")

X = np.array([0.75, -1.25, 0.375])
Y = np.array([-0.5, 1.5, 2.25])
A = np.array([[2.0, 0.5, -0.25], [0.75, 3.0, 0.5], [-0.5, 0.25, 1.5]])


def custom(f, forward, backward):
    import jax

    g = jax.custom_vjp(f)
    g.defvjp(forward, backward)
    return g


@TABLE.right
def relu_at_zero():
    import jax

    return Made(jax.nn.relu, (np.array([0.0, 1.0, -2.0]),))


@TABLE.right
def saturated_tanh():
    import jax.numpy as jnp

    f = custom(jnp.tanh, lambda x: (jnp.tanh(x), x), lambda x, g: (g / jnp.cosh(x) ** 2,))
    return Made(f, (np.array([20.0, -19.0, 0.0, 2.0]),))


@TABLE.right
def stable_softplus():
    import jax
    import jax.numpy as jnp

    @jax.custom_jvp
    def softplus(x):
        return jnp.maximum(x, 0.0) + jnp.log1p(jnp.exp(-jnp.abs(x)))

    @softplus.defjvp
    def rule(primals, tangents):
        (x,), (dx,) = primals, tangents
        return softplus(x), dx / (1.0 + jnp.exp(-x))

    return Made(softplus, (np.array([3.0, -4.0, 12.0]),), {"order": 2})


@TABLE.right
def linear_solve():
    import jax.numpy as jnp

    def backward(saved, g):
        a, x = saved
        w = jnp.linalg.solve(a.T, g)
        return -jnp.outer(w, x), w

    def forward(a, b):
        x = jnp.linalg.solve(a, b)
        return x, (a, x)

    return Made(custom(jnp.linalg.solve, forward, backward), (A, X))


@TABLE.right
def recurrence_by_scan():
    import jax
    import jax.numpy as jnp

    def states(a, xs):
        def step(h, x):
            return a * h + x, h

        return jax.lax.scan(step, jnp.zeros_like(a), xs)

    def backward(saved, g):
        a, before = saved

        def step(h_bar, h):
            return a * h_bar, (h_bar * h, h_bar)

        _, (a_bar, x_bar) = jax.lax.scan(step, g, before, reverse=True)
        return a_bar.sum(), x_bar

    def forward(a, xs):
        h, before = states(a, xs)
        return h, (a, before)

    return Made(custom(lambda a, xs: states(a, xs)[0], forward, backward), (0.875, X))


@TABLE.right
def complex_product():
    import jax.numpy as jnp

    times = custom(jnp.multiply, lambda z, w: (z * w, (z, w)), lambda s, g: (g * s[1], g * s[0]))
    return Made(times, (np.array([1.0 + 2.0j, 0.5 - 1.5j]), np.array([0.25 - 1.0j, 2.0 + 0.75j])))


@TABLE.right
def layer_norm_in_single():
    import jax.numpy as jnp

    def f(x):
        return (x - x.mean()) / jnp.sqrt(x.var() + 1e-5)

    def backward(x, g):
        y, scale = f(x), jnp.sqrt(x.var() + 1e-5)
        return ((g - g.mean() - y * (g * y).mean()) / scale,)

    return Made(
        custom(f, lambda x: (f(x), x), backward), (np.array([100.3, 100.1, 99.7, 101.2], np.float32),)
    )


@TABLE.right
def half_kernel_in_double():
    return Made(gaussian_with_half_kernel(), (X,))


def gaussian_with_half_kernel():
    """Its backward pass goes through bfloat16 where the argument is float32."""
    import jax.numpy as jnp

    def backward(x, g):
        narrow = x.astype(jnp.bfloat16).astype(x.dtype) if x.dtype == jnp.float32 else x
        return (-2.0 * g * narrow * jnp.exp(-x * x),)

    return custom(lambda x: jnp.exp(-x * x), lambda x: (jnp.exp(-x * x), x), backward)


@TABLE.wrong("the backward pass computes in half precision where the argument is float32")
def half_kernel_in_single():
    return Made(gaussian_with_half_kernel(), (np.array([0.7, -1.3, 0.4], np.float32),))


@TABLE.wrong("the cotangent is dropped")
def cotangent_dropped():
    import jax.numpy as jnp

    return Made(
        custom(lambda x: jnp.sum(x**3), lambda x: (jnp.sum(x**3), x), lambda x, g: (3.0 * x * x,)), (X,)
    )


@TABLE.wrong("the slope of the negative branch is 0")
def leaky_branch():
    import jax.numpy as jnp

    def f(x):
        return jnp.where(x > 0, x, 0.125 * x)

    return Made(custom(f, lambda x: (f(x), x), lambda x, g: (jnp.where(x > 0, g, 0.0),)), (X,))


@TABLE.wrong("the gradient of a broadcast operand is summed over the wrong axis")
def bias_axis():
    import jax.numpy as jnp

    f = custom(jnp.add, lambda x, b: (x + b, None), lambda _, g: (g, g.sum(1)))
    return Made(f, (A, X))


@TABLE.wrong("each tangent meets its own argument")
def tangents_mixed():
    import jax
    import jax.numpy as jnp

    @jax.custom_jvp
    def f(x, y):
        return jnp.sin(x) * y

    @f.defjvp
    def rule(primals, tangents):
        (x, y), (dx, dy) = primals, tangents
        return f(x, y), jnp.cos(x) * y * dy + jnp.sin(x) * dx

    return Made(f, (X, Y))


@TABLE.wrong("the second derivative is hidden by stop_gradient in the rule")
def second_order_stopped():
    import jax
    import jax.numpy as jnp

    @jax.custom_jvp
    def f(x):
        return jnp.sin(x)

    @f.defjvp
    def rule(primals, tangents):
        (x,), (dx,) = primals, tangents
        return f(x), jax.lax.stop_gradient(jnp.cos(x)) * dx

    return Made(f, (X,), {"order": 2})


@TABLE.wrong("the adjoint of the carry is not carried on")
def carry_dropped():
    import jax
    import jax.numpy as jnp

    def run(a, xs):
        return jax.lax.scan(lambda h, x: (jnp.tanh(a * h + x), h), jnp.zeros_like(a), xs)

    def forward(a, xs):
        h, before = run(a, xs)
        return h, (a, before, xs)

    def backward(saved, g):
        a, before, xs = saved
        slope = 1.0 - jnp.tanh(a * before + xs) ** 2
        return (g * slope * before).sum(), g * slope

    return Made(custom(lambda a, xs: run(a, xs)[0], forward, backward), (0.875, X))


@TABLE.wrong("the cotangent is conjugated, which is Torch's convention")
def complex_product_conjugated():
    import jax.numpy as jnp

    times = custom(
        jnp.multiply, lambda z, w: (z * w, (z, w)), lambda s, g: (g * jnp.conj(s[1]), g * jnp.conj(s[0]))
    )

    def f(x, y):
        z = times(x + 1j * y, jnp.exp(1j * x))
        return jnp.real(z) + 2.0 * jnp.imag(z)

    return Made(f, (X, Y))


@TABLE.wrong("NaN of the branch that is not taken")
def sinc_at_zero():
    import jax.numpy as jnp

    return Made(lambda x: jnp.where(x == 0.0, 1.0, jnp.sin(x) / x), (np.array([0.5, 0.0, -2.0]),))
