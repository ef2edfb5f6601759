"""Modules on eight devices. Its checks run in one process, which test_graph_sharding starts."""

from __future__ import annotations

import functools
import json
import traceback
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P

import mlax.graph as bx


class Net(bx.Module):
    """Two maps: the columns of the first and the rows of the second are spread over devices."""

    def __init__(self, graph: bx.Graph, rng: bx.Rng, width: int = 16):
        super().__init__(graph)
        columns = {"kernel": {"sharding": P(None, "model")}}
        self.up = bx.Linear(
            graph.child("up"),
            output_size=width,
            rng=rng,
            metadata={**columns, "bias": {"sharding": P("model")}},
        )
        self.down = bx.Linear(
            graph.child("down"),
            output_size=8,
            use_bias=False,
            rng=rng,
            metadata={"kernel": {"sharding": P("model", None)}},
        )

    def __call__(self, params: bx.Params, x: jax.Array) -> tuple[jax.Array, bx.Params]:
        h, params = self.up(params, x)
        return self.down(params, jax.nn.relu(h))


def build(width: int = 16) -> tuple[bx.Rng, Net]:
    graph = bx.Graph("net")
    rng = bx.Rng(graph.child("rng"))
    return rng, Net(graph.child("model"), rng, width)


rng, net = build()
x = jax.random.normal(jax.random.key(1), (4, 8))
up, down = (("net", "model", name, "kernel") for name in ("up", "down"))


def mesh(*sizes: int) -> jax.sharding.Mesh:
    """Devices by two axes."""
    kinds = (jax.sharding.AxisType.Auto,) * 2
    return jax.make_mesh(sizes, ("data", "model"), axis_types=kinds)


def init() -> bx.Params:
    return net(rng.seed(bx.Params(), seed=42), x)[1].locked()


@functools.cache
def created() -> tuple[bx.Params, bx.Params, bx.Params, Any]:
    """Parameters of one device, the same over all, their shardings, the compiled program."""
    placed = bx.shardings(jax.eval_shape(init), mesh(2, 4))
    compiled = jax.jit(init, out_shardings=placed).lower().compile()
    return init(), compiled(), placed, compiled


def check_each_device_creates_its_part_of_the_same_parameters() -> None:
    plain, params, placed, compiled = created()
    assert params.is_locked
    assert list(params) == list(plain)
    for path, param in params.items():
        ours, theirs = param.value, plain[path].value
        if path[-1] == "seed":
            ours, theirs = map(jax.random.key_data, (ours, theirs))
        if jnp.issubdtype(ours.dtype, jnp.floating):
            # The draws are the same; what a compiler makes of them rounds by the part's size.
            np.testing.assert_array_max_ulp(ours, theirs, maxulp=2)
        else:
            np.testing.assert_array_equal(ours, theirs)
        assert param.value.sharding == placed[path].value, path
    assert {s.data.shape for s in params[up].value.addressable_shards} == {(8, 4)}
    assert params["net", "rng", "counter"].value.sharding.is_fully_replicated
    assert "all-gather" not in compiled.as_text()


@functools.partial(jax.jit, donate_argnames="params")
def step(params: bx.Params, x: jax.Array) -> bx.Params:
    trainable, rest = params.split()

    def loss(trainable: bx.Params) -> tuple[jax.Array, bx.Params]:
        y, after = net(trainable.merge(rest), x)
        return jnp.mean(y**2), after.split()[1]

    gradients, rest = jax.grad(loss, has_aux=True)(trainable)
    return jax.tree.map(lambda w, g: w - 0.1 * g, trainable, gradients).merge(rest)


def check_a_step_keeps_every_parameter_where_it_lies() -> None:
    plain, params, placed, _ = created()
    expected = step(jax.tree.map(jnp.copy, plain), x)
    given = jax.tree.map(jnp.copy, params)
    old = given[up].value
    after = step(given, jax.device_put(x, NamedSharding(mesh(2, 4), P("data"))))
    assert old.is_deleted()
    for path in (path for path in after if path[1] == "model"):
        value = after[path].value
        np.testing.assert_allclose(value, expected[path].value, rtol=1e-5, atol=1e-6)
        assert value.sharding.is_equivalent_to(placed[path].value, value.ndim), path


def check_shard_map_runs_a_module_of_the_size_of_a_part() -> None:
    plain, params, _, _ = created()
    _, part = build(width=4)

    def forward(params: bx.Params, x: jax.Array) -> jax.Array:
        return jax.lax.psum(part(params, x)[0], "model")

    mapped = jax.shard_map(
        forward,
        mesh=mesh(2, 4),
        in_specs=(bx.partition_specs(params), P("data")),
        out_specs=P("data"),
    )
    y, _ = net(plain, x)
    np.testing.assert_allclose(jax.jit(mapped)(params, x), y, rtol=1e-5, atol=1e-6)


def check_lanes_of_shard_map_share_parameters_and_not_masks() -> None:
    dropout = bx.Dropout(rng.graph.root.child("dropout"), rate=0.5, rng=rng)

    def forward(params: bx.Params, x: jax.Array) -> tuple[jax.Array, bx.Params]:
        seed = rng.get_seed(params)
        lane = jax.random.fold_in(seed, jax.lax.axis_index("data"))
        y, params = net(rng.seed(params, seed=lane), x)
        y, params = dropout(params, y + 1.0, is_training=True)
        return y, rng.seed(params, seed=seed)

    plain, *_ = created()
    mapped = jax.shard_map(
        forward,
        mesh=mesh(8, 1),
        in_specs=(P(), P("data")),
        out_specs=(P("data"), P()),
        check_vma=False,
    )
    y, after = jax.jit(mapped)(plain, jnp.ones((8, 8)))
    assert len({bytes(np.asarray(row == 0)) for row in y}) == 8
    assert rng.get_counter(after) == rng.get_counter(plain) + 1
    assert rng.get_seed(after) == rng.get_seed(plain)


CHECKS = {
    name.removeprefix("check_"): check
    for name, check in list(globals().items())
    if name.startswith("check_")
}


def main() -> None:
    """Run all checks, and print the traceback of each that fails."""
    failed = {}
    for name, check in CHECKS.items():
        try:
            check()
        except Exception:
            failed[name] = traceback.format_exc()
    print(json.dumps({"devices": jax.device_count(), "failed": failed}))


if __name__ == "__main__":
    main()
