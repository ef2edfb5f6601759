"""Forms of PyTorch: layers on layers, windows, numbered names, shapes with a name, buffers of some cases."""

from __future__ import annotations

import pytest
from test_conversion_derived import LINEN, torch_module
from test_conversion_forms import converted


@pytest.mark.parametrize(
    ("base", "body", "expected"),
    [
        ("nn.Linear", "return F.linear(x, self.weight.abs(), self.bias)", "jnp.abs"),
        (
            "nn.Conv2d",
            "return self._conv_forward(x, self.weight * 2, self.bias)",
            "* 2",
        ),
        ("nn.Embedding", "return super().forward(x) * self.weight.mean()", "take_rows"),
    ],
    ids=["linear", "convolution", "embedding"],
)
def test_a_class_may_be_built_on_a_layer_whose_weights_it_reads(base, body, expected):
    given = f"class Thing({base}):\n    def forward(self, x):\n        {body}\n"
    text = converted(given).text
    assert "self.weight = trainable(" in text
    assert expected in text.partition("def forward")[2]
    assert text.count("(Layer)") == 1


def test_what_a_layer_is_given_with_stars_are_its_parameters():
    given = """\
class Thing(nn.Conv2d):
    def __init__(self, scale, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.scale = scale

    def forward(self, x):
        return F.conv2d(x, self.weight * self.scale, self.bias, self.stride)
"""
    text = converted(given).text
    for field in ("in_channels", "out_channels", "kernel_size"):
        assert f"    {field}: Size\n" in text


def test_windows_of_all_calls_have_as_many_sizes_as_one_has():
    given = """\
class Basic(nn.Module):
    def __init__(self, inputs, outputs, kernel_size, padding=0):
        super().__init__()
        self.conv = nn.Conv2d(inputs, outputs, kernel_size, padding=padding)

    def forward(self, x):
        return self.conv(x)


class Thing(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.first = Basic(dim, dim, 1)
        self.second = Basic(dim, dim, (1, 7), padding=(0, 3))

    def forward(self, x):
        return self.second(self.first(x))
"""
    text = converted(given).text
    assert "kernel_size: Sizes" in text
    assert "padding: Shape = (0, 0)" in text
    assert "Basic(self.dim, self.dim, (1, 1))" in text
    assert "Basic(self.dim, self.dim, (1, 7), padding=(0, 3))" in text


def test_an_example_holds_what_the_rest_of_the_file_makes_the_class_with():
    given = """\
class Thing(nn.Module):
    def __init__(self, dim, kernel_size, stride, dilation, padding):
        super().__init__()
        self.conv = nn.Conv1d(
            dim, dim, kernel_size, stride=stride, padding=padding, dilation=dilation
        )

    def forward(self, x):
        return self.conv(x)[:, :, : x.shape[2]] + x


class Net(nn.Module):
    def __init__(self, dim, kernel):
        super().__init__()
        spread = 2
        self.block = Thing(
            dim, kernel, stride=1, dilation=spread, padding=(kernel - 1) * spread
        )

    def forward(self, x):
        return self.block(x)
"""
    made = converted(given)
    [line] = [s for s in made.text.splitlines() if "examples = " in s]
    values = eval(line.partition(" = ")[2])[0]
    assert values["stride"] == 1
    assert values["padding"] == (values["kernel_size"] - 1) * values["dilation"]
    assert made.trial is not None
    assert dict(made.trial.hyperparameters)["padding"] == values["padding"]


def test_a_shape_with_a_name_is_written_where_it_is_given():
    given = torch_module(
        forward="x",
    ).replace(
        "        return x",
        "        shape = x.size()[:-1] + (2, 3)\n        x = self.fc(x).view(*shape)\n"
        "        return x.permute(0, 2, 1, 3)",
    )
    text = converted(given).text
    assert "reshape(*x.shape[:-1], 2, 3)" in text
    assert 'x: Float["batch axis1 dim"]' in text.replace("'", '"')


def test_the_pair_of_states_of_an_lstm_is_an_input():
    given = """\
class Thing(nn.Module):
    def __init__(self, dim, size):
        super().__init__()
        self.rnn = nn.LSTM(dim, size, batch_first=True)

    def forward(self, x, hidden):
        y, hidden = self.rnn(x, hidden)
        return y, hidden

    def init_hidden(self, count):
        weight = next(self.parameters())
        return weight.new_zeros(1, count, 4), weight.new_zeros(1, count, 4)
"""
    made = converted(given)
    pair = 'hidden: tuple[Float["1 batch size"], Float["1 batch size"]]'
    assert pair in made.text.replace("'", '"')
    assert [n.what for n in made.notes] == [
        "`init_hidden` is left out: nothing of the class calls it"
    ]


