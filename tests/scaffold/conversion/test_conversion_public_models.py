"""What models of public repositories have: kept attention, checkpoints, makers of layers, zeroed layers."""

from __future__ import annotations

import pytest
from test_conversion_forms import TORCH, converted

from mlax_scaffold.conversion import convert

KEPT = """\
class Thing(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.out = nn.Linear(dim, dim)
        self.attn = None

    def forward(self, q, k, mask=None):
        scores = torch.matmul(q, k.transpose(-2, -1))
        if mask is not None:
            self.attn = torch.softmax(scores.masked_fill(mask, -1e9), dim=-1)
        else:
            self.attn = torch.softmax(scores, dim=-1)
        return self.out(torch.matmul(self.attn, k))
"""


def test_what_a_method_keeps_and_reads_itself_is_a_local():
    text = converted(KEPT).text
    assert "self.attn" not in text
    assert "jnp.matmul(attn, k)" in text
    assert "        else:\n            attn = softmax(scores)" in text


@pytest.mark.parametrize(
    "old",
    [
        "        else:\n            self.attn = torch.softmax(scores, dim=-1)\n",
        "        self.attn = None\n",
    ],
)
def test_what_is_read_before_it_is_set_stays(old):
    other = KEPT.replace(old, old.replace("self.attn = ", "self.other = "))
    other += "\n    def last(self):\n        return self.attn\n" * ("else" not in old)
    made = convert("thing.py", TORCH + other, "Thing", "FromThing", "LAYER")
    assert ("else" not in old) or not made.whole


CHECKPOINTED = """\
import torch.utils.checkpoint as cp


class Thing(nn.Module):
    def __init__(self, dim, depth, use_checkpoint=False):
        super().__init__()
        self.blocks = nn.ModuleList([nn.Linear(dim, dim) for _ in range(depth)])
        self.use_checkpoint = use_checkpoint

    def forward(self, x):
        for block in self.blocks:
            x = AGAIN
        return x
"""


@pytest.mark.parametrize(
    "call",
    [
        "cp.checkpoint(block, x)",
        "torch.utils.checkpoint.checkpoint(block, x, use_reentrant=False)",
    ],
)
def test_what_is_computed_again_for_gradients_is_computed_once(call):
    text = converted(CHECKPOINTED.replace("AGAIN", call)).text
    assert "        for block in self.blocks:\n            x = block(x)\n" in text


def test_a_function_that_is_made_for_a_checkpoint_is_the_block():
    call = "cp.checkpoint(make(block), x)"
    body = CHECKPOINTED.replace(
        "            x = AGAIN",
        f"""\
            def make(module):
                def run(*inputs):
                    return module(*inputs)
                return run

            x = {call}""",
    )
    assert "            x = block(x)\n" in converted(body).text


DISPATCHED = """\
def conv_nd(dims, *args, **kwargs):
    if dims == 1:
        return nn.Conv1d(*args, **kwargs)
    elif dims == 2:
        return nn.Conv2d(*args, **kwargs)
    raise ValueError(f"unsupported dimensions: {dims}")


def linear(*args, **kwargs):
    return nn.Linear(*args, **kwargs)


def zero_module(module):
    for p in module.parameters():
        p.detach().zero_()
    return module


def checkpoint(func, inputs, params, flag):
    if flag:
        return CheckpointFunction.apply(func, len(inputs), *inputs, *params)
    else:
        return func(*inputs)


class Thing(nn.Module):
    def __init__(self, channels, features, dims=2, use_checkpoint=False):
        super().__init__()
        self.use_checkpoint = use_checkpoint
        self.dims = dims
        self.conv = conv_nd(dims, channels, channels, 3, padding=1)
        self.shift = linear(features, channels, bias=False)
        self.out = nn.Sequential(
            nn.SiLU(),
            zero_module(conv_nd(dims, channels, channels, 1)),
        )
        self.last = zero_module(nn.Linear(features, channels, bias=False))

    def forward(self, x, t):
        return checkpoint(self._forward, (x, t), self.parameters(), self.use_checkpoint)

    def _forward(self, x, t):
        h = self.conv(x)
        shift = self.shift(t) + self.last(t)
        while len(shift.shape) < len(h.shape):
            shift = shift[..., None]
        if self.dims == 3:
            h = h.mean(-1)
        return x + self.out(h + shift)
"""


def test_functions_that_choose_layers_are_the_layers_that_the_defaults_choose():
    made = converted(DISPATCHED)
    text = made.text
    assert "self.conv = Conv(2, self.channels, self.channels, 3, padding=1)" in text
    assert "self.shift = Linear(self.features, self.channels, use_bias=False)" in text
    assert "dims" not in text
    assert "return self._forward(x, t)" in text
    told = [n for n in made.notes if "`dims` of Thing is always `2`" in n.what]
    assert len(told) == 1


