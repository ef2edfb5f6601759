"""Layers and numbers that one part of a file hands to another: each stands where it is used."""

from __future__ import annotations

import ast

import pytest
from test_conversion_forms import TORCH, converted

from mlax_scaffold.conversion import convert

RESNET = """\
def conv1x1(in_planes, planes, stride=1):
    return nn.Conv2d(in_planes, planes, kernel_size=1, stride=stride, bias=False)


class Unit(nn.Module):
    expansion = 4

    def __init__(self, inplanes, planes, stride=1, downsample=None):
        super().__init__()
        self.conv = conv1x1(inplanes, planes * self.expansion, stride)
        self.downsample = downsample

    def forward(self, x):
        identity = x
        if self.downsample is not None:
            identity = self.downsample(x)
        return F.relu(self.conv(x) + identity)


class Thing(nn.Module):
    def __init__(self, width=8, blocks=(2, 3)):
        super().__init__()
        self.inplanes = width
        self.layer1 = self._make_layer(width, blocks[0])
        self.layer2 = self._make_layer(width * 2, blocks[1], stride=2)
        self.head = nn.Linear(width * 2 * Unit.expansion, 10)

    def _make_layer(self, planes, blocks, stride=1):
        downsample = None
        if stride != 1 or self.inplanes != planes * Unit.expansion:
            downsample = nn.Sequential(
                conv1x1(self.inplanes, planes * Unit.expansion, stride),
                nn.BatchNorm2d(planes * Unit.expansion),
            )
        layers = [Unit(self.inplanes, planes, stride, downsample)]
        self.inplanes = planes * Unit.expansion
        for _ in range(1, blocks):
            layers.append(Unit(self.inplanes, planes))
        return nn.Sequential(*layers)

    def forward(self, x):
        x = self.layer2(self.layer1(x))
        return self.head(x.mean((2, 3)))
"""


def setups(text: str) -> dict[str, str]:
    """What each class of a spec declares."""
    return {
        node.name: ast.unparse(part)
        for node in ast.parse(text).body
        if isinstance(node, ast.ClassDef)
        for part in node.body
        if isinstance(part, ast.FunctionDef) and part.name == "setup"
    }


def test_a_method_that_makes_layers_and_changes_what_the_next_begins_with_is_a_class():
    made = setups(converted(RESNET).text)
    stages, whole = made["ThingLayer"], made["FromThing"]
    # The first unit begins with what the stage is given, and the others with what it ends with.
    first = "Unit(self.inplanes, self.planes, downsample, stride=self.stride)"
    assert f"self.layers_0 = {first}" in stages
    assert "own_inplanes = self.planes * 4" in stages
    others = "Unit(own_inplanes, self.planes, downsample_value=False)"
    assert f"[{others} for _ in range(1, self.blocks)]" in stages
    told = "self.stride != 1 or self.inplanes != self.planes * 4"
    assert f"downsample = {told}" in stages
    places = [
        "inplanes = self.width\n",
        "self.layer1 = ThingLayer(inplanes, self.width, self.blocks[0])",
        "inplanes = self.width * 4",
        "self.layer2 = ThingLayer(inplanes, self.width * 2, self.blocks[1], stride=2)",
    ]
    found = [whole.index(part) for part in places]
    assert found == sorted(found)


def test_a_layer_that_is_handed_on_is_made_by_the_class_that_holds_it():
    text = converted(RESNET).text
    unit = setups(text)["Unit"]
    assert "downsample_value: bool\n" in text
    made = "Conv(2, self.inplanes, self.planes * 4, 1, strides=self.stride"
    assert f"self.downsample_0 = {made}" in unit
    assert unit.count("if self.downsample_value else None") == 2
    assert "if self.downsample_0 is not None" in text


def test_a_layer_of_something_else_makes_a_class_of_its_own():
    body = RESNET.replace(
        "layers.append(Unit(self.inplanes, planes))",
        "layers.append(Unit(self.inplanes, planes, 1, nn.BatchNorm2d(planes * 4)))",
    )
    made = setups(converted(body).text)
    assert "if self.downsample_value else None" in made["Unit"]
    assert "self.downsample = BatchNorm(self.planes * 4)" in made["UnitBatchNorm2d"]


def test_sizes_of_layers_are_what_these_are_made_with():
    text = converted("""\
class Patches(nn.Module):
    def __init__(self, size=32, patch=8, dim=16):
        super().__init__()
        self.grid = size // patch
        self.count = self.grid**2
        self.proj = nn.Conv2d(3, dim, patch, stride=patch)

    def forward(self, x):
        return self.proj(x).flatten(2).transpose(1, 2)


class Thing(nn.Module):
    def __init__(self, size=32, dim=16):
        super().__init__()
        self.embed = Patches(size, dim=dim)
        self.places = nn.Parameter(torch.zeros(1, self.embed.count + 1, dim))
        self.first = nn.Linear(dim, 2 * dim)
        self.second = nn.Linear(self.first.out_features, dim)

    def forward(self, x):
        return self.second(self.first(self.embed(x) + self.places[:, 1:]))
""").text
    made = setups(text)["FromThing"]
    assert "trainable(zeros, (1, (self.size // 8) ** 2 + 1, self.dim))" in made
    assert "self.second = Linear(2 * self.dim, self.dim)" in made


def test_keywords_of_a_dictionary_are_written_out():
    text = converted(
        """\
class Thing(hk.Module):
    def __init__(self, channels, name=None):
        super().__init__(name=name)
        config = {"create_scale": True, "create_offset": True, "decay_rate": 0.7}
        self.norm = hk.BatchNorm(**config, name="norm")
        self.other = hk.BatchNorm(eps=0.1, **OTHERS)

    def __call__(self, x, is_training):
        return self.other(self.norm(x, is_training), is_training)
""",
        "import haiku as hk\nOTHERS = dict(create_scale=False, create_offset=False, "
        "decay_rate=0.8)\n",
    ).text
    assert text.count("BatchNorm(") == 2
    assert "0.7" in text
    assert "use_scale=False" in text
    assert "config" not in text


