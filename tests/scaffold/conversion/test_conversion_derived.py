"""Values that a constructor sets more than once, settings, and layers that are built on those of PyTorch."""

from __future__ import annotations

import pytest
from test_conversion_forms import TORCH, converted

from mlax_scaffold.conversion import convert

LINEN = "import flax.linen as nn\nimport jax.numpy as jnp\n\n\n"


def torch_module(*lines: str, parameters: str = "dim", forward: str = "") -> str:
    body = "\n".join(f"        {line}" for line in lines)
    return f"""\
class Thing(nn.Module):
    def __init__(self, {parameters}):
        super().__init__()
{body}
        self.fc = nn.Linear(dim, dim)

    def forward(self, x):
        return {forward or "self.fc(x)"}
"""


@pytest.mark.parametrize(
    ("lines", "parameters", "expected"),
    [
        (
            ["if causal:", "    self.left = 2", "else:", "    self.left = 1"],
            "dim, causal=False",
            ["self.left = 2 if self.causal else 1"],
        ),
        (
            [
                *("if dim > 8:", "    self.left = 2", "elif dim > 4:"),
                *("    self.left = 1", "else:", "    self.left = 0"),
            ],
            "dim",
            ["self.left = 2 if self.dim > 8 else 1 if self.dim > 4 else 0"],
        ),
        (
            ["self.left = left", "if dim <= left:", "    self.left = dim"],
            "dim, left=4",
            [
                "self.left = self.dim if self.dim <= self.left_value else self.left_value"
            ],
        ),
        (
            ["self.left = 3", "if causal:", "    self.left = 5"],
            "dim, causal=False",
            ["self.left = 3", "self.left_2 = 5 if self.causal else self.left"],
        ),
        (
            ["self.left = 3", "if causal:", "    self.left = None"],
            "dim, causal=False",
            ["self.left = 3", "self.left_2 = None if self.causal else self.left"],
        ),
        (
            ["self.left = 3", "self.left = self.left + 1"],
            "dim",
            ["self.left = 3", "self.left_2 = self.left + 1"],
        ),
    ],
    ids=["else", "elif", "a parameter", "set before", "to None", "counted on"],
)
def test_an_attribute_is_what_conditions_and_later_lines_make_of_it(
    lines, parameters, expected
):
    given = torch_module(
        *lines, parameters=parameters, forward="self.fc(x) * self.left"
    )
    text = converted(given).text
    setup = [line.strip() for line in text.split("def setup(self):")[1].splitlines()]
    assert [line for line in setup if line.startswith("self.left")] == expected
    last = expected[-1].partition(" = ")[0]
    assert f"return self.fc(x) * {last}\n" in text


def test_a_function_that_a_condition_chooses_is_the_one_of_its_case():
    given = torch_module(
        *("if act == 'relu':", "    self.act = F.relu", "else:"),
        "    self.act = F.silu",
        parameters="dim, act='relu'",
        forward="self.act(self.fc(x))",
    )
    text = converted(given).text
    chosen = "(jax.nn.relu if self.act_name == 'relu' else jax.nn.silu)(self.fc(x))"
    assert chosen in text


def test_a_layer_that_is_taken_away_under_a_condition_is_listed():
    given = torch_module(
        *("self.skip = nn.Linear(dim, dim)", "if plain:", "    self.skip = None"),
        parameters="dim, plain=False",
        forward="x if self.skip is None else self.skip(self.fc(x))",
    )
    made = convert("thing.py", TORCH + given, "Thing", "FromThing")
    [note] = [n for n in made.notes if n.blocks]
    assert (
        note.line
        == (TORCH + given).splitlines().index("            self.skip = None") + 1
    )
    assert note.what == (
        "`self.skip` is None under a condition, and something else before"
    )


@pytest.mark.parametrize(
    "lines",
    [
        ["if dim < 1:", "    raise NotImplementedError(dim)"],
        ["if dim < 1:", "    raise ValueError"],
        ["if dim >= 1:", "    self.left = 1", "else:", "    raise KeyError(dim)"],
    ],
    ids=["another error", "without a message", "otherwise"],
)
def test_what_a_constructor_refuses_says_what_must_hold(lines):
    text = converted(torch_module(*lines)).text
    assert "raise ValueError(" in text
    assert "must hold" in text


