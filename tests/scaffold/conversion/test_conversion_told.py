"""What PyTorch's code says beside what is computed: dtypes, devices, arguments that never differ."""

from __future__ import annotations

import pytest
from test_conversion_forms import TORCH, converted

from mlax_scaffold.conversion import convert

EINOPS = TORCH + "from einops import rearrange, repeat, einsum\n"


def layer(setup: str, forward: str, given: str = "dim", more: str = "") -> str:
    lines = ["class Thing(nn.Module):", f"    def __init__(self, {given}):"]
    lines += ["        super().__init__()"]
    lines += [f"        {line}" for line in setup.splitlines()]
    lines += ["", "    def forward(self, x):"]
    lines += [f"        {line}" for line in forward.splitlines()]
    return more + "\n".join(lines) + "\n"


def test_annotations_of_locals_are_left_out():
    text = converted(
        layer(
            "self.fc: nn.Linear = nn.Linear(dim, dim)",
            "y: torch.Tensor = self.fc(x)\nreturn y",
        )
    ).text
    assert "y = self.fc(x)" in text


def test_sizes_of_parts_have_the_name_that_pytorch_gives_them():
    text = converted(
        layer(
            "self.fc = nn.Linear(dim, 2 * dim)\nself.dim = dim",
            "a, b = self.fc(x).split(split_size=[self.dim, self.dim], dim=-1)\nreturn a * b",
        )
    ).text
    assert "jnp.split(self.fc(x), " in text


def test_patterns_may_be_of_the_last_axes():
    text = converted(
        layer(
            "self.fc = nn.Linear(dim, dim)",
            "x = rearrange(self.fc(x), '... (d r) -> ... d r', r=2)\n"
            "a, b = x.unbind(dim=-1)\n"
            "x = torch.stack((-b, a), dim=-1)\n"
            "return rearrange(x, '... d r -> ... (d r)')",
        ),
        EINOPS,
    ).text
    assert "reshape(*rearranged.shape[:-1], rearranged.shape[-1] // 2, 2)" in text
    assert "return x.reshape(*x.shape[:-2], x.shape[-2] * x.shape[-1])" in text


def test_sums_over_named_axes_have_letters():
    text = converted(
        layer(
            "self.a = nn.Parameter(torch.ones(dim, 4))",
            "return einsum(x, self.a, 'batch length d_in, d_in n -> batch length n')",
        ),
        EINOPS,
    ).text
    assert "return jnp.einsum('bld, dn -> bln', x, self.a)" in text


HELPER = """\
def table(length, dim, dtype=torch.float32):
    assert dim % 2 == 0, "dim must be even"
    angles = torch.arange(length)[:, None] / 10.0 ** torch.arange(dim // 2)
    return torch.cat((angles.sin(), angles.cos()), dim=1).type(dtype)


"""


def test_functions_are_told_no_dtype_and_require_what_they_assert():
    text = converted(
        layer(
            "self.register_buffer('table', table(8, dim))",
            "return x + self.table",
            more=HELPER,
        )
    ).text
    assert "def table(length, dim):" in text or "def table(length, dim, *" in text
    assert "require(dim % 2 == 0, 'dim must be even')" in text
    assert "np.require" not in text


def test_devices_are_no_parameters():
    text = converted(
        layer(
            "self.bias = nn.Embedding(8, dim)",
            "return x + self.positions(x.shape[1])",
            more="",
        ).replace(
            "    def forward",
            "    def positions(self, length, device=None):\n"
            "        if device is None:\n"
            "            device = self.bias.weight.device\n"
            "        return self.bias(torch.arange(length, device=device))\n\n"
            "    def forward",
        )
    ).text
    assert "device" not in text


MLP = """\
class Mlp(nn.Module):
    def __init__(self, dim, hidden, act=swish):
        super().__init__()
        if hidden is None:
            hidden = 4 * dim
            hidden = int(2 * hidden / 3)
        self.up = nn.Linear(dim, hidden)
        self.down = nn.Linear(hidden, dim)
        self.act = act

    def forward(self, x):
        return self.down(self.act(self.up(x)))


"""
SWISH = "def swish(x):\n    return x * torch.sigmoid(x)\n\n\n"


