"""Sizes of the arrays of an example."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mlax_scaffold.model.definition import Definition
from mlax_scaffold.model.shapes import (
    Anonymous,
    AnyAxes,
    AnyShape,
    Computed,
    Named,
    Shape,
    ShapeMismatch,
    Variadic,
    is_size,
)

_FREE = 3
_CHOSEN = {"batch": 2, "channels": 4, "features": 4}
"""Sizes of axes that are not hyperparameters; any other is `_FREE`."""


_MOST = 8
"""Spatial axes of an example."""


def _bound(definition: Definition, known: Mapping[str, Any]) -> int:
    """The largest default of a size that is no axis.

    A window is no longer than what it slides over, nor are `k` of `n` more. One
    axis may be long in an example, several may not. `max_length` is as many as there may be.
    """
    shapes = [s for i in definition.entry.inputs for s in i.type.shapes]
    axes = {name for shape in shapes for name in shape.names()}
    sizes = [
        known[h.name]
        for h in definition.hyperparameters
        if h.type.word.measured
        and h.default is not None
        and h.name not in axes
        and type(known.get(h.name)) is int
    ]
    longest = 512 if len(axes - {*known, *_CHOSEN}) == 1 else 8
    most = [n for name, n in known.items() if name.startswith("max_") and is_size(n)]
    longest = min([longest, *(n for n in most if isinstance(n, int))])
    return max((n for n in sizes if n <= longest), default=0)


class Sizes:
    """A size for each axis: of the hyperparameter of that name, else chosen here."""

    def __init__(
        self,
        definition: Definition,
        fields: Mapping[str, Any],
        free: int = _FREE,
        batch: int = _CHOSEN["batch"],
        spatial_size: int = _FREE,
        width: int | None = None,
    ):
        self.free = max(free, _bound(definition, fields))
        self.chosen = _CHOSEN | {"batch": batch}
        self.fields = dict(fields)
        spatial = self.fields.get("spatial_dims")
        if not isinstance(spatial, int) or spatial > _MOST:
            spatial = 2
        self.spatial = (spatial_size,) * spatial
        self.sizes: dict[str, int | tuple[int, ...]] = {
            name: value for name, value in fields.items() if is_size(value)
        }
        for h in definition.hyperparameters:
            if h.type.per_dim and isinstance(size := self.sizes.get(h.name), int):
                self.sizes[h.name] = (size,) * len(self.spatial)
        # Functions of images say nothing about the axes before the spatial ones.
        names = {h.name for h in definition.hyperparameters}
        images = names & {"spatial_dims", "channel_last"}
        self.any = (batch, 4, *self.spatial) if images else (batch, width or free)

    def given(self, shape: AnyShape | None, broadcast: bool = False) -> tuple[int, ...]:
        """The shape of an input. With `broadcast`, `...` stands for no axis.

        Raises:
            ShapeMismatch: where a computed axis has a name of no size.
        """
        if shape is None:
            return self.any
        sizes: list[int] = []
        for dim in shape.resolve(self.fields).dims:
            match dim:
                case Named(name):
                    self.sizes.setdefault(name, self.chosen.get(name, self.free))
                    sizes.append(self._size(name))
                case Variadic(name):
                    free = {
                        "batch": (self.chosen["batch"],),
                        "spatial": self.spatial,
                        "shape": self.any,
                    }
                    count = dim.count(self.sizes)
                    chosen = (
                        free.get(name, (self.free,))
                        if count is None
                        else (self.free,) * count
                    )
                    axes = self.sizes.setdefault(name, chosen)
                    sizes += axes if isinstance(axes, tuple) else (axes,)
                case Computed():
                    for name in dim.names:
                        self.sizes.setdefault(name, self.free)
                    sizes.append(dim.evaluate(self.sizes))
                case Anonymous():
                    sizes.append(self.free)
                case AnyAxes():
                    sizes += () if broadcast else self.any
                case _:
                    sizes += Shape((dim,)).evaluate(self.sizes)
        return tuple(sizes)

    def _size(self, name: str) -> int:
        size = self.sizes[name]
        if isinstance(size, tuple):
            raise ShapeMismatch(f"{name} stands for the axes {size}")
        return size

    def expected(self, shape: AnyShape | None) -> tuple[int, ...]:
        """The shape of a result. Raises ShapeMismatch where it does not follow."""
        if shape is None:
            raise ShapeMismatch("nothing is known of the shape")
        return shape.resolve(self.fields).evaluate(self.sizes)
