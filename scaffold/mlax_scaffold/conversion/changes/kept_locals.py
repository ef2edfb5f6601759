"""What a method of PyTorch keeps in an attribute and reads again itself, as a local.

if mask is None:                                           if mask is None:
    self.attn = torch.softmax(scores, -1)        becomes       attn = torch.softmax(scores, -1)
...                                                        ...
return self.dropout(self.attn) @ value                     return self.dropout(attn) @ value
"""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.changes.liveness import Liveness
from mlax_scaffold.conversion.source.arguments_of import method_of
from mlax_scaffold.conversion.source.kinds import framework_of
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import AsLocal, names, self_attribute
from mlax_scaffold.conversion.source.walking import cloned, located, walk


def with_kept_locals(origin: Origin) -> None:
    """Write them so, in place, where the method sets them on each way to what reads them, and alone."""
    outside = {
        p.attr
        for p in walk(origin.tree)
        if isinstance(p, ast.Attribute)
        and isinstance(p.ctx, ast.Load)
        and self_attribute(p) is None
    }
    for node in origin.classes.values():
        if framework_of(origin, node) != "torch":
            continue
        for title in sorted(_kept(node) - outside):
            _write(origin, node, title)
    located(origin.tree)


def _kept(node: ast.ClassDef) -> set[str]:
    """Attributes that methods set and read, and that the constructor makes nothing but a literal."""
    start = method_of(node, "__init__")
    declared: set[str] = set()
    for part in walk(start) if start is not None else ():
        if isinstance(part, ast.Assign) and isinstance(part.value, ast.Constant):
            continue
        declared |= {
            a
            for p in _targets(part)
            for q in walk(p)
            if (a := self_attribute(q)) is not None
        }
    found: dict[type[ast.expr_context], set[str]] = {ast.Store: set(), ast.Load: set()}
    for method in node.body:
        if isinstance(method, ast.FunctionDef) and method is not start:
            for part in walk(method):
                if (title := self_attribute(part)) is not None:
                    found[type(part.ctx)].add(title)  # type: ignore[attr-defined]
    return found[ast.Store] & found[ast.Load] - declared


def _targets(node: ast.AST) -> list[ast.expr]:
    if isinstance(node, ast.Assign):
        return node.targets
    return [node.target] if isinstance(node, ast.AnnAssign | ast.AugAssign) else []


def _write(origin: Origin, node: ast.ClassDef, title: str) -> None:
    start = method_of(node, "__init__")
    using: list[ast.stmt] = [
        m
        for c in _family(origin, node)
        for m in c.body
        if m is not start and any(self_attribute(p) == title for p in walk(m))
    ]
    method = using[0] if len(using) == 1 else None
    if not isinstance(method, ast.FunctionDef):
        return
    local = title.strip("_") or title
    taken = names(method) | {p.arg for p in walk(method) if isinstance(p, ast.arg)}
    while local in taken:
        local += "_"
    body = [AsLocal(title, local).visit(cloned(s)) for s in method.body]
    before = ast.Pass()
    if local in Liveness([before, *body]).after(before):
        return
    method.body = body
    if start is not None:
        start.body = [s for s in start.body if not _begins(s, title)] or [ast.Pass()]


def _family(origin: Origin, node: ast.ClassDef) -> list[ast.ClassDef]:
    """A class, and those of the file that it is built on, or that are built on it."""

    def bases(one: ast.ClassDef) -> set[str]:
        found = {one.name}
        for base in one.bases:
            above = origin.classes.get(ast.unparse(base))
            found |= bases(above) if above is not None and above is not one else set()
        return found

    around = bases(node)
    every = origin.classes.values()
    return [c for c in every if c.name in around or node.name in bases(c)]


def _begins(node: ast.stmt, title: str) -> bool:
    return (
        isinstance(node, ast.Assign)
        and isinstance(node.value, ast.Constant)
        and self_attribute(node.targets[0]) == title
    )