def test_arguments_that_are_never_given_otherwise_are_written_in_place():
    text = converted(
        layer(
            "self.mlp = Mlp(dim, hidden=None)", "return self.mlp(x)", more=SWISH + MLP
        )
    ).text
    assert "hidden: " not in text
    assert "act" not in text
    assert "hidden = 4 * self.dim" in text
    assert "return self.down(swish(self.up(x)))" in text


def test_properties_that_compute_with_weights_are_called():
    text = converted(
        layer(
            "self.weight = nn.Parameter(torch.ones(dim))\nself.scale = nn.Parameter(torch.ones(dim))",
            "return x * self.scaled",
        ).replace(
            "    def forward",
            "    @property\n    def scaled(self):\n        return self.weight * self.scale\n\n"
            "    def forward",
        )
    ).text
    assert "property" not in text
    assert "return x * self._scaled()" in text


def test_methods_without_a_counterpart_that_nothing_calls_are_left_out():
    made = converted(
        layer("self.fc = nn.Linear(dim, dim)", "return self.fc(x)")
        + "\n    def unwrap(self):\n        torch.nn.utils.remove_weight_norm(self.fc)\n"
    )
    assert "unwrap" not in made.text
    assert [n.what for n in made.notes] == [
        "`unwrap` is left out: nothing of the file calls it"
    ]


def test_indices_that_are_shifted_stay_indices():
    text = converted(
        layer(
            "self.table = nn.Embedding(sum(sizes), dim)\n"
            "self.offsets = np.array((0, *np.cumsum(sizes)[:-1]), dtype=np.int64)",
            "x = x + x.new_tensor(self.offsets).unsqueeze(0)\nreturn self.table(x)",
            "sizes, dim",
        ),
        TORCH.replace("import torch\n", "import numpy as np\nimport torch\n", 1),
    ).text
    assert "jnp.asarray(self.offsets, dtype=x.dtype)" in text


def test_a_weight_with_single_axes_tells_how_many_its_input_has():
    text = converted(
        layer(
            "self.gamma = nn.Parameter(torch.zeros(1, 1, 1, dim))",
            "y = torch.norm(x, p=2, dim=(1, 2), keepdim=True)\nreturn self.gamma * (x * y) + x",
        )
    ).text
    assert "x: Float['batch _ _ dim']" in text


def test_windows_that_overlap_in_pytorch_are_told():
    made = converted(
        layer("self.pool = nn.AdaptiveAvgPool2d((7, 7))", "return self.pool(x)", "dim")
    )
    assert any("overlap" in n.what for n in made.notes)
    made = converted(
        layer("self.pool = nn.AdaptiveAvgPool2d(1)", "return self.pool(x)")
    )
    assert not made.notes


def test_arrays_that_are_changed_where_they_are_made_are_expressions():
    text = converted(
        layer(
            "self.weight = nn.Parameter(torch.randn(dim, 4).div_(scale))\n"
            "self.bias = nn.Parameter(torch.zeros(4).fill_(start))",
            "scale = 127.0 / x.abs().max(dim=-1, keepdim=True).values.clamp_(min=1e-5)\n"
            "return (x * scale) @ self.weight + self.bias",
            "dim, scale=2.0, start=1.0",
        )
    ).text
    assert "self.weight = trainable(normal(1.0 / self.scale), (self.dim, 4))" in text
    assert "self.bias = trainable(constant(self.start), (4,))" in text
    assert "jnp.clip(jnp.max(jnp.abs(x), axis=-1, keepdims=True), 1e-05, None)" in text


def test_weights_may_begin_as_what_setup_computes():
    text = converted(
        layer(
            "A = repeat(torch.arange(1, states + 1), 'n -> d n', d=dim)\n"
            "self.A_log = nn.Parameter(torch.log(A))",
            "return x @ self.A_log",
            "dim, states=4",
        ),
        EINOPS,
    ).text
    assert "initial_A_log = np.log(A)" in text
    assert "jnp.asarray(initial_A_log, dtype), initial_A_log.shape)" in text


