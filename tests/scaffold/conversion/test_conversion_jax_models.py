"""Whole models of repositories of flax, equinox, haiku and plain jax, with the habits of these."""

from __future__ import annotations

import ast

import pytest
from test_conversion_forms import converted
from test_conversion_jax_repositories import EQUINOX, HAIKU, LINEN, NNX

from mlax_scaffold.conversion import convert
from mlax_scaffold.conversion.optimizers.chosen_values import with_chosen_values


@pytest.mark.parametrize("key", ["key=next(keys)", "key=key"])
def test_stages_that_loops_in_loops_make_in_equinox_are_layers_of_their_own(key):
    made = converted(
        f"""\
class Block(eqx.Module):
    fc: eqx.nn.Linear

    def __init__(self, n, m, *, key):
        self.fc = eqx.nn.Linear(n, m, key=key)

    def __call__(self, x):
        return jax.nn.relu(self.fc(x))


class Thing(eqx.Module):
    blocks: list[Block]

    def __init__(self, widths: tuple[int, ...] = (8, 16), repeats: int = 2, *, key):
        keys = iter(jax.random.split(key, 8))
        blocks, n = [], widths[0]
        for stage, width in enumerate(widths):
            for i in range(repeats):
                size = width if stage and i == 0 else n
                blocks.append(Block(n, size, {key}))
                n = size
        self.blocks = blocks

    def __call__(self, x):
        for block in self.blocks:
            x = block(x)
        return x
""",
        EQUINOX,
    )
    for line in ("Block(8, 8)", "Block(8, 8)", "Block(8, 16)", "Block(16, 16)"):
        assert line in made.text
    assert any("`widths` of Thing is always `(8, 16)`" in n.what for n in made.notes)


def test_a_local_that_is_a_setting_is_what_axes_are_called():
    text = converted(
        """\
class Thing(nnx.Module):
    def __init__(self, size: int, *, rngs: nnx.Rngs):
        d = size
        self.w = nnx.Param(nnx.initializers.lecun_normal()(rngs.params(), (3, d)))

    def __call__(self, x):
        return jnp.einsum("btd,ed->bte", x, self.w.value)
""",
        NNX,
    ).text
    assert "trainable(lecun_normal(), (3, self.size))" in text
    assert 'Float["b t size"]' in text.replace("'", '"')


def test_a_loop_that_fills_two_lists_begins_again_with_what_it_began_with():
    text = converted(
        """\
class Thing(nnx.Module):
    def __init__(self, base: int = 4, mults: tuple[int, ...] = (1, 2), *, rngs: nnx.Rngs):
        n = base
        self.first, self.second = nnx.List([]), nnx.List([])
        for m in mults:
            self.first.append(nnx.Linear(n, base * m, rngs=rngs))
            self.second.append(nnx.Linear(base * m, n, rngs=rngs))
            n = n + base * m
        self.out = nnx.Linear(base, 3, rngs=rngs)

    def __call__(self, x):
        for one, other in zip(self.first, self.second):
            x = jnp.concatenate([x, other(one(x))], axis=-1)
        return x
""",
        NNX,
    ).text
    loops = text.partition("def setup")[2]
    before, _, after = loops.partition("first_n = n\n")
    assert "second_sizes" not in before
    assert after.count("n = first_n\n") == 1
    assert (
        after.index("self.first = ")
        < after.index("n = first_n")
        < after.index("second_sizes.append")
    )


def test_a_helper_casts_to_the_dtype_of_its_input_and_no_wider():
    text = converted(
        """\
def embedding(t, dim):
    freqs = jnp.exp(-jnp.arange(dim // 2, dtype=jnp.float32))
    args = t[:, None].astype(jnp.float32) * freqs
    return (args + jnp.arange(dim // 2).astype(jnp.float32)) * 2


class Thing(nn.Module):
    dim: int = 8

    @nn.compact
    def __call__(self, t):
        return nn.Dense(4)(embedding(t, self.dim))
""",
        LINEN,
    ).text
    assert "args = t[:, None] * freqs" in text
    assert "jnp.arange(dim // 2).astype(t.dtype)" in text


