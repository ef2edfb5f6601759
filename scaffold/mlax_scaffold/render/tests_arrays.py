"""Expressions of the arrays that generated tests are about: inputs, results, and their ranges."""

from __future__ import annotations

from mlax_scaffold.model.definition import ArrayType, Definition, Kind, Method
from mlax_scaffold.model.shapes import Conditional, Named

_NOT_NEGATIVE = ("var", "positive")
"""Names of inputs that are drawn above zero."""
_DTYPES = {"Int": ", jnp.int32", "Bool": ", jnp.bool_"}


def positional(method: Method, definition: Definition) -> str:
    """Expression of the positional input; of a function: of all its inputs."""
    parts = [abstract(i.name, i.type, definition) for i in method.positional]
    if definition.kind is Kind.FUNCTION:
        parts = [
            f"draw(optional(st.just({part})))" if i.default == "None" else part
            for i, part in zip(method.positional, parts, strict=True)
        ]
        return f"({', '.join(parts)},)"
    return parts[0] if len(parts) == 1 else f"({', '.join(parts)})"


def abstract(label: str, array: ArrayType, definition: Definition) -> str:
    """Expression of an array without values, whose shape was drawn."""
    if array.kind == "tuple":
        if array.items[-1].kind == "...":
            return f'(array(shapes["{label}[0]"]),) * count'
        parts = [
            abstract(f"{label}[{i}]", part, definition)
            for i, part in enumerate(array.items)
        ]
        return f"({', '.join(parts)},)"
    if array.kind == "PyTree" and label != "x" and definition.structural():
        return "None"
    if array.kind == "Key":
        return "abstract_key()"
    return f'array(shapes["{label}"]{_DTYPES.get(array.kind, "")})'


def expected(array: ArrayType | None) -> str:
    """Expression of the shapes of the result; empty where the spec does not say."""
    if array is None or "PyTree" in str(array):
        return ""
    if array.kind == "tuple":
        parts = [expected(part) for part in array.items]
        return "" if "" in parts else f"({', '.join(parts)},)"
    if array.shape is None or "..." in str(array.shape).split():
        return ""
    return f'shapes.expected("{array.shape}")'


def ranges(definition: Definition, method: Method) -> str:
    """Half-open ranges of inputs that have one: indices, and variances."""
    labels = [i.name for i in method.inputs if "Int" in str(i.type)]
    if definition.kind is Kind.FUNCTION:
        labels = [
            f"x[{n}]" for n, i in enumerate(method.inputs) if "Int" in str(i.type)
        ]
    sizes = ", ".join(
        h.name for h in definition.hyperparameters if h.type.word.name == "Size"
    )
    found = [f'"{label}": (0, smallest({sizes}))' for label in labels]
    found += [
        f'"x[{n}]": (0.5, 1.5)'
        for n, i in enumerate(method.inputs)
        if i.name in _NOT_NEGATIVE
    ]
    return ", ".join(found)


def fixed_axis(definition: Definition, method: Method) -> tuple[str, str] | None:
    """An axis of x whose size a hyperparameter fixes, and the shape of x."""
    if len(method.positional) != 1:
        return None
    shape = method.positional[0].type.shape
    if shape is None:
        return None
    sizes = {h.name for h in definition.hyperparameters if h.type.word.name == "Size"}
    parts = (
        (shape.if_true, shape.if_false) if isinstance(shape, Conditional) else (shape,)
    )
    fixed = [
        {d.name for d in part.dims if isinstance(d, Named) and not d.broadcast}
        for part in parts
    ]
    names = [n for n in shape.names() if n in sizes.intersection(*fixed)]
    return (names[0], str(shape)) if names else None
