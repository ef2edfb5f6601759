"""What a constructor does under a condition is done under it here; what cannot be is listed with its line."""

from __future__ import annotations

import pytest

from mlax_scaffold.conversion import Converted, convert

TORCH = """\
import torch
import torch.nn as nn
import torch.nn.functional as F


class Thing(nn.Module):
    def __init__(self, dim, {parameters}):
        super().__init__()
        {setup}

    def forward(self, x):
        {body}
"""


def of(parameters: str, setup: str, body: str = "return self.net(x)") -> Converted:
    given = TORCH.format(
        parameters=parameters,
        setup=setup.replace("\n", "\n        "),
        body=body.replace("\n", "\n        "),
    )
    return convert("thing.py", given, "Thing", "Thing")


SEQUENCE = "\nself.net = nn.Sequential(*layers)"
CARRIED = {
    "a layer that is appended": (
        "ratio",
        "layers = []\nif ratio != 1:\n    layers.append(nn.Linear(dim, dim))\n"
        "layers.append(nn.Linear(dim, 4))" + SEQUENCE,
        [
            "self.net_0 = Linear(self.dim, self.dim) if self.ratio != 1 else None",
            "        if self.net_0 is not None:\n            x = self.net_0(x)\n",
        ],
    ),
    "an activation that is appended": (
        "ratio",
        "layers = [nn.Linear(dim, dim)]\nhidden = dim * ratio\n"
        "if hidden != dim:\n    layers += [nn.ReLU()]" + SEQUENCE,
        [
            "self.has_net_1 = hidden != self.dim",
            "        if self.has_net_1:\n            x = jax.nn.relu(x)\n",
        ],
    ),
    "branches that append": (
        "act='relu'",
        "layers = [nn.Linear(dim, dim)]\nif act == 'relu':\n    layers.append(nn.ReLU())\n"
        "elif act == 'tanh':\n    layers.append(nn.Tanh())" + SEQUENCE,
        [
            "        if self.act == 'relu':\n            x = jax.nn.relu(x)\n",
            "        if not self.act == 'relu' and self.act == 'tanh':\n            x = jnp.tanh(x)\n",
        ],
    ),
    "a list that begins in branches": (
        "deep=True",
        "if deep:\n    layers = [nn.Linear(dim, dim), nn.ReLU()]\n"
        "else:\n    layers = [nn.Linear(dim, 4)]" + SEQUENCE,
        [
            "self.net_0 = Linear(self.dim, self.dim) if self.deep else None",
            "self.net_2 = Linear(self.dim, 4) if not self.deep else None",
        ],
    ),
    "a whole loop": (
        "n, deep=True",
        "layers = []\nif deep:\n    for _ in range(n):\n        layers.append(nn.Linear(dim, dim))\n"
        "layers.append(nn.Linear(dim, 4))" + SEQUENCE,
        ["for _ in range(self.n if self.deep else 0)]"],
    ),
    "one condition in another": (
        "n, norm=True",
        "layers = []\nfor i in range(n):\n    if norm:\n        if i > 0:\n"
        "            layers.append(nn.LayerNorm(dim))\n    layers.append(nn.Linear(dim, dim))" + SEQUENCE,
        ["if self.norm and i > 0:\n                x = norm_(x)"],
    ),
    "what changes beside a layer": (
        "widths",
        "layers = []\nc = dim\nfor i, w in enumerate(widths):\n    if i > 0:\n"
        "        layers.append(nn.Linear(c, w))\n        c = w" + SEQUENCE,
        ["            if i > 0:\n                c = w\n"],
    ),
    "a width under a condition": (
        "deep=True",
        "h = dim\nif deep:\n    h = 2 * dim\n    self.up = nn.Linear(dim, h)\nself.net = nn.Linear(h, dim)",
        ["        if self.deep:\n            h = 2 * self.dim\n"],
    ),
    "a layer that branches name": (
        "act='relu'",
        "if act == 'relu':\n    f = nn.ReLU()\nelif act == 'gelu':\n    f = nn.GELU()\n"
        "else:\n    raise ValueError(act)\nself.net = nn.Sequential(nn.Linear(dim, dim), f)",
        [
            "require(self.act == 'relu' or self.act == 'gelu'",
            "jax.nn.relu(x) if self.act == 'relu' else gelu(x, approximate=False)",
        ],
    ),
    "a class of layers that branches name": (
        "norm='bn'",
        "if norm == 'bn':\n    kind = nn.BatchNorm1d\nelse:\n    kind = nn.LayerNorm\n"
        "self.net = nn.Sequential(nn.Linear(dim, dim), kind(dim))",
        [
            "self.net_1 = BatchNorm(self.dim) if self.norm == 'bn' else LayerNorm(self.dim)\n",
            "return self.net_1(x)",
        ],
    ),
    "one of three layers, or none": (
        "kind='bn'",
        "if kind == 'bn':\n    self.net = nn.BatchNorm1d(dim)\n"
        "elif kind == 'ln':\n    self.net = nn.LayerNorm(dim)\n"
        "elif kind == 'rms':\n    self.net = nn.RMSNorm(dim)\nelse:\n    self.net = nn.Identity()",
        [
            "self.net = BatchNorm(self.dim) if self.kind == 'bn' else "
            "LayerNorm(self.dim) if self.kind == 'ln' else RMSNorm(self.dim, ",
            " if self.kind == 'rms' else None\n",
            "        if self.net is not None:\n            return self.net(x)\n        return x\n",
        ],
    ),
    "an activation, or a layer, or none": (
        "act='relu'",
        "if act == 'relu':\n    self.net = nn.ReLU()\nelif act == 'prelu':\n    self.net = nn.PReLU()\n"
        "else:\n    self.net = None",
        [
            "self.net = PReLU(1, axis=1) if not self.act == 'relu' and self.act == 'prelu' else None",
            "        if self.act == 'relu':\n            return jax.nn.relu(x)\n"
            "        if self.net is not None:\n            return self.net(x)\n        return x\n",
            "if self.act == 'relu' or self.act == 'prelu':\n            x = self._net(x)\n",
        ],
    ),
    "layers of a comprehension": (
        "n",
        "layers = [nn.Linear(dim, dim)]\nlayers += [nn.Linear(dim, dim) for _ in range(n)]\n"
        "layers.extend(nn.Tanh() for _ in range(2))" + SEQUENCE,
        [
            "= [Linear(self.dim, self.dim) for _ in range(self.n)]",
            "for _ in range(2):\n            x = jnp.tanh(x)",
        ],
    ),
    "a list that is an attribute": (
        "deep=True",
        "self.net = nn.ModuleList([nn.Linear(dim, dim)])\nif deep:\n    self.net.append(nn.Linear(dim, dim))",
        ["self.net_1 = Linear(self.dim, self.dim) if self.deep else None"],
    ),
}  # fmt: skip
BODIES = {
    "an activation, or a layer, or none": (
        "if self.net is not None:\n    x = self.net(x)\nreturn x"
    ),
    "a list that is an attribute": "for layer in self.net:\n    x = layer(x)\nreturn x",
}


