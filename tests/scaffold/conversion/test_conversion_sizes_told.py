"""Sizes that modulations, labels, states and images that are resized have, and numbers that tensors hold."""

from __future__ import annotations

import pytest
from test_conversion_forms import TORCH, converted
from test_conversion_ranks import forward_of


def test_what_is_modulated_has_as_many_axes_as_new_ones_make():
    made = converted(
        """\
class FiLM(nn.Module):
    def forward(self, x, gammas, betas):
        gammas = gammas.unsqueeze(2).unsqueeze(3).expand_as(x)
        betas = betas.unsqueeze(2).unsqueeze(3).expand_as(x)
        return (gammas * x) + betas


class Thing(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.conv = nn.Conv2d(dim, dim, 3, padding=1)
        self.film = FiLM()

    def forward(self, x, film):
        gammas, betas = torch.chunk(film, 2, dim=-1)
        return self.film(self.conv(x), gammas, betas)
"""
    )
    assert "film: Float['batch 2*dim']" in forward_of(made)
    film = made.text.partition("class FromThing")[0]
    assert "gammas: Float['batch channels']" in film


def test_what_is_chosen_of_classes_is_one_for_each_example():
    made = converted(
        """\
class Thing(nn.Module):
    def __init__(self, dim, classes):
        super().__init__()
        self.head = nn.Linear(dim, classes)

    def forward(self, x, action):
        y = self.head(x)
        return y.log_softmax(-1).gather(-1, action.unsqueeze(-1)).squeeze(-1)
"""
    )
    assert "x: Float['*batch dim'], action: Int['*batch']" in forward_of(made)


def test_states_that_may_be_given_are_as_those_that_stand_for_them():
    made = converted(
        """\
class Thing(nn.Module):
    def __init__(self, dim, hidden):
        super().__init__()
        self.hidden = hidden
        self.W = nn.Parameter(torch.Tensor(dim, hidden))
        self.U = nn.Parameter(torch.Tensor(hidden, hidden))
        self.init_weights()

    def init_weights(self):
        bound = 1.0 / math.sqrt(self.hidden)
        for weight in self.parameters():
            weight.data.uniform_(-bound, bound)

    def forward(self, x, states=None):
        n, steps, _ = x.size()
        if states is None:
            h, c = torch.zeros(n, self.hidden), torch.zeros(n, self.hidden)
        else:
            h, c = states
        for t in range(steps):
            c = x[:, t, :] @ self.W + h @ self.U + c
            h = torch.tanh(c)
        return h, c
""",
        "import math\n" + TORCH,
    )
    states = "states: tuple[Float['n hidden'], Float['n hidden']] | None=None"
    assert states in forward_of(made)
    # What initializes a weight is computed before it.
    assert made.text.index("bound = 1.0") < made.text.index("self.W = trainable(")


def test_images_of_another_size_are_interpolated_in_their_dtype():
    made = converted(
        """\
class Thing(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.conv = nn.Conv2d(dim, dim, 3, stride=2, padding=1)

    def forward(self, x):
        size = x.shape[-2:]
        y = self.conv(x)
        return F.interpolate(y, size=size, mode="bilinear", align_corners=False)
"""
    )
    assert "resize_linear(y, size[-2], size[-1])" in made.text
    assert "jax.image" not in made.text


@pytest.mark.parametrize(
    ("layer", "written"),
    [
        ("nn.ReflectionPad2d(padding)", "mode='reflect'"),
        ("nn.ReplicationPad2d(padding)", "mode='edge'"),
        ("nn.ConstantPad2d(padding, 1.0)", "constant_values=1.0"),
    ],
)
def test_borders_are_layers_without_weights(layer, written):
    made = converted(
        f"""\
class Thing(nn.Module):
    def __init__(self, dim, kernel=3):
        super().__init__()
        padding = kernel // 2
        self.pad = {layer}
        self.conv = nn.Conv2d(dim, dim, kernel)

    def forward(self, x):
        return self.conv(self.pad(x))
"""
    )
    # A local of the constructor is kept where a method reads it.
    assert "self.padding = padding" in made.text
    assert "(self.padding, self.padding)" in made.text
    assert written in made.text
    assert "x: Float['batch dim height width']" in forward_of(made)


def test_tensors_of_one_number_are_that_number():
    made = converted(
        """\
class Thing(nn.Module):
    def __init__(self, dim, device):
        super().__init__()
        self.q = nn.Linear(dim, dim)
        self.scale = torch.sqrt(torch.FloatTensor([dim])).to(device)

    def forward(self, x):
        return self.q(x) / self.scale
"""
    )
    assert "self.scale = math.sqrt(self.dim)" in made.text


def test_sorted_numbers_may_descend():
    made = converted(
        """\
class Thing(nn.Module):
    def forward(self, x):
        y, at = torch.sort(input=x, dim=-1, descending=True)
        keep = torch.gt(y, 0).type(x.type())
        return y * keep, at, x.argsort(dim=-1)
"""
    )
    assert "jnp.sort(x, axis=-1, descending=True)" in made.text
    assert "jnp.argsort(x, axis=-1, descending=True)" in made.text
    assert "jnp.argsort(x, axis=-1))" in made.text
    assert "astype(x.dtype)" in made.text


def test_a_setting_whose_name_generated_code_has_is_called_otherwise():
    made = converted(
        """\
class Thing(nn.Module):
    def __init__(self, args):
        super().__init__()
        self.args = args
        self.fc = nn.Linear(args.dim, args.dim)

    def forward(self, x):
        return self.fc(x) if self.args.static else x
"""
    )
    assert "config_static: bool" in made.text