@pytest.mark.parametrize("transparent", [True, False])
def test_a_method_of_haiku_that_is_given_names_makes_layers_for_each(transparent):
    head = "    @hk.transparent\n" if transparent else ""
    title = "" if transparent else ", name=name"
    text = converted(
        f"""\
class Thing(hk.Module):
{head}    def _mapped(self, x, name):
        y = hk.Linear(8, with_bias=False{title})(x)
        return y.reshape(*x.shape[:-1], 2, 4)

    def __call__(self, x):
        q = self._mapped(x, "query")
        k = self._mapped(x, "keys")
        return q * k
""",
        HAIKU,
    ).text
    assert text.count("= Linear(") == 2


def test_a_method_of_haiku_shares_layers_whose_names_it_knows():
    text = converted(
        """\
class Thing(hk.Module):
    def _mapped(self, x):
        return hk.Linear(8, name="fc")(x)

    def __call__(self, x):
        return self._mapped(x) + self._mapped(2.0 * x)
""",
        HAIKU,
    ).text
    assert text.count("= Linear(") == 1


def test_a_mask_that_is_made_of_numbers_is_compared_where_a_layer_is_given_it():
    text = converted(
        """\
class Part(hk.Module):
    def __call__(self, x, mask=None):
        kept = jnp.tril(jnp.ones((x.shape[1], x.shape[1])))
        if mask is not None:
            kept = kept * mask[:, None, :]
        scores = jnp.where(kept, jnp.einsum("btd,bsd->bts", x, x), -1e30)
        return hk.Linear(4)(jax.nn.softmax(scores, axis=-1) @ x)


class Thing(hk.Module):
    def __call__(self, tokens):
        mask = (tokens > 0).astype(jnp.float32)
        return Part()(hk.Embed(9, 8)(tokens), mask)
""",
        HAIKU,
    ).text
    assert "mask != 0)" in text


def test_numbers_in_steps_are_as_many_as_they_are():
    text = converted(
        """\
class Thing(nn.Module):
    @nn.compact
    def __call__(self, x):
        n, t, d = x.shape
        angles = jnp.arange(t - 1, -1, -1)[:, None] * jnp.arange(0, d, 2)[None] / d
        table = jnp.concatenate([jnp.sin(angles), jnp.cos(angles)], axis=-1)
        return nn.Dense(d)(x) + nn.Dense(4)(table)[..., :1]
""",
        LINEN,
    ).text
    assert "Linear(2 * (self.in_features // 2), 4)" in text


@pytest.mark.parametrize("read", [True, False])
def test_layers_that_a_branch_scans_are_a_list_with_what_each_returns(read):
    last = "return x, kept" if read else "return x"
    text = converted(
        f"""\
class Block(nn.Module):
    size: int = 8

    @nn.compact
    def __call__(self, x):
        y = nn.Dense(self.size)(x)
        return x + y, y


class Thing(nn.Module):
    depth: int = 2
    scan: bool = True

    @nn.compact
    def __call__(self, x):
        kept = None
        if self.scan:
            block = nn.remat(Block, prevent_cse=False)
            x, kept = nn.scan(
                block, variable_axes={{"params": 0}}, split_rngs={{"params": True}},
                in_axes=nn.broadcast, length=self.depth)(size=8)(x)
        else:
            for _ in range(self.depth):
                x, _ = Block(size=8)(x)
        {last}
""",
        LINEN,
    ).text
    assert text.count("for _ in range(self.depth)] if") == 2
    assert ("kept_steps.append(kept)" in text) == read
    assert ("jnp.stack(parts), *kept_steps)" in text) == read


