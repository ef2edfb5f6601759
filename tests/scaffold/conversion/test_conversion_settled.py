"""Classes that are read with all that they are given by default, where they cannot be read otherwise."""

import pytest
from test_conversion_forms import TORCH, converted

from mlax_scaffold.conversion import convert

HANDED = """\
class Attention(nn.Module):
    def __init__(self, dim, bias=False):
        super().__init__()
        self.q = nn.Linear(dim, dim, bias=bias)

    def forward(self, x):
        return self.q(x)


class Block(nn.Module):
    def __init__(self, attention, dim, norm=nn.LayerNorm, **kwargs):
        super().__init__()
        self.attention = attention
        self.norm = norm(dim)
        self.scale = kwargs.get("scale", 1.0)

    def forward(self, x):
        return x + self.scale * self.attention(self.norm(x))


class Encoder(nn.Module):
    def __init__(self, blocks, norm=None):
        super().__init__()
        self.blocks = nn.ModuleList(blocks)
        self.norm = norm

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        if self.norm is not None:
            x = self.norm(x)
        return x


class Thing(nn.Module):
    def __init__(self, dim=8, depth=2, norm=partial(nn.LayerNorm, eps=1e-6)):
        super().__init__()
        self.encoder = Encoder(
            [Block(Attention(dim), dim, norm=norm, scale=0.5) for _ in range(depth)],
            norm=nn.BatchNorm1d(dim) if depth > 3 else norm(dim),
        )

    def forward(self, x):
        return self.encoder(x)
"""
PARTIAL = "from functools import partial\n" + TORCH


def test_lists_of_layers_that_are_handed_are_made_by_the_class_that_has_them():
    text = converted(HANDED, PARTIAL).text
    assert "[BlockAttention(self.dim) for _ in range(self.depth)]" in text
    assert (
        "self.norm = BatchNorm(self.dim) if self.depth > 3 else "
        "LayerNorm(self.dim, epsilon=1e-06)" in text
    )
    assert "self.attention = Attention(self.dim)" in text
    assert "Linear(self.dim, self.dim, use_bias=False)" in text
    assert "self.scale = 0.5" in text


def test_what_is_settled_is_told():
    made = convert("thing.py", PARTIAL + HANDED, "Thing", "FromThing", run=3)
    notes = [n.what for n in made.notes]
    assert "`dim` of Thing is always `8`" in notes
    assert "`norm` of Thing is always `partial(nn.LayerNorm, eps=1e-06)`" in notes


def test_a_class_that_is_made_in_two_ways_becomes_two():
    text = converted("""\
class Rows(nn.Module):
    def __init__(self, size, first):
        super().__init__()
        self.rnn = nn.GRU(size, 4, batch_first=first)

    def forward(self, x):
        x, _ = self.rnn(x)
        return x


class Thing(nn.Module):
    def __init__(self, size=6):
        super().__init__()
        self.rows = nn.Sequential(
            *[Rows(size if i == 0 else 4, first=i == 0) for i in range(2)]
        )

    def forward(self, x):
        return self.rows(x)
""").text
    assert "class Rows(Layer)" in text
    assert "class Rows2(Layer)" in text


def test_layers_that_are_joined_in_a_sequence_are_told_by_their_condition():
    body = """\
class Thing(nn.Module):
    def __init__(self, size=6, tanh=True):
        super().__init__()
        self.act = nn.Sequential(
            *([nn.Linear(size, 2)] + ([nn.Tanh()] if tanh else []))
        )

    def forward(self, x):
        return self.act(x)
"""
    assert "return jnp.tanh(x)" in converted(body).text


@pytest.mark.parametrize(
    ("run", "fields"), [(0, ["size: Size", "depth: Size"]), (3, [])]
)
def test_constructors_are_run_as_far_as_is_asked_for(run, fields):
    body = """\
class Thing(nn.Module):
    def __init__(self, size=6, depth=2):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(size, size) for _ in range(depth)])

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x
"""
    text = convert("thing.py", TORCH + body, "Thing", "FromThing", run=run).text
    assert [f for f in ("size: Size", "depth: Size") if f in text] == fields


def test_sizes_that_are_turned_around_are_known():
    body = """\
class Thing(nn.Module):
    def __init__(self, sizes=None, **kwargs):
        super().__init__()
        if sizes is None:
            sizes = [4, 8]
        self.fc = nn.Linear(3, sizes[-1])
        sizes.reverse()
        layers = []
        for i in range(len(sizes) - 1):
            layers.append(nn.Sequential(nn.Linear(sizes[i], sizes[i + 1]), nn.ReLU()))
        self.layers = nn.Sequential(*layers)

    def forward(self, x):
        return self.layers(self.fc(x))
"""
    text = convert("thing.py", TORCH + body, "Thing", "FromThing", run=1).text
    assert "Linear(3, 8)" in text
    assert "Linear(8, 4)" in text


