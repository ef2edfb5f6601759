"""What practitioners of PyTorch write: loops that count down, attention with its weights, drawn buffers."""

from __future__ import annotations

import pytest
from test_conversion_forms import TORCH, converted

from mlax_scaffold.conversion import convert

BLOCK = """\
class Block(nn.Module):
    def __init__(self, inside, outside, stride=1):
        super().__init__()
        self.conv = nn.Conv2d(inside, outside, 3, stride=stride, padding=1)

    def forward(self, x):
        return self.conv(x).relu()


"""


@pytest.mark.parametrize("test", ["count - 1", "count > 1"])
def test_a_loop_that_counts_down_is_one_over_a_range(test):
    text = converted(
        BLOCK
        + f"""\
class Thing(nn.Module):
    def __init__(self):
        super().__init__()
        self.stage = self._stage(3, 8)

    def _stage(self, count, width):
        layers = [Block(4, width, 2)]
        while {test}:
            layers.append(Block(width, width, 1))
            count -= 1
        return nn.Sequential(*layers)

    def forward(self, x):
        return self.stage(x)
"""
    ).text
    assert "Block(4, 8, 2)" in text
    assert "Block(8, 8, 1)" in text
    assert "while" not in text


def test_what_a_loop_depends_on_through_locals_is_asked_for():
    made = converted(
        BLOCK
        + """\
sizes = {"small": (1.0, 2), "large": (2.5, 4)}


class Thing(nn.Module):
    def __init__(self, version):
        super().__init__()
        factor, width = self.factors(version)
        self.layers = self._layers(factor, width)

    def factors(self, version, base=1.2):
        depth, width = sizes[version]
        return base ** depth, width

    def _layers(self, factor, width):
        layers = []
        for count in (1, 2):
            for i in range(math.ceil(count * factor)):
                layers.append(Block(width, width, 2 if i == 0 else 1))
        return nn.Sequential(*layers)

    def forward(self, x):
        return self.layers(x)


def small():
    return Thing("small")
""".replace("class Thing", "import math\n\n\nclass Thing")
    )
    assert made.whole
    assert made.text.count("Block(2, 2, 2)") == 2
    assert made.text.count("Block(2, 2, 1)") == 3


def test_a_static_method_that_makes_layers_has_no_self():
    made = converted(
        BLOCK
        + """\
class Thing(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.layers = self.stage(width, 2)

    @staticmethod
    def stage(width, count):
        return nn.Sequential(*[Block(width, width) for _ in range(count)])

    def forward(self, x):
        return self.layers(x)
"""
    )
    assert made.whole
    assert "Block(self.width, self.width)" in made.text


def test_a_class_that_stands_for_none_makes_the_layers_of_a_loop():
    made = converted(
        BLOCK
        + """\
class Thing(nn.Module):
    def __init__(self, width=4, block=None):
        super().__init__()
        if block is None:
            block = Block
        layers = []
        for outside, count in [(8, 1), (16, 2)]:
            for i in range(count):
                layers.append(block(width, outside, 2 if i == 0 else 1))
                width = outside
        self.layers = nn.Sequential(*layers)

    def forward(self, x):
        return self.layers(x)
"""
    )
    assert made.whole
    assert "Block(8, 16, 2)" in made.text
    assert "self.block" not in made.text


def attention(arguments: str, body: str, given: str = "x") -> str:
    """What a class with attention becomes."""
    made = convert(
        "model.py",
        f"""{TORCH}
class Thing(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.attn = nn.MultiheadAttention(width, 2, {arguments})
        self.attns = nn.ModuleList([nn.MultiheadAttention(width, 2, {arguments}) for _ in range(2)])

    def forward(self, {given}):
{body}""",
        "Thing",
        "Thing",
    )
    assert made.whole, made.notes
    return made.text


def test_weights_of_attention_that_are_read_are_those_of_all_heads():
    text = attention(
        "batch_first=True",
        "        y, w = self.attn(x, x, x)\n        return y, w\n",
    )
    assert "y, w = self.attn(x, with_weights=True)" in text
    assert "w = mean(w, axis=-3)" in text
    each = attention(
        "batch_first=True",
        "        y, w = self.attn(x, x, x, average_attn_weights=False)\n        return y, w\n",
    )
    assert "with_weights=True" in each
    assert "mean" not in each
    unread = attention(
        "batch_first=True", "        y, w = self.attn(x, x, x)\n        return y\n"
    )
    assert "y = self.attn(x)" in unread


