"""The same number everywhere, and numbers that are drawn independently."""

from collections.abc import Sequence

import jax
import jax.numpy as jnp
from jax.typing import DTypeLike

from .._core import checks
from .._core.static import static
from ._dtypes import float_dtype, inexact_dtype, number_dtype


@static
class constant:  # noqa: N801
    """The same value everywhere."""

    value: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "value", checks.number("constant", value=self.value))

    def __call__(
        self,
        key: jax.Array | None,
        shape: Sequence[int],
        dtype: DTypeLike | None = None,
    ) -> jax.Array:
        """An array of that shape; the key may be None."""
        dtype = number_dtype("constant", dtype, self.value)
        return jnp.full(tuple(shape), self.value, dtype)


@static
class normal:  # noqa: N801
    """Normal numbers of mean 0; 0.02 is the custom of transformers (arXiv:1810.04805)."""

    stddev: float = 0.02

    def __post_init__(self) -> None:
        stddev = checks.non_negative("normal", stddev=self.stddev)
        object.__setattr__(self, "stddev", stddev)

    def __call__(
        self, key: jax.Array, shape: Sequence[int], dtype: DTypeLike | None = None
    ) -> jax.Array:
        """An array of that shape."""
        dtype = inexact_dtype("normal", dtype)
        return self.stddev * jax.random.normal(key, tuple(shape), dtype)


@static
class uniform:  # noqa: N801
    """Uniform numbers from `-bound` to `bound`."""

    bound: float = 0.01

    def __post_init__(self) -> None:
        bound = checks.non_negative("uniform", bound=self.bound)
        object.__setattr__(self, "bound", bound)

    def __call__(
        self, key: jax.Array, shape: Sequence[int], dtype: DTypeLike | None = None
    ) -> jax.Array:
        """An array of that shape."""
        dtype = float_dtype("uniform", dtype)
        return self.bound * jax.random.uniform(key, tuple(shape), dtype, -1.0, 1.0)


@static
class truncated_normal:  # noqa: N801
    """Normal numbers of mean 0, none beyond `lower` and `upper`, which are in units of `stddev`.

    The defaults are those of BERT and ViT (arXiv:1810.04805, arXiv:2010.11929): 0.02, cut
    at two standard deviations. As in `jax.nn.initializers`, `stddev` is that of the normal
    distribution before it is cut; after it, at 2, it is 0.88 of that.
    """

    stddev: float = 0.02
    lower: float = -2.0
    upper: float = 2.0

    def __post_init__(self) -> None:
        stddev = checks.non_negative("truncated_normal", stddev=self.stddev)
        object.__setattr__(self, "stddev", stddev)
        for name in ("lower", "upper"):
            value = checks.number("truncated_normal", **{name: getattr(self, name)})
            object.__setattr__(self, name, value)
        if self.lower >= self.upper:
            raise ValueError(
                "truncated_normal: lower must be below upper, "
                f"got lower={self.lower}, upper={self.upper}"
            )

    def __call__(
        self, key: jax.Array, shape: Sequence[int], dtype: DTypeLike | None = None
    ) -> jax.Array:
        """An array of that shape."""
        dtype = float_dtype("truncated_normal", dtype)
        drawn = jax.random.truncated_normal(
            key, self.lower, self.upper, tuple(shape), dtype
        )
        return self.stddev * drawn