def test_a_function_that_is_given_the_object_is_a_method():
    text = converted(
        """\
def table(module, kind, n, width):
    if kind == "learned":
        return module.param("table", nn.initializers.normal(0.02), (1, n, width))
    return jnp.ones((1, n, width))


class Thing(nn.Module):
    length: int = 8
    kind: str = "learned"

    @nn.compact
    def __call__(self, x):
        return nn.Dense(4)(x) + table(self, self.kind, self.length, 4)
""",
        LINEN,
    ).text
    assert "trainable(normal(0.02), (1, self.length, 4))" in text
    assert "self._table(self.kind, self.length, 4)" in text


def test_patches_of_two_sizes_are_counted_along_each_axis():
    text = converted(
        """\
class Thing(nn.Module):
    patch: tuple[int, int] = (4, 2)

    @nn.compact
    def __call__(self, image):
        x = nn.Conv(8, self.patch, strides=self.patch, padding="VALID")(image)
        n, h, w, c = x.shape
        table = self.param("table", nn.initializers.zeros, (1, h * w, c))
        return x.reshape(n, h * w, c) + table
""",
        LINEN,
    ).text
    assert "self.height // self.patch[0] * (self.width // self.patch[1])" in text


def test_new_axes_of_one_example_stand_behind_the_batch():
    text = converted(
        """\
class Gate(eqx.Module):
    fc: eqx.nn.Linear

    def __init__(self, n: int, *, key):
        self.fc = eqx.nn.Linear(n, n, key=key)

    def __call__(self, x):
        s = self.fc(jnp.mean(x, axis=(1, 2)))
        return x * s[:, None, None]


class Thing(eqx.Module):
    conv: eqx.nn.Conv2d
    norm: eqx.nn.BatchNorm
    gate: Gate

    def __init__(self, n: int, *, key):
        self.conv = eqx.nn.Conv2d(n, n, 3, padding=1, key=key)
        self.norm = eqx.nn.BatchNorm(n, axis_name="batch")
        self.gate = Gate(n, key=key)

    def __call__(self, x, state):
        x, state = self.norm(self.conv(x), state)
        return self.gate(x), state
""",
        EQUINOX,
    ).text
    assert "s[..., :, None, None]" in text
    assert text.count("batch n height width") == 4


PAIR = """\
import jax
import jax.numpy as jnp


def linear(key, n, m, scale=None, bias=True):
    scale = scale if scale is not None else 1 / n**0.5
    p = {"w": scale * jax.random.normal(key, (n, m))}
    if bias:
        p["b"] = jnp.zeros((m,))
    return p


def filled(key, *shape):
    return jax.random.normal(key, shape) / shape[0]


def init_thing(key, dim=8, depth=2):
    first, *keys = jax.random.split(key, depth + 1)
    return {
        "table": filled(first, dim, 3),
        "blocks": [{"fc": linear(k, dim, dim, bias=False)} for k in keys],
        "out": linear(first, dim, 4, scale=0.1),
    }


def thing(params, x):
    for block in params["blocks"]:
        x = x @ block["fc"]["w"]
    return x @ params["out"]["w"] + params["out"]["b"], x @ params["table"]
"""


def test_what_a_function_that_makes_weights_decides_by_its_arguments_is_decided():
    made = convert("pair.py", PAIR, "thing", "Thing")
    assert made.whole, made.notes
    assert (
        "{'fc': {'w': trainable(normal(1 / self.dim ** 0.5), (self.dim, self.dim))}}"
        in made.text
    )
    assert "'b': trainable(zeros, (4,))" in made.text
    assert "trainable(normal(0.1), (self.dim, 4))" in made.text
    assert "(self.dim, 3))" in made.text


