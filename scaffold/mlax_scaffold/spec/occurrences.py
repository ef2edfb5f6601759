"""Numbers the key consumers of a method, and routes its sub-layer calls.

Generated code splits the caller's key by the place of each consumer in the text. The
eager side does the same: it compiles a method anew with every consumer numbered.
"""

from __future__ import annotations

import ast
import functools
import inspect
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mlax_scaffold.spec.layer import Layer

_ARRAYS = ("trainable", "state")


@dataclass(frozen=True)
class Method:
    """An entry point of a layer, compiled with numbered key consumers."""

    run: Callable[..., Any]
    consumers: int


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
    found = _Consumers(owner)
    found.visit(tree)
    places = sorted(found.places, key=lambda place: place[0])
    numbers = {id(node): number for number, (_, node) in enumerate(places)}
    tree = ast.fix_missing_locations(_Routes(owner, numbers).visit(tree))
    namespace: dict[str, Any] = {}
    code = compile(tree, inspect.getsourcefile(function) or "<spec>", "exec")
    exec(code, function.__globals__, namespace)
    return Method(namespace[name], len(places))


def draws(owner: type[Layer]) -> bool:
    """Whether `forward` of a layer draws keys, itself or through its sub-layers."""
    return method(owner, "forward").consumers > 0


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


def self_attribute(node: ast.AST) -> str | None:
    """`name`, where a node is `self.name`."""
    if (
        isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id == "self"
    ):
        return node.attr
    return None


def _declared(called: ast.expr, namespace: dict[str, Any]) -> type[Layer] | str | None:
    from mlax_scaffold.spec.layer import Layer

    if not isinstance(called, ast.Name):
        return None
    if called.id in _ARRAYS:
        return called.id
    value = namespace.get(called.id)
    return value if isinstance(value, type) and issubclass(value, Layer) else None


def _loop_fields(owner: type[Layer], node: ast.For) -> list[ast.Attribute]:
    """The `self.layers` that a loop runs over, where it runs over layers."""
    known = declarations(owner)
    names = {n for n, kind in known.items() if isinstance(kind, Several)}
    names |= set(owner._fields.named("SubLayers"))
    return [
        part
        for part in ast.walk(node.iter)
        if isinstance(part, ast.Attribute) and self_attribute(part) in names
    ]


class _Consumers(ast.NodeVisitor):
    """Collects the key consumers of a method."""

    def __init__(self, owner: type[Layer]) -> None:
        self.owner = owner
        self.places: list[tuple[tuple[int, ...], ast.expr]] = []

    def visit_Call(self, node: ast.Call) -> None:
        if self._consumes(self_attribute(node.func)):
            self.places.append(((node.lineno, node.col_offset), node))
        self.generic_visit(node)

    def visit_For(self, node: ast.For) -> None:
        # Keys of a loop are split before it, whatever else its head holds.
        for field in _loop_fields(self.owner, node):
            kind = declarations(self.owner).get(field.attr)
            if not isinstance(kind, Several) or draws(kind.layer):
                place = (node.lineno, node.col_offset, field.lineno, field.col_offset)
                self.places.append((place, field))
        self.generic_visit(node)

    def _consumes(self, name: str | None) -> bool:
        if name in ("key", "keys") or name in self.owner._fields.layers:
            return True
        kind = declarations(self.owner).get(name) if name else None
        return isinstance(kind, type) and draws(kind)


class _Routes(ast.NodeTransformer):
    """Hands every consumer its number, and every sub-layer call to the eager layer."""

    def __init__(self, owner: type[Layer], numbers: dict[int, int]) -> None:
        self.owner = owner
        self.numbers = numbers

    def visit_Call(self, node: ast.Call) -> ast.Call:
        number = ast.Constant(self.numbers.get(id(node)))
        name = self_attribute(node.func)
        self.generic_visit(node)
        if name in ("key", "keys"):
            return routed(node, f"_{name}", [number, *node.args], node.keywords)
        if name and self._is_sub_layer(name):
            arguments = [ast.Constant(name), number, *node.args]
            return routed(node, "_sub_layer", arguments, node.keywords)
        if isinstance(node.func, ast.Name):
            for keyword in node.keywords:
                # In a loop over layers each gets those of the inputs that it takes.
                if keyword.arg is None and isinstance(keyword.value, ast.Name):
                    given = [node.func, keyword.value]
                    keyword.value = routed(keyword.value, "_taken", given, [])
        return node

    def visit_For(self, node: ast.For) -> ast.For:
        for field in _loop_fields(self.owner, node):
            number = ast.Constant(self.numbers.get(id(field)))
            loop = routed(field, "_loop", [ast.Constant(field.attr), number], [])
            node.iter = _replace(node.iter, field, loop)
        self.generic_visit(node)
        return node

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


def _replace(tree: ast.expr, old: ast.expr, new: ast.expr) -> ast.expr:
    class Replace(ast.NodeTransformer):
        def visit(self, node: ast.AST) -> Any:
            return new if node is old else self.generic_visit(node)

    return Replace().visit(tree)
