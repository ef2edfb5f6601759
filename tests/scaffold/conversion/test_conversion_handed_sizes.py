"""Sizes that layers hand to each other become arrays that are so long."""

import pytest
from test_conversion_forms import converted

HANDED = """\
class Embed(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.proj = nn.Conv2d(3, dim, 4, 4)

    def forward(self, x):
        x = self.proj(x)
        {shape}
        return x.flatten(2).transpose(1, 2), {sizes}


class Mix(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.conv = nn.Conv2d(dim, dim, 3, padding=1)

    def forward(self, x, {parameters}):
        B, N, C = x.shape
        {read}
        x = self.conv(x.transpose(1, 2).view(B, C, H, W))
        return x.flatten(2).transpose(1, 2)


class Block(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.mix = Mix(dim)

    def forward(self, x, {parameters}):
        return x + self.mix(x, {parameters})


class Thing(nn.Module):
    def __init__(self, dim, depth):
        super().__init__()
        self.embed = Embed(dim)
        self.blocks = nn.ModuleList([Block(dim) for _ in range(depth)])

    def forward(self, x):
        x, {given} = self.embed(x)
        for i, block in enumerate(self.blocks):
            x = block(x, {given})
        return x
"""
TWO = {
    "shape": "_, _, H, W = x.shape",
    "sizes": "H, W",
    "parameters": "H, W",
    "read": "pass",
    "given": "H, W",
}
TUPLE = {
    "shape": "shape = x.shape[2:]",
    "sizes": "shape",
    "parameters": "shape",
    "read": "H, W = shape",
    "given": "shape",
}


@pytest.mark.parametrize("given", [TWO, TUPLE], ids=["two numbers", "a tuple"])
def test_sizes_are_handed_on_and_returned_as_arrays(given):
    text = converted(HANDED.format(**given)).text
    handed = "jnp.zeros(H, x.dtype), jnp.zeros(W, x.dtype)"
    handed = handed if given is TWO else "jnp.zeros(shape, x.dtype)"
    assert "return (jnp.swapaxes(jnp.reshape" in text or f", {handed})" in text
    assert f"x = block(x, {handed})" in text
    assert f"self.mix(x, {handed})" in text


def test_what_the_layer_itself_is_given_stays_as_it_is():
    """Its tests give it arrays alone, as those of its original do."""
    body = HANDED.format(**TWO).replace("class Thing", "class Whole")
    text = converted(body.replace("class Block", "class Thing").replace("Block(", "Thing(")).text  # fmt: skip
    assert (
        "shape" not in text.partition("class FromThing")[2].partition("def forward")[0]
    )


def test_a_length_is_told_by_an_array():
    text = converted("""\
class Cut(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.conv = nn.Conv1d(dim, dim, 2)

    def forward(self, x, size):
        return self.conv(x)[:, :, -size:]


class Thing(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.cut = Cut(dim)

    def forward(self, x):
        return self.cut(x, x.size(2) - 2)
""").text
    assert "size: Float['size']" in text
    assert "self.cut(x, jnp.zeros(x.shape[2] - 2, x.dtype))" in text