def test_a_loop_that_may_be_left_early_is_not_written_out():
    body = """\
class Thing(nn.Module):
    def __init__(self, size, depth=2, last=1):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(size, size) for _ in range(depth)])
        self.last = last

    def forward(self, x):
        for i, layer in enumerate(self.layers):
            if i == self.last:
                break
            x = layer(x)
        else:
            x = x + 1
        return x
"""
    made = convert("thing.py", TORCH + body, "Thing", "FromThing")
    assert not made.whole
    assert "break" not in made.text.replace("self.last:\n                break", "")


def test_lists_that_grow_after_they_are_set_hold_layers_that_are_made_before():
    body = """\
class Part(nn.Module):
    def __init__(self, size, depth):
        super().__init__()
        self.first = nn.Linear(size, size)
        self.fcs = nn.ModuleList()
        for _ in range(depth):
            fc = nn.Linear(size, size)
            self.fcs.append(fc)

    def forward(self, x):
        return self.fcs[1](self.fcs[0](self.first(x)))


class Thing(nn.Module):
    def __init__(self, size=4):
        super().__init__()
        self.part = Part(size, 2)

    def forward(self, x):
        return self.part(x)
"""
    text = convert("thing.py", TORCH + body, "Thing", "FromThing", run=3).text
    assert "self.fcs_0 = Linear(4, 4)" in text


def test_methods_that_a_constructor_calls_for_numbers_are_run():
    body = """\
class Thing(nn.Module):
    def __init__(self, size=4, depth=2):
        super().__init__()
        self.__depth = depth
        self.layers = nn.ModuleList()
        for width in self.widths():
            self.layers.append(nn.Linear(size, width))
            size = width

    def widths(self):
        found = []
        for i in range(self.__depth):
            found.append(2 ** (i + 1))
        return found

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x
"""
    text = convert("thing.py", TORCH + body, "Thing", "FromThing", run=1).text
    assert "Linear(2, 4)" in text
    assert "__" not in text


def test_numbers_of_parts_are_what_their_constructors_make_them():
    body = """\
class Patches(nn.Module):
    def __init__(self, image=8, patch=4, dim=16):
        super().__init__()
        image = (image, image) if isinstance(image, int) else image
        self.grid = tuple(s // patch for s in image)
        self.count = self.grid[0] * self.grid[1]
        self.proj = nn.Conv2d(3, dim, patch, patch)

    def forward(self, x):
        return self.proj(x).flatten(2).transpose(1, 2)


class Thing(nn.Module):
    def __init__(self, image=8, patch=2, dim=16):
        super().__init__()
        self.patches = Patches(image, patch, dim)
        self.places = nn.Parameter(torch.zeros(1, self.patches.count, dim))

    def forward(self, x):
        return self.patches(x) + self.places
"""
    text = convert("thing.py", TORCH + body, "Thing", "FromThing", run=2).text
    count = "self.image // self.patch * (self.image // self.patch)"
    assert f"trainable(zeros, (1, {count}, self.dim))" in text


def test_classes_of_layers_are_handed_through_sequences_that_are_classes():
    body = """\
from functools import partial


class ConvAct(nn.Sequential):
    def __init__(self, width, out, norm=nn.BatchNorm2d, act=nn.ReLU):
        super().__init__(nn.Conv2d(width, out, 1), norm(out), act())


class Block(nn.Module):
    def __init__(self, width, norm=nn.BatchNorm2d, act=nn.ReLU):
        super().__init__()
        self.first = ConvAct(width, 2 * width, norm=norm, act=act)
        self.second = ConvAct(2 * width, width, norm=norm, act=nn.Identity)

    def forward(self, x):
        return x + self.second(self.first(x))


class Thing(nn.Module):
    def __init__(self, width, depth, norm=None, act=None):
        super().__init__()
        if norm is None:
            norm = partial(nn.BatchNorm2d, eps=1e-3)
        act = act or nn.SiLU
        self.blocks = nn.Sequential(*[Block(width, norm=norm, act=act) for _ in range(depth)])

    def forward(self, x):
        return self.blocks(x)
"""
    text = converted(body).text
    assert text.count("BatchNorm(self.out, epsilon=0.001)") == 2
    assert text.count("return jax.nn.silu(x)") == 1
    assert "nn.relu" not in text


def test_an_activation_that_is_handed_on_is_made_where_it_is_called():
    body = """\
class Net(nn.Module):
    def __init__(self, sizes, act=None):
        super().__init__()
        layers = []
        for i, (one, other) in enumerate(zip(sizes[:-1], sizes[1:])):
            layers.append(nn.Linear(one, other))
            if i >= len(sizes) - 2:
                continue
            act = act if act is not None else nn.ReLU()
            layers.append(act)
        self.net = nn.Sequential(*layers)

    def forward(self, x):
        return self.net(x)


class Thing(nn.Module):
    def __init__(self, dim=8):
        super().__init__()
        self.net = Net([dim, 4 * dim, 2 * dim, 1], act=nn.SiLU())

    def forward(self, x):
        return self.net(x)
"""
    text = convert("thing.py", TORCH + body, "Thing", "FromThing", run=3).text
    assert text.count("jax.nn.silu(x)") == 2
    assert "relu" not in text
