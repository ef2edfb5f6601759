"""What loops count, fill and join in code for jax: layers are made of what it is in each pass."""

from __future__ import annotations

import pytest
from test_conversion_forms import converted

from mlax_scaffold.conversion import convert
from mlax_scaffold.conversion.definitions.assumed_axes import NUMBERS

LINEN = "import flax.linen as nn\nimport jax\nimport jax.numpy as jnp\nimport functools\n\n\n"
NNX = "from flax import nnx\nimport jax\nimport jax.numpy as jnp\n\n\n"
EQUINOX = "import equinox as eqx\nimport jax\nimport jax.numpy as jnp\nimport jax.random as jr\n\n\n"


@pytest.mark.parametrize(
    ("change", "size", "last"),
    [
        ("w *= 2", "self.width * 2 ** i", "self.width * 2 ** (self.depth - 1)"),
        ("w = 2 * w", "self.width * 2 ** i", "self.width * 2 ** (self.depth - 1)"),
        ("w += 3", "self.width + 3 * i", "self.width + 3 * (self.depth - 1)"),
        ("w = w // 2", "self.width // 2 ** i", "self.width // 2 ** (self.depth - 1)"),
    ],
)
def test_a_size_that_a_loop_changes_is_another_one_in_each_pass(change, size, last):
    text = converted(
        f"""\
class Thing(nn.Module):
    depth: int = 3
    width: int = 4

    @nn.compact
    def __call__(self, x):
        w = self.width
        for _ in range(self.depth):
            x = nn.relu(nn.Dense(w)(x))
            {change}
        return nn.Dense(1)(x)
""",
        LINEN,
    ).text
    assert f"Linear(before, {size}) for before, i in zip" in text
    assert f"self.linear_1 = Linear({last}, 1)" in text
    assert "w = " not in text


def test_a_size_is_read_after_the_loop_that_changes_it():
    text = converted(
        """\
class Thing(nn.Module):
    depth: int = 3

    @nn.compact
    def __call__(self, x):
        size = 4
        for i, _ in enumerate(range(self.depth)):
            x = nn.Dense(size)(x)
            size = size + 2
            x = nn.Dense(size)(x)
        return nn.Dense(size)(x)
""",
        LINEN,
    ).text
    assert "4 + 2 * i" in text
    assert "4 + 2 * (i + 1)" in text
    assert "4 + 2 * len(range(self.depth))" in text


def test_a_size_that_a_loop_changes_in_another_way_is_told():
    code = """\
class Thing(nn.Module):
    depth: int

    @nn.compact
    def __call__(self, x):
        size = 4
        for i in range(self.depth):
            x = nn.Dense(size)(x)
            size = size * size + i
        return x
"""
    made = convert("loops.py", LINEN + code, "Thing", "Thing")
    assert not made.whole
    assert "`size` is nothing that a spec can read" in made.notes[0].what


BLOCKS = """\
class Block(nn.Module):
    rate: float = 0.0

    @nn.compact
    def __call__(self, x, train: bool = True):
        x = nn.Dense(x.shape[-1])(x)
        return nn.Dropout(self.rate)(x, deterministic=not train)


class Thing(nn.Module):
    depths: tuple = (1, 2)
    sizes: tuple = (4, 6)
    rate: float = 0.1

    @nn.compact
    def __call__(self, x, train: bool = True):
        rates = {rates}
        at = 0
        for depth, size in zip(self.depths, self.sizes):
            x = nn.Dense(size)(x)
            for j in range(depth):
                x = Block(rates[at + j])(x, train)
            at += depth
        return x
"""


