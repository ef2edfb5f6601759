"""What layers of PyTorch are made with: functions that fill them, tuples that are spread, lists in pairs."""

from __future__ import annotations

import pytest
from test_conversion_forms import TORCH, converted

from mlax_scaffold.conversion import convert

FILLED = """\
def Linear(inputs, outputs, bias=True):
    layer = nn.Linear(inputs, outputs, bias)
    nn.init.xavier_uniform_(layer.weight)
    if bias:
        nn.init.constant_(layer.bias, 0.5)
    return layer


def conv(width, zero=False):
    made = nn.Conv1d(width, width, 3, padding=1)
    if zero:
        made.weight.data *= 0.0
        made.bias.data.zero_()
    return made


class Thing(nn.Module):
    def __init__(self, dim, bias=True):
        super().__init__()
        self.first = Linear(dim, dim)
        self.second = Linear(dim, dim, bias)
        self.third = Linear(dim, dim, False)
        self.mix = nn.Sequential(conv(dim), nn.ReLU(), conv(dim, zero=True))

    def forward(self, x):
        x = self.third(self.second(self.first(x)))
        return self.mix(x.transpose(1, 2)).transpose(1, 2)
"""


def test_a_function_that_fills_the_layer_that_it_makes_is_that_layer():
    made = converted(FILLED)
    assert made.whole
    filled = "kernel_initializer=glorot_uniform(), bias_initializer=constant(0.5))"
    assert f"self.first = Linear(self.dim, self.dim, {filled}" in made.text
    assert f"use_bias=self.bias, {filled}" in made.text
    assert "use_bias=False, kernel_initializer=glorot_uniform())" in made.text
    assert "self.mix_2 = Conv(1, self.dim, self.dim, 3, padding=1)" in made.text


def test_what_fills_a_layer_of_a_list_is_told():
    told = [note.what for note in converted(FILLED).notes if "mad" in note.what]
    assert told == [
        "`made.weight.data *= 0.0` is left out: the weight begins with other numbers",
        "`made.bias.data.zero_()` is left out: the weight begins with other numbers",
    ]


def test_a_function_that_does_more_than_to_fill_a_layer_is_listed():
    text = FILLED.replace(
        "        nn.init.constant_(layer.bias, 0.5)\n", "        layer.scale = 2\n"
    )
    assert not convert("thing.py", TORCH + text, "Thing", "Thing").whole


def test_so_is_a_method():
    made = converted("""\
class Thing(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.first = self._linear(dim, 2)
        self.second = self._linear(dim, 0)

    def _linear(self, dim, value):
        layer = nn.Linear(dim, dim)
        nn.init.constant_(layer.weight, value)
        return layer

    def forward(self, x):
        return self.second(self.first(x))
""")
    assert made.whole
    assert "kernel_initializer=constant(2))" in made.text
    assert "kernel_initializer=constant(0))" in made.text


SPREAD = """\
class Move(nn.Module):
    def __init__(self, {given}):
        super().__init__()
        self.dims = dims

    def forward(self, x):
        return x.{call}


class Thing(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(dim, dim), Move({first}), Move({second}))

    def forward(self, x):
        return self.net(x)
"""


@pytest.mark.parametrize(
    ("given", "call", "first", "second", "bodies"),
    [
        (
            *("*dims", "permute(*self.dims)", "0, 2, 1", "1, 0, 2"),
            ("jnp.transpose(x, (0, 2, 1))", "jnp.transpose(x, (1, 0, 2))"),
        ),
        (
            *("dims", "permute(self.dims)", "(0, 2, 1)", "dims=[0, 2, 1]"),
            ("jnp.transpose(x, (0, 2, 1))",),
        ),
        (
            *("dims: tuple", "transpose(*self.dims)", "dims=(1, 2)", "(-1, -2)"),
            ("jnp.swapaxes(x, 1, 2)", "jnp.swapaxes(x, -1, -2)"),
        ),
        (
            *("*dims", "view(x.size(0), *self.dims)", "4, 3 * 2", "dim, 24 // dim"),
            (
                "x.reshape(x.shape[0], 4, 6)",
                "x.reshape(x.shape[0], self.dims_0, self.dims_1)",
            ),
        ),
    ],
)
def test_a_tuple_that_is_spread_is_what_it_holds(given, call, first, second, bodies):
    made = converted(SPREAD.format(given=given, call=call, first=first, second=second))
    assert made.whole
    for body in bodies:
        assert f"return {body}\n" in made.text
    assert made.text.count("(Layer):") == len(bodies) + 1


