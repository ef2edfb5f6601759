"""Whole models of PyTorch: functions that make them, bases with a configuration, filled lists, devices."""

from __future__ import annotations

import pytest
from test_conversion_forms import TORCH, converted

from mlax_scaffold.conversion import convert
from mlax_scaffold.testing.several_arguments import by_name

NET = """\
class Block(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.fc = nn.Linear(dim, dim)

    def forward(self, x):
        return x + self.fc(x)


class Net(nn.Module):
    def __init__(self, block, depth, dim=16, classes=10):
        super().__init__()
        self.blocks = nn.Sequential(*[block(dim) for _ in range(depth)])
        self.head = nn.Linear(dim, classes)

    def forward(self, x):
        return self.head(self.blocks(x))


class Scaled(nn.Module):
    def __init__(self, inner, scale):
        super().__init__()
        self.inner = inner
        self.scale = scale

    def forward(self, x):
        return self.inner(x) * self.scale


def net4(pretrained=False, progress=True, **kwargs):
    model = Net(Block, 4, **kwargs)
    model.default_cfg = {"url": ""}
    if pretrained:
        found = torch.hub.load_state_dict_from_url("", progress=progress)
        model.load_state_dict(found)
    model.eval()
    return model


def scaled(dim=8, large=False):
    if large:
        scale = 4.0
    else:
        scale = 2.0
    block = Block(dim)
    return Scaled(block, scale)


def described(dim=8, path=None):
    model = Block(dim)
    register(model)
    return model
"""


def test_a_function_that_makes_a_model_and_loads_its_weights_is_that_model():
    made = convert("net.py", TORCH + NET, "net4", "Net4")
    assert made.whole, made.notes
    assert "depth: Size = 4\n    dim: Size = 16\n    classes: Size = 10" in made.text
    assert "Block(self.dim) for _ in range(self.depth)" in made.text


def test_one_that_computes_what_a_model_is_made_of_is_a_class_that_has_it():
    made = convert("net.py", TORCH + NET, "scaled", "ScaledNet")
    assert made.whole, made.notes
    assert "dim: Size = 8\n    large: bool = False" in made.text
    assert "return self.model(x)" in made.text


def test_one_that_does_something_else_with_the_model_is_none():
    with pytest.raises(Exception, match="described is no layer"):
        convert("net.py", TORCH + NET, "described", "Described")


CONFIGURED = """\
class NetConfig:
    def __init__(self, dim=32, heads=4, std=0.02, **kwargs):
        self.dim = dim
        self.heads = heads
        self.std = std
        if dim % heads != 0:
            raise ValueError("heads")


class Pretrained(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config = config

    def scaled(self, x):
        return x * self.config.std


class Net(Pretrained):
    def __init__(self, config):
        super().__init__(config)
        self.fc = nn.Linear(config.dim, config.dim)

    def forward(self, x):
        return self.scaled(self.fc(x)) * self.config.heads


class Classifier(Pretrained):
    def __init__(self, config):
        super().__init__(config)
        self.net = Net(config)

    def forward(self, x):
        return self.net(x)
"""


def test_a_base_that_keeps_the_configuration_is_written_out():
    made = convert("net.py", TORCH + CONFIGURED, "Classifier", "Classifier")
    assert made.whole, made.notes
    assert "dim: Size = 32\n    heads: Size = 4\n    std: float = 0.02" in made.text
    assert "return x * self.std" in made.text
    assert "self.net = Net(" in made.text


LISTED = """\
def FeedForward(dim, mult=4):
    inner = int(dim * mult)
    return nn.Sequential(nn.Linear(dim, inner), nn.Linear(inner, dim))


class Thing(nn.Module):
    def __init__(self, dim, depth):
        super().__init__()
        self.layers = nn.ModuleList([])
        for _ in range(depth):
            self.layers.append(nn.ModuleList([nn.Linear(dim, dim), FeedForward(dim, mult=2)]))

    def forward(self, x):
        for mix, ff in self.layers:
            x = mix(x) + x
            x = ff(x) + x
        return x
"""


def test_a_function_that_makes_a_sequence_for_a_list_is_a_class():
    made = converted(LISTED)
    assert made.whole, made.notes
    assert "self.layers_1 = [FeedForward(self.dim, mult=2) for _ in" in made.text
    assert "inner = int(self.dim * self.mult)" in made.text


APPENDED = """\
class Thing(nn.Module):
    def __init__(self, dim, depth, device):
        super().__init__()
        self.norms = nn.ModuleList()
        self.layers = nn.ModuleList()
        for _ in range(depth):
            norm = nn.LayerNorm(dim)
            self.norms.append(norm)
            layer = nn.MultiheadAttention(dim, 2)
            self.layers.append(layer)
        self.to(device)

    def forward(self, x):
        x = torch.transpose(x, 0, 1)
        for i in range(len(self.layers)):
            q = self.norms[i](x)
            y, _ = self.layers[i](q, x, x)
            x = q + y
        return torch.transpose(x, 0, 1)
"""


