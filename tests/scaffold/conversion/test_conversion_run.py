"""Constructors that are run: with functions of their own, with those of their bases, through branches."""

from __future__ import annotations

from test_conversion_forms import TORCH, converted

from mlax_scaffold.conversion import convert


def settled(body: str, run: int = 2) -> str:
    made = convert("thing.py", TORCH + body, "Thing", "FromThing", run=run)
    assert made.whole, made.notes
    return made.text


def test_functions_of_the_constructor_fill_a_sequence():
    text = converted(
        """\
class Thing(nn.Module):
    def __init__(self, channels=3, leaky=False):
        super().__init__()
        sizes = [4, 8]
        cnn = nn.Sequential()

        def conv(i, norm=False):
            before = channels if i == 0 else sizes[i - 1]
            cnn.add_module("conv{0}".format(i), nn.Conv2d(before, sizes[i], 3))
            if norm:
                cnn.add_module("norm{0}".format(i), nn.BatchNorm2d(sizes[i]))
            if leaky:
                cnn.add_module("relu%d" % i, nn.LeakyReLU(0.2))
            else:
                cnn.add_module("relu%d" % i, nn.ReLU())

        conv(0)
        conv(1, True)
        self.cnn = cnn

    def forward(self, x):
        return self.cnn(x)
"""
    ).text
    assert "self.cnn_0 = Conv(2, self.channels, 4, 3" in text
    assert "self.cnn_2 = Conv(2, 4, 8, 3" in text
    assert "self.cnn_3 = BatchNorm(8)" in text
    assert text.count("jax.nn.relu(x)") == 2
    assert "def conv" not in text


BASE = """\
class Base(nn.Module):
    def __init__(self, channels, inner=None, axes=3, pools=True):
        super(Base, self).__init__()
        self.inner = inner
        if self.inner is None:
            self.inner = channels // 2
            if self.inner == 0:
                self.inner = 1
        if axes == 3:
            conv, pool = nn.Conv3d, nn.MaxPool3d(2)
        else:
            conv, pool = nn.Conv2d, nn.MaxPool2d(2)
        self.g = conv(channels, self.inner, 1)
        if pools:
            self.g = nn.Sequential(self.g, pool)

    def forward(self, x):
        return self.g(x)


class Thing(Base):
    def __init__(self, channels, inner=None, pools=True):
        super(Thing, self).__init__(channels, inner=inner, axes=2, pools=pools)
"""


def test_a_class_begins_as_the_one_that_it_is_built_on():
    text = converted(BASE).text
    assert "class Base" not in text
    assert "self.g_1 = MaxPool(2, 2, strides=2)" in text
    assert "Conv(3" not in text


def test_what_a_branch_leaves_open_is_so_from_there_on():
    text = converted(BASE).text
    chosen = "1 if self.channels // 2 == 0 else self.channels // 2"
    assert f"self.g_0 = Conv(2, self.channels, {chosen}, 1" in text


def test_a_method_of_the_base_is_called_by_a_name_of_its_own():
    text = settled(
        """\
class Base(nn.Module):
    def __init__(self, dim, depth=2):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(dim, dim) for _ in range(depth)])

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


class Thing(Base):
    def __init__(self, dim, flag=True):
        super().__init__(dim)
        self.flag = flag

    def forward(self, x):
        y = super().forward(x)
        return y * 2 if self.flag else y
"""
    )
    assert "super()" not in text
    assert "* 2" in text


def test_elements_of_lists_are_set_and_switches_are_decided():
    text = settled(
        """\
class Thing(nn.Module):
    def __init__(self, sizes=[20, 16], labels=10, conditional=True):
        super().__init__()
        assert type(sizes) == list
        self.conditional = conditional
        if conditional:
            sizes[0] += labels
        self.mlp = nn.Sequential()
        for i, (before, after) in enumerate(zip(sizes[:-1], sizes[1:])):
            self.mlp.add_module(name="L{:d}".format(i), module=nn.Linear(before, after))
            self.mlp.add_module(name="A{:d}".format(i), module=nn.ReLU())

    def forward(self, x, c):
        if self.conditional:
            x = torch.cat((x, c), dim=-1)
        return self.mlp(x)
""",
        run=3,
    )
    assert "Linear(30, 16)" in text
    assert "self.conditional" not in text.partition("def forward")[2]