def test_what_all_of_each_example_is_given_the_axes_of_has_no_others():
    made = converted("""\
class Thing(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(4, 2, 3)

    def forward(self, x):
        return self.conv(x.view(-1, 4, 7, 7))
""")
    assert "x: Float['batch 196']" in made.text


def test_lists_of_layers_beside_what_a_call_has_filled_are_gone_through():
    made = converted("""\
class Thing(nn.Module):
    def __init__(self, dim=4, numbers=[1, 2]):
        super().__init__()
        self.downs, self.ups = nn.ModuleList(), nn.ModuleList()
        width = dim
        for number in numbers:
            self.downs.append(nn.Sequential(*[nn.Linear(width, width) for _ in range(number)]))
            self.ups.append(nn.Linear(width, width, bias=number > 1))

    def forward(self, x):
        kept = []
        for down in self.downs:
            x = down(x)
            kept.append(x)
        for i, (up, skip) in enumerate(zip(self.ups, kept[::-1])):
            x = up(x) * skip + i
        return x
""")
    assert made.whole
    assert "enumerate(zip(self.ups, kept[::-1]))" in made.text
    assert "self.downs = [ThingDown(self.dim, number) for number in" in made.text


def test_layers_are_taken_from_the_table_of_modules():
    made = converted("""\
class Thing(nn.Module):
    def __init__(self, dim, depth=3):
        super().__init__()
        self.depth = depth
        for i in range(depth):
            self.add_module("layer_%d" % i, nn.Linear(dim, dim))

    def forward(self, x):
        for i in range(self.depth):
            x = self._modules["layer_%d" % i](x)
        return x
""")
    assert made.whole
    assert "x = self.layer[i](x)" in made.text or "self.layer_2(x)" in made.text


def test_a_method_that_another_class_calls_of_itself_may_be_left_out():
    made = converted("""\
class Noisy(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.fc = nn.Linear(dim, dim)
        self.reset_noise()

    def reset_noise(self):
        pass

    def forward(self, x):
        return self.fc(x)


class Thing(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.noisy = Noisy(dim)

    def forward(self, x):
        return self.noisy(x)

    def reset_noise(self):
        for _, part in self.named_children():
            part.reset_noise()
""")
    assert made.whole
    assert any("`reset_noise` is left out" in note.what for note in made.notes)


def test_a_buffer_that_is_registered_gives_a_call_nothing():
    made = converted("""\
class Thing(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.fc = nn.Linear(dim, dim)
        self.register_buffer("scale", torch.ones(dim))

    def forward(self, x, log=False):
        x = self.fc(x) * self.scale
        return F.log_softmax(x, dim=-1) if log else F.softmax(x, dim=-1)
""")
    assert "log" not in made.text.partition("def forward(")[2]


def test_whole_numbers_that_are_cast_are_counted():
    made = converted("""\
class Thing(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.last = nn.Parameter(torch.randn(dim, 4))

    def forward(self, x, mask):
        mask = mask.float()
        ends = mask.long().sum(dim=1) - 1
        return x + self.last[ends]
""")
    assert "ends = jnp.sum(mask.astype(jnp.int32), axis=1) - 1" in made.text


