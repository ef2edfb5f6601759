"""What documentation says of arrays and of shapes."""

from __future__ import annotations

from mlax_scaffold.model.arrays import KINDS, OUTPUT
from mlax_scaffold.model.definition import ArrayType
from mlax_scaffold.model.shapes import Conditional, Shape

_DOCS = {"Key": "key"} | {name: kind.doc for name, kind in KINDS.items()}


def array_doc(array: ArrayType) -> str:
    """What an array is: its kind and its shape."""
    if array.kind == "PyTree" and array.name == OUTPUT:
        return "of the type that the layer returns"
    if array.kind == "PyTree":
        return "any tree of arrays"
    if array.kind == "tuple" and array.items[-1].kind == "...":
        return f"sequence of any number of: {array_doc(array.items[0])}"
    if array.kind == "tuple":
        return "tuple of " + ", ".join(array_doc(item) for item in array.items)
    if array.kind == "dict":
        items = zip(array.keys, map(array_doc, array.items), strict=True)
        return "dictionary of " + ", ".join(f"{key}: {text}" for key, text in items)
    text = _DOCS[array.kind]
    if array.shape is not None:
        text += f" {_shape_doc(array.shape)}"
    return f"{text}, or None" if array.optional else text


def _shape_doc(shape: Shape | Conditional) -> str:
    """How the shape continues the kind of an array."""
    if isinstance(shape, Conditional):
        one, other = _shape_doc(shape.if_true), _shape_doc(shape.if_false)
        if shape.if_true.broadcast and shape.if_false.broadcast:
            other = f"to {shape_text(shape.if_false)}"
        return f"{one} where {shape.field}, else {other}"
    if shape.broadcast:
        return f"that broadcasts to {shape_text(shape)}"
    return "of any shape" if str(shape) == "..." else shape_text(shape)


def shape_text(shape: Shape) -> str:
    """A shape as messages and documentation show it: `(*batch, in_features)`."""
    parts = [str(dim) for dim in shape.dims]
    return f"({parts[0]},)" if len(parts) == 1 else f"({', '.join(parts)})"
