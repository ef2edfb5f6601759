"""Habits of people who write PyTorch: open arguments, counters, lists under the name of a layer."""

from __future__ import annotations

import textwrap

import pytest
from test_conversion_forms import TORCH, converted
from test_conversion_torch import module

from mlax_scaffold.conversion import convert


def thing(
    methods: str, setup: str = "self.fc = nn.Linear(dim, dim)", before: str = ""
) -> str:
    """What a class of these methods becomes."""
    head = module("Thing", setup, "x: return self.fc(x)").rstrip()
    return converted(f"{before}{head}\n\n{textwrap.indent(methods, '    ')}\n").text


@pytest.mark.parametrize(
    ("method", "head", "body"),
    [
        (
            "def loss(self, *args, **kwargs):\n"
            "    x = args[0]\n    y = args[1]\n    return kwargs['weight'] * (x - y).mean()",
            "def _loss(self, x, y, weight):",
            "return weight * mean(x - y)",
        ),
        (
            "def loss(self, *args, **kwargs):\n"
            "    return kwargs.get('weight', 2.0) * (args[0] - args[1]).mean()",
            "def _loss(self, args_0, args_1",
            "return 2.0 * mean(args_0 - args_1)",
        ),
        (
            "def loss(self, x, **given):\n    return given['weight'] * x.mean()",
            "def _loss(self, x, weight):",
            "return weight * mean(x)",
        ),
    ],
)
def test_what_a_method_reads_by_its_place_or_name_is_a_parameter(method, head, body):
    text = thing(method)
    assert head in text
    assert body in text


def test_a_counter_that_nothing_reads_is_left_out():
    text = thing(
        "def loss(self, x):\n    self.calls += 1\n    return x.mean()",
        "self.fc = nn.Linear(dim, dim)\nself.calls = 0",
    )
    assert "calls" not in text
    assert "return mean(x)" in text


LISTED = module(
    "Thing",
    "self.each, self.count = each, count\n"
    "if self.each:\n"
    "    self.head = nn.ModuleList([nn.Linear(dim, 2) for _ in range(self.count)])\n"
    "else:\n"
    "    self.head = nn.Linear(dim, 2)",
    "x: if self.each:;     return sum(self.head[i](x) for i in range(self.count));"
    " return self.head(x)",
    "dim, each: bool, count: int",
).replace("\n        return self.head(x)", "\n        else:\n            return self.head(x)")  # fmt: skip


def test_a_list_under_a_condition_is_not_the_layer_of_its_name():
    text = converted(LISTED).text
    assert "self.head_list = [Linear(self.dim, 2) for _ in range(self.count" in text
    assert "self.head = Linear(self.dim, 2) if not self.each else None" in text
    assert "self.head_list[i](x)" in text
    assert "return self.head(x)" in text


def test_settings_of_a_configuration_that_are_stored_and_only_asked_are_bools():
    text = converted(
        module(
            "Thing",
            "self.each = config.each\nself.fc = nn.Linear(config.width, 2)",
            "x: return self.fc(x) if self.each else -self.fc(x)",
            "config",
        )
    ).text
    assert "each: bool" in text


def test_products_of_matrices_are_of_two_axes():
    text = converted(
        module(
            "Thing",
            "self.w = nn.Parameter(torch.randn(dim, dim))",
            "x, y: return torch.mm(x, self.w.t()) + torch.mm(y.sin(), self.w.t())",
        )
    ).text
    assert "x: Float['batch dim'], y: Float['" in text
    assert "*batch dim" not in text


def test_an_axis_that_expand_keeps_says_how_many_there_are():
    text = converted(
        module(
            "Thing",
            "self.fc = nn.Linear(dim, dim)",
            "x, n: return self.fc(x.expand(-1, 5, -1))",
        )
    ).text
    assert "x: Float['axis3 axis32 dim']" in text


def test_an_axis_that_a_loop_goes_along_is_as_long_as_the_loop():
    text = converted(
        module(
            "Thing",
            "self.fc = nn.ModuleList([nn.Linear(dim, 2) for _ in range(count)])\n"
            "self.count = count",
            "x: b, n, d = x.shape; y = x.new_zeros(b, 2);"
            " for i in range(self.count):;     y = y + self.fc[i](x[:, i, :]); return y",
            "dim, count",
        ).replace(";     y", ";\n            y")
    ).text
    assert "x: Float['b count dim']" in text


