"""Settings, functions and lists of PyTorch's constructors that take another way to where they are used."""

from __future__ import annotations

from test_conversion_forms import TORCH, converted
from test_conversion_torch import module

from mlax_scaffold.conversion import convert

GATE = module(
    "Gate",
    "self.fc = nn.Linear(dim, dim)",
    "x, twice=False: y = self.fc(x); return 2 * y if twice else y",
)


def test_a_setting_that_a_part_is_called_with_is_one_that_it_is_made_with():
    text = converted(
        GATE
        + module(
            "Thing",
            "self.twice = twice\nself.gate = Gate(dim)",
            "x: return self.gate(x, twice=self.twice)",
            "dim, twice=False",
        )
    ).text
    assert "self.gate = Gate(self.dim, twice=self.twice)" in text
    assert "return self.gate(x)" in text
    assert "2 * y if self.twice else y" in text


def test_parts_may_be_called_with_another_setting_each():
    text = converted(
        GATE
        + module(
            "Thing",
            "self.one = Gate(dim)\nself.two = Gate(dim)",
            "x: return self.one(x) + self.two(x, True)",
        )
    ).text
    assert "self.one = Gate(self.dim, twice=False)" in text
    assert "self.two = Gate(self.dim, twice=True)" in text


def test_a_part_that_is_called_with_both_stays_as_it_is():
    made = convert(
        "thing.py",
        TORCH
        + GATE
        + module(
            "Thing",
            "self.gate = Gate(dim)",
            "x: return self.gate(self.gate(x), twice=True)",
        ),
        "Thing",
        "FromThing",
    )
    assert "Gate(self.dim, twice" not in made.text


def test_a_local_that_is_one_of_two_functions_is_chosen_where_it_is_called():
    text = converted(
        module(
            "Thing",
            "self.logs = logs",
            "x: f = F.log_softmax if self.logs else F.softmax; return f(x, dim=-1)",
            "logs=False",
        )
    ).text
    assert "return log_softmax(x) if self.logs else softmax(x)" in text


def test_a_list_that_becomes_a_module_of_the_same_name_is_a_local_before():
    text = converted(
        module(
            "Thing",
            "self.features = []\nfor size in sizes:\n    self.features.append(nn.Sequential("
            "nn.AdaptiveAvgPool2d(size), nn.Conv2d(dim, 4, 1)))\n"
            "self.features = nn.ModuleList(self.features)",
            "x: out = [x]; out += [f(x).mean((2, 3), keepdim=True) * x for f in self.features]; "
            "return torch.cat(out, 1)",
            "dim, sizes=(1, 2)",
        )
    ).text
    assert "AdaptiveAvgPool(2, " in text


def test_parts_that_are_reset_begin_so_anyway():
    made = converted(
        module(
            "Thing",
            "self.fc = nn.Linear(dim, dim)\nself.reset_parameters()",
            "x: return self.fc(x)",
        )
        + "    def reset_parameters(self):\n        self.fc.reset_parameters()\n"
    )
    assert not made.notes


def test_a_function_that_fills_all_weights_is_told():
    made = converted(
        "def init_weights(net, gain=0.02):\n    def fill(m):\n"
        "        if hasattr(m, 'weight'):\n            nn.init.normal_(m.weight.data, 0.0, gain)\n"
        "    net.apply(fill)\n\n\n"
        + module(
            "Thing",
            "self.fc = nn.Linear(dim, dim)\ninit_weights(self)",
            "x: return self.fc(x)",
        )
    )
    assert any("init_weights(self)" in note.what for note in made.notes)


def test_a_weight_that_has_a_name_in_a_constructor_is_told():
    made = converted(
        module("Inner", "self.fc = nn.Linear(dim, dim)", "x: return self.fc(x)")
        + module(
            "Thing",
            "self.inner = Inner(dim)\nw = self.inner.fc.weight.data\n"
            "nn.init.xavier_uniform_(w.view([w.shape[0], -1]))",
            "x: return self.inner(x)",
        )
    )
    [note] = made.notes
    assert "xavier_uniform_(self.inner.fc.weight.data.view(" in note.what


def test_sums_of_sizes_beside_those_of_arrays_are_numbers_of_python():
    text = converted(
        module(
            "Thing",
            "self.embed = nn.Embedding(sum(sizes), 4)",
            "x: return torch.sum(self.embed(x), dim=1)",
            "sizes",
        )
    ).text
    assert "Embed(np.sum(self.sizes).item(), 4)" in text
    assert "return sum(self.embed(x), axis=1)" in text


