"""Habits of PyTorch's repositories: settings of a command line, lists of maps, calls that are told a text."""

from __future__ import annotations

import ast
import re

from test_conversion_forms import TORCH, converted
from test_conversion_torch import module

from mlax_scaffold.conversion import convert
from mlax_scaffold.conversion.shapes.annotations import with_leading_axes

# Settings that a program is given.

PARSED = """
def parsed():
    parser = argparse.ArgumentParser()
    parser.add_argument("--hidden-size", type=int, default=24)
    parser.add_argument("--norm", type=str, default="batch", choices=["batch", "none"])
    parser.add_argument("--gated", action="store_true")
    parser.add_argument("--rate", type=float)
    return parser.parse_args()


"""
CHOOSING = """\
if args.norm == 'batch':
    self.net = nn.Sequential(nn.Linear(4, args.hidden_size), nn.BatchNorm1d(args.hidden_size))
elif args.norm == 'none':
    self.net = nn.Sequential(nn.Linear(4, args.hidden_size))"""


def test_settings_of_a_command_line_have_the_types_and_defaults_of_their_arguments():
    text = converted(
        PARSED
        + module(
            "Thing",
            "self.gated = args.gated\nself.drop = nn.Dropout(args.rate)\n"
            "self.fc = nn.Linear(4, args.hidden_size)",
            "x: y = self.drop(self.fc(x)); return y * y if self.gated else y",
            "args",
        )
    ).text
    assert "hidden_size: Size = 24" in text
    assert "gated: bool = False" in text
    assert "rate: Probability\n" in text


def test_a_text_of_a_command_line_says_which_layers_there_are():
    made = converted(
        PARSED + module("Thing", CHOOSING, "x: return self.net(x)", "args")
    )
    assert "BatchNorm(self.hidden_size)" in made.text
    assert made.trial is not None
    assert ("args.norm", "'batch'") in made.trial.given


def test_a_text_that_nothing_gives_is_the_first_one_that_is_asked_for():
    made = converted(module("Thing", CHOOSING, "x: return self.net(x)", "args"))
    assert "BatchNorm(self.hidden_size)" in made.text
    assert made.trial is not None
    assert ("args.norm", "'batch'") in made.trial.given


def test_a_text_of_a_configuration_says_which_layers_there_are():
    config = "@dataclass\nclass Config:\n    norm: str = 'batch'\n    hidden_size: int = 8\n\n\n"
    text = converted(
        "from dataclasses import dataclass\n\n\n"
        + config
        + module("Thing", CHOOSING, "x: return self.net(x)", "args: Config")
    ).text
    assert "BatchNorm(self.hidden_size)" in text


# Inputs.

LIST_INPUT = "from typing import List\n" + TORCH


def test_an_input_that_is_a_list_holds_any_number_of_arrays():
    text = converted(
        module(
            "Thing",
            "self.conv = nn.Conv2d(dim, 3, 1)",
            "maps: found = [self.conv(m).flatten(1) for m in maps]; return torch.cat(found, 1)",
        ).replace("(self, maps)", "(self, maps: List[torch.Tensor])"),
        LIST_INPUT,
    ).text
    assert "maps: tuple[Float['_ dim _ _'], ...]" in text
    # Each is computed in its pass, once.
    assert "for conv in [self.conv(m) for m in maps]]" in text


def test_each_array_of_a_list_has_the_channels_of_the_layer_that_takes_it():
    text = converted(
        module(
            "Thing",
            "self.conv = nn.Conv2d(dim, 3, 1)",
            "maps: found = []; _; return torch.cat(found, 1)",
        )
        .replace("(self, maps)", "(self, maps: List[torch.Tensor])")
        .replace(
            "        _\n",
            "        for m in maps:\n            found.append(self.conv(m).flatten(1))\n",
        ),
        LIST_INPUT,
    ).text
    assert "maps: tuple[Float['_ dim _ _'], ...]" in text


def test_a_list_whose_arrays_go_to_layers_of_their_own_has_as_many():
    text = converted(
        module(
            "Thing",
            "self.inner = nn.ModuleList()\n"
            "for width in (4, 6):\n    if width == 0:\n        continue\n"
            "    self.inner.append(nn.Conv2d(width, 8, 1))",
            "x: last = self.inner[-1](x[-1]); _; return last",
            "",
        ).replace(
            "        _\n",
            "        for i in range(len(x) - 2, -1, -1):\n"
            "            last = self.inner[i](x[i]) + last.mean()\n",
        )
    ).text
    assert re.search(
        r"x: tuple\[Float\['batch 4 height width'\], Float\['\w+ 6 .*'\]\]", text
    )
    assert "last = self.inner_1(x[-1])" in text
    assert "last = self.inner_0(x[0]) + mean(last)" in text


