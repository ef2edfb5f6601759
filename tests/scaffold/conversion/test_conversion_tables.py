"""Constructors that fill lists in loops over tables: they are run as far as they are known."""

from __future__ import annotations

import dataclasses

from test_conversion_forms import TORCH, converted

from mlax_scaffold.conversion import convert
from mlax_scaffold.testing.originals import Original

TABLE = """\
def make_layers(cfg, batch_norm=False):
    layers = []
    in_channels = 3
    for v in cfg:
        if v == "M":
            layers += [nn.MaxPool2d(kernel_size=2, stride=2)]
        else:
            layers.append(nn.Conv2d(in_channels, v, kernel_size=3, padding=1))
            if batch_norm:
                layers.append(nn.BatchNorm2d(v))
            in_channels = v
    return nn.Sequential(*layers)


cfgs = {"A": [8, "M", 16, "M"], "B": [8, 8]}


class Thing(nn.Module):
    def __init__(self, features, classes=10):
        super().__init__()
        self.features = features
        self.head = nn.Linear(16, classes)

    def forward(self, x):
        return self.head(self.features(x).mean((2, 3)))


def small(**kwargs):
    return Thing(make_layers(cfgs["A"]), **kwargs)
"""


def test_layers_of_a_table_are_those_that_the_file_makes_of_it():
    made = converted(TABLE)
    assert "self.features_0 = Conv(2, 3, 8, 3, padding=1)" in made.text
    assert "self.features_2 = Conv(2, 8, 16, 3, padding=1)" in made.text
    assert "features" not in made.text.partition("def setup")[0].replace(
        "self.features", ""
    )
    assert any("`features` of Thing is always" in n.what for n in made.notes)
    assert made.trial is not None
    assert dict(made.trial.given) == {"features": "make_layers(cfgs['A'])"}


def test_an_original_is_given_what_its_file_says(tmp_path):
    (tmp_path / "sums.py").write_text(
        "def total(table):\n    return sum(table)\n\n\nTABLE = [1, 2]\n\n\n"
        "class Thing:\n    def __init__(self, size, count):\n        self.both = size, count\n"
    )
    original = Original("sums.py", "Thing", "plain", {"size": "dim"})
    original = dataclasses.replace(original, given={"count": "total(TABLE)"})
    thing = original.load(str(tmp_path / "test_sums.py"))
    assert original.arguments({"dim": 4}, thing) == {"size": 4, "count": 3}


def test_stages_of_a_table_are_written_out():
    text = converted("""\
class Block(nn.Module):
    def __init__(self, inp, out, stride):
        super().__init__()
        self.conv = nn.Conv2d(inp, out, 3, stride, 1)

    def forward(self, x):
        return self.conv(x)


class Thing(nn.Module):
    def __init__(self, width=8, settings=((1, 16, 2), (2, 24, 1)), classes=10):
        super().__init__()
        stages = []
        for repeats, channels, stride in settings:
            layers = []
            for i in range(repeats):
                layers.append(Block(width, channels, stride if i == 0 else 1))
                width = channels
            stages.append(nn.Sequential(*layers))
        self.stages = nn.Sequential(*stages)
        self.head = nn.Linear(width, classes)

    def forward(self, x):
        return self.head(self.stages(x).mean((2, 3)))
""").text
    assert "Block(self.width, 16, 2)" in text
    assert "Block(16, 24, 1)" in text
    assert "Block(24, 24, 1)" in text
    assert "self.head = Linear(24, self.classes)" in text


UNET = """\
class Thing(nn.Module):
    def __init__(self, dim, mults=(1, 2), channels=3):
        super().__init__()
        dims = [dim, *map(lambda m: dim * m, mults)]
        pairs = list(zip(dims[:-1], dims[1:]))
        self.stem = nn.Conv2d(channels, dim, 1)
        self.downs = nn.ModuleList([])
        self.ups = nn.ModuleList([])
        for i, (a, b) in enumerate(pairs):
            last = i >= len(pairs) - 1
            self.downs.append(nn.ModuleList([
                nn.Conv2d(a, a, 3, padding=1),
                nn.Conv2d(a, b, 3, padding=1) if last else nn.Conv2d(a, b, 4, 2, 1),
            ]))
        for i, (a, b) in enumerate(reversed(pairs)):
            self.ups.append(nn.Conv2d(2 * b if i == 0 else b, a, 3, padding=1))

    def forward(self, x):
        x = self.stem(x)
        kept = None
        for block, down in self.downs:
            x = down(block(x))
            if kept is None:
                kept = x
        for i, up in enumerate(self.ups):
            if i == 0:
                x = torch.cat((x, x), dim=1)
            x = up(x)
        return x + kept
"""


def test_methods_go_through_such_lists_layer_by_layer():
    made = converted(UNET)
    assert "self.downs_0_1 = Conv(2, self.dim, self.dim, 4, strides=2" in made.text
    assert "self.downs_1_1 = Conv(2, self.dim, self.dim * 2, 3" in made.text
    assert "x = self.downs_0_1(self.downs_0_0(x))" in made.text
    assert "kept is None" not in made.text
    assert [n.what for n in made.notes] == ["`mults` of Thing is always `(1, 2)`"]


def test_a_layer_after_a_loop_under_a_flag_is_there_as_by_default():
    text = converted("""\
class Mlp(nn.Module):
    def __init__(self, width, sizes, last=True):
        super().__init__()
        layers = list()
        for size in sizes:
            layers.append(nn.Linear(width, size))
            layers.append(nn.ReLU())
            width = size
        if last:
            layers.append(nn.Linear(width, 1))
        self.mlp = nn.Sequential(*layers)

    def forward(self, x):
        return self.mlp(x)


class Thing(nn.Module):
    def __init__(self, width, sizes):
        super().__init__()
        self.mlp = Mlp(width, sizes)

    def forward(self, x):
        return self.mlp(x)
""").text
    assert "last" not in text.partition("def setup")[0]
    assert "self.mlp_1 = Linear(width, 1)" in text


def test_what_is_whole_without_it_keeps_its_parameters():
    text = converted("""\
class Thing(nn.Module):
    def __init__(self, dim, depth=3):
        super().__init__()
        self.layers = nn.ModuleList([])
        for _ in range(depth):
            self.layers.append(nn.Linear(dim, dim))

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x
""").text
    assert "depth: Size = 3" in text


def test_what_a_function_returns_under_an_open_condition_is_not_taken_for_all():
    made = convert(
        "thing.py",
        TORCH
        + """\
def choose(kind, dim):
    if kind == "layer":
        return nn.LayerNorm(dim)
    return nn.BatchNorm1d(dim)


class Thing(nn.Module):
    def __init__(self, dim, kind, sizes=(4, 4)):
        super().__init__()
        layers = []
        for i, size in enumerate(sizes):
            layers.append(nn.Linear(dim, size))
            layers.append(choose(kind, size))
            dim = size + i
        self.net = nn.Sequential(*layers)

    def forward(self, x):
        return self.net(x)
""",
        "Thing",
        "FromThing",
    )
    assert not made.whole