def test_attention_that_a_list_is_filled_with_has_the_batch_first():
    made = converted(APPENDED)
    assert made.whole, made.notes
    assert "batch_first" not in made.text
    assert "jnp.swapaxes(q, 0, 1)" in made.text
    assert "device" not in made.text


SIZED = """\
class Thing(nn.Module):
    def __init__(self, n, m):
        super().__init__()
        self.weight = nn.Parameter(torch.FloatTensor(m, n))
        self.register_buffer("noise", torch.FloatTensor(m, n))
        self.register_buffer("shift", torch.FloatTensor(m))

    def forward(self, x):
        if self.training:
            return F.linear(x, self.weight + self.noise, self.shift)
        return F.linear(x, self.weight)
"""


def test_a_tensor_of_sizes_is_an_empty_one():
    made = converted(SIZED)
    assert made.whole, made.notes
    assert "self.noise = state(zeros, (self.m, self.n))" in made.text
    assert "self.shift = state(zeros, (self.m,))" in made.text


@pytest.mark.parametrize(
    ("mean", "std", "expected"),
    [
        ("torch.zeros(dim)", "torch.ones(dim)", ("state(zeros", "state(ones")),
        ("torch.empty(dim)", "torch.ones(dim)", ("state(zeros", "state(ones")),
        ("torch.FloatTensor(dim)", "torch.ones(2)", ("state(zeros", "np.ones")),
        (
            "torch.zeros(dim), persistent=False",
            "torch.ones(dim)",
            ("np.zeros", "np.ones"),
        ),
        (
            "torch.zeros(dim, dtype=torch.long)",
            "torch.ones(dim)",
            ("np.zeros", "np.ones"),
        ),
        ("torch.linspace(0, 1, dim)", "torch.ones(dim)", ("np.linspace", "np.ones")),
    ],
)
def test_buffers_that_a_checkpoint_fills_are_states(
    mean: str, std: str, expected: tuple[str, str]
):
    made = converted(f"""\
class Thing(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.register_buffer("mean", {mean})
        self.register_buffer("std", {std})
        self.linear = nn.Linear(dim, dim)

    def forward(self, x):
        return self.linear((x - self.mean) / self.std)
""")
    lines = made.text.split("\n")
    for title, begins in zip(("mean", "std"), expected, strict=True):
        [line] = [part.strip() for part in lines if f"self.{title} = " in part]
        assert line.startswith(f"self.{title} = {begins}")


NAMED = """\
class Thing(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.fc = nn.Linear(dim, dim)

    def forward(self, *, scale: torch.Tensor = None, query: torch.Tensor, key: torch.Tensor):
        x = self.fc(query) @ self.fc(key).transpose(1, 2)
        return x if scale is None else x * scale
"""


def test_inputs_that_are_given_by_name_have_places():
    made = converted(NAMED)
    assert made.whole, made.notes
    assert "def forward(self, query: " in made.text
    assert ", key: Float[" in made.text


def test_what_is_given_by_name_is_given_so_when_it_is_compared():
    def called(*, scale=None, query, key):
        return query, key, scale

    placed, named = by_name(called, (1, 2, 3))
    assert called(*placed, **named) == (1, 2, 3)


PRIOR = """\
class Thing(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.fc = nn.Linear(dim, dim)
        self.loc = nn.Parameter(torch.zeros(dim))
        self.scale = nn.Parameter(torch.ones(dim))

    @property
    def prior(self):
        return torch.distributions.Normal(self.loc, self.scale)

    def forward(self, x):
        z = self.fc(x)
        y = torch.distributions.Normal(z, 2.0).log_prob(x)
        return self.prior.log_prob(z).sum(-1) + y.sum(-1)
"""


def test_a_distribution_is_the_arrays_that_it_is_made_of_where_it_is_read():
    made = converted(PRIOR)
    assert made.whole, made.notes
    assert "distributions" not in made.text
    assert "distribution2_scale = self.scale" in made.text
    assert "def _prior" not in made.text


RATES = """\
class Pool(nn.Module):
    def __init__(self, dim, rates):
        super().__init__()
        first, second, third = tuple(rates)
        self.a = nn.Conv2d(dim, dim, 3, padding=first, dilation=first)
        self.b = nn.Conv2d(dim, dim, 3, padding=second, dilation=second)
        self.c = nn.Conv2d(dim, dim, 3, padding=third, dilation=third)

    def forward(self, x):
        return self.a(x) + self.b(x) + self.c(x)


class Head(nn.Module):
    def __init__(self, dim, rates=[12, 24, 36]):
        super().__init__()
        self.pool = Pool(dim, rates)

    def forward(self, maps):
        return self.pool(maps["low"]) + maps["high"]


class Thing(nn.Module):
    def __init__(self, dim, dilate, clip_bounds):
        super().__init__()
        self.head = Head(dim, dilate)
        self.clip_bounds = clip_bounds

    def forward(self, x):
        low, high = self.clip_bounds
        return self.head({"low": x, "high": x}).clamp(low, high)
"""