@pytest.mark.parametrize(
    "body",
    [
        "        return self.attn(x, x, x)\n",
        "        pair = self.attn(x, x, x)\n        return pair\n",
    ],
)
def test_both_results_of_attention_are_turned_and_weighed_as_two(body):
    text = attention("", body)
    assert "self.attn(jnp.swapaxes(x, 0, 1), with_weights=True)" in text
    assert "attended = jnp.swapaxes(attended, 0, 1)" in text
    assert "mean(attention_weights, axis=-3)" in text


def test_lists_of_attention_whose_batch_is_second_are_turned():
    text = attention(
        "",
        "        for layer in self.attns:\n            x, _ = layer(x, x, x)\n        return x\n",
    )
    assert "x = layer(jnp.swapaxes(x, 0, 1))" in text
    assert "x = jnp.swapaxes(x, 0, 1)" in text


def test_keys_that_are_padding_are_masked():
    text = attention(
        "batch_first=True",
        "        return self.attn(x, x, x, key_padding_mask=padding)[0]\n",
        "x, padding=None",
    )
    assert "None if padding is None else ~padding[:, None, None, :]" in text
    both = attention(
        "batch_first=True",
        "        return self.attn(x, x, x, key_padding_mask=padding, attn_mask=mask)[0]\n",
        "x, padding, mask",
    )
    assert "mask=~mask & ~padding[:, None, None, :]" in both


def test_buffers_that_a_constructor_fills_with_what_it_draws_stay_as_they_are():
    made = converted("""\
class Thing(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.width = width
        self.scale = nn.Parameter(torch.ones(width))
        self.register_buffer("noise", torch.empty(width))
        self.reset_noise()

    def _drawn(self, size):
        x = torch.randn(size)
        return x.sign() * x.abs().sqrt()

    def reset_noise(self):
        noise = self._drawn(self.width)
        self.noise.copy_(noise)

    def forward(self, x):
        if self.training:
            return x * (self.scale + self.noise)
        return x * self.scale
""")
    assert made.whole
    assert "_drawn" not in made.text
    assert any("stays as it is registered" in note.what for note in made.notes)


def test_the_dtype_of_any_weight_is_that_of_the_input():
    made = converted("""\
class Thing(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.fc = nn.Linear(width, width)

    def extended(self, mask):
        mask = mask[:, None].to(dtype=next(self.parameters()).dtype)
        return (1.0 - mask) * -100.0

    def forward(self, x, mask):
        return self.fc(x) + self.extended(mask)
""")
    assert made.whole
    assert "self._extended(mask)" in made.text


def test_a_shape_that_is_named_is_that_of_an_array():
    made = converted("""\
class Thing(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.fc = nn.Linear(width, width)

    def forward(self, x):
        return self.fc(x) + torch.zeros(size=(x.size(0), 1))
""")
    assert made.whole
    assert "jnp.zeros((x.shape[0], 1), x.dtype)" in made.text


def test_a_flag_that_only_a_method_beside_the_call_sets_is_its_default():
    made = converted("""\
class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.fc = nn.Linear(width, width)

    def forward(self, x, early=False):
        y = self.fc(x)
        if early:
            return y
        return x + y


class Thing(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.block = Block(width)

    def forward(self, x):
        return self.block(x)

    def features(self, x):
        return self.block(x, early=True)
""")
    assert made.whole
    assert "early" not in made.text
    assert any("`features` is left out" in note.what for note in made.notes)


def test_keywords_that_calls_hand_on_differently_are_what_the_layer_takes_them_for():
    made = converted("""\
class Conv(nn.Module):
    def __init__(self, inside, outside, **kwargs):
        super().__init__()
        self.conv = nn.Conv2d(inside, outside, bias=False, **kwargs)

    def forward(self, x):
        return self.conv(x).relu()


class Branch(nn.Module):
    def __init__(self, inside, outside, kernel_size, **kwargs):
        super().__init__()
        self.conv = Conv(inside, outside, kernel_size=kernel_size, **kwargs)

    def forward(self, x):
        return self.conv(x)


class Thing(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.first = Conv(3, width, kernel_size=1)
        self.left = Branch(width, width, 3, padding=1)
        self.right = Branch(width, width, 5, padding=2, stride=1)

    def forward(self, x):
        x = self.first(x)
        return self.left(x) + self.right(x)
""")
    assert "self.first = Conv(3, self.width, kernel_size=1)" in made.text.replace(
        "ThingConv", "Conv"
    ).replace("FromConv", "Conv")
    assert "padding=2, stride=1" in made.text


