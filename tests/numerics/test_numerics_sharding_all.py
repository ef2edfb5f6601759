"""A step of every optimizer over eight simulated devices: what moves between them."""

from __future__ import annotations

from numerics_programs import run_on_devices

PROGRAM = """
import inspect, re
import jax, jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
from mlax import optim

mesh = Mesh(np.array(jax.devices()), ("model",))
shapes = {"kernel": (8, 16), "bias": (16,)}
placed = {
    "kernel": NamedSharding(mesh, P(None, "model")),
    "bias": NamedSharding(mesh, P("model")),
}


def lies(struct, sharding):
    return jax.ShapeDtypeStruct(struct.shape, struct.dtype, sharding=sharding)


weights = {n: jax.ShapeDtypeStruct(s, "float32") for n, s in shapes.items()}
weights = jax.tree.map(lies, weights, placed)


def take(hyperparams, gradients, state, weights):
    def value_and_gradients(weights):
        return jnp.float32(1.0), weights

    return hyperparams.apply(
        gradients,
        state,
        weights,
        value=jnp.float32(1.0),
        value_and_gradients=value_and_gradients,
        key=jax.random.key(0),
    )


for name in sorted(n for n in optim.__all__ if n[0].isupper()):
    parameters = dict(inspect.signature(getattr(optim, name).init).parameters)
    if parameters.pop("trainables", None) is None:
        continue
    required = {n for n, p in parameters.items() if p.default is p.empty}
    if required - {"learning_rate"}:
        continue
    rate = dict.fromkeys(required, 0.1)
    state, hyperparams = jax.eval_shape(
        lambda w: getattr(optim, name).init(w, **rate), weights
    )
    shardings = optim.state_shardings(state, weights, placed)
    step = jax.jit(take, static_argnums=0, out_shardings=(placed, shardings))
    lowered = step.lower(
        hyperparams, weights, jax.tree.map(lies, state, shardings), weights
    )
    words = "all-gather|all-reduce|all-to-all|collective-permute"
    moved = sorted(set(re.findall(words, lowered.compile().as_text())))
    print(name, *moved)
"""

NORMS = (
    *("Adafactor", "DAdaptAdamW", "DoG", "DoWG", "Fromage", "LAMB", "LARS", "Momo"),
    *("MomoAdam", "Muon", "NovoGrad", "PolyakSgd", "Prodigy", "TrustRatio"),
)
"""Optimizers whose method needs a sum over a weight, or over all: a norm or a product."""

OTHERS = {
    "Galore": {"all-gather", "all-reduce"},
    "Lbfgs": {"all-gather", "all-reduce"},
    "SM3": {"all-gather", "all-reduce", "collective-permute"},
}
"""A decomposition, a history, and maxima over axes that are kept in one replicated vector."""


def test_steps_move_no_more_than_their_method_needs():
    lines = run_on_devices(PROGRAM).splitlines()
    moved = {name: set(rest) for name, *rest in map(str.split, lines)}
    assert len(moved) > 40
    needed = {name: {"all-reduce"} for name in NORMS} | OTHERS
    for name, words in moved.items():
        assert words <= needed.get(name, set()), name
