"""How lists and dictionaries of layers may stand in a method, and the inputs of a block's layers."""

from __future__ import annotations

import ast
from collections.abc import Collection, Mapping

from mlax_scaffold.model.places import Member
from mlax_scaffold.model.unparsing import unparsed
from mlax_scaffold.model.walking import walk
from mlax_scaffold.reader.looping import (
    is_part,
    items_of_attributes,
    loop_layers,
    looped,
)
from mlax_scaffold.reader.remedies.bodies import whole_list
from mlax_scaffold.reader.source import (
    Source,
    class_of,
    dotted,
    indexed_attribute,
    self_attribute,
)

PASSED = "inputs"
"""What the keyword inputs are called that a block hands to its layers."""

_ITERATORS = ("enumerate", "reversed", "zip")


class Sequences:
    """What is known of one method; see `UseChecker`."""

    def __init__(
        self,
        source: Source,
        method: ast.FunctionDef,
        attributes: dict[str, str],
        is_object: bool = False,
        containers: Mapping[str, Collection[Member]] | None = None,
        declared: Collection[str] = (),
    ):
        self.object = is_object
        self.containers = containers or {}
        self.declared = declared
        self.source = source
        self.method = method
        self.attributes = attributes
        self.items = items_of_attributes(method)
        self.parents = {
            child: parent
            for parent in walk(method)
            for child in ast.iter_child_nodes(parent)
        }

    def _assigning(self, target: ast.expr) -> ast.AST:
        """What assigns a target, by itself or as one of several."""
        outer = self.parents[target]
        while isinstance(outer, ast.Tuple | ast.List | ast.Starred):
            outer = self.parents[outer]
        return outer

    def _item(self, node: ast.Subscript) -> None:
        """A state of a container may be assigned by itself."""
        name = indexed_attribute(node) or ""
        assigned = ast.Assign | ast.AnnAssign | ast.AugAssign
        if not isinstance(self._assigning(node), assigned):
            self.source.report(
                node,
                f"`{unparsed(node)}` cannot be assigned in this way",
                f"Bind a name, and write `{unparsed(node)} = ...` after it.",
            )
        elif self.attributes.get(name) == "trainable" and self.method.name != "setup":
            self.source.report(
                node,
                f"self.{name} holds weights, which cannot be assigned here",
                "Training changes weights: use a local, or declare states.",
            )
        elif self.attributes.get(name) == "moment" and (
            self.method.name not in ("setup", "update")
        ):
            self.source.report(
                node,
                f"`{unparsed(node)}` cannot be assigned in place",
                f"Assign all of them: `self.{name} = ...`.",
            )
        elif isinstance(node.slice, ast.Slice) and self.method.name != "setup":
            self.source.report(
                node,
                f"`{unparsed(node)}` is a part of a list, and cannot be assigned in place",
                f"Assign the whole list: `self.{name} = [...]`.",
                fix=whole_list(self.source, self.parents[node], node),
            )

    def _passed(self, node: ast.Name) -> None:
        """`**inputs` is handed to layers, and nothing else."""
        match self.parents[node]:
            case ast.keyword(arg=None) as keyword:
                call = self.parents[keyword]
                if isinstance(call, ast.Call) and self._takes_passed(call.func):
                    return
        self.source.report(
            node,
            f"`{PASSED}` can be handed to the layers of a block, and to methods that take "
            f"`**{PASSED}`, and nothing else",
            f"Write `self.layer(x, **{PASSED})`.",
        )

    def _takes_passed(self, called: ast.expr) -> bool:
        match called:
            case ast.Attribute(value=owner, attr="apply"):
                called = owner
            case ast.Name(id=name):
                loops = [n for n in walk(self.method) if isinstance(n, ast.For)]
                pairs = [
                    p for loop in loops for p in loop_layers(loop, self.attributes)
                ]
                return (name, "layers") in pairs
        name = self_attribute(called) or ""
        kind = self.attributes.get(name)
        return kind == "layer" or (kind in ("own", "entry") and self._passes_on(name))

    def _passes_on(self, name: str) -> bool:
        """Whether a method of the class takes the inputs by their name, and hands them on itself."""
        outer = class_of(self.source.tree, self.method)
        methods = (
            (n for n in outer.body if isinstance(n, ast.FunctionDef)) if outer else ()
        )
        kept = next((m.args.kwarg for m in methods if m.name == name), None)
        return kept is not None and kept.arg == PASSED

    def _in_place_of_one(self, node: ast.expr, parent: ast.AST) -> bool:
        """Whether a container is indexed, counted, searched or looped over, or is one layer."""
        match parent:
            case ast.Subscript(value=owner) | ast.Attribute(value=owner):
                return owner is node
            case ast.Call(func=called) if called is node:
                return True
            case ast.Call(func=ast.Name(id="len" | "list" | "sorted" | "zip")):
                return True
            case ast.Call(func=ast.Name(id=name)) if name in _ITERATORS:
                return True
            case (
                ast.Call()
                | ast.keyword()
                | ast.Assign(value=ast.Attribute())
                | ast.IfExp()
            ):
                return True  # its layers as functions
        return isinstance(parent, ast.For | ast.comprehension | ast.Compare)

    def _is_declared(self, node: ast.expr) -> bool:
        name = self_attribute(node) or ""
        return self.attributes.get(name) == "layers" and name in self.declared

    def _is_counted(self, node: ast.AST) -> bool:
        match self.parents[node]:
            case ast.Call(func=ast.Name(id="len"), args=[only]):
                return only is node
        return False

    def _may_stand(self, node: ast.expr, parent: ast.AST) -> bool:
        """Whether a sequence of layers is looped over, or counted."""
        match parent:
            case _ if self._is_counted(node):
                return True
            case ast.Subscript() if is_part(parent) and self._is_counted(parent):
                return True
            case ast.Subscript(value=owner) if not is_part(parent):
                # One of them, which is called, or of which something is read.
                use = self.parents[parent]
                called = isinstance(use, ast.Call) and use.func is parent
                several = self.attributes.get(self_attribute(node) or "") == "layers"
                read = isinstance(use, ast.Attribute)
                return owner is node and (called or read) and several
        outer, chosen = parent, False
        while (
            is_part(outer)
            or isinstance(outer, ast.IfExp)
            or (isinstance(outer, ast.Call) and dotted(outer.func) in _ITERATORS)
        ):
            chosen |= isinstance(outer, ast.IfExp)
            outer = self.parents[outer]
        if (
            chosen or isinstance(outer, ast.Call | ast.keyword | ast.Assign)
        ) and self._is_declared(node):
            return True  # its layers as functions
        if isinstance(outer, ast.For | ast.comprehension):
            return any(iterated is node for _, iterated in looped(outer))
        return False
