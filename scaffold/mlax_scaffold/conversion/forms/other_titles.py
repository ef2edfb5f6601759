"""Classes that are another name of one of a library, `class Count(nnx.Variable): pass`, as that one."""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import Names, without_docstring
from mlax_scaffold.conversion.source.walking import located

_LIBRARIES = ("flax.", "equinox.", "haiku.", "torch.")


def without_other_titles(origin: Origin, thing: str) -> None:
    """Write the class of the library in the place of such a one."""
    known: dict[str, ast.expr] = {}
    for node in origin.classes.values():
        rest = [p for p in without_docstring(node.body) if not isinstance(p, ast.Pass)]
        if rest or len(node.bases) != 1 or node.keywords or node.name == thing:
            continue
        full = origin.qualified(node.bases[0])
        if full.startswith(_LIBRARIES) and not full.endswith(".Module"):
            known[node.name] = node.bases[0]
            origin.tree.body.remove(node)
    if known:
        origin.forget("classes")
        Names(known).visit(origin.tree)
        located(origin.tree)
