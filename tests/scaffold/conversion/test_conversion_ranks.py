"""What code tells of the axes of its inputs: by branches, products, indices, parts and masks."""

from __future__ import annotations

import pytest
from test_conversion_forms import TORCH, converted

from mlax_scaffold.conversion import Converted, convert


def forward_of(made: Converted) -> str:
    """The signature of the last definition."""
    return made.text[made.text.rindex("    def forward(") :].partition("\n")[0]


def test_a_branch_for_other_numbers_of_axes_tells_nothing_of_the_usual_one():
    made = converted(
        """\
class Thing(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.fc = nn.Linear(20, dim)

    def forward(self, x):
        if x.dim() > 2:
            x = x.view(-1, 28 * 28)
        return self.fc(x)
"""
    )
    assert "784" not in forward_of(made)
    assert "20" in forward_of(made)


def test_labels_are_indices_of_what_they_set():
    made = converted(
        """\
def one_hot(idx, n):
    if idx.dim() == 1:
        idx = idx.unsqueeze(1)
    made = torch.zeros(idx.size(0), n).to(idx.device)
    made.scatter_(1, idx, 1)
    return made


class Thing(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.fc = nn.Linear(dim + 10, 4)

    def forward(self, x, c):
        return self.fc(torch.cat((x, one_hot(c, 10)), dim=-1))
"""
    )
    assert "x: Float['batch dim'], c: Int['batch']" in forward_of(made)
    assert "jnp.zeros((idx.shape[0], n), idx.dtype)" in made.text


def test_parts_along_axes_have_the_sizes_that_they_had():
    made = converted(
        """\
class Thing(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.pool_h = nn.AdaptiveAvgPool2d((None, 1))
        self.pool_w = nn.AdaptiveAvgPool2d((1, None))
        self.conv = nn.Conv2d(dim, dim, 1)

    def forward(self, x):
        n, c, h, w = x.size()
        y = torch.cat([self.pool_h(x), self.pool_w(x).permute(0, 1, 3, 2)], dim=2)
        a, b = torch.split(self.conv(y), [h, w], dim=2)
        return x * a * b.permute(0, 1, 3, 2)
"""
    )
    assert "x: Float['n dim h w']" in forward_of(made)
    assert "mean(x, axis=-1, keepdims=True)" in made.text
    assert "mean(x, axis=-2, keepdims=True)" in made.text
    assert made.trial is not None


def test_scores_of_one_feature_and_what_they_weigh():
    made = converted(
        """\
class Thing(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.energy = nn.Linear(dim, 1)

    def forward(self, x, value):
        scores = self.energy(x).squeeze(2).unsqueeze(1)
        return torch.bmm(scores.softmax(-1), value)
"""
    )
    assert "x: Float['batch axis2 dim'], value: Float['batch axis2 " in forward_of(made)


def test_places_of_an_image_come_back_behind_its_channels():
    made = converted(
        """\
class Thing(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.a = nn.Conv2d(dim, dim, 1)
        self.b = nn.Conv2d(dim, dim, 1)
        self.dim = dim

    def forward(self, x):
        b = x.size(0)
        y = self.a(x).view(b, self.dim, -1).softmax(-1)
        y = y.view(b, self.dim, *x.size()[2:])
        return self.b(y) + x
"""
    )
    assert "x: Float['batch dim height width']" in forward_of(made)


def test_a_mask_of_any_grid_is_one_of_positions():
    made = converted(
        """\
class Thing(nn.Module):
    def __init__(self, dim, heads=2):
        super().__init__()
        self.heads = heads
        self.q = nn.Linear(dim, dim)

    def forward(self, x, mask=None):
        h = self.heads
        q = rearrange(self.q(x), 'b n (h d) -> (b h) n d', h=h)
        sim = torch.einsum('b i d, b j d -> b i j', q, q)
        if mask is not None:
            mask = rearrange(mask, 'b ... -> b (...)')
            mask = repeat(mask, 'b j -> (b h) () j', h=h)
            sim.masked_fill_(~mask, -torch.finfo(sim.dtype).max)
        out = torch.einsum('b i j, b j d -> b i d', sim.softmax(dim=-1), q)
        return rearrange(out, '(b h) n d -> b n (h d)', h=h)
""",
        "from einops import rearrange, repeat\n" + TORCH,
    )
    given = forward_of(made)
    first = given.partition("x: Float['")[2].split()
    assert f"mask: Bool['{first[0]} {first[1]}'] | None" in given
    assert "//" not in given