CONVOLUTIONS = """\
import math


def Conv1d1x1(n, m, bias=True):
    return Conv1d(n, m, kernel_size=1, bias=bias)


def Conv1d(n, m, kernel_size, std_mul=4.0, **kwargs):
    layer = nn.Conv1d(n, m, kernel_size, **kwargs)
    std = math.sqrt(std_mul / (kernel_size * n))
    layer.weight.data.normal_(mean=0, std=std)
    if layer.bias is not None:
        layer.bias.data.zero_()
    return layer


class Block(nn.Module):
    def __init__(self, dim, *args, **kwargs):
        super().__init__()
        self.conv = Conv1d(dim, dim, 3, padding=1, *args, **kwargs)
        self.out = Conv1d1x1(dim, dim, bias=False)

    def forward(self, x):
        return x + self.out(torch.tanh(self.conv(x)))


class Thing(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.block = Block(dim)

    def forward(self, x):
        return self.block(x)
"""


def test_what_functions_of_layers_hand_on_is_what_the_file_gives():
    text = converted(CONVOLUTIONS).text
    assert "Conv(1, self.dim, self.dim, 3, padding=1" in text
    assert "Conv(1, self.dim, self.dim, 1, padding=0, use_bias=False" in text
    assert text.count("kernel_initializer=normal(math.sqrt(4.0 / ") == 2
    assert "kwargs" not in text


def test_a_method_that_arrays_have_too_is_called_by_nothing():
    made = converted("""\
class Thing(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(dim, dim), nn.ReLU())
        self.outputs = dict()

    def forward(self, x):
        x = self.trunk(x)
        self.outputs["x"] = x
        return x.exp().log()

    def log(self, logger, step):
        for k, v in self.outputs.items():
            logger.log_histogram(f"train/{k}", v, step)
        for i, m in enumerate(self.trunk):
            if type(m) == nn.Linear:
                logger.log_param(f"train/fc{i}", m, step)
""")
    assert "logger" not in made.text
    assert "outputs" not in made.text
    assert any("`log` is left out" in note.what for note in made.notes)


def test_what_makes_an_object_of_the_class_is_no_part_of_it():
    made = converted("""\
class Thing(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.fc = nn.Linear(dim, dim)

    @staticmethod
    def from_pretrained(name):
        import json
        return Thing(json.load(open(name))["dim"])

    def forward(self, x):
        return self.fc(x)
""")
    assert "json" not in made.text


def test_a_method_that_weights_begin_by_alone_has_no_counterpart():
    made = converted("""\
class Thing(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.weight = nn.Parameter(torch.Tensor(dim, dim))
        self.reset_parameters()

    def reset_parameters(self):
        with torch.no_grad():
            self.weight.data.copy_(self.fitted(torch.rand(3, 3)))

    def fitted(self, x):
        return torch.linalg.lstsq(x, x).solution

    def forward(self, x):
        return x @ self.weight
""")
    assert "lstsq" not in made.text
    assert any("copy_" in note.what for note in made.notes)


def test_a_local_that_is_filled_and_becomes_a_weight_is_that_weight():
    text = converted("""\
class Thing(nn.Module):
    def __init__(self, dim):
        super().__init__()
        places = torch.empty((4, dim))
        nn.init.uniform_(places, -0.02, 0.02)
        self.places = nn.Parameter(places, requires_grad=True)

    def forward(self, x):
        return x + self.places
""").text
    assert "jax.random.uniform(key, shape, dtype, -0.02, 0.02), (4, self.dim))" in text


def test_lists_of_layers_without_weights_are_made_where_they_are_called():
    text = converted("""\
class Thing(nn.Module):
    def __init__(self, count, size, out):
        super().__init__()
        self.count = count
        self.flattens = nn.ModuleList()
        self.linears = nn.ModuleList()
        for _ in range(count):
            self.flattens.append(nn.Flatten(start_dim=-2))
            self.linears.append(nn.Linear(size, out))

    def forward(self, x):
        found = []
        for i in range(self.count):
            found.append(self.linears[i](self.flattens[i](x[:, i, :, :])))
        return torch.stack(found, dim=1)
""").text
    assert "flattens" not in text
    assert "reshape(" in text
