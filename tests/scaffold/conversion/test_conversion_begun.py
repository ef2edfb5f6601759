"""What weights begin as where the file says it by functions, lambdas, and arrays that it computes."""

from __future__ import annotations

import pytest
from test_conversion_forms import converted

LINEN = (
    "import flax.linen as nn\nimport jax\nimport jax.numpy as jnp\nfrom functools import partial\n\n\n"
    "def ring(key, shape, low=0.5, dtype=jnp.float32):\n"
    "    u = jax.random.uniform(key, shape)\n"
    "    return jnp.log(u + low).astype(dtype)\n\n\n"
    "def two(rng, shape):\n"
    "    one, other = jax.random.split(rng)\n"
    "    return jax.random.normal(one, shape) + jax.random.uniform(other, shape)\n\n\n"
    "def scaled(scale):\n"
    "    def init(key, shape, dtype=jnp.float32):\n"
    "        return scale * jax.random.normal(key, shape)\n\n"
    "    return init\n\n\n"
)
NNX = LINEN.replace("import flax.linen as nn", "from flax import nnx")
EQUINOX = "import equinox as eqx\nimport jax\nimport jax.numpy as jnp\nfrom jax import lax\n\n\n"


@pytest.mark.parametrize(
    ("given", "made"),
    [
        (
            "partial(ring, low=0.1)",
            "lambda key, shape, dtype: ring(key, shape, low=0.1, dtype=dtype)",
        ),
        ("ring", "lambda key, shape, dtype: ring(key, shape, dtype=dtype)"),
        ("two", "two"),
        (
            "lambda k, s: 1 + jax.random.normal(k, s)",
            "lambda key, shape, dtype: 1 + jax.random.normal(key, shape, dtype)",
        ),
        (
            "scaled(0.3)",
            "lambda key, shape, dtype: 0.3 * jax.random.normal(key, shape, dtype)",
        ),
    ],
)
def test_functions_of_a_file_begin_weights_of_linen(given, made):
    text = converted(
        f"""\
class Thing(nn.Module):
    dim: int

    @nn.compact
    def __call__(self, x):
        return x * self.param("a", {given}, (self.dim,))
""",
        LINEN,
    ).text
    assert f"self.a = trainable({made}, (self.dim,))" in text.replace(
        "\n", " "
    ).replace("  ", "")
    if given == "two":
        assert "def two(rng, shape, dtype=None):" in text
        assert "jax.random.normal(one, shape, dtype)" in text


def test_a_function_that_a_body_defines_begins_a_weight():
    text = converted(
        """\
class Thing(nn.Module):
    dim: int
    low: float = 0.2

    @nn.compact
    def __call__(self, x):
        def init(key, shape, dtype=jnp.float32):
            u = jax.random.uniform(key, shape)
            return jnp.exp(u + self.low)

        return x * self.param("a", init, (self.dim,))
""",
        LINEN,
    ).text
    assert "jnp.exp(jax.random.uniform(key, shape, dtype, 0.0, 1.0) + self.low)" in text
    assert "def init" not in text


@pytest.mark.parametrize(
    ("given", "made"),
    [
        (
            "ring(rngs.params(), (dim,))",
            "jnp.log(jax.random.uniform(key, shape, dtype) + 0.5)",
        ),
        (
            "two(rngs.params(), (dim,))",
            "jax.random.normal(jax.random.split(key)[0], shape, dtype)",
        ),
    ],
)
def test_functions_of_a_file_begin_weights_of_nnx(given, made):
    text = converted(
        f"""\
class Thing(nnx.Module):
    def __init__(self, dim: int, *, rngs):
        self.a = nnx.Param({given})

    def __call__(self, x):
        return x * self.a.value
""",
        NNX,
    ).text
    assert made in text
    assert "(self.dim,))" in text


@pytest.mark.parametrize(
    ("value", "made"),
    [
        (
            "jnp.concatenate([jnp.zeros(dim), jnp.ones(dim)])",
            "jnp.concatenate([jnp.zeros((self.dim,), dtype), jnp.ones((self.dim,), dtype)]), (2 * self.dim,)",
        ),
        (
            "jnp.zeros(2 * dim).at[dim:].set(1.0)",
            "jnp.zeros(shape, dtype).at[self.dim:].set(1.0), (2 * self.dim,)",
        ),
        (
            "jnp.tile(jnp.linspace(0, 1, dim), (2,))",
            "jnp.asarray(initial_a, dtype), initial_a.shape",
        ),
    ],
)
@pytest.mark.parametrize(
    ("read", "word"), [("self.a", "trainable"), ("lax.stop_gradient(self.a)", "state")]
)
def test_arrays_that_equinox_computes_are_weights(value, made, read, word):
    text = converted(
        f"""\
class Thing(eqx.Module):
    a: jax.Array
    mask: jax.Array

    def __init__(self, dim: int):
        self.a = {value}
        self.mask = jnp.tril(jnp.ones((dim, dim), dtype=bool))

    def __call__(self, x):
        return jnp.concatenate([x, x]) * {read} + self.mask.sum()
""",
        EQUINOX,
    ).text
    assert f"self.a = {word}(lambda key, shape, dtype: {made})" in text
    assert "self.mask = " in text
    assert "self.mask = trainable" not in text


def test_an_array_that_is_declared_static_is_none_of_the_weights():
    text = converted(
        """\
class Thing(eqx.Module):
    a: jax.Array = eqx.field(static=True)

    def __init__(self, dim: int):
        self.a = jnp.tile(jnp.linspace(0, 1, dim), (2,))

    def __call__(self, x):
        return x * self.a
""",
        EQUINOX,
    ).text
    assert "trainable" not in text