@pytest.mark.parametrize("field", ["channel", "feature"])
def test_an_axis_is_not_called_nearly_as_a_hyperparameter(field):
    made = converted(
        f"""\
class Thing(nn.Module):
    def __init__(self, {field}, size=3):
        super().__init__()
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.conv = nn.Conv1d(1, 1, kernel_size=size, padding=size // 2)

    def forward(self, x):
        y = self.pool(x).squeeze(-1).transpose(-1, -2)
        return x * self.conv(y).transpose(-1, -2).unsqueeze(-1).sigmoid()
"""
    )
    assert f"{field}s " not in forward_of(made)


def test_sizes_are_multiples_of_what_is_required():
    made = converted(
        """\
class Thing(nn.Module):
    def __init__(self, height=32, dim=4):
        super().__init__()
        assert height % 16 == 0, 'height has to be a multiple of 16'
        self.fc = nn.Linear(height, dim)

    def forward(self, x):
        return self.fc(x)
"""
    )
    assert made.trial is not None
    height = dict(made.trial.hyperparameters)["height"]
    assert isinstance(height, int)
    assert height % 16 == 0


def test_a_sequence_in_a_list_is_one_element():
    text = converted(
        """\
class Branch(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.conv = nn.Conv2d(dim, dim, 3, padding=1)

    def forward(self, x):
        return self.conv(x)


class Thing(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.convs = nn.ModuleList([
            nn.Sequential(nn.Conv2d(dim, dim, 1), nn.BatchNorm2d(dim), nn.ReLU()),
            nn.Identity(),
            Branch(dim),
        ])

    def forward(self, x):
        found = []
        for conv in self.convs:
            found.append(conv(x))
        return torch.cat(found, dim=1)
"""
    ).text
    assert text.count("found.append(") == 3
    assert "found.append(self._convs_0(x))" in text
    assert "found.append(self._convs_1(x))" in text


def test_a_sequence_that_goes_through_itself():
    text = converted(
        """\
class Pool(nn.Sequential):
    def __init__(self, dim):
        super().__init__(nn.AdaptiveAvgPool2d(1), nn.Conv2d(dim, dim, 1))

    def forward(self, x):
        size = x.shape[-2:]
        for mod in self:
            x = mod(x)
        return F.interpolate(x, size=size, mode="bilinear", align_corners=False)


class Thing(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.pool = Pool(dim)

    def forward(self, x):
        return self.pool(x)
"""
    ).text
    assert "x = self._base(x)" in text
    assert "for mod" not in text


def test_scores_have_one_axis_more_than_the_labels_that_a_call_counts():
    made = converted(
        """\
class Thing(nn.Module):
    def forward(self, query, key):
        scores = query @ key.transpose(-2, -1)
        labels = torch.arange(query.shape[0])
        return F.cross_entropy(scores / 0.1, labels)
"""
    )
    assert "query: Float['axis2 axis22'], key: Float['axis23 axis22']" in forward_of(
        made
    )


def test_features_that_are_added_to_those_of_sequences_are_of_sequences():
    made = converted(
        """\
class Thing(nn.Module):
    def __init__(self, dim, size):
        super().__init__()
        self.states = nn.Linear(dim, dim)
        self.actions = nn.Linear(size, dim)

    def forward(self, states, actions):
        b, t, _ = states.shape
        return self.states(states) + self.actions(actions)
"""
    )
    assert "actions: Float['b t size']" in forward_of(made)