def test_a_list_of_several_kinds_that_loops_of_known_length_fill():
    given = """\
class Thing(nn.Module):
    def __init__(self, dims=(4, 6, 8), depths=(1, 2)):
        super().__init__()
        self.parts = nn.ModuleList()
        self.parts.append(nn.Linear(dims[0], dims[0]))
        for i in range(2):
            part = nn.Sequential(nn.LayerNorm(dims[i]), nn.Linear(dims[i], dims[i + 1]))
            self.parts.append(part)
        self.stages = nn.ModuleList()
        for i in range(2):
            stage = nn.Sequential(
                *[nn.Linear(dims[i + 1], dims[i + 1]) for _ in range(depths[i])]
            )
            self.stages.append(stage)

    def forward(self, x):
        x = self.parts[0](x)
        for i in range(2):
            x = self.parts[i + 1](x)
            x = self.stages[i](x)
        return x
"""
    text = converted(given).text
    assert "self.parts_0 = Linear(self.dims[0], self.dims[0])" in text
    forward = text.partition("def forward")[2].splitlines()[1:]
    calls = ["parts_0", "_parts_1", "_stages_0", "_parts_2", "_stages_1"]
    assert [line.strip() for line in forward] == [
        *(f"x = self.{call}(x)" for call in calls),
        "return x",
    ]


def test_arrays_of_a_model_of_indices_have_the_dtype_of_its_embedding():
    given = """\
def angles(width, end):
    return torch.outer(torch.arange(end), torch.arange(width)).float()


class Thing(nn.Module):
    def __init__(self, count, width, end=8):
        super().__init__()
        self.embed = nn.Embedding(count, width)
        self.register_buffer("angles", angles(width, end))

    def forward(self, tokens):
        return self.embed(tokens) + self.angles[: tokens.shape[1]]
"""
    text = converted(given).text
    assert "jnp.asarray(self.angles, self.embed.embedding.dtype)" in text
    assert "return np.outer(np.arange(end), np.arange(width))" in text


def test_what_a_condition_widens_has_either_size_afterwards():
    given = """\
class Thing(nn.Module):
    width: int
    inner: Optional[int] = None

    @nn.compact
    def __call__(self, x):
        x = nn.Dense(self.width)(x)
        if self.inner is not None:
            x = nn.Dense(self.inner)(x)
        return nn.Dense(3)(x)
"""
    text = converted(given, LINEN).text
    either = "self.inner if self.inner is not None else self.width"
    assert f"Linear({either}, 3)" in text


def test_a_buffer_that_is_none_elsewhere_is_none_there():
    given = torch_module(
        *("if causal:", "    self.register_buffer('mask', torch.ones(4).bool())"),
        *("else:", "    self.mask = None"),
        parameters="dim, causal=True",
    ).replace(
        "        return self.fc(x)",
        "        if self.mask is not None:\n            x = x * self.mask[0]\n"
        "        return self.fc(x)",
    )
    text = converted(given).text
    assert "self.mask = None if not self.causal else np.ones((4,)).astype(bool)" in text
    assert "if self.mask is not None:" in text
    assert "None if self.mask is None else jnp.asarray(self.mask" in text


@pytest.mark.parametrize(
    "name", ["'fc%d' % i", "f'fc{i}'", "'fc' + str(i)", "'fc_{}'.format(i)"]
)
@pytest.mark.parametrize("sets", ["self.add_module(", "setattr(self, "])
def test_layers_with_numbered_names_are_a_list(name, sets):
    given = (
        torch_module(
            "self.count = count",
            "for i in range(count):",
            f"    {sets}{name}, nn.Linear(dim, dim))",
            parameters="dim, count=2",
        )
        .replace(
            "        return self.fc(x)",
            "        for i in range(self.count):\n"
            f"            x = getattr(self, {name})(x)\n        return x",
        )
        .replace("        self.fc = nn.Linear(dim, dim)\n", "")
    )
    text = converted(given).text
    assert "[Linear(self.dim, self.dim) for " in text
    assert "getattr" not in text


def test_a_weight_may_be_a_number_where_it_is_not_learned():
    given = torch_module(
        "self.gain = nn.Parameter(torch.ones(1)) if learned else 2.0",
        parameters="dim, learned=True",
        forward="self.fc(x) * self.gain",
    )
    text = converted(given).text
    assert "self.gain = trainable(ones, (1,)) if self.learned else None" in text
    assert "self.fc(x) * (self.gain if self.learned else 2.0)" in text