def test_for_each_node_of_a_batch_of_graphs_there_is_one_index():
    text = converted(
        module(
            "Thing",
            "self.fc = nn.Linear(dim, 3)",
            "x, edge_index, batch: src, dst = edge_index; "
            "h = torch.zeros_like(x).index_add_(0, dst, x[src]); "
            "return torch.zeros(4, 3).index_add_(0, batch, self.fc(x + h))",
        )
    ).text
    assert "batch: Int['nodes']" in text


def test_lengths_and_what_is_shifted_are_whole_numbers():
    text = converted(
        module(
            "Thing",
            "self.fc = nn.Linear(dim, dim)",
            "x, input_lengths, other: return self.fc(x), input_lengths // 2, other >> 2",
        )
    ).text
    assert "input_lengths: Int[" in text
    assert "other: Int[" in text


def test_a_number_that_the_call_does_not_read_is_left_out():
    made = converted(
        module(
            "Thing", "self.fc = nn.Linear(dim, dim)", "x, ratio=0.5: return self.fc(x)"
        )
    )
    assert "ratio" not in made.text
    assert "`ratio` of the call is left out" in str(made.notes)


def test_a_mask_that_is_subtracted_beside_indices_gets_the_dtype_of_a_weight():
    text = converted(
        module(
            "Thing",
            "self.embed = nn.Embedding(16, dim)",
            "ids, attention_mask=None: h = self.embed(ids); "
            "m = torch.ones(ids.shape) if attention_mask is None else attention_mask; "
            "return h - (1.0 - m[:, :, None]) * 1e4",
        )
    ).text
    assert "attention_mask: Bool[" in text
    assert "attention_mask = attention_mask.astype(self.embed.embedding.dtype)" in text


def test_a_mask_that_is_subtracted_holds_numbers_also_where_ones_stand_for_it():
    text = converted(
        module(
            "Thing",
            "self.fc = nn.Linear(dim, dim)",
            "x, mask=None: _; return self.fc(x) - (1.0 - mask[:, :, None])",
        ).replace(
            "        _\n",
            "        if mask is None:\n            mask = torch.ones(x.shape[:2])\n",
        )
    ).text
    assert "mask: Float[" in text


def test_axes_that_a_comment_tells_may_stand_between_crosses():
    text = "class Thing(nn.Module):\n    def __init__(self, seq_len):\n        super().__init__()\n"
    text += "        self.fc = nn.Linear(seq_len, 4)\n\n"
    text += "    def forward(self, z):  # z: [bs x nvars x seq_len]\n        return self.fc(z)\n"
    made = convert("thing.py", TORCH + text, "Thing", "FromThing", axes=-1)
    assert "z: Float['batch nvars seq_len']" in made.text


# Calls that a text tells what to do.

SCALING = """\
class Scaling(nn.Module):
    def __init__(self, dim, affine=True):
        super().__init__()
        self.affine = affine
        if self.affine:
            self._begin(dim)

    def _begin(self, dim):
        self.gain = nn.Parameter(torch.ones(dim))

    def forward(self, x, mode):
        if mode == "norm":
            self._measure(x)
            x = self._normalize(x)
        elif mode == "denorm":
            x = x / self.gain if self.affine else x
            x = x + self.mean
        else:
            raise NotImplementedError
        return x

    def _measure(self, x):
        self.mean = x.mean(1, keepdim=True).detach()

    def _normalize(self, x):
        x = x - self.mean
        if self.affine:
            x = x * self.gain
        return x


"""


def test_a_layer_has_a_method_for_each_text_that_it_is_called_with():
    text = converted(
        SCALING
        + module(
            "Thing",
            "self.scaling = Scaling(dim)\nself.fc = nn.Linear(dim, dim)",
            "x: x = self.scaling(x, 'norm'); x = self.fc(x); return self.scaling(x, 'denorm')",
        )
    ).text
    assert "x, scaling_mean = self.scaling.forward_norm(x)" in text
    assert "return self.scaling.forward_denorm(x, mean=scaling_mean)" in text
    assert "mean_ = lax.stop_gradient(mean(x, axis=1, keepdims=True))" in text
    assert "return (x, mean_)" in text
    assert "return self.forward_norm(x)[0]" in text
    assert "self.gain = trainable(ones, (self.dim,)) if self.affine else None" in text


