"""Parts of models as people write them in equinox, haiku, plain jax and optax: keys, loops, rates, masks."""

from __future__ import annotations

import pytest
from test_conversion_forms import converted
from test_conversion_jax_repositories import EQUINOX, HAIKU

from mlax_scaffold.conversion import convert

PLAIN = "import jax\nimport jax.numpy as jnp\n\n\n"
HEAD_OF_PARTS = (
    "import dataclasses\nimport equinox as eqx\nimport haiku as hk\n"
    "from flax import nnx\n" + PLAIN
)


def of_pair(code: str) -> str:
    made = convert("thing.py", PLAIN + code, "thing", "FromThing")
    assert made.whole, made.notes
    return made.text


def test_keys_that_a_function_splits_for_its_own_loop_are_no_names_where_it_is_called():
    text = of_pair(
        """\
def layer(m, n, key, scale=0.1):
    w_key, b_key = jax.random.split(key)
    return scale * jax.random.normal(w_key, (n, m)), scale * jax.random.normal(b_key, (n,))


def layers(sizes, key):
    keys = jax.random.split(key, len(sizes))
    return [layer(m, n, k) for m, n, k in zip(sizes[:-1], sizes[1:], keys)]


def init_thing(key, sizes=(4, 8, 3)):
    return layers(sizes, key)


def thing(params, x):
    for w, b in params:
        x = w @ x + b
    return x
"""
    )
    assert "for m, n in zip(self.sizes[:-1], self.sizes[1:])" in text
    assert "trainable(normal(0.1), (n, m))" in text


@pytest.mark.parametrize(
    ("value", "whole", "size"),
    [
        (
            "jnp.concatenate([jnp.zeros(n), jnp.ones(n), jnp.zeros(2 * n)])",
            "jnp.concatenate([jnp.zeros((self.n,), dtype), jnp.ones((self.n,), dtype), "
            "jnp.zeros((2 * self.n,), dtype)])",
            "(4 * self.n,)",
        ),
        (
            "jnp.concatenate([jnp.full((n, 3), 0.5), jnp.zeros((n, 2))], axis=-1)",
            "jnp.concatenate([jnp.full((self.n, 3), 0.5, dtype), "
            "jnp.zeros((self.n, 2), dtype)], axis=-1)",
            "(self.n, 5)",
        ),
        (
            "jnp.concatenate([jnp.zeros(n), jax.random.normal(key, (n,))])",
            "jnp.concatenate([jnp.zeros((self.n,), dtype), "
            "normal(1.0)(jax.random.fold_in(key, 1), (self.n,), dtype)])",
            "(2 * self.n,)",
        ),
    ],
)
def test_what_several_arrays_are_joined_to_is_a_weight(value, whole, size):
    text = of_pair(
        f"""\
def init_thing(key, n=4):
    return {{"inner": {{"b": {value}}}, "w": jnp.ones(n)}}


def thing(params, x):
    return (x * params["w"]).sum() + params["inner"]["b"]
"""
    )
    assert whole in text
    assert f"dtype=float: {whole}, {size})" in text


def test_a_lambda_that_hands_keys_and_flags_on_is_the_layer_itself():
    made = converted(
        """\
class Part(eqx.Module):
    fc: eqx.nn.Linear
    drop: eqx.nn.Dropout

    def __init__(self, size: int, *, key):
        self.fc = eqx.nn.Linear(size, size, key=key)
        self.drop = eqx.nn.Dropout(0.1)

    def __call__(self, x, enable_dropout=True, key=None):
        return self.drop(self.fc(x), inference=not enable_dropout, key=key)


class Thing(eqx.Module):
    part: Part

    def __init__(self, size: int, *, key):
        self.part = Part(size, key=key)

    def __call__(self, x, *, key=None):
        keys = None if key is None else jax.random.split(key, x.shape[0])
        inference = key is None
        return jax.vmap(
            lambda a, k: self.part(a, not inference, key=k),
            in_axes=(0, None if inference else 0),
        )(x, keys)
""",
        EQUINOX,
    )
    assert "lambda" not in made.text
    assert "inference" not in made.text
    assert "jax.vmap(self.part)(x)" in made.text
    # With a key the original would drop.
    assert made.trial is not None
    assert made.trial.flags == ()


