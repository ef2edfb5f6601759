"""Models of public repositories: settings that are asked for by texts, layers that others are given."""

from __future__ import annotations

import pytest
from test_conversion_forms import converted
from test_conversion_jax_habits import LINEN
from test_conversion_jax_parts import OPTAX
from test_conversion_jax_repositories import EQUINOX, HAIKU
from test_conversion_jax_small_forms import PLAIN
from test_conversion_torch import module

from mlax_scaffold.conversion import convert

# PyTorch.

ASKED = module(
    "Thing",
    "layers = getattr(args, 'layers', 1)\n"
    "if layers == 1:\n"
    "    self.first = nn.Linear(args.dim, args.dim)\n"
    "    self.last = nn.Linear(args.dim, args.dim)\n"
    "else:\n"
    "    self.first = nn.Sequential(nn.Linear(args.dim, 4), nn.ReLU(), nn.Linear(4, args.dim))\n"
    "    self.last = nn.Sequential(nn.Linear(args.dim, 4), nn.Tanh(), nn.Linear(4, args.dim))",
    "x: return self.last(self.first(x))",
    "args",
)


def test_settings_that_are_asked_for_by_texts_have_what_they_are_else_as_defaults():
    text = converted(ASKED).text
    assert "layers: Size = 1" in text
    known = "import dataclasses\n\n\n@dataclasses.dataclass\nclass Config:\n    dim: int\n\n\n"
    code = ASKED.replace("init__(self, args", "init__(self, args: Config")
    text = converted(known + code).text
    assert "layers: Size" not in text
    assert "layers = 1" in text


def test_a_layer_of_one_branch_is_called_where_another_has_a_sequence():
    code = ASKED.replace("getattr(args, 'layers', 1)", "args.layers")
    text = converted(code).text
    method = text.partition("def _first(self, x):")[2].partition("def ")[0]
    assert "return self.first_2(x)" in method
    assert "return self.first(x)" in method
    assert "return x" not in method


def test_properties_of_all_weights_are_left_out_where_nothing_reads_them():
    code = module("Thing", "self.fc = nn.Linear(dim, dim)", "x: return self.fc(x)")
    code = code.rstrip() + (
        "\n\n    @property\n    def device(self):\n        return next(self.parameters()).device\n"
    )
    made = convert(
        "thing.py", f"from torch import nn\n\n\n{code}", "Thing", "FromThing"
    )
    assert made.whole
    assert "device" not in made.text
    assert any("`device` is left out" in note.what for note in made.notes)


def test_new_arrays_that_a_chain_changes_are_what_it_makes_of_them():
    text = converted(
        module(
            "Thing",
            "mask = torch.empty(size, size).fill_(float('-inf')).triu_(1)\n"
            "self.register_buffer('mask', mask, persistent=False)",
            "x: return x + self.mask[: x.shape[1], : x.shape[1]]",
            "size",
        )
    ).text
    assert "np.triu(np.full((self.size, self.size), " in text


def test_whole_numbers_have_floating_powers_where_these_are_told_to_be():
    text = converted(
        module(
            "Thing",
            "decay = torch.log(1 - 2 ** (-5 - torch.arange(heads, dtype=torch.float)))\n"
            "self.register_buffer('decay', decay)\n"
            "self.register_buffer('places', 2 ** torch.arange(heads))",
            "x: steps = torch.arange(x.shape[-1], device=x.device).float(); "
            "return x * self.decay * 3 ** -steps + x[..., self.places]",
            "heads",
        )
    ).text
    assert "2.0 ** (-5 - np.arange(self.heads))" in text
    assert "= 2 ** np.arange(self.heads)" in text
    assert "3.0 ** (-steps)" in text


def test_a_function_with_the_name_of_a_word_gets_another_one():
    code = "def l2_norm(x, axis=1):\n    return x / torch.norm(x, 2, axis, True)\n\n\n"
    code += module(
        "Thing",
        "self.w = nn.Parameter(torch.randn(dim, 3))",
        "x: return l2_norm(x) @ l2_norm(self.w, axis=0)",
    )
    text = converted(code).text
    assert "def l2_norm_(x, axis=1):\n    return x / l2_norm(x" in text
    assert "l2_norm_(x) @ l2_norm_(self.w, axis=0)" in text