def test_a_layer_that_is_told_to_denormalize_first_stays_as_it_is():
    made = convert(
        "thing.py",
        TORCH
        + SCALING
        + module(
            "Thing",
            "self.scaling = Scaling(dim)",
            "x: x = self.scaling(x, 'denorm'); return self.scaling(x, 'norm')",
        ),
        "Thing",
        "FromThing",
    )
    assert not made.whole


# What constructors say.


def test_a_layer_that_no_call_gives_is_the_one_that_stands_there():
    text = converted(
        module("Swish", "pass", "x: return x * x.sigmoid()", "")
        + module(
            "Block",
            "self.act = act or Swish()\nself.fc = nn.Linear(dim, dim)",
            "x: return self.act(self.fc(x))",
            "dim, act=None",
        )
        + module("Thing", "self.block = Block(dim)", "x: return self.block(x)")
    ).text
    assert "self.act = Swish()" in text


def test_a_layer_that_stands_there_under_a_condition_is_told_of_the_class_that_is_asked_for():
    made = converted(
        module(
            "Thing",
            "if norm is None:\n    norm = nn.LayerNorm(dim)\nself.norm = norm",
            "x: return self.norm(x)",
            "dim, norm=None",
        )
    )
    assert "self.norm = LayerNorm(self.dim)" in made.text
    assert "`norm` is always `nn.LayerNorm(dim)`" in str(made.notes)


def test_a_number_that_a_class_is_given_with_a_point_is_no_size():
    text = converted(
        module(
            "Rotary", "self.base = base", "x: return x * self.base", "dim, base=10000"
        )
        + module(
            "Thing",
            "self.rotary = Rotary(dim, base=theta)",
            "x: return self.rotary(x)",
            "dim, theta: float = 1e6",
        )
    ).text
    assert "base: Positive = 10000.0" in text


def test_a_number_that_is_taken_bit_by_bit_is_a_size():
    text = converted(
        module(
            "Thing",
            "self.ups = nn.ModuleList([nn.PixelShuffle(2) for _ in range(scale & 3)])",
            "x: _; return x",
            "scale",
        ).replace("        _\n", "        for up in self.ups:\n            x = up(x)\n")
    ).text
    assert "scale: Size" in text


def test_a_sequence_of_numbers_is_no_shape_of_a_tensor():
    text = converted(
        module(
            "Thing",
            "self.a = nn.Parameter(torch.Tensor([eps]))\n"
            "self.b = nn.Parameter(torch.FloatTensor([1.0, 2.0]))",
            "x: return x * self.a + self.b.sum()",
            "eps=0.5",
        )
    ).text
    assert "self.a = trainable(constant(self.eps), (1,))" in text
    assert "jnp.asarray([1.0, 2.0], dtype), (2,))" in text


def test_texts_that_are_known_decide_by_their_methods():
    text = converted(
        module(
            "Part",
            "if 'batch' in norm.lower():\n    self.norm = nn.Sequential(nn.BatchNorm1d(dim))\n"
            "else:\n    self.norm = nn.LayerNorm(dim)",
            "x: return self.norm(x)",
            "dim, norm='BatchNorm'",
        )
        + module("Thing", "self.part = Part(dim)", "x: return self.part(x)")
    ).text
    assert "BatchNorm(self.dim)" in text


# What calls compute.


def test_a_local_that_is_a_device_is_left_out_of_functions_and_methods():
    text = converted(
        "def places(x, count):\n    device = x.device\n"
        "    return torch.arange(count, device=device)\n\n\n"
        + module(
            "Thing",
            "self.fc = nn.Linear(dim, dim)",
            "x: return self.fc(x) + self.steps(x.shape[-1], x.device).to(x) + places(x, 1)",
        ).rstrip()
        + "\n\n    def steps(self, count, device):\n"
        "        return torch.zeros(count, device=device)\n"
    ).text
    assert "device" not in text


def test_data_of_what_is_computed_has_no_gradient():
    text = converted(
        module(
            "Thing",
            "self.fc = nn.Linear(dim, dim)",
            "x: y = self.fc(x); return torch.exp(y.data) + y",
        )
    ).text
    assert "jnp.exp(lax.stop_gradient(y)) + y" in text