@pytest.mark.parametrize(
    "rates",
    [
        "[float(r) for r in jnp.linspace(0, self.rate, sum(self.depths))]",
        "jnp.linspace(0, self.rate, sum(self.depths)).tolist()",
        "list(jnp.linspace(0, self.rate, sum(self.depths)))",
    ],
)
def test_rates_that_are_spaced_are_those_of_a_place_that_loops_count(rates):
    text = converted(BLOCKS.replace("{rates}", rates), LINEN).text
    found = [line for line in text.splitlines() if "= Block(" in line]
    assert [line.rpartition("rate=")[2] for line in found] == [
        "0 + self.rate * 0 / 2)",
        "0 + self.rate / 2)",
        "0 + self.rate * 2 / 2)",
    ]
    assert "at = " not in text


def test_what_some_passes_join_is_written_out():
    text = converted(
        """\
class Thing(nn.Module):
    depth: int = 3
    skip: int = 1
    width: int = 8

    @nn.compact
    def __call__(self, x):
        dense = functools.partial(nn.Dense, use_bias=False)
        inputs = x
        for i in range(self.depth):
            x = nn.relu(dense(self.width)(x))
            if i == self.skip:
                x = jnp.concatenate([x, inputs], axis=-1)
        return dense(1)(x)
""",
        LINEN,
    )
    assert [note.what for note in text.notes] == [
        "`depth` is always its default, `3`",
        "`skip` is always its default, `1`",
    ]
    assert "Linear(self.in_features, self.width, use_bias=False)" in text.text
    assert "Linear(self.width + self.in_features, self.width" in text.text
    assert text.text.count("jnp.concatenate") == 1


def test_a_list_that_setup_fills_is_run_where_its_sequence_is_called():
    text = converted(
        """\
class Thing(nn.Module):
    depth: int = 2
    kind: str = "tanh"

    def setup(self):
        if self.kind == "relu":
            act = nn.relu
        else:
            act = nn.tanh
        layers = []
        for _ in range(self.depth):
            layers += [nn.Dense(8), act]
        layers.append(nn.Dense(2))
        self.actor = nn.Sequential(layers)
        critic = [nn.Dense(8), act]
        critic.extend([nn.Dense(1)])
        self.critic = nn.Sequential(critic)

    def __call__(self, x):
        return self.actor(x), self.critic(x)[..., 0]
""",
        LINEN,
    ).text
    assert "act = jnp.tanh" in text.partition("def forward")[2]
    assert "act" not in text.partition("def setup")[2].partition("def forward")[0]
    assert "Linear(8, 2)" in text
    assert "Linear(8, 1)" in text
    assert text.count("in_features: Size") == 1


def test_a_state_of_linen_that_is_drawn_begins_so():
    text = converted(
        """\
class Thing(nn.Module):
    size: int

    @nn.compact
    def __call__(self, x):
        u = self.variable("stats", "u", lambda: jax.random.normal(self.make_rng("params"), (1, self.size)))
        return nn.Dense(self.size)(x) * u.value
""",
        LINEN,
    ).text
    assert "self.u = state(normal(1.0), (1, self.size))" in text


@pytest.mark.parametrize(
    "lines",
    [
        "y = y.reshape(*x.shape[:-1], -1)",
        "y = y.reshape((*x.shape[:-1], -1))",
        "y = jnp.reshape(y, list(x.shape[:-1]) + [-1])",
        "y = y.reshape(x.shape[:-1] + (-1,))",
    ],
)
def test_the_last_axes_are_one_behind_those_of_another_array(lines):
    text = converted(
        f"""\
def encoded(x, low, high):
    if low == high:
        return x
    scales = jnp.array([2 ** i for i in range(low, high)])
    y = x[..., None, :] * scales[:, None]
    {lines}
    return jnp.concatenate([x] + [jnp.sin(y)], axis=-1)


class Thing(nn.Module):
    degrees: int = 4

    @nn.compact
    def __call__(self, x):
        return nn.Dense(4)(encoded(x, 0, self.degrees))
""",
        LINEN,
    ).text
    assert "scales = 2 ** jnp.arange(low, high)" in text
    assert "+ self.degrees * self.in_features" in text