def test_sizes_that_elements_are_taken_apart_into_are_whole():
    code = module(
        "Thing",
        "self.shapes = shapes\n"
        "self.heads = nn.ModuleList([nn.Linear(dim, o * i) for o, i in shapes])",
        "z: parts = []; "
        "parts = [h(z).reshape(-1, o, i) for h, (o, i) in zip(self.heads, self.shapes)]; "
        "return parts",
        "dim, shapes",
    )
    assert "shapes: tuple[tuple[int, int], ...]" in converted(code).text
    bounds = "self.scales = [(high - low) / 2 for low, high in shapes]"
    code = module("Thing", bounds, "x: return x * self.scales[0]", "shapes")
    assert "shapes: tuple[tuple[float, float], ...]" in converted(code).text


def test_inputs_are_tuples_of_tuples():
    text = converted(
        module(
            "Thing",
            "self.fc = nn.Linear(dim, dim)",
            "x, place: (sin, cos), mask = place; x = self.fc(x); "
            "return (x * cos + x * sin) * mask",
        )
    ).text
    assert "place: tuple[tuple[Float[" in text
    assert "PyTree" not in text


def test_a_layer_of_attention_that_is_told_gelu_by_name_has_the_exact_one():
    layer = "nn.TransformerEncoderLayer(dim, 2, activation='gelu', batch_first=True)"
    text = converted(
        module("Thing", f"self.layer = {layer}", "x: return self.layer(x)")
    ).text
    assert "activation=lambda x: gelu(x, approximate=False)" in text


@pytest.mark.parametrize("counts", ["torch.arange(x.size(0))", "range(len(x))"])
def test_indices_beside_numbers_in_order_are_one_for_each(counts):
    forward = f"x, label: y = self.fc(x); return y[{counts}, label]"
    text = converted(module("Thing", "self.fc = nn.Linear(dim, 5)", forward)).text
    assert "x: Float['batch dim'], label: Int['batch']" in text


CAST = """\
class LayerNorm(nn.LayerNorm):
    def forward(self, x):
        return super().forward(x.float()).type(x.dtype)


class Conv1d(nn.Conv1d):
    def _conv_forward(self, x, weight, bias):
        return super()._conv_forward(
            x, weight.to(x.dtype), None if bias is None else bias.to(x.dtype)
        )


"""


def test_classes_that_only_cast_what_they_are_given_are_those_of_the_library():
    code = CAST + module(
        "Thing",
        "self.conv = Conv1d(dim, dim, 3)\nself.norm = LayerNorm(dim)",
        "x: return self.norm(self.conv(x).transpose(1, 2))",
    )
    text = converted(code).text
    assert "super()" not in text
    assert text.count("class ") == 1
    # One that does more is a class of its own.
    text = converted(code.replace("x.float()", "x.float() + 1")).text
    assert "+ 1" in text


MASKED = (
    "x: cos = self.fc(x); mask = cos > self.bound; hard = cos[mask]; "
    "cos[mask] = hard * (self.scale + hard.exp()); return cos"
)


def test_elements_that_a_mask_chooses_are_all_of_which_those_of_the_mask_are_taken():
    setup = "self.fc = nn.Linear(dim, dim)\nself.bound = 0.5\nself.scale = 2.0"
    text = converted(module("Thing", setup, MASKED)).text
    made = "jnp.where(mask, cos * (self.scale + jnp.exp(cos)), cos)"
    assert made in text
    assert "hard" not in text
    # What is not computed of each element stays as it is.
    text = converted(module("Thing", setup, MASKED.replace("exp", "sum"))).text
    assert "hard = cos[mask]" in text


def test_a_size_that_is_all_that_a_layer_is_given_has_a_name_of_its_own():
    inner = module(
        "Places",
        "self.register_buffer('rates', 1.0 / torch.linspace(1, 2, dim))",
        "length: at = torch.arange(length); return torch.sin(at[:, None] * self.rates)",
    )
    outer = module(
        "Thing", "self.places = Places(dim)", "x: return x + self.places(x.size(1))"
    )
    text = converted(inner + outer).text
    assert "length_given, = length.shape" in text
    assert "length.dtype" in text


# jax.

