"""Which hyperparameters a module class takes from the shape of its first input, and how."""

from __future__ import annotations

from mlax_scaffold.model.definition import Definition, Hyperparameter, Kind, Method
from mlax_scaffold.model.shapes import (
    AnyAxes,
    Conditional,
    Dim,
    Named,
    Shape,
    Variadic,
)


def inferred(definition: Definition) -> dict[str, str]:
    """The hyperparameters that the shape of the first input of `forward` decides: how, by name."""
    method = definition.method("forward")
    if definition.kind is not Kind.LAYER or method is None:
        return {}
    return _decided(definition, method, 0)


def inferred_for(definition: Definition, method: Method) -> dict[str, str]:
    """The same from the inputs of another entry point; what these do not decide is known."""
    found: dict[str, str] = {}
    for place in range(len(method.positional)):
        found = _decided(definition, method, place) | found
    return {
        name: found.get(name, f"self.known_size({name!r})")
        for name in inferred(definition)
    }


def _decided(definition: Definition, method: Method, at: int) -> dict[str, str]:
    x = "x" if len(method.positional) == 1 else f"x[{at}]"
    shape = method.positional[at].type.shape
    found: dict[str, str] = {}
    for h in definition.hyperparameters:
        if h.default is None and h.type.word.measured and not h.type.optional:
            if h.type.per_dim and "spatial_dims" in found:
                continue  # the number of axes is not known when the module is made
            place = _place(definition, h, shape, x)
            if place is not None:
                found[h.name] = place
    return found


def _place(
    definition: Definition, h: Hyperparameter, shape: object, x: str
) -> str | None:
    alias = definition.alias(h.name)
    several = ", self.spatial_dims" if h.type.per_dim else ""
    size = f"self.axis_size{'s' if several else ''}({alias!r}, {x}, {{}}{several})"
    if isinstance(shape, Conditional):
        axes = tuple(
            _axis(definition, h, branch) for branch in (shape.if_true, shape.if_false)
        )
        if None in axes:
            return _beside(h, alias, shape.if_true, x)
        field = definition.alias(shape.field)
        return size.format(f"{axes[0]} if self.{field} else {axes[1]}")
    if isinstance(shape, Shape):
        axis = _axis(definition, h, shape)
        if axis is None:
            return _beside(h, alias, shape, x)
        return size.format(axis)
    return None


def _axis(definition: Definition, h: Hyperparameter, shape: Shape) -> str | None:
    """The index of its axis, or first axis, from the side where the number is known."""
    own = Variadic(h.name) if h.type.per_dim else Named(h.name)
    for i, dim in enumerate(shape.dims):
        if dim == own:
            if not _variadic(shape.dims[:i]):
                return str(i)
            after = _variadic(shape.dims[i:])
            counts = [_count(definition, shape, dim) for dim in after]
            if None not in counts:
                fixed = i + len(after) - len(shape.dims)
                parts = [*([str(fixed)] if fixed else []), *map(str, counts)]
                return f"{'' if fixed else '-'}{' - '.join(parts)}"
            before = _variadic(shape.dims[:i])
            counts = [_count(definition, shape, dim) for dim in before]
            if None not in counts:
                fixed = i - len(before)
                return " + ".join([*map(str, counts), *([str(fixed)] if fixed else [])])
    return None


def _count(definition: Definition, shape: Shape, dim: Dim) -> str | None:
    """The hyperparameter that says how many axes a variadic name is, where it is given."""
    if not isinstance(dim, Variadic) or len(_variadic(shape.dims)) == 1:
        return None  # where it is the only one, the input says how many it is
    for h in definition.hyperparameters:
        if h.name in dim.counters and not h.type.optional:
            return f"self.{definition.alias(h.name)}"
        if h.name == dim.name and h.type.per_dim:
            return "self.spatial_dims"
    return None


def _beside(h: Hyperparameter, alias: str, shape: Shape, x: str) -> str | None:
    """`*spatial` is `spatial_dims` axes, so that the others say how many they are."""
    match _variadic(shape.dims):
        case [Variadic() as dim] if h.name in dim.counters:
            return f"self.axes_beside({alias!r}, {x}, {len(shape.dims) - 1})"
    return None


def _variadic(dims: tuple[Dim, ...]) -> list[Dim]:
    return [dim for dim in dims if isinstance(dim, Variadic | AnyAxes)]