EXPERTS = """\
class Thing(nn.Module):
    def __init__(self, dim, count=4):
        super().__init__()
        self.gate = nn.Linear(dim, count)
        self.experts = nn.ModuleList([nn.Linear(dim, dim) for _ in range(count)])

    def forward(self, x):
        weights, chosen = torch.topk(self.gate(x).softmax(-1), 2)
        mask = F.one_hot(chosen, 4).permute(2, 1, 0)
        out = torch.zeros_like(x)
        for i, expert in enumerate(self.experts):
            {loop}
        return out
"""


@pytest.mark.parametrize(
    ("loop", "added"),
    [
        (
            "rows, slot = torch.where(chosen == i)\n"
            "out[rows] += weights[rows, slot, None] * expert(x[rows])",
            "out = out + jnp.expand_dims(sum(weights * (chosen == i), axis=-1), -1) * expert(x)",
        ),
        (
            "slot, rows = torch.where(mask[i])\n"
            "if rows.shape[0] == 0:\n    continue\n"
            "y = expert(x[None, rows].reshape(-1, x.shape[-1])) * weights[rows, slot, None]\n"
            "out.index_add_(0, rows, y.to(x.dtype))",
            "y = expert(x[None].reshape(-1, x.shape[-1])) * jnp.expand_dims("
            "sum(weights * jnp.swapaxes(mask[i], 0, 1), axis=-1), -1)",
        ),
        (
            "rows, slot = (chosen == i).nonzero(as_tuple=True)\n"
            "out[rows] += expert(x[rows]) * weights[rows, slot].unsqueeze(-1)",
            "out = out + expert(x) * jnp.expand_dims(sum(weights * (chosen == i), axis=-1), -1)",
        ),
    ],
)
def test_rows_that_are_sent_to_an_expert_are_all_rows_with_their_weights(loop, added):
    loop = loop.replace("\n", "\n            ")
    made = converted(EXPERTS.format(loop=loop))
    assert added in made.text
    assert any("are all rows" in note.what for note in made.notes)


def test_rows_that_are_sent_without_a_weight_are_listed():
    loop = "rows, slot = torch.where(chosen == i)\n            out[rows] += expert(x[rows])"
    text = TORCH + EXPERTS.format(loop=loop)
    assert not convert("thing.py", text, "Thing", "FromThing", "LAYER").whole


def test_a_class_calls_its_methods_by_its_own_name():
    text = thing(
        "@staticmethod\ndef double(x):\n    return 2 * x\n\n"
        "def loss(self, x):\n    return Thing.double(x) + Thing.forward(self, x)"
    )
    assert "return self._double(x) + self.forward(x)" in text


def test_static_methods_of_a_constructor_are_written_out():
    text = thing(
        "@staticmethod\ndef mel(hz):\n    return 2595 * np.log10(1 + hz / 700)\n",
        "self.table = nn.Parameter(torch.Tensor(np.linspace(0, self.mel(dim), 4)))\n"
        "self.fc = nn.Linear(dim, dim)",
        "import numpy as np\n\n\n",
    )
    assert "np.linspace(0, 2595 * np.log10(1 + self.dim / 700), 4)" in text
    assert "_mel" not in text


def test_what_a_call_keeps_and_reads_at_once_is_a_local():
    text = thing(
        "def loss(self, x):\n    self.kept = 2 * x\n    return self.kept.mean()"
    )
    assert "kept = 2 * x" in text
    assert "return mean(kept)" in text
    assert "self.kept" not in text


def test_tensors_that_are_attributes_are_arrays_of_numpy():
    text = converted(
        module(
            "Thing",
            "n = torch.linspace(0, 1, dim)\nself.window = 0.54 - 0.46 * torch.cos(2 * n)",
            "x: return x * self.window",
        )
    ).text
    assert "self.window = 0.54 - 0.46 * np.cos(2 * n)" in text
    assert "x * jnp.asarray(self.window, x.dtype)" in text