def test_a_parameter_is_several_sizes_where_the_class_that_it_is_handed_to_takes_several():
    made = converted(RATES)
    assert made.whole, made.notes
    assert "dilate: Sizes\n    clip_bounds: tuple[float, ...]" in made.text
    assert (
        "rates: Sizes = (12, 24, 36)"
        in convert("net.py", TORCH + RATES, "Pool", "Pool2").text
    )
    alone = RATES.partition("class Head")[0]
    assert (
        "'rates': (8, 8, 8)" in convert("net.py", TORCH + alone, "Pool", "Pool2").text
    )
    last = convert(
        "net.py", TORCH + RATES.replace(", clip_bounds)", ")"), "Thing", "Net"
    )
    assert "dilate: Sizes = (12, 24, 36)" in last.text


def test_an_input_whose_parts_are_read_by_name_is_a_dictionary():
    assert "def forward(self, maps: dict[str, jax.Array])" in converted(RATES).text


POPPED = """\
class Thing(nn.Module):
    def __init__(self, dim, mults=(1, 2)):
        super().__init__()
        self.downs = nn.ModuleList()
        self.ups = nn.ModuleList()
        widths = []
        width = dim
        for mult in mults:
            self.downs.append(nn.Linear(width, dim * mult))
            width = dim * mult
            widths.append(width)
        for mult in reversed(mults):
            self.ups.append(nn.Linear(width + widths.pop(), dim * mult))
            self.ups.append(nn.Dropout(0.1))
            width = dim * mult

    def forward(self, x):
        kept = []
        for i in range(len(self.downs)):
            x = self.downs[i](x)
            kept.append(x)
        for i in range(0, len(self.ups), 2):
            x = self.ups[i](torch.cat([x, kept.pop()], dim=-1))
            x = self.ups[i + 1](x)
        return x
"""


def test_what_a_constructor_takes_out_of_a_list_is_out_of_it():
    made = convert("net.py", TORCH + POPPED, "Thing", "Net", run=1)
    assert made.whole, made.notes
    setup = made.text.partition("def forward")[0]
    assert "pop()" not in setup
    assert "Linear(self.dim * 2 + self.dim * 2, self.dim * 2)" in setup
    assert "Linear(self.dim * 2 + self.dim, self.dim)" in setup


STAGE = """\
class Thing(nn.Module):
    LOW, HIGH = -20, 2

    def __init__(self, size, wide, depth=2, stride=2):
        super().__init__()
        if size != wide or stride > 1:
            self.down = nn.Sequential(nn.GroupNorm(1, size), nn.Conv2d(size, wide, stride, stride))
            size = wide
        else:
            self.down = nn.Identity()
        blocks = []
        for _ in range(depth):
            blocks.append(nn.Sequential(nn.Conv2d(size, wide, 3, padding=1), nn.GELU()))
            size = wide
        self.blocks = nn.Sequential(*blocks)

    def forward(self, x):
        x = self.down(x)
        for block in self.blocks:
            x = x + block(x)
        return x.clamp(self.LOW, self.HIGH)
"""


def test_a_stage_whose_blocks_are_gone_over_has_a_list_of_them():
    made = converted(STAGE)
    text = " ".join(made.text.split())
    # A size that a branch sets is chosen behind it.
    assert (
        "self.wide if self.size != self.wide or self.stride > 1 else self.size" in text
    )
    assert "for block in self.blocks: x = x + block(x)" in text
    assert "LOW = -20" in text
    assert "jnp.clip(x, self.LOW, self.HIGH)" in text


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (
            "            size = wide\n        else",
            "            size = wide\n            stride = 1\n        else",
        ),
        (
            "            size = wide\n        else",
            "            stride = 1\n            size = wide\n        else",
        ),
        ("if size != wide or stride > 1:", "if wider(size, wide):"),
    ],
)
def test_a_condition_that_a_branch_changes_is_not_asked_twice(old: str, new: str):
    body = STAGE.replace(old, new)
    assert body != STAGE
    made = convert("thing.py", TORCH + body, "Thing", "FromThing")
    assert "else self.size" not in " ".join(made.text.split())