def test_arrays_that_a_loop_appends_beside_layers_are_weights():
    text = converted(
        """\
class Thing(eqx.Module):
    layers: list
    scales: list

    def __init__(self, dim, width, depth, *, key):
        *keys, last = jr.split(key, depth + 1)
        self.layers = []
        self.scales = []
        d = dim
        for k in keys:
            self.layers.append(eqx.nn.Linear(d, width, key=k))
            self.scales.append(jnp.ones((width,)))
            d = width
        self.layers.append(eqx.nn.Linear(d, 1, key=last))

    def __call__(self, x):
        for layer, scale in zip(self.layers[:-1], self.scales):
            x = jnp.tanh(scale * layer(x))
        return self.layers[-1](x)
""",
        EQUINOX,
    ).text
    assert (
        "self.scales = [trainable(ones, (self.width,)) for _ in range(self.depth)]"
        in text
    )


def test_members_of_an_ensemble_that_a_named_lambda_makes_are_a_list():
    text = converted(
        """\
class Thing(eqx.Module):
    heads: eqx.nn.Linear

    def __init__(self, dim, count, *, key):
        make = lambda k: eqx.nn.Linear(dim, 4, key=k)
        self.heads = eqx.filter_vmap(make)(jr.split(key, count))

    def __call__(self, x):
        return eqx.filter_vmap(lambda h, y: h(y), in_axes=(eqx.if_array(0), None))(self.heads, x)
""",
        EQUINOX,
    ).text
    assert "self.heads = [Linear(self.dim, 4) for _ in range(self.count)]" in text
    assert "jnp.stack([h(x) for h in self.heads], axis=0)" in text


def test_inner_loops_of_nnx_are_stages():
    text = converted(
        """\
class Gate(nnx.Module):
    def __init__(self, dim: int, *, rngs: nnx.Rngs):
        self.fc = nnx.Linear(dim, dim, rngs=rngs)

    def __call__(self, x):
        return x * nnx.sigmoid(self.fc(x))


class Thing(nnx.Module):
    def __init__(self, sizes: tuple[int, ...], depth: int, *, rngs: nnx.Rngs):
        layers = []
        before = sizes[0]
        for size in sizes:
            for _ in range(depth):
                layers.append(nnx.Linear(before, size, rngs=rngs))
                before = size
            layers.append(Gate(size, rngs=rngs))
        self.layers = nnx.List(layers)

    def __call__(self, x):
        for layer in self.layers:
            x = layer(x)
        return x
""",
        NNX,
    ).text
    assert "class ThingLayerStage(Layer):" in text


def test_an_optimizer_takes_the_settings_of_its_configuration():
    code = """\
import dataclasses
import optax


@dataclasses.dataclass
class Config:
    lr: float
    b1: float = 0.9
    unused: int = 3

    @property
    def decay(self):
        return self.lr * 0.1


def make(cfg: Config):
    return optax.chain(
        optax.scale_by_adam(b1=cfg.b1),
        optax.add_decayed_weights(cfg.decay),
        optax.scale(-cfg.lr),
    )
"""
    made = convert("config.py", code, "make", "Recipe", "OPTIMIZER")
    assert made.whole
    assert "lr: Scheduled" in made.text
    assert "b1: Decay = 0.9" in made.text
    assert "unused" not in made.text
    assert made.trial is not None
    assert ("cfg.lr", "lr") in made.trial.parameters
    assert made.trial.settings == (("cfg", "Config"),)


def test_what_a_step_takes_keeps_its_name_where_a_chain_has_changed_it():
    code = """\
import jax
import jax.numpy as jnp
import optax


def halved():
    return optax.stateless(lambda updates, params: jax.tree.map(lambda g: g / 2, updates))


def scaled():
    def update(grads, state, params=None):
        size = optax.tree_utils.tree_l2_norm(grads)
        return jax.tree.map(lambda g: g * size, grads), state

    return optax.GradientTransformation(lambda params: optax.EmptyState(), update)


def make():
    return optax.chain(halved(), scaled())
"""
    text = convert("chain.py", code, "make", "Chained", "OPTIMIZER").text
    assert "tree = jax.tree.map(" in text
    assert "grads = " not in text


