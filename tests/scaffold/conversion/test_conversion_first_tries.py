"""What people try first: models with their real sizes, configurations, command lines, and masks of keys."""

from __future__ import annotations

import re

import pytest
from test_conversion_forms import EQUINOX, TORCH, converted

from mlax_scaffold.conversion import convert
from mlax_scaffold.testing.given_arguments import with_given

CONFIGURED = """\
class ThingConfig:
    def __init__(self, width=64, heads=8, kv=None, bias=False, **kwargs):
        if kv is None:
            kv = heads
        self.width = width
        self.heads = heads
        self.kv = kv
        self.bias = bias
        self.inner = 4 * width
        super().__init__(**kwargs)


class Thing(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.up = nn.Linear(config.width, config.inner, bias=config.bias)
        self.down = nn.Linear(config.inner, config.kv)

    def forward(self, x):
        return self.down(self.up(x))
"""


def test_a_configuration_that_computes_settings_has_its_defaults():
    made = converted(CONFIGURED)
    assert "    width: Size = 64\n" in made.text
    assert "bias: bool = False" in made.text
    assert "kv: Size | None = None" in made.text
    assert re.search(
        r"Linear\(4 \* self.width, .*self.heads if self\.\w*kv is None", made.text
    )
    assert made.trial is not None
    assert made.trial.settings == (("config", "ThingConfig"),)


def test_what_is_read_after_another_value_was_kept_is_not_the_parameter():
    body = CONFIGURED.replace(
        "        self.width = width\n",
        "        self.width = 2 * width\n        self.other = width\n",
    )
    made = convert("thing.py", TORCH + body, "Thing", "FromThing", "LAYER")
    # What the layer is given is not what the configuration is given: nothing is made up.
    assert "2 * self.width" not in made.text


DEEP = """\
@dataclass
class ThingConfig:
    n_layer: int = 12
    n_head: int = 12
    n_kv_head: int = 6
    n_embd: int = 768


class Block(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.heads = config.n_head
        self.size = config.n_embd // config.n_head
        self.q = nn.Linear(config.n_embd, config.n_head * self.size)
        self.k = nn.Linear(config.n_embd, config.n_kv_head * self.size)

    def forward(self, x):
        b, t, c = x.shape
        return x + self.q(x).view(b, t, self.heads, self.size).reshape(b, t, c)


class Thing(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.layers = nn.ModuleList([Block(config) for _ in range(config.n_layer)])

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x
"""


def test_examples_of_models_with_many_heads_have_few_of_several_features():
    made = converted("from dataclasses import dataclass\n\n\n" + DEEP)
    assert made.trial is not None
    values = dict(made.trial.hyperparameters)
    assert values == {"n_layer": 2, "n_head": 2, "n_kv_head": 1, "n_embd": 8}
    assert dict(made.trial.inputs)["x"][-1] == 8
    # The defaults are those of the original.
    assert "    n_head: Size = 12\n" in made.text


def test_heads_that_fit_are_what_they_are_by_default():
    body = DEEP.replace("12\n    n_kv_head: int = 6", "4\n    n_kv_head: int = 4")
    made = converted("from dataclasses import dataclass\n\n\n" + body)
    assert made.trial is not None
    assert dict(made.trial.hyperparameters)["n_head"] == 4


MASKED = """\
class Attention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.size = dim // heads
        self.qkv = nn.Linear(dim, 3 * dim)

    def _split(self, x):
        return x.view(x.size()[:-1] + (self.heads, self.size)).permute(0, 2, 1, 3)

    def forward(self, x, attention_mask=None):
        q, k, v = SPLIT
        q, k, v = self._split(q), self._split(k), self._split(v)
        scores = torch.matmul(q, k.transpose(2, 3)) / self.size**0.5
        if attention_mask is not None:
            scores = scores + MASK
        y = torch.matmul(torch.softmax(scores, dim=-1), v)
        return y.transpose(1, 2).reshape(x.shape)


class Thing(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.attention = Attention(dim, heads)

    def forward(self, x):
        steps = x.shape[1]
        mask = torch.full((steps, steps), float("-inf"), device=x.device)
        return self.attention(x, attention_mask=torch.triu(mask, diagonal=1)[None, None])
"""