def test_arrays_that_are_made_like_indices_have_the_dtype_that_is_given():
    text = converted(
        module(
            "Thing",
            "self.fc = nn.Linear(dim, dim)",
            "x, ids: a = torch.ones_like(ids, dtype=x.dtype); b = torch.zeros_like(ids, dtype=torch.bool); "
            "c = torch.tensor([x.shape[0] / 2], dtype=x.dtype); "
            "return self.fc(x) + a.sum() + b.sum() + c",
        )
    ).text
    assert "jnp.ones_like(ids, x.dtype)" in text
    assert "jnp.zeros_like(ids, bool)" in text
    assert "jnp.asarray([x.shape[0] / 2], dtype=x.dtype)" in text


def test_steps_that_are_stacked_are_as_many_as_the_local_says():
    made = converted(
        module(
            "Thing",
            "self.fc = nn.Linear(dim, dim)",
            "x: b, length, d = x.shape; ys = []; _; return self.fc(torch.stack(ys, dim=1)) + x",
        ).replace(
            "        _\n",
            "        for i in range(length):\n            ys.append(x[:, i])\n",
        )
    )
    assert "x: Float['b length dim']" in made.text
    assert made.trial is not None


def test_what_a_method_reads_of_a_part_is_what_the_part_was_made_with():
    text = converted(
        module(
            "Part",
            "self.output_dim = size\nself.fc = nn.Linear(dim, size)",
            "x: return self.fc(x)",
            "dim, size",
        )
        + module(
            "Thing",
            "self.part = Part(dim, vocab)",
            "x: out = torch.zeros(x.shape[0], self.part.output_dim); return out + self.part(x)",
            "dim, vocab",
        )
    ).text
    assert "jnp.zeros((x.shape[0], self.vocab), x.dtype)" in text


def test_a_loop_that_freezes_all_weights_is_told():
    made = converted(
        module(
            "Thing",
            "self.fc = nn.Linear(dim, dim)\nfor p in self.parameters():\n    p.requires_grad = False",
            "x: return self.fc(x)",
        )
    )
    assert "these weights are trained here" in str(made.notes)


def test_an_input_that_may_be_none_has_any_sizes_where_no_other_one_tells_them():
    [forward] = ast.parse(
        "def forward(self, x: Float['b n'], m: Float['# c heads n'] | None = None, "
        "k: Float['c heads n'] | None = None): pass"
    ).body
    assert isinstance(forward, ast.FunctionDef)
    assert with_leading_axes(forward, None, {"heads"}) is None
    assert ast.unparse(forward.args.args[2]) == "m: Float['_ _ _'] | None"


def test_a_part_that_begins_as_a_copy_of_another_one_is_told():
    made = converted(
        module(
            "Thing",
            "self.critic = nn.Linear(dim, 1)\nself.target = nn.Linear(dim, 1)\n"
            "self.target.load_state_dict(self.critic.state_dict())",
            "x: return self.critic(x) - self.target(x).detach()",
        )
    )
    assert "begin with numbers of their own" in str(made.notes)


def test_what_nothing_reads_is_not_detached():
    text = converted(
        module(
            "Thing",
            "self.fc = nn.Linear(dim, dim)",
            "x: _body_; return y + self.fc(x)",
        ).replace(
            "        _body_\n",
            "        with torch.no_grad():\n            y, _ = self.fc(x).chunk(2, -1)\n",
        )
    ).text
    assert "y = lax.stop_gradient(y)" in text
    assert "stop_gradient()" not in text


BOXES = module(
    "Thing",
    "self.anchors = anchors\nself.fc = nn.Linear(dim, 4)",
    "x: n = x.size(0); g = x.size(2); y = x.view(n, 3, -1, g, g); "
    "a = torch.tensor([(w / 2, h / 2) for w, h in self.anchors], dtype=x.dtype); "
    "return y.sum() + a.sum()",
    "anchors, dim",
)


def test_rows_that_are_taken_apart_are_no_sizes():
    assert "anchors: tuple[tuple[float, float], ...]" in converted(BOXES).text


def test_what_is_made_of_square_maps_has_four_axes():
    axes = converted(BOXES).text.partition("x: Float['")[2].partition("'")[0]
    assert len(axes.split()) == 4