def test_a_mask_over_positions_has_the_axes_of_what_it_masks():
    made = converted("""\
class Thing(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.score = nn.Linear(width, 1)

    def forward(self, x, mask):
        scores = self.score(x).squeeze(-1)
        scores = scores.masked_fill(mask == 0, -1e9)
        return (F.softmax(scores, dim=-1).unsqueeze(1) @ x).squeeze(1)
""")
    assert "mask: Bool['# batch2 features']" in made.text


def test_a_table_of_rows_is_a_sequence_of_tuples():
    made = converted("""\
class Thing(nn.Module):
    def __init__(self, size, width=4, windows=[(1, 8), (3, 16)], names=[("a", 0.5), ("b", 1)]):
        super().__init__()
        self.table = nn.Embedding(size, width)
        self.convs = nn.ModuleList([nn.Conv1d(width, n, w) for w, n in windows])
        self.rates = [rate for _, rate in names]

    def forward(self, words):
        n, t, c = words.size()
        x = self.table(words.view(n * t, c)).transpose(1, 2)
        return torch.cat([conv(x).mean(-1) for conv in self.convs], dim=-1) * self.rates[0]
""")
    assert "windows: tuple[tuple[int, int], ...] = ((1, 8), (3, 16))" in made.text
    assert "names: tuple[tuple[str, float], ...]" in made.text
    assert "words: Int['n t c']" in made.text


PART = """\
class Part(nn.Module):
    def __init__(self, inside, hidden):
        super().__init__()
        self.hidden = hidden
        self.fc = nn.Linear(inside, hidden)

    def begin(self, count):
        return torch.zeros(count, self.hidden, device=self.fc.weight.device)

    def encode(self, x):
        return self.fc(x).relu()

    def forward(self, x):
        return self.encode(x) * 2


"""


def test_a_method_of_sizes_of_a_part_is_one_of_the_class():
    made = converted(
        PART
        + """\
class Thing(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.parts = nn.ModuleList([Part(width, width) for _ in range(2)])

    def forward(self, x):
        for i in range(2):
            x = x + self.parts[i](x) + self.parts[i].begin(x.size(0))
        return x
"""
    )
    assert "def _begin(self, like_input, hidden, count):" in made.text
    assert "jnp.zeros((count, hidden), like_input.dtype)" in made.text
    assert "self._begin(x, self.parts[i].hidden, x.shape[0])" in made.text


def test_a_method_that_is_called_of_a_part_has_its_name():
    made = converted(
        PART
        + """\
class Thing(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.part = Part(width, width)

    def forward(self, x):
        return self.part.encode(x) + self.part(x)
"""
    )
    assert "def encode(self, x: PyTree) -> PyTree:" in made.text
    assert "return self.part.encode(x) + self.part(x)" in made.text


def test_keywords_of_a_call_that_nothing_gives_are_left_out():
    made = converted("""\
class Residual(nn.Module):
    def __init__(self, fn):
        super().__init__()
        self.fn = fn

    def forward(self, x, **kwargs):
        return self.fn(x, **kwargs) + x


class Mixer(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.fc = nn.Linear(width, width)

    def forward(self, x, **kwargs):
        return self.fc(x)


class Thing(nn.Module):
    def __init__(self, width, depth):
        super().__init__()
        self.layers = nn.ModuleList([])
        for _ in range(depth):
            self.layers.append(nn.ModuleList([Residual(Mixer(width)), Residual(Mixer(width))]))

    def forward(self, x):
        for one, other in self.layers:
            x = other(one(x))
        return x
""")
    assert "kwargs" not in made.text


