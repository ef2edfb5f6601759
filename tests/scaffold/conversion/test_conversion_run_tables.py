"""Constructors that are run over tables that their class holds, and with layers that have computed names."""

from __future__ import annotations

from test_conversion_forms import TORCH, converted

from mlax_scaffold.conversion import convert

BLOCK = """\
class Block(nn.Module):
    def __init__(self, inside, outside, stride=1):
        super().__init__()
        self.conv = nn.Conv2d(inside, outside, 3, stride=stride, padding=1)

    def forward(self, x):
        return self.conv(x).relu()


"""


def test_a_table_of_the_class_says_which_layers_there_are():
    text = converted(
        BLOCK
        + """\
class Thing(nn.Module):
    table = [(8, 2, 1), (16, 1, 2)]

    def __init__(self, classes=10):
        super().__init__()
        self.layers = self._stages(width=4)
        self.head = nn.Linear(16, classes)

    def _stages(self, width):
        layers = []
        for channels, count, stride in self.table:
            strides = [stride] + [1] * (count - 1)
            for stride in strides:
                layers.append(Block(width, channels, stride))
                width = channels
        return nn.Sequential(*layers)

    def forward(self, x):
        return self.head(self.layers(x).mean((2, 3)))
"""
    ).text
    assert "self.layers_0 = Block(4, 8, 1)" in text
    assert "self.layers_1 = Block(8, 8, 1)" in text
    assert "self.layers_2 = Block(8, 16, 2)" in text


GIVEN = (
    BLOCK
    + """\
class Thing(nn.Module):
    def __init__(self, kind, width):
        super().__init__()
        self.width = width
        self.kind = kind
        self.first = self._stage(width, 2)
        self.down = self._down(width * 2)

    def _stage(self, channels, count):
        layers = []
        for _ in range(count):
            layers.append(self.kind(self.width, channels, stride=1))
            self.width = channels
        return nn.Sequential(*layers)

    def _down(self, channels):
        layer = self.kind(self.width, channels, stride=2)
        self.width = channels
        return layer

    def forward(self, x):
        return self.down(self.first(x))


def small():
    return Thing(Block, width=4)
"""
)


def test_methods_make_layers_of_a_class_that_is_given_and_change_a_number():
    text = converted(GIVEN).text
    assert "self.first_1 = Block(self.width, self.width, stride=1)" in text
    assert "self.down = Block(self.width, self.width * 2, stride=2)" in text


def test_a_constructor_may_end_early():
    text = converted(
        """\
class Thing(nn.Module):
    def __init__(self, dim, deep=False):
        super().__init__()
        self.last = nn.Linear(dim, dim)
        if not deep:
            return
        self.last = nn.Linear(dim, 2 * dim)

    def forward(self, x):
        return self.last(x)
"""
    ).text
    assert "Linear(self.dim, 2 * self.dim if self.deep else self.dim)" in text


NUMBERED = """\
class Tree(nn.Module):
    def __init__(self, dim, level=1):
        super().__init__()
        self.level = level
        if level > 1:
            for i in reversed(range(1, level)):
                self.__setattr__('level_%d' % i, Tree(dim, level=i))
        else:
            self.first = nn.Linear(dim, dim)
        self.last = nn.Linear(dim, dim)

    def forward(self, x):
        parts = [self.first(x)] if self.level == 1 else []
        for i in reversed(range(1, self.level)):
            branch = self.__getattr__('level_%d' % i)
            x = branch(x)
            parts.append(x)
        parts.append(self.last(x))
        return torch.cat(parts, dim=-1).mean(-1, keepdim=True) + x


class Thing(nn.Module):
    def __init__(self, dim=4):
        super().__init__()
        self.tree = Tree(dim, level=2)
        self.leaf = Tree(dim, level=1)

    def forward(self, x):
        return self.leaf(self.tree(x))
"""


def test_layers_are_set_and_read_by_names_that_are_computed():
    text = converted(NUMBERED).text
    assert "self.level_1 = " in text
    assert "x = self.level_1(x)" in text
    assert "getattr" not in text


def test_a_name_that_is_not_known_is_refused():
    body = """\
class Thing(nn.Module):
    def __init__(self, dim, title):
        super().__init__()
        if dim > 2:
            for i in range(dim):
                setattr(self, "fc_" + title, nn.Linear(dim, dim))
        self.last = nn.Linear(dim, dim)

    def forward(self, x):
        return self.last(x)
"""
    made = convert("thing.py", TORCH + body, "Thing", "FromThing")
    [note] = [n for n in made.notes if n.blocks]
    assert note.line == 11
    assert "by a name that is computed" in note.what


def test_a_loop_over_a_range_that_a_local_is_takes_layers_by_their_places():
    text = converted(
        """\
class Thing(nn.Module):
    def __init__(self, width, first=True, count=3):
        super().__init__()
        self.first = first
        self.count = count
        self.layers = nn.ModuleList()
        self.layers.append(nn.Linear(width, 16))
        for _ in range(1, count):
            self.layers.append(nn.LayerNorm(16))

    def forward(self, x):
        if self.first:
            x = self.layers[0](x)
            left = range(1, self.count)
        else:
            left = range(self.count)
        for i in left:
            x = x + self.layers[i](x)
        return x
"""
    )
    assert "x = self.layers_0(x)" in text.text
    assert "x = x + self.layers_2(x)" in text.text
    assert "for i in" not in text.text
