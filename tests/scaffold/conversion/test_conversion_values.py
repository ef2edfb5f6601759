"""What a loop, a key, a draw and an example stand for in what people wrote."""

from __future__ import annotations

import ast
import re

from test_conversion_forms import converted

from mlax_scaffold.conversion import convert

EQUINOX = """\
import equinox as eqx
import jax
import jax.numpy as jnp


"""


def example_of(text: str, name: str) -> dict[str, object]:
    """The example of a class of a spec."""
    body = text.partition(f"class {name}(")[2].partition("\nclass ")[0]
    found = re.search(r"examples = \((\{.*?\}),\)", body, re.DOTALL)
    assert found is not None, text
    return ast.literal_eval(found[1])


def test_locals_that_are_called_keys_are_arrays():
    text = converted("""\
class Thing(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.attn = nn.MultiheadAttention(dim, heads, batch_first=True)

    def forward(self, query, context):
        keys = self.norm(context)
        out, _ = self.attn(query=query, key=keys, value=keys)
        return query + out
""").text
    assert "self.attn(query, context=keys)" in text
    made = converted(
        """\
class Thing(eqx.Module):
    attend: eqx.nn.MultiheadAttention

    def __init__(self, dim, *, key):
        self.attend = eqx.nn.MultiheadAttention(2, dim, key=key)

    def __call__(self, query, ctx, *, key=None):
        k1, k2 = jnp.split(ctx, 2, axis=-1)
        return self.attend(query=query, key_=k1, value=k2, key=key)
""",
        EQUINOX,
    ).text
    assert "self.attend(query, context=k1, values=k2)" in made
    assert "key:" not in made


def test_halves_of_one_example_are_not_those_of_a_batch():
    text = converted(
        """\
class Thing(eqx.Module):
    inner: eqx.nn.Linear

    def __init__(self, size, *, key):
        self.inner = eqx.nn.Linear(size, 2 * size, key=key)

    def __call__(self, x):
        k1, k2 = jnp.split(self.inner(x), 2)
        return k1 * k2
""",
        EQUINOX,
    ).text
    assert "x: Float['size']) -> Float['size']" in text


ALTERNATING = """\
class Thing(nn.Module):
    def __init__(self, widths=(4, 8)):
        super().__init__()
        self.ups = nn.ModuleList()
        for width in reversed(widths):
            self.ups.append(nn.Linear(2 * width, width))
            self.ups.append(nn.LayerNorm(width))

    def forward(self, x, y):
        for i in range(0, len(self.ups), 2):
            x = self.ups[i](x) + y * i
            x = self.ups[i + 1](x) + y * (i // 2)
        return {}
"""


def test_layers_that_alternate_in_a_list_are_two_lists():
    text = converted(ALTERNATING.format("x")).text
    assert "for i in range(len(self.ups_0)):" in text
    assert "x = self.ups_0[i](x) + y * (2 * i)" in text
    assert "x = self.ups_1[i](x) + y * i" in text


def test_a_list_that_is_read_in_another_way_is_written_out():
    made = converted(ALTERNATING.format("self.ups[-1](x)"))
    assert "x = self.ups_2(x) + y * 2" in made.text
    assert "return self.ups_3(x)" in made.text
    assert [n.what for n in made.notes] == ["`widths` of Thing is always `(4, 8)`"]


def test_slices_of_alternating_layers_are_lists():
    text = converted("""\
class Thing(nn.Module):
    def __init__(self, dim, depth):
        super().__init__()
        self.layers = nn.ModuleList()
        for _ in range(depth):
            self.layers.append(nn.Linear(dim, dim))
            self.layers.append(nn.LayerNorm(dim))

    def forward(self, x):
        for linear, norm in zip(self.layers[::2], self.layers[1::2]):
            x = x + norm(linear(x))
        return x
""").text
    assert "in zip(self.layers_0, self.layers_1)" in text


def test_buffers_that_are_drawn_are_states():
    text = converted("""\
class Thing(nn.Module):
    def __init__(self, dim, features, scale=10.0):
        super().__init__()
        drawn = torch.randn(dim, features) * scale
        self.register_buffer("frequencies", drawn)
        self.register_buffer("phase", torch.rand(features), persistent=False)
        self.gains = torch.randn(features)

    def forward(self, x):
        return torch.cos(x @ self.frequencies + self.phase) * self.gains
""").text
    assert (
        "self.frequencies = state(normal(self.scale), (self.dim, self.features))"
        in text
    )
    assert "self.phase = state(uniform(1.0), (self.features,))" in text
    assert "self.gains = state(normal(1.0), (self.features,))" in text
    assert "self.key()" not in text


