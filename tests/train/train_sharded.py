"""What is checked on eight devices, in a process of its own: `python train_sharded.py`."""

from __future__ import annotations

import json
import tempfile
import traceback

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P
from train_models import batches, created, equal, modules

from mlax import optim, train

MESH = jax.make_mesh(
    (2, 4), ("data", "model"), axis_types=(jax.sharding.AxisType.Auto,) * 2
)
RULES = [
    (r"0/kernel$|up/kernel$", P(None, "model")),
    (r"3/kernel$|down/kernel$", P("model", None)),
    (r"scale$", P("model")),
    (".*", P()),
]


COMPILATIONS = []
"""How long each took since they were last forgotten."""


def _note(event: str, duration_secs: float, **kwargs: str | int) -> None:
    if "backend_compile" in event:
        COMPILATIONS.append(duration_secs)


jax.monitoring.register_event_duration_secs_listener(_note)


def _lies(tree, placed):
    for leaf, sharding in zip(
        jax.tree.leaves(tree), jax.tree.leaves(placed), strict=True
    ):
        assert leaf.sharding.is_equivalent_to(sharding, leaf.ndim), (
            leaf.shape,
            sharding,
        )


def _trains_in_its_place(create, made, loss, **options):
    whole = create()
    placed = train.shardings(jax.eval_shape(create), MESH, RULES)
    state = jax.jit(create, out_shardings=placed)()
    _lies(state, placed)
    function = train.step(loss, made, average_decay=0.9, **options)
    step = jax.jit(function, donate_argnums=0, out_shardings=(placed, None))
    alone = jax.jit(function)
    compiled = []
    for batch in batches(3, size=16):
        spread = jax.device_put(batch, NamedSharding(MESH, P("data")))
        COMPILATIONS.clear()
        state, measured = step(state, spread)
        compiled.append(bool(COMPILATIONS))
        whole, expected = alone(whole, batch)
        np.testing.assert_allclose(measured["loss"], expected["loss"], rtol=1e-5)
    _lies(state, placed)
    # The first call is of the state that was created, the others of those that came back.
    assert compiled.count(True) == 1, compiled
    return state, placed


def pairs():
    _, made, loss = created(rate=0.0, average=True)
    create = lambda: created(rate=0.0, average=True)[0]  # noqa: E731
    state, placed = _trains_in_its_place(create, made, loss)
    kernel = state.optimizer.mean.layers[0].kernel
    assert kernel.sharding.spec == P(None, "model")
    assert kernel.addressable_shards[0].data.shape == (4, 2)
    assert placed.average.layers[3].kernel.spec == P("model", None)


def parts_of_batches():
    _, made, loss = created(rate=0.0, average=True)
    create = lambda: created(rate=0.0, average=True)[0]  # noqa: E731
    _trains_in_its_place(create, made, loss, micro_batches=4)


def params():
    net, _ = modules()
    made = optim.Adam.init(jax.eval_shape(lambda: modules()[1].split()[0]), 0.01)

    def create():
        trainables, rest = modules()[1].split()
        optimizer = optim.Adam.init(trainables, 0.01)
        return train.init(trainables, rest, optimizer, jax.random.key(0), average=True)

    @train.loss_of_params
    def loss(params, batch, key):
        y, params = net(params, batch[0])
        return jnp.mean((y - batch[1]) ** 2), params

    state, _ = _trains_in_its_place(create, made, loss)
    kernel = state.trainables["net", "up", "kernel"].value
    assert kernel.addressable_shards[0].data.shape == (4, 2)


def examples():
    def create():
        weights = {
            "up": {"kernel": jnp.eye(4, 8)},
            "down": {"kernel": jnp.ones((8, 2))},
        }
        made = optim.ClipExamples.init(optim.Adam.init(weights, 0.01), 1.0)
        return train.init(weights, None, made, jax.random.key(0), average=True)

    def loss(trainables, non_trainables, batch, key):
        x, target = batch
        y = jnp.tanh(x @ trainables["up"]["kernel"]) @ trainables["down"]["kernel"]
        return jnp.mean((y - target) ** 2), non_trainables

    adam = optim.Adam.init(create().trainables, 0.01)
    made = optim.ClipExamples.init(adam, 1.0)
    for micro_batches in (1, 4):
        options = {"per_example": True, "micro_batches": micro_batches}
        state, _ = _trains_in_its_place(create, made, loss, **options)
        mean = state.optimizer.optimizer.mean["up"]["kernel"]
        assert mean.addressable_shards[0].data.shape == (4, 2)


def checkpoints():
    create = lambda: created(rate=0.0)[0]  # noqa: E731
    shapes = jax.eval_shape(create)
    placed = train.shardings(shapes, MESH, RULES)
    state = jax.jit(create, out_shardings=placed)()
    like = jax.tree.map(
        lambda leaf, sharding: jax.ShapeDtypeStruct(
            leaf.shape, leaf.dtype, sharding=sharding
        ),
        shapes,
        placed,
    )
    for library in ("safetensors", "orbax"):
        with tempfile.TemporaryDirectory() as folder:
            train.save(folder, state, library=library)
            restored = train.restore(folder, like)
        _lies(restored, placed)
        equal(restored, state)


CHECKS = (pairs, parts_of_batches, params, examples, checkpoints)


def main():
    failed = {}
    for check in CHECKS:
        try:
            check()
        except Exception:
            failed[check.__name__] = traceback.format_exc()
    print(json.dumps({"devices": jax.device_count(), "failed": failed}))


if __name__ == "__main__":
    main()