def test_an_input_called_x_that_is_not_the_first_one_has_its_place():
    text = converted(
        module("Gate", "self.fc = nn.Linear(dim, dim)", "g, x: return x * self.fc(g)")
        + module("Thing", "self.gate = Gate(dim)", "x, y: return self.gate(x=y, g=x)")
    ).text
    assert "return self.gate(x, y)" in text


def test_methods_that_return_early_are_parted_by_texts():
    text = converted("""\
class Normalize(nn.Module):
    def __init__(self, dim, off=False):
        super().__init__()
        self.dim = dim
        self.off = off

    def forward(self, x, mode):
        if mode == "norm":
            self._measure(x)
            x = self._normalize(x)
        elif mode == "denorm":
            x = self._restore(x)
        else:
            raise NotImplementedError
        return x

    def _measure(self, x):
        self.mean = x.mean(1, keepdim=True)

    def _normalize(self, x):
        if self.off:
            return x
        return x - self.mean

    def _restore(self, x):
        if self.off:
            return x
        x = x + self.mean
        return x


class Thing(nn.Module):
    def __init__(self, length, dim):
        super().__init__()
        self.normalize = Normalize(dim)
        self.fc = nn.Linear(dim, dim)

    def forward(self, x):
        b, t, d = x.shape
        x = self.normalize(x, "norm")
        x = self.fc(x)
        return self.normalize(x, "denorm")
""").text
    assert "mean=normalize_mean)" in text
    assert "self.mean" not in text


def test_a_class_with_another_name_is_still_known():
    body = """\
class Normalize(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(dim))

    def forward(self, x, mode):
        if mode == "norm":
            self.mean = x.mean(1, keepdim=True)
            return (x - self.mean) * self.scale
        return x / self.scale + self.mean


class Thing(nn.Module):
    def __init__(self, length, dim):
        super().__init__()
        self.normalize = Normalize(dim)
        self.fc = nn.Linear(length, length)

    def forward(self, x):
        x = self.normalize(x, "norm")
        x = self.fc(x.permute(0, 2, 1)).permute(0, 2, 1)
        return self.normalize(x, "denorm")
"""
    plain, other = (
        convert("thing.py", TORCH + body, "Thing", "FromThing", taken=taken)
        for taken in ((), ("Normalize",))
    )
    assert "class FromThingNormalize(Layer):" in other.text
    (one,) = re.findall(
        r"def forward.*length.*", plain.text.partition("class FromThing(")[2]
    )
    assert one in other.text


def test_what_is_registered_for_loaded_weights_and_made_later_is_left_out():
    made = converted("""\
class Cache(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.register_buffer("k", torch.zeros(size))

    def update(self, at, k):
        self.k[at] = k
        return self.k


class Attention(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.key = nn.Linear(dim, dim)
        self.cache = None
        self._register_load_state_dict_pre_hook(self.load_hook)

    def load_hook(self, state_dict, prefix, *args):
        state_dict[prefix + "key.weight"] = state_dict.pop(prefix + "wk.weight")

    def forward(self, x, at=None):
        k = self.key(x)
        if self.cache is not None:
            k = self.cache.update(at, k)
        return k


class Thing(nn.Module):
    def __init__(self, dim, depth):
        super().__init__()
        self.layers = nn.ModuleList(Attention(dim) for _ in range(depth))

    def setup_caches(self, size):
        for layer in self.layers:
            layer.attention.cache = Cache(size)

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x
""")
    assert "cache" not in made.text.lower().partition("def forward")[2]
    assert "state_dict" not in made.text
    assert any("load_hook" in note.what for note in made.notes)


def test_an_object_that_a_call_makes_to_hold_a_mask_is_the_mask():
    text = converted("""\
class CausalMask():
    def __init__(self, batch, length, device="cpu"):
        shape = [batch, 1, length, length]
        with torch.no_grad():
            self._mask = torch.triu(torch.ones(shape, dtype=torch.bool), diagonal=1).to(device)

    @property
    def mask(self):
        return self._mask


class Thing(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.fc = nn.Linear(dim, dim)

    def forward(self, x, attn_mask=None):
        b, t, d = x.shape
        scores = torch.einsum("btd,bsd->bts", self.fc(x), x)[:, None]
        if attn_mask is None:
            attn_mask = CausalMask(b, t, device=x.device)
        scores.masked_fill_(attn_mask.mask, -1e9)
        return torch.softmax(scores, dim=-1)[:, 0] @ x
""").text
    assert "causal_mask(" in text
    assert ".mask" not in text
    assert "class CausalMask" not in text
