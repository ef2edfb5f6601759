"""Lists of layers of linen that `setup` makes, and what loops over them make smaller."""

from __future__ import annotations

import pytest
from test_conversion_forms import converted
from test_conversion_jax_repositories import LINEN

_EXPERT = """\
class Expert(nn.Module):
    size: int

    @nn.compact
    def __call__(self, x):
        return nn.Dense(self.size)(nn.relu(x))


"""


@pytest.mark.parametrize(
    ("axes", "loop"),
    [
        (
            "in_axes=None",
            "for one_of_experts in self.experts:\n"
            "            members_0.append(one_of_experts(x))",
        ),
        (
            "in_axes=0",
            "for member_0, one_of_experts in enumerate(self.experts):\n"
            "            members_0.append(one_of_experts(x[member_0]))",
        ),
    ],
)
@pytest.mark.parametrize("named", [False, True])
def test_several_layers_that_setup_maps_are_a_list(axes, loop, named):
    own = "variable_axes={'params': 0}, split_rngs={'params': True}"
    mapped = f"nn.vmap(Expert, {own}, {axes}, axis_size=self.count)"
    made = f"        self.experts = {mapped}(self.size, name='experts')\n"
    if named:
        made = (
            f"        Experts = {mapped}\n        self.experts = Experts(self.size)\n"
        )
    text = converted(
        f"""\
{_EXPERT}class Thing(nn.Module):
    size: int = 8
    count: int = 3

    def setup(self):
{made}
    def __call__(self, x):
        return jnp.mean(self.experts(x), axis=0)
""",
        LINEN,
    ).text
    assert "for _ in range(self.count)]" in text
    assert loop in text
    assert "mean(jnp.stack(members_0, axis=0), axis=0)" in text


def test_layers_that_setup_scans_are_a_list_that_is_gone_through():
    text = converted(
        """\
class Block(nn.Module):
    size: int

    @nn.compact
    def __call__(self, x, y):
        return x + nn.Dense(self.size)(x) * y, None


class Thing(nn.Module):
    size: int = 8
    depth: int = 3

    def setup(self):
        self.blocks = nn.scan(
            Block,
            variable_axes={"params": 0},
            split_rngs={"params": True},
            in_axes=nn.broadcast,
            length=self.depth,
        )(self.size)
        self.norm = nn.LayerNorm()

    def __call__(self, x, y):
        x, _ = self.blocks(x, y)
        return self.norm(x)
""",
        LINEN,
    ).text
    assert "self.blocks = [Block(self.size) for _ in range(self.depth)]" in text
    assert "for one_of_blocks in self.blocks:\n            x, _ = one_of_blocks(x, y)" in text  # fmt: skip


@pytest.mark.parametrize(
    ("norms", "made"),
    [
        ("for _ in self.sizes", "for f in self.sizes"),
        ("for size in self.sizes", "for f in self.sizes"),
        (
            "for _ in range(len(self.sizes))",
            "for _, f in zip(range(len(self.sizes)), self.sizes)",
        ),
    ],
)
@pytest.mark.parametrize("order", ["conv, norm", "norm, conv"])
def test_norms_after_layers_of_a_list_are_as_wide_as_these(norms, made, order):
    lists = ", ".join(f"self.{part}s" for part in order.split(", "))
    text = converted(
        f"""\
class Thing(nn.Module):
    sizes: tuple = (8, 16)

    def setup(self):
        self.convs = [nn.Conv(f, (3, 3)) for f in self.sizes]
        self.norms = [nn.GroupNorm(num_groups=4) {norms}]

    def __call__(self, x):
        for {order} in zip({lists}):
            x = nn.relu(norm(conv(x)))
        return x
""",
        LINEN,
    ).text
    assert f"GroupNorm(4, f, channel_last=True, epsilon=1e-06) {made}]" in text


@pytest.mark.parametrize(
    ("layer", "left"),
    [
        ("(4, 4), strides=(2, 2), padding=1", "self.height // 2 ** len(self.sizes)"),
        (
            "(3, 3), strides=(2, 2), padding=1",
            "-(-self.height // 2 ** len(self.sizes))",
        ),
        ("(3, 3), strides=2", "-(-self.height // 2 ** len(self.sizes))"),
        ("(3, 3), padding='VALID'", "(self.height - len(self.sizes) * 2)"),
    ],
)
@pytest.mark.parametrize("listed", [False, True])
def test_an_image_is_flat_after_all_passes_over_a_list(layer, left, listed):
    loop = """\
        self.norms = [nn.LayerNorm() for _ in self.sizes]
        self.out = nn.Dense(5)

    def __call__(self, x):
        for conv, norm in zip(self.convs, self.norms):
            x = nn.relu(norm(conv(x)))
"""
    alone = """\
        self.out = nn.Dense(5)

    def __call__(self, x):
        for conv in self.convs:
            x = nn.relu(conv(x))
"""
    text = converted(
        f"""\
class Thing(nn.Module):
    sizes: tuple = (8, 16)

    def setup(self):
        self.convs = [nn.Conv(f, {layer}) for f in self.sizes]
{loop if listed else alone}
        return self.out(x.reshape((x.shape[0], -1)))
""",
        LINEN,
    ).text
    assert f"self.out = Linear({left} * " in text
    assert "len(self.convs)" not in text


def test_keys_are_there_where_a_layer_trains():
    text = converted(
        """\
class Thing(nn.Module):
    @nn.compact
    def __call__(self, x):
        x = nn.Dense(4)(x)
        if self.has_rng("noise"):
            x = x + jax.random.normal(self.make_rng("noise"), x.shape)
        if self.has_rng("params"):
            x = x * 3
        return x
""",
        LINEN,
    ).text
    assert "if self.training:\n            x = x + jax.random.normal(self.key()" in text
    assert "x * 3" not in text
