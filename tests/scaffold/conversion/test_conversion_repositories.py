"""Habits of repositories: classes by their objects, parts that are filled, sizes that nothing is said of."""

from __future__ import annotations

import pytest

from mlax_scaffold.conversion import Converted, convert

HEAD = """\
import torch
import torch.nn as nn
from torch.nn.utils import spectral_norm, weight_norm


def fill(m, mean=0.0, std=0.01):
    if m.__class__.__name__.find("Conv") != -1:
        m.weight.data.normal_(mean, std)


"""


def of(body: str, thing: str = "Thing") -> Converted:
    made = convert("model.py", HEAD + body, thing, f"From{thing}")
    assert made.whole, made.notes
    return made


@pytest.mark.parametrize("owner", ["type(self)", "self.__class__"])
def test_a_number_is_read_by_the_class_of_an_object(owner: str):
    made = of(
        f"""
class Thing(nn.Module):
    scale = 2.0

    def __init__(self, dim):
        super().__init__()
        self.fc = nn.Linear(dim, dim)

    def forward(self, x):
        return self.fc(x) * {owner}.scale
"""
    )
    assert "return self.fc(x) * 2.0" in made.text


APPLIED = """
class Part(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.conv = nn.Conv1d(dim, dim, 1)

    def forward(self, x):
        return self.conv(x)


class Thing(nn.Module):
    def __init__(self, dim=8):
        super().__init__()
        self.other = nn.Conv1d(dim, dim, 1)
        self.convs = nn.ModuleList([nn.Conv1d(dim, dim, 1) for _ in range(2)])
        self.net = nn.Sequential(nn.Conv1d(dim, dim, 1), nn.ReLU(), nn.Conv1d(dim, dim, 1))
        self.part = Part(dim)
        self.convs.apply(fill)
        self.net.apply(fill)
        {more}

    def forward(self, x):
        for conv in self.convs:
            x = conv(x)
        return self.part(self.other(self.net(x)))
"""


def test_layers_of_a_part_begin_as_what_is_applied_to_it_says():
    made = of(APPLIED.format(more=""))
    filled = [line for line in made.text.splitlines() if "normal(0.01)" in line]
    places = [line.split("=")[0].strip() for line in filled]
    assert places == ["self.convs", "self.net_0", "self.net_2"]
    assert not made.notes


def test_what_is_applied_to_a_part_of_the_file_is_told():
    made = of(APPLIED.format(more="self.part.apply(fill)"))
    [note] = made.notes
    assert "`self.part.apply(fill)` is left out" in note.what
    # All other uses of its class would begin so, too.
    assert made.text.count("normal(0.01)") == 3


@pytest.mark.parametrize("norm", ["weight_norm", "spectral_norm"])
def test_weights_of_transposed_convolutions_have_norms_of_their_own_axes(norm: str):
    made = of(
        f"""
class Thing(nn.Module):
    def __init__(self, dim=8):
        super().__init__()
        self.up = {norm}(nn.ConvTranspose1d(dim, dim // 2, 4, 2, padding=1))

    def forward(self, x):
        return self.up(x)
"""
    )
    assert "(self.in_channels, self.out_channels, self.kernel_size)" in made.text
    expected = {
        # PyTorch has the inputs first, and a length for each of them.
        "weight_norm": "self.weight_g = trainable(ones, (self.in_channels, 1, 1))",
        "spectral_norm": "matrix = jnp.swapaxes(self.weight_orig, 0, 1)",
    }
    assert expected[norm] in made.text
    assert "x: Float['batch in_channels height']" in made.text


def test_a_table_of_rows_has_a_singular_value():
    made = of(
        """
class Thing(nn.Module):
    def __init__(self, classes=5, dim=8):
        super().__init__()
        self.rows = spectral_norm(nn.Embedding(classes, dim))

    def forward(self, h, y):
        return h + self.rows(y)
"""
    )
    assert "self.rows = SpectralNormEmbedding(self.classes, self.dim)" in made.text
    assert "return take_rows(weight, x)" in made.text


def test_one_number_for_all_says_nothing_of_an_array():
    made = of(
        """
class Thing(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(1))

    def forward(self, image, noise):
        return image + self.weight * noise
"""
    )
    assert " 1'" not in made.text.partition("def forward")[2], made.text


BLOCKS = """
class Scale(nn.Module):
    def __init__(self, dim, init_values=1e-5):
        super().__init__()
        self.gamma = nn.Parameter(init_values * torch.ones(dim))

    def forward(self, x):
        return x * self.gamma


class Embed(nn.Module):
    def __init__(self, img_size=32, patch_size=8, dim=16):
        super().__init__()
        img_size = (img_size, img_size)
        self.img_size = img_size
        self.count = (img_size[0] // patch_size) * (img_size[1] // patch_size)
        self.proj = nn.Conv2d(3, dim, patch_size, patch_size)

    def forward(self, x):
        assert x.shape[2] == self.img_size[0]
        return self.proj(x).flatten(2).transpose(1, 2)


class Block(nn.Module):
    def __init__(self, dim, drop=0., init_values=None):
        super().__init__()
        self.fc = nn.Linear(dim, dim)
        self.drop = nn.Dropout(drop)
        self.scale = Scale(dim, init_values=init_values) if init_values else nn.Identity()

    def forward(self, x):
        return x + self.scale(self.drop(self.fc(x)))


class Thing(nn.Module):
    def __init__(self, dim=16, depth=3, drop_ratio=0., path_ratio=0.1):
        super().__init__()
        rates = [x.item() for x in torch.linspace(0, path_ratio, depth)]
        self.embed = Embed(dim=dim)
        self.first = nn.Dropout(drop_ratio)
        self.blocks = nn.Sequential(*[Block(dim, rates[i], init_values=1e-4) for i in range(depth)])

    def forward(self, x):
        return self.blocks(self.first(self.embed(x)))
"""


