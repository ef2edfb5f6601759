"""Distributions of `torch.distributions`, as the arrays that they are made of."""

from __future__ import annotations

import pytest
from test_conversion_forms import TORCH, converted

from mlax_scaffold.conversion import convert

NORMAL = "from torch.distributions import Normal, Independent\n" + TORCH
CATEGORICAL = "from torch.distributions.categorical import Categorical\n" + TORCH

POLICY = """\
class Thing(nn.Module):
    def __init__(self, obs_dim, act_dim):
        super().__init__()
        self.mu = nn.Linear(obs_dim, act_dim)
        self.log_std = nn.Parameter(torch.zeros(act_dim))

    def forward(self, obs):
        mu = self.mu(obs)
        dist = {made}
        action = dist.rsample()
        return action, dist.log_prob(action).sum(axis=-1), {read}
"""


def test_a_normal_distribution_is_its_mean_and_its_deviation():
    made = converted(
        POLICY.format(made="Normal(mu, self.log_std.exp())", read="dist.entropy()"),
        NORMAL,
    )
    assert made.whole
    assert "dist_scale = jnp.exp(self.log_std)" in made.text
    assert "mu + dist_scale * (jax.random.normal(self.key(), mu.shape" in made.text
    assert "(action - mu) ** 2 / (2 * dist_scale ** 2)" in made.text
    assert "1.4189385332046727 + jnp.log(dist_scale)" in made.text
    assert "Normal" not in made.text


def test_an_event_of_several_axes_has_one_probability():
    made = converted(
        POLICY.format(
            made="Independent(Normal(mu, self.log_std.exp()), 1)", read="dist.mean"
        ).replace(".sum(axis=-1)", ""),
        NORMAL,
    )
    assert made.whole
    assert "0.9189385332046727, axis=-1)" in made.text


@pytest.mark.parametrize(
    "given", ["logits=self.head(x)", "probs=torch.softmax(self.head(x), dim=-1)"]
)
def test_a_categorical_distribution_is_its_logits(given):
    made = converted(
        f"""\
class Thing(nn.Module):
    def __init__(self, dim, classes):
        super().__init__()
        self.head = nn.Linear(dim, classes)

    def forward(self, x):
        dist = Categorical({given})
        action = dist.sample()
        return action, dist.log_prob(action), dist.entropy()
""",
        CATEGORICAL,
    )
    assert made.whole
    assert "jax.random.categorical(self.key()" in made.text
    assert "take_along_axis" in made.text
    # In inference nothing is drawn.
    assert "if self.training else jnp.argmax(" in made.text
    assert any("takes the likeliest in inference" in n.todo for n in made.notes)


def test_what_is_handed_on_stays_and_is_listed():
    given = """\
class Thing(nn.Module):
    def __init__(self, dim, classes):
        super().__init__()
        self.head = nn.Linear(dim, classes)

    def forward(self, x):
        dist = Categorical(logits=self.head(x))
        return dist, dist.sample()
"""
    made = convert("thing.py", CATEGORICAL + given, "Thing", "FromThing")
    assert not made.whole
    assert any("Categorical" in n.what for n in made.notes if n.blocks)


def test_methods_of_tensors_take_the_words_of_numpy():
    made = converted(
        """\
class Thing(nn.Module):
    def forward(self, x):
        return x.sum(axis=-1, keepdims=True) + torch.mean(x, axis=1, keepdim=True)
""",
        TORCH,
    )
    assert made.whole
    assert "sum(x, axis=-1, keepdims=True)" in made.text
    assert "mean(x, axis=1, keepdims=True)" in made.text
