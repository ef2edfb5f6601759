"""Initializers that the original has to be given: here each has a default, that of the file's first call."""

from __future__ import annotations

import ast
from dataclasses import replace

from mlax_scaffold.conversion.declarations.building import Builder
from mlax_scaffold.conversion.output.description import Field
from mlax_scaffold.conversion.source.trees import is_name, marked, names
from mlax_scaffold.conversion.source.walking import walk


def with_initializers(builder: Builder, field: Field) -> Field:
    """The field, with a default where it is an initializer without one, which is told."""
    if field.word != "Initializer" or field.default is not None:
        return field
    parameter = next(
        (p for p, f in builder.renamed.items() if f == field.name), field.name
    )
    given = _given(builder, parameter)
    default = builder.translator.expression(given) if given is not None else None
    if default is None or not ast.unparse(default).startswith("@word:"):
        default = marked("word_lecun_normal()")
    builder.notes.remark(
        builder.node,
        f"`{parameter}` is `{ast.unparse(default).replace('@word:', '')}` by default here",
        "every initializer has a default: give another one where it is to differ",
    )
    return replace(field, default=default)


def _given(builder: Builder, parameter: str) -> ast.expr | None:
    """What the file gives for it where it makes one, if that is the same anywhere."""
    for part in walk(builder.origin.tree):
        if isinstance(part, ast.Call) and is_name(part.func, builder.node.name):
            for keyword in part.keywords:
                if keyword.arg == parameter and "self" not in names(keyword.value):
                    return keyword.value
    return None
