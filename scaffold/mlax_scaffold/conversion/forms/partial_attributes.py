"""Classes of layers with some arguments that a constructor keeps, written out where layers are made of them.

self.head = partial(hk.nets.MLP, activation=jax.nn.relu)
self.head([8, n])(x)               becomes    hk.nets.MLP([8, n], activation=jax.nn.relu)(x)
"""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.source.arguments_of import stored_names
from mlax_scaffold.conversion.source.kinds import framework_of
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import (
    expression,
    names,
    replaced,
    self_attribute,
)
from mlax_scaffold.conversion.source.walking import NodeTransformer, cloned, located


def without_partial_attributes(origin: Origin) -> None:
    """Write them out in classes of linen and haiku, whose calls make layers, in place."""
    for node in origin.classes.values():
        if framework_of(origin, node) in ("flax", "haiku"):
            methods = [m for m in node.body if isinstance(m, ast.FunctionDef)]
            for start in methods:
                if start.name in ("__init__", "setup"):
                    _written_out(origin, node, start)


def _written_out(origin: Origin, node: ast.ClassDef, start: ast.FunctionDef) -> None:
    kept = {
        part.value.id: attribute
        for part in start.body
        if isinstance(part, ast.Assign) and isinstance(part.value, ast.Name)
        if (attribute := self_attribute(part.targets[0]))
    }
    own = {a.arg for a in (*start.args.args, *start.args.kwonlyargs)}
    own |= {n for part in start.body for n in stored_names(part)}
    found: dict[str, ast.Call] = {}
    for part in [*start.body]:
        attribute = (
            self_attribute(part.targets[0]) if isinstance(part, ast.Assign) else ""
        )
        made = part.value if isinstance(part, ast.Assign) else None
        if not attribute or not isinstance(made, ast.Call) or not made.args:
            continue
        if origin.qualified(made.func) != "functools.partial":
            continue
        full = origin.qualified(made.args[0])
        layer = (
            full.startswith(("haiku.", "flax.linen."))
            and full.rpartition(".")[2][:1].isupper()
        )
        local = names(made) & (own - {"self"})
        if (
            not (layer or getattr(made.args[0], "id", "") in origin.classes)
            or not local <= kept.keys()
        ):
            continue
        places = {n: expression(f"self.{kept[n]}") for n in local}
        written = replaced(made, places)
        assert isinstance(written, ast.Call)
        found[attribute] = written
        start.body.remove(part)
    if found:
        start.body = start.body or [ast.Pass()]
        _Calls(found).visit(node)
        located(node)


class _Calls(NodeTransformer):
    def __init__(self, found: dict[str, ast.Call]):
        self.found = found

    def visit_Call(self, node: ast.Call) -> ast.expr:
        known = self.found.get(self_attribute(node.func) or "")
        if known is None:
            self.generic_visit(node)
            return node
        for part in (*node.args, *node.keywords):
            self.visit(part)
        func, *args = cloned(known.args)
        given = {k.arg for k in node.keywords}
        kept = [k for k in cloned(known.keywords) if k.arg not in given]
        made = ast.Call(func, [*args, *node.args], [*kept, *node.keywords])
        return ast.copy_location(made, node)

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        known = self.found.get(self_attribute(node) or "")
        if known is not None:
            return ast.copy_location(cloned(known), node)
        self.generic_visit(node)
        return node
