"""Shardings of optimizer states, on eight simulated devices."""

from __future__ import annotations

from numerics_programs import run_on_devices

PROGRAM = """
import jax, jax.numpy as jnp
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
import numpy as np
from mlax.optim import Adam, Adafactor, Chain, ClipByGlobalNorm, state_shardings
from mlax.optim import apply_updates

mesh = Mesh(np.array(jax.devices()).reshape(4, 2), ("data", "model"))
shapes = {"kernel": (8, 16), "bias": (16,)}
specs = {"kernel": P("data", "model"), "bias": P("model")}
placed = {name: NamedSharding(mesh, specs[name]) for name in shapes}
weights = {
    name: jax.device_put(jnp.ones(shape), placed[name]) for name, shape in shapes.items()
}
gradients = jax.tree.map(lambda w: 0.5 * w, weights)


def place(init):
    abstract, hyperparams = jax.eval_shape(init, weights)
    shardings = state_shardings(abstract, weights, placed)
    return jax.jit(lambda w: init(w)[0], out_shardings=shardings)(weights), hyperparams


state, hyperparams = place(lambda w: Adam.init(w, 1e-3))
assert state.mean["kernel"].sharding == placed["kernel"], state.mean["kernel"].sharding
assert state.square["bias"].sharding == placed["bias"]
assert state.step.sharding.is_fully_replicated

step = jax.jit(Adam.step).lower(gradients, state, weights, hyperparams).compile()
for word in ("all-gather", "all-reduce", "all-to-all", "collective-permute"):
    assert word not in step.as_text(), word
updates, state = step(gradients, state, weights, hyperparams)
weights = apply_updates(weights, updates)
assert weights["kernel"].sharding.is_equivalent_to(placed["kernel"], 2)

chain, _ = place(
    lambda w: Chain.init([ClipByGlobalNorm.init(w, 1.0), Adam.init(w, 1e-3)])
)
assert chain.transformations[1].mean["kernel"].sharding == placed["kernel"]

factored, _ = place(lambda w: Adafactor.init(w, 1e-3, min_factored_size=2))
assert factored.row["kernel"].sharding.is_fully_replicated
print("placed")
"""


def test_states_lie_where_the_weights_lie_and_a_step_moves_nothing():
    assert run_on_devices(PROGRAM).strip() == "placed"
