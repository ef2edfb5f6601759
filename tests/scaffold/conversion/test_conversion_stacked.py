"""Layers whose weights are stacked, and that are scanned over, are a list that a loop goes over."""

from __future__ import annotations

import pytest
from test_conversion_forms import converted

EQUINOX = (
    "import equinox as eqx\nimport jax\nimport jax.numpy as jnp\nimport jax.random as jr\n\n\n"
    "class Block(eqx.Module):\n    lin: eqx.nn.Linear\n\n"
    "    def __init__(self, dim, *, key):\n"
    "        self.lin = eqx.nn.Linear(dim, dim, key=key)\n\n"
    "    def __call__(self, x):\n        return x + jax.nn.relu(self.lin(x))\n\n\n"
)
NNX = (
    "from flax import nnx\nimport jax\n\n\n"
    "class Block(nnx.Module):\n"
    "    def __init__(self, dim, *, rngs):\n"
    "        self.lin = nnx.Linear(dim, dim, rngs=rngs)\n\n"
    "    def __call__(self, x):\n        return x + nnx.relu(self.lin(x))\n\n\n"
)
LOOP = "for {layer} in self.blocks:\n            x = {layer}(x)"


@pytest.mark.parametrize(
    "made",
    [
        "self.blocks = eqx.filter_vmap(lambda k: Block(dim, key=k))(jr.split(key, depth))",
        "keys = jr.split(key, depth)\n"
        "        make = lambda k: Block(dim, key=k)\n"
        "        self.blocks = jax.vmap(lambda k: Block(dim, key=k))(keys)",
        "def make(k):\n            return Block(dim, key=k)\n\n"
        "        self.blocks = eqx.filter_vmap(make)(jr.split(key, depth))",
        "@eqx.filter_vmap\n        def make(k):\n            return Block(dim, key=k)\n\n"
        "        self.blocks = make(jr.split(key, depth))",
    ],
)
def test_layers_that_equinox_stacks_are_a_list(made):
    text = converted(
        f"""\
class Thing(eqx.Module):
    blocks: Block

    def __init__(self, dim: int, depth: int = 3, *, key):
        {made}

    def __call__(self, x):
        dynamic, static = eqx.partition(self.blocks, eqx.is_array)

        def step(x, part):
            block = eqx.combine(part, static)
            return block(x), None

        x, _ = jax.lax.scan(jax.checkpoint(step), x, dynamic)
        return x
""",
        EQUINOX,
    ).text
    assert "self.blocks = [Block(self.dim) for _ in range(self.depth)]" in text
    assert LOOP.format(layer="block") in text
    assert "scan" not in text


def test_what_a_scan_carries_under_another_name_begins_and_ends_as_that():
    text = converted(
        """\
class Thing(eqx.Module):
    blocks: Block

    def __init__(self, dim: int, depth: int = 3, *, key):
        self.blocks = eqx.filter_vmap(lambda k: Block(dim, key=k))(jr.split(key, depth))

    def __call__(self, x):
        arrays, rest = eqx.partition(self.blocks, eqx.is_inexact_array)

        def step(carry, part):
            layer = eqx.combine(part, rest)
            return 2 * layer(carry), None

        y, _ = jax.lax.scan(step, x * 3, arrays)
        return y
""",
        EQUINOX,
    ).text
    assert (
        "carry = x * 3\n        for layer in self.blocks:\n"
        "            carry = 2 * layer(carry)\n        y = carry\n        return y"
    ) in text


def test_layers_that_nnx_maps_and_scans_are_a_list():
    text = converted(
        """\
class Thing(nnx.Module):
    def __init__(self, dim: int, depth: int = 3, *, rngs):
        @nnx.split_rngs(splits=depth)
        @nnx.vmap(in_axes=(0,), out_axes=0)
        def make(rngs):
            return Block(dim, rngs=rngs)

        self.blocks = make(rngs)
        self.depth = depth

    def __call__(self, x):
        @nnx.split_rngs(splits=self.depth)
        @nnx.scan(in_axes=(nnx.Carry, 0), out_axes=nnx.Carry)
        def forward(x, model):
            x = model(x)
            return x

        return forward(x, self.blocks)
""",
        NNX,
    ).text
    assert "self.blocks = [Block(self.dim) for _ in range(self.depth)]" in text
    assert LOOP.format(layer="model") in text


@pytest.mark.parametrize(
    ("lines", "made"),
    [
        (
            "x = jax.vmap(self.rope, in_axes=1, out_axes=1)(x)",
            "x = rotary_embedding(x, base=500.0)",
        ),
        (
            "turn = jax.vmap(self.rope, in_axes=1, out_axes=1)\n        x = turn(x)",
            "x = rotary_embedding(x, base=500.0)",
        ),
        (
            "x = self.rope(x)",
            "x = rotary_embedding(x[..., None, :], base=500.0)[..., 0, :]",
        ),
    ],
)
def test_rotary_embeddings_of_equinox_are_a_function(lines, made):
    text = converted(
        f"""\
class Thing(eqx.Module):
    rope: eqx.nn.RotaryPositionalEmbedding

    def __init__(self, dim: int):
        self.rope = eqx.nn.RotaryPositionalEmbedding(dim, theta=500.0)

    def __call__(self, x):
        {lines}
        return x
""",
        EQUINOX,
    ).text
    assert made in text


@pytest.mark.parametrize(
    ("decorators", "given", "scan"),
    [
        (
            "@nnx.split_rngs(splits=n)\n        @nnx.vmap(axis_size=n)",
            "rngs",
            "@nnx.scan\n        def step(x, block):\n            return block(x), None\n\n"
            "        x, _ = step(x, self.blocks)",
        ),
        (
            "@nnx.vmap",
            "rngs.fork(split=n)",
            "def step(x, block):\n            return block(x), None\n\n"
            "        x, _ = jax.lax.scan(step, x, self.blocks)",
        ),
    ],
)
def test_scans_of_nnx_that_carry_first_are_a_loop(decorators, given, scan):
    text = converted(
        f"""\
class Thing(nnx.Module):
    def __init__(self, dim, n, *, rngs):
        {decorators}
        def make(rngs):
            return Block(dim, rngs=rngs)

        self.blocks = make({given})

    def __call__(self, x):
        {scan}
        return x
""",
        NNX,
    ).text
    assert "self.blocks = [Block(self.dim) for _ in range(self.n)]" in text
    assert LOOP.format(layer="block") in text
