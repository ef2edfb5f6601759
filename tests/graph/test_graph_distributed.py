"""A training step of two processes is that of one."""

from __future__ import annotations

import json
import math
import socket

from graph_programs import outputs, run, start

STEP = """
import functools, json
import jax, jax.numpy as jnp, numpy as np
from jax.sharding import NamedSharding, PartitionSpec as P
import mlax.graph as bx
from mlax.optim import Adam, apply_updates

graph = bx.Graph("net")
rng = bx.Rng(graph.child("rng"))
net = bx.Sequential(graph.child("model"), [
    bx.Linear(graph.child("up"), output_size=16, rng=rng,
              metadata={"kernel": {"sharding": P(None, "model")}}),
    bx.BatchNorm(graph.child("norm"), rng=rng),
    bx.Linear(graph.child("down"), output_size=4, rng=rng),
])
mesh = jax.make_mesh((2, 2), ("data", "model"), axis_types=(jax.sharding.AxisType.Auto,) * 2)
batch = np.random.default_rng(0).normal(size=(8, 8)).astype(np.float32)
x = jax.make_array_from_callback(
    batch.shape, NamedSharding(mesh, P("data")), lambda index: batch[index]
)


def init():
    example = jnp.zeros(batch.shape)
    params = net(rng.seed(bx.Params(), seed=42), example, is_training=True)[1]
    return params.locked()


placed = bx.shardings(jax.eval_shape(init), mesh)
params = jax.jit(init, out_shardings=placed)()
state, adam = jax.jit(lambda w: Adam.init(w, 1e-2))(params.split()[0])


@functools.partial(jax.jit, donate_argnames=("params", "state"))
def step(params, state, x):
    trainable, rest = params.split()

    def loss(trainable):
        y, after = net(trainable.merge(rest), x, is_training=True)
        return jnp.mean((y - 1.0) ** 2), after.split()[1]

    (value, rest), gradients = jax.value_and_grad(loss, has_aux=True)(trainable)
    updates, state = Adam.step(gradients, state, trainable, adam)
    return apply_updates(trainable, updates).merge(rest), state, value


losses = []
for _ in range(3):
    params, state, value = step(params, state, x)
    losses.append(float(value))
total = jax.jit(lambda p: sum(jnp.sum(jnp.square(w)) for w in jax.tree.leaves(p)))
print(json.dumps({
    "losses": losses,
    "weights": float(total(params.split()[0])),
    "mean": float(total(params["net", "norm", "mean"].value)),
    "devices": jax.device_count(),
    "here": jax.local_device_count(),
}))
"""

JOIN = """
import sys
import jax
jax.distributed.initialize(sys.argv[1], num_processes=2, process_id=int(sys.argv[2]))
"""


def _free_port() -> int:
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        return server.getsockname()[1]


def test_two_processes_train_as_one() -> None:
    address = f"127.0.0.1:{_free_port()}"
    processes = [start(JOIN + STEP, 2, (address, str(i))) for i in range(2)]
    first, second = (json.loads(o.splitlines()[-1]) for o in outputs(*processes))
    alone = json.loads(run(STEP, devices=4).splitlines()[-1])

    assert first == second
    assert (first["devices"], first["here"]) == (4, 2)
    assert (alone["devices"], alone["here"]) == (4, 4)
    assert first["losses"][-1] < first["losses"][0]
    for name in ("weights", "mean"):
        assert math.isclose(first[name], alone[name], rel_tol=1e-5)
    for ours, theirs in zip(first["losses"], alone["losses"], strict=True):
        assert math.isclose(ours, theirs, rel_tol=1e-5)
