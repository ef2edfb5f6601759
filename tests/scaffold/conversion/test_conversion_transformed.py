"""Names of a file of linen for what a transformation makes of a class."""

from __future__ import annotations

import pytest

from mlax_scaffold.conversion import Converted, convert
from mlax_scaffold.errors import UsageError

CODE = """\
import flax.linen as nn


class Block(nn.Module):
    width: int
    rate: float = 0.1

    @nn.compact
    def __call__(self, x, train: bool = False):
        y = nn.Dense(self.width)(nn.relu(nn.Dense(self.width)(x)))
        return x + nn.Dropout(self.rate, deterministic=not train)(y)


Named = nn.{transformed}


class Net(nn.Module):
    width: int = 8

    @nn.compact
    def __call__(self, x, train: bool = False):
        x = nn.Dense(self.width)(x)
        return Named(self.width)({given})
"""


def made_of(transformed: str, thing: str, given: str = "x, train") -> Converted:
    code = CODE.format(transformed=transformed, given=given)
    made = convert("thing.py", code, thing, thing)
    assert made.whole, made.notes
    return made


@pytest.mark.parametrize(
    "transformed",
    ["remat(Block)", "checkpoint(Block, static_argnums=(2,))", "jit(Block)"],
)
def test_what_is_computed_again_is_the_class(transformed):
    text = made_of(transformed, "Net").text
    assert "self.block_0 = Block(self.width)" in text
    text = made_of(transformed, "Named").text
    assert "class Named(Layer):" in text
    assert "return x + self.dropout_0(y)" in text
    assert "class Block(" not in text


_SHARED = (
    'vmap(Block, {axes}variable_axes={{"params": None}}, '
    'split_rngs={{"params": False, "dropout": True}})'
)


@pytest.mark.parametrize(
    ("axes", "call"),
    [
        ("in_axes=(0, None), ", "jax.vmap(self.example)(x)"),
        ("in_axes=(1, None), ", "jax.vmap(self.example, in_axes=(1,))(x)"),
        (
            "in_axes=(0, None), out_axes=1, ",
            "jax.vmap(self.example, out_axes=1)(x)",
        ),
    ],
)
def test_weights_of_one_class_that_is_mapped_are_those_of_the_layer_of_an_example(
    axes, call
):
    transformed = _SHARED.format(axes=axes)
    text = made_of(transformed, "Named").text
    made = text[text.index("class Named(Layer):") :]
    assert "width: Size\n    rate: Probability = 0.1" in made
    assert "self.example = Block(" in made
    assert f"return {call}" in made
    text = made_of(transformed, "Net").text
    assert "self.named_0 = Named(" in text
    assert "return self.named_0(x)" in text


def test_several_of_a_class_are_a_list_where_a_class_calls_them():
    weights = 'variable_axes={"params": 0}, split_rngs={"params": True}'
    several = f"vmap(Block, in_axes=None, axis_size=3, {weights})"
    text = made_of(several, "Net", "x").text
    assert "self.blocks = [Block(self.width) for _ in range(3)]" in text
    assert "jnp.stack(members_0, axis=0)" in text


def test_several_of_a_class_are_no_class_by_themselves():
    several = 'vmap(Block, in_axes=None, axis_size=3, variable_axes={"params": 0})'
    code = CODE.format(transformed=several, given="x")
    with pytest.raises(UsageError, match="defines no class or function Named"):
        convert("thing.py", code, "Named", "Named")