def test_lists_and_dictionaries_of_weights():
    made = converted("""\
class Thing(nn.Module):
    def __init__(self, width, depth):
        super().__init__()
        self.shifts = nn.ParameterList([nn.Parameter(torch.zeros(width)) for _ in range(depth)])
        self.scales = nn.ParameterList()
        for i in range(depth):
            self.scales.append(nn.Parameter(torch.ones(width)))
        self.ends = nn.ParameterDict({"low": nn.Parameter(torch.ones(width))})

    def forward(self, x):
        for shift, scale in zip(self.shifts, self.scales):
            x = x * scale + shift
        return x * self.ends["low"]
""")
    assert (
        "self.shifts = [trainable(zeros, (self.width,)) for _ in range(self.depth)]"
        in made.text
    )
    assert (
        "self.scales = [trainable(ones, (self.width,)) for i in range(self.depth)]"
        in made.text
    )
    assert "self.ends_low = trainable(ones, (self.width,))" in made.text


MASKED = """\
class Thing(nn.Module):
    def __init__(self, width, count=2):
        super().__init__()
        self.gate = nn.Linear(width, count)
        self.experts = nn.ModuleList([nn.Linear(width, width) for _ in range(count)])

    def forward(self, x):
        weights = self.gate(x).softmax(-1)
        chosen = weights.topk(1, dim=-1)[1]
        out = torch.zeros_like(x)
        flat, flat_weights = x.view(-1, x.size(-1)), weights.view(-1, weights.size(-1))
        for i, expert in enumerate(self.experts):
            mask = (chosen == i).any(dim=-1)
            rows = mask.view(-1)
            if rows.any():
                made = expert(flat[rows])
                out[mask] += (made * flat_weights[rows, i].unsqueeze(1)).squeeze(1)
        return out
"""


def test_rows_that_a_mask_sends_to_layers_are_all_rows():
    made = converted(MASKED)
    assert "made = expert(flat)" in made.text
    assert "jnp.where(jnp.expand_dims(mask, -1), out + (" in made.text
    assert any("are all rows" in note.what for note in made.notes)


def test_rows_that_are_reckoned_with_together_are_not():
    made = convert(
        "thing.py",
        TORCH + MASKED.replace("expert(flat[rows])", "expert(flat[rows]).mean(0)"),
        "Thing",
        "Thing",
    )
    assert "flat[rows]" in made.text


def test_decoders_of_the_library_are_classes_of_their_layers():
    made = converted("""\
class Thing(nn.Module):
    def __init__(self, width, depth):
        super().__init__()
        layer = nn.TransformerDecoderLayer(width, 2, 32, batch_first=True, norm_first=True, activation=F.gelu)
        self.decoder = nn.TransformerDecoder(layer, depth, nn.LayerNorm(width))

    def forward(self, x, memory):
        return self.decoder(x, memory)
""")
    assert "self.multihead_attn(normed, context=memory" in made.text
    assert "gelu(self.linear1(normed), approximate=False)" in made.text
    assert "for layer in self.layers:" in made.text
    assert "return self.decoder(x, memory)" in made.text


def test_a_transformer_of_the_library_is_an_encoder_and_a_decoder():
    made = converted("""\
class Thing(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.net = nn.Transformer(width, 2, 1, 1, dim_feedforward=32)

    def forward(self, x, y):
        return self.net(x, y)
""")
    assert "self.net = " in made.text
    assert (
        "memory = self._encoder(" in made.text or "memory = self.encoder(" in made.text
    )
    assert "relu(self.linear1(tgt))" in made.text


def test_a_layer_that_two_others_are_handed_is_listed():
    made = convert(
        "thing.py",
        TORCH
        + """\
class Wrapped(nn.Module):
    def __init__(self, dim, fn):
        super().__init__()
        self.fn = fn
        self.norm = nn.LayerNorm(dim)

    def forward(self, x):
        return self.fn(self.norm(x))


class Thing(nn.Module):
    def __init__(self, dim):
        super().__init__()
        fc = nn.Linear(dim, dim)
        self.one = Wrapped(dim, fn=fc)
        self.two = Wrapped(dim, fn=fc)

    def forward(self, x):
        return self.one(x) + self.two(x)
""",
        "Thing",
        "Thing",
    )
    assert any("several others are handed" in n.what for n in made.notes if n.blocks)