def test_functions_inside_of_one_that_makes_weights_are_written_out():
    code = """\
import jax
import jax.numpy as jnp


def init_net(key, width=8):
    def dense(key, n, m):
        return {"w": 0.1 * jax.random.normal(key, (n, m)), "b": jnp.zeros((m,))}

    scale = lambda n: jnp.ones((n,))
    k1, k2 = jax.random.split(key)
    return {"up": dense(k1, 4, width), "down": dense(k2, width, 1), "scale": scale(width)}


def apply_net(params, x):
    h = jnp.tanh(x @ params["up"]["w"] + params["up"]["b"]) * params["scale"]
    return h @ params["down"]["w"] + params["down"]["b"]
"""
    made = convert("net.py", code, "apply_net", "Net")
    assert made.whole
    assert "trainable(normal(0.1), (self.width, 1))" in made.text
    assert "self.scale = trainable(ones, (self.width,))" in made.text


def test_keys_that_a_call_splits_for_a_list_of_layers_go():
    text = converted(
        """\
class Thing(eqx.Module):
    layers: list
    drop: eqx.nn.Dropout
    count: int

    def __init__(self, dim, count, *, key):
        self.count = count
        self.drop = eqx.nn.Dropout(0.1)
        self.layers = [eqx.nn.Linear(dim, dim, key=k) for k in jr.split(key, count)]

    def __call__(self, x, *, key):
        first, *keys = jr.split(key, num=self.count + 1)
        x = self.drop(x, key=first)
        for layer, k in zip(self.layers, keys):
            x = layer(x, key=k)
        return x
""",
        EQUINOX,
    ).text
    assert "for layer in self.layers:" in text
    assert "x = self.drop(x)" in text


def test_patches_of_one_image_are_counted():
    text = converted(
        """\
class Thing(eqx.Module):
    fc: eqx.nn.Linear
    pos: jax.Array
    patch_size: int

    def __init__(self, channels: int, dim: int, patch_size: int, num_patches: int, *, key):
        self.patch_size = patch_size
        self.fc = eqx.nn.Linear(channels * patch_size**2, dim, key=key)
        self.pos = jnp.zeros((num_patches, dim))

    def __call__(self, x):
        c, h, w = x.shape
        p = self.patch_size
        x = x.reshape(c, h // p, p, w // p, p).transpose(1, 3, 0, 2, 4).reshape(-1, c * p * p)
        return jax.vmap(self.fc)(x) + self.pos
""",
        EQUINOX,
    ).text
    assert "'num_patches': 4, 'x': (8, 4, 4)" in text


@pytest.mark.parametrize(("axes", "kind"), [(1, "'batch'"), (NUMBERS, "''")])
def test_inputs_may_have_one_axis_or_none(axes, kind):
    code = "def apply_net(params, x):\n    return jnp.tanh(params['a'] * x)\n\n\n"
    code += "def init_net(key):\n    return {'a': jnp.ones(())}\n"
    made = convert("net.py", EQUINOX + code, "apply_net", "Net", axes=axes)
    assert f"x: Float[{kind}]" in made.text


def test_an_argument_that_is_none_by_default_is_left_out_of_a_rule():
    code = "import optax\n\n\ndef make(lr=1e-3):\n    return optax.contrib.muon(lr, weight_decay_mask=None)\n"
    made = convert("rule.py", code, "make", "Mine", "OPTIMIZER")
    assert made.whole
    assert "class Mine(" in made.text