def test_which_class_something_is_decides_a_branch():
    text = settled(
        """\
class Block(nn.Module):
    def __init__(self, dim, norm=nn.BatchNorm2d):
        super().__init__()
        if type(norm) == functools.partial:
            bias = norm.func == nn.InstanceNorm2d
        else:
            bias = norm == nn.InstanceNorm2d
        self.conv = nn.Conv2d(dim, dim, 3, bias=bias)
        self.norm = norm(dim)

    def forward(self, x):
        return self.norm(self.conv(x))


class Thing(nn.Module):
    def __init__(self, dim=4, norm=nn.BatchNorm2d):
        super().__init__()
        self.block = Block(dim, norm)

    def forward(self, x):
        return self.block(x)
""".join(["import functools\n\n\n", ""]),
    )
    assert "use_bias=False" in text
    assert "partial" not in text


def test_commas_behind_statements_lose_nothing():
    text = converted(
        """\
class Thing(nn.Sequential):
    def __init__(self, dim):
        super(Thing, self).__init__()
        self.add_module("norm1", nn.BatchNorm2d(dim)),
        self.add_module("conv1", nn.Conv2d(dim, dim, 1)),

    def forward(self, x):
        return torch.cat([x, super().forward(x)], 1)
"""
    ).text
    assert "BatchNorm(self.dim)" in text
    assert "Conv(2, self.dim, self.dim, 1" in text


def test_classes_that_a_number_makes_different_are_two():
    text = settled(
        """\
class Block(nn.Module):
    def __init__(self, dim, out, ratio, norm=None):
        super().__init__()
        norm = norm or nn.BatchNorm2d
        layers = []
        if ratio != 1:
            layers.append(nn.Conv2d(dim, dim * ratio, 1))
        layers.extend([nn.Conv2d(dim * ratio, out, 1), norm(out)])
        self.conv = nn.Sequential(*layers)

    def forward(self, x):
        return self.conv(x)


class Thing(nn.Module):
    def __init__(self, dim=4, table=None):
        super().__init__()
        if table is None:
            table = [[1, 8], [6, 8], [6, 8]]
        layers = []
        for ratio, out in table:
            layers.append(Block(dim, out, ratio=ratio))
            dim = out
        self.layers = nn.Sequential(*layers)

    def forward(self, x):
        return self.layers(x)
"""
    )
    first, second, third = (
        line.split("= ")[1].partition("(")[0]
        for line in text.splitlines()
        if "self.layers_" in line and "= Block" in line
    )
    assert first != second == third


SHIFTED = """\
class Block(nn.Module):
    def __init__(self, dim, size, shift=0):
        super().__init__()
        self.shift = shift
        self.fc = nn.Linear(dim, dim)
        if shift > 0:
            mask = torch.zeros((size, size))
            slices = (slice(0, -shift), slice(-shift, None))
            count = 0
            for h in slices:
                mask[h, :] = count
                count += 1
        else:
            mask = None
        self.register_buffer("mask", mask)

    def forward(self, x):
        x = self.fc(x)
        return x if self.mask is None else x + self.mask.sum()


class Thing(nn.Module):
    def __init__(self, dim=8, size=4, depths=[2], names=[None]):
        super().__init__()
        self.stages = nn.ModuleList()
        for depth in depths:
            self.stages.append(
                nn.ModuleList([
                    Block(dim, size, shift=0 if i % 2 == 0 else size // 2)
                    for i in range(depth)
                ])
            )

    def forward(self, x):
        for stage in self.stages:
            for block in stage:
                x = block(x)
        return x
"""


def test_arrays_that_a_constructor_fills_in_loops_are_filled_there():
    text = settled(SHIFTED, run=3)
    assert "mask[slice(0, -2), :] = 0" in text
    assert "mask[slice(-2, None), :] = 1" in text


def test_a_way_to_make_a_class_that_is_not_run_is_a_class_of_its_own():
    body = SHIFTED.replace("for h in slices:", "for h in reversed(list(slices)):")
    text = settled(body, run=3)
    assert "class Block2(Layer):" in text
    assert "Block2(" in text.partition("class FromThing")[2]


def test_what_a_branch_sets_that_is_not_taken_is_not_there():
    text = settled(
        """\
class Thing(nn.Module):
    def __init__(self, dim=8, freq="h"):
        super().__init__()
        if freq == "t":
            self.minute = nn.Embedding(4, dim)
        self.hour = nn.Embedding(24, dim)

    def forward(self, x):
        minute = self.minute(x) if hasattr(self, "minute") else 0.
        return self.hour(x) + minute
"""
    )
    assert "self.minute" not in text
    assert "Embed(24, " in text