CONFIGURED = """\
import dataclasses
import jax
import jax.numpy as jnp
from typing import NamedTuple


@dataclasses.dataclass(frozen=True)
class Config:
    dim: int = 8
    depth: int = 2
    leak: float = 0.1

    @property
    def inner(self):
        return 2 * self.dim


class Block(NamedTuple):
    w: jax.Array
    v: jax.Array


class Params(NamedTuple):
    table: jax.Array
    blocks: Block


def init_thing(key, cfg: Config = Config()):
    ks = jax.random.split(key, 3)
    blocks = Block(
        w=jax.random.normal(ks[0], (cfg.depth, cfg.dim, cfg.inner)),
        v=jax.random.normal(ks[1], (cfg.depth, cfg.inner, cfg.dim)),
    )
    return Params(table=jax.random.normal(ks[2], (16, cfg.dim)), blocks=blocks)


def block(x, p: Block, cfg: Config):
    return jax.nn.leaky_relu(x @ p.w, cfg.leak) @ p.v


def thing(params: Params, tokens, cfg: Config = Config()):
    x, _ = jax.lax.scan(lambda x, p: (block(x, p, cfg), None), params.table[tokens], params.blocks)
    return x / cfg.dim
"""


def test_a_pair_that_is_given_a_configuration_has_the_settings_that_both_read():
    made = convert("pair.py", CONFIGURED, "thing", "Thing")
    assert made.whole, made.notes
    for line in ("dim: Size = 8", "depth: Size = 2", "leak: float = 0.1"):
        assert line in made.text
    assert (
        "'w': trainable(normal(1.0), (self.depth, self.dim, 2 * self.dim))" in made.text
    )
    assert "block(x, p, leak=self.leak)" in made.text
    assert "leaky_relu(x @ p['w'], leak) @ p['v']" in made.text
    assert "x / self.dim" in made.text
    assert made.trial is not None
    assert ("cfg", "Config") in made.trial.settings
    assert ("cfg.leak", "leak") in made.trial.parameters or "leak" not in str(
        made.trial.hyperparameters
    )


@pytest.mark.parametrize("head", ["flax", "haiku"])
def test_layers_of_loops_in_loops_are_others_in_each_pass(head):
    start = {
        "flax": "    sizes: tuple = (4, 8)\n    blocks: int = 2\n\n    @nn.compact\n",
        "haiku": (
            "    def __init__(self, sizes=(4, 8), blocks=2, name=None):\n"
            "        super().__init__(name=name)\n"
            "        self.sizes = sizes\n"
            "        self.blocks = blocks\n\n"
        ),
    }[head]
    layer = {"flax": "nn.Dense", "haiku": "hk.Linear"}[head]
    base = {"flax": "nn.Module", "haiku": "hk.Module"}[head]
    text = converted(
        f"""\
class Block({base}):
{"    @nn.compact" if head == "flax" else ""}
    def __call__(self, x):
        return x + {layer}(x.shape[-1])(x)


class Thing({base}):
{start}    def __call__(self, x):
        for i, size in enumerate(self.sizes):
            fc = {layer}(size)
            x = fc(x)
            for j in range(self.blocks):
                block = Block(name="block_{{}}_{{}}".format(i, j))
                x = block(x)
        return x
""",
        LINEN if head == "flax" else HAIKU,
    ).text
    for line in ("block_0_1 = Block(4)", "block_1_0 = Block(8)", "Linear(4, 8)"):
        assert line in text
    assert "blocks: Size" not in text


def test_what_a_loop_notes_down_for_a_list_is_what_that_list_is_filled_with():
    text = converted(
        """\
class Block(eqx.Module):
    fc: eqx.nn.Linear

    def __init__(self, n, m, *, key):
        self.fc = eqx.nn.Linear(n, m, key=key)

    def __call__(self, x):
        return self.fc(x)


class Thing(eqx.Module):
    blocks: tuple
    norms: tuple

    def __init__(self, n: int = 4, size: int = 8, depth: int = 2, *, key):
        blocks, norms = [], []
        d = n
        for k in jax.random.split(key, depth):
            blocks.append(Block(d, size, key=k))
            d = size
            norms.append(eqx.nn.LayerNorm(d))
        self.blocks, self.norms = tuple(blocks), tuple(norms)

    def __call__(self, x):
        for block, norm in zip(self.blocks, self.norms):
            x = norm(block(x))
        return x
""",
        EQUINOX,
    ).text
    assert text.index("d = self.size\n") < text.index("norms_sizes.append(d)") or (
        "LayerNorm(self.size)" in text
    )


