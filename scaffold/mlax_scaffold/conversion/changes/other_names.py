"""Names that a method has for parts of the object, and for tensors of these: `cache = self.attn.cache`."""

from __future__ import annotations

import ast
from typing import Literal

from mlax_scaffold.conversion.changes.changed_buffers import is_deep, rooted
from mlax_scaffold.conversion.source.trees import is_name, targets
from mlax_scaffold.conversion.source.walking import walk

_Kind = Literal["tensor", "value", "part", ""]
_ALL = ("parameters", "buffers", "named_parameters", "named_buffers")
_TENSORS = frozenset(("weight", "bias", "running_mean", "running_var"))


def tensors_of(tree: ast.AST) -> frozenset[str]:
    """The attributes that hold tensors in the classes of a file."""
    found: set[str] = {*_TENSORS}
    for part in walk(tree):
        match part:
            case ast.Call(
                func=ast.Attribute(attr="register_buffer" | "register_parameter"),
                args=[ast.Constant(value=str(title)), *_],
            ):
                found.add(title)
            case ast.Assign(
                targets=[ast.Attribute(attr=title)],
                value=ast.Call(func=ast.Attribute(attr="Parameter")),
            ):
                found.add(title)
    return frozenset(found)


class OtherNames:
    """What the names of a method stand for, from where each is set to where it is set again.

    Args:
        method: the method.
        tensors: attributes that hold tensors; others may be numbers, which `+=` does not change.
    """

    def __init__(self, method: ast.FunctionDef, tensors: frozenset[str]):
        self.tensors = tensors
        self.set: list[tuple[int, str, _Kind]] = []
        for part in walk(method):
            match part:
                case ast.Assign(targets=[ast.Name(id=title)], value=value):
                    # It is what it was until the statement is over.
                    self.set.append((part.end_lineno or 0, title, self._kind(value)))
                case ast.Assign(targets=several):
                    for title in (t for target in several for t in targets(target)):
                        self.set.append((part.end_lineno or 0, title, ""))
                case ast.For(target=target, iter=over):
                    kind = _kind_of_items(over)
                    for title in targets(target):
                        self.set.append((part.lineno, title, kind))
        self.set.sort(key=lambda found: found[0])

    def is_deep(self, tensor: ast.AST, part: ast.stmt) -> bool:
        """Whether a tensor that a statement changes is one of a part of the object by such a name."""
        root, depth = rooted(tensor), 0
        while isinstance(root, ast.Attribute | ast.Subscript):
            depth += isinstance(root, ast.Attribute)
            root = root.value
        if not isinstance(root, ast.Name):
            return False
        before = [
            "",
            *(k for at, t, k in self.set if t == root.id and at < part.lineno),
        ]
        if isinstance(part, ast.AugAssign) and part.target is root:
            return before[-1] == "tensor"
        return before[-1] in ("tensor", "value") or (depth > 0 and before[-1] == "part")

    def _kind(self, value: ast.expr) -> _Kind:
        root = rooted(value)
        if not is_deep(root):
            return ""
        return "tensor" if getattr(root, "attr", "") in self.tensors else "value"


def _kind_of_items(over: ast.expr) -> _Kind:
    """What a loop goes over: layers of the object, or their tensors."""
    own = any(
        isinstance(p, ast.Attribute) and is_name(p.value, "self") for p in walk(over)
    )
    held = isinstance(over, ast.Call) and getattr(over.func, "attr", "") in _ALL
    return "" if not own else "tensor" if held else "part"
