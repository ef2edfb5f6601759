"""What rows compute of images that become larger or smaller."""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.rows.array_calculations import Arg, with_keywords
from mlax_scaffold.conversion.rows.rows import MisfitError, missing
from mlax_scaffold.conversion.source.trees import (
    constant,
    expression,
    is_none,
    literal,
    name,
)


class ResizingCalculations:
    """Images of another size, as PyTorch makes them."""

    def _upsampled(self, mode: Arg) -> Arg:
        return constant({"linear": 1, "trilinear": 3}.get(str(literal(mode)), 2))

    def _method(self, mode: Arg) -> Arg | None:
        value = str(literal(mode))
        if value in ("bilinear", "linear", "trilinear"):
            return constant("linear")
        if value != "nearest":
            raise MisfitError(f"`mode={ast.unparse(mode)}`")
        return None

    def _resized(self, x: Arg, size: Arg, factor: Arg, mode: Arg) -> Arg:
        """An image of another size; of so many times its size, by the layer."""
        if is_none(size):
            layer = with_keywords(
                ast.Call(
                    name("@layer:Upsample"),
                    [self._upsampled(mode), self._whole(factor)],
                    [],
                ),
                method=self._method(mode) or name("_"),
            )
            return expression("f(x)", f=layer, x=x)
        if isinstance(literal(size), int):
            size = ast.Tuple([size, size], ast.Load())
        if literal(mode) == "nearest":
            # It takes the element before, where others take the nearest by its middle.
            return expression(
                "x[..., jnp.arange(s[0])[:, None] * x.shape[-2] // s[0], "
                "jnp.arange(s[1]) * x.shape[-1] // s[1]]",
                x=x,
                s=size,
                jnp=name("@module:jnp"),
            )
        method = self._method(mode) if literal(mode) != "nearest-exact" else None
        return expression(
            "jax.image.resize(x, (*x.shape[:2], *size), method, antialias=False)",
            jax=name("@module:jax"),
            x=x,
            size=size,
            method=method or constant("nearest"),
        )

    def _whole(self, factor: Arg) -> Arg:
        value = literal(factor)
        if missing(factor) or (isinstance(value, float) and value != int(value)):
            raise MisfitError("without a whole `scale_factor`")
        return constant(int(value)) if isinstance(value, float) else factor
