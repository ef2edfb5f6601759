"""Shapes that generated tests draw, and how many axes they have."""

from __future__ import annotations

from collections.abc import Iterator

from mlax_scaffold.model.definition import ArrayType, Definition, Input, Method
from mlax_scaffold.model.shapes import Conditional, Shape
from mlax_scaffold.reader.remedies.axes import LAST

_TREE = "*batch features"
"""The shape of an array that stands for a tree."""


def ranked(definition: Definition, method: Method) -> bool:
    """Whether the number of axes of the input is drawn first: an axis must be one of them."""
    shapes = {text for m in definition.methods for _, text in _flat_inputs(m.inputs)}
    if shapes == {"..."}:
        return has_axes(definition) or not definition.example_shapes
    return has_axes(definition) and variadic(drawn(method)) is not None


def has_axes(definition: Definition) -> bool:
    """Whether axes of the input are drawn."""
    given = definition.example_values
    return any(
        h.type.word.selects_axes and h.name not in given
        for h in definition.hyperparameters
    )


def drawn(method: Method) -> list[tuple[str, str]]:
    """Label and shape of every array that is drawn."""
    own = list(_patterns(method.inputs)) if method.inputs else []
    return [*own, ("shift", "features")] if method.passes else own


def loose(method: Method) -> list[str]:
    """Labels of the arrays whose annotations allow more shapes than are picked."""
    flat = _flat_inputs(method.inputs)
    return [label for label, text in flat if "..." in text.split()]


def trees(method: Method) -> list[str]:
    """Labels of the arrays whose annotations say neither a shape nor a kind."""
    found = [label for i in method.inputs for label in _trees(i.name, i.type)]
    return [*found, "shift"] if method.passes else found


def sized_carry(definition: Definition, method: Method) -> tuple[str, str] | None:
    """The inputs and the carry of a cell, where the carry has axes that no input and no field has.

    `initial_carry` alone says what sizes these have.
    """
    if not definition.carries or len(method.positional) != 2:
        return None
    inputs, carry = method.positional
    if inputs.type.shape is None or carry.type.holds("PyTree"):
        return None
    told = {h.name for h in definition.hyperparameters} | set(_names(inputs))
    return None if told.issuperset(_names(carry)) else (inputs.name, carry.name)


def _names(item: Input) -> list[str]:
    return [name for shape in item.type.shapes for name in shape.names()]


def variadic(patterns: list[tuple[str, str]]) -> str | None:
    """The first name that stands for any number of axes."""
    words = " ".join(text for _, text in patterns).split()
    return next((word[1:] for word in words if word.startswith("*")), None)


def rank(definition: Definition) -> int:
    """The number of axes that every input has, where their shapes say it; a weight may have none."""
    shapes = [
        part
        for m in definition.methods
        for item in m.inputs
        for part in _fixed(item.type)
    ]
    return min((len(shape.dims) for shape in shapes), default=0)


def _fixed(array: ArrayType) -> Iterator[Shape]:
    match array.shape:
        case Shape():
            yield array.shape
        case Conditional():
            yield from (array.shape.if_true, array.shape.if_false)
    for part in array.items:
        yield from _fixed(part)


def _flat_inputs(inputs: tuple[Input, ...]) -> list[tuple[str, str]]:
    return [pair for item in inputs for pair in _flat(item.name, item.type)]


def _patterns(inputs: tuple[Input, ...]) -> Iterator[tuple[str, str]]:
    """Label and shape of every array of the inputs.

    Arrays of any shape must broadcast against one another: where all are of any shape they get the
    same, and `...` before named axes stands for no axis, behind them for one. A tree has one axis
    `batch` where an array has.
    """
    flat = _flat_inputs(inputs)
    if any("batch" in text.split() for _, text in flat):
        flat = [(n, "batch features" if t == _TREE else t) for n, t in flat]
    free = {text for _, text in flat} == {"..."}
    for label, text in flat:
        words = [w for w in text.split() if w != "..."]
        words += [LAST] * text.endswith(" ...")
        yield label, "*any_axes" if free else " ".join(words)


def _trees(label: str, array: ArrayType) -> Iterator[str]:
    if array.kind == "PyTree":
        yield label
    for _, at, part in array.parts:
        yield from _trees(f"{label}{at}", part)


def _flat(label: str, array: ArrayType) -> Iterator[tuple[str, str]]:
    if array.items:
        for _, at, part in array.parts:
            yield from _flat(f"{label}{at}", part)
    elif array.kind == "PyTree":
        yield label, _TREE
    elif array.shape is not None:
        yield label, str(array.shape)


def known_sizes(definition: Definition, patterns: list[tuple[str, str]]) -> str:
    """The sizes that are known of axes: those too that the layers map which blocks are given."""
    words = {word for _, text in patterns for word in text.split()}
    wide = [
        f"{name}=toys.WIDTH"
        for name in ("features", "in_features", "out_features")
        if _free(definition, patterns, name) and (name in words or name == "features")
    ]
    if not definition.structural() or not wide:
        return "known(hyperparams)"
    return f"dict(known(hyperparams), {', '.join(wide)})"


def _free(definition: Definition, patterns: list[tuple[str, str]], name: str) -> bool:
    """Whether a name may be any size: no field is called so, and no group of axes."""
    fields = {h.name for h in definition.hyperparameters}
    words = {word for _, text in patterns for word in text.split()}
    return name not in fields and f"*{name}" not in words