def test_a_draw_of_an_unknown_shape_is_listed_with_its_line():
    made = convert(
        "thing.py",
        """\
import torch
import torch.nn as nn

class Thing(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.register_buffer("q", torch.linalg.eigh(torch.randn(dim, dim))[1])

    def forward(self, x):
        return x @ self.q
""",
        "Thing",
        "FromThing",
    )
    assert [note.line for note in made.notes if note.blocks] == [7]


STAGE = """\
class Cut(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.size = size

    def forward(self, x):
        return x[:, :, : -self.size]


class Stage(nn.Module):
    def __init__(self, n_in, n_out, kernel_size, stride, dilation, padding):
        super().__init__()
        self.conv = nn.Conv1d(
            n_in, n_out, kernel_size, stride=stride, padding=padding, dilation=dilation
        )
        self.cut = Cut(padding)

    def forward(self, x):
        return self.cut(self.conv(x))


class Thing(nn.Module):
    def __init__(self, inputs, channels, kernel_size=3):
        super().__init__()
        layers = []
        for i in range(len(channels)):
            dilation = 2 ** i
            before = inputs if i == 0 else channels[i - 1]
            layers += [
                Stage(before, channels[i], kernel_size, stride=1, dilation=dilation,
                      padding=(kernel_size - 1) * dilation)
            ]
        self.network = nn.Sequential(*layers)

    def forward(self, x):
        return self.network(x)
"""


def test_what_a_class_computes_for_another_is_what_that_is_tried_with():
    text = converted(STAGE).text
    stage = example_of(text, "Stage")
    assert (stage["stride"], stage["dilation"], stage["padding"]) == (1, 1, 2)
    assert example_of(text, "Cut")["size"] == 2


def test_the_first_layer_of_a_loop_tells_the_input():
    text = converted(STAGE).text
    assert "x: Float['batch inputs time']" in text


def test_the_annotation_of_an_input_that_may_be_left_out_tells_its_shape():
    text = converted(
        """\
class Thing(eqx.Module):
    inner: eqx.nn.Linear

    def __init__(self, size, *, key):
        self.inner = eqx.nn.Linear(size, size, key=key)

    def __call__(
        self, x: Float[Array, "length size"], mask: Float[Array, " length"] | None = None
    ):
        y = jax.vmap(self.inner)(x)
        return y if mask is None else y * mask[:, None]
""",
        EQUINOX + "from jaxtyping import Array, Float\n\n",
    ).text
    assert "['length'] | None" in text


def test_causal_padding_of_haiku_is_a_word():
    text = converted(
        """\
class Thing(hk.Module):
    def __init__(self, channels, name=None):
        super().__init__(name=name)
        self.channels = channels

    def __call__(self, x):
        return hk.Conv1D(self.channels, 2, rate=4, padding=hk.pad.causal)(x)
""",
        "import haiku as hk\n\n",
    ).text
    assert "padding='CAUSAL'" in text


def test_what_a_loop_of_layers_changes_has_its_last_value_after_it():
    text = converted("""\
class Thing(nn.Module):
    def __init__(self, size=3, widths=(8, 16), classes=10):
        super().__init__()
        layers = []
        for width in widths:
            layers.append(nn.Linear(size, width))
            size = width
        self.norm = nn.LayerNorm(size)
        self.body = nn.Sequential(*layers)
        self.head = nn.Linear(size, classes)

    def forward(self, x):
        return self.head(self.norm(self.body(x)))
""").text
    setup = text.partition("def setup")[2]
    places = ["size = self.size", "size = width", "LayerNorm(size)", "Linear(size, "]
    found = [setup.index(part) for part in places]
    assert found == sorted(found)
    assert "x: Float['*batch size']" in text


def test_a_layer_between_lists_has_the_size_that_the_first_one_ends_with():
    text = converted("""\
class Thing(nn.Module):
    def __init__(self, channels, widths=(4, 8)):
        super().__init__()
        self.downs = nn.ModuleList()
        before = channels
        for width in widths:
            self.downs.append(nn.Conv2d(before, width, 3, padding=1))
            before = width
        self.middle = nn.Conv2d(before, before, 3, padding=1)
        self.ups = nn.ModuleList()
        for width in reversed(widths):
            self.ups.append(nn.Conv2d(before + width, width, 3, padding=1))
            before = width
        self.head = nn.Conv2d(before, channels, 1)

    def forward(self, x):
        skips = []
        for down in self.downs:
            x = down(x)
            skips.append(x)
            x = F.max_pool2d(x, 2)
        x = self.middle(x)
        for up, skip in zip(self.ups, reversed(skips)):
            x = F.interpolate(x, scale_factor=2, mode="nearest")
            x = up(torch.cat([x, skip], dim=1))
        return self.head(x)
""").text
    setup = text.partition("def setup")[2]
    places = [
        *("before = self.channels", "self.downs = ", "self.middle = ", "self.ups = "),
        "self.head = ",
    ]
    found = [setup.index(part) for part in places]
    assert found == sorted(found)
    # What holds nothing is one layer for all passes.
    assert "self.upsample = Upsample(2, 2)" in text
    assert "for up, skip in zip(self.ups, reversed(skips)):" in text


