"""Layers that are added by name, and what would be lost of layers without a word."""

from __future__ import annotations

import pytest

from mlax_scaffold.conversion import Converted, convert

HEAD = """\
import torch
import torch.nn as nn
import torch.nn.functional as F


"""


def of(body: str) -> Converted:
    return convert("thing.py", HEAD + body, "Thing", "Thing")


def test_a_sequence_adds_layers_to_itself():
    made = of("""\
class Thing(nn.Sequential):
    def __init__(self, dim):
        super().__init__()
        self.add_module("fc", nn.Linear(dim, dim))
        self.add_module("act", nn.ReLU())
""")
    assert made.whole, made.notes
    assert "x = self.base_0(x)\n        return jax.nn.relu(x)" in made.text


def test_layers_are_added_to_a_sequence_in_a_loop_and_to_an_object():
    made = of("""\
class Thing(nn.Module):
    def __init__(self, dim, depth):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(dim, dim))
        for i in range(depth):
            layer = nn.Linear(dim, dim)
            self.net.add_module("fc%d" % i, layer)
            if i < depth - 1:
                norm = nn.LayerNorm(dim)
                self.net.add_module("norm%d" % i, norm)
        self.add_module("head", nn.Linear(dim, 4))

    def forward(self, x):
        return self.head(self.net(x))
""")
    assert made.whole, made.notes
    assert "self.head = Linear(self.dim, 4)" in made.text
    assert "if i < self.depth - 1:\n                x = norm_(x)" in made.text


def test_names_that_are_given_to_layers_of_a_list_are_left_out():
    made = of("""\
class Thing(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = [nn.Linear(dim, dim) for _ in range(heads)]
        for i, head in enumerate(self.heads):
            self.add_module(f"head_{i}", head)

    def forward(self, x):
        return torch.cat([head(x) for head in self.heads], dim=-1)
""")
    assert made.whole, made.notes
    assert "x: Float['*batch dim']" in made.text


BLOCK = """\
class Block(nn.Module):
    def __init__(self, dim, act_layer=nn.GELU):
        super().__init__()
        self.fc = nn.Linear(dim, dim)
        self.act = act_layer()

    def forward(self, x):
        return self.act(self.fc(x))


class Thing(nn.Module):
    def __init__(self, dim, act_layer=nn.GELU):
        super().__init__()
        other = lambda: nn.GELU(approximate="tanh")
        self.block = Block(dim, act_layer={})

    def forward(self, x):
        return self.block(x)
"""


def test_another_class_of_layers_than_the_default_is_taken_where_all_take_it():
    assert "approximate=False" in of(BLOCK.format("act_layer")).text
    assert "approximate=False" in of(BLOCK.format("nn.GELU")).text
    assert "return gelu(self.fc(x))" in of(BLOCK.format("other")).text
    assert "return jax.nn.silu(self.fc(x))" in of(BLOCK.format("nn.SiLU")).text


def test_several_classes_of_layers_for_one_parameter_are_several_classes():
    line = "        self.block = Block(dim, act_layer=other)\n"
    twice = f"{line}        self.second = Block(dim)\n"
    made = of(BLOCK.format("other").replace(line, twice))
    assert made.whole
    assert "class Block2(Layer)" in made.text


def test_attributes_that_nothing_declares_are_listed_with_their_line():
    [note] = of("""\
class Thing(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.fc = nn.Linear(dim, dim)

    def forward(self, x):
        return self.fc(x) * self.scale
""").notes
    assert note.line == 12
    assert "`self.scale` is nothing that could be declared" in note.what


def test_what_a_loop_appends_beside_other_layers_is_listed_with_its_line():
    made = of("""\
class Thing(nn.Module):
    def __init__(self, dims):
        super().__init__()
        self.downs = nn.ModuleList()
        self.stages = []
        for dim in dims:
            self.downs.append(nn.Linear(dim, dim))
            self.stages.append(torch.load(dim))

    def forward(self, x):
        for down in self.downs:
            x = down(x)
        return x
""")
    notes = {n.line: n.what for n in made.notes if n.blocks}
    assert "beside other layers is not followed" in notes[13]


def test_cross_entropy_ignores_what_it_is_told_to():
    made = of("""\
class Thing(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.fc = nn.Linear(dim, dim)
        self.fast = hasattr(F, "scaled_dot_product_attention")

    def forward(self, x, target):
        y = self.fc(x)
        device = x.device
        return F.cross_entropy(y, target) + F.cross_entropy(y, target, ignore_index=-1)
""")
    assert made.whole, made.notes
    assert "self.fast = True" in made.text
    assert "device" not in made.text
    assert "where=target != -1)" in made.text


def test_a_growth_rate_is_a_size():
    made = of("""\
class Thing(nn.Module):
    def __init__(self, dim, growth_rate):
        super().__init__()
        self.fc = nn.Linear(dim, growth_rate)

    def forward(self, x):
        return self.fc(x)
""")
    assert "growth_rate: Size" in made.text


