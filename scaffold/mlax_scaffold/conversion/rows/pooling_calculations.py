"""What rows compute of windows that PyTorch pools, with the settings that a function here does not have."""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.rows.array_calculations import Arg, with_keywords
from mlax_scaffold.conversion.rows.rows import MisfitError
from mlax_scaffold.conversion.source.trees import (
    constant,
    expression,
    is_none,
    literal,
    marked,
    name,
)


class PoolingCalculations:
    """Pooling, as PyTorch's functions and modules do it."""

    def _counted(self, ceil: Arg, padding: Arg, include: Arg) -> Arg:
        """Whether an average counts the padding; what `ceil_mode` adds to it never counts in PyTorch."""
        if literal(ceil) is False:
            return include
        if literal(padding) in (0, (0, 0)):
            return constant(False)
        if literal(include) is True:
            raise MisfitError("`ceil_mode` with a padding that counts")
        return include

    def _pooled(
        self,
        kind: Arg,
        x: Arg,
        window: Arg,
        stride: Arg,
        padding: Arg,
        dims: Arg,
        ceil: Arg,
        **settings: Arg,
    ) -> Arg:
        strides = window if is_none(stride) or literal(stride) == [] else stride
        some = None if literal(padding) in (0, (0, 0)) else padding
        plain = {"count_include_pad": True, "dilation": 1}
        given = {k: v for k, v in settings.items() if literal(v) != plain[k]}
        if literal(ceil) is False and not (given and (some or "dilation" in given)):
            word = marked(f"word_{literal(kind)}_pool(x)", x=x)
            return with_keywords(
                word, spatial_dims=dims, window=window, strides=strides, padding=some
            )
        layer = name(f"@layer:{str(literal(kind)).title()}Pool")
        made = with_keywords(
            ast.Call(layer, [dims, window], []), strides=strides, padding=some
        )
        if literal(ceil) is not False:
            made = with_keywords(made, ceil_mode=ceil)
        return expression("f(x)", f=with_keywords(made, **given), x=x)

    def _max_pooled(
        self, x: Arg, window: Arg, stride: Arg, padding: Arg, dims: Arg, ceil: Arg,
        dilation: Arg,
    ) -> Arg:  # fmt: skip
        places = (x, window, stride, padding, dims, ceil)
        return self._pooled(constant("max"), *places, dilation=dilation)

    def _avg_pooled(
        self, x: Arg, window: Arg, stride: Arg, padding: Arg, dims: Arg, ceil: Arg,
        include: Arg,
    ) -> Arg:  # fmt: skip
        include = self._counted(ceil, padding, include)
        places = (x, window, stride, padding, dims, ceil)
        return self._pooled(constant("avg"), *places, count_include_pad=include)

    def _power_pool(self, power: Arg, window: Arg, stride: Arg, dims: Arg) -> Arg:
        return self._powered_pool(name("x"), power, window, stride, dims)  # type: ignore[attr-defined]