@pytest.mark.parametrize(
    "split",
    ["self.qkv(x).split(self.heads * self.size, dim=2)", "self.qkv(x).chunk(3, dim=2)"],
)
@pytest.mark.parametrize(
    "mask", ["attention_mask", "attention_mask[:, :, :, : k.shape[-2]]"]
)
def test_a_mask_of_keys_is_broadcast_to_the_scores(split, mask):
    text = converted(MASKED.replace("SPLIT", split).replace("MASK", mask)).text
    inner = text.partition("class Attention")[2].partition("\nclass ")[0]
    [shape] = re.findall(r"attention_mask: Float\['([^']*)'\]", inner)
    assert shape.startswith(("# ", "..."))
    # The batch is that of the input, and not the one example of the mask.
    outer = text.partition("class FromThing")[2]
    assert re.search(r"x: Float\['(?!1 )", outer)


SCRIPT = """\
import argparse

parser = argparse.ArgumentParser()
parser.add_argument("--latent", type=int, default=100)
parser.add_argument("--width", type=int, default=8)
opt = parser.parse_args()
nf = int(opt.width)


class Thing(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(opt.latent, nf)

    def forward(self, x):
        return self.fc(x)
"""


def test_a_command_line_is_its_defaults():
    made = converted(SCRIPT)
    assert "argparse" not in made.text
    assert "Linear(100, nf)" in made.text
    assert "nf = 8" in made.text
    assert any("`latent` of the command line" in note.what for note in made.notes)


def test_settings_that_a_class_is_given_are_none_of_the_command_line():
    body = SCRIPT.replace("__init__(self)", "__init__(self, opt)")
    text = converted(body).text
    assert "    latent: Size = 100\n" in text


CONSTANTS = """\
height, width, channels = 32, 32, 3


class Thing(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.fc = nn.Linear(channels, dim)

    def forward(self, x):
        return self.fc(x)
"""


def test_constants_of_one_line_are_several():
    text = converted(CONSTANTS).text
    assert "channels = 3\n" in text
    assert "Linear(channels, self.dim)" in text


STAGES = """\
class Block(eqx.Module):
    fc: eqx.nn.Linear

    def __init__(self, before, after, *, key):
        self.fc = eqx.nn.Linear(before, after, key=key)

    def __call__(self, x):
        return jax.nn.relu(self.fc(x))


class Thing(eqx.Module):
    layers: list

    def __init__(self, sizes, *, key):
        key, *keys = jax.random.split(key, 1 + sum(sizes))
        blocks = []
        before = 4
        for i, n in enumerate(sizes):
            for _ in range(n):
                blocks.append(Block(before, 4 * 2**i, key=keys.pop()))
                before = 4 * 2**i
        self.layers = blocks

    def __call__(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


model, state = eqx.nn.make_with_state(Thing)([1, 2], key=jax.random.PRNGKey(0))
"""


def test_keys_that_are_popped_and_models_that_are_made_with_their_state():
    made = converted(STAGES, EQUINOX)
    assert "Block(4, 4)" in made.text
    assert "Block(4, 8)" in made.text
    assert "Block(8, 8)" in made.text
    assert made.trial is not None
    assert made.trial.given == (("sizes", "[1, 2]"),)


HANDED = """\
class Attention(nn.Module):
    def __init__(self, dim, bias=True):
        super().__init__()
        self.score = nn.Linear(dim, 1, bias=bias)

    def forward(self, x):
        return torch.softmax(self.score(x), dim=1) * x


class Thing(nn.Module):
    def __init__(self, dim, out, attention):
        super().__init__()
        self.attention = attention
        self.fc = nn.Linear(dim, out)

    def forward(self, x):
        return self.fc(self.attention(x))


DIM, OUT = 16, 4
model = Thing(DIM, OUT, Attention(DIM))
"""


def test_the_original_is_handed_its_layer():
    made = converted(HANDED)
    assert made.trial is not None
    assert made.trial.given == (("attention", "Attention(dim)"),)


class _Handed:
    def __init__(self, dim, layer, more=3):
        self.dim, self.layer, self.more = dim, layer, more


def test_what_an_original_is_given_reads_its_other_arguments():
    made = with_given(_Handed, {"dim": 8, "inner": 2}, {"layer": "(dim, inner, more)"})
    assert made == {"dim": 8, "layer": (8, 2, 3)}


MADE = """\
class Net(nn.Module):
    def __init__(self, width, classes=1000):
        super().__init__()
        self.fc = nn.Linear(width, classes)

    def forward(self, x):
        return self.fc(x)


def Thing(classes=10):
    return Net(16, classes=classes)
"""


@pytest.mark.parametrize("own", ["classes", "count"])
def test_a_function_that_makes_a_model_has_defaults_of_its_own(own):
    body = MADE.replace("Thing(classes", f"Thing({own}")
    body = body.replace("classes=classes", f"classes={own}")
    assert "classes: Size = 10\n" in converted(body).text