def test_weights_that_a_function_sets_to_zero_begin_so():
    text = converted(DISPATCHED).text
    zeros = "kernel_initializer=zeros"
    assert f"self.channels, 1, padding=0, {zeros}, bias_initializer=zeros)" in text
    assert (
        f"self.last = Linear(self.features, self.channels, use_bias=False, {zeros})"
        in text
    )


def test_what_is_added_to_channels_has_as_many_axes_as_images_have():
    text = converted(DISPATCHED).text
    assert "shift = shift[..., None, None]" in text
    assert "x: Float['batch channels height width'], t: Float['batch features']" in text


def test_makers_whose_parameter_differs_stay():
    body = DISPATCHED + "\n\nother = Thing(8, 8, 1)\nclass User(nn.Module):\n"
    body += "    def __init__(self):\n        super().__init__()\n        self.a = Thing(8, 8, 1)\n"
    made = convert("thing.py", TORCH + body, "Thing", "FromThing", "LAYER")
    assert not made.whole


def test_sizes_that_are_asked_for_none_may_be_none():
    text = converted("""\
class Thing(nn.Module):
    def __init__(self, dim: int, hidden_dim: int):
        super().__init__()
        if hidden_dim is None:
            hidden_dim = 4 * dim
        self.up = nn.Linear(dim, hidden_dim)

    def forward(self, x):
        return self.up(x)
""").text
    assert "hidden_dim: Size | None\n" in text


def test_rates_that_are_kept_first_are_rates():
    text = converted("""\
class Part(nn.Module):
    def __init__(self, size, drop_out):
        super().__init__()
        self.drop_out = drop_out
        self.dropout = nn.Dropout(self.drop_out)
        self.fc = nn.Linear(size, size)

    def forward(self, x):
        return self.dropout(self.fc(x))


class Thing(nn.Module):
    def __init__(self, size, drop_out):
        super().__init__()
        self.drop_out = drop_out
        self.part = Part(size, self.drop_out)

    def forward(self, x):
        return self.part(x)
""").text
    assert text.count("drop_out: Probability") == 2


RELATIVE = """\
class Thing(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.query = nn.Linear(dim, dim)

    def shift(self, x):
        zeros = torch.zeros((*x.size()[:2], 1), device=x.device, dtype=x.dtype)
        padded = torch.cat([zeros, x], dim=-1)
        padded = padded.view(x.size(0), x.size(2) + 1, x.size(1))
        return padded[:, 1:].view_as(x)[:, :, : x.size(-1) // 2 + 1]

    def forward(self, x, k, positions):
        b, t, _ = x.shape
        q = self.query(x)
        content = torch.matmul(q, k.transpose(-2, -1))
        return content + self.shift(torch.matmul(q, positions.transpose(-2, -1)))
"""


def test_distances_are_as_many_as_a_shift_leaves_one_for_each_key():
    text = converted(RELATIVE).text
    assert "2*axis2-1 dim']" in text
    assert "'k': (2, 4, 8), 'positions': (2, 7, 8)" in text


DETR = """\
class Thing(nn.Module):
    def __init__(self, dim, heads, activation="relu"):
        super().__init__()
        self.attn = nn.MultiheadAttention(dim, heads)
        self.activation = _activation(activation)

    def forward(self, x, memory, attn_mask=None, padding=None):
        y = self.attn(
            query=x, key=memory, value=memory, attn_mask=attn_mask, key_padding_mask=padding
        )[0]
        return self.activation(x + y)


def _activation(activation):
    if activation == "relu":
        return F.relu
    if activation == "glu":
        return F.glu
    raise RuntimeError(activation)
"""


def test_masks_of_attention_have_the_axes_that_pytorch_says():
    text = converted(DETR).text
    assert "x: Float['batch time dim'], memory: Float['batch2 time dim']" in text
    assert "attn_mask: Bool['batch batch2'] | None=None" in text
    assert "padding: Bool['time batch2'] | None=None" in text


def test_a_function_of_the_library_may_be_a_gated_one():
    assert "return jax.nn.glu" in converted(DETR).text


FLAX = """\
import flax.linen as nn
import haiku as hk
import jax
import jax.numpy as jnp


"""


def of_jax(body: str) -> str:
    return converted(body, FLAX).text


def test_initializers_that_a_flag_chooses_by_keywords_are_chosen():
    text = of_jax("""\
class Thing(nn.Module):
    size: int
    zero_init: bool = True

    @nn.compact
    def __call__(self, x):
        kw = {"kernel_init": nn.initializers.zeros} if self.zero_init else {}
        return nn.Dense(self.size, name="head", **kw)(x)
""")
    assert "kernel_initializer=zeros if self.zero_init else lecun_normal())" in text


def test_a_list_that_a_call_fills_for_a_sequence_is_what_the_sequence_does():
    text = of_jax("""\
class Thing(hk.Module):
    def __init__(self, size, depth, name=None):
        super().__init__(name=name)
        self.size, self.depth = size, depth

    def __call__(self, x):
        layers = [lambda x: x / 255.0, hk.Linear(self.size)]
        layers += [hk.Linear(self.size) for _ in range(self.depth)]
        for _ in range(2):
            layers.append(jax.nn.relu)
        return jnp.tanh(hk.Sequential(layers)(x))
""")
    assert "layers = layers / 255.0" in text
    assert (
        "        for linear in self.linears:\n            layers = linear(layers)"
        in text
    )
    assert "layers = jax.nn.relu(layers)" in text
    assert "return jnp.tanh(layers)" in text


