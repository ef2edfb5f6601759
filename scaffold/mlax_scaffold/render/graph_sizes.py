"""Which hyperparameters a module class takes from the shape of its first input, and how."""

from __future__ import annotations

from mlax_scaffold.model.definition import Definition, Hyperparameter, Kind
from mlax_scaffold.model.shapes import (
    AnyAxes,
    Conditional,
    Dim,
    Named,
    Shape,
    Variadic,
)


def inferred(definition: Definition) -> dict[str, str]:
    """The hyperparameters that the shape of the first input decides: how, by name."""
    method = definition.method("forward")
    if definition.kind is not Kind.LAYER or method is None:
        return {}
    x = "x" if len(method.positional) == 1 else "x[0]"
    shape = method.positional[0].type.shape
    found: dict[str, str] = {}
    for h in definition.hyperparameters:
        if h.default is None and h.type.word.name == "Size" and not h.type.optional:
            place = _place(definition, h, shape, x)
            if place is not None:
                found[h.name] = place
    return found


def _place(
    definition: Definition, h: Hyperparameter, shape: object, x: str
) -> str | None:
    alias = definition.alias(h.name)
    if isinstance(shape, Conditional):
        axes = _axis(h.name, shape.if_true), _axis(h.name, shape.if_false)
        if None in axes:
            return _beside(h, alias, shape.if_true, x)
        field = definition.alias(shape.field)
        axis = f"{axes[0]} if self.{field} else {axes[1]}"
        return f"self.axis_size({alias!r}, {x}, {axis})"
    if isinstance(shape, Shape):
        axis = _axis(h.name, shape)
        if axis is None:
            return _beside(h, alias, shape, x)
        return f"self.axis_size({alias!r}, {x}, {axis})"
    return None


def _axis(name: str, shape: Shape) -> int | None:
    """The index of an axis, from the side on which nothing variadic stands."""
    for i, dim in enumerate(shape.dims):
        if isinstance(dim, Named) and dim.name == name and not dim.broadcast:
            if not _variadic(shape.dims[:i]):
                return i
            if not _variadic(shape.dims[i:]):
                return i - len(shape.dims)
    return None


def _beside(h: Hyperparameter, alias: str, shape: Shape, x: str) -> str | None:
    """`*spatial` is `spatial_dims` axes, so that the others say how many they are."""
    match _variadic(shape.dims):
        case [Variadic() as dim] if h.name in dim.counters:
            return f"self.axes_beside({alias!r}, {x}, {len(shape.dims) - 1})"
    return None


def _variadic(dims: tuple[Dim, ...]) -> list[Dim]:
    return [dim for dim in dims if isinstance(dim, Variadic | AnyAxes)]
