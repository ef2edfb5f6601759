"""What documentation says of arrays and of shapes."""

from __future__ import annotations

from mlax_scaffold.model.definition import ArrayType
from mlax_scaffold.model.shapes import Conditional, Shape

_KINDS = {
    "Float": "floating",
    "Complex": "complex",
    "Int": "integer",
    "Bool": "boolean",
    "Key": "key",
}


def array_doc(array: ArrayType) -> str:
    """What an array is: its kind and its shape."""
    if array.kind == "PyTree":
        return "any tree of arrays"
    if array.kind == "tuple" and array.items[-1].kind == "...":
        return f"sequence of any number of: {array_doc(array.items[0])}"
    if array.kind == "tuple":
        return "tuple of " + ", ".join(array_doc(item) for item in array.items)
    if array.kind == "dict":
        items = zip(array.keys, map(array_doc, array.items), strict=True)
        return "dictionary of " + ", ".join(f"{key}: {text}" for key, text in items)
    text = _KINDS[array.kind]
    if isinstance(array.shape, Conditional):
        text += (
            f" {shape_text(array.shape.if_true)} where {array.shape.field}, "
            f"else {shape_text(array.shape.if_false)}"
        )
    elif array.shape is not None and array.shape.broadcast:
        text += f" that broadcasts to {shape_text(array.shape)}"
    elif array.shape is not None and str(array.shape) != "...":
        text += f" {shape_text(array.shape)}"
    elif array.shape is not None:
        text += " of any shape"
    return f"{text}, or None" if array.optional else text


def shape_text(shape: Shape) -> str:
    """A shape as messages and documentation show it: `(*batch, in_features)`."""
    parts = [str(dim) for dim in shape.dims]
    return f"({parts[0]},)" if len(parts) == 1 else f"({', '.join(parts)})"