def test_sequences_that_are_called_as_a_whole_stay_sequences():
    called = STAGE.replace(
        "return x.clamp", "x = self.blocks(x)\n        return x.clamp"
    )
    made = convert("thing.py", TORCH + called, "Thing", "FromThing")
    assert "holds layers of several kinds" in str(made.notes)


def test_indices_of_examples_tell_the_axes_of_what_they_choose_from():
    text = converted("""\
class Conv(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.conv = nn.Conv2d(dim, dim, 1)

    def forward(self, x):
        return self.conv(x)


class Thing(nn.Module):
    def __init__(self, dim, classes):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(classes, dim))

    def forward(self, x, label):
        y = F.linear(F.normalize(x), F.normalize(self.weight))
        hot = torch.zeros(y.size(), device=x.device)
        hot.scatter_(1, label.view(-1, 1).long(), 1)
        return torch.where(hot > 0, y - 0.2, y)
""").text
    assert "x: Float['*batch dim'], label: Int['*batch 1']" in text


def test_sequences_of_blocks_that_a_loop_counts_are_of_a_class():
    text = converted(
        """\
class Block(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.conv = nn.Conv2d(c, c, 3, padding=1)

    def forward(self, x):
        return x + self.conv(x)


class Thing(nn.Module):
    def __init__(self, width=8, nums=[1, 2]):
        super().__init__()
        self.stages = nn.ModuleList()
        self.downs = nn.ModuleList()
        chan = width
        for num in nums:
            self.stages.append(nn.Sequential(*[Block(chan) for _ in range(num)]))
            self.downs.append(nn.Conv2d(chan, 2 * chan, 2, 2))
            chan = chan * 2

    def forward(self, x):
        for stage, down in zip(self.stages, self.downs):
            x = down(stage(x))
        return x
"""
    ).text
    assert "self.layers_layers = [Block(self.chan) for _ in range(self.num)]" in text
    assert "self.stages = [ThingStage(" in text
    # Passes of loops are few.
    assert "'chan': 8, 'num': 2" in text


def test_the_length_of_a_list_of_layers_is_that_of_what_it_is_made_of():
    text = converted(
        """\
class Thing(nn.Module):
    def __init__(self, widths=(4, 8)):
        super().__init__()
        self.fcs = nn.ModuleList([nn.Linear(width, width) for width in widths])
        self.by = 2 ** len(self.fcs)

    def forward(self, x):
        return [fc(x[..., : fc.in_features]) for fc in self.fcs][0] * self.by
"""
    ).text
    assert "self.by = 2 ** len(self.widths)" in text


def test_what_reads_a_number_tells_that_it_is_a_rate_or_a_scale():
    text = converted(
        """\
class Part(nn.Module):
    def __init__(self, dim, attn=0, scale=None):
        super().__init__()
        self.scale = scale or dim ** -0.5
        self.drop = nn.Dropout(attn)

    def forward(self, x):
        return self.drop(x) * self.scale


class Thing(nn.Module):
    def __init__(self, dim, attn):
        super().__init__()
        self.fc = nn.Linear(dim, dim)
        self.part = Part(dim, attn)

    def forward(self, x):
        return self.part(self.fc(x))
"""
    ).text
    assert "Probability = 0.0\n" in text
    assert ": float | None = None" in text
    assert "attn: Probability\n" in text


def test_layers_of_a_layer_that_another_one_calls_are_called_by_methods():
    text = converted(
        """\
class Attend(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.q = nn.Linear(dim, dim)
        self.memory = nn.Linear(dim, dim)

    def forward(self, x, kept):
        return self.q(x) * kept


class Thing(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.attend = Attend(dim)

    def forward(self, x):
        return self.attend(x, self.attend.memory(x))
"""
    ).text
    assert "return self.memory(x)" in text
    assert "self.attend(x, self.attend.run_memory(x))" in text


def test_a_function_that_is_added_takes_no_comments_of_its_call():
    text = converted(
        """\
class Thing(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.conv = nn.Conv2d(dim, dim, 1)

    def forward(self, x):
        # larger, by lines
        x = F.interpolate(x, size=(9, 9), mode="bilinear", align_corners=False)
        return self.conv(x)
"""
    ).text
    assert text.count("# larger, by lines") == 1


def test_a_truth_that_is_given_as_a_number_is_a_truth():
    text = converted(
        """\
class Thing(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.fc = nn.Linear(dim, dim, 0)

    def forward(self, x):
        return self.fc(x)
"""
    ).text
    assert "Linear(self.dim, self.dim, use_bias=False)" in text


def test_a_vector_that_gets_new_axes_is_as_long_as_the_axis_that_it_is_written_for():
    text = converted(
        """\
class Thing(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(channels))

    def forward(self, x):
        n, c, h, w = x.shape
        return x * self.weight.view(1, c, 1, 1)
"""
    ).text
    assert "x: Float['n channels h w']" in text.replace('"', "'")
