"""What the original makes once is made once: layers under several names, in lists, and shared weights."""

from __future__ import annotations

import pytest

from mlax_scaffold.conversion import Converted, convert

TORCH = """\
import torch
import torch.nn as nn


class Thing(nn.Module):
    def __init__(self, dim, {parameters}):
        super().__init__()
        {setup}

    def forward(self, x):
        {body}
"""


def of(parameters: str, setup: str, body: str) -> Converted:
    given = TORCH.format(
        parameters=parameters,
        setup=setup.replace("\n", "\n        "),
        body=body.replace("\n", "\n        "),
    )
    return convert("thing.py", given, "Thing", "Thing")


LOOP = "for layer in self.layers:\n    x = layer(x)\nreturn x"
ONCE = {
    "a list of one layer": (
        "self.layers = nn.ModuleList([nn.Linear(dim, dim)] * n)",
        LOOP,
        ["for _ in range(self.n):\n            x = self.layers_layer(x)"],
    ),
    "a comprehension of one layer": (
        "block = nn.Linear(dim, dim)\nself.layers = nn.ModuleList([block for _ in range(n)])",
        "for i, layer in enumerate(self.layers):\n    x = x + i * layer(x)\nreturn x",
        ["for i, _ in enumerate(range(self.n)):\n            x = x + i * self.block(x)"],
    ),
    "a sequence of one layer": (
        "block = nn.Linear(dim, dim)\nself.net = nn.Sequential(*[block] * n)",
        "return self.net(x)",
        ["for _ in range(self.n):\n            x = self.block(x)"],
    ),
    "a layer that a loop appends": (
        "block = nn.Linear(dim, dim)\nlayers = []\nfor _ in range(n):\n    layers.append(block)\n"
        "    layers.append(nn.ReLU())\nself.net = nn.Sequential(*layers)",
        "return self.net(x)",
        ["x = self.block(x)\n            x = jax.nn.relu(x)"],
    ),
    "a layer that stands twice in a sequence": (
        "fc = nn.Linear(dim, dim)\nself.net = nn.Sequential(fc, nn.ReLU(), fc)",
        "return self.net(x)",
        ["x = self.fc(x)\n        x = jax.nn.relu(x)\n        return self.fc(x)"],
    ),
    "a local under two names": (
        "fc = nn.Linear(dim, dim)\nself.a = fc\nself.b = fc",
        "return self.a(x) + self.b(x)",
        ["self.a = Linear(", "self.a(x) + self.a(x)"],
    ),
    "a layer under two names": (
        "self.a = nn.Linear(dim, dim)\nself.b = self.a",
        "return self.a(x) + self.b(x)",
        ["self.a(x) + self.a(x)"],
    ),
    "a layer in a list of others": (
        "self.a = nn.Linear(dim, dim)\nself.layers = nn.ModuleList([self.a, nn.Tanh()])",
        "for layer in self.layers:\n    x = x + layer(x)\nreturn x",
        ["x = x + self.a(x)\n        x = x + jnp.tanh(x)"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", ONCE)
def test_what_is_made_once_is_one_layer(case: str):
    setup, body, wanted = ONCE[case]
    made = of("n", setup, body)
    assert made.whole, made.notes
    assert made.text.count("Linear(self.dim, self.dim)") == 1, made.text
    for text in wanted:
        assert text in made.text, made.text


def test_what_each_pass_makes_are_several_layers():
    made = of(
        "n",
        "self.layers = nn.ModuleList()\nfor _ in range(n):\n    block = nn.Linear(dim, dim)\n"
        "    self.layers.append(block)",
        LOOP,
    )
    assert made.whole, made.notes
    assert "for _ in range(self.n)]" in made.text


def test_one_of_a_layer_and_another_is_chosen_by_the_condition():
    made = of(
        "tie=True",
        "self.a = nn.Linear(dim, dim)\nself.b = self.a if tie else nn.Linear(dim, dim)",
        "return self.b(self.a(x))",
    )
    assert made.whole, made.notes
    assert "        if self.tie:\n            return self.a(x)\n" in made.text


EMBEDDED = "self.embed = nn.Embedding(n, dim)\nself.head = nn.Linear(dim, n, bias={})\n"
TIED = {
    "a table and a map": (
        EMBEDDED.format(False) + "self.head.weight = self.embed.weight",
        ["return self.embed(x) @ self.embed.embedding.T", "-> Float['*shape n']"],
    ),
    "the other way round": (
        EMBEDDED.format(True) + "self.embed.weight = self.head.weight",
        ["return self.embed(x) @ self.embed.embedding.T + self.head_bias"],
    ),
    "under a condition": (
        EMBEDDED.format(False)
        + "if tie:\n    self.head.weight = self.embed.weight",
        [
            "Linear(self.dim, self.n, use_bias=False) if not self.tie else None",
            "        if self.head is not None:\n            return self.head(x)\n"
            "        return x @ self.embed.embedding.T\n",
        ],
    ),
    "in a dictionary that is read by attributes": (
        "self.parts = nn.ModuleDict(dict(embed=nn.Embedding(n, dim)))\n"
        "self.head = nn.Linear(dim, n, bias=False)\nself.parts.embed.weight = self.head.weight\n"
        "self.embed = self.parts.embed",
        ["return self.parts_embed(x) @ self.parts_embed.embedding.T"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", TIED)
def test_weights_that_two_layers_share_are_one(case: str):
    setup, wanted = TIED[case]
    made = of("n, tie=True", setup, "return self.head(self.embed(x))")
    assert made.whole, made.notes
    for text in wanted:
        assert text in made.text, made.text


METHODS = """\
import torch.nn as nn


class Thing(nn.Module):
    def __init__(self, n, dim, tie=True):
        super().__init__()
        self.embed = nn.Embedding(n, dim)
        self.head = nn.Linear(dim, n, bias=False)
        self.tie = tie
        self.start()

    def start(self):
        if self.tie:
            self.tie_weights()

    def tie_weights(self):
        self.head.weight = self.embed.weight

    def forward(self, x):
        return self.head(self.embed(x))
"""


def test_a_method_that_the_constructor_runs_under_a_condition_is_no_method_of_the_layer():
    made = convert("thing.py", METHODS, "Thing", "Thing")
    assert made.whole, made.notes
    assert "if not self.tie else None" in made.text, made.text
    assert "return x @ self.embed.embedding.T" in made.text, made.text
    assert "weight" not in made.text, made.text


PARTS = """\
import torch
import torch.nn as nn
import torch.nn.functional as F


class Tables(nn.Module):
    def __init__(self, n, width=8):
        super().__init__()
        self.words = nn.Embedding(n, width)
        self.norm = nn.LayerNorm(width)

    def forward(self, x):
        return self.norm(self.words(x))


class Body(nn.Module):
    def __init__(self, n, dim):
        super().__init__()
        self.tables = Tables(n, dim)
        self.parts = nn.ModuleDict({{"fc": nn.Linear(dim, dim, bias=False)}})

    def forward(self, x):
        return self.parts["fc"](self.tables(x))


class Thing(nn.Module):
    def __init__(self, n, dim):
        super().__init__()
        self.body = Body(n, dim)
        self.head = nn.Linear(dim, n, bias=False)
        {setup}

    def forward(self, x):
        return {body}
"""
WORDS = "self.body.tables.words"
HEADED = "self.body(x) @ self.body.tables.words.embedding.T"
IN_PARTS = {
    "the head has the weight of the part's table": (
        f"self.head.weight = {WORDS}.weight",
        "self.head(self.body(x))",
        HEADED,
        "n",
    ),
    "the part's table has the weight of the head": (
        f"{WORDS}.weight = self.head.weight",
        "self.head(self.body(x))",
        HEADED,
        "n",
    ),
    "a map of a part": (
        "self.head.weight = self.body.parts.fc.weight",
        "self.head(self.body(x))",
        "self.body(x) @ self.body.parts_fc.kernel",
        "dim",
    ),
    "a map of a part has the weight of the head": (
        "self.body.parts['fc'].weight = self.head.weight",
        "self.head(self.body(x))",
        "self.body(x) @ self.body.parts_fc.kernel",
        "dim",
    ),
    "a part's table is read": (
        "pass",
        f"F.linear(self.head(self.body(x)), {WORDS}.weight.t())",
        "self.head(self.body(x)) @ self.body.tables.words.embedding.T.T",
        "dim",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", IN_PARTS)
def test_weights_of_parts_are_read_by_their_path(case: str):
    setup, body, wanted, width = IN_PARTS[case]
    text = PARTS.format(setup=setup, body=body)
    made = convert("thing.py", text, "Thing", "Thing")
    assert made.whole, made.notes
    thing = made.text.partition("class Thing(Layer)")[2]
    assert f"return {wanted}\n" in thing, thing
    assert f" {width}']:" in thing, thing
    assert ("self.head = " in thing) == (setup == "pass"), thing


TABLES = """\
import torch.nn as nn


class Coder(nn.Module):
    def __init__(self, n, dim):
        super().__init__()
        self.words = nn.Embedding(n, dim)
        self.fc = nn.Linear(dim, dim)

    def forward(self, x):
        return self.fc(self.words(x))


class Thing(nn.Module):
    def __init__(self, n, dim):
        super().__init__()
        self.encoder = Coder(n, dim)
        self.decoder = Coder(n, dim)
        self.decoder.words.weight = self.encoder.words.weight

    def forward(self, x, y):
        return self.encoder(x) + self.decoder(y)
"""


def test_a_part_that_looks_up_in_the_table_of_another_one_is_handed_it():
    made = convert("thing.py", TABLES, "Thing", "Thing")
    assert made.whole, made.notes
    assert "self.decoder(y, words_weight=self.encoder.words.embedding)" in made.text
    assert made.text.count("self.words = Embed(") == 1, made.text
    assert "words_weight: Float['entries dim']) -> Float['*shape dim']:" in made.text, (
        made.text
    )
    assert "return self.fc(take_rows(words_weight, x))" in made.text, made.text


LOGITS = """\
import torch
import torch.nn as nn


class Logits(nn.Module):
    def __init__(self, dim, n):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.decoder = nn.Linear(dim, n{bias})
        {given}

    def forward(self, x):
        return self.decoder(self.norm(x))


class Heads(nn.Module):
    def __init__(self, dim, n):
        super().__init__()
        self.words = nn.Embedding(n, dim)
        self.logits = Logits(dim, n)

    def forward(self, x):
        return self.logits(x)


class Other(nn.Module):
    def __init__(self, dim, n):
        super().__init__()
        self.logits = Logits(dim, n)

    def forward(self, x):
        return self.logits(x)


class Thing(nn.Module):
    def __init__(self, n, dim):
        super().__init__()
        self.words = nn.Embedding(n, dim)
        self.heads = Heads(dim, n)
        {tied}

    def forward(self, x):
        return self.heads(self.words(x))
"""
ACROSS = "self.heads.logits.decoder.weight = self.words.weight"
NO_BIAS = ", bias=False"
SHARED_BIAS = (
    "self.bias = nn.Parameter(torch.zeros(n))\n        self.decoder.bias = self.bias"
)
HANDED = {
    "a table and a map of a part's part": (
        (NO_BIAS, "pass", ACROSS),
        [
            "return self.norm(x) @ decoder_weight.T\n",
            "        return self.logits(x, decoder_weight=decoder_weight)\n",
            "self.heads(self.words(x), decoder_weight=self.words.embedding)",
        ],
    ),
    "with a bias": (
        ("", "pass", ACROSS),
        [
            "self.decoder_bias = trainable(zeros, (self.n,))",
            "return self.norm(x) @ decoder_weight.T + self.decoder_bias\n",
        ],
    ),
    "with a bias that has a name": (
        (NO_BIAS, SHARED_BIAS, ACROSS),
        ["return self.norm(x) @ decoder_weight.T + self.bias\n"],
    ),
    "inside of the part": (
        (NO_BIAS, "pass", "self.heads.logits.decoder.weight = self.heads.words.weight"),
        ["return self.logits(x, decoder_weight=self.words.embedding)"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", HANDED)
def test_a_part_that_maps_by_a_weight_outside_of_it_is_handed_it(case: str):
    (bias, given, tied), wanted = HANDED[case]
    text = LOGITS.format(bias=bias, given=given, tied=tied)
    made = convert("thing.py", text, "Thing", "Thing")
    assert made.whole, made.notes
    assert "self.decoder = " not in made.text, made.text
    for line in wanted:
        assert line in made.text, made.text
    # The same part maps by a weight of its own elsewhere.
    other = convert(
        "thing.py", LOGITS.format(bias=bias, given="pass", tied=tied), "Other", "Other"
    )
    assert other.whole, other.notes
    assert "return self.decoder(self.norm(x))" in other.text, other.text


@pytest.mark.parametrize(
    "line", ["self.conv.weight = self.fc.weight", "self.fc.bias = None"]
)
def test_other_changes_of_parts_are_listed_with_their_line(line: str):
    made = of(
        "n",
        f"self.fc = nn.Linear(dim, dim)\nself.conv = nn.Conv1d(dim, dim, 1)\n{line}",
        "return self.fc(x)",
    )
    [note] = [n for n in made.notes if n.blocks]
    assert note.line == 10
    assert "changes a part of the object" in note.what


def test_weights_that_are_not_trained_are_states_or_said_with_their_line():
    made = of(
        "n",
        "self.u = nn.Parameter(torch.ones(dim), False)\n"
        "self.v = nn.Parameter(data=torch.ones(dim), requires_grad=False)\n"
        "self.fc = nn.Linear(dim, dim)\n"
        "self.fc.weight.requires_grad = False\n"
        "for p in self.fc.parameters():\n    p.requires_grad_(False)",
        "return self.fc(x) + self.u + self.v",
    )
    assert made.whole, made.notes
    assert "self.u = state(ones" in made.text
    assert "self.v = state(ones" in made.text
    assert [n.line for n in made.notes] == [11, 12]
    assert all("these weights are trained here" in n.what for n in made.notes)


@pytest.mark.parametrize(
    ("lines", "declared", "told"),
    [
        ("p = self.fc.weight\np.requires_grad = False", "", "self.fc.weight"),
        ("p = self.u\np.requires_grad = False", "self.u = trainable(ones", "self.u"),
        (
            "p = nn.Parameter(torch.ones(dim))\np.requires_grad = False\nself.v = p",
            "self.v = state(ones",
            "",
        ),
        ("p = torch.ones(dim)\np.requires_grad = False", "", ""),
    ],
)
def test_a_weight_is_told_not_to_be_trained_by_another_name(lines, declared, told):
    made = of(
        "n",
        f"self.fc = nn.Linear(dim, dim)\nself.u = nn.Parameter(torch.ones(dim))\n{lines}",
        "return self.fc(x) + self.u",
    )
    assert made.whole, made.notes
    assert declared in made.text
    notes = [n.what for n in made.notes]
    said = f"`{told}.requires_grad = False` is left out: these weights are trained here"
    assert notes == ([said] if told else [])


def test_weights_of_which_a_parameter_says_whether_they_are_trained_are_listed():
    made = of(
        "learn",
        "self.u = nn.Parameter(torch.ones(dim), requires_grad=learn)",
        "return x + self.u",
    )
    [note] = [n for n in made.notes if n.blocks]
    assert note.line == 8
    assert "depends on `learn`" in note.what


FLAX = "import flax.linen as nn\nimport haiku as hk\nimport jax\nimport jax.numpy as jnp\n\n\n"
LAYERS_OF_TWO = "nn.Sequential([nn.Dense(self.dim), nn.relu, nn.Dense(self.dim)])"


def of_linen(body: str, before: str = "") -> str:
    lines = body.replace("\n", "\n        ")
    given = (
        f"{FLAX}{before}class Thing(nn.Module):\n    dim: int = 8\n    deep: bool = True\n\n"
        f"    @nn.compact\n    def __call__(self, x, y):\n        {lines}\n"
    )
    made = convert("thing.py", given, "Thing", "Thing")
    assert made.whole, made.notes
    return made.text


@pytest.mark.parametrize(
    ("body", "before"),
    [
        (f"mlp = {LAYERS_OF_TWO}\nreturn mlp(x) + mlp(y)", ""),
        (f"mlp = {LAYERS_OF_TWO}\nfor _ in range(3):\n    x = mlp(x)\nreturn x + y", ""),
        (
            f"if self.deep:\n    mlp = {LAYERS_OF_TWO}\nfor _ in range(3):\n"
            "    if self.deep:\n        x = mlp(x)\nreturn x + y",
            "",
        ),
        (
            "mlp = make(self.dim)\nreturn mlp(x) + mlp(y)",
            "def make(d):\n    return nn.Sequential([nn.Dense(d), nn.relu, nn.Dense(d)])\n\n\n",
        ),
    ],
)  # fmt: skip
def test_a_sequence_that_a_call_makes_once_has_one_set_of_weights(body, before):
    text = of_linen(body, before)
    assert text.count(" = Linear(") == 2
    assert "[Linear(" not in text
    assert "self.mlp_2(jax.nn.relu(self.mlp_0(x)))" in text


def test_a_sequence_that_is_called_once_has_the_names_of_its_layers():
    text = of_linen(f"mlp = {LAYERS_OF_TWO}\nreturn mlp(x) + y")
    assert "self.linear_1(jax.nn.relu(self.linear_0(x)))" in text


def test_a_sequence_that_each_pass_makes_has_weights_in_each():
    text = of_linen(
        f"for _ in range(3):\n    mlp = {LAYERS_OF_TWO}\n    x = mlp(x)\nreturn x + y"
    )
    assert text.count("[Linear(") == 2


@pytest.mark.parametrize(
    "body",
    [
        "def part(z):\n    return nn.Dense(self.dim)(z)\nreturn part(x) + part(y)",
        "def part(z):\n    z = nn.Dense(self.dim)(z)\n    return nn.relu(z)\nreturn part(part(x)) + y",
    ],
)
def test_a_function_of_a_call_makes_layers_each_time(body):
    text = of_linen(body)
    assert text.count(" = Linear(") == 2
    assert "def part" not in text
