"""Parameters over eight simulated devices: created, run and trained where they lie."""

from __future__ import annotations

import pytest
from graph_programs import run

MODEL = """
import functools
import jax, jax.numpy as jnp, numpy as np
from jax.sharding import NamedSharding, PartitionSpec as P
import mlax.graph as bx

mesh = jax.make_mesh((2, 4), ("data", "model"), axis_types=(jax.sharding.AxisType.Auto,) * 2)


class Net(bx.Module):
    def __init__(self, graph, rng):
        super().__init__(graph)
        self.up = bx.Linear(
            graph.child("up"), output_size=16, rng=rng,
            metadata={"kernel": {"sharding": P(None, "model")}, "bias": {"sharding": P("model")}},
        )
        self.down = bx.Linear(
            graph.child("down"), output_size=8, rng=rng,
            metadata={"kernel": {"sharding": P("model", None)}},
        )

    def __call__(self, params, x):
        h, params = self.up(params, x)
        return self.down(params, jax.nn.relu(h))


graph = bx.Graph("net")
rng = bx.Rng(graph.child("rng"))
net = Net(graph.child("model"), rng)
x = jax.random.normal(jax.random.key(1), (4, 8))


def init():
    return net(rng.seed(bx.Params(), seed=42), x)[1].locked()


plain = init()
placed = bx.shardings(jax.eval_shape(init), mesh)
params = jax.jit(init, out_shardings=placed)()
"""


def test_each_device_creates_its_part_of_the_same_parameters() -> None:
    run(
        MODEL
        + """
assert params.is_locked
assert list(params) == list(plain)
for path in plain:
    np.testing.assert_array_equal(
        *(jax.random.key_data(v) if path[-1] == "seed" else v
          for v in (params[path].value, plain[path].value))
    )
    assert params[path].value.sharding == placed[path].value, path
kernel = params["net", "model", "up", "kernel"].value
assert {s.data.shape for s in kernel.addressable_shards} == {(8, 4)}
assert params["net", "rng", "counter"].value.sharding.is_fully_replicated
lowered = jax.jit(init, out_shardings=placed).lower().compile().as_text()
assert "all-gather" not in lowered
"""
    )


def test_a_step_keeps_every_parameter_where_it_lies() -> None:
    run(
        MODEL
        + """
@functools.partial(jax.jit, donate_argnames="params")
def step(params, x):
    trainable, rest = params.split()

    def loss(trainable):
        y, after = net(trainable.merge(rest), x)
        return jnp.mean(y**2), after.split()[1]

    gradients, rest = jax.grad(loss, has_aux=True)(trainable)
    moved = jax.tree.map(lambda w, g: w - 0.1 * g, trainable, gradients)
    return moved.merge(rest)


expected = step(jax.tree.map(jnp.copy, plain), x)
old = params["net", "model", "up", "kernel"].value
after = step(params, jax.device_put(x, NamedSharding(mesh, P("data"))))
assert old.is_deleted()
for path in (p for p in after if p[1] == "model"):
    np.testing.assert_allclose(after[path].value, expected[path].value, rtol=1e-5, atol=1e-6)
    assert after[path].value.sharding.is_equivalent_to(
        placed[path].value, after[path].value.ndim
    ), path
"""
    )


def test_shard_map_runs_on_the_parts() -> None:
    run(
        MODEL
        + """
specs = bx.partition_specs(jax.eval_shape(init))


def forward(params, x):
    h, params = net.up(params, x)
    partial = jax.nn.relu(h) @ params["net", "model", "down", "kernel"].value
    bias = params["net", "model", "down", "bias"].value
    return jax.lax.psum(partial, "model") + bias


# Within shard_map a module sees its part, so it is built for the size of that part.
local = bx.Graph("net")
part = bx.Linear(local.child("model").child("up"), output_size=4)
net.up = part
mapped = jax.shard_map(
    forward, mesh=mesh, in_specs=(specs, P("data")), out_specs=P("data")
)
y = jax.jit(mapped)(params, x)
up, down = (plain["net", "model", n, "kernel"].value for n in ("up", "down"))
np.testing.assert_allclose(y, jax.nn.relu(x @ up) @ down, rtol=1e-5, atol=1e-6)
"""
    )


LANES = """
import jax, jax.numpy as jnp, numpy as np
from jax.sharding import PartitionSpec as P
import mlax.graph as bx

graph = bx.Graph("net")
rng = bx.Rng(graph.child("rng"))
linear = bx.Linear(graph.child("linear"), output_size=16, rng=rng)
dropout = bx.Dropout(graph.child("dropout"), rate=0.5, rng=rng)
mesh = jax.make_mesh((jax.device_count(),), ("batch",), axis_types=(jax.sharding.AxisType.Auto,))


def forward(params, x):
    seed = rng.get_seed(params)
    if params.is_locked:
        lane = jax.lax.axis_index("batch")
        params = rng.seed(params, seed=jax.random.fold_in(seed, lane))
    y, params = linear(params, x)
    y, params = dropout(params, y, is_training=True)
    return y, rng.seed(params, seed=seed)


x = jnp.ones((8, 1, 4))
"""


def test_lanes_of_shard_map_share_parameters_and_not_masks() -> None:
    run(
        LANES
        + """
params = rng.seed(bx.Params(), seed=0)
_, params = linear(params, x[0])
params = params.locked()
mapped = jax.jit(jax.shard_map(
    forward, mesh=mesh, in_specs=(P(), P("batch")), out_specs=(P("batch"), P()),
    check_vma=False,
))
y, after = mapped(params, x.reshape(8, 4))
assert len({bytes(np.asarray(row == 0)) for row in y}) == 8
assert int(rng.get_counter(after)) == int(rng.get_counter(params)) + 1
assert jnp.array_equal(*(jax.random.key_data(rng.get_seed(p)) for p in (params, after)))
"""
    )


def test_lanes_of_vmap_create_the_same_parameters() -> None:
    run(
        LANES
        + """
def init(x):
    return forward(rng.seed(bx.Params(), seed=0), x)[1].locked()


params = jax.vmap(init, axis_name="batch", out_axes=None)(x)
assert params["net", "linear", "kernel"].value.shape == (4, 16)
y, _ = jax.vmap(forward, axis_name="batch", in_axes=(None, 0), out_axes=(0, None))(params, x)
assert len({bytes(np.asarray(row == 0)) for row in y}) == 8
""",
        devices=1,
    )


@pytest.mark.parametrize(
    ("metadata", "message"),
    [
        ('{"kernel": {"sharding": "model"}}', "must be a PartitionSpec"),
        ('{"bias": {"sharding": P(None, "model")}}', "has more axes than"),
    ],
)
def test_a_sharding_that_does_not_fit_is_named(metadata: str, message: str) -> None:
    printed = run(
        f"""
import jax, jax.numpy as jnp
from jax.sharding import PartitionSpec as P
import mlax.graph as bx

graph = bx.Graph("net")
rng = bx.Rng(graph.child("rng"))
linear = bx.Linear(graph.child("linear"), output_size=4, rng=rng, metadata={metadata})
_, params = linear(rng.seed(bx.Params(), seed=0), jnp.ones((1, 3)))
try:
    bx.partition_specs(params)
except (TypeError, ValueError) as error:
    print(error)
""",
        devices=1,
    )
    assert message in printed
    assert "'linear'" in printed
