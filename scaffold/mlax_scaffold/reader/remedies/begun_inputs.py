"""An input that is a NamedTuple: its type, and the types of the arrays that it holds."""

from __future__ import annotations

import ast
from dataclasses import replace

from mlax_scaffold.errors import Fix
from mlax_scaffold.reader.axes import begun_fields, type_of
from mlax_scaffold.reader.remedies.types import annotated, beside, needed
from mlax_scaffold.reader.source import Source


def with_fields(
    source: Source,
    function: ast.FunctionDef,
    arg: ast.arg,
    default: ast.expr | None,
) -> Fix | None:
    """The edit that gives an input the type that its uses say, and the fields of that type theirs.

    `state=None` is a `State` where `State(jnp.zeros(shape), ...)` stands in its place. The shapes of its
    fields, which are plain arrays, are those of what makes one.
    """
    guessed = type_of(source, function, arg.arg)
    fix = annotated(source, arg, default, guessed)
    written = arg.annotation and beside(source, arg.annotation)
    name = (written or "").removesuffix(" | None") if arg.annotation else guessed
    fields = begun_fields(source, function, name) if name.isidentifier() else []
    if not fields:
        return fix
    fix = fix or Fix(())
    edits = (source.edit(annotation, text) for annotation, text in fields)
    imports = {n for _, text in fields for n in needed(text)}
    return replace(
        fix,
        edits=(*fix.edits, *edits),
        imports=tuple(dict.fromkeys([*fix.imports, *sorted(imports)])),
    )