PERCEPTRON = """\
class Thing(nn.Module):
    def __init__(self, dim, hidden, out):
        super().__init__()
        sizes = {sizes}
        layers = []
        for {header}:
            {body}
        {after}
        self.net = nn.Sequential(*layers)

    def forward(self, x):
        return self.net(x)
"""


def test_lists_are_joined_with_sizes_that_are_a_tuple():
    made = of(
        PERCEPTRON.format(
            sizes="[dim] + hidden + [out]",
            header="a, b in zip(sizes, sizes[1:])",
            body="layers.append(nn.Linear(a, b))",
            after="",
        )
    )
    assert "sizes = [self.dim, *self.hidden, self.out]" in made.text


def test_what_a_sequence_asks_in_its_passes_is_no_local_of_setup():
    made = of(
        PERCEPTRON.format(
            sizes="[dim, *hidden, out]",
            header="i in range(len(sizes) - 1)",
            body="layers.append(nn.Linear(sizes[i], sizes[i + 1]))\n"
            "            if i < len(sizes) - 2:\n"
            "                layers.append(nn.ReLU())",
            after="",
        )
    )
    assert "if i < len([self.dim, *self.hidden, self.out]) - 2:" in made.text
    assert "zip(range(len([self.dim, *self.hidden, self.out]) - 1), self.net_" in (
        made.text
    )


@pytest.mark.parametrize(
    "after",
    ["layers.pop()", "layers.pop(-1)", "del layers[-1]", "layers = layers[:-1]"],
)
@pytest.mark.parametrize(
    ("header", "body", "test"),
    [
        (
            "a, b in zip(sizes, sizes[1:])",
            "layers += [nn.Linear(a, b), nn.ReLU()]",
            "for place, linear_ in enumerate(self.net_linear):\n"
            "            x = linear_(x)\n"
            "            if place < len([self.dim, *self.hidden, self.out]) - 2:",
        ),
        (
            "i, (a, b) in enumerate(zip(sizes[:-1], sizes[1:]))",
            "layers.extend([nn.Linear(a, b), nn.ReLU()])",
            "if i < len([self.dim, *self.hidden, self.out]) - 2:",
        ),
        (
            "i in range(len(sizes) - 1)",
            "layers.append(nn.Linear(sizes[i], sizes[i + 1]))\n"
            "            layers.append(nn.ReLU())",
            "if i < len([self.dim, *self.hidden, self.out]) - 1 - 1:",
        ),
    ],
)
def test_the_last_element_of_a_filled_list_goes_again(header, body, test, after):
    made = of(
        PERCEPTRON.format(
            sizes="[dim] + hidden + [out]", header=header, body=body, after=after
        )
    )
    assert made.whole, made.notes
    assert test in made.text
    method = made.text.partition("def _net")[2].partition("def ")[0]
    assert method.count("relu(x)") == 1


def test_an_element_that_the_loop_does_not_append_last_is_listed():
    made = of(
        PERCEPTRON.format(
            sizes="[dim] + hidden + [out]",
            header="a, b in zip(sizes, sizes[1:])",
            body="layers += [nn.Linear(a, b), nn.ReLU()]",
            after="layers.append(nn.Tanh())\n        layers.pop(0)",
        )
    )
    assert not made.whole
    assert any("pop" in note.what for note in made.notes if note.blocks)


def test_modules_that_the_library_is_made_of_have_its_layers():
    code = """\
class Thing(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.fc = Linear(dim, dim)
        self.norm = nn.modules.normalization.LayerNorm(dim)

    def forward(self, x):
        return self.norm(self.fc(x))
"""
    head = HEAD + "from torch.nn.modules import Linear\n\n\n"
    made = convert("thing.py", head + code, "Thing", "Thing")
    assert made.whole, made.notes
    assert "self.fc = Linear(" in made.text
    assert "self.norm = LayerNorm(" in made.text


def test_sparse_gradients_change_nothing_that_is_computed():
    made = of("""\
class Thing(nn.Module):
    def __init__(self, count, dim):
        super().__init__()
        self.table = nn.Embedding(count, dim, sparse=True)

    def forward(self, x):
        return self.table(x)
""")
    assert made.whole, made.notes
    assert "self.table = Embed(self.count, self.dim)" in made.text


def test_sizes_of_which_each_has_the_next_one_are_three_in_examples():
    made = of("""\
class Thing(nn.Module):
    def __init__(self, sizes):
        super().__init__()
        self.layers = nn.ModuleList(
            [nn.Linear(a, b) for a, b in zip(sizes[:-1], sizes[1:])]
        )

    def forward(self, x):
        for layer in self.layers[:-1]:
            x = F.relu(layer(x))
        return self.layers[-1](x)
""")
    assert "'sizes': (8, 16, 8), 'x': (2, 8)" in made.text


def test_what_is_denied_holds_truths():
    made = of("""\
class Thing(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.attn = nn.MultiheadAttention(dim, 2, batch_first=True)

    def forward(self, x, present):
        y, _ = self.attn(x, x, x, key_padding_mask=~present)
        return y * present.unsqueeze(-1)
""")
    assert "present: Bool[" in made.text
