"""Routes the draws and the calls of sub-layers of a method to the eager layer.

Generated code splits the caller's key among the places of the text. The eager side does
the same: it compiles a method anew with every place numbered.
"""

from __future__ import annotations

import ast
import functools
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mlax_scaffold.model.places import STRUCTURAL
from mlax_scaffold.reader.evaluation import COMPREHENSIONS
from mlax_scaffold.reader.looping import of_parts
from mlax_scaffold.reader.numbering import Numbering, loop_fields, numbered
from mlax_scaffold.reader.source import indexed_attribute, self_attribute
from mlax_scaffold.spec.declared import (
    Several,
    Tree,
    call_draws,
    declarations,
    kinds_at,
    kinds_of,
    list_draws,
    module_of,
)
from mlax_scaffold.spec.nested import NestedRoutes, routed

if TYPE_CHECKING:
    from mlax_scaffold.spec.layer import Layer


@dataclass(frozen=True)
class Method:
    """A method that is compiled anew, and how many places in it take a part of its key."""

    run: Callable[..., Any]
    places: int
    casts: bool = False
    """Whether functions in it, which may run many times, hand on weights."""
    apart: bool = False
    """Whether methods that call it say in which dtype it computes."""


@functools.cache
def method(owner: type[Layer], name: str) -> Method:
    """A method of a layer: an entry point, or one that these call."""
    from mlax_scaffold.spec.effects import casts_weights, closures_of, is_apart

    function: Any = owner._methods_[name]
    tree = module_of(owner, name)
    (definition,) = tree.body
    assert isinstance(definition, ast.FunctionDef)
    casts = casts_weights(owner, definition)
    found = numbered(
        tree, functools.partial(call_draws, owner), closures_of(owner, definition)
    )
    tree = ast.fix_missing_locations(_Routes(owner, found).visit(tree))
    namespace: dict[str, Any] = {}
    code = compile(tree, inspect.getsourcefile(function) or "<spec>", "exec")
    exec(code, function.__globals__, namespace)
    return Method(namespace[name], found.places, casts, is_apart(owner, name))