def test_features_behind_a_new_axis_are_of_the_examples_of_a_batch():
    made = converted(
        """\
class Thing(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.query = nn.Linear(dim, dim)

    def forward(self, query):
        return self.query(query.unsqueeze(1))
"""
    )
    assert "query: Float['batch dim']" in forward_of(made)


def test_labels_whose_axes_are_exchanged_are_those_of_sequences():
    made = converted(
        """\
class Thing(nn.Module):
    def __init__(self, tags):
        super().__init__()
        self.start = nn.Parameter(torch.randn(tags))

    def forward(self, tags: torch.LongTensor):
        return self.start[tags.transpose(0, 1)[0]]
"""
    )
    assert "tags: Int['batch time']" in forward_of(made)


_POOLED = """\
import flax.linen as nn
import jax.numpy as jnp


class Pooled(nn.Module):
    tokens: int

    @nn.compact
    def __call__(self, x):
        if {test} == 4:
            n, h, w, c = x.shape
            x = jnp.reshape(x, {shape})
        weights = nn.softmax(jnp.swapaxes(nn.Dense(self.tokens)(x), 1, 2))
        return weights @ x


class Thing(nn.Module):
    width: int
    tokens: int = 4

    @nn.compact
    def __call__(self, image):
        return Pooled(self.tokens)(nn.Conv(self.width, (3, 3))(image))
"""


@pytest.mark.parametrize("test", ["x.ndim", "len(x.shape)"])
@pytest.mark.parametrize("shape", ["[n, h * w, c]", "(n, -1, c)", "(n, h * w, -1)"])
def test_what_a_branch_makes_of_more_axes_may_be_given_with_fewer(test, shape):
    code = _POOLED.format(test=test, shape=shape)
    made = convert("thing.py", code, "Thing", "FromThing")
    assert made.whole, made.notes
    pooled = made.text.partition("class Pooled")[2].partition("\nclass ")[0]
    assert "x: Float['*batch in_features']" in pooled
    assert "'x': (2, 4, 4, 8)" in pooled
    assert "Pooled(self.width, tokens=self.tokens)" in made.text


def test_what_a_branch_makes_of_more_axes_with_other_features_is_what_follows_takes():
    code = _POOLED.format(test="x.ndim", shape="[n, h, w * c]")
    made = convert("thing.py", code, "Pooled", "Pooled")
    assert "x: Float['*batch in_features']" not in made.text


GRID = """\
class Thing(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.fc = nn.Linear(3, dim)
        self.conv = nn.Conv2d(dim, dim, 1)

    def forward(self, x):
        grid = self.get_grid({given})
        x = torch.cat((x, grid), dim=-1)
        x = self.fc(x)
        x = x.permute(0, 3, 1, 2)
        return self.conv(x)

    def get_grid(self, shape, device):
        n, h, w = shape[0], shape[1], shape[2]
        rows = torch.linspace(0, 1, h, dtype=torch.float).reshape(1, h, 1, 1).repeat([n, 1, w, 1])
        columns = torch.linspace(0, 1, w, dtype=torch.float).reshape(1, 1, w, 1).repeat([n, h, 1, 1])
        return torch.cat((rows, columns), dim=-1).to(device)
"""


@pytest.mark.parametrize(
    "given",
    ["x.shape, x.device", "shape=x.shape, device=x.device", "x.size(), x.device"],
)
def test_what_is_handed_a_shape_is_handed_the_array(given: str):
    text = converted(GRID.format(given=given), TORCH).text
    assert "jnp.linspace(0, 1, h, dtype=x.dtype)" in text
    assert "h = x.shape[1]" in text
    # What is permuted later tells how many axes there are.
    assert "x: Float['batch axis1 axis2 1']" in text


def test_a_shape_that_is_no_array_of_all_calls_is_handed_on():
    text = converted(
        """\
class Thing(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.fc = nn.Linear(dim, dim)

    def rows(self, shape):
        return shape[0] * 2

    def forward(self, x):
        y = self.fc(x)
        return y * self.rows(x.shape) + self.rows((2, 3))
""",
        TORCH,
    ).text
    assert "self._rows(x.shape)" in text
