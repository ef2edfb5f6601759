"""Lists that constructors of PyTorch fill under other names, and arguments that they take any number of."""

from __future__ import annotations

import re

from test_conversion_forms import converted
from test_conversion_torch import module

from mlax_scaffold.conversion import convert

CALL = "x: return self.first(x) + self.second(x)"


def _layers(text: str) -> int:
    return len(re.findall(r"= \[?Linear\(", text))


def test_lists_that_a_loop_goes_over_are_made_longer_themselves():
    start = """\
first, second = [], []
for tower in (first, second):
    for _ in range(depth):
        tower.append(nn.Linear(width, width))
        tower.append(nn.ReLU())
self.first = nn.Sequential(*first)
self.second = nn.Sequential(*second)"""
    made = converted(module("Thing", start, CALL, "width, depth=2"))
    assert made.whole
    assert made.text.count("[Linear(self.width, self.width) for _ in range(") == 2


def test_attributes_that_a_loop_goes_over_are_made_longer_themselves():
    start = """\
self.ups = nn.ModuleList()
self.downs = nn.ModuleList()
for _ in range(depth):
    for part in [self.ups, self.downs]:
        part.append(nn.Linear(width, width))"""
    call = "x: for up, down in zip(self.ups, self.downs): x = up(x) * down(x); return x"
    made = converted(module("Thing", start, call, "width, depth=2"))
    assert made.whole
    assert made.text.count("[Linear(self.width, self.width) for _ in range(") == 2


def test_another_name_of_a_list_makes_that_one_longer():
    start = """\
layers = []
tail = layers
for _ in range(depth):
    tail.append(nn.Linear(width, width))
layers.append(nn.ReLU())
self.net = nn.Sequential(*layers)"""
    made = converted(module("Thing", start, "x: return self.net(x)", "width, depth=2"))
    assert made.whole
    assert "[Linear(self.width, self.width) for _ in range(" in made.text


def test_a_list_that_is_kept_before_it_is_filled_holds_what_it_is_filled_with():
    start = """\
self.blocks = nn.ModuleList()
for _ in range(depth):
    block = nn.ModuleList()
    self.blocks.append(block)
    block.append(nn.Linear(width, width))
    block.append(nn.LayerNorm(width))"""
    call = "x: for layer, norm in self.blocks: x = norm(layer(x)); return x"
    made = converted(module("Thing", start, call, "width, depth=2"))
    assert made.whole
    assert _layers(made.text) == 2


FILLING = """
def fill(layers, width, depth):
    for _ in range(depth):
        layers.append(nn.Linear(width, width))
        layers.append(nn.Tanh())


"""


def test_a_list_that_a_function_fills_holds_that():
    start = "layers = [nn.LayerNorm(width)]\nfill(layers, width, depth)\nself.net = nn.Sequential(*layers)"
    made = converted(
        FILLING + module("Thing", start, "x: return self.net(x)", "width, depth=2")
    )
    assert made.whole
    assert _layers(made.text) == 2
    assert "LayerNorm(self.width)" in made.text


def test_a_list_that_a_method_fills_holds_that():
    start = """\
layers = [nn.LayerNorm(width)]
self.fill(layers, width, depth)
self.net = nn.Sequential(*layers)"""
    method = FILLING.replace("fill(layers", "fill(self, layers").strip()
    source = module("Thing", start, "x: return self.net(x)", "width, depth=2")
    source += "\n" + "\n".join(f"    {line}" for line in method.splitlines()) + "\n"
    made = converted(source)
    assert made.whole
    assert _layers(made.text) == 2


def test_weights_that_a_loop_goes_over_begin_each_so():
    start = """\
self.left = nn.Parameter(torch.empty(width, 4))
self.right = nn.Parameter(torch.empty(width, 4))
for weight in (self.left, self.right):
    nn.init.normal_(weight, std=0.1)"""
    call = "x: return x @ self.left + x @ self.right"
    made = converted(module("Thing", start, call, "width"))
    assert made.text.count("trainable(normal(0.1)") == 2
    assert not made.notes


# Any number of arguments.

SIZES = """
class MLP(nn.Module):
    def __init__(self, *sizes, last=True):
        super().__init__()
        layers = []
        for i in range(len(sizes) - 1):
            layers += [nn.Linear(sizes[i], sizes[i + 1])]
            if i < len(sizes) - 2 or last:
                layers += [nn.Tanh()]
        self.net = nn.Sequential(*layers)

    def forward(self, x):
        return self.net(x)


"""


def test_any_number_of_sizes_is_a_tuple_of_them():
    text = convert("m.py", "from torch import nn\n" + SIZES, "MLP", "MLP").text
    assert "sizes: Sizes" in text
    assert "last: bool = True" in text


def test_what_makes_a_class_with_any_number_of_sizes_gives_a_tuple():
    made = converted(
        SIZES
        + module(
            "Thing",
            "self.a = MLP(width, 4, 2)\nself.b = MLP(*[width, 2], last=False)",
            "x: return self.a(x) + self.b(x)",
            "width",
        )
    )
    assert made.whole
    assert re.search(r"MLP\((sizes=)?\(self.width, 4, 2\)\)", made.text)
    assert "last=False" in made.text


FUSING = """
class Fuse(nn.Module):
    def __init__(self, width, count):
        super().__init__()
        self.weights = nn.Parameter(torch.ones(count))
        self.conv = nn.Conv2d(width, width, 1)

    def forward(self, *maps):
        return self.conv(sum(self.weights[i] * x for i, x in enumerate(maps)))


"""


def test_any_number_of_inputs_is_a_tuple_of_arrays():
    made = converted(
        FUSING
        + module(
            "Thing",
            "self.two = Fuse(width, 2)\nself.three = Fuse(width, 3)",
            "x, y: return self.three(x, y, self.two(x, y))",
            "width",
        )
    )
    assert made.whole
    assert "def forward(self, maps: tuple[Float[" in made.text
    assert "self.three((x, y, self.two((x, y))))" in made.text


def test_what_is_only_handed_on_stays_any_number():
    text = converted(
        module(
            "Thing", "self.fc = nn.Linear(width, 4)", "x: return self.fc(x)", "width"
        ).replace("width)", "width, *args)", 1)
    ).text
    assert "args" not in text
