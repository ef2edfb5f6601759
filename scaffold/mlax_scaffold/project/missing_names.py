"""Names that modules of jax do not have, as findings of the spec."""

from __future__ import annotations

import ast

from mlax_scaffold.errors import Diagnostic, Fix
from mlax_scaffold.model.definition import Definition
from mlax_scaffold.project.trial_failures import Missing
from mlax_scaffold.reader.remedies.foreign import of_other_module
from mlax_scaffold.reader.source import Source


def explained_name(definition: Definition, missing: Missing) -> list[Diagnostic]:
    """A name that a module of jax does not have."""
    source = Source(definition.source, definition.text)
    node = ast.Attribute(
        ast.Name("_"),
        missing.name,
        lineno=missing.line,
        col_offset=missing.column,
        end_lineno=missing.end_line,
        end_col_offset=missing.end_column,
    )
    fix, hint = of_other_module(source, node, missing.home), ""
    if missing.home == "jax.random":
        hint = (
            f"`{missing.home}` has it, which takes a key before all else: `self.key()`."
        )
    elif fix:
        hint = f"Write {fix.edits[0].text}."
    elif missing.close:
        end = source.end(node)
        start = (end[0], end[1] - len(missing.name))
        fix = Fix((source.replace(start, end, missing.close),))
        hint = f'did you mean "{missing.close}"?'
    told = f"{missing.owner} has no `{missing.name}`"
    source.report(node, told, hint, fix=fix)
    return source.diagnostics
