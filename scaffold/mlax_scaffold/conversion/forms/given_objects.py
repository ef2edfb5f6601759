"""Functions of the file that a method hands its object to, as methods of that class.

def get_posemb(self, kind, width):              class Model(nn.Module):
    if kind == "learn":                             def get_posemb(self, kind, width):
        return self.param("pos", ...)   becomes         if kind == "learn":
                                                            return self.param("pos", ...)
x + get_posemb(self, "learn", 8)                    x + self.get_posemb("learn", 8)
"""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.source.kinds import framework_of
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import is_name, name, with_names
from mlax_scaffold.conversion.source.walking import cloned, located, walk

_SELF = "self"
_FRAMEWORKS = ("flax", "haiku")


def without_given_objects(origin: Origin) -> None:
    """Write those so, in place, that one class of flax or haiku calls, and nothing else."""
    moved: list[ast.FunctionDef] = []
    for function in origin.functions.values():
        if not _is_plain(function):
            continue
        calls = {
            owner: _calls(origin.classes[owner], function.name)
            for owner in sorted(origin.classes)
        }
        owners = [owner for owner, found in calls.items() if found]
        uses = sum(is_name(part, function.name) for part in walk(origin.tree))
        if len(owners) != 1 or uses != len(calls[owners[0]]):
            continue
        node, found = origin.classes[owners[0]], calls[owners[0]]
        known = framework_of(origin, node) in _FRAMEWORKS
        free = function.name not in {getattr(m, "name", "") for m in node.body}
        given = all(c.args and is_name(c.args[0], _SELF) for c in found)
        if known and free and given:
            _move(node, function, found)
            moved.append(function)
    if moved:
        origin.tree.body = [s for s in origin.tree.body if s not in moved]
        origin.forget("functions")
        located(origin.tree)


def _is_plain(function: ast.FunctionDef) -> bool:
    given = function.args
    return bool(given.args) and not (function.decorator_list or given.posonlyargs)


def _calls(node: ast.ClassDef, title: str) -> list[ast.Call]:
    return [
        part
        for part in walk(node)
        if isinstance(part, ast.Call) and is_name(part.func, title)
    ]


def _move(node: ast.ClassDef, function: ast.FunctionDef, calls: list[ast.Call]) -> None:
    method = cloned(function)
    first = method.args.args[0]
    if first.arg != _SELF:
        method.body = [with_names(s, {first.arg: name(_SELF)}) for s in method.body]
    method.args.args[0] = ast.arg(_SELF)
    node.body.append(method)
    for call in calls:
        call.func = ast.copy_location(
            ast.Attribute(name(_SELF), function.name, ast.Load()), call.func
        )
        del call.args[0]