def test_numpy_rounds_numbers_of_shapes_as_python_does():
    text = converted(
        "import numpy as np\n\n\n"
        + module(
            "Thing",
            "self.size = size",
            "x: return x.chunk(int(np.ceil(x.shape[0] / self.size)), 0)",
            "size",
        )
    ).text
    assert "jnp.split(x, int(math.ceil(x.shape[0] / self.size)), axis=0)" in text


def test_a_function_that_returns_layers_in_sequence_is_a_class():
    text = converted(
        "def thing(dim, out, p=0.1):\n    hidden = 2 * dim\n"
        "    return nn.Sequential(nn.Linear(dim, hidden), nn.ReLU(), nn.Linear(hidden, out))\n".replace(
            "thing", "Thing"
        )
    ).text
    assert "class FromThing(Layer):" in text
    assert (
        "self.layers_2 = Linear(2 * self.dim, self.out)" in text
        or "Linear(hidden, self.out)" in text
    )


GRADIENT = """\
class Round(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, scale):
        ctx.scale = scale
        ctx.save_for_backward(x)
        return torch.round(x / scale)

    @staticmethod
    def backward(ctx, grad_output):
        {backward}


"""


@pytest.mark.parametrize(
    ("backward", "result", "told"),
    [
        (
            "return grad_output, None",
            "x + lax.stop_gradient(jnp.round(x / scale) - x)",
            0,
        ),
        ("return grad_output.clone(), None", "x + lax.stop_gradient(jnp.round(", 0),
        ("return grad_output / ctx.scale, None", "return jnp.round(x / scale)", 1),
    ],
)
def test_a_function_with_a_gradient_of_its_own_is_a_function(backward, result, told):
    made = converted(
        GRADIENT.format(backward=backward)
        + module(
            "Thing",
            "self.fc = nn.Linear(dim, dim)",
            "x: return Round.apply(self.fc(x), 0.5)",
        )
    )
    assert "return apply_round(self.fc(x), 0.5)" in made.text
    assert result in made.text
    assert (
        len([n for n in made.notes if "has of its own is left out" in n.what]) == told
    )


@pytest.mark.parametrize(
    "called",
    ["super().forward(x)", "super(Thing, self).forward(x)", "Middle.forward(self, x)"],
)
def test_a_method_of_the_base_that_is_called_is_one_of_the_class(called):
    base = module("Base", "self.fc = nn.Linear(dim, dim)", "x: return self.fc(x)")
    middle = "class Middle(Base):\n    def forward(self, x):\n        return -super().forward(x)\n"
    own = f"class Thing(Middle):\n    def forward(self, x):\n        return 2 * {called}\n"
    text = converted(f"{base}{middle}\n\n{own}").text
    assert "    def _forward_of_base(self, x):\n        return self.fc(x)\n" in text
    assert "return -self._forward_of_base(x)" in text
    assert "return 2 * self._forward_of_middle(x)" in text


@pytest.mark.parametrize(
    ("made", "kept"),
    [
        ("pad", "tokens != self.pad"),
        ("padding_idx=0", "tokens != 0"),
        ("0", "tokens != 0"),
    ],
)
def test_the_index_of_an_embedding_that_pads_is_read_in_a_call(made, kept):
    given = f"""\
class Thing(nn.Module):
    def __init__(self, size, dim, pad=0):
        super().__init__()
        self.embed = nn.Embedding(size, dim, {made})

    def forward(self, tokens):
        return self.embed(tokens) * tokens.ne(self.embed.padding_idx).unsqueeze(-1)
"""
    text = converted(given).text
    assert "self.embed.padding_idx" not in text
    assert kept in text or "tokens != self.embed_padding_idx" in text


@pytest.mark.parametrize(
    ("name", "word"),
    [
        ("d_ffn", "Size"),
        ("ffn", "Size"),
        ("act", "Activation"),
        ("out_fn", "Activation"),
    ],
)
def test_a_width_of_a_feed_forward_network_is_no_function(name, word):
    use = f"nn.Linear(dim, {name})" if word == "Size" else "nn.Linear(dim, dim)"
    after = "return self.fc(x)" if word == "Size" else "return self.f(self.fc(x))"
    given = f"""\
class Thing(nn.Module):
    def __init__(self, dim, {name}):
        super().__init__()
        self.fc = {use}
        self.f = {name}

    def forward(self, x):
        {after}
"""
    assert f"{name}: {word}" in converted(given).text
