"""Inputs of which the code does not tell how many axes they have."""

from __future__ import annotations

import re

from click.testing import CliRunner
from test_conversion_forms import TORCH, converted
from test_conversion_torch import forwards, module

from mlax_scaffold.cli.group import cli
from mlax_scaffold.conversion import DOCUMENTED, convert

LOSS = module(
    "Thing",
    "self.gamma = gamma",
    "inputs, targets: loss = F.cross_entropy(inputs, targets, reduction='none'); "
    "return (1 - torch.exp(-loss)) ** self.gamma * loss",
    "gamma=2.0",
)


def forward(code: str, axes: int) -> str:
    made = convert("thing.py", TORCH + code, "Thing", "FromThing", axes=axes)
    assert made.whole, made.notes
    return forwards(made.text)["FromThing"]


def test_so_many_axes_are_tried_and_indices_have_one_less():
    assert "inputs: Float['batch features'], targets: Int['batch']" in forward(LOSS, 2)
    assert "inputs: Float['batch positions features']" in forward(LOSS, 3)
    assert "targets: Int['batch positions']" in forward(LOSS, 3)


def test_axes_that_the_code_tells_stay():
    code = module(
        "Thing", "self.fc = nn.Linear(dim, 4)", "x: return self.fc(x).mean(-1)"
    )
    assert "x: Float['*batch dim']" in forward(code, 4)


DOCUMENT = '''\
class Thing(nn.Module):
    """Scores of tags.

    Args:
        num_tags: how many there are.
    """

    def __init__(self, num_tags):
        super().__init__()
        self.start = nn.Parameter(torch.zeros(num_tags))

    def forward(self, emissions, tags, scale=None):
        """Score.

        Args:
            emissions (`~torch.Tensor`): tensor of size
                ``(seq_length, batch_size, num_tags)``.
            tags (LongTensor, optional): of shape [seq_length, batch_size].
        """
        return emissions + self.start
'''


def test_axes_are_those_of_the_docstring_where_it_tells_them():
    found = forward(DOCUMENT, DOCUMENTED)
    assert "emissions: Float['seq_length batch num_tags']" in found
    assert re.search(r"tags: (Int|Float)\['seq_length batch'\]", found)


def test_comments_and_sizes_in_digits_tell_axes_too():
    code = module(
        "Thing", "self.dim = dim", "x: # x: (B, 3, num_points); return x * self.dim"
    )
    assert "x: Float['batch 3 num_points']" in forward(code, DOCUMENTED)


def test_a_spec_whose_shapes_do_not_fit_is_made_with_other_axes(tmp_path):
    (tmp_path / "thing.py").write_text(TORCH + LOSS)
    (tmp_path / "pyproject.toml").write_text(
        '[tool.mlax-scaffold]\npackage = "mynet"\n'
    )
    source = f"{tmp_path}/thing.py:Thing"
    made = CliRunner().invoke(
        cli,
        [
            "new-layer",
            "Thing",
            "--dry-run",
            "--from",
            source,
            "--project",
            str(tmp_path),
        ],
    )
    assert made.exit_code == 0, made.output
    assert 'inputs: Float["batch features"], targets: Int["batch"]' in made.output


EDGES = """\
class Thing(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.fc = nn.Linear(dim, dim)

    def forward(self, x, edge_index, edge_attr):
        src, dst = edge_index
        m = self.fc(x[src] + edge_attr)
        return torch.zeros_like(x).index_add(0, dst, m)
"""


def test_edges_of_graphs_are_two_indices_for_each():
    found = forwards(converted(EDGES).text)["FromThing"]
    assert "x: Float['nodes dim']" in found
    assert "edge_index: Int['2 edges']" in found
    assert "edge_attr: Float['edges dim']" in found


def test_sums_at_indices_have_the_shape_of_what_they_are_added_to():
    code = EDGES.replace(
        "index_add(0, dst, m)", "scatter_add(0, dst[:, None].expand(-1, x.size(1)), m)"
    )
    found = forwards(converted(code).text)["FromThing"]
    assert "x: Float['nodes dim']" in found
    assert "edge_index: Int['2 edges']" in found


def test_norms_of_images_say_how_many_axes_there_are():
    text = converted(
        module(
            "Thing",
            "self.norm = nn.InstanceNorm2d(dim)\nself.mlp = nn.Conv2d(4, dim, 1)",
            "x, seg: seg = F.interpolate(seg, size=x.size()[2:], mode='nearest'); "
            "return self.norm(x) * (1 + self.mlp(seg))",
        )
    ).text
    assert "x: Float['batch dim " in text
    assert "seg: Float['batch 4 " in text


def test_sides_that_would_be_less_than_one_are_no_sides():
    code = module(
        "Thing",
        "self.net = nn.Sequential(nn.Conv2d(4, 32, 8, 4), nn.ReLU(), nn.Conv2d(32, 64, 4, 2), "
        "nn.ReLU(), nn.Conv2d(64, 64, 3))\nself.head = nn.Linear(64 * 2 * 2, dim)",
        "x: return self.head(self.net(x).view(x.size(0), -1))",
    )
    # With a side of 16 both sides are less than none, and their product fits.
    assert "'x': (2, 4, 44, 44)" in converted(code).text


def test_matrices_are_broadcast_along_the_axes_before_theirs():
    text = converted(
        module(
            "Thing",
            "self.weight = nn.Parameter(torch.randn(out, caps, 4, dim))",
            "x: return torch.matmul(self.weight, x[:, None, :, :, None]).squeeze(-1)",
            "dim, caps, out",
        )
    ).text
    assert "x: Float['batch caps dim']" in text


def test_cells_return_pairs_as_pytorch_has_them():
    text = converted(
        module(
            "Thing",
            "self.dim = dim\nself.lstm = nn.LSTMCell(dim, dim)",
            "x: h = x.new_zeros(1, self.dim); c = x.new_zeros(1, self.dim); "
            "h, c = self.lstm(h, (h, c)); return (x * h).sum(-1)",
        )
    ).text
    assert "x: Float['batch dim']" in text


def test_an_axis_that_is_broadcast_has_one_element_after_any_others():
    text = converted(
        """\
class Thing(nn.Module):
    def __init__(self, margin=2.0):
        super().__init__()
        self.margin = margin

    def forward(self, left, right, label):
        distance = F.pairwise_distance(left, right, keepdim=True)
        near = (1 - label) * distance.pow(2)
        return (near + label * torch.clamp(self.margin - distance, min=0.0).pow(2)).mean()
"""
    ).text
    assert "label: Float['# *batch 1']" in text
    assert "'label': (2, 1)" in text
