"""What documentation says of arrays and of shapes."""

from __future__ import annotations

from mlax_scaffold.model.arrays import KINDS, OUTPUT
from mlax_scaffold.model.definition import ArrayType
from mlax_scaffold.model.shapes import Conditional, Shape
from mlax_scaffold.render.text import listed

_DOCS = {"Key": "PRNG key"} | {name: kind.doc for name, kind in KINDS.items()}


def array_doc(array: ArrayType) -> str:
    """What an array is: its kind and its shape."""
    if array.kind == "PyTree" and array.name == OUTPUT:
        return "of the type that the layer returns"
    if array.kind == "PyTree":
        return f"any tree of arrays{', or None' * array.optional}"
    if array.kind == "tuple" and array.items[-1].kind == "...":
        return f"sequence of any number of: {array_doc(array.items[0])}"
    if array.kind == "tuple":
        items = (
            f"({array_doc(item)})" if item.kind == "tuple" else array_doc(item)
            for item in array.items
        )
        return f"tuple of {listed(items)}{', or None' * array.optional}"
    if array.kind == "dict":
        items = zip(array.keys, map(array_doc, array.items), strict=True)
        return "dictionary of " + ", ".join(f"{key}: {text}" for key, text in items)
    text = _DOCS[array.kind]
    if array.shape is not None:
        text += f" {_shape_doc(array.shape)}"
    return f"{text}, or None" if array.optional else text


def result_doc(array: ArrayType | None) -> str:
    """What a result is, after "y is"."""
    if array is None:
        return "anything"
    text = array_doc(array)
    return f"a {text}" if array.kind in ("tuple", "dict") else text


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
