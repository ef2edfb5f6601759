"""Code of PyTorch as repositories have it: layers that are handed on, helpers, loops over names, masks."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest
from test_conversion_forms import TORCH, converted

from mlax_scaffold.conversion import Converted, convert

EINOPS = "from einops import rearrange\nfrom einops.layers.torch import Rearrange\n"


def forwards(text: str) -> dict[str, str]:
    """The line of `forward` of each class."""
    found: dict[str, str] = {}
    title = ""
    for line in text.splitlines():
        if line.startswith("class "):
            title = line.removeprefix("class ").partition("(")[0]
        if "def forward(" in line:
            found[title] = line.strip()
    return found


def module(name: str, setup: str, forward: str, given: str = "dim") -> str:
    lines = [f"class {name}(nn.Module):", f"    def __init__(self, {given}):"]
    lines += ["        super().__init__()"]
    lines += [f"        {line}" for line in setup.splitlines()]
    head, _, body = forward.partition(": ")
    lines += ["", f"    def forward(self, {head}):"]
    lines += [f"        {line}" for line in body.split("; ")]
    return "\n".join(lines) + "\n\n\n"


# Layers that are handed on.

WRAPPER = module(
    "PreNorm",
    "self.fn = fn\nself.norm = nn.LayerNorm(dim)",
    "x, **kwargs: return self.fn(self.norm(x), **kwargs)",
    "dim, fn",
)
ATTENDING = module(
    "Attention",
    "self.to_q = nn.Linear(dim, dim)\nself.to_k = nn.Linear(dim, dim)",
    "x, context=None: context = default(context, x); "
    "return self.to_q(x) + self.to_k(context)",
    "dim, heads=8",
)
HELPERS = """\
def exists(val):
    return val is not None


def default(val, d):
    return val if exists(val) else d


