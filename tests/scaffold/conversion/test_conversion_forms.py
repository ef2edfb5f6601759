"""Forms in which people write the same thing: each becomes what the plain one does."""

from __future__ import annotations

from mlax_scaffold.conversion import Converted, convert

TORCH = """\
import torch
import torch.nn as nn
import torch.nn.functional as F


"""


def converted(body: str, head: str = TORCH, kind: str = "LAYER") -> Converted:
    name = "from_thing" if kind == "FUNCTION" else "FromThing"
    thing = "thing" if kind == "FUNCTION" else "Thing"
    made = convert("thing.py", head + body, thing, name, kind)
    assert made.whole, made.notes
    return made


def test_a_class_that_is_built_on_a_layer_has_one():
    text = converted("""\
class Thing(nn.Conv1d):
    def __init__(self, dim, size):
        super().__init__(dim, 2 * dim, size)
        self.left = size - 1

    def forward(self, x):
        return super().forward(F.pad(x, (self.left, 0)))
""").text
    assert "self.base = Conv(1, self.dim, 2 * self.dim, self.size, padding=0)" in text
    assert "return self.base(jnp.pad(x, " in text
    assert "x: Float['batch dim time']" in text


def test_a_sequence_that_is_a_class_is_called():
    text = converted("""\
class Thing(nn.Sequential):
    def __init__(self, dim):
        super().__init__(nn.Linear(dim, dim), nn.ReLU())
""").text
    assert "self.base_0 = Linear(self.dim, self.dim)" in text
    assert "return self._base(x)" in text


def test_layers_that_a_loop_appends_take_hyperparameters():
    text = converted("""\
class Thing(nn.Module):
    def __init__(self, dim, depth):
        super().__init__()
        self.layers = nn.ModuleList()
        for i in range(depth):
            self.layers.append(nn.Linear(dim, dim))

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x
""").text
    line = "self.layers = [Linear(self.dim, self.dim) for _ in range(self.depth)]"
    assert line in text


def test_stochastic_depth_that_a_file_carries_along_is_that_of_the_library():
    text = converted("""\
def drop_path(x, drop_prob=0.0, training=False):
    keep = 1 - drop_prob
    mask = x.new_empty((x.shape[0], 1, 1)).bernoulli_(keep)
    return x * mask / keep


class DropPath(nn.Module):
    def __init__(self, drop_prob=0.0):
        super().__init__()
        self.drop_prob = drop_prob

    def forward(self, x):
        return drop_path(x, self.drop_prob, self.training)


class Thing(nn.Module):
    def __init__(self, dim, rate=0.1):
        super().__init__()
        self.linear = nn.Linear(dim, dim)
        self.drop = DropPath(rate)

    def forward(self, x):
        return x + self.drop(self.linear(x))
""").text
    assert "self.drop = DropPath(self.rate)" in text
    assert "from mlax_scaffold.specs.nn.drop_path import DropPath" in text
    assert "bernoulli" not in text


def test_lambdas_are_written_out_where_they_are_called():
    head = "import haiku as hk\nimport jax.numpy as jnp\n\n\n"
    text = converted(
        """\
class Thing(hk.Module):
    def __init__(self, depth, name=None):
        super().__init__(name=name)
        self.depth = depth

    def __call__(self, x):
        for i in range(self.depth):
            norm = lambda t, n: hk.LayerNorm(-1, True, True, name=f"{n}_{i}")(t)
            x = x + hk.Linear(x.shape[-1], w_init=jnp.zeros)(norm(x, "before"))
        return x
""",
        head,
    ).text
    assert "self.befores = [LayerNorm(" in text
    assert "kernel_initializer=zeros" in text
    assert "lambda" not in text


def test_what_is_computed_is_not_computed_again_for_a_lambda():
    text = converted("""\
class Thing(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.linear = nn.Linear(dim, dim)

    def forward(self, x):
        square = lambda t: t * t
        return square(self.linear(x))
""").text
    assert text.count("self.linear(x)") == 1


EQUINOX = """\
import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Float


"""


def test_sizes_that_annotations_share_are_the_same():
    text = converted(
        """\
class Thing(eqx.Module):
    weight: jax.Array

    def __init__(self, features, *, key):
        self.weight = jr.normal(key, (features, features))

    def __call__(self, x: Float[Array, "nodes in"], adj: Float[Array, "nodes nodes"]):
        return adj @ (x @ self.weight)
""",
        EQUINOX,
    ).text
    assert "x: Float['nodes features']" in text
    assert "adj: Float['nodes nodes']" in text