def test_a_dictionary_that_changes_is_not_written_out():
    head = "import haiku as hk\n"
    body = """\
class Thing(hk.Module):
    def __init__(self, channels):
        super().__init__()
        config = {"create_scale": True, "create_offset": True, "decay_rate": 0.7}
        config["eps"] = 0.5
        self.norm = hk.BatchNorm(**config)

    def __call__(self, x, is_training):
        return self.norm(x, is_training)
"""
    made = convert("thing.py", head + body, "Thing", "FromThing")
    assert not made.whole
    assert "**config" in str(made.notes)


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("xavier_uniform_(self.f.weight)", "glorot_uniform()"),
        (
            "xavier_normal_(self.f.weight, gain=0.5)",
            "variance_scaling(0.25, 'fan_avg', 'normal')",
        ),
        (
            "xavier_uniform_(self.f.weight, gain=nn.init.calculate_gain('relu'))",
            "variance_scaling(2.0, 'fan_avg', 'uniform')",
        ),
        ("kaiming_normal_(self.f.weight)", "he_normal()"),
        (
            "kaiming_uniform_(self.f.weight, a=math.sqrt(5))",
            "variance_scaling(0.333333333333, 'fan_in', 'uniform')",
        ),
        (
            "kaiming_normal_(self.c.weight, mode='fan_out', nonlinearity='relu')",
            "variance_scaling(2.0, 'fan_out', 'normal', in_axis=1, out_axis=0)",
        ),
        ("xavier_normal_(self.c.weight)", "glorot_normal(in_axis=1, out_axis=0)"),
        ("xavier_normal_(self.w)", "glorot_normal(in_axis=1, out_axis=0)"),
        ("orthogonal_(self.c.weight)", "orthogonal(1.0, column_axis=0)"),
        (
            "trunc_normal_(self.f.weight, std=0.1, a=-0.2, b=0.3)",
            "truncated_normal(0.1, -0.2 / 0.1, 0.3 / 0.1)",
        ),
        (
            "normal_(self.f.weight, 1.0, 0.02)",
            "lambda key, shape, dtype=None: 1.0 + 0.02 * jax.random.normal(key, shape, dtype)",
        ),
    ],
)
def test_weights_begin_as_pytorch_scales_them(call: str, expected: str):
    text = converted(
        f"""\
class Thing(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.f = nn.Linear(dim, dim)
        self.c = nn.Conv2d(dim, dim, 3)
        self.w = nn.Parameter(torch.empty(dim, 2 * dim))
        nn.init.{call}

    def forward(self, x):
        return self.f(x @ self.w.T), self.c(x)
""",
        "import math\n" + TORCH,
    ).text
    assert expected in setups(text)["FromThing"]


def test_an_initializer_of_flax_has_the_axes_of_the_kernel_here():
    text = converted(
        """\
class Thing(nn.Module):
    features: int

    @nn.compact
    def __call__(self, x):
        init = nn.initializers.variance_scaling(2.0, "fan_out", "normal")
        x = nn.Conv(self.features, (3, 3), kernel_init=init)(x)
        return nn.Dense(self.features, kernel_init=init)(x)
""",
        "import flax.linen as nn\n",
    ).text
    assert "variance_scaling(2.0, 'fan_out', 'normal', in_axis=-1, out_axis=0)" in text
    assert "kernel_initializer=variance_scaling(2.0, 'fan_out', 'normal'))" in text


def test_a_class_that_is_called_as_a_word_of_specs_has_another_name():
    made = converted("""\
class Layer(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.f = nn.Linear(dim, dim)

    def forward(self, x):
        return self.f(x)


class Thing(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.layer = Layer(dim)

    def forward(self, x):
        return self.layer(x)
""")
    assert "class FromThingLayer(Layer):" in made.text
    assert "self.layer = FromThingLayer(self.dim)" in made.text


def test_images_are_resized_to_a_size():
    text = converted("""\
class Thing(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.f = nn.Conv2d(dim, dim, 3, stride=2)

    def forward(self, x):
        y = self.f(x)
        y = F.interpolate(y, size=x.shape[2:], mode="bilinear", align_corners=False)
        return F.interpolate(y, scale_factor=2)
""").text
    assert "resize_linear(y, x.shape[2:][-2], x.shape[2:][-1])" in text
    assert "Upsample(2, 2)" in text


def test_functions_in_the_functions_that_are_mapped_are_written_out():
    text = convert(
        "thing.py",
        """\
import jax
import jax.numpy as jnp
import optax


def thing(b1=0.9, limit=1.0):
    def init_fn(params):
        return jax.tree.map(jnp.zeros_like, params)

    def update_fn(updates, mu, params=None):
        def ema(decay):
            def one(g, m):
                return decay * m + (1 - decay) * g

            return one

        mu = jax.tree.map(ema(b1), updates, mu)

        def limited(m, g):
            def size(a):
                return jnp.abs(a) + limit

            u = m / size(g)
            return u / size(u) + u

        return jax.tree.map(limited, mu, updates), mu

    return optax.GradientTransformation(init_fn, update_fn)
""",
        "thing",
        "FromThing",
        "OPTIMIZER",
    ).text
    _, _, update = text.partition("def update")
    assert "mu = self.b1 * self.mu + (1 - self.b1) * grad" in update
    assert "u = mu / (jnp.abs(grad) + self.limit)\n" in update
    assert "u / (jnp.abs(u) + self.limit) + u" in update
