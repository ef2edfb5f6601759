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


def test_a_layer_that_is_taken_away_under_a_condition_is_there_elsewhere():
    given = torch_module(
        *("self.skip = nn.Linear(dim, dim)", "if plain:", "    self.skip = None"),
        parameters="dim, plain=False",
        forward="x if self.skip is None else self.skip(self.fc(x))",
    )
    text = converted(given).text
    assert "self.skip = Linear(self.dim, self.dim) if not self.plain else None" in text
    assert "return x if self.skip is None else self.skip(self.fc(x))" in text


@pytest.mark.parametrize(
    "start",
    [
        ("self.act = nn.Tanh() if not plain else None",),
        ("self.act = None", "if not plain:", "    self.act = nn.Tanh()"),
        ("self.act = nn.Tanh()", "if plain:", "    self.act = None"),
        ("if plain:", "    self.act = None", "else:", "    self.act = nn.Tanh()"),
    ],
)
def test_a_function_that_a_condition_takes_away_is_none_there(start):
    given = torch_module(
        *start,
        parameters="dim, plain=False",
        forward="self.fc(x) if self.act is None else self.act(self.fc(x))",
    )
    text = converted(given).text
    chosen = "(jnp.tanh if not self.plain else None)"
    assert f"self.fc(x) if {chosen} is None else {chosen}(self.fc(x))" in text


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


def test_a_class_without_a_constructor_has_that_of_the_layer_that_it_is_built_on():
    """As CLIP's LayerNorm, which computes in single precision."""
    made = convert(
        "thing.py",
        TORCH
        + """\
class LayerNorm(nn.LayerNorm):
    def forward(self, x):
        kind = x.dtype
        y = super().forward(x.type(torch.float32))
        return y.type(kind)


class Thing(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.norm = LayerNorm(dim, eps=1e-6)

    def forward(self, x):
        return self.norm(x)
""",
        "Thing",
        "FromThing",
        taken=("LayerNorm",),
    )
    assert made.whole, made.notes
    assert "super" not in made.text
    assert "self.base = LayerNorm(self.normalized_shape, epsilon=self.eps)" in made.text
    assert "(self.dim, eps=1e-06)" in made.text
