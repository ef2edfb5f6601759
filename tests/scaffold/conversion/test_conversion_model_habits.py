"""Habits of whole models of PyTorch: classes of blocks, pyramids, devices that are handed on, masks."""

from __future__ import annotations

from test_conversion_forms import converted
from test_conversion_torch import module

from mlax_scaffold.conversion import convert

RESIDUAL = """
class Basic(nn.Module):
    expansion: int = 1

    def __init__(self, inplanes, planes, stride=1, downsample=None):
        super().__init__()
        self.conv = nn.Conv2d(inplanes, planes, 3, stride, 1)
        self.downsample = downsample

    def forward(self, x):
        identity = x
        out = self.conv(x)
        if self.downsample is not None:
            identity = self.downsample(x)
        return out + identity


class Backbone(nn.Module):
    def __init__(self, block, layers, width=8):
        super().__init__()
        self.inplanes = width
        self.layer1 = self._make_layer(block, width, layers[0])
        self.layer2 = self._make_layer(block, width * 2, layers[1], stride=2)

    def _make_layer(self, block, planes, blocks, stride=1):
        downsample = None
        if stride != 1 or self.inplanes != planes * block.expansion:
            downsample = nn.Sequential(
                nn.Conv2d(self.inplanes, planes * block.expansion, 1, stride=stride),
                nn.BatchNorm2d(planes * block.expansion),
            )
        layers = [block(self.inplanes, planes, stride, downsample)]
        self.inplanes = planes * block.expansion
        for _ in range(1, blocks):
            layers.append(block(self.inplanes, planes))
        return nn.Sequential(*layers)

    def forward(self, x):
        return self.layer2(self.layer1(x))


"""


def test_a_backbone_that_a_model_hands_a_class_of_blocks_is_made_of_these():
    text = converted(
        RESIDUAL
        + module(
            "Thing",
            "self.body = Backbone(Basic, layers, width)",
            "x: return self.body(x)",
            "width=8, layers=(1, 2)",
        )
    ).text
    assert "expansion" not in text
    assert "is not None" not in text
    assert "identity = self._downsample(x)" in text
    assert text.count("self.layer2_") >= 2


def test_a_layer_that_is_always_made_is_not_asked_for():
    text = converted(
        module(
            "Thing",
            "self.skip = nn.Sequential(nn.Linear(dim, dim), nn.Tanh())",
            "x: return x if self.skip is None else x + self.skip(x)",
        )
    ).text
    assert "None" not in text


def test_a_layer_that_some_settings_make_is_asked_for():
    text = converted(
        module(
            "Thing",
            "self.skip = nn.Linear(dim, dim) if skips else None",
            "x: return x if self.skip is None else x + self.skip(x)",
            "dim, skips=True",
        )
    ).text
    assert "self.skip is None" in text


# Devices.

CELL = """\
class {name}(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.dim = dim
        self.fc = nn.Linear(dim, dim)

    def begin(self, count, device=None):
        return torch.zeros(count, self.dim, device=device)

    def forward(self, x, state=None):
        if state is None:
            state = self.begin(x.size(0), x.device)
        return self.fc(x) + state


"""


def test_a_device_that_methods_are_handed_is_none_of_their_arguments():
    # Two classes have a method of that name.
    made = converted(CELL.format(name="Other") + CELL.format(name="Thing"))
    assert "device" not in made.text


# States of cells in a list.

CELLS = """\
class Cell(nn.Module):
    def __init__(self, dim, hidden):
        super().__init__()
        self.hidden = hidden
        self.fc = nn.Linear(dim + hidden, hidden)

    def forward(self, x, h):
        return torch.tanh(self.fc(torch.cat([x, h], dim=1)))

    def begin(self, count):
        return torch.zeros(count, self.hidden, device=self.fc.weight.device)


class Thing(nn.Module):
    def __init__(self, dim, depth=2):
        super().__init__()
        self.depth = depth
        self.cells = nn.ModuleList([Cell(dim, dim) for _ in range(depth)])

    def _begin(self, count):
        return [self.cells[i].begin(count) for i in range(self.depth)]

    def forward(self, x, states=None):
        states = self._begin(x.size(0))
        for i in range(self.depth):
            x = self.cells[i](x, states[i])
        return x
"""


def test_a_method_that_begins_states_of_parts_is_handed_the_input():
    text = converted(CELLS).text
    assert "self._begin(x, x.shape[0])" in text
    assert "self._begin_of_part(like_input, self.cells[i].hidden, count)" in text
    assert "def _begin_of_part(self, like_input, hidden, count):" in text


def test_an_input_that_is_set_before_it_is_read_is_none():
    text = converted(CELLS).text.replace("'", '"')
    assert "states:" not in text


def test_an_input_that_the_class_gives_itself_stays():
    again = CELLS.replace(
        "return x\n", "return x if states is None else self(x, None)\n"
    )
    source = again.replace("states = self._begin", "states = states or self._begin")
    made = convert(
        "m.py", "import torch\nfrom torch import nn\n\n\n" + source, "Thing", "T"
    )
    assert "states" in made.text