CHOSEN = """\
class StdConv(nn.Conv):
    def param(self, name, *a, **kw):
        made = super().param(name, *a, **kw)
        if name == "kernel":
            made = made - jnp.mean(made, axis=(0, 1, 2))
        return made


class Block(nn.Module):
    features: int
    conv: Callable
    norm: Callable
    num_groups: int = 1

    @nn.compact
    def __call__(self, x):
        x = self.norm()(x)
        return self.conv(self.features, (3, 3))(x)


class Stage(nn.Module):
    features: int
    conv: Callable
    norm: Callable

    @nn.compact
    def __call__(self, x):
        return Block(self.features, conv=self.conv, norm=self.norm)(x)


class Thing(nn.Module):
    num_groups: int = 4

    @nn.compact
    def __call__(self, x):
        conv = partial(StdConv, use_bias=False)
        norm = partial(nn.GroupNorm, num_groups=self.num_groups)
        x = conv(16, (3, 3))(x)
        return Stage(8, conv=conv, norm=norm)(x)
"""


def test_what_layers_of_others_are_given_is_handed_on_with_what_it_reads():
    head = "from functools import partial\nfrom typing import Callable\n"
    text = converted(CHOSEN, head + LINEN).text
    block = text.partition("class Block(")[2].partition("class ")[0]
    # The number of groups of the one who gives is not that of the block.
    assert "GroupNorm(self.norm_num_groups, " in block
    assert "StdConv(" in block
    stage = text.partition("class Stage(")[2].partition("class ")[0]
    assert "norm_num_groups=self." in stage
    whole = text.partition("class FromThing(")[2]
    assert "norm_num_groups=self.num_groups" in whole


NUMBERED = """\
class Thing(nn.Module):
    widths: Sequence[int]
    norm: bool = False

    def setup(self):
        self.layers = [nn.Dense(h) for h in self.widths]
        if self.norm:
            self.norms = [nn.LayerNorm() for _ in self.widths]

    def __call__(self, x):
        for i, layer in enumerate(self.layers):
            x = layer(x)
            if self.norm:
                x = self.norms[i](x)
        return x
"""


def test_layers_that_are_chosen_by_the_number_of_a_pass_have_the_sizes_of_that_pass():
    text = converted(NUMBERED, "from typing import Sequence\n" + LINEN).text
    assert "[LayerNorm(h, epsilon=1e-06) for h in self.widths]" in text


def test_no_layer_of_a_loop_is_called_self():
    code = (
        "class Thing(nn.Module):\n    depth: int = 2\n\n    @nn.compact\n    def __call__(self, x):\n"
        "        for i in range(self.depth):\n"
        "            x = nn.Dense(4, name=f'self_{i}')(x)\n        return x\n"
    )
    assert "for self_layer in self.self_layers:" in converted(code, LINEN).text


def test_a_mask_that_attention_is_given_by_its_place_is_that_of_heads():
    code = (
        "class Thing(hk.Module):\n    def __call__(self, x, mask):\n"
        "        attn = hk.MultiHeadAttention(2, 4, w_init_scale=1.0, model_size=8)\n"
        "        return attn(x, x, x, mask)\n"
    )
    text = converted(code, HAIKU).text
    assert "mask: Bool['# *batch 2 " in text or "mask: Bool['*batch #2 " in text


MAPPED = """\
class Encoding(eqx.Module):
    grid: jax.Array

    def __init__(self, size, *, key):
        self.grid = jax.random.normal(key, (4, size))

    def __call__(self, x):
        return jnp.sin(jax.lax.stop_gradient(self.grid) @ x)


class Thing(eqx.Module):
    encoding: Encoding
    convs: list
    cell: eqx.nn.GRUCell

    def __init__(self, size, kernels, *, key):
        ekey, ckey = jr.split(key)
        self.encoding = Encoding(size, key=ekey)
        self.convs = [
            eqx.nn.Linear(4, k, key=kk) for k, kk in zip(kernels, jr.split(ckey, len(kernels)))
        ]
        self.cell = eqx.nn.GRUCell(4, 6, key=key)

    def __call__(self, x):
        y = {call}
        parts = [jax.vmap(c)(y) for c in self.convs]
        return parts, jnp.zeros(self.cell.hidden_size)
"""


