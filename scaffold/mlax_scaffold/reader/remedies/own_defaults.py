"""A function beside the definition as the default of a field: None stands for it, where it is read, too."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from mlax_scaffold.errors import Fix, Needed
from mlax_scaffold.model.walking import walk
from mlax_scaffold.reader.remedies.names import SPEC, uses_of_self
from mlax_scaffold.reader.source import Source

_Owner = tuple[ast.expr, ast.expr, list[ast.expr]]
"""The type of a field, its default, and where it is read."""


def none_for_function(source: Source, default: ast.expr) -> Fix | None:
    """`activation: Activation = own` as `Activation | None = None`, and `(self.activation or own)` for it.

    None where the field may be None already, or is an initializer.
    """
    for annotation, value, uses in _owners(source.tree):
        if source.start(value) != source.start(default):
            continue
        kind, text = source.text_of(annotation), source.text_of(value)
        if any(word in kind for word in ("None", "Optional", "Initializer")):
            return None
        imports: tuple[Needed, ...] = ()
        if "Callable" in kind:
            kind, imports = "Activation", (Needed(SPEC, "Activation", "Activation"),)
        text = f"({text})" if isinstance(value, ast.Lambda) else text
        edits = [source.edit(annotation, f"{kind} | None"), source.edit(value, "None")]
        edits += [
            source.edit(use, f"({source.text_of(use)} or {text})") for use in uses
        ]
        return Fix(tuple(edits), imports)
    return None


def _owners(tree: ast.Module) -> Iterator[_Owner]:
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
                            yield annotation, value, [*uses_of_self(node, name)]
            case ast.FunctionDef(args=given):
                pairs = zip(given.kwonlyargs, given.kw_defaults, strict=True)
                for argument, value in pairs:
                    if argument.annotation is not None and value is not None:
                        reads = [
                            n
                            for statement in node.body
                            for n in walk(statement)
                            if isinstance(n, ast.Name) and n.id == argument.arg
                        ]
                        yield argument.annotation, value, [*reads]