# Numbers of axes.


def test_a_mask_with_a_new_axis_has_one_less_than_what_it_selects_from():
    start = "self.fc = nn.Linear(dim, 2)"
    call = (
        "h, adjacency: n = h.shape[0]; g = self.fc(h).view(n, 1, 2); "
        "e = g.sum(-1)[:, None, :] + g.sum(-1)[None, :, :]; "
        "assert adjacency.shape[1] == n; "
        "e = e.masked_fill(adjacency.unsqueeze(-1) == 0, -1e9); return e"
    )
    text = converted(module("Thing", start, call)).text.replace("'", '"')
    assert 'adjacency: Float["batch batch"]' in text


def test_what_is_sorted_is_no_image_for_that():
    start = "self.conv = nn.Conv2d(3, 4, 2, 2)"
    call = (
        "x, noise: y = self.conv(x).flatten(2).transpose(1, 2); "
        "order = torch.argsort(noise, dim=1); "
        "index = order.unsqueeze(-1).repeat(1, 1, 4); "
        "return torch.gather(y, 1, index)"
    )
    text = converted(module("Thing", start, call, "")).text
    noise = text.partition("noise: ")[2].partition("]")[0]
    assert len(noise.partition("[")[2].split()) == 2


def test_sizes_that_the_constructor_has_names_for_are_told_by_them():
    start = "n = (size // 2) ** 2\nself.pos = nn.Parameter(torch.zeros(1, n, dim))"
    made = converted(module("Thing", start, "x: return x + self.pos", "size=8, dim=4"))
    assert made.trial is not None
    assert dict(made.trial.inputs)["x"][1:] == (16, 4)


# Lists of maps.

HEAD = """\
class Thing(nn.Module):
    def __init__(self, channels, classes):
        super().__init__()
        self.logits = nn.Conv2d(channels, classes, 3, padding=1)

    def forward(self, feats):
        found = []
        for level, feature in enumerate(feats):
            found.append(self.logits(feature) * (level + 1))
        return found
"""


def test_an_input_whose_elements_go_to_layers_is_a_list_of_maps():
    text = converted(HEAD).text.replace("'", '"')
    assert 'feats: tuple[Float["_ channels _ _"], ...]' in text


# What is tried.


def test_widths_with_a_count_in_their_names_are_no_counts():
    start = (
        "self.heads = n_head\nself.fc = nn.Linear(n_embd, n_embd)\n"
        "assert n_embd % n_head == 0"
    )
    call = "x: b, t, c = x.shape; return self.fc(x).view(b, t, self.heads, c // self.heads)"
    made = converted(module("Thing", start, call, "n_embd, n_head=2"))
    assert made.trial is not None
    assert dict(made.trial.hyperparameters)["n_embd"] == 8


def test_an_input_of_a_size_that_is_none_by_default_is_not_tried():
    start = (
        "self.table = nn.Embedding(10, dim)\n"
        "self.condition = nn.Linear(width, dim) if width else None"
    )
    call = (
        "x, c=None: y = self.table(x); "
        "return y if c is None or self.condition is None else y + self.condition(c)"
    )
    made = converted(module("Thing", start, call, "dim, width=None"))
    assert made.trial is not None
    assert [name for name, _ in made.trial.inputs] == ["x"]


# Methods that nothing calls.

COUPLINGS = """\
class Scale(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(dim))

    def forward(self, x, reverse=False):
        if not reverse:
            return x * self.scale
        return x / self.scale


class Thing(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.first = Scale(dim)
        self.second = Scale(dim)

    def forward(self, x):
        return self.second(self.first(x))

    def sample(self, z):
        z = self.prior.sample(z)
        return self.first(self.second(z, reverse=True), reverse=True)
"""


def test_a_truth_that_no_call_of_a_layer_gives_is_its_default():
    made = converted(COUPLINGS)
    assert "reverse" not in made.text
    assert "return x * self.scale" in made.text
    assert any("`sample` is left out" in note.what for note in made.notes)


def test_a_truth_that_a_layer_gives_its_parts_is_none_of_these():
    source = COUPLINGS.replace(
        "self.second(self.first(x))", "self.second(self.first(x), reverse=True)"
    )
    made = convert(
        "m.py", "import torch\nfrom torch import nn\n\n\n" + source, "Thing", "T"
    )
    assert "reverse" in made.text


FLOW = """\
class Thing(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.fc = nn.Linear(dim, dim)
        self.register_buffer("mean", torch.zeros(dim))

    @property
    def prior(self):
        normal = torch.distributions.Normal(self.mean, 1.0)
        return torch.distributions.Independent(normal, 1)

    def forward(self, x):
        return self.fc(x)

    def log_prob(self, x):
        return self.prior.log_prob(self.forward(x))
"""


def test_a_method_that_calls_what_is_left_out_is_left_out_whatever_its_name():
    made = convert(
        "m.py", "import torch\nfrom torch import nn\n\n\n" + FLOW, "Thing", "Thing"
    )
    assert made.whole
    assert "log_prob" not in made.text