MODES = """\
class Thing(eqx.Module):
    fc: eqx.nn.Linear

    def __init__(self, size, *, key):
        self.fc = eqx.nn.Linear(size, 4, key=key)

    def __call__(self, x, whole=False):
        steps, features = x.shape
        x = jax.nn.relu(x)
        if whole:
            y = jax.vmap(self.fc)(x)
        else:
            y = self.fc(x[-1])
        return y
"""


def test_what_has_other_axes_where_a_setting_says_so_is_of_none_that_are_told():
    text = converted(MODES, EQUINOX).text
    [line] = [part for part in text.splitlines() if "def forward" in part]
    assert "->" not in line


LINEN = """\
import flax.linen as nn
import jax
import jax.numpy as jnp


"""


def test_what_a_layer_of_flax_returns_is_known_whatever_it_is_given():
    text = converted(
        """\
def embedded(t, size):
    angles = t[:, None] * jnp.arange(size // 2)
    angles = jnp.concatenate([jnp.sin(angles), jnp.cos(angles)], axis=1)
    if size % 2 == 1:
        angles = jnp.pad(angles, [[0, 0], [0, 1]])
    return angles


class Thing(nn.Module):
    size: int = 8
    classes: int = 4

    @nn.compact
    def __call__(self, t, y):
        h = nn.Dense(4 * self.size)(embedded(t, self.size))
        h = nn.Dense(2 * self.size)(nn.swish(h))
        return h + nn.Dense(2 * self.size)(jax.nn.one_hot(y, num_classes=self.classes))
""",
        LINEN,
    ).text
    assert "Linear(4 * self.size, 2 * self.size)" in text
    assert "Linear(self.classes, 2 * self.size)" in text
    assert "y: Int[" in text


def test_loops_in_loops_that_fill_a_list_which_others_pop_are_written_out():
    made = converted(
        """\
class Thing(nn.Module):
    sizes: tuple = (4, 8)
    depth: int = 2

    @nn.compact
    def __call__(self, x):
        stages = len(self.sizes)
        kept = [nn.Dense(4, name="first")(x)]
        for i in range(stages):
            for j in range(self.depth):
                kept.append(nn.Dense(self.sizes[i], name=f"down_{i}_{j}")(kept[-1]))
            if i != stages - 1:
                kept.append(nn.Dense(self.sizes[i], name=f"last_{i}")(kept[-1]))
        h = kept[-1]
        for i in reversed(range(stages)):
            for j in range(self.depth + i):
                h = jnp.concatenate([h, kept.pop()], axis=-1)
                h = nn.Dense(self.sizes[i], name=f"up_{i}_{j}")(h)
        return h
""",
        LINEN,
    )
    for line in (
        "self.down_1_0 = Linear(4, 8)",
        "self.up_1_0 = Linear(16, 8)",
        "self.up_1_2 = Linear(12, 8)",
        "self.up_0_1 = Linear(8, 4)",
    ):
        assert line in made.text
    assert any("`sizes` is always its default" in note.what for note in made.notes)


ACCUMULATED = """\
import dataclasses

import jax
import optax


@dataclasses.dataclass
class TrainConfig:
    lr: float = 1e-3
    steps: int = 10
    accumulate: int = 1


def rate(config: TrainConfig):
    return optax.linear_schedule(0.0, config.lr, config.steps)


def thing(config: TrainConfig):
    tx = optax.sgd(rate(config))
    if config.accumulate > 1:
        tx = optax.MultiSteps(tx, every_k_schedule=config.accumulate)
    return tx


tx = thing(TrainConfig())
"""


def test_optimizers_hand_their_configuration_to_functions():
    made = convert("thing.py", ACCUMULATED, "thing", "FromThing", "OPTIMIZER")
    assert made.whole, made.notes
    assert re.search(r"    lr: \w+ = 0.001\n", made.text)
    assert "    steps: Size = 10\n" in made.text
    assert "accumulate" not in made.text
    assert any(
        "`config.accumulate` is always its default" in n.what for n in made.notes
    )


def test_examples_leave_out_what_nothing_reads():
    body = CONFIGURED.replace("bias=False,", "bias=False, pad_token_id=0,").replace(
        "        self.bias = bias\n",
        "        self.bias = bias\n        self.pad_token_id = pad_token_id\n",
    )
    body = body.replace(
        "        self.up = ",
        "        self.pad = config.pad_token_id\n        self.up = ",
    )
    made = converted(body)
    assert made.trial is not None
    assert "pad_token_id" not in dict(made.trial.hyperparameters)
