"""The dtype of buffers in methods that are given indices and sizes alone."""

from __future__ import annotations

import pytest
from test_conversion_forms import converted

THING = """\
class Thing(nn.Module):
    def __init__(self, dim, steps: int = 8):
        super().__init__()
        {weights}
        self.register_buffer("betas", torch.linspace(0.1, 0.2, steps))

    {decorator}
    def scale({taken}):
        return self.betas{read}

    def forward(self, {inputs}):
        {result}
"""


def thing(weights="", decorator="", taken="self, t", read="[t]", inputs="x, t"):
    """What a class becomes that scales by a buffer."""
    call = {"self, t": "(t)", "self, n": "(x.shape[1])", "self": "()[t]"}[taken]
    call = "[t]" if decorator else call
    scaled = "self.emb(t)" if inputs == "t" else "self.fc(x)" if weights else "x"
    return converted(
        THING.format(
            weights=weights,
            decorator=decorator,
            taken=taken,
            read=read,
            inputs=inputs,
            result=f"return {scaled} * self.scale{call}[:, None]",
        )
    ).text


@pytest.mark.parametrize(
    ("taken", "read", "decorator"),
    [
        ("self, t", "[t]", ""),
        ("self, t", ".gather(-1, t)", ""),
        ("self, n", "[:n]", ""),
        ("self", ".sqrt()", ""),
        ("self", ".sqrt()", "@property"),
    ],
)
def test_a_buffer_has_the_dtype_of_the_input_in_methods_without_one(
    taken, read, decorator
):
    text = thing(taken=taken, read=read, decorator=decorator)
    assert "jnp.asarray(self.betas, x.dtype)" in text
    assert ", *, x):" in text
    assert "x=x)" in text


@pytest.mark.parametrize(
    ("taken", "read"), [("self, t", "[t]"), ("self, n", "[:n]"), ("self", ".sqrt()")]
)
def test_a_buffer_has_the_dtype_of_the_weights_where_there_are_any(taken, read):
    text = thing("self.fc = nn.Linear(dim, dim)", taken=taken, read=read)
    assert "jnp.asarray(self.betas, self.fc.kernel.dtype)" in text


def test_a_buffer_beside_indices_has_the_dtype_of_the_table():
    text = thing("self.emb = nn.Embedding(steps, dim)", inputs="t")
    assert "jnp.asarray(self.betas, self.emb.embedding.dtype)" in text


def test_methods_hand_the_input_on():
    body = """\
class Thing(nn.Module):
    def __init__(self, steps: int = 8):
        super().__init__()
        self.register_buffer("betas", torch.linspace(0.1, 0.2, steps))

    def scale(self, t):
        return self.betas[t]

    def rest(self, t):
        return 1 - self.scale(t)

    def forward(self, x, t):
        return x * self.rest(t)[:, None]
"""
    text = converted(body).text
    assert "return 1 - self._scale(t, x=x)" in text
    assert "return x * self._rest(t, x=x)[:, None]" in text


@pytest.mark.parametrize(
    "offsets",
    [
        "torch.tensor([0, 3, 8])",
        "F.pad(torch.tensor([3, 5, 4]), (1, 0), value=0).cumsum(dim=-1)[:-1]",
    ],
)
def test_whole_numbers_that_are_added_to_indices_stay_whole(offsets):
    body = f"""\
class Thing(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.emb = nn.Embedding(12, dim)
        self.register_buffer("offsets", {offsets})

    def forward(self, x):
        return self.emb(x + self.offsets)
"""
    text = converted(body).text
    assert "jnp.asarray(self.offsets)" in text
    assert "embedding.dtype" not in text


def test_the_rate_of_a_layer_that_drops_is_what_it_was_declared_with():
    body = """\
class Thing(nn.Module):
    def __init__(self, dim, rate=0.1):
        super().__init__()
        self.drop = nn.Dropout(rate)

    def forward(self, q, k, v):
        return F.scaled_dot_product_attention(
            q, k, v, dropout_p=self.drop.p if self.training else 0.0
        )
"""
    text = converted(body).text
    assert "drop.p" not in text
    assert "self.rate" in text