def test_a_default_that_is_computed_has_a_value_in_examples():
    text = converted(
        module(
            "Thing",
            "hidden = int(dim * factor)\nself.inner = nn.Linear(dim, hidden)\n"
            "self.outer = nn.Linear(hidden, dim)",
            "x: b, n, d = x.shape; return self.outer(self.inner(x)).reshape(b, n, d // 2, 2)",
            "dim, factor: float = 4 / 3",
        )
    ).text
    assert "examples = ({'dim': 8, " in text


def test_an_image_is_resized_to_sides_that_a_local_keeps():
    text = converted(
        module(
            "Thing",
            "self.conv = nn.Conv2d(dim, dim, 3, 2, 1)",
            "x: size = x.size(); return F.interpolate(self.conv(x), size[2:], "
            "mode='bilinear', align_corners=True)",
        )
    ).text
    assert "return resize_aligned(self.conv(x), " in text


def test_masks_with_new_axes_have_the_others():
    text = converted(
        module(
            "Thing",
            "self.fc = nn.Linear(dim, dim)",
            "c, c_mask: b, n, _ = c.size(); m = c_mask.view(b, n, 1); "
            "return self.fc(c) * m.float()",
        )
    ).text
    assert "c_mask: Bool['b n']" in text


def test_what_indices_take_is_a_copy():
    text = converted(
        module(
            "Thing",
            "self.start = nn.Parameter(torch.zeros(dim))",
            "x, tags: score = self.start[tags[0]]; score += x[0, tags[0]]; "
            "return score + self.start.sum()",
        )
    ).text
    assert "score = self.start[tags[0]]" in text


def test_a_mask_that_is_added_in_part_is_one_of_numbers():
    text = converted(
        module(
            "Thing",
            "self.fc = nn.Linear(dim, dim)",
            "x, attention_mask: y = self.fc(x); part = attention_mask[:, :, : y.shape[-1]]; "
            "return y + part",
        )
    ).text
    assert "attention_mask: Float[" in text


MAKES = """\
def default_conv(before, after, size, bias=True):
    return nn.Conv2d(before, after, size, padding=size // 2, bias=bias)


"""


def test_functions_and_activations_that_are_always_handed_are_written_where_they_are_used():
    made = converted(
        MAKES
        + module(
            "Block",
            "m = []\nfor i in range(2):\n    m.append(conv(dim, dim, size))\n"
            "    if i == 0:\n        m.append(act)\nself.body = nn.Sequential(*m)",
            "x: return self.body(x) + x",
            "conv, dim, size, act=nn.ReLU(True)",
        )
        + module(
            "Thing",
            "act = nn.GELU()\nself.block = Block(conv, dim, 3, act=act)",
            "x: return self.block(x)",
            "dim, conv=default_conv",
        )
    )
    assert "self.block = Block(self.dim, 3)" in made.text
    assert "gelu(x, approximate=False)" in made.text
    assert "relu" not in made.text.replace("gelu", "")
    [note] = made.notes
    assert note.what == "`conv` is always its default, `default_conv`"


def test_functions_that_are_handed_now_and_then_stay():
    made = convert(
        "thing.py",
        TORCH
        + MAKES
        + MAKES.replace("default_conv", "other_conv").replace("size // 2", "0")
        + module(
            "Block", "self.fc = conv(dim, dim, 3)", "x: return self.fc(x)", "conv, dim"
        )
        + module(
            "Thing",
            "self.a = Block(default_conv, dim)\nself.b = Block(other_conv, dim)",
            "x: return self.b(self.a(x))",
        ),
        "Thing",
        "FromThing",
    )
    assert "padding=3 // 2" not in made.text or not made.whole


def test_a_sequence_that_is_as_long_as_told_in_part_is_called_part_by_part():
    text = converted(
        module(
            "Thing",
            "body = [nn.Linear(dim, dim) for _ in range(depth)]\n"
            "body.append(nn.LayerNorm(dim))\nself.body = nn.Sequential(*body)",
            "x: return self.body(x) + x",
            "dim, depth",
        )
    ).text
    assert "for _ in range(self.depth)]" in text
    assert "return self._body_last(self._body(x)) + x" in text
    assert "depth: Size" in text