@pytest.mark.parametrize(
    ("call", "made"),
    [
        ("jax.vmap(self.encoding)(x)", "trainable(normal(1.0)"),
        ("self.encoding(x[0])[None]", "state(normal(1.0)"),
    ],
)
def test_what_is_mapped_over_examples_has_weights_and_no_states(call, made):
    code = "import jax.random as jr\n" + EQUINOX + MAPPED.replace("{call}", call)
    told = convert("thing.py", code, "Thing", "FromThing")
    assert f"self.grid = {made}" in told.text
    # Keys are split by whatever name the file has for jax.
    assert "for k in self.kernels" in told.text
    assert "hidden_size" not in told.text


def test_what_a_mapped_layer_takes_as_indices_is_so_for_all_examples():
    code = """\
class Words(eqx.Module):
    embed: eqx.nn.Embedding

    def __init__(self, *, key):
        self.embed = eqx.nn.Embedding(5, 4, key=key)

    def __call__(self, chars):
        return jax.vmap(self.embed)(chars).sum(0)


class Thing(eqx.Module):
    words: Words

    def __init__(self, *, key):
        self.words = Words(key=key)

    def __call__(self, given):
        return jax.vmap(self.words)(given)
"""
    assert "given: Int['" in converted(code, EQUINOX).text


FILLED = """\
class Thing:
    def __init__(self, size, depth=2, seed=0):
        rng = np.random.RandomState(seed)

        def mat(*shape):
            return jnp.asarray(rng.randn(*shape) * 0.1)

        self.params = {"first": mat(size, 4), "last": jnp.zeros((4,))}

    def forward(self, x):
        return x @ self.params["first"] + self.params["last"]
"""


def test_a_function_that_draws_the_weights_of_an_object_is_written_out():
    text = converted(FILLED, "import numpy as np\n" + PLAIN).text
    assert "jax.random.normal(key, shape, dtype) * 0.1" in text
    assert "(self.size, 4)" in text


def test_weights_that_a_loop_puts_beside_others_are_listed():
    more = FILLED.replace(
        "\n    def forward",
        "        for i in range(depth):\n            self.params[f'w{i}'] = mat(4, 4)\n\n    def forward",
    )
    made = convert(
        "thing.py", "import numpy as np\n" + PLAIN + more, "Thing", "FromThing"
    )
    assert not made.whole
    assert any(
        "is set beside the weights of `self.params`" in n.what for n in made.notes
    )


CAUTIOUS = """\
def thing(decay=0.9, cautious=True):
    def init(params):
        zeros = lambda p: jax.tree_util.tree_map(jnp.zeros_like, p)
        return State(zeros(params), zeros(params))

    def update(updates, state, params=None):
        m = jax.tree.map(lambda m, g: decay * m + g, state.m, updates)
        v = jax.tree.map(lambda v, g: decay * v + g * g, state.v, updates)
        made = jax.tree.map(lambda m, v: m / (1.0 + v), m, v)
        if cautious:
            def masked(u, g):
                mask = (u * g > 0).astype(g.dtype)
                mask = mask / jnp.maximum(mask.mean(), 1e-3)
                return u * mask
            made = jax.tree.map(masked, made, updates)
        return made, State(m, v)

    return optax.GradientTransformation(init, update)
"""


def test_branches_have_functions_of_their_own_and_moments_those_that_make_them():
    head = (
        OPTAX
        + "from typing import NamedTuple\n\n\nclass State(NamedTuple):\n    m: object\n    v: object\n\n\n"
    )
    made = convert("thing.py", head + CAUTIOUS, "thing", "FromThing", "OPTIMIZER")
    assert made.whole, made.notes
    assert made.text.count("moment(zeros, param.shape)") == 2
    assert " if self.cautious else " in made.text
    assert "mean(" in made.text


SHAPED = """\
class Thing(nnx.Module):
    def __init__(self, shape: tuple[int, ...], *, rngs: nnx.Rngs):
        self.shape = shape
        self.w = nnx.Param(nnx.initializers.normal()(rngs.params(), shape))

    def __call__(self, x):
        return x * self.w.value
"""


def test_a_field_of_sizes_is_the_shape_of_a_weight():
    text = converted(f"from flax import nnx\n\n\n{SHAPED}").text
    assert "trainable(normal(0.01), self.shape)" in text
