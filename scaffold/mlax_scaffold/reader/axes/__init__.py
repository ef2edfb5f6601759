"""The types of inputs that have none, from what reads them.

`evidence` walks the methods, `layers` says what a layer that is called takes, `sizes` writes sizes as shapes
do, and `known` gathers what each input is.
"""

from __future__ import annotations

import ast
import re

from mlax_scaffold.reader.axes.evidence import Evidence
from mlax_scaffold.reader.axes.sizes import Scope
from mlax_scaffold.reader.source import Source, parsed

ANY = 'Float["..."]'
"""The type of an input of which nothing is known."""


def type_of(source: Source, method: ast.FunctionDef, name: str) -> str:
    """The type of an input of a method or a function, by what its body does with it."""
    tree = parsed(source.written)
    line = source.location(method).line
    found = [
        (owner, part)
        for owner in (tree, *tree.body)
        for part in getattr(owner, "body", [])
        if isinstance(part, ast.FunctionDef) and part.name == method.name
    ]
    at = [(owner, part) for owner, part in found if part.lineno == line]
    for owner, part in at or found[:1]:
        scope = Scope(tree, owner if isinstance(owner, ast.ClassDef) else None)
        inputs = Evidence(scope).of(part)
        known = inputs.get(name)
        if known is None:
            continue
        if scope.owner and not known.told and _is_block(scope.owner):
            return "PyTree"
        others = [k.annotation(scope.fields) for k in inputs.values()]
        return _told_apart(known.annotation(scope.fields), others, part)
    return ANY


def _told_apart(text: str, others: list[str], method: ast.FunctionDef) -> str:
    """A type whose open axes are not called like the one axis of another input."""
    written = [ast.unparse(a.annotation) for a in method.args.args if a.annotation]
    one = any(re.search(r"(?<![*\w])batch\b", other) for other in (*others, *written))
    return text.replace("*batch", "*axes") if one else text


def _is_block(owner: ast.ClassDef) -> bool:
    """Whether a class takes initialized layers, which say what they take."""
    return any(
        isinstance(base, ast.Name) and base.id == "Block" for base in owner.bases
    )