class _Routes(NestedRoutes, ast.NodeTransformer):
    """Hands every place its number, and every call of a sub-layer to the eager layer."""

    def __init__(self, owner: type[Layer], found: Numbering) -> None:
        super().__init__(found, declarations(owner))
        self.owner = owner
        # Those of the loops around, with the fields that they come from.
        self.variables: Mapping[str, str] = {}
        self.values: set[ast.AST] = set()
        """Containers whose layers are functions of their inputs."""

    def _is_declared(self, name: str | None) -> bool:
        known = declarations(self.owner).get(name or "")
        return isinstance(known, Several) or (
            isinstance(known, Tree) and bool(known.layers)
        )

    def visit_Call(self, node: ast.Call) -> ast.expr:
        run = self.found.closures.calls.get(id(node))
        if run is not None:
            return self.run(node, run)
        number = ast.Constant(self.found.numbers.get(id(node)))
        name = self_attribute(node.func)
        if ast.unparse(node.func) == "isinstance" and self_attribute(node.args[0]):
            return node  # It asks for the kind of a layer.
        if ast.unparse(node.func) not in STRUCTURAL:
            given = [*node.args, *(k.value for k in node.keywords)]
            self.values |= {a for a in given if self._is_declared(self_attribute(a))}
        if name:
            node.args = [self.visit(a) for a in node.args]
            node.keywords = [self.visit(k) for k in node.keywords]
        else:
            self.generic_visit(node)
        if name in ("key", "keys"):
            return routed(node, f"_{name}_", [number, *node.args], node.keywords)
        if name in self.owner._methods_:
            arguments = [ast.Constant(name), number, *node.args]
            return routed(node, "_method_", arguments, node.keywords)
        if name and self._is_sub_layer(name):
            arguments = [ast.Constant(name), number, *node.args]
            return routed(node, "_sub_layer_", arguments, node.keywords)
        if (
            isinstance(node.func, ast.Subscript)
            and self._is_list(indexed_attribute(node.func) or "")
        ) or self._is_tree(name):
            arguments = [node.func, number, *node.args]
            return routed(node, "_of_loop_", arguments, node.keywords)
        if isinstance(node.func, ast.Name) and node.func.id in self.variables:
            for keyword in node.keywords:
                # In a loop over layers each gets those of the inputs that it takes.
                if keyword.arg is None:
                    given = [node.func, keyword.value]
                    keyword.value = routed(keyword.value, "_taken_", given, [])
            arguments = [node.func, number, *node.args]
            return routed(node, "_of_loop_", arguments, node.keywords)
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        """A method or a sub-layer as a value is a function that calls it."""
        array = self._array_of(node)
        if array is not None:
            return array
        if self_attribute(node.value):
            return node
        self.generic_visit(node)
        name = self_attribute(node) or ""
        if not isinstance(node.ctx, ast.Load):
            return node
        if node in self.values:
            return routed(node, "_functions_", [ast.Constant(name)], [])
        if name in self.owner._methods_:
            called = "_method_"
        elif self._is_sub_layer(name) and (
            name not in self.owner._fields_.layers
            or id(node) in self.found.closures.functions
        ):
            called = "_sub_layer_"
        else:
            return node
        effect = self.found.closures.functions.get(id(node))
        number = 0 if effect and effect.draws else None
        text = f"lambda *args: self.{called}({name!r}, {number}, *args)"
        if effect:
            text = f"self._function_(1, {effect.changes})({text})"
        made = ast.parse(text, mode="eval").body
        return ast.copy_location(made, node)

    def _array_of(self, node: ast.Attribute) -> ast.AST | None:
        """`self.embed.kernel`: an array of a layer, or of a layer in that."""
        names: list[str] = []
        place: ast.expr = node
        while isinstance(place, ast.Attribute) and not self_attribute(place):
            names.insert(0, place.attr)
            place = place.value
        if not names:
            return None
        name = self_attribute(place) or indexed_attribute(place)
        declared = declarations(self.owner).get(name or "", "")
        is_tree = isinstance(declared, Tree)
        kinds = kinds_at(declared, place) if is_tree else [*kinds_of(declared)]
        *inner, last = names
        for step in inner:
            layers = (k for k in kinds if isinstance(k, type))
            kinds = [declarations(layer).get(step) for layer in layers]
        if not any(
            isinstance(k, type) and isinstance(declarations(k).get(last), str)
            for k in kinds
        ):
            return None
        if isinstance(declared, type):
            layer = ast.parse(f"self._layers_[{name!r}]", mode="eval").body
        else:
            layer = self.visit(place)
        for step in inner:
            layer = ast.copy_location(ast.Attribute(layer, step, ast.Load()), node)
        return routed(node, "_part_of_", [layer, ast.Constant(last)], [])

    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        if self._is_declared(self_attribute(node.value)):
            self.values.add(node.value)
        return self.generic_visit(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST:
        if self._set_place(node.target) is None:
            return self.generic_visit(node)
        old = ast.parse(ast.unparse(node.target), mode="eval").body
        value = ast.BinOp(self.visit(old), node.op, self.visit(node.value))
        return ast.copy_location(ast.Assign([self.visit(node.target)], value), node)

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        """An item of a container of states may be set."""
        name = self._set_place(node)
        if name is None:
            return self.generic_visit(node)

        def placed(part: ast.expr) -> ast.expr:
            if not isinstance(part, ast.Subscript):
                return routed(part, "_places_", [ast.Constant(name)], [])
            made = ast.Subscript(placed(part.value), self.visit(part.slice), part.ctx)
            return ast.copy_location(made, part)

        return placed(node)

    def _set_place(self, node: ast.expr) -> str | None:
        """The container of which a target is an item."""
        name = indexed_attribute(node)
        if not isinstance(getattr(node, "ctx", None), ast.Store):
            return None
        return name if self._is_tree(name) else None

    def visit_Compare(self, node: ast.Compare) -> ast.Compare:
        left = node.left
        self.generic_visit(node)
        if self_attribute(left):
            node.left = left
        return node

    def visit_For(self, node: ast.For) -> ast.For:
        fields = {
            variable: field
            for variable, field in loop_fields(node).items()
            if self._is_list(field)
        }
        node.iter = self.visit(node.iter)
        places = self.found.passes.get(id(node))
        if places is not None:
            number = ast.Constant(self.found.numbers[id(node)])
            given = [number, ast.Constant(places), node.iter]
            given.append(self._most(fields, node))
            node.iter = routed(node.iter, "_passes_", given, [])
        outer, self.variables = self.variables, {**self.variables, **fields}
        node.body = [self.visit(statement) for statement in node.body]
        self.variables = outer
        node.orelse = [self.visit(statement) for statement in node.orelse]
        return node

    def _comprehension(self, node: Any) -> Any:
        number = self.found.numbers.get(id(node))
        outer = self.variables
        for place, generator in enumerate(node.generators):
            fields = {
                variable: field
                for variable, field in loop_fields(generator).items()
                if self._is_list(field)
            }
            generator.iter = self.visit(generator.iter)
            if number is not None:
                own = number if place == 0 else 0
                places = self.found.passes[id(generator)]
                given = [ast.Constant(own), ast.Constant(places), generator.iter]
                given.append(self._most(fields, generator))
                generator.iter = routed(generator.iter, "_passes_", given, [])
            self.variables = {**self.variables, **fields}
            generator.ifs = [self.visit(test) for test in generator.ifs]
        for name in ("elt", "key", "value"):
            if hasattr(node, name):
                setattr(node, name, self.visit(getattr(node, name)))
        self.variables = outer
        if isinstance(node, ast.GeneratorExp):
            # What is drawn is drawn in order, whenever it is used.
            return ast.copy_location(ast.ListComp(node.elt, node.generators), node)
        return node

    def visit(self, node: ast.AST) -> Any:
        if isinstance(node, COMPREHENSIONS):
            return self._comprehension(node)
        return super().visit(node)

    def _most(
        self, fields: Mapping[str, str], loop: ast.For | ast.comprehension
    ) -> ast.expr:
        """How many passes the key of a loop is split for: one for each layer of a list."""
        if of_parts(loop):
            return ast.Constant(None)
        lists = [f for f in fields.values() if list_draws(self.owner, f)]
        for field in (*lists, *fields.values()):
            return ast.parse(f"len(self.{field})", mode="eval").body
        return ast.Constant(None)

    def _is_list(self, name: str) -> bool:
        kind = declarations(self.owner).get(name)
        named = self.owner._fields_.holding("layers")
        return isinstance(kind, Several | Tree) or name in named

    def _is_tree(self, name: str | None) -> bool:
        return isinstance(declarations(self.owner).get(name or ""), Tree)

    def _is_sub_layer(self, name: str) -> bool:
        return name in self.owner._fields_.layers or isinstance(
            declarations(self.owner).get(name), type
        )
