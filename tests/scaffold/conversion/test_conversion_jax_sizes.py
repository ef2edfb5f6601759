"""Sizes and words that classes of flax and equinox tell each other."""

from __future__ import annotations

import pytest

from mlax_scaffold.conversion import convert

IMPORTS = (
    "import equinox as eqx\nimport flax.linen as nn\nimport jax\nimport jax.numpy as jnp\n"
    "from flax import nnx\n\n\n"
)


def of(code: str) -> str:
    made = convert("net.py", IMPORTS + code, "Net", "Net")
    assert made.whole, made.notes
    return made.text


def test_heads_that_are_merged_are_as_many_features_as_they_have():
    text = of(
        """\
class Net(nn.Module):
    heads: int = 2

    @nn.compact
    def __call__(self, x):
        y = nn.DenseGeneral((self.heads, 8))(x)
        y = y.reshape(y.shape[:-2] + (-1,))
        return nn.Dense(x.shape[-1])(y)
"""
    )
    assert "Linear(self.heads * 8, self.in_features)" in text


def test_an_input_that_is_called_key_is_given_by_its_place():
    text = of(
        """\
class Attend(nn.Module):
    def __call__(self, query, key, value, scale=1.0):
        weights = jax.nn.softmax(jnp.einsum("bnd,bmd->bnm", query, key) * scale)
        return jnp.einsum("bnm,bmd->bnd", weights, value)


class Net(nn.Module):
    dim: int

    @nn.compact
    def __call__(self, x, y):
        q, k, v = nn.Dense(self.dim)(x), nn.Dense(self.dim)(y), nn.Dense(self.dim)(y)
        return Attend()(query=q, key=k, value=v)
"""
    )
    assert "self.attend_0(q, k, v)" in text


def test_a_list_whose_elements_are_rates_holds_no_sizes():
    text = of(
        """\
class Block(nnx.Module):
    def __init__(self, dim, rate: float, rngs):
        self.linear = nnx.Linear(dim, dim, rngs=rngs)
        self.rate = rate

    def __call__(self, x):
        return x + self.linear(x) * self.rate


class Net(nnx.Module):
    def __init__(self, dim, rates, names, *, rngs):
        self.blocks = nnx.List([Block(dim, r, rngs) for i, (r, _) in enumerate(zip(rates, names))])

    def __call__(self, x):
        for block in self.blocks:
            x = block(x)
        return x
"""
    )
    net = text.partition("class Net")[2]
    assert "rates: tuple[float, ...]" in net
    assert "names: Sizes" in net


MLP = """\
class Map(eqx.Module):
    layers: list

    def __init__(self, sizes, key):
        keys = jax.random.split(key, len(sizes) - 1)
        self.layers = [eqx.nn.Linear(i, o, key=k) for i, o, k in zip(sizes[:-1], sizes[1:], keys)]

    def __call__(self, x):
        for layer in self.layers[:-1]:
            x = jax.nn.relu(layer(x))
        return self.layers[-1](x)


"""


def test_a_layer_of_a_list_of_sizes_that_is_mapped_tells_what_it_takes():
    text = of(
        MLP
        + """\
class Net(eqx.Module):
    messages: Map

    def __init__(self, dim, key):
        self.messages = Map([2 * dim + 1, dim, dim], key)

    def __call__(self, nodes, x, senders, receivers):
        far = jnp.sum((x[senders] - x[receivers]) ** 2, axis=-1, keepdims=True)
        pairs = jnp.concatenate([nodes[senders], nodes[receivers], far], axis=-1)
        return jax.vmap(self.messages)(pairs)
"""
    )
    assert "nodes: Float['batch dim']" in text


def test_a_layer_for_one_example_that_is_mapped_has_one_more_axis():
    text = of(
        """\
class Pool(eqx.Module):
    linear: eqx.nn.Linear

    def __init__(self, dim, key):
        self.linear = eqx.nn.Linear(dim, dim, key=key)

    def __call__(self, x):
        n, d = x.shape
        return jnp.mean(jax.vmap(self.linear)(x), axis=0) / n


class Net(eqx.Module):
    pool: Pool
    out: eqx.nn.Linear

    def __init__(self, dim, key):
        a, b = jax.random.split(key)
        self.pool = Pool(dim, key=a)
        self.out = eqx.nn.Linear(dim, 1, key=b)

    def __call__(self, x):
        return jax.vmap(self.out)(jax.vmap(self.pool)(x))
"""
    )
    net = text.partition("class Net")[2]
    assert "x: Float['batch n dim']" in net or "x: Float['batch axis1 dim']" in net


def test_beside_a_number_of_each_step_one_example_of_equinox_is_scanned():
    text = of(
        """\
from jaxtyping import Array, Float


class Net(eqx.Module):
    cell: eqx.nn.GRUCell

    def __init__(self, hidden, key):
        self.cell = eqx.nn.GRUCell(hidden, hidden, key=key)

    def __call__(self, x: Float[Array, "time features"], done: Float[Array, " time"], carry):
        def step(h, given):
            now, over = given
            h = self.cell(now, jnp.where(over > 0.5, 0.0, h))
            return h, h

        return jax.lax.scan(step, carry, (x, done))
"""
    )
    assert "x: Float['time hidden'], done: Float['time'], carry: Float['" in text
    assert "hidden hidden" not in text