@pytest.mark.parametrize(
    ("given", "made"),
    [
        (
            "lambda: jnp.ones((1, self.dim)) / self.dim**0.5",
            "state(constant(1 / self.dim ** 0.5), (1, self.dim))",
        ),
        ("lambda: jnp.array([0.5, 0.5])", "(2,))"),
    ],
)
def test_a_variable_of_linen_begins_as_an_array_that_is_computed(given, made):
    text = converted(
        f"""\
class Thing(nn.Module):
    dim: int

    @nn.compact
    def __call__(self, x, update_stats: bool = True):
        u = self.variable("batch_stats", "u", {given})
        if update_stats and not self.is_initializing():
            u.value = u.value * 0.5
        return nn.Dense(self.dim)(x) * u.value.sum()
""",
        LINEN,
    ).text
    assert made in text
    assert "if self.training" in text


@pytest.mark.parametrize(
    ("given", "made"),
    [
        ("lambda s: jnp.zeros(s), (self.dim,)", "state(zeros, (self.dim,))"),
        ("jnp.ones, (self.dim,)", "state(ones, (self.dim,))"),
        ("lambda: jnp.zeros((), jnp.int32)", "state(zeros, (), jnp.int32)"),
        ("lambda: jnp.full((self.dim,), 0.5)", "state(constant(0.5), (self.dim,))"),
    ],
)
def test_a_variable_of_linen_in_setup_is_a_state(given, made):
    text = converted(
        f"""\
class Thing(nn.Module):
    dim: int

    def setup(self):
        self.kept = self.variable("stats", "kept", {given})

    def __call__(self, x, train: bool = False):
        if train:
            if not self.is_initializing():
                self.kept.value = self.kept.value * 2
        return x * self.kept.value
""",
        LINEN,
    ).text
    assert f"self.kept = {made}" in text
    assert "if self.training:\n            self.kept = self.kept * 2" in text


def test_weights_of_setup_have_the_names_that_checkpoints_have():
    text = converted(
        """\
class Thing(nn.Module):
    dim: int
    var: float = 1.0

    def setup(self):
        self.average = self.variable("stats", "mean", jnp.zeros, (self.dim,))
        self.spread = self.variable("stats", "var", jnp.ones, (self.dim,))
        self.gain = self.param("scale", nn.initializers.ones, (self.dim,))

    def __call__(self, x):
        return (x - self.average.value) * self.gain / (self.spread.value + self.var)
""",
        LINEN,
    ).text
    assert "self.mean = state(" in text
    assert "self.scale = trainable(" in text
    assert "self.spread = state(" in text
    assert "return (x - self.mean) * self.scale / (self.spread + self.var)" in text


REPLACED = """\
def drawn(layer, bound, key):
    first, second = jax.random.split(key)
    w = jax.random.uniform(first, layer.weight.shape, minval=-bound, maxval=bound)
    layer = eqx.tree_at(lambda layer: layer.weight, layer, w)
    layer = eqx.tree_at(lambda layer: layer.bias, layer, jnp.zeros_like(layer.bias))
    return layer


def head(n, m, scale=1.0, *, key):
    first, second = jax.random.split(key)
    layer = eqx.nn.Linear(n, m, key=first)
    w = jax.nn.initializers.orthogonal(scale)(second, (m, n))
    return eqx.tree_at(lambda l: (l.weight, l.bias), layer, (w, jnp.zeros(m)))


class Thing(eqx.Module):
    out: eqx.nn.Linear

    def __init__(self, dim, key):
        {made}

    def __call__(self, x):
        return self.out(x)
"""


@pytest.mark.parametrize(
    ("made", "begun", "told"),
    [
        (
            "self.out = head(dim, dim, 0.01, key=key)",
            "kernel_initializer=orthogonal(0.01), bias_initializer=zeros",
            0,
        ),
        (
            "self.out = drawn(eqx.nn.Linear(dim, 2, key=key), 1 / dim, key)",
            "kernel_initializer=lambda key, shape, dtype: jax.random.uniform(key, shape, dtype,"
            " -(1 / self.dim), 1 / self.dim), bias_initializer=zeros",
            0,
        ),
        (
            "out = eqx.nn.Linear(dim, 2, key=key)\n"
            "        self.out = eqx.tree_at(lambda l: l.weight, out, jax.random.normal(key, (2, dim)) / dim)",
            "kernel_initializer=normal(1 / self.dim)",
            0,
        ),
        (
            "out = eqx.nn.Linear(dim, 2, key=key)\n"
            "        self.out = eqx.tree_at(lambda l: l.bias, out, jnp.full((2,), -1.0))",
            "Linear(self.dim, 2, bias_initializer=constant(-1.0))",
            0,
        ),
        (
            "self.out = eqx.nn.Linear(dim, 2, key=key)\n"
            "        self.out = eqx.tree_at(lambda l: l.weight, self.out, self.out.weight * 0.1)",
            "self.out = Linear(self.dim, 2)",
            1,
        ),
    ],
)
def test_weights_of_equinox_that_replace_others_are_what_a_layer_begins_with(
    made, begun, told
):
    found = converted(REPLACED.format(made=made), EQUINOX)
    assert begun in found.text
    assert found.whole
    said = [n for n in found.notes if "begins with other numbers here" in n.what]
    assert len(said) == told