def test_keys_beside_layers_are_left_out_of_loops():
    text = converted(
        """\
class Thing(eqx.Module):
    layers: list
    drop: eqx.nn.Dropout

    def __init__(self, dims, p=0.5, *, key):
        keys = jr.split(key, len(dims))
        self.layers = [
            eqx.nn.Linear(i, o, key=k)
            for i, o, k in zip(dims[:-1], dims[1:], keys[:-1])
        ]
        self.drop = eqx.nn.Dropout(p)

    def __call__(self, x, *, key=None):
        keys = [None] * len(self.layers) if key is None else jr.split(key, 2)
        for layer, k in zip(self.layers, keys):
            x = self.drop(jax.nn.relu(layer(x)), key=k)
        return x
""",
        EQUINOX,
    ).text
    assert "for i, o in zip(self.dims[:-1], self.dims[1:])]" in text
    assert "for layer in self.layers:" in text
    assert "key" not in text


def test_what_is_asserted_of_nothing_is_left_out():
    text = converted("""\
class Thing(nn.Module):
    def __init__(self, dim):
        super().__init__()
        assert True, "always"
        self.layer = nn.Linear(dim, dim)

    def forward(self, x):
        assert True, "always"
        if self.layer is not None:
            assert True, "always"
        return self.layer(x)
""").text
    assert "require" not in text


def test_a_text_that_is_asserted_to_be_one_of_some_is_a_choice():
    text = converted(
        """\
def thing(x, reduction="mean"):
    assert reduction in ("mean", "sum")
    return x.mean() if reduction == "mean" else x.sum()
""",
        "import jax.numpy as jnp\n\n\n",
        "FUNCTION",
    ).text
    assert "reduction: Literal['mean', 'sum'] = 'mean'" in text
    assert "assert" not in text


def test_a_helper_that_makes_floats_of_numbers_is_given_the_dtype():
    text = converted(
        """\
def angles(dim, length, base=10000.0):
    inv = 1.0 / base ** (jnp.arange(0, dim, 2) / dim)
    made = jnp.outer(jnp.arange(length), inv)
    return jnp.cos(made), jnp.sin(made)


def earlier(length):
    return jnp.tril(jnp.ones((length, length), dtype=bool))


def rotated(x, cos, sin):
    even, odd = x[..., ::2], x[..., 1::2]
    return jnp.concatenate([even * cos - odd * sin, even * sin + odd * cos], axis=-1)


class Thing(nn.Module):
    heads: int

    @nn.compact
    def __call__(self, x):
        b, t, d = x.shape
        cos, sin = angles(d, t)
        x = rotated(x, cos, sin)
        scores = jnp.where(earlier(t), x @ x.swapaxes(1, 2), 0.0)
        return nn.Dense(d)(scores @ x)
""",
        "import flax.linen as nn\nimport jax\nimport jax.numpy as jnp\n\n\n",
    ).text
    assert "def angles(dim, length, base=10000.0, *, dtype=None):" in text
    cast = "jnp.asarray(np.cos(made), dtype), jnp.asarray(np.sin(made), dtype)"
    assert f"return ({cast})" in text
    assert "made = np.outer(np.arange(length), inv)" in text
    assert "cos, sin = angles(d, t, dtype=x.dtype)" in text
    assert "def earlier(length):" in text
    assert "jnp.where(earlier(t), " in text
    assert "rotated(x, cos, sin)" in text


def test_activations_in_place_are_what_they_compute():
    text = converted("""\
class Thing(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.main = nn.Sequential(
            nn.Linear(dim, dim), nn.ReLU(True), nn.Dropout(0.1, True),
            nn.Linear(dim, dim), nn.LeakyReLU(0.2, True), nn.Sigmoid(),
        )

    def forward(self, x):
        return self.main(x)
""").text
    assert "x = jax.nn.relu(x)" in text
    assert "x = jax.nn.leaky_relu(x, 0.2)" in text
    assert "Dropout(0.1)" in text


def test_an_index_that_is_a_buffer_stays_one():
    text = converted("""\
class Thing(nn.Module):
    def __init__(self, window, heads):
        super().__init__()
        self.table = nn.Parameter(torch.zeros((2 * window - 1) ** 2, heads))
        rows = torch.stack(torch.meshgrid([torch.arange(window), torch.arange(window)]))
        rows = torch.flatten(rows, 1)
        rows = rows[:, :, None] - rows[:, None, :]
        self.register_buffer("place", rows.sum(0))
        self.register_buffer("scale", torch.ones(heads))

    def forward(self, x):
        return x + self.table[self.place.view(-1)].sum(0) * self.scale
""").text
    grid = "np.meshgrid(np.arange(self.window), np.arange(self.window), indexing='ij')"
    assert grid in text
    assert "self.table[jnp.asarray(self.place).reshape(-1)]" in text
    assert "jnp.asarray(self.scale, x.dtype)" in text