@pytest.mark.parametrize("case", CARRIED)
def test_conditions_stay(case: str):
    parameters, setup, wanted = CARRIED[case]
    made = of(parameters, setup, BODIES.get(case, "return self.net(x)"))
    assert made.whole, made.notes
    for text in wanted:
        assert text in made.text, made.text


LISTED = {
    "a list from elsewhere": (
        "n",
        "layers = [nn.Linear(dim, dim)]\nlayers += torch.load('layers')" + SEQUENCE,
        "is not listed",
        10,
    ),
    "a loop in a loop that goes on": (
        "n",
        "layers = []\nwhile dim < n:\n    layers.append(nn.Linear(dim, dim))" + SEQUENCE,
        "makes layers that are not to be told",
        11,
    ),
    "a condition on what a loop changes": (
        "widths",
        "layers = []\nc = dim\nfor w in widths:\n    if c != w:\n"
        "        layers.append(nn.Linear(c, w))\n    c = w" + SEQUENCE,
        "depends on `c`, which the loop changes",
        11,
    ),
    "a condition that changes before it is read again": (
        "widths",
        "layers = []\nc = dim\nfor w in widths:\n    if w > 3:\n        w = 3\n"
        "        layers.append(nn.Linear(c, w))\n        c = w" + SEQUENCE,
        "is no longer what it was here",
        15,
    ),
    "a layer that is named anew under a condition": (
        "deep",
        "f = nn.Linear(dim, dim)\nif deep:\n    f = nn.Linear(dim, 4)\nself.net = nn.Sequential(f)",
        "under a condition is not followed",
        11,
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", LISTED)
def test_what_is_not_followed_is_listed_with_its_line(case: str):
    parameters, setup, said, line = LISTED[case]
    blocking = [n for n in of(parameters, setup).notes if n.blocks]
    assert any(said in n.what and n.line == line for n in blocking), blocking


def test_an_initializer_under_a_condition_is_said_with_its_line():
    made = of(
        "zero=True",
        "self.net = nn.Linear(dim, dim)\nif zero:\n    nn.init.zeros_(self.net.weight)",
    )
    [note] = made.notes
    assert (note.line, note.blocks) == (11, False)
    assert "under a condition is left out" in note.what
    assert "zeros" not in made.text


def test_what_a_loop_over_layers_leaves_is_not_what_a_sequence_makes():
    made = of(
        "n",
        "self.net = nn.ModuleList([nn.Linear(dim, dim), nn.LayerNorm(dim)])",
        "for layer in self.net:\n    y = layer(x)\nreturn y",
    )
    assert made.whole
    assert "y = self.net_0(x)\n        y = self.net_1(x)" in made.text


def test_a_parameter_that_is_replaced_is_an_attribute_of_its_own():
    made = of(
        "inner=None",
        "inner = inner or dim\nself.inner = inner\nself.net = nn.Linear(dim, dim)",
        "return self.net(x) * self.inner",
    )
    assert "self.used_inner = own_inner" in made.text
    assert "self.net(x) * self.used_inner" in made.text


NESTED = """\
layers = []
c = dim
for w in widths:
    for _ in range(n):
        layers.append(nn.Linear(c, w))
        layers.append(nn.ReLU())
        c = w
    layers.append(nn.LayerNorm(c))
self.net = nn.Sequential(*layers)"""


def test_what_an_inner_loop_appends_is_a_class():
    made = of("widths, n", NESTED)
    assert made.whole, made.notes
    assert "class ThingLayerStage(Layer):" in made.text
    assert "net_thing_layer_stage_sizes.append((c, w))" in made.text
    assert "            for _ in range(self.n):\n                c = w\n" in made.text
    assert "x = stage_(x)\n            x = norm_(x)" in made.text


def test_what_an_inner_loop_appends_to_a_list_that_is_not_called_whole_is_listed():
    made = of(
        "n",
        "self.net = nn.ModuleList()\nfor _ in range(n):\n    for _ in range(2):\n"
        "        self.net.append(nn.Linear(dim, dim))",
        "for layer in self.net:\n    x = x + layer(x)\nreturn x",
    )
    lines = {n.line: n.what for n in made.notes if n.blocks}
    assert "makes layers that are not to be told" in lines[12]


def test_one_of_two_classes_that_take_several_inputs_is_called_with_all():
    text = """\
import torch.nn as nn


class Plain(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.fc = nn.Linear(dim, dim)

    def forward(self, hidden, scale, shift=None):
        out = self.fc(hidden) * scale
        return out if shift is None else out + shift


class Normed(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.norm = nn.LayerNorm(dim)

    def forward(self, a, b):
        return self.norm(a) * b


class Thing(nn.Module):
    def __init__(self, dim, deep=False):
        super().__init__()
        if deep:
            self.body = Normed(dim)
        else:
            self.body = Plain(dim)

    def forward(self, x, scale):
        return self.body(x, scale)
"""
    made = convert("thing.py", text, "Thing", "Thing")
    assert made.whole, made.notes
    assert (
        "self.body = Normed(self.dim) if self.deep else Plain(self.dim)\n" in made.text
    )
    assert "return self.body(x, scale)" in made.text
    assert made.trial is not None
    assert dict(made.trial.inputs) == {"x": (2, 8), "scale": (2, 8)}


LINEN = "import flax.linen as nn\nfrom functools import partial\n\n\n"
CLASSES = [
    "norm = partial(nn.BatchNorm, use_running_average=not train) if self.rms else nn.LayerNorm",
    "if self.rms:\n            norm = partial(nn.BatchNorm, use_running_average=not train)\n"
    "        else:\n            norm = nn.LayerNorm",
    "if self.rms:\n            norm = partial(nn.BatchNorm, use_running_average=not train)\n"
    "        elif self.size > 1:\n            norm = nn.LayerNorm\n"
    "        else:\n            raise ValueError('norm')",
]


@pytest.mark.parametrize("chosen", CLASSES)
def test_a_class_of_layers_that_a_setting_chooses_is_made_in_branches(chosen):
    given = f"""\
class Thing(nn.Module):
    size: int
    rms: bool = False

    @nn.compact
    def __call__(self, x, train: bool = False):
        {chosen}
        x = norm(name="first")(nn.Dense(self.size)(x))
        return nn.relu(norm()(x))
"""
    made = convert("thing.py", LINEN + given, "Thing", "Thing")
    assert made.whole, made.notes
    assert "self.first = BatchNorm(self.size, channel_last=True" in made.text
    assert "if self.rms else None" in made.text
    assert "LayerNorm(self.size, epsilon=1e-06) if not self.rms else None" in made.text
    assert made.text.count("= Linear(") == 1


def test_a_class_that_an_attribute_holds_is_made_where_it_is_called():
    given = """\
import haiku as hk
import jax


class One(hk.Module):
    def __init__(self, width, name=None):
        super().__init__(name=name)
        self.width = width

    def __call__(self, x, is_training, test_local_stats):
        x = hk.BatchNorm(True, True, 0.9)(x, is_training, test_local_stats)
        return hk.Linear(self.width)(x)


class Two(One):
    def __call__(self, x, is_training, test_local_stats):
        return jax.nn.relu(hk.Linear(self.width)(x))


class Thing(hk.Module):
    def __init__(self, width, depth: int = 2, old: bool = True, name=None):
        super().__init__(name=name)
        self.width, self.depth = width, depth
        self.old = old
        self.block = One if old else Two

    def __call__(self, x, is_training, test_local_stats):
        for i in range(self.depth):
            x = self.block(self.width, name=f"block_{i}")(x, is_training, test_local_stats)
        return x
"""
    made = convert("thing.py", given, "Thing", "Thing")
    assert made.whole, made.notes
    assert "[One(" in made.text
    assert "if self.old else None" in made.text
    assert "test_local_stats" not in made.text
    assert made.trial is not None
    assert "test_local_stats" in made.trial.flags


def test_a_table_of_classes_is_a_choice_by_its_key():
    given = """\
NORMS = {"layer": nn.LayerNorm, "rms": nn.RMSNorm}


class Thing(nn.Module):
    kind: str = "layer"

    @nn.compact
    def __call__(self, x):
        norm = NORMS[self.kind]
        return norm()(x)
"""
    made = convert("thing.py", LINEN + given, "Thing", "Thing")
    assert made.whole, made.notes
    assert (
        "LayerNorm(self.in_features, epsilon=1e-06) if self.kind == 'layer'"
        in made.text
    )
    assert "RMSNorm(self.in_features" in made.text


@pytest.mark.parametrize(
    "chosen",
    [
        "block = Block\n        if self.again:\n            block = nn.remat(Block, static_argnums=(2,))",
        "if self.again:\n            block = nn.remat(Block)\n        else:\n            block = Block",
    ],
)
def test_a_class_that_may_be_computed_again_is_the_class(chosen):
    made = convert(
        "net.py",
        LINEN
        + f"""\
class Block(nn.Module):
    dim: int

    @nn.compact
    def __call__(self, x):
        return nn.Dense(self.dim)(x)


class Net(nn.Module):
    dim: int = 8
    again: bool = True

    @nn.compact
    def __call__(self, x):
        {chosen}
        for i in range(2):
            x = block(self.dim, name=f"block_{{i}}")(x)
        return x
""",
        "Net",
        "Net",
    )
    assert made.whole, made.notes
    assert "self.blocks = [Block(" in made.text
    assert "nn.remat" not in made.text
