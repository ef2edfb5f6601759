"""Lists of layers that an attribute holds before it holds a module of them.

self.features = []                                       features_ = []
for size in sizes:                                       for size in sizes:
    self.features.append(nn.Linear(size, 4))   becomes       features_.append(nn.Linear(size, 4))
self.features = nn.ModuleList(self.features)             self.features = nn.ModuleList(features_)
"""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.lists.local_lists import without_local_lists
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import AsLocal, names, self_attribute
from mlax_scaffold.conversion.source.walking import located

_KINDS = ("torch.nn.ModuleList", "torch.nn.Sequential")


def without_wrapped_lists(origin: Origin) -> None:
    """Write them as locals of the constructor, and those that are lists of layers as plain ones, in place."""
    if not origin.uses("torch"):
        return
    without_local_lists(origin)
    for node in origin.classes.values():
        for method in node.body:
            if isinstance(method, ast.FunctionDef) and method.name == "__init__":
                for at, statement in enumerate(method.body):
                    _as_local(origin, method, at, statement)
    located(origin.tree)


def _as_local(
    origin: Origin, method: ast.FunctionDef, at: int, statement: ast.stmt
) -> None:
    match statement:
        case ast.Assign(
            targets=[ast.Attribute() as target],
            value=ast.Call(args=[given]) as call,
        ):
            inner = given.value if isinstance(given, ast.Starred) else given
            attribute = self_attribute(target)
            full = origin.qualified(call.func)
            if attribute is None or full not in _KINDS:
                return
            if self_attribute(inner) != attribute:
                return
            local = f"{attribute}_"
            while local in names(method):
                local += "_"
            for part in method.body[:at]:
                AsLocal(attribute, local).visit(part)
            AsLocal(attribute, local).visit(call)