def test_a_number_with_a_point_that_another_class_hands_on_is_no_size():
    text = converted(
        """\
class Block(eqx.Module):
    fc: eqx.nn.Linear

    def __init__(self, dim, mlp_ratio, *, key):
        self.fc = eqx.nn.Linear(dim, int(dim * mlp_ratio), key=key)

    def __call__(self, x):
        return self.fc(x)


class Thing(eqx.Module):
    block: Block

    def __init__(self, dim=8, mlp_ratio=2.0, *, key):
        self.block = Block(dim, mlp_ratio, key=key)

    def __call__(self, x):
        return self.block(x)
""",
        EQUINOX,
    ).text
    assert "    mlp_ratio: Positive\n" in text


def test_a_mask_whose_axes_are_told_is_no_number_where_it_gets_a_new_axis():
    text = converted(
        """\
class Thing(eqx.Module):
    def __call__(self, x: Float[Array, "nodes d"], adj: Bool[Array, "nodes nodes"]):
        scores = jnp.where(adj[None], jnp.einsum("nd,md->nm", x, x)[None], -1e9)
        return jax.nn.softmax(scores, axis=-1) @ x
""",
        EQUINOX + "from jaxtyping import Array, Bool, Float\n\n",
    ).text
    assert "adj: Bool['nodes nodes']" in text


def test_a_named_shape_is_what_a_function_of_jax_makes():
    text = converted(
        """\
class Thing(nn.Module):
    size: int = 4

    @nn.compact
    def __call__(self, image):
        n, h, w, c = image.shape
        x = jax.image.resize(image, shape=(n, 2 * h, 2 * w, c), method="nearest")
        return nn.Conv(self.size, (3, 3))(x)
""",
        LINEN,
    ).text
    assert "image: Float['n h w in_features']" in text
    assert "Conv(2, self.in_features, self.size, (3, 3)" in text


@pytest.mark.parametrize("given", [True, False])
def test_branches_of_an_update_that_bind_names_are_choices(given):
    further = ", *, grad=None, **extra" if given else ""
    branch = (
        "if grad is None:\n            grad = updates" if given else "grad = updates"
    )
    made = convert(
        "opt.py",
        f"""\
import jax
import jax.numpy as jnp
import optax
from typing import NamedTuple


class State(NamedTuple):
    count: jax.Array
    mu: optax.Updates


def make(b1=0.9, correct=True):
    def init(params):
        return State(jnp.zeros([], jnp.int32), jax.tree.map(jnp.zeros_like, params))

    def update(updates, state, params=None{further}):
        {branch}
        count = state.count + 1
        if correct:
            c = 1 - b1**count
        else:
            c = 1.0
        mu = jax.tree.map(lambda m, g: b1 * m + (1 - b1) * g, state.mu, updates)
        new = jax.tree.map(lambda m, g: -(m / c) * (m * g > 0), mu, grad)
        return new, State(count, mu)

    return optax.GradientTransformation(init, update)
""",
        "make",
        "Made",
        "OPTIMIZER",
    )
    assert made.whole, made.notes
    assert "1 - self.b1 ** self.step if self.correct else 1.0" in made.text
    assert "mu * grad_ > 0" in made.text or "mu * grad > 0" in made.text


def test_windows_of_loops_that_make_images_smaller_are_written_out_before_these_are_flat():
    made = convert(
        "thing.py",
        LINEN
        + """\
class Thing(nn.Module):
    features: tuple = (8, 4)
    strides: tuple = (2, 1)
    padding: str = "VALID"

    @nn.compact
    def __call__(self, x):
        for size, stride in zip(self.features, self.strides):
            x = nn.Conv(size, (3, 3), strides=(stride, stride), padding=self.padding)(x)
        return nn.Dense(5)(x.reshape((*x.shape[:-3], -1)))
""",
        "Thing",
        "Thing",
        run=1,
    )
    assert made.whole, made.notes
    assert (
        "Linear(((self.height - 3) // 2 - 1) * ((self.width - 3) // 2 - 1) * 4, 5)"
        in made.text
    )
    assert any("`padding` is always its default" in n.what for n in made.notes)


