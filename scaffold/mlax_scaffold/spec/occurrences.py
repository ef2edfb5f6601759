"""Routes the draws and the calls of sub-layers of a method to the eager layer.

Generated code splits the caller's key among the places of the text. The eager side does
the same: it compiles a method anew with every place numbered.
"""

from __future__ import annotations

import ast
import functools
import inspect
import textwrap
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mlax_scaffold.spec.numbering import Numbering, loop_fields, numbered
from mlax_scaffold.spec.parse_source import self_attribute

if TYPE_CHECKING:
    from mlax_scaffold.spec.layer import Layer

_ARRAYS = ("trainable", "state")


@dataclass(frozen=True)
class Method:
    """A method that is compiled anew, and how many places in it take a part of its key."""

    run: Callable[..., Any]
    places: int


@dataclass(frozen=True)
class Several:
    """A list of sub-layers of one class."""

    layer: type[Layer]


Declared = Any
"""The kind of an array, the class of a sub-layer, or `Several`."""


@functools.cache
def declarations(owner: type[Layer]) -> dict[str, Declared]:
    """What `setup` declares, in order: the kind of array, or the sub-layers.

    Declarations with a condition are included: they keep their place in the order of
    keys where they are not made.
    """
    if "setup" not in owner.__dict__:
        return {}
    setup: Any = owner.__dict__["setup"]
    (definition,) = parse(setup).body
    assert isinstance(definition, ast.FunctionDef)
    found: dict[str, Declared] = {}
    for statement in definition.body:
        if not isinstance(statement, ast.Assign):
            continue
        target, value = statement.targets[0], statement.value
        if isinstance(value, ast.IfExp):
            value = value.body
        name = self_attribute(target)
        several = isinstance(value, ast.ListComp)
        call = value.elt if isinstance(value, ast.ListComp) else value
        if name is None or not isinstance(call, ast.Call):
            continue
        kind = _declared(call.func, setup.__globals__)
        if several:
            kind = Several(kind) if isinstance(kind, type) else None
        if kind is not None:
            found[name] = kind
    return found


@functools.cache
def method(owner: type[Layer], name: str) -> Method:
    """The entry point `name` of a layer: "forward", or one such as "attend"."""
    function: Any = owner._entries[name]
    tree = parse(function)
    found = numbered(tree, functools.partial(_draws, owner))
    tree = ast.fix_missing_locations(_Routes(owner, found).visit(tree))
    namespace: dict[str, Any] = {}
    code = compile(tree, inspect.getsourcefile(function) or "<spec>", "exec")
    exec(code, function.__globals__, namespace)
    return Method(namespace[name], found.places)


def draws(owner: type[Layer]) -> bool:
    """Whether `forward` of a layer draws keys, itself or through its sub-layers."""
    return method(owner, "forward").places > 0


def holds(owner: type[Layer], kind: str) -> bool:
    """Whether a layer or its sub-layers declare arrays of a kind."""
    return any(
        declared == kind if isinstance(declared, str) else holds(_class(declared), kind)
        for declared in declarations(owner).values()
    )


def _class(declared: Declared) -> type[Layer]:
    return declared.layer if isinstance(declared, Several) else declared


def parse(function: Any) -> ast.Module:
    """The definition of a function, its annotations removed, with the lines of its file."""
    lines, first = inspect.getsourcelines(function)
    tree = ast.parse(textwrap.dedent("".join(lines)))
    ast.increment_lineno(tree, first - 1)
    (definition,) = tree.body
    assert isinstance(definition, ast.FunctionDef)
    # Annotations hold shapes, which are for readers and not for running.
    arguments = definition.args
    for argument in [
        *arguments.posonlyargs,
        *arguments.args,
        *arguments.kwonlyargs,
        *filter(None, [arguments.kwarg]),
    ]:
        argument.annotation = None
    definition.returns = None
    return tree


def _declared(called: ast.expr, namespace: dict[str, Any]) -> type[Layer] | str | None:
    from mlax_scaffold.spec.layer import Layer

    if not isinstance(called, ast.Name):
        return None
    if called.id in _ARRAYS:
        return called.id
    value = namespace.get(called.id)
    return value if isinstance(value, type) and issubclass(value, Layer) else None


def _draws(owner: type[Layer], call: ast.Call, variables: Mapping[str, str]) -> bool:
    """Whether a call takes a key; `variables` are those of loops, with their fields."""
    name = self_attribute(call.func)
    if name in ("key", "keys") or name in owner._fields.layers:
        return True
    if isinstance(call.func, ast.Name) and call.func.id in variables:
        return _list_draws(owner, variables[call.func.id])
    kind = declarations(owner).get(name) if name else None
    return isinstance(kind, type) and draws(kind)


def _list_draws(owner: type[Layer], field: str) -> bool:
    kind = declarations(owner).get(field)
    if isinstance(kind, Several):
        return draws(kind.layer)
    return field in owner._fields.named("SubLayers")


class _Routes(ast.NodeTransformer):
    """Hands every place its number, and every call of a sub-layer to the eager layer."""

    def __init__(self, owner: type[Layer], found: Numbering) -> None:
        self.owner = owner
        self.found = found
        # Those of the loops around, with the fields that they come from.
        self.variables: Mapping[str, str] = {}

    def visit_Call(self, node: ast.Call) -> ast.Call:
        number = ast.Constant(self.found.numbers.get(id(node)))
        name = self_attribute(node.func)
        self.generic_visit(node)
        if name in ("key", "keys"):
            return routed(node, f"_{name}", [number, *node.args], node.keywords)
        if name and self._is_sub_layer(name):
            arguments = [ast.Constant(name), number, *node.args]
            return routed(node, "_sub_layer", arguments, node.keywords)
        if isinstance(node.func, ast.Name) and node.func.id in self.variables:
            for keyword in node.keywords:
                # In a loop over layers each gets those of the inputs that it takes.
                if keyword.arg is None:
                    given = [node.func, keyword.value]
                    keyword.value = routed(keyword.value, "_taken", given, [])
            arguments = [node.func, number, *node.args]
            return routed(node, "_of_loop", arguments, node.keywords)
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
            given = [number, ast.Constant(places), node.iter, self._most(fields)]
            node.iter = routed(node.iter, "_passes", given, [])
        outer, self.variables = self.variables, {**self.variables, **fields}
        node.body = [self.visit(statement) for statement in node.body]
        self.variables = outer
        node.orelse = [self.visit(statement) for statement in node.orelse]
        return node

    def _most(self, fields: Mapping[str, str]) -> ast.expr:
        """How many passes the key of a loop is split for: one for each layer of a list."""
        lists = [f for f in fields.values() if _list_draws(self.owner, f)]
        for field in (*lists, *fields.values()):
            return ast.parse(f"len(self.{field})", mode="eval").body
        return ast.Constant(None)

    def _is_list(self, name: str) -> bool:
        kind = declarations(self.owner).get(name)
        named = self.owner._fields.named("SubLayers")
        return isinstance(kind, Several) or name in named

    def _is_sub_layer(self, name: str) -> bool:
        return name in self.owner._fields.layers or isinstance(
            declarations(self.owner).get(name), type
        )


def routed(
    place: ast.expr, name: str, args: list[Any], keywords: list[ast.keyword]
) -> ast.Call:
    """A call of a method of self in the place of another node."""
    function = ast.Attribute(ast.Name("self", ast.Load()), name, ast.Load())
    return ast.copy_location(ast.Call(function, args, keywords), place)
