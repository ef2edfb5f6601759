"""Rules to fill a weight with that a class may be given, and is not: `posemb_init: Callable | None = None`.

What is computed without such a rule is all that is left.
"""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.forms.leaf_functions import Decided
from mlax_scaffold.conversion.source.notes import Notes
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import (
    expression,
    is_none,
    literal,
    self_attribute,
)
from mlax_scaffold.conversion.source.walking import NodeTransformer, located, walk


def without_absent_rules(origin: Origin, notes: Notes) -> None:
    """Leave such fields out, in place, with a remark; of a rule that the file gives nothing changes."""
    given = {
        k.arg
        for call in walk(origin.tree)
        if isinstance(call, ast.Call)
        for k in call.keywords
        if not is_none(k.value) and not ast.unparse(k.value).endswith(f".{k.arg}")
    }
    asked = {
        n.left.attr
        for n in walk(origin.tree)
        if isinstance(n, ast.Compare)
        and isinstance(n.left, ast.Attribute)
        and is_none(n.comparators[0])
    }
    begun = _Begun()
    begun.visit(origin.tree)
    absent: set[str] = set()
    for node in origin.classes.values():
        for part in list(node.body):
            match part:
                case ast.AnnAssign(target=ast.Name(id=field), value=value) if (
                    is_none(value) and field in asked - given
                ):
                    if field.endswith(("_init", "_initializer", "init_fn")):
                        absent.add(field)
                        node.body.remove(part)
                        notes.remark(
                            part,
                            f"`{field}` of {node.name}, which is None, is left out",
                            "write a class for what is computed with it",
                        )
    if absent or begun.found:
        _Absent(absent).visit(origin.tree)
        Decided().visit(origin.tree)
        located(origin.tree)


class _Absent(NodeTransformer):
    def __init__(self, fields: set[str]):
        self.fields = fields

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        self.generic_visit(node)
        if node.attr in self.fields and isinstance(node.ctx, ast.Load):
            return ast.copy_location(ast.Constant(None), node)
        return node


class _Begun(NodeTransformer):
    """Flax's questions of what is there when a module is called, which is so once it is made."""

    found = False

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        told: dict[str, ast.expr] = {
            "has_variable": ast.Constant(True),
            "is_initializing": ast.Constant(False),
        }
        names = [literal(a) for a in node.args]
        if len(names) == 1 and isinstance(names[0], str):
            # There are keys, and states that change, where the layer trains; weights do not change in a call.
            kept = names[0] in ("params", "intermediates")
            trains = ast.Constant(False) if kept else expression("self.training")
            told |= {"has_rng": trains, "is_mutable_collection": trains}
        known = self_attribute(node.func) or ""
        if known not in told:
            return node
        self.found = True
        return ast.copy_location(told[known], node)
