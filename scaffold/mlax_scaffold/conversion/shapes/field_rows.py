"""Arrays of the numbers of a field: `jnp.asarray(self.levels)` has `len(self.levels)` of them."""

from __future__ import annotations

import ast
from collections.abc import Collection, Sequence

from mlax_scaffold.conversion.source.trees import expression, self_attribute

_MAKERS = ("asarray", "array")


def row_of_field(
    node: ast.Call, setup: Sequence[ast.stmt], sequences: Collection[str]
) -> ast.expr | None:
    """How many numbers such an array has; None for another one.

    Args:
        node: what makes it.
        setup: the declarations, which give attributes what fields are.
        sequences: the fields of several numbers.
    """
    if ast.unparse(node.func).rpartition(".")[2] not in _MAKERS or not node.args:
        return None
    given = node.args[0]
    match given:
        case ast.ListComp(generators=[ast.comprehension(iter=source, ifs=[])]):
            given = source
    field = _field(given, setup)
    return expression(f"len(self.{field})") if field in sequences else None


def _field(node: ast.expr, setup: Sequence[ast.stmt]) -> str:
    """The field that an attribute is, or is made a tuple of."""
    attribute = self_attribute(node) or ""
    for part in setup:
        match part:
            case ast.Assign(targets=[target], value=value) if (
                attribute and self_attribute(target) == attribute
            ):
                match value:
                    case ast.Call(func=ast.Name(id="tuple" | "list"), args=[value]):
                        pass
                return self_attribute(value) or ""
    return attribute
