"""The scale of the loss that an optimizer expects."""

from typing import Any

import jax


def loss_scales(state: Any) -> list[Any]:
    """The states of DynamicLossScaling within that of an optimizer."""

    def scales(node: Any) -> bool:
        return type(node).__name__ == "DynamicLossScalingState"

    return [node for node in jax.tree.leaves(state, is_leaf=scales) if scales(node)]


def scales_loss(state: Any) -> bool:
    """Whether an optimizer with this state takes the gradients of a loss with a scale.

    It does where DynamicLossScaling is in it: what it does with such gradients before has
    to be the same for any scale, and for gradients that are not finite.
    """
    return bool(loss_scales(state))
