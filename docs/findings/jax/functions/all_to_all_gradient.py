"""The gradient through jax.lax.all_to_all inside of shard_map raises where split_axis is not concat_axis.

    all_to_all moves entries and changes none, so the gradient of sum(all_to_all(x)^2) / 2 is x

The gradient is right where the two axes are one, where it is tiled, and under vmap; so is forward mode.
Prints expected and got, and exits with 1 while one raises.
"""

import sys

import jax
import numpy as np

jax.config.update("jax_enable_x64", True)
jax.config.update("jax_num_cpu_devices", 2)
mesh = jax.sharding.Mesh(np.array(jax.devices()), ("i",))
rows = jax.sharding.PartitionSpec("i")
x = np.linspace(-1.0, 1.0, 24).reshape(4, 2, 3)
wrong = False
print(f"jax {jax.__version__}")
for split, concat in ((0, 0), (0, 1), (1, 0), (1, 1)):

    def body(own, split=split, concat=concat):
        return jax.lax.all_to_all(own, "i", split, concat)

    def half_square(x, body=body):
        return 0.5 * (jax.shard_map(body, mesh=mesh, in_specs=rows, out_specs=rows)(x) ** 2).sum()

    expected = np.linalg.norm(x)
    try:
        got = np.asarray(jax.grad(half_square)(x))
    except ValueError as error:
        print(f"axes {split} and {concat}: expected norm {expected:.12f}, ValueError: {str(error)[:70]}")
        wrong = True
    else:
        print(f"axes {split} and {concat}: expected norm {expected:.12f}, got {np.linalg.norm(got):.12f}")
        wrong = wrong or np.abs(got - x).max() > 1e-12
sys.exit(int(wrong))
