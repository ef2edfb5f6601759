"""Parameters of generated functions: signatures, checks, and their documentation."""

from __future__ import annotations

import re
from dataclasses import dataclass

from mlax_scaffold.model.definition import (
    ArrayType,
    Declaration,
    Definition,
    Hyperparameter,
    Input,
    Role,
)
from mlax_scaffold.model.shapes import Conditional
from mlax_scaffold.render.input_checks import shape_text
from mlax_scaffold.render.text import sentence, wrapped


@dataclass(frozen=True)
class Parameter:
    """A parameter of a generated function."""

    name: str
    annotation: str
    default: str | None
    doc: str

    @property
    def text(self) -> str:
        default = "" if self.default is None else f" = {self.default}"
        return f"{self.name}: {self.annotation}{default}"


def hyperparameter(h: Hyperparameter) -> Parameter:
    """The parameter of `init` that a hyperparameter is."""
    takes = h.type.takes
    doc = f"{h.doc.rstrip('.')} ({takes})." if h.doc else f"{takes}."
    return Parameter(h.name, h.type.argument, h.default, doc)


def field_doc(h: Hyperparameter) -> str:
    """The docstring of the field that a hyperparameter is: what it is, else what it takes."""
    return sentence(h.doc) if h.doc else wrapped(sentence(h.type.takes), 4 + 3)


def initializer(definition: Definition, d: Declaration) -> Parameter:
    """The parameter of `init` for the initializer of a weight."""
    shape = plain(d.shape)
    if definition.depends(d):
        doc = (
            f"initializer of {d.name}, of shape {shape}; None: {plain(d.initializer)}."
        )
        return Parameter(
            f"{d.name}_initializer", "arrays.Initializer | None", "None", doc
        )
    doc = f"initializer of {d.name}, of shape {shape}."
    return Parameter(f"{d.name}_initializer", "arrays.Initializer", d.initializer, doc)


def check(owner: str, h: Hyperparameter, function: str = "checks") -> str:
    """The statement that makes a hyperparameter canonical."""
    return f"{h.name} = {canonical(owner, h, h.name, function)}"


def canonical(
    owner: str, h: Hyperparameter, value: str, function: str = "checks"
) -> str:
    """The canonical form of an expression of a hyperparameter's value."""
    word = h.type.word
    given = f"{h.name}={value}"
    name, arguments = word.check, ""
    if h.type.choices:
        choices = ", ".join(map(repr, h.type.choices))
        name, arguments = "choice", f"({choices},), "
    elif h.type.per_dim:
        name, element = "per_dim", f"{function}.{word.check}"
        arguments = f"{element}, spatial_dims, "
    elif h.type.sequence:
        name, arguments = "sequence", f"{function}.{word.check}, "
    elif word.name == "Padding":
        arguments = "spatial_dims, "
    if h.type.optional:
        return f"{function}.optional({function}.{name}, {owner!r}, {arguments}{given})"
    return f"{function}.{name}({owner!r}, {arguments}{given})"


def plain(expression: str) -> str:
    """An expression of a spec as documentation shows it: without `self.`."""
    return re.sub(r"\bself\.", "", expression)


def array_doc(array: ArrayType) -> str:
    """What an array is: its kind and its shape."""
    if array.kind == "PyTree":
        return "any tree of arrays"
    if array.kind == "tuple" and array.items[-1].kind == "...":
        return f"sequence of any number of: {array_doc(array.items[0])}"
    if array.kind == "tuple":
        return "tuple of " + ", ".join(array_doc(item) for item in array.items)
    kind = {"Float": "floating", "Int": "integer", "Bool": "boolean", "Key": "key"}
    text = kind[array.kind]
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


def keyword_input(item: Input) -> Parameter:
    """The keyword-only parameter that a keyword input is."""
    doc = (
        f"{item.doc.rstrip('.')}: {array_doc(item.type)}."
        if item.doc
        else (f"{array_doc(item.type)}.")
    )
    return Parameter(item.name, item.type.annotation, item.default, doc)


def weights(definition: Definition) -> tuple[Declaration, ...]:
    """The trainables that have an initializer."""
    return definition.declared(Role.TRAINABLE)