PAIRS = {
    "a maker of functions": """\
def several(n):
    def parse(x):
        if isinstance(x, collections.abc.Iterable):
            return x
        return tuple(repeat(x, n))
    return parse


both = several(2)
""",
    "a function": """\
def both(x):
    return x if isinstance(x, (tuple, list)) else (x, x)
""",
    "a library": "from timm.models.layers import to_2tuple as both\n",
}


@pytest.mark.parametrize("helper", PAIRS)
@pytest.mark.parametrize("default", ["4", "(4, 4)"])
def test_a_size_for_each_axis_is_one_where_one_is_given(helper, default):
    text = converted(
        PAIRS[helper]
        + f"""\


class Thing(nn.Module):
    def __init__(self, dim, patch_size={default}):
        super().__init__()
        patch_size = both(patch_size)
        self.area = patch_size[0] * patch_size[1]
        self.proj = nn.Conv2d(3, dim, kernel_size=patch_size, stride=patch_size)

    def forward(self, x):
        return self.proj(x).flatten(2) / self.area
""",
        TORCH.replace(
            "import torch\n",
            "import collections.abc\nfrom itertools import repeat\nimport torch\n",
        ),
    ).text
    one = default == "4"
    assert f"patch_size: {'Size' if one else 'Sizes'} = {default}" in text
    assert ("self.patch_size * self.patch_size" in text) is one
    assert ("self.patch_size[0] * self.patch_size[1]" in text) is not one
    assert "several" not in text


@pytest.mark.parametrize(
    "line",
    [
        "size = (size, size) if isinstance(size, int) else size",
        "size = size if isinstance(size, tuple) else (size, size)",
        "if isinstance(size, int):\n            size = (size, size)",
        "if not isinstance(size, (tuple, list)):\n            size = (size, size)",
    ],
)
def test_sizes_that_are_asked_for_their_kind_are_one(line):
    text = converted(f"""\
class Part(nn.Module):
    def __init__(self, dim, size=8):
        super().__init__()
        {line}
        self.size = size
        self.fc = nn.Linear(size[0] * size[1], dim)

    def forward(self, x):
        assert x.shape[2] == self.size[0]
        return self.fc(x.flatten(2))


class Thing(nn.Module):
    def __init__(self, dim, size=8):
        super().__init__()
        {line}
        self.part = Part(dim, size)

    def forward(self, x):
        return self.part(x)
""").text
    assert text.count("size: Size = 8") == 2
    assert "self.part = Part(self.dim, self.size)" in text
    assert "isinstance" not in text


def test_an_image_is_as_large_as_the_layer_behind_it_asks_for():
    text = converted("""\
class Thing(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 6, 5)
        self.fc = nn.Linear(6 * 12 * 12, 10)

    def forward(self, x):
        x = F.max_pool2d(self.conv(x), 2)
        return self.fc(x.view(-1, 6 * 12 * 12))
""").text
    assert "'x': (2, 3, 28, 28)" in text
    assert "-> Float['batch 10']" in text


def test_a_base_that_computes_nothing_is_not_told_of():
    made = convert(
        "thing.py",
        f"""\
{TORCH}class Base(nn.Module):
    def __init__(self):
        super(Base, self).__init__()

    def forward(self, x):
        raise NotImplementedError


class Thing(Base):
    def __init__(self, dim):
        super(Thing, self).__init__()
        self.fc = nn.Linear(dim, dim)

    def forward(self, x):
        return torch.sparse.mm(self.fc(x), x)
""",
        "Thing",
        "FromThing",
    )
    [note] = [n for n in made.notes if n.blocks]
    assert "`torch.sparse.mm`" in note.what


@pytest.mark.parametrize(
    ("draw", "becomes"),
    [
        ("random.random()", "jax.random.uniform(self.key(), (), x.dtype)"),
        ("np.random.rand()", "jax.random.uniform(self.key(), (), x.dtype)"),
        ("torch.rand(1).item()", "jax.random.uniform(self.key(), (1,), x.dtype).reshape(())"),
        (
            "np.random.normal(0, 2, (x.size(0), 1))",
            "jax.random.normal(self.key(), (x.shape[0], 1), x.dtype) * 2 + 0",
        ),
        (
            "random.uniform(0.5, 2)",
            "jax.random.uniform(self.key(), (), x.dtype) * (2 - 0.5) + 0.5",
        ),
    ],
)  # fmt: skip
def test_what_python_draws_is_drawn_with_keys(draw, becomes):
    text = converted(
        f"""\
class Thing(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.fc = nn.Linear(dim, dim)

    def forward(self, x):
        if self.training and {draw} < 0.7:
            x = x * 2
        return self.fc(x)
""",
        f"import random\nimport numpy as np\n{TORCH}",
    ).text
    assert f"if self.training and {becomes} < 0.7:" in text
    assert "import random" not in text