"""


def test_a_class_is_written_for_each_layer_that_it_is_handed():
    text = converted(
        HELPERS
        + ATTENDING
        + WRAPPER
        + module(
            "Thing",
            "self.attn = PreNorm(dim, Attention(dim, heads=4))\n"
            "self.ff = PreNorm(dim, nn.Linear(dim, dim))",
            "x, y: return self.ff(self.attn(x, context=y))",
        )
    ).text
    assert "class PreNormAttention(Layer):" in text
    assert "self.fn = Attention(self.dim, heads=4)" in text
    assert "return self.fn(self.norm(x), context=context)" in text
    assert "class PreNormLinear(Layer):" in text
    # All calls give one.
    assert "context: Float['*batch dim'])" in text
    assert "kwargs" not in text


def test_what_is_converted_is_handed_what_the_first_call_of_the_file_hands_it():
    body = (
        module(
            "Inner", "self.fc = nn.Linear(hidden, 1)", "x: return self.fc(x)", "hidden"
        )
        + module(
            "Thing",
            "self.inner = inner\nself.fc = nn.Linear(dim, hidden)",
            "x: return self.inner(self.fc(x))",
            "dim, hidden, inner",
        )
        + "inner = Inner(64)\nmodel = Thing(32, 64, inner)\n"
    )
    text = converted(body).text
    assert "self.inner = Inner(self.hidden)" in text
    assert "inner:" not in text


def test_a_layer_that_two_classes_are_handed_is_shared_and_listed():
    body = WRAPPER + module(
        "Thing",
        "fc = nn.Linear(dim, dim)\nself.one = PreNorm(dim, fn=fc)\nself.two = PreNorm(dim, fn=fc)",
        "x: return self.one(x) + self.two(x)",
    )
    made = convert("thing.py", TORCH + body, "Thing", "Thing")
    assert not made.whole


def test_copies_of_a_layer_are_layers_of_their_own():
    text = converted(
        "import copy\n\n\ndef clones(module, N):\n"
        "    return nn.ModuleList([copy.deepcopy(module) for _ in range(N)])\n\n\n"
        + module(
            "Thing",
            "self.maps = clones(nn.Linear(dim, dim), 4)",
            "q, k: q, k = [f(x) for f, x in zip(self.maps, (q, k))]; "
            "return self.maps[-1](q + k)",
        )
    ).text
    assert "self.maps = [Linear(self.dim, self.dim) for _ in range(4)]" in text
    assert "q = self.maps[0](q)\n        k = self.maps[1](k)" in text


RESIDUAL = module(
    "Residual",
    "self.norm = nn.LayerNorm(dim)\nself.dropout = nn.Dropout(p)",
    "x, sublayer: return x + self.dropout(sublayer(self.norm(x)))",
    "dim, p",
)


def test_a_layer_that_is_called_with_a_function_is_written_out():
    text = converted(
        RESIDUAL
        + module(
            "Thing",
            "self.fc = nn.Bilinear(dim, dim, dim)\nself.ff = nn.Linear(dim, dim)\n"
            "self.sub = nn.ModuleList([Residual(dim, 0.1) for _ in range(2)])",
            "x: x = self.sub[0](x, lambda y: y * self.ff(y)); return self.sub[1](x, self.ff)",
        ).replace("self.fc = nn.Bilinear(dim, dim, dim)\n        ", "")
    ).text
    assert "self.sub_0_norm = LayerNorm(self.dim)" in text
    assert "inner = self.sub_0_norm(x)\n" in text
    assert "x = x + self.sub_0_dropout(inner * self.ff(inner))" in text
    assert "return x + self.sub_1_dropout(self.ff(self.sub_1_norm(x)))" in text


def test_a_function_that_is_given_a_layer_is_a_method():
    text = converted(
        "def attention(q, k, dropout=None):\n    weights = torch.softmax(q @ k.mT, -1)\n"
        "    if dropout is not None:\n        weights = dropout(weights)\n"
        "    return weights @ k, weights\n\n\n"
        + module(
            "Thing",
            "self.attn = None\nself.drop = nn.Dropout(0.1)\nself.fc = nn.Linear(dim, dim)",
            "x: y, self.attn = attention(self.fc(x), x, dropout=self.drop); return y",
        )
    ).text
    assert "weights = self.drop(weights)" in text
    assert "y, _ = self._attention(self.fc(x), x)" in text


# Constructors.


def test_attributes_are_set_by_names_that_a_loop_computes():
    text = converted(
        module(
            "Thing",
            "names = [f'stage{i}' for i in [2, 3]]\nwidth = 3\n"
            "for name, repeats, out in zip(names, depths, widths[1:]):\n"
            "    layers = [nn.Linear(width, out)]\n"
            "    for _ in range(repeats - 1):\n        layers.append(nn.Linear(out, out))\n"
            "    setattr(self, name, nn.Sequential(*layers))\n    width = out",
            "x: return self.stage3(self.stage2(x))",
            "depths=(1, 2), widths=(4, 5, 6)",
        )
    ).text
    assert "self.stage2_0 = Linear(3, self.widths[1])" in text
    assert "for _ in range(self.depths[1] - 1)]" in text
    assert "x: Float['*batch 3']" in text


def test_a_table_that_a_file_makes_a_class_with_is_a_part_of_it():
    made = converted(
        module(
            "Thing",
            "layers = []\nfor n, bias in cfgs:\n    layers.append(nn.Linear(n, n, bias=bias))\n"
            "self.net = nn.Sequential(*layers)\nself.mode = mode",
            "x: return self.net(x) if self.mode == 'a' else x",
            "cfgs, mode",
        )
        + "def thing():\n    cfgs = [[4, 1], [4, 0]]\n    return Thing(cfgs, mode='a')\n"
    )
    assert "cfgs = [[4, 1], [4, 0]]" in made.text
    assert "mode: str = 'a'" in made.text
    assert any("`cfgs` of Thing is here" in n.what for n in made.notes)


def test_a_parameter_that_is_only_asked_for_is_a_bool():
    text = converted(
        module(
            "Flow",
            "self.odd = odd\nself.fc = nn.Linear(dim, dim)",
            "x: y = -x if self.odd else x; return self.fc(y)",
            "dim, odd",
        )
        + module(
            "Thing",
            "self.flows = nn.ModuleList([Flow(dim, i % 2) for i in range(3)])",
            "x: \n        for flow in self.flows:\n            x = flow.forward(x)\n        return x",
        )
    ).text
    assert "odd: bool" in text
    assert "Flow(self.dim, bool(i % 2))" in text
    assert "x = flow(x)" in text


def test_a_function_in_the_place_of_a_layer_is_called_where_there_is_none():
    text = converted(
        module(
            "Thing",
            "self.cond = lambda x: x.new_zeros(x.size(0), 4)\n"
            "if deep:\n    self.cond = nn.Linear(4, 4)",
            "x: return x + self.cond(x)",
            "deep=True",
        )
    ).text
    assert "self.cond = Linear(4, 4) if self.deep else None" in text
    assert "if self.cond is not None else jnp.zeros((x.shape[0], 4), x.dtype)" in text


def test_layers_of_one_class_that_branches_set_are_one():
    text = converted(
        module(
            "Thing",
            "if up:\n    self.conv = nn.Linear(2 * dim, dim)\n    self.act = nn.Tanh()\n"
            "else:\n    self.conv = nn.Linear(dim, dim)\n    self.act = nn.ReLU()",
            "x: return self.act(self.conv(x))",
            "dim, up=False",
        )
    ).text
    assert "self.conv = Linear(2 * self.dim if self.up else self.dim, self.dim)" in text


def test_layers_that_branches_set_are_called_by_the_branch():
    text = converted(
        module(
            "Thing",
            "if up:\n    self.conv = nn.ConvTranspose2d(dim, dim, 4, 2, 1)\n    self.n = 1\n"
            "else:\n    self.conv = nn.Conv2d(dim, dim, 4, 2, 1)\n    self.n = 2",
            "x: return self.conv(x) * self.n",
            "dim, up=False",
        )
    ).text
    assert "if self.up\n" not in text
    assert "return self.conv(x) * self.n" in text


def test_a_list_of_layers_of_several_sizes_is_one_list():
    text = converted(
        module(
            "Thing",
            "self.maps = nn.ModuleList([nn.Linear(3, width)] + [nn.Linear(width, width) if i not in "
            "skips else nn.Linear(width + 3, width) for i in range(3)])\nself.skips = skips",
            "x: h = x; \n        for i, f in enumerate(self.maps):\n            h = f(h)\n"
            "            if i in self.skips:\n                h = torch.cat([x, h], -1)\n        return h",
            "width, skips=(1,)",
        )
    ).text
    assert "for own_0 in maps_sizes]" in text
    assert (
        "maps_sizes = [3, *[self.width if i not in self.skips else self.width + 3"
        in text
    )


def test_locals_that_functions_of_layers_read_are_attributes():
    text = converted(
        module(
            "Thing",
            "h, w = pair(size)\npatch_dim = 3 * h * w\nself.net = nn.Sequential("
            "Rearrange('b c (h p) (w q) -> b (h w) (p q c)', p=h, q=w), nn.Linear(patch_dim, 4))",
            "x: return self.net(x)",
            "size",
        )
        + "def pair(t):\n    return t if isinstance(t, tuple) else (t, t)\n",
        EINOPS + TORCH,
    ).text
    assert "x.shape[2] // self.size" in text
    assert "x: Float['batch 3 height width']" in text or "batch 3 axis2 axis3" in text


# Shapes.


def test_a_mask_that_a_function_of_the_file_takes_by_name_has_its_shape():
    text = converted(
        "def attend(q, k, mask=None):\n    scores = torch.matmul(q, k.transpose(-2, -1))\n"
        "    if mask is not None:\n        scores = scores.masked_fill(mask == 0, -1e9)\n"
        "    return scores\n\n\n"
        + module(
            "Thing",
            "self.fc = nn.Linear(dim, dim)",
            "x, mask: b, n, _ = x.shape; return attend(self.fc(x), x, mask=mask)",
        )
    ).text
    assert "mask: Bool['# b n n']" in forwards(text)["FromThing"]


def test_what_a_later_line_says_of_an_input_is_known_of_an_earlier_one():
    text = converted(
        module(
            "Thing",
            "self.attn = nn.Linear(enc_dim * 2 + dec_dim, dim)",
            "hidden, encoded: n = encoded.shape[0]; hidden = hidden.unsqueeze(1).repeat(1, n, 1); "
            "encoded = encoded.permute(1, 0, 2); "
            "return self.attn(torch.cat((hidden, encoded), dim=2))",
            "enc_dim, dec_dim, dim",
        ).replace("hidden", "decoded")
    ).text
    line = forwards(text)["FromThing"]
    assert "decoded: Float['batch dec_dim']" in line
    assert "encoded: Float['batch2 batch enc_dim*2']" in line


def test_patterns_tell_how_many_axes_a_mask_has():
    text = converted(
        module(
            "Thing",
            "self.fc = nn.Linear(dim, dim)",
            "x, mask: rows = rearrange(mask, 'b i -> b () i ()'); "
            "return self.fc(x).masked_fill(~rows, 0.0)",
        ),
        EINOPS + TORCH,
    ).text
    line = forwards(text)["FromThing"]
    [mask] = [p.split("']")[0] for p in line.split("mask: Bool['")[1:]]
    assert "*" not in mask
    assert len(mask.removeprefix("# ").split()) == 2


def test_parts_of_given_sizes_tell_the_size_of_the_whole():
    text = converted(
        module(
            "Thing",
            "self.a, self.b = a, b\nself.fc = nn.Linear(a, 1)",
            "x: y, z = torch.split(x, [self.a, self.b], dim=-1); return self.fc(y), z",
            "a, b",
        )
    ).text
    assert "x: Float['*batch a+b']" in text


def test_images_of_examples_are_large_enough_for_their_windows():
    made = converted(
        module(
            "Thing",
            "self.net = nn.Sequential(nn.Conv2d(3, 8, 7, stride=2), nn.MaxPool2d(3, 2), "
            "nn.Conv2d(8, 8, 3), nn.MaxPool2d(3, 2))",
            "x: return self.net(x)",
        )
    )
    assert "'x': (2, 3, 27, 27)" in made.text


# Arrays.


def values(made: Converted, name: str) -> dict[str, Any]:
    """The function of that name which stands beside the spec."""
    start = made.text.index(f"def {name}(")
    scope: dict[str, Any] = {"jnp": jnp}
    exec(made.text[start : made.text.index("\n\n\n", start)], scope)
    return scope[name]


@pytest.mark.parametrize("shape", [(10, 8), (7, 9), (1, 1), (3, 2)])
def test_images_are_resized_corner_to_corner(shape):
    made = converted(
        module("Thing", "self.up = nn.Upsample(scale_factor=2, mode='bilinear', "
               "align_corners=True)", "x: return self.up(x)")
    )  # fmt: skip
    resize: Any = values(made, "resize_aligned")
    x = np.random.default_rng(0).normal(size=(2, 3, 5, 4))
    rows, columns = shape
    wanted = np.zeros((2, 3, *shape))
    for i in range(rows):
        for j in range(columns):
            a = i * 4 / (rows - 1) if rows > 1 else 0.0
            b = j * 3 / (columns - 1) if columns > 1 else 0.0
            u, v = a - int(a), b - int(b)
            above, before = int(a), int(b)
            below, behind = min(above + 1, 4), min(before + 1, 3)
            wanted[..., i, j] = (1 - u) * (
                (1 - v) * x[..., above, before] + v * x[..., above, behind]
            ) + u * ((1 - v) * x[..., below, before] + v * x[..., below, behind])
    y = resize(jnp.asarray(x, jnp.float32), rows, columns)
    np.testing.assert_allclose(y, wanted, rtol=1e-5, atol=1e-5)


def test_ones_like_the_first_axes_of_an_array_are_of_its_shape():
    text = converted(
        module("Thing", "", "x: return x + torch.ones(*x.shape[:2]).unsqueeze(-1)")
        .replace("super().__init__()", "super().__init__()\n        self.dim = dim")
    ).text  # fmt: skip
    assert "jnp.ones(x.shape[:2], x.dtype)" in text


def test_a_module_may_have_the_name_of_a_view():
    text = converted(
        module(
            "Thing",
            "self.squeeze = nn.Linear(dim, dim)\nself.act = nn.ReLU(inplace=True)\n"
            "self.a = nn.Linear(dim, dim)",
            "x: x = self.act(self.squeeze(x)); return torch.cat([self.a(x), x], 1)",
        )
    ).text
    assert "x = jax.nn.relu(self.squeeze(x))" in text


NET = """\
class Unit(nn.Module):
    expansion = 1

    def __init__(self, inplanes, planes, stride=1, down=None, base_width=64, norm_layer=None):
        super().__init__()
        if norm_layer is None:
            norm_layer = nn.BatchNorm2d
        if base_width != 64:
            raise ValueError("only 64")
        self.conv = nn.Conv2d(inplanes, planes, 3, stride, 1)
        self.bn = norm_layer(planes)
        self.down = down

    def forward(self, x):
        y = self.bn(self.conv(x))
        return y + (x if self.down is None else self.down(x))


