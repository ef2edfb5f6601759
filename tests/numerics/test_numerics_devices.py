"""BatchNorm over eight simulated devices is that of the whole batch."""

from __future__ import annotations

from numerics_programs import run_on_devices

PROGRAM = """
import jax, jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, PartitionSpec as P
from mlax.nn import BatchNorm

mesh = Mesh(np.array(jax.devices()).reshape(4, 2), ("hosts", "devices"))
names = ("hosts", "devices")
x = jax.random.normal(jax.random.key(0), (16, 5, 3)) * 2.0 + 1.0
weights = {"channels": 3, "channel_last": True}
trainables, state, whole = BatchNorm.init(jax.random.key(1), **weights)
_, _, spread = BatchNorm.init(jax.random.key(1), **weights, axis_name=names)


def loss(fwd):
    def of(trainables, x):
        y, new = fwd(x, trainables)
        return jnp.sum(jnp.sin(y)), (y, new)

    return jax.jit(jax.grad(of, argnums=(0, 1), has_aux=True))


def alone(x, trainables):
    return BatchNorm.fwd(x, trainables, state, whole)


sharded = jax.shard_map(
    lambda x, trainables: BatchNorm.fwd(x, trainables, state, spread),
    mesh=mesh,
    in_specs=(P(names), P()),
    out_specs=(P(names), P()),
)
text = jax.jit(sharded).lower(x, trainables).compile().as_text()
assert "all-reduce" in text
for a, b in zip(
    jax.tree.leaves(loss(sharded)(trainables, x)),
    jax.tree.leaves(loss(alone)(trainables, x)),
    strict=True,
):
    np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-5)
print("equal on", len(jax.devices()))
"""


def test_batch_norm_over_devices() -> None:
    assert run_on_devices(PROGRAM) == "equal on 8\n"