def test_an_axis_that_a_class_divides_and_puts_together_again_is_as_long_as_before():
    text = converted(
        """\
class Dist(nn.Module):
    classes: int

    @nn.compact
    def __call__(self, logits):
        logits = logits.reshape(logits.shape[:-1] + (-1, self.classes))
        p = jax.nn.softmax(logits, -1)
        return p.reshape(p.shape[:-2] + (-1,)), jnp.log(p)


class Thing(nn.Module):
    stoch: int = 4
    classes: int = 5

    def setup(self):
        self.pre = nn.Dense(self.stoch * self.classes)
        self.dist = Dist(self.classes)
        self.out = nn.Dense(3)

    def __call__(self, x):
        z, _ = self.dist(self.pre(x))
        return self.out(jnp.concatenate([x, z], -1))
""",
        LINEN,
    ).text
    assert "Linear(self.in_features + self.stoch * self.classes, 3)" in text


def test_branches_that_bind_names_in_other_orders_stay_branches():
    code = """\
def update(updates, state, params=None):
    if fast:
        a, b = 1, 2
    if fast:
        a = 1
        b = 2
    else:
        b = state
        a = b
    if fast:
        c = a
    return a
"""
    [function] = ast.parse(code).body
    assert isinstance(function, ast.FunctionDef)
    text = ast.unparse(with_chosen_values(function))
    assert text.count("if fast:") == 2
    assert "    c = a\n" in text


def test_a_result_that_another_branch_makes_otherwise_has_no_type():
    text = converted(
        """\
class Thing(nn.Module):
    dim: int = 8
    count: int = 4
    learn: bool = True

    @nn.compact
    def __call__(self, x):
        b, n, c = x.shape
        if self.learn:
            weights = nn.softmax(nn.Dense(self.count)(x), axis=1)
            tokens = jnp.einsum("bns,bnd->bsd", weights, x)
        else:
            tokens = jnp.reshape(x, [b, -1, c])
        return tokens
""",
        LINEN,
    ).text
    assert "def forward(self, x: Float['b n in_features']):" in text.replace('"', "'")


def test_a_hyperparameter_that_says_the_channels_of_the_input_is_what_layers_take():
    text = converted(
        """\
class Thing(nn.Module):
    in_channels: int
    out: int

    @nn.compact
    def __call__(self, x):
        return nn.Conv(self.out, (3, 3))(x)
""",
        LINEN,
    ).text
    assert "in_channels_2" not in text
    assert "Conv(2, self.in_channels, self.out" in text


def test_keys_that_are_none_in_inference_are_keys_of_layers():
    text = converted(
        """\
class Thing(eqx.Module):
    fc: eqx.nn.Linear
    drop: eqx.nn.Dropout

    def __init__(self, dim, *, key):
        self.fc = eqx.nn.Linear(dim, dim, key=key)
        self.drop = eqx.nn.Dropout(0.1)

    def __call__(self, x, *, key=None):
        if key is None:
            first, second = None, None
        else:
            first, second = jax.random.split(key)
        return self.drop(self.fc(self.drop(x, key=first)), key=second)
""",
        "import equinox as eqx\nimport jax\n\n\n",
    ).text
    assert "return self.drop(self.fc(self.drop(x)))" in text
    assert "if " not in text


def test_an_input_requires_the_layer_that_it_is_given_to():
    text = converted(
        """\
class Thing(nnx.Module):
    def __init__(self, dim, classes=0, *, rngs: nnx.Rngs):
        self.fc = nnx.Linear(dim, dim, rngs=rngs)
        self.embed = nnx.Embed(classes, dim, rngs=rngs) if classes > 0 else None

    def __call__(self, x, label=None):
        x = self.fc(x)
        if label is not None:
            x = x + self.embed(label)
        return x
""",
        "from flax import nnx\n\n\n",
    ).text
    assert "require(self.classes > 0, 'label needs embed')" in text.replace('"', "'")