def test_layers_that_a_loop_over_what_is_skipped_makes_are_counted_by_the_rest():
    text = converted(
        """\
class Thing(nn.Module):
    widths: tuple[int, ...] = (4, 8)

    @nn.compact
    def __call__(self, x):
        skips = []
        for width in self.widths:
            x = nn.Dense(width)(x)
            skips.append(x)
        for width, skip in zip(reversed(self.widths), reversed(skips)):
            x = nn.Dense(width)(skip)
        return x
""",
        "import flax.linen as nn\n\n\n",
    ).text
    assert "for width in reversed(self.widths)]" in text
    assert "reversed(())" not in text


def test_flat_features_are_what_the_first_layer_asks_for():
    text = converted("""\
class Thing(nn.Module):
    def __init__(self, size=16, hidden=8):
        super().__init__()
        self.inner = nn.Linear(size, hidden)

    def forward(self, x):
        return self.inner(x.view(x.size(0), -1))
""").text
    assert "x: Float['batch *rest']" in text
    assert "'x': (2, 16)" in text


def test_norms_of_several_axes_have_weights_for_each_element():
    text = converted("""\
class Thing(nn.Module):
    def __init__(self, channels, length):
        super().__init__()
        self.norm = nn.LayerNorm([channels, length])

    def forward(self, x):
        return self.norm(x)
""").text
    declared = (
        "LayerNorm(self.length, axis=(-2, -1), leading_features=(self.channels,))"
    )
    assert declared in text
    assert "x: Float['*batch channels length']" in text


def test_a_size_that_is_taken_apart_is_several_and_keys_that_are_left_are_counted():
    text = converted(
        """\
class Thing(eqx.Module):
    conv: eqx.nn.Conv2d
    blocks: list

    def __init__(self, image_size, width, depth, *, key):
        channels, height, length = image_size
        ckey, *bkeys = jax.random.split(key, 1 + depth)
        self.conv = eqx.nn.Conv2d(channels, width, 1, key=ckey)
        self.blocks = [eqx.nn.Conv2d(width, width, 1, key=k) for k in bkeys]

    def __call__(self, x):
        x = self.conv(x)
        for block in self.blocks:
            x = block(x)
        return x
""",
        EQUINOX,
    ).text
    assert "image_size: Sizes" in text
    assert "Conv(2, self.image_size[0], self.width, 1" in text
    assert "for _ in range(self.depth)]" in text


def test_sizes_that_an_assertion_says_are_the_same_are():
    text = converted("""\
class Thing(nn.Module):
    def __init__(self, dim, resolution=8):
        super().__init__()
        self.resolution = resolution
        self.norm = nn.LayerNorm(dim)

    def forward(self, x):
        H = W = self.resolution
        B, L, C = x.shape
        assert L == H * W, "wrong size"
        return self.norm(x).view(B, H, W, C)
""").text
    assert "x: Float['b resolution*resolution dim']" in text
    assert example_of(text, "FromThing")["x"] == (2, 64, 8)


def test_a_state_that_a_cell_is_given_has_its_features():
    text = converted("""\
class Thing(nn.Module):
    def __init__(self, vocab, dim, hidden):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.cell = nn.GRUCell(dim, hidden)

    def forward(self, tokens, state):
        embedded = self.embed(tokens)
        for t in range(tokens.size(1)):
            state = self.cell(embedded[:, t], state)
        return state
""").text
    # It is one for each of the examples.
    assert "tokens: Int['batch positions'], state: Float['batch hidden']" in text


def test_sizes_of_an_example_keep_their_proportions():
    text = converted("""\
class Thing(nn.Module):
    def __init__(self, channels=3, widths=(64, 128, 256, 512)):
        super().__init__()
        self.downs = nn.ModuleList()
        for width in widths:
            self.downs.append(nn.Conv2d(channels, width, 3, padding=1))
            channels = width

    def forward(self, x):
        for down in self.downs:
            x = F.max_pool2d(down(x), 2)
        return x
""").text
    given = example_of(text, "FromThing")
    assert given["widths"] == (8, 16, 32, 64)
    # Four stages halve it.
    assert given["x"] == (2, 3, 16, 16)
