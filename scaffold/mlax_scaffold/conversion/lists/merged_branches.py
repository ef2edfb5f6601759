"""Layers of one class that both branches of a condition set, as one layer whose sizes the condition chooses.

if up:
    self.conv = nn.Conv2d(2 * width, out, 3)    becomes
else:
    self.conv = nn.Conv2d(width, out, 3)

self.conv = nn.Conv2d(2 * width if up else width, out, 3)
"""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.lists.joined_lists import merged
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import names, self_attribute, targets
from mlax_scaffold.conversion.source.walking import located, walk

_OTHERS = (
    "torch.nn.Parameter",
    "torch.nn.Sequential",
    "torch.nn.Module",
    "torch.nn.utils",
)


def with_merged_branches(origin: Origin, node: ast.ClassDef) -> None:
    """Write them so in a class of PyTorch, in place."""
    if "torch.nn" not in origin.imports.values():
        return
    for start in node.body:
        if isinstance(start, ast.FunctionDef) and start.name == "__init__":
            for part in start.body:
                _with_equal_sizes(start, part)
            start.body = [s for part in start.body for s in _taken_out(origin, part)]
            located(start)


def _with_equal_sizes(start: ast.FunctionDef, node: ast.stmt) -> None:
    """Under `if inp == hidden:` both are the first one: all branches say the same of inputs."""
    given = [a.arg for a in start.args.args]
    match node:
        case ast.If(
            test=ast.Compare(left=ast.Name(id=a), ops=[ast.Eq()], comparators=[ast.Name(id=b)])
        ) if a in given and b in given:  # fmt: skip
            bound = {t for s in node.body for t in _bound(s)}
            first, second = sorted((a, b), key=given.index)
            if not {first, second} & bound:
                for part in node.body:
                    for name in walk(part):
                        if isinstance(name, ast.Name) and name.id == second:
                            name.id = first


def _taken_out(origin: Origin, node: ast.stmt) -> list[ast.stmt]:
    if not isinstance(node, ast.If) or not node.orelse:
        return [node]
    bound = {t for s in (*node.body, *node.orelse) for t in _bound(s)}
    first, second = _layers(origin, node.body), _layers(origin, node.orelse)
    made: list[ast.stmt] = []
    for attribute, one in first.items():
        other = second.get(attribute)
        if other is None or names(one.value) & bound or names(other.value) & bound:
            continue
        value = merged(ast.IfExp(node.test, one.value, other.value))
        node.body.remove(one)
        node.orelse.remove(other)
        made.append(ast.copy_location(ast.Assign(one.targets, value), one))
    if not node.body and not node.orelse:
        return made
    node.body = node.body or [ast.copy_location(ast.Pass(), node)]
    return [*made, node]


def _bound(node: ast.stmt) -> set[str]:
    return {t for t in targets(node) if t != "self"}


def _layers(origin: Origin, body: list[ast.stmt]) -> dict[str, ast.Assign]:
    """The attributes that a branch sets once, to a layer that a call makes."""
    found: dict[str, ast.Assign] = {}
    again: set[str] = set()
    for part in body:
        if isinstance(part, ast.Assign) and len(part.targets) == 1:
            attribute = self_attribute(part.targets[0])
            if not isinstance(part.value, ast.Call):
                continue
            full = origin.qualified(part.value.func)
            own = getattr(part.value.func, "id", "") in origin.classes
            layer = full.startswith("torch.nn.") and not full.startswith(_OTHERS)
            if attribute and (layer or own):
                again |= {attribute} & found.keys()
                found[attribute] = part
    return {a: p for a, p in found.items() if a not in again}