def test_attention_over_sequences_that_come_first_is_turned_around():
    text = converted(
        layer(
            "self.attn = nn.MultiheadAttention(dim, heads)",
            "y = self.attn(x, x, x)[0]\nz, _ = self.attn(query=x, key=y, value=y)\nreturn y + z",
            "dim, heads",
        )
    ).text
    assert "y = jnp.swapaxes(self.attn(jnp.swapaxes(x, 0, 1)), 0, 1)" in text
    assert "z = self.attn(jnp.swapaxes(x, 0, 1), context=jnp.swapaxes(y, 0, 1))" in text
    assert "z = jnp.swapaxes(z, 0, 1)" in text
    assert "None" not in text


POST_INIT = """\
from dataclasses import dataclass
from typing import Union


@dataclass
class ModelArgs:
    dim: int
    expand: int = 2
    rank: Union[int, str] = "auto"

    def __post_init__(self):
        self.inner = int(self.expand * self.dim)
        if self.rank == "auto":
            self.rank = self.dim // 4


"""


def test_settings_that_a_configuration_computes_are_computed():
    text = converted(
        layer(
            "self.up = nn.Linear(args.dim, args.inner)\n"
            "self.down = nn.Linear(args.inner, args.rank)",
            "return self.down(self.up(x))",
            "args: ModelArgs",
            POST_INIT,
        )
    ).text
    assert "self.up = Linear(self.dim, int(self.expand * self.dim))" in text
    assert "rank: Size | None = None" in text
    assert "self.dim // 4 if self.rank is None else self.rank" in text


def test_objects_that_are_not_followed_are_no_sizes():
    made = convert(
        "thing.py",
        TORCH
        + layer(
            "self.size = len(spec.stages)\nself.fc = nn.Linear(spec.width, spec.size())",
            "return self.fc(x)",
            "spec",
        ),
        "Thing",
        "FromThing",
    )
    assert not made.whole


def test_contexts_that_change_nothing_are_left_out():
    text = converted(
        layer(
            "self.fc = nn.Linear(dim, dim)",
            "with warnings.catch_warnings():\n"
            "    warnings.simplefilter('ignore')\n"
            "    with torch.autocast('cuda', enabled=False):\n"
            "        y = self.fc(x)\n"
            "return y",
        ),
        "import warnings\n" + TORCH,
    ).text
    assert "warnings" not in text
    assert "y = self.fc(x)" in text


def test_layers_that_all_objects_share_are_made_by_each():
    text = converted(
        layer(
            "self.act = self.default if act is True else nn.Identity()",
            "return self.act(x)",
            "act=True",
        ).replace(
            "class Thing(nn.Module):",
            "class Thing(nn.Module):\n    default = nn.SiLU()\n",
        )
    ).text
    assert "jax.nn.silu(x)" in text


def test_less_than_no_padding_cuts_off():
    text = converted(
        layer(
            "self.shift = nn.ZeroPad2d((0, 0, 1, -1))", "return x + self.shift(x)", ""
        )
    ).text
    assert "lax.pad(x, jnp.asarray(0, x.dtype)" in text
    assert "[(1, -1, 0), (0, 0, 0)]" in text


def test_what_all_axes_before_are_called_is_that_of_the_input():
    text = converted(
        layer(
            "self.emb = nn.Embedding(8, dim)\nself.fc = nn.Linear(dim, 8)",
            "y = self.emb(x)\nfor i in range(2):\n    y = y + y\nreturn self.fc(y)",
        )
    ).text
    assert "x: Int['*shape']) -> Float['*shape 8']" in text or "*batch" not in text


def test_choices_between_sums_of_layers_are_branches():
    text = converted(
        layer(
            "self.fc = nn.Linear(dim, dim)\nself.norm = nn.BatchNorm1d(dim)\nself.add = add",
            "return x + self.norm(self.fc(x)) if self.add else self.norm(self.fc(x))",
            "dim, add=True",
        )
    ).text
    assert "if self.add:\n            return x + self.norm(self.fc(x))" in text


