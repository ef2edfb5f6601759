"""Habits of code that comes with papers: functions that are handed on, complex weights, texts that choose."""

from __future__ import annotations

from test_conversion_forms import TORCH, converted
from test_conversion_torch import module

from mlax_scaffold.conversion import convert
from mlax_scaffold.conversion.definitions.documented_axes import documented_inputs

COMPLEX = module(
    "Thing",
    "self.scale = 1 / dim\n"
    "self.w = nn.Parameter(self.scale * torch.rand(dim, dim, dtype=torch.cfloat))\n"
    "self.v = nn.Parameter(torch.rand(dim, dtype=torch.complex64))\n"
    "self.u = nn.Parameter(torch.randn(dim, dtype=torch.cfloat))",
    "x: return torch.fft.ifft(torch.fft.fft(x) @ self.w * self.v * self.u).real",
)


def test_complex_weights_are_complex():
    text = converted(COMPLEX).text
    assert text.count("jnp.complex64") == 3
    drawn = "lax.complex(*jax.random.uniform(key, (2, *shape), jnp.finfo(dtype).dtype))"
    joined = "".join(text.split())
    assert joined.count("".join(drawn.split())) == 2
    assert "self.scale*lax.complex(" in joined
    assert "self.u = trainable(normal(1.0), (self.dim,), jnp.complex64)" in text


def test_planes_of_a_transform_have_as_many_axes_as_the_input():
    text = converted(
        module(
            "Thing",
            "self.modes = modes",
            "x: y = torch.fft.rfft2(x); y = 2 * y[:, :, :self.modes, :self.modes]; "
            "return torch.fft.irfft2(y, s=(x.size(-2), x.size(-1)))",
            "modes",
        )
    ).text
    head = text.partition("x: Float['")[2].partition("'")[0]
    assert len(head.split()) == 4
    assert "*" not in head


FUNCTIONS = """\
import functools

sigma = 25.0


def std(t, sigma):
    return torch.sqrt(sigma ** (2 * t) - 1)


std_fn = functools.partial(std, sigma=sigma)


""" + module(
    "Thing",
    "self.fc = nn.Linear(dim, dim)\nself.scale = std",
    "x, t: return self.fc(x) / self.scale(t)[:, None]",
    "std, dim",
)


def test_a_function_that_all_calls_hand_a_class_is_called():
    made = converted(FUNCTIONS + "net = Thing(std_fn, 8)\n")
    assert "self.fc(x) / std(t, sigma=sigma)[:, None]" in made.text
    assert "self.scale" not in made.text
    assert any("`std` of Thing is always" in note.what for note in made.notes)
    assert made.trial is not None
    assert dict(made.trial.given) == {"std": "std_fn"}


def test_a_function_that_calls_do_not_agree_on_stays():
    text = TORCH + FUNCTIONS + "one = Thing(std_fn, 8)\nother = Thing(std, 8)\n"
    made = convert("thing.py", text, "Thing", "FromThing", "LAYER")
    assert "sigma=sigma" not in made.text


def test_a_configuration_has_any_name():
    text = converted(
        "h = AttrDict(width=16, slope=0.2)\n\n\n"
        + module(
            "Part",
            "self.h = h\nself.fc = nn.Linear(dim, dim)",
            "x: return self.fc(x)",
            "h, dim",
        )
        + module(
            "Thing",
            "self.part = Part(h, h.width)\nself.slope = h.slope",
            "x: return F.leaky_relu(self.part(x), self.slope)",
            "h",
        )
    ).text
    assert "width: Size = 16" in text
    assert "self.part = Part(self.width)" in text
    assert "slope: float = 0.2" in text


def test_keywords_that_a_layer_must_have_are_hyperparameters():
    text = converted(
        module(
            "Thing",
            "self.conv = nn.Conv2d(dim, 2, **kwargs)",
            "x: return self.conv(x)",
            "dim, **kwargs",
        )
    ).text
    assert "kernel_size: Size" in text
    assert "self.conv = Conv(2, self.dim, 2, self.kernel_size, padding=0)" in text


PART = module(
    "Part",
    "self.conv = nn.Conv2d(dim, 2, bias=False, **kwargs)",
    "x: return self.conv(x)",
    "dim, **kwargs",
)


def test_keywords_are_given_by_another_name_of_a_class():
    text = converted(
        PART
        + module(
            "Thing",
            "block = Part\n"
            "self.one = block(dim, kernel_size=1)\n"
            "self.two = block(2, kernel_size=3, padding=1)",
            "x: return self.two(self.one(x))",
        )
    ).text
    assert "padding: Count = 0" in text
    assert "self.two = Part(2, kernel_size=3, padding=1" in text