HAIKU_LAYER = """\
class Lin(hk.Module):
    def __init__(self, output_size, name=None):
        super().__init__(name=name)
        self.output_size = output_size

    def __call__(self, x):
        size = x.shape[-1]
        stddev = 1.0 / jnp.sqrt(size)
        w = hk.get_parameter("w", [size, self.output_size], init=hk.initializers.TruncatedNormal(stddev))
        return x @ w


"""


def test_a_number_that_an_initializer_alone_is_given_is_written_there():
    text = converted(HAIKU_LAYER.replace("class Lin", "class Thing"), HAIKU).text
    assert "trainable(truncated_normal(1.0 / math.sqrt(self.in_features))" in text
    assert "stddev" not in text


@pytest.mark.parametrize("layer", ["hk.Linear", "Lin"])
@pytest.mark.parametrize("over", ["zip({})", "enumerate(zip({}))"])
def test_lists_that_one_loop_fills_have_the_sizes_of_what_they_are_called_with(
    layer, over
):
    target = "i, (a, b)" if "enumerate" in over else "a, b"
    text = converted(
        f"""\
{HAIKU_LAYER}class Thing(hk.Module):
    def __init__(self, sizes=(16, 12), name=None):
        super().__init__(name=name)
        self.layers, self.gates = [], []
        for i, size in enumerate(sizes):
            self.layers.append({layer}(size, name=f"linear_{{i}}"))
            self.gates.append({layer}(size, name=f"gate_{{i}}"))

    def __call__(self, x):
        for {target} in {over.format("self.layers, self.gates")}:
            x = a(x) * jax.nn.sigmoid(b(x))
        return x
""",
        HAIKU,
    ).text
    assert text.count("zip((self.in_features, *self.sizes), ") == 2
    assert "@name" not in text
    assert "in_features_2" not in text


def test_a_rate_that_a_call_may_be_given_is_a_hyperparameter():
    text = converted(
        """\
class Thing(hk.Module):
    def __call__(self, x, is_training: bool, dropout_rate: Optional[float] = None):
        x = hk.Linear(8)(x)
        if is_training and dropout_rate is not None:
            x = hk.dropout(hk.next_rng_key(), dropout_rate, x)
        return x
""",
        HAIKU + "from typing import Optional\n\n\n",
    ).text
    assert "dropout_rate: Probability | None = None" in text
    assert "Dropout(0.0 if self.dropout_rate is None else self.dropout_rate)" in text


OPTAX = "import jax\nimport jax.numpy as jnp\nimport optax\n\n\n"


def test_a_mask_that_a_parameter_is_by_default_is_the_one_of_the_optimizer():
    code = """\
def thing(learning_rate=0.1, mask=lambda p: jax.tree.map(lambda x: x.ndim > 1, p)):
    return optax.chain(
        optax.add_decayed_weights(0.01, mask=mask),
        optax.scale_by_learning_rate(learning_rate),
    )
"""
    made = convert("thing.py", OPTAX + code, "thing", "FromThing", "OPTIMIZER")
    assert made.whole, made.notes
    assert "if param.ndim > 1 else grad" in made.text
    assert "mask" not in made.text
    assert any("for the mask that `mask` is by default" in n.what for n in made.notes)


def test_a_number_that_is_broadcast_has_the_dtype_of_the_input():
    text = converted(
        """\
def thing(x):
    return jnp.concatenate([x, jnp.broadcast_to(1e10, x[..., :1].shape)], -1)
""",
        PLAIN,
        "FUNCTION",
    ).text
    assert "jnp.full(x[..., :1].shape, 10000000000.0, x.dtype)" in text


def test_what_a_branch_alone_binds_is_what_it_is_there():
    code = """\
def thing(lr=0.1, max_norm=1.0):
    def init(params):
        return optax.EmptyState()

    def update(grads, state, params=None):
        if max_norm is not None:
            leaves = jax.tree.leaves(grads)
            norm = jnp.sqrt(sum(jnp.sum(jnp.square(g)) for g in leaves))
            grads = jax.tree.map(lambda g: g * (max_norm / norm), grads)
        return jax.tree.map(lambda g: -lr * g, grads), state

    return optax.GradientTransformation(init, update)
"""
    made = convert("thing.py", OPTAX + code, "thing", "FromThing", "OPTIMIZER")
    assert made.whole, made.notes
    assert "[sum(jnp.square(g)) for g in jax.tree.leaves(grads)]" in made.text
    assert "else norm" not in made.text
    assert "grad * (self.max_norm / self.norm)" in made.text