@pytest.mark.parametrize(
    ("made", "said"),
    [
        ("optax.contrib.schedule_free(optax.adam(lr), lr)", "`ScheduleFree`"),
        ("optax.contrib.sam(optax.sgd(lr), optax.sgd(0.1))", "`Sam`"),
        ("optax.lbfgs(lr)", "use `Lbfgs` of the library as it is"),
    ],
)
def test_what_runs_an_optimizer_is_told_by_its_name_here(made, said):
    code = f"import optax\n\n\ndef make(lr):\n    return {made}\n"
    found = convert("rule.py", code, "make", "Mine", "OPTIMIZER")
    assert any(said in note.todo for note in found.notes)


def test_windows_of_nnx_have_as_many_axes_as_by_default():
    text = converted(
        """\
class Thing(nnx.Module):
    def __init__(self, cin: int, cout: int, kernel=(3, 3), *, rngs: nnx.Rngs):
        self.conv = nnx.Conv(cin, cout, kernel, rngs=rngs)

    def __call__(self, x):
        return self.conv(x)
""",
        NNX,
    ).text
    assert "Conv(2, self.cin, self.cout, self.kernel" in text
    assert "x: Float['batch height width cin']" in text


@pytest.mark.parametrize(
    ("loop", "size", "last"),
    [
        ("for size, _ in self.stages:", "size", "self.stages[-1][0]"),
        (
            "for i, (size, _) in enumerate(self.stages):",
            "size",
            "self.stages[-1][0]",
        ),
        (
            "for i, (size, _) in enumerate(self.stages):",
            "size + i",
            "self.stages[-1][0] + (len(self.stages) - 1)",
        ),
        (
            "for width, (_, size) in zip(self.widths, self.stages):",
            "width * size",
            "self.widths[-1] * self.stages[-1][1]",
        ),
        ("for size, _ in reversed(self.stages):", "size", "self.stages[0][0]"),
        ("for size, _ in self.stages[:-1]:", "size", "self.stages[-2][0]"),
    ],
)
def test_what_the_last_of_several_numbers_makes_is_read_after_the_loop(
    loop, size, last
):
    text = converted(
        f"""\
class Thing(nn.Module):
    stages: tuple[tuple[int, int], ...] = ((4, 1), (6, 2), (8, 3))
    widths: tuple[int, ...] = (4, 6, 8)

    @nn.compact
    def __call__(self, x):
        {loop}
            x = nn.relu(nn.Dense({size})(x))
        return nn.Dense(1)(x)
""",
        LINEN,
    ).text
    assert f"self.linear_1 = Linear({last}, 1)" in text


def test_what_another_call_gives_is_not_asked_for_its_last():
    code = """\
class Thing(nn.Module):
    sizes: dict

    @nn.compact
    def __call__(self, x):
        for title, size in sizes_of(self.sizes):
            x = nn.relu(nn.Dense(size)(x))
        return nn.Dense(1)(x)
"""
    made = convert("thing.py", LINEN + code, "Thing", "Thing")
    assert "sizes_of(self.sizes)[-1]" not in made.text


@pytest.mark.parametrize("sizes", ["[b + c, width]", "[b + c, width, width]"])
def test_the_first_of_the_sizes_that_a_function_is_given_tells_what_its_layers_take(
    sizes,
):
    text = converted(
        f"""\
def mlp(sizes: list[int], rngs: nnx.Rngs):
    layers = []
    for i, o in zip(sizes[:-1], sizes[1:]):
        layers += [nnx.Linear(i, o, rngs=rngs), nnx.LayerNorm(o, rngs=rngs), nnx.silu]
    return nnx.Sequential(*layers)


class Thing(nnx.Module):
    def __init__(self, a, b, c, width, *, rngs: nnx.Rngs):
        self.first = nnx.Linear(a, b, rngs=rngs)
        self.net = mlp({sizes}, rngs)

    def __call__(self, x, action):
        return self.net(jnp.concatenate([self.first(x), action], -1))
""",
        NNX,
    ).text
    assert "x: Float['*batch a'], action: Float['*batch c']" in text