def test_a_lambda_that_calls_each_layer_of_a_list_is_a_function_with_a_name():
    text = of(
        """\
class Net(eqx.Module):
    heads: list

    def __init__(self, dim, key):
        self.heads = [eqx.nn.Linear(dim, 1, key=k) for k in jax.random.split(key, 2)]

    def __call__(self, x):
        return jax.vmap(lambda h: jnp.stack([c(h)[0] for c in self.heads]))(x)
"""
    )
    assert "def each(h):" in text
    assert "jax.vmap(each)(x)" in text


def test_what_is_carried_in_a_tuple_has_the_shape_that_it_is_combined_with():
    text = of(
        """\
class Net(nnx.Module):
    def __init__(self, dim: int, rngs):
        self.linear = nnx.Linear(dim, dim, rngs=rngs)

    def __call__(self, carry, x):
        h, n = carry
        y = self.linear(x) + self.linear(h)
        n = jax.nn.sigmoid(y) + n
        return (y / n, n), y
"""
    )
    assert "carry: tuple[Float['*batch dim'], Float['*batch dim']]" in text


def test_a_mask_that_a_part_broadcasts_has_all_axes_of_what_it_masks():
    text = of(
        """\
class Masked(nn.Module):
    dim: int

    @nn.compact
    def __call__(self, x, paddings):
        x = nn.Dense(self.dim)(x) * (1 - jnp.expand_dims(paddings, -1))
        return nn.Conv(self.dim, (3,))(x)


class Net(nn.Module):
    dim: int = 8

    @nn.compact
    def __call__(self, x, paddings):
        pairs = jnp.logical_and((paddings < 1)[..., None], (paddings < 1)[..., None, :])
        return Masked(self.dim)(x, paddings), pairs
"""
    )
    net = text.partition("class Net")[2]
    assert "x: Float['batch time in_features'], paddings: Float['batch time']" in net


def test_lengths_and_masks_of_one_example_of_equinox_have_its_axes():
    text = of(
        """\
class Attend(eqx.Module):
    query: eqx.nn.Linear
    keys: eqx.nn.Linear

    def __init__(self, dim, key):
        a, b = jax.random.split(key)
        self.query = eqx.nn.Linear(dim, dim, key=a)
        self.keys = eqx.nn.Linear(dim, dim, key=b)

    def __call__(self, query, memory):
        scores = jnp.tanh(self.query(query)[None, :] + jax.vmap(self.keys)(memory))
        return jax.nn.softmax(scores.sum(-1)) @ memory


class Net(eqx.Module):
    embed: eqx.nn.Embedding
    cell: eqx.nn.GRUCell
    attend: Attend

    def __init__(self, dim, key):
        a, b, c = jax.random.split(key, 3)
        self.embed = eqx.nn.Embedding(16, dim, key=a)
        self.cell = eqx.nn.GRUCell(dim, dim, key=b)
        self.attend = Attend(dim, key=c)

    def __call__(self, tokens, length, h):
        mask = jnp.arange(tokens.shape[0]) < length
        x = jax.vmap(self.embed)(tokens)

        def step(h, given):
            now, there = given
            h = jnp.where(there, self.cell(now, h), h)
            return h, h

        h, hs = jax.lax.scan(step, h, (x, mask))
        return self.attend(h, hs)
"""
    )
    assert "query: Float['dim'], memory: Float['" in text
    assert "tokens: Int['time'], length: Int['']" in text


SHIFTED = """\
class Net(eqx.Module):
    embed: eqx.nn.Embedding
    start: int = eqx.field(static=True)

    def __init__(self, vocabulary: int, dim: int, start: int = 1, *, key):
        self.embed = eqx.nn.Embedding(vocabulary, dim, key=key)
        self.start = start

    def __call__(self, tokens):
        shifted = jnp.concatenate([{joined}])
        return jax.vmap(self.embed)(shifted)
"""


@pytest.mark.parametrize(
    "joined",
    [
        "jnp.array([self.start]), tokens[:-1]",
        "jnp.asarray([0]), tokens[:-1]",
        "tokens[1:], jnp.array([self.start, 0])",
        "jnp.full((1,), self.start), tokens[:-1]",
    ],
)
def test_what_is_joined_to_indices_of_one_example_is_of_indices(joined):
    text = of(SHIFTED.format(joined=joined))
    signature = text[text.rindex("def forward(") :].partition("\n")[0]
    assert signature.startswith("def forward(self, tokens: Int['")
    assert "*" not in signature.partition("]")[0]


def test_what_a_table_looks_up_is_joined_of_indices():
    text = of(
        """\
class Net(nn.Module):
    @nn.compact
    def __call__(self, prompt, answer):
        return nn.Embed(16, 8)(jnp.concatenate([prompt, answer], axis=1))
"""
    )
    assert "prompt: Int[" in text
    assert "answer: Int[" in text
