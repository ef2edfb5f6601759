"""A lambda as the default of a field: a function beside the definition, by its name."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from mlax_scaffold.errors import Fix
from mlax_scaffold.model.walking import walk
from mlax_scaffold.reader.source import Source

_Field = tuple[ast.stmt, str, ast.expr, ast.expr]
"""A definition, the name of one of its fields, its type, and its default."""


def function_for_lambda(source: Source, default: ast.Lambda) -> Fix | None:
    """`activation: Activation = lambda x: x * x` with `def default_activation(x):` above the class.

    None where the field is an initializer, or where what the function would be called has a meaning.
    """
    for owner, field, annotation, value in _fields(source.tree):
        if source.start(value) != source.start(default):
            continue
        name = f"default_{field}"
        taken = {n.id for n in walk(source.tree) if isinstance(n, ast.Name)}
        if "Initializer" in source.text_of(annotation) or name in taken:
            return None
        body = source.text_of(default.body)
        body = f"({body})" if "\n" in body else body
        given = ast.unparse(default.args)
        above = f"def {name}({given}):\n    return {body}\n\n\n"
        first = min([owner.lineno, *(d.lineno for d in _decorators(owner))])
        place = (first, 1)
        return Fix((source.replace(place, place, above), source.edit(default, name)))
    return None


def _decorators(node: ast.stmt) -> list[ast.expr]:
    return getattr(node, "decorator_list", [])


def _fields(tree: ast.Module) -> Iterator[_Field]:
    for node in tree.body:
        match node:
            case ast.ClassDef(body=body):
                for field in body:
                    match field:
                        case ast.AnnAssign(
                            target=ast.Name(id=name),
                            annotation=annotation,
                            value=ast.expr() as value,
                        ):
                            yield node, name, annotation, value
            case ast.FunctionDef(args=given):
                pairs = zip(given.kwonlyargs, given.kw_defaults, strict=True)
                for argument, value in pairs:
                    if argument.annotation is not None and value is not None:
                        yield node, argument.arg, argument.annotation, value