class Thing(nn.Module):
    def __init__(self, block, layers, width=64, dilate=None, norm_layer=None):
        super().__init__()
        if norm_layer is None:
            norm_layer = nn.BatchNorm2d
        self._norm_layer = norm_layer
        if dilate is None:
            dilate = [False, False]
        if len(dilate) != 2:
            raise ValueError("two")
        self.inplanes = 8
        self.dilation = 1
        self.base_width = width
        self.layer1 = self._make_layer(block, 8, layers[0])
        self.layer2 = self._make_layer(block, 16, layers[1], stride=2, dilate=dilate[0])

    def _make_layer(self, block, planes, blocks, stride=1, dilate=False):
        norm_layer = self._norm_layer
        down = None
        if dilate:
            self.dilation *= stride
            stride = 1
        if stride != 1 or self.inplanes != planes:
            down = nn.Sequential(nn.Conv2d(self.inplanes, planes, 1, stride), norm_layer(planes))
        layers = [block(self.inplanes, planes, stride, down, self.base_width, norm_layer)]
        self.inplanes = planes
        for _ in range(1, blocks):
            layers.append(block(self.inplanes, planes, norm_layer=norm_layer))
        return nn.Sequential(*layers)

    def forward(self, x):
        return self.layer2(self.layer1(x))