def test_a_weight_has_another_shape_where_a_condition_fails():
    text = converted(
        layer(
            "if bias and concat:\n"
            "    self.bias = nn.Parameter(torch.zeros(heads * dim))\n"
            "elif bias and not concat:\n"
            "    self.bias = nn.Parameter(torch.zeros(dim))\n"
            "else:\n"
            "    self.register_parameter('bias', None)",
            "if self.bias is not None:\n    x = x + self.bias\nreturn x",
            "dim, heads, bias=True, concat=True",
        )
    ).text
    assert text.count("self.bias = ") == 1
    assert (
        "else trainable(zeros, (self.dim,)) if self.use_bias and (not self.concat)"
        in text
    )


def test_buffers_of_indices_stay_indices():
    made = converted(
        layer(
            'self.register_buffer("places", torch.arange(9).expand((1, -1)))\n'
            'self.register_buffer("scale", torch.arange(9) / 9.0)\n'
            "self.embed = nn.Embedding(9, dim)",
            "places = self.places[:, : x.shape[1]]\n"
            "return x + self.embed(places) * self.scale[0]",
        )
    )
    assert "jnp.asarray(self.places)[:, :x.shape[1]]" in made.text
    assert "jnp.asarray(self.scale, x.dtype)" in made.text


def test_the_first_position_of_a_sequence_tells_its_axes():
    made = converted(layer("self.fc = nn.Linear(dim, dim)", "return self.fc(x[:, 0])"))
    assert "x: Float['batch positions dim']" in made.text


@pytest.mark.parametrize(
    ("asked", "size"), [(">= '1.5.0'", 1), ("< '1.5.0'", 2)], ids=["later", "earlier"]
)
def test_the_version_of_pytorch_is_a_late_one(asked, size):
    setup = (
        f"pad = 1 if torch.__version__ {asked} else 2\nself.fc = nn.Linear(dim, pad)"
    )
    assert f"pad = {size}" in converted(layer(setup, "return self.fc(x)")).text


def test_locals_that_are_not_trained_are_what_they_are():
    setup = (
        "pe = torch.zeros(4, dim)\npe.require_grad = False\n"
        "self.register_buffer('pe', pe)"
    )
    assert "require" not in converted(layer(setup, "return x + self.pe[0]")).text


@pytest.mark.parametrize(
    ("call", "made"),
    [
        (
            "torch.zeros_like(x).index_add_(0, at, x)",
            "jnp.zeros_like(x).at[at].add(x)",
        ),
        ("x.index_add(1, at, x)", "x.at[:, at].add(x)"),
        ("x.index_add(-1, at, x)", "x.at[..., at].add(x)"),
        (
            "x.scatter_add(0, at, x)",
            "x.at[*jnp.indices(at.shape)[:0], at, *jnp.indices(at.shape)[1:]].add(x)",
        ),
        ("x.flip(dims=(1,))", "jnp.flip(x, axis=(1,))"),
        ("x.flip(0, 1)", "jnp.flip(x, axis=(0, 1))"),
    ],
)
def test_sums_at_indices_and_axes_that_are_turned_around(call, made):
    body = layer("self.dim = dim", f"return {call}").replace(
        "(self, x)", "(self, x, at)"
    )
    text = converted(body).text.replace("[(", "[").replace(")].add", "].add")
    assert made in text


@pytest.mark.parametrize(
    ("forward", "told"),
    [
        ("return x.transpose(2, 3)", "channels height width']"),
        (
            "return self.fc(torch.cat([x, at], 1))",
            "x: Float['batch dim'], at: Float['batch dim']",
        ),
        (
            "a, b, c = x.shape\nreturn x + self.embed(at)",
            "x: Float['a b dim'], at: Int['a b']",
        ),
        (
            "return self.fc(torch.cat((x.unsqueeze(1).repeat(1, at.shape[1], 1), at), dim=2))",
            " dim'], at: Float['",
        ),
    ],
    ids=["exchanged", "joined", "looked up", "repeated"],
)
def test_what_is_done_with_inputs_tells_how_many_axes_they_have(forward, told):
    setup = "self.fc = nn.Linear(dim + dim, dim)\nself.embed = nn.Embedding(9, dim)"
    body = layer(setup, forward).replace("(self, x)", "(self, x, at)")
    assert told in converted(body).text