def test_a_parameter_is_what_it_is_handed_on_as():
    text = of(BLOCKS).text
    assert "init_values: float | None = None" in text
    assert "drop_ratio: Probability = 0.0" in text
    # What is indexed is the pair that is made of it.
    assert "img_size_value: Size = 32" in text
    # Rates are numbers of setup, where no array of jax is.
    assert "(self.path_ratio - 0) * i / max(self.depth - 1, 1)" in text


HEADS = """
class Thing(nn.Module):
    def __init__(self, dim=8, tasks=None):
        super().__init__()
        tasks = tasks or {{"action": 12, "view": 3}}
        self.tasks = tasks
        self.trunk = nn.Linear(dim, dim)
        {filled}

    def forward(self, x):
        h = self.trunk(x)
        {read}
"""
FILLED = {
    "a loop": """self.heads = nn.ModuleDict()
        for name, classes in tasks.items():
            self.heads[name] = nn.Linear(dim, classes)""",
    "a loop over an attribute": """self.heads = nn.ModuleDict({{}})
        for name, classes in self.tasks.items():
            self.heads[name] = nn.Linear(dim, classes)""",
    "a comprehension": "self.heads = nn.ModuleDict({{k: nn.Linear(dim, n) for k, n in tasks.items()}})",
    "keys": """self.heads = nn.ModuleDict()
        for name in tasks:
            self.heads[name] = nn.Linear(dim, 12 if name == "action" else 3)""",
}


@pytest.mark.parametrize("filled", FILLED)
def test_heads_in_a_dictionary_are_layers_with_names(filled: str):
    read = "return {name: head(h) for name, head in self.heads.items()}"
    text = of(
        HEADS.format(filled=FILLED[filled], read=read)
        .replace("{{", "{")
        .replace("}}", "}")
    ).text
    assert "self.heads_action = Linear(self.dim, 12" in text
    assert "self.heads_view = Linear(self.dim, " in text
    assert "return {'action': self.heads_action(h), 'view': self.heads_view(h)}" in text


READ = {
    "return [head(h) for head in self.heads.values()]": (
        "return [self.heads_action(h), self.heads_view(h)]"
    ),
    "return torch.cat([self.heads[k](h) for k in self.heads], -1)": (
        "([self.heads_action(h), self.heads_view(h)], axis=-1)"
    ),
    """out = []
        for name, head in self.heads.items():
            out.append(head(h))
        return out""": (
        "out.append(self.heads_action(h))\n        out.append(self.heads_view(h))"
    ),
}


@pytest.mark.parametrize("read", READ)
def test_what_goes_over_heads_calls_each(read: str):
    body = HEADS.format(filled=FILLED["a loop"], read=read)
    assert READ[read] in of(body.replace("{{", "{").replace("}}", "}")).text


def test_the_features_of_each_example_are_given_new_axes():
    text = of(
        """
class Thing(nn.Module):
    def __init__(self, channels=8, width=4):
        super().__init__()
        self.fc = nn.Linear(width, channels)

    def forward(self, image, style):
        b, c, h, w = image.shape
        return image.view(b, 1, c, h, w) * self.fc(style).view(b, 1, c, 1, 1)
"""
    ).text
    assert "style: Float['b width']" in text, text


def test_another_name_of_a_function_is_that_function():
    text = of(
        """
def scaled(w):
    return w / w.abs().mean()


binarize = scaled


class Thing(nn.Module):
    def __init__(self, dim=8, out=4):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(out, dim))

    def forward(self, x):
        return x @ binarize(self.weight).t()
"""
    ).text
    assert "x: Float['*batch dim']" in text or "x: Float['batch dim']" in text, text


def test_groups_that_a_local_counts_are_examples():
    text = of(
        """
class Thing(nn.Module):
    def __init__(self, dim=8, out=4, width=6):
        super().__init__()
        self.dim, self.out = dim, out
        self.weight = nn.Parameter(torch.randn(1, out, dim, 3, 3))
        self.style = nn.Linear(width, dim)

    def forward(self, image, style):
        batch, dim, h, w = image.shape
        weight = self.weight * self.style(style).view(batch, 1, dim, 1, 1)
        weight = weight.view(batch * self.out, dim, 3, 3)
        image = image.view(1, batch * dim, h, w)
        y = nn.functional.conv2d(image, weight, padding=1, groups=batch)
        return y.view(batch, self.out, h, w)
"""
    ).text
    assert "image: Float['batch dim h w'], style: Float['batch width']" in text, text


def test_the_original_is_given_the_table_that_the_file_gives_it():
    made = of(
        """
class Thing(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.fc = nn.Embedding(config["layers"][0], config["layers"][1])

    def forward(self, x):
        return self.fc(x)


settings = {"alias": "thing", "layers": [16, 8, 4]}
model = Thing(settings)
"""
    )
    assert made.trial is not None
    # The comparison would be skipped without it.
    assert dict(made.trial.given) == {
        "config": "{'alias': 'thing', 'layers': [16, 8, 4]}"
    }