def test_gelu_of_pytorch_is_exact_as_a_value_too():
    given = torch_module(
        "self.act = {'gelu': F.gelu, 'relu': F.relu}[act]",
        parameters="dim, act='gelu'",
        forward="self.act(self.fc(x))",
    )
    assert "'gelu': lambda x: gelu(x, approximate=False)" in converted(given).text


def test_a_function_without_a_name_is_what_none_stands_for():
    given = torch_module(
        "self.activation = activation",
        parameters="dim, activation=F.gelu",
        forward="self.activation(self.fc(x))",
    )
    text = converted(given).text
    assert "activation: Activation | None = None" in text
    assert "self.activation or (lambda x: gelu(x, approximate=False))" in text
    assert "return self.used_activation(self.fc(x))" in text


def test_code_for_devices_is_what_it_is_without_them():
    given = torch_module(
        "self.flash = hasattr(F, 'scaled_dot_product_attention')",
        "if not self.flash:",
        "    self.other = nn.Linear(dim, dim)",
    ).replace(
        "        return self.fc(x)",
        "        if x.is_cuda and torch.cuda.device_count() > 1:\n"
        "            y = nn.parallel.data_parallel(self.fc, x, range(2))\n"
        "        else:\n"
        "            y = self.fc(x)\n"
        "        return y",
    )
    text = converted(given).text
    assert "if " not in text.partition("def forward")[2]
    assert "other" not in text


def test_attributes_have_names_that_are_no_words_and_no_classes():
    given = torch_module(
        "self.LayerNorm = nn.LayerNorm(dim)",
        "self.self = nn.Linear(dim, dim)",
        "self.value = nn.Linear(dim, dim)",
        forward="self.LayerNorm(self.self(self.value(x)))",
    )
    text = converted(given).text
    assert "return self.layer_norm(self.own_self(self.own_value(x)))" in text


def test_settings_of_a_plain_class_have_their_defaults():
    given = """\
class Config:
    def __init__(self, width=6, heads=2, **kwargs):
        super().__init__(**kwargs)
        self.width = width
        self.heads = heads
        self.head_width = width // heads


class Thing(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.fc = nn.Linear(config.width, config.head_width)

    def forward(self, x):
        return self.fc(x)
"""
    text = converted(given).text
    assert "width: Size = 6" in text
    assert "Linear(self.width, self.width // self.heads)" in text


def test_initializers_are_settings_too():
    given = """\
@dataclasses.dataclass
class Config:
    width: int = 6
    kernel_init: Callable = nn.initializers.xavier_uniform()


class Thing(nn.Module):
    config: Config

    @nn.compact
    def __call__(self, x):
        return nn.Dense(self.config.width, kernel_init=self.config.kernel_init)(x)
"""
    text = converted(given, LINEN).text
    assert "kernel_initializer: Initializer = xavier_uniform()" in text


def test_an_initializer_without_a_default_has_that_of_the_call_and_is_told():
    given = """\
class Inner(nn.Module):
    start: Callable
    kernel_init: Callable

    @nn.compact
    def __call__(self, x):
        return nn.Dense(4, kernel_init=self.kernel_init)(x)


class Thing(nn.Module):
    width: int = 4

    @nn.compact
    def __call__(self, x):
        return Inner(kernel_init=nn.initializers.normal(0.02))(x)
""".replace("    start: Callable\n", "")
    made = converted(given, LINEN)
    assert "kernel_initializer: Initializer = normal(0.02)" in made.text
    assert "`kernel_init` is `normal(0.02)` by default here" in [
        n.what for n in made.notes
    ]


def test_the_axis_of_several_devices_is_told():
    given = """\
class Thing(nn.Module):
    @nn.compact
    def __call__(self, x, train):
        norm = nn.BatchNorm(use_running_average=not train, axis_name="batch")
        return norm(x)
"""
    made = converted(given, LINEN)
    assert "axis_name" not in made.text
    [note] = made.notes
    assert note.what.startswith("`axis_name='batch'` is left out")
    assert note.line == LINEN.count("\n") + 4


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


def test_the_last_branch_that_returns_is_what_is_left():
    given = torch_module("self.order = order", parameters="dim, order='first'").replace(
        "        return self.fc(x)",
        "        if self.order == 'first':\n            return self.fc(x)\n"
        "        elif self.order == 'last':\n            return x",
    )
    forward = converted(given).text.partition("def forward")[2]
    assert forward.rstrip().endswith("        else:\n            return x")


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