def test_defaults_are_the_constants_of_their_class():
    text = converted("""\
class Thing(nn.Module):
    FIRST = "first"
    OTHER = "other"

    def __init__(self, dim, kind=FIRST, kinds=(OTHER, FIRST)):
        super().__init__()
        self.kind, self.kinds = kind, kinds
        self.fc = nn.Linear(dim, dim)

    def forward(self, x):
        if self.kind == Thing.FIRST and self.kinds[0] == Thing.OTHER:
            return self.fc(x)
        return -self.fc(x)
""").text
    assert 'kind: str = "first"' in text.replace("'", '"')
    assert '= ("other", "first")' in text.replace("'", '"')


HEATED = module(
    "Part",
    "self.heat = heat\nself.fc = nn.Linear(dim, dim)",
    "x: return self.fc(x) / self.heat",
    "dim, heat",
)


def test_a_method_that_calls_one_that_changes_a_part_is_left_out():
    made = converted(
        HEATED.rstrip()
        + "\n\n    def cool(self):\n        self.heat -= 3\n\n\n"
        + module(
            "Thing", "self.part = Part(dim, 34)", "x: return self.part(x)"
        ).rstrip()
        + "\n\n    def cool_down(self):\n        self.part.cool()\n"
    )
    assert "cool" not in made.text
    left = [note.what for note in made.notes if "is left out" in note.what]
    assert len(left) == 2


def test_data_of_what_is_added_in_place_is_detached():
    text = converted(
        module(
            "Thing",
            "self.register_buffer('total', torch.zeros(1))",
            "x: y = x.mean(0, keepdim=True); self.total.add_(0.1 * y.data); return x - y",
            "dim",
        )
    ).text
    assert "self.total = self.total + 0.1 * lax.stop_gradient(y)" in text


def test_a_parameter_is_none_where_it_is_none():
    text = converted("""\
class Thing(nn.Module):
    def __init__(self, dim, rate: float = None):
        super().__init__()
        if rate is not None:
            self.drop = nn.Dropout(rate)
        else:
            self.drop = rate
        self.fc = nn.Linear(dim, dim)

    def forward(self, x):
        if self.drop is not None:
            x = self.drop(x)
        return self.fc(x)
""").text
    assert "self.drop = Dropout(self.rate) if self.rate is not None else None" in text


NORM = """\
import numbers


class Norm(nn.Module):
    def __init__(self, shape):
        super().__init__()
        if isinstance(shape, numbers.Integral):
            shape = (shape,)
        shape = torch.Size(shape)
        self.weight = nn.Parameter(torch.ones(shape))
        self.shape = shape

    def forward(self, x):
        return x * self.weight


""" + module("Twice", "self.norm = Norm(dim)", "x: return 2 * self.norm(x)")


def test_one_size_of_a_shape_is_asked_for_by_numbers():
    text = converted(
        NORM + module("Thing", "self.norm = Norm(dim)", "x: return self.norm(x)")
    ).text
    assert "numbers" not in text
    assert "isinstance" not in text
    assert "self.weight = trainable(ones, (self.shape,))" in text


def test_parameters_that_are_compared_with_texts_are_texts():
    text = converted(
        NORM
        + module(
            "Either",
            "if kind == 'plain':\n    self.body = Norm(dim)\nelse:\n    self.body = Twice(dim)",
            "x: return self.body(x)",
            "dim, kind",
        )
        + module(
            "Thing",
            "self.one = Either(dim, kind)",
            "x: return self.one(x)",
            "dim, kind",
        )
    ).text.replace("'", '"')
    assert 'kind: str = "plain"' in text
    assert "    kind: str\n" in text


def test_comments_above_a_call_tell_axes():
    text = """\
class Thing(nn.Module):
    # xyz: b x n x 3, features: b x n x f
    def forward(self, xyz, features):
        return xyz.sin(), features
"""
    assert documented_inputs(text, "Thing", "FromThing") == {
        ("FromThing", "xyz"): ("batch", "n", "3"),
        ("FromThing", "features"): ("batch", "n", "f"),
    }


def test_a_weight_of_other_sizes_in_branches_is_one_weight():
    text = converted("""\
class Thing(nn.Module):
    def __init__(self, dim, wide: bool = True):
        super().__init__()
        if wide:
            self.w = nn.Parameter(torch.ones(3, dim))
        else:
            self.w = nn.Parameter(torch.ones(2, dim))
        self.wide = wide

    def forward(self, x):
        return x * self.w.sum(0)
""").text
    assert "self.w = trainable(ones, (3 if self.wide else 2, self.dim))" in text
