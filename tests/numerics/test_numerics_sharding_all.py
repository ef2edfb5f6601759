"""Every optimizer over eight simulated devices: where its state lies, and what moves in a step."""

from __future__ import annotations

import json
from typing import Any

import pytest
from numerics_programs import run_on_devices

PROGRAM = """
import json, re
import jax, jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
from numerics_every import PER_EXAMPLE, every
from numerics_optimizers import FAST_COMPILATION
from mlax import optim

mesh = Mesh(np.array(jax.devices()), ("model",))
shapes = {"kernel": (8, 16), "bias": (16,), "scale": (16,)}
placed = {
    "kernel": NamedSharding(mesh, P(None, "model")),
    "bias": NamedSharding(mesh, P("model")),
    "scale": NamedSharding(mesh, P()),
}
weights = {n: jax.device_put(np.ones(s, np.float32), placed[n]) for n, s in shapes.items()}
WORDS = "all-gather|all-reduce|all-to-all|collective-permute"


def take(hyperparams, gradients, state, weights):
    def value_and_gradients(weights):
        return jnp.float32(1.0), weights

    updates, state = hyperparams.apply(
        gradients,
        state,
        weights,
        value=jnp.float32(1.0),
        value_and_gradients=value_and_gradients,
        key=jax.random.key(0),
    )
    return optim.apply_updates(weights, updates), state


def elsewhere(tree, shardings, actual):
    rows = jax.tree_util.tree_leaves_with_path(tree)
    expected = jax.tree.leaves(shardings)
    return [
        f"{jax.tree_util.keystr(path)}: {a} in the place of {e.spec}"
        for (path, leaf), e, a in zip(rows, expected, jax.tree.leaves(actual), strict=True)
        if not a.is_equivalent_to(e, leaf.ndim)
    ]


for name, create in every():
    guard = "allow" if name.startswith("of_optax") else "disallow"
    with jax.transfer_guard_device_to_device(guard):
        state, hyperparams = create(weights)
    shardings = optim.state_shardings(state, weights, placed)
    gradients = weights
    if name in PER_EXAMPLE:
        gradients = jax.tree.map(
            lambda w, s: jax.device_put(w[None], NamedSharding(mesh, P(None, *s.spec))),
            weights,
            placed,
        )

    # What lies where, and what moves, is settled before machine code is made.
    def both(gradients, state, weights):
        return create(weights)[0], take(hyperparams, gradients, state, weights)

    program = jax.jit(both).lower(gradients, state, weights).compile(
        FAST_COMPILATION
    )
    created, after = program.output_shardings
    found = {
        "init": elsewhere(state, shardings, jax.tree.map(lambda a: a.sharding, state)),
        "compiled init": elsewhere(state, shardings, created),
        "step": elsewhere((weights, state), (placed, shardings), after),
        "moved": sorted(set(re.findall(WORDS, program.as_text()))),
    }
    if name in ("Adam", "Adafactor"):
        step = jax.jit(lambda *given: take(*given), static_argnums=0)
        for _ in range(2):
            _, state = step(hyperparams, gradients, state, weights)
        found["programs"] = step._cache_size()
    print(json.dumps([name, found]))

# One device that is not the default one, and shardings that are part of types.
device = jax.devices()[3]
alone = jax.device_put(np.ones(16, np.float32), device)
state, _ = optim.Adam.init(alone, 0.1)
print(json.dumps(["one device", [leaf.devices() == {device} for leaf in state]]))
axes = (jax.sharding.AxisType.Explicit,)
typed = NamedSharding(jax.make_mesh((8,), ("model",), axis_types=axes), P("model"))
with jax.set_mesh(typed.mesh):
    weight = jax.device_put(np.ones(16, np.float32), typed)
    init = lambda w: optim.Adam.init(w, 0.1)[0]
    after = [init(weight), jax.jit(init)(weight)]
print(json.dumps(["explicit", [state.mean.sharding == typed for state in after]]))
"""

NORMS = (
    *("AdaptiveGradClip", "ClipByBlockRms", "ClipByGlobalNorm", "Chain"),
    *("ClipExamples", "Mechanic"),
    *("DAdaptAdamW", "DifferentiallyPrivate", "DoG", "DoWG", "Fromage", "LAMB", "LARS"),
    *("Lbfgs", "Momo", "MomoAdam", "Monitor", "Muon", "Normalize", "NovoGrad"),
    *("PolyakSgd", "Prodigy", "Sam", "ScaleByWeight"),
    *("SkipLargeUpdates", "TrustRatio", "BacktrackingSearch", "ZoomSearch"),
    # Whether all is finite is known where all of it has been looked at.
    *("ApplyIfFinite", "DynamicLossScaling", "ZeroNans"),
)
"""Optimizers whose method needs a sum over a weight, or over all: a norm or a product."""

OTHERS = {
    "Adafactor": {"all-gather", "all-reduce"},
    "Galore": {"all-gather", "all-reduce"},
    "LowRank": {"all-gather", "all-reduce"},
    "SM3": {"all-gather", "all-reduce", "collective-permute"},
}
"""A decomposition; means and maxima over axes, which are kept in replicated vectors."""


@pytest.fixture(scope="module")
def found() -> dict[str, Any]:
    return dict(map(json.loads, run_on_devices(PROGRAM).splitlines()))


@pytest.fixture(scope="module")
def optimizers(found) -> dict[str, Any]:
    return {name: each for name, each in found.items() if isinstance(each, dict)}


def test_every_optimizer_was_looked_at(optimizers):
    assert len(optimizers) > 60


@pytest.mark.parametrize("when", ["init", "compiled init", "step"])
def test_state_lies_where_the_weights_do(optimizers, when):
    assert {name: each[when] for name, each in optimizers.items() if each[when]} == {}


def test_a_step_is_compiled_once(optimizers):
    assert optimizers["Adam"]["programs"] == optimizers["Adafactor"]["programs"] == 1


def test_state_lies_on_one_other_device_and_where_types_say(found):
    assert all(found["one device"])
    assert all(found["explicit"])


def test_steps_move_no_more_than_their_method_needs(optimizers):
    needed = {name: {"all-reduce"} for name in NORMS} | OTHERS
    beyond = {
        name: set(each["moved"]) - needed.get(name, set())
        for name, each in optimizers.items()
    }
    assert {name: moved for name, moved in beyond.items() if moved} == {}