def test_targets_that_nothing_reads_are_indices_where_tokens_are():
    body = layer(
        "self.embed = nn.Embedding(9, dim)\nself.loss = None",
        "x = self.embed(x)\n"
        "if targets is not None:\n    self.loss = F.mse_loss(x, targets)\n"
        "else:\n    x = x * 2\nreturn x",
    ).replace("(self, x)", "(self, x, targets=None)")
    assert "targets: Int['*shape'] | None" in converted(body).text


def test_a_size_with_the_name_of_several_is_one_where_a_layer_is_made_with_it():
    body = layer(
        "self.fc = nn.Linear(input_dims, 4)", "return self.fc(x)", "input_dims"
    )
    assert "input_dims: Size\n" in converted(body).text
    many = "self.fcs = nn.ModuleList([nn.Linear(4, n) for n in [4, 4] + [output_dims]])"
    body = layer(many, "return self.fcs[2](x)", "output_dims")
    assert "output_dims: Size\n" in converted(body).text


def test_methods_of_code_beside_the_model_are_left_out():
    more = "\n    def act(self, x):\n        return self.forward(x).max(1)[1].item()\n"
    body = layer("self.fc = nn.Linear(dim, 4)", "return self.fc(x)") + more
    assert "act" not in converted(body).text.replace("activation", "")


def test_rows_and_stacked_arrays_have_as_many_axes_as_each_other():
    """What is asked of the first input, whose rank is told by that alone, is so of the others."""
    setup = "self.fc = nn.Linear(dim, dim)\nself.embed = nn.Embedding(9, dim)"
    forward = (
        "n, t = x.shape[0], x.shape[1]\n"
        "y = self.fc(x) + self.embed(at)\n"
        "return torch.stack((y, self.fc(z)), dim=1).reshape(n, 2 * t, -1)"
    )
    body = layer(setup, forward).replace("(self, x)", "(self, x, at, z)")
    text = converted(body).text
    assert "x: Float['batch positions dim']" in text
    assert "at: Int['batch positions']" in text
    assert "z: Float['batch positions dim']" in text


def test_the_mask_of_an_encoder_has_an_axis_for_queries_and_one_for_keys():
    setup = "self.layer = nn.TransformerEncoderLayer(dim, 2, batch_first=True)"
    body = layer(setup, "return self.layer(x, src_mask=mask)")
    text = converted(body.replace("(self, x)", "(self, x, mask)")).text
    assert "mask: Bool['axis2 axis2']" in text


def test_images_are_as_large_as_the_parts_that_they_are_split_into():
    setup = "self.conv = nn.Conv2d(4 * dim, dim, 3)"
    forward = (
        "b, c, h, w = x.shape\n"
        "x = x.view(b, c, h // 2, 2, w // 2, 2).permute(0, 1, 3, 5, 2, 4)\n"
        "return self.conv(x.contiguous().view(b, c * 4, h // 2, w // 2))"
    )
    trial = converted(layer(setup, forward)).trial
    assert trial is not None
    [(_, shape)] = trial.inputs
    *_, height, width = shape
    assert int(str(height)) % 2 == int(str(width)) % 2 == 0


@pytest.mark.parametrize(
    "moved",
    [
        "self.mask = self.mask.to(x.device)",
        "self.mask = self.mask.to(dtype=x.dtype) if self.mask is not None else None",
    ],
)
def test_attributes_that_are_moved_are_what_they_are(moved):
    setup = "self.mask = None\nself.fc = nn.Linear(dim, dim)"
    made = converted(layer(setup, f"{moved}\nreturn self.fc(x)"))
    assert "mask =" not in made.text


def test_no_padding_is_one_too():
    setup = "self.conv = nn.Conv1d(3, 4, 1, padding=padding)"
    assert (
        "padding: Count\n"
        in converted(layer(setup, "return self.conv(x)", "padding")).text
    )
