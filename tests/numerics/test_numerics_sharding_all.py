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


GIVEN = {
    "clip_norm": 1.0,
    "clipping": 0.1,
    "decay": 0.9,
    "every": 2,
    "learning_rate": 0.1,
    "mask": lambda path, weight: path != "bias",
    "max_delta": 1.0,
    "max_norm": 1.0,
    "noise_multiplier": 1.0,
    "threshold": 1.0,
    "weight_decay": 0.1,
}


def create(name, weights):
    init = getattr(optim, name).init
    adam = optim.Adam.init(weights, 0.1)
    given = GIVEN | {
        "trainables": weights,
        "optimizer": adam,
        "transformations": [optim.ClipByGlobalNorm.init(weights, 1.0), adam],
    }
    required = [
        parameter.name
        for parameter in inspect.signature(init).parameters.values()
        if parameter.default is parameter.empty
    ]
    return init(**{name: given[name] for name in required})


for name in sorted(n for n in optim.__all__ if n[0].isupper()):
    if not hasattr(getattr(optim, name), "step"):
        continue
    state, hyperparams = jax.eval_shape(lambda w: create(name, w), weights)
    shardings = optim.state_shardings(state, weights, placed)
    step = jax.jit(take, static_argnums=0, out_shardings=(placed, shardings))
    gradients = weights
    if name == "DifferentiallyPrivate":
        gradients = jax.eval_shape(lambda w: jax.tree.map(lambda v: v[None], w), weights)
        gradients = jax.tree.map(
            lambda g, s: lies(g, NamedSharding(mesh, P(None, *s.spec))), gradients, placed
        )
    lowered = step.lower(
        hyperparams, gradients, jax.tree.map(lies, state, shardings), weights
    )
    words = "all-gather|all-reduce|all-to-all|collective-permute"
    # What moves is settled before machine code is made.
    program = lowered.compile({"xla_backend_optimization_level": 0})
    moved = sorted(set(re.findall(words, program.as_text())))
    print(name, *moved)
"""

NORMS = (
    *("AdaptiveGradClip", "Adafactor", "ClipByBlockRms", "ClipByGlobalNorm", "Chain"),
    *("DAdaptAdamW", "DifferentiallyPrivate", "DoG", "DoWG", "Fromage", "LAMB", "LARS"),
    *("Lbfgs", "Momo", "MomoAdam", "Muon", "NovoGrad", "PolyakSgd", "Prodigy", "Sam"),
    *("SkipLargeUpdates", "TrustRatio", "BacktrackingSearch", "ZoomSearch"),
    # Whether all is finite is known where all of it has been looked at.
    *("ApplyIfFinite", "DynamicLossScaling"),
)
"""Optimizers whose method needs a sum over a weight, or over all: a norm or a product."""

OTHERS = {
    "Galore": {"all-gather", "all-reduce"},
    "SM3": {"all-gather", "all-reduce", "collective-permute"},
}
"""A decomposition, and maxima over axes that are kept in one replicated vector."""


def test_steps_move_no_more_than_their_method_needs():
    lines = run_on_devices(PROGRAM).splitlines()
    moved = {name: set(rest) for name, *rest in map(str.split, lines)}
    assert len(moved) > 60
    needed = {name: {"all-reduce"} for name in NORMS} | OTHERS
    for name, words in moved.items():
        assert words <= needed.get(name, set()), name