def test_a_weight_has_the_name_that_a_function_is_given_for_it():
    text = of_jax("""\
def positions(self, size, name):
    return self.param(name, nn.initializers.normal(0.02), (1, size))


class Thing(nn.Module):
    size: int

    @nn.compact
    def __call__(self, x):
        return x + positions(self, self.size, "pos_embedding")
""")
    assert "self.pos_embedding = trainable(normal(0.02), (1, self.size))" in text


def test_a_field_that_is_a_dtype_by_its_name_and_default_is_one():
    text = of_jax("""\
class Part(nn.Module):
    size: int
    dtype_mm: str = "float32"

    @nn.compact
    def __call__(self, x):
        return nn.Dense(self.size, dtype=self.dtype_mm)(x)


class Thing(nn.Module):
    size: int
    dtype_mm: str = "float32"

    @nn.compact
    def __call__(self, x):
        x = jnp.asarray(x, self.dtype_mm)
        return Part(self.size, dtype_mm=self.dtype_mm)(x)
""")
    assert "dtype_mm" not in text


@pytest.mark.parametrize(
    ("width", "chosen"),
    [
        ("int", "'width': 24, 'num_heads': 12"),
        ("int = 768", "'width': 8, 'num_heads': 2"),
    ],
)
def test_heads_of_examples_divide_features(width, chosen):
    text = of_jax(
        """\
class Thing(nn.Module):
    width: WIDTH
    num_heads: int = 12

    @nn.compact
    def __call__(self, x):
        x = nn.Dense(self.width)(x)
        return nn.MultiHeadDotProductAttention(num_heads=self.num_heads)(x, x)
""".replace("WIDTH", width)
    )
    assert chosen in text


def test_precision_of_attention_says_nothing_of_what_is_computed():
    text = of_jax("""\
class Thing(nn.Module):
    precision: jax.lax.Precision | None = None

    @nn.compact
    def __call__(self, q, k, v):
        return nn.dot_product_attention(q, k, v, precision=self.precision)
""")
    assert "dot_product_attention" in text or "softmax" in text


def test_numbers_as_rows_of_haiku_are_those_of_jax():
    text = of_jax("""\
class Thing(hk.Module):
    def __init__(self, actions, name=None):
        super().__init__(name=name)
        self.actions = actions

    def __call__(self, x, action):
        return hk.Linear(self.actions)(x) * hk.one_hot(action, self.actions)
""")
    assert "jax.nn.one_hot(action, self.actions" in text


def test_a_dtype_that_setup_hands_to_a_function_is_left_out():
    text = of_jax("""\
def table(size, dtype=jnp.float32):
    return jnp.arange(size).astype(dtype)


class Thing(nn.Module):
    size: int
    dtype: jnp.dtype = jnp.float32

    def setup(self):
        self.table = table(self.size, dtype=self.dtype)

    def __call__(self, x):
        return x * self.table
""")
    assert "self.table = table(self.size)" in text


def test_a_shape_with_a_name_stays_that_of_the_array_that_is_bound_anew():
    text = converted("""\
class Part(nn.Module):
    def __init__(self, nf, nx):
        super().__init__()
        self.nf = nf
        self.weight = nn.Parameter(torch.empty(nx, nf))
        self.bias = nn.Parameter(torch.zeros(nf))

    def forward(self, x):
        size_out = x.size()[:-1] + (self.nf,)
        x = torch.addmm(self.bias, x.view(-1, x.size(-1)), self.weight)
        return x.view(size_out)


class Thing(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.attn = Part(3 * dim, dim)
        self.dim = dim

    def forward(self, x):
        q, k, v = self.attn(x).split(self.dim, dim=2)
        return q * k + v
""").text
    assert "x: Float['*batch nx']) -> Float['*batch nf']" in text
    assert "size_out = x.shape[:-1]\n" in text
    assert "x.reshape(*size_out, self.nf)" in text
    assert "x: Float['batch axis1 dim']" in text


def test_a_mask_of_numbers_of_equinox_says_where_it_is_not_zero():
    text = converted(
        """\
class Thing(eqx.Module):
    attention: eqx.nn.MultiheadAttention

    def __init__(self, size: int, *, key):
        self.attention = eqx.nn.MultiheadAttention(4, size, key=key)

    def __call__(self, x: Float[Array, "n size"], mask: Float[Array, "n"]):
        mask = jnp.broadcast_to(mask, (x.shape[0], x.shape[0]))
        return self.attention(x, x, x, mask=mask)
""",
        "import equinox as eqx\nimport jax.numpy as jnp\nfrom jaxtyping import Array, Float\n\n\n",
    ).text
    assert "mask=mask != 0" in text
