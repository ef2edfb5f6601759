"""What a call of PyTorch computes once and keeps for the next one, as what it computes in each.

if self.mask is None or self.mask.size(0) != len(x):
    self.mask = causal_mask(len(x))              becomes    mask = causal_mask(len(x))
return self.attend(x, self.mask)                            return self.attend(x, mask)
"""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.source.arguments_of import method_of
from mlax_scaffold.conversion.source.kinds import framework_of
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import (
    AsLocal,
    is_none,
    names,
    self_attribute,
)
from mlax_scaffold.conversion.source.walking import located, walk


def without_lazy_values(origin: Origin) -> None:
    """Write them so, in place, where one method alone reads them."""
    for node in origin.classes.values():
        if framework_of(origin, node) == "torch":
            for title, begun in _begun(node).items():
                _write(node, title, begun)
    located(origin.tree)


def _begun(node: ast.ClassDef) -> dict[str, ast.stmt]:
    """The attributes that the constructor makes None, and where."""
    start = method_of(node, "__init__")
    found: dict[str, ast.stmt] = {}
    for part in start.body if start is not None else ():
        match part:
            case ast.Assign(targets=[target], value=value) if is_none(value):
                if title := self_attribute(target):
                    found[title] = part
    return found


def _write(node: ast.ClassDef, title: str, begun: ast.stmt) -> None:
    methods = [m for m in node.body if isinstance(m, ast.FunctionDef)]
    using = [
        m
        for m in methods
        if any(self_attribute(p) == title for p in walk(m)) and begun not in m.body
    ]
    if len(using) != 1:
        return
    [method] = using
    taken = names(method) | {a.arg for a in method.args.args}
    for at, part in enumerate(method.body):
        if not isinstance(part, ast.If) or not _is_kept(part, title):
            continue
        elsewhere = [*method.body[:at], *method.body[at + 1 :]]
        if any(_sets(s, title) for s in elsewhere):
            return
        if any(self_attribute(p) == title for s in method.body[:at] for p in walk(s)):
            return
        method.body[at : at + 1] = part.body
        local = AsLocal(title, f"{title}_now" if title in taken else title)
        method.body = [local.visit(s) for s in method.body]
        start = next(m for m in methods if begun in m.body)
        start.body.remove(begun)
        start.body = start.body or [ast.Pass()]
        return


def _is_kept(node: ast.If, title: str) -> bool:
    """Whether a statement computes an attribute where it is not there, or is of another size."""
    tests = node.test.values if isinstance(node.test, ast.BoolOp) else [node.test]
    if isinstance(node.test, ast.BoolOp) and isinstance(node.test.op, ast.And):
        return False
    match tests[0]:
        case ast.Compare(left=left, ops=[ast.Is()], comparators=[none]):
            absent = self_attribute(left) == title and is_none(none)
        case _:
            absent = False
    plain = not node.orelse and all(isinstance(s, ast.Assign) for s in node.body)
    reads = [
        p
        for s in node.body
        for p in walk(s)
        if self_attribute(p) == title and isinstance(p.ctx, ast.Load)  # type: ignore[attr-defined]
    ]
    return absent and plain and not reads and _sets(node.body[-1], title)


def _sets(node: ast.stmt, title: str) -> bool:
    return any(
        self_attribute(p) == title and isinstance(p.ctx, ast.Store)  # type: ignore[attr-defined]
        for p in walk(node)
    )
