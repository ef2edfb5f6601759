"""Parameters that are None in a branch, written as None there.

if dropout is not None:                        if dropout is not None:
    self.dropout = nn.Dropout(dropout)             self.dropout = nn.Dropout(dropout)
else:                             becomes      else:
    self.dropout = dropout                         self.dropout = None
"""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.source.arguments_of import (
    method_of,
    stored_names,
    with_values,
)
from mlax_scaffold.conversion.source.kinds import framework_of
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.walking import walk


def with_known_absences(origin: Origin) -> None:
    """Write them so in constructors of PyTorch, in place."""
    for node in origin.classes.values():
        start = method_of(node, "__init__")
        if start is None or framework_of(origin, node) != "torch":
            continue
        for part in walk(start):
            if not isinstance(part, ast.If):
                continue
            match part.test:
                case ast.Compare(
                    left=ast.Name(id=title),
                    ops=[ast.Is() | ast.IsNot() as asked],
                    comparators=[ast.Constant(value=None)],
                ):
                    branch = part.body if isinstance(asked, ast.Is) else part.orelse
                    if all(title not in stored_names(s) for s in branch):
                        none = {title: ast.Constant(None)}
                        branch[:] = [with_values(s, none) for s in branch]
