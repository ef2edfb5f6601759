"""What blocks refuse, and what they take at the edge of it."""

import functools
from typing import Any

import jax
import jax.numpy as jnp
import pytest

from mlax import block, nn

KEY = jax.random.key(0)


@functools.cache
def linear() -> Any:
    return nn.Linear.init(KEY, 4, 4)


@functools.cache
def cell() -> Any:
    return nn.SimpleCell.init(KEY, 4, 5)


def run(module: Any, layer: tuple[Any, Any, Any], x: Any, **inputs: Any) -> Any:
    return module.fwd(x, *layer, **inputs)[0]


def test_a_cell_has_an_initial_carry():
    with pytest.raises(ValueError, match="cell must be an initialized recurrent cell"):
        block.Recurrent.init(linear())


def test_layers_are_stacked_as_deep_as_they_are_repeated():
    stacked = jax.vmap(lambda key: nn.Linear.init(key, 4, 4))(jax.random.split(KEY, 3))
    with pytest.raises(ValueError, match=r"first axis is depth=2, got .*\(3, 4, 4\)"):
        block.Repeat.init(stacked, 2)
    with pytest.raises(ValueError, match=r"first axis is depth=3, got .*\(4, 4\)"):
        block.Repeat.init(linear(), 3)
    # A layer without arrays has nothing to stack.
    twice = block.Repeat.init(nn.F.init(jnp.cos), 2)
    assert run(block.Repeat, twice, jnp.zeros(())) == jnp.cos(1.0)


def test_resets_are_given_for_each_step_of_each_sequence():
    layer = block.Recurrent.init(cell())
    x = jnp.ones((2, 3, 4))
    for shape in [(3,), (1, 3), (3, 2), (2, 4)]:
        with pytest.raises(
            ValueError, match=r"reset must have shape \(\*batch, time\)"
        ):
            run(block.Recurrent, layer, x, reset=jnp.zeros(shape, bool))


def test_a_sequence_of_no_steps():
    layer = block.Recurrent.init(cell(), return_carry=True)
    y, carry = run(block.Recurrent, layer, jnp.ones((2, 0, 4)), key=KEY)
    assert y.shape == (2, 0, 5)
    assert not bool(jnp.any(carry))


def test_a_residual_does_not_broadcast():
    layer = block.Residual.init(nn.Linear.init(KEY, 4, 1))
    with pytest.raises(ValueError, match="the output of the layer must have the shape"):
        run(block.Residual, layer, jnp.ones((2, 4)))


def test_inputs_side_by_side_are_a_tuple():
    layer = block.Parallel.init([linear(), linear()])
    with pytest.raises(ValueError, match="x must be a tuple of one input for each"):
        run(block.Parallel, layer, jnp.ones((2, 4)))


def test_messages_do_not_show_the_numbers_of_weights():
    layer: Any = nn.Linear.init(KEY, 40, 40)
    with pytest.raises(ValueError, match=r"kernel=ShapeDtypeStruct\(shape=\(40, 40\)"):
        block.Series.init(layer)