def test_what_python_chooses_is_told_with_what_to_do():
    made = convert(
        "thing.py",
        f"""\
import random
{TORCH}class Thing(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(dim, dim) for _ in range(3)])

    def forward(self, x):
        return x * random.randint(1, 3)

    def pick(self):
        return random.choice(self.layers)
""",
        "Thing",
        "FromThing",
    )
    [note] = [n for n in made.notes if n.blocks]
    assert note.line == 13
    assert "`random.randint` draws by itself" in note.what
    assert "`self.key()`" in note.todo


SEQUENCES = """\
class Decoder(nn.Module):
    def __init__(self, vocab, dim):
        super().__init__()
        self.vocab = vocab
        self.embed = nn.Embedding(vocab, dim)
        self.fc = nn.Linear(dim, vocab)

    def forward(self, ids):
        return self.fc(self.embed(ids))


class Thing(nn.Module):
    def __init__(self, vocab, dim):
        super().__init__()
        self.decoder = Decoder(vocab, dim)

    def forward(self, target):
        n, b = target.shape[0], target.shape[1]
        out = torch.zeros(n, b, self.decoder.vocab)
        ids = target[0, :]
        for t in range(1, n):
            out[t] = self.decoder(ids)
            ids = out[t].argmax(1)
        return out
"""


def test_arrays_that_are_made_of_indices_are_in_the_dtype_of_a_part():
    text = converted(SEQUENCES).text
    assert "target: Int['batch axis1']" in text
    assert "self.vocab), self.decoder.embed.embedding.dtype)" in text


def test_a_table_that_is_added_to_indices_keeps_its_dtype():
    text = converted(
        SEQUENCES.split("class Thing")[0]
        + """\
class Thing(nn.Module):
    def __init__(self, vocab, dim):
        super().__init__()
        self.register_buffer("start", torch.tensor([0, 3, 5]))
        self.decoder = Decoder(vocab, dim)

    def forward(self, ids):
        return self.decoder(ids + self.start)
"""
    ).text
    assert "self.decoder(ids + jnp.asarray(self.start))" in text


def test_a_layer_that_may_be_given_and_is_not_is_told_where_it_is_called():
    made = convert(
        "thing.py",
        f"""\
{TORCH}class Thing(nn.Module):
    def __init__(self, dim, shared=None):
        super().__init__()
        self.fc = nn.Linear(dim, dim)
        self.shared = shared

    def forward(self, x):
        return self.fc(x) + self.shared(x)
""",
        "Thing",
        "FromThing",
    )
    assert not made.whole


def test_an_empty_list_that_stands_for_none_is_filled():
    text = converted("""\
class Thing(nn.Module):
    def __init__(self, dim, sizes=None):
        super().__init__()
        if sizes is None:
            sizes = []
        sizes = sizes + [dim]
        self.fc = nn.Linear(dim, sizes[0])

    def forward(self, x):
        return self.fc(x)
""").text
    assert "Linear(self.dim, " in text


def test_a_network_that_is_given_an_environment_is_given_its_sizes():
    text = converted(
        """\
class Thing(nn.Module):
    def __init__(self, env, width=16):
        super().__init__()
        self.first = nn.Linear(np.array(env.single_observation_space.shape).prod(), width)
        self.last = nn.Linear(width, env.single_action_space.n)

    def forward(self, x):
        return self.last(self.first(x))
""",
        f"import numpy as np\n{TORCH}",
    ).text
    assert "action_space_n: Size\n    observation_space_shape: Sizes" in text
    assert "Linear(np.prod(self.observation_space_shape), self.width)" in text
    assert "'observation_space_shape': (8, 8), 'width': 16, 'x': (2, 64)" in text
