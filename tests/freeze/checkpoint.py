"""A model on both surfaces, trained for two steps, whose weights and optimizer state are a checkpoint.

    python -m tests.freeze.checkpoint tests/freeze/checkpoint-0.1.0

wrote the files of a release. `start` makes the trees that they are read into.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp

import mlax
import mlax.graph as bx
from mlax import block, nn, optim

Trees = dict[str, Any]
"""The trees of a checkpoint, by the names of their files."""


def pair() -> tuple[Any, Any, Any]:
    """A layer of layers, with state."""
    keys = jax.random.split(jax.random.key(0), 4)
    attention = nn.MultiHeadAttention.init(keys[1], features=8, heads=2)
    return block.Series.init(
        [
            nn.Linear.init(keys[0], in_features=4, out_features=8),
            block.Residual.init(attention),
            block.Recurrent.init(nn.LSTMCell.init(keys[2], in_features=8, features=8)),
            nn.BatchNorm.init(keys[3], channels=8, channel_last=True),
        ]
    )


def module() -> tuple[bx.Sequential, bx.Params]:
    """The same kind of model of modules, and where its parameters start."""
    graph = bx.Graph("model")
    rng = bx.Rng(graph.child("rng"))
    node = graph.child("mlp")
    model = bx.Sequential(
        node,
        [
            bx.Linear(node.child("up"), output_size=8, rng=rng),
            bx.BatchNorm(node.child("norm"), channel_last=True, rng=rng),
            jax.nn.relu,
            bx.Linear(node.child("down"), output_size=3, rng=rng),
        ],
    )
    return model, rng.seed(bx.Params(), seed=0)


def inputs() -> jax.Array:
    """What the models are trained on."""
    return jnp.sin(jnp.arange(2 * 3 * 4, dtype=jnp.float32)).reshape(2, 3, 4)


def start() -> Trees:
    """The trees before the first step."""
    trainables, non_trainables, _ = pair()
    state, _ = optim.AdamW.init(trainables, learning_rate=1e-2)
    model, params = module()
    _, params = model(params, inputs(), is_training=False)
    parameters = params.remove([path for path in params if "rng" in path])
    return {
        "weights": trainables,
        "state": non_trainables,
        "optimizer": state,
        "parameters": parameters,
    }


def predictions(trees: Trees) -> dict[str, jax.Array]:
    """What both models say at inference with these weights."""
    _, _, hyperparams = pair()
    x = inputs()
    of_pair, _ = block.Series.fwd(
        x, trees["weights"], trees["state"], hyperparams, inference_mode=True
    )
    model, params = module()
    _, params = model(params, x, is_training=False)
    params = params.update(trees["parameters"])
    of_module, _ = model(params, x, is_training=False)
    return {"pair": of_pair, "module": of_module}


def trained() -> Trees:
    """The trees after two steps."""
    trees = start()
    _, _, hyperparams = pair()
    _, settings = optim.AdamW.init(trees["weights"], learning_rate=1e-2)
    x = inputs()

    def loss(weights, state):
        y, state = block.Series.fwd(x, weights, state, hyperparams)
        return jnp.mean(y**2), state

    for _ in range(2):
        gradients, trees["state"] = jax.grad(loss, has_aux=True)(
            trees["weights"], trees["state"]
        )
        updates, trees["optimizer"] = optim.AdamW.step(
            gradients, trees["optimizer"], trees["weights"], settings
        )
        trees["weights"] = optim.apply_updates(trees["weights"], updates)
    trees["parameters"] = jax.tree.map(lambda value: value * 1.5, trees["parameters"])
    return trees


def main() -> None:
    """Write the files."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path)
    folder: Path = parser.parse_args().folder
    folder.mkdir(parents=True)
    trees = trained()
    for name, tree in (trees | {"predictions": predictions(trees)}).items():
        mlax.save_safetensors(folder / f"{name}.safetensors", tree)


if __name__ == "__main__":
    main()