def thing(**kwargs):
    return Thing(Unit, [2, 2], **kwargs)
"""


def test_parameters_that_no_call_gives_are_what_none_stands_for():
    made = converted(NET)
    assert "self.bn = BatchNorm(self.planes)" in made.text
    assert "norm_layer" not in made.text
    assert "layers: Sizes = (2, 2)" in made.text
    unit = made.text[made.text.index("class Unit") :].partition("class Thing")[0]
    assert "base_width" not in unit
    told = [n.what for n in made.notes]
    assert any("`norm_layer` is always" in t for t in told)
    assert any("`base_width` of Unit" in t for t in told)


def test_lists_that_lines_and_loops_append_to_are_joined():
    text = converted(
        module(
            "Thing",
            "self.maps = nn.ModuleList()\nself.norms = nn.ModuleList()\n"
            "self.maps.append(nn.Linear(3, width))\nself.norms.append(nn.LayerNorm(width))\n"
            "for _ in range(n - 2):\n    self.maps.append(nn.Linear(width, width))\n"
            "    self.norms.append(nn.LayerNorm(width))\nself.maps.append(nn.Linear(width, out))",
            "x: \n        for i, f in enumerate(self.maps[:-1]):\n            x = self.norms[i](f(x))\n"
            "        return self.maps[-1](x)",
            "width, out, n=3",
        )
    ).text
    assert "maps_sizes = [(3, self.width), *[(self.width, self.width) for _" in text
    assert "self.maps = [Linear(own_0, own_1) for own_0, own_1 in maps_sizes]" in text
    assert "self.norms = [LayerNorm(self.width) for _ in norms_sizes]" in text
    assert "self.norms[i](f(x))" in text


def test_an_element_of_layers_of_several_kinds_by_its_place_is_listed():
    body = module(
        "Thing",
        "self.parts = nn.Sequential(nn.Linear(dim, dim), nn.Tanh())\nself.n = 2",
        "x: \n        for i in range(self.n):\n            x = self.parts[i](x)\n        return x",
    )
    made = convert("thing.py", TORCH + body, "Thing", "Thing")
    [note] = [n for n in made.notes if n.blocks]
    assert "x = self.parts[i](x)" in (TORCH + body).splitlines()[note.line - 1]


def test_a_class_that_is_called_as_its_attribute_has_another_name():
    text = converted(
        module("moving_avg", "self.pool = nn.AvgPool1d(size)", "x: return self.pool(x)", "size")
        + module("Thing", "self.moving_avg = moving_avg(2)", "x: return self.moving_avg(x)")
    ).text  # fmt: skip
    assert "class MovingAvg(Layer):" in text
    assert "self.moving_avg = MovingAvg(2)" in text


def test_a_parameter_that_has_the_name_of_such_a_class_keeps_it():
    text = converted(
        module("moving_avg", "self.pool = nn.AvgPool1d(size)", "x: return self.pool(x)", "size")
        + module("Part", "self.moving_avg = moving_avg(2)", "x: return self.moving_avg(x)")
        + module("Thing", "self.part = Part(8)\nself.own = nn.Linear(dim, moving_avg)",
                 "x: return self.own(self.part(x))", "dim, moving_avg"),
    ).text  # fmt: skip
    assert "Linear(self.dim, self.moving_avg)" in text
    assert "self.moving_avg = MovingAvg(2)" in text


def test_an_assertion_about_numbers_is_left_out_and_told():
    made = converted(
        module(
            "Thing",
            "self.fc = nn.Linear(dim, dim)",
            "x: y = self.fc(x); assert (y == y).all(); return y",
        )
    )
    assert "assert" not in made.text
    assert "require" not in made.text
    [note] = made.notes
    assert "asks for the numbers of arrays" in note.what


def test_a_flag_of_a_method_that_makes_layers_is_handed_on():
    text = converted(
        "class Thing(nn.Module):\n    def __init__(self, dim):\n        super().__init__()\n"
        "        self.net = nn.Sequential(self.linear(dim, dim), nn.ReLU())\n\n    @staticmethod\n"
        "    def linear(i, o, bias=False):\n        return nn.Linear(i, o, bias=bias)\n\n"
        "    def forward(self, x):\n        return self.net(x)\n"
    ).text
    assert "self.net_0 = Linear(self.dim, self.dim, use_bias=False)" in text


@pytest.mark.parametrize(("default", "zero"), [("False", False), ("True", True)])
def test_what_fills_weights_under_a_flag_is_done_as_by_default_and_told(default, zero):
    made = converted(
        module("Unit", "self.norm = nn.BatchNorm2d(dim)", "x: return self.norm(x)")
        + module(
            "Thing",
            "self.unit = Unit(dim)\nif zero:\n    for m in self.modules():\n"
            "        if isinstance(m, Unit):\n            nn.init.constant_(m.norm.weight, 0)",
            "x: return self.unit(x)",
            f"dim, zero={default}",
        )
    )
    assert ("scale_initializer=constant(0)" in made.text) == zero
    [note] = made.notes
    assert "what fills weights under `zero` of Thing" in note.what


def test_labels_that_are_flattened_as_their_scores_are_have_their_shape():
    text = converted(
        module(
            "Thing",
            "self.embed = nn.Embedding(dim, 4)\nself.head = nn.Linear(4, dim)",
            "tokens, targets=None: b, t = tokens.size(); y = self.head(self.embed(tokens)); "
            "return F.cross_entropy(y.view(-1, y.size(-1)), targets.view(-1), ignore_index=-1)",
        )
    ).text
    # No case is there for None.
    assert "targets: Int['b t'])" in text


def test_a_mask_that_may_not_be_there_is_inverted_where_it_is():
    text = converted(
        module(
            "Thing",
            "self.attn = nn.MultiheadAttention(dim, 4, batch_first=True)\n"
            "self.enc = nn.TransformerEncoderLayer(dim, 4, batch_first=True)",
            "x, mask=None, pad=None: h, _ = self.attn(x, x, x, attn_mask=mask); "
            "return self.enc(h, src_mask=mask, src_key_padding_mask=pad)",
        )
    ).text
    assert "self.attn(x, mask=None if mask is None else ~mask)" in text
    there = "~pad[:, None, None, :]"
    assert (
        f"mask=(None if pad is None else {there}) if mask is None else "
        f"~mask if pad is None else ~mask & {there})"
    ) in " ".join(text.split()).replace("( ", "(").replace(" )", ")")


def test_a_depth_beside_sides_of_an_image_is_a_count():
    text = converted(
        module(
            "Thing",
            "self.embed = nn.Linear(height * width, dim)\n"
            "self.layers = nn.ModuleList([nn.Linear(dim, dim) for _ in range(depth)])",
            "x: x = self.embed(x.flatten(1)); "
            "x = [layer(x) for layer in self.layers][-1]; return x",
            "dim, height, width, depth",
        )
    ).text
    assert '"depth": 2' in text.replace("'", '"')