READ_PARTS = """\
class Einsum(nnx.Module):
    def __init__(self, equation, shape, *, rngs):
        self.equation = equation
        self.shape = shape
        self.w = nnx.Param(nnx.initializers.normal()(rngs.params(), shape))

    def __call__(self, x):
        return jnp.einsum(self.equation, x, self.w.value)


class Thing(nnx.Module):
    def __init__(self, dim: int, heads: int, head_dim: int, *, rngs: nnx.Rngs):
        self.proj = Einsum("BD,DNH->BNH", shape=(dim, heads, head_dim), rngs=rngs)
        self.scale = self.size ** -0.5

    @property
    def size(self):
        return self.proj.shape[-1]

    def __call__(self, x):
        return self.proj(x) * self.scale / self.proj.shape[1]
"""


def test_a_size_that_a_layer_was_made_with_is_read_off_what_it_was_given():
    made = convert("thing.py", HEAD_OF_PARTS + READ_PARTS, "Thing", "Thing")
    assert made.whole, made.notes
    assert "return self.head_dim" in made.text
    assert "/ self.heads" in made.text


NAMED_CALLS = """\
class Shift(eqx.Module):
    shift: jax.Array

    def __init__(self, dim):
        self.shift = jnp.zeros(dim)

    def forward_and_log(self, x):
        return x + self.shift

    def inverse_and_log(self, y):
        return y - self.shift


class Thing(eqx.Module):
    shifts: list

    def __init__(self, dim: int, depth: int = 3):
        self.shifts = [Shift(dim) for _ in range(depth)]

    def __call__(self, y):
        for shift in self.shifts:
            y = shift.inverse_and_log(y)
        return y
"""


def test_the_one_method_that_layers_are_called_by_is_their_call():
    made = convert("thing.py", HEAD_OF_PARTS + NAMED_CALLS, "Thing", "Thing")
    assert made.whole, made.notes
    assert "y = shift(y)" in made.text
    assert "return y - self.shift" in made.text


CONFIGURATIONS = """\
@dataclasses.dataclass
class Config:
    factor: int = 2
    rate: float = 0.1


@dataclasses.dataclass
class GlobalConfig:
    deterministic: bool = False
    zero_init: bool = True


class Thing(hk.Module):
    def __init__(self, config: Config, global_config: GlobalConfig, name="thing"):
        super().__init__(name=name)
        self.config = config
        self.global_config = global_config

    def __call__(self, x, is_training=True):
        c, gc = self.config, self.global_config
        if gc.zero_init:
            x = hk.Linear(c.factor * 4, w_init=jnp.zeros)(x)
        if not is_training or gc.deterministic:
            return x
        return hk.dropout(hk.next_rng_key(), c.rate, x)
"""


def test_two_configurations_may_be_named_at_once():
    made = convert("thing.py", HEAD_OF_PARTS + CONFIGURATIONS, "Thing", "Thing")
    assert made.whole, made.notes
    assert "factor: Size = 2" in made.text
    assert "self.deterministic" not in made.text


KEY_TESTED = """\
class Thing(eqx.Module):
    fc: eqx.nn.Linear
    dropout: eqx.nn.Dropout

    def __init__(self, dim, *, key):
        self.fc = eqx.nn.Linear(dim, dim, key=key)
        self.dropout = eqx.nn.Dropout(0.1)

    def __call__(self, x, *, key=None):
        keys = None if key is None else jax.random.split(key, x.shape[0])
        h = jax.vmap(self.fc)(x)
        if keys is None:
            return x + h
        return x + jax.vmap(lambda t, k: self.dropout(t, key=k))(h, keys)
"""


def test_a_key_is_there_in_training():
    made = convert("thing.py", HEAD_OF_PARTS + KEY_TESTED, "Thing", "Thing")
    assert made.whole, made.notes
    assert "if not self.training:" in made.text
