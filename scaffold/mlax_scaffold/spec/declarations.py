"""What a spec's `setup` declares: weights, states, moments, and requirements."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
from jax.nn.initializers import Initializer
from jax.typing import DTypeLike

from mlax_scaffold.spec.runtime import runtime

complex_dtype = runtime("_core.arrays").complex_dtype
wider = runtime("_core.arrays").at_least
in_precision = runtime("_core.arrays").in_precision


@dataclass(frozen=True)
class Declaration:
    """An array that `init` makes."""

    kind: str
    initializer: Initializer
    shape: tuple[int, ...]
    dtype: DTypeLike | None = None
    at_least: DTypeLike | None = None

    def made(self, key: jax.Array, dtype: DTypeLike | None, given: Any = None) -> Any:
        """The array; `dtype` is that of the weights, `given` another initializer."""
        own = jnp.dtype(self.dtype or dtype or jnp.result_type(float))
        if self.dtype is not None and jnp.issubdtype(own, jnp.complexfloating):
            own = complex_dtype(dtype)
        if self.at_least is not None:
            own = wider(own, self.at_least)
        return in_precision((given or self.initializer)(key, self.shape, own), own)


if TYPE_CHECKING:
    # What is declared is read back as an array: the declaration has no type of its own.

    def trainable(
        initializer: Initializer, shape: Sequence[int], dtype: DTypeLike | None = None
    ) -> Any: ...
    def state(
        initializer: Initializer,
        shape: Sequence[int],
        dtype: DTypeLike | None = None,
        *,
        at_least: DTypeLike | None = None,
    ) -> Any: ...
    def moment(
        initializer: Initializer | jax.Array,
        shape: Sequence[int] = (),
        dtype: DTypeLike | None = None,
    ) -> Any: ...

else:

    def trainable(initializer, shape, dtype=None):
        """Declares a weight, which gradients are taken of.

        With the dtype `jnp.complex64` it is complex, in the precision of the weights.
        """
        return Declaration("trainable", initializer, tuple(shape), dtype)

    def state(initializer, shape, dtype=None, *, at_least=None):
        """Declares a non-trainable. Its dtype is that of the weights, unless given.

        With `at_least` it is the wider of the weights' dtype and the given one.
        """
        return Declaration("state", initializer, tuple(shape), dtype, at_least)

    def moment(initializer, shape=None, dtype=None):
        """Declares what an optimizer keeps for a weight; dtype None: the weight's.

        `moment(value)` begins as a copy of the value.
        """
        if shape is None:
            value = initializer
            return Declaration("moment", _copying(value), value.shape, dtype)
        return Declaration("moment", initializer, tuple(shape), dtype)

    def _copying(value):
        return lambda key, shape, dtype: jnp.array(value, dtype)


def require(condition: bool, message: str) -> None:
    """Raises a ValueError with the message, unless the condition holds."""
    if not condition:
        raise ValueError(message)
