"""Attributes that a call of haiku or flax sets for itself, as locals: `self._dim = self._dim or x.shape[-1]`.

`if self._channels is None: self._channels = x.shape[-1]` reads a hyperparameter, and leaves nothing behind.
"""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.source.arguments_of import method_of
from mlax_scaffold.conversion.source.kinds import framework_of
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import (
    AsLocal,
    names,
    self_attribute,
    statement,
)
from mlax_scaffold.conversion.source.walking import located, walk


def with_call_attributes(origin: Origin) -> None:
    """Write them so, in place, where the constructor keeps a parameter there and no other method reads it."""
    for node in origin.classes.values():
        start, call = method_of(node, "__init__"), method_of(node, "__call__")
        if framework_of(origin, node) != "haiku" or start is None or call is None:
            continue
        kept = {
            a
            for s in start.body
            if isinstance(s, ast.Assign)
            and isinstance(s.value, ast.Name)
            and (a := self_attribute(s.targets[0]))
        }
        stored = {
            a
            for p in walk(call)
            if (a := self_attribute(p)) and isinstance(p.ctx, ast.Store)  # type: ignore[attr-defined]
        }
        others = {
            self_attribute(p)
            for m in node.body
            if m not in (start, call)
            for p in walk(m)
        }
        taken = names(call) | {a.arg for a in (*call.args.args, *call.args.kwonlyargs)}
        for attribute in sorted(stored & kept - others, reverse=True):
            local = attribute.strip("_")
            while local in taken:
                local += "_"
            taken.add(local)
            AsLocal(attribute, local).visit(call)
            begun = statement(f"{local} = self.{attribute}")
            at = 1 if ast.get_docstring(call) is not None else 0
            call.body.insert(at, ast.copy_location(begun, call))
    located(origin.tree)
