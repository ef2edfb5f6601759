"""Methods of a base that a layer calls by `super()`: methods of its own, under another name.

`super().forward(x)` in a class that is based on `Linear` is `self._forward_of_linear(x)`, as in
generated code, so that keys and states are handed on as for any method.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from mlax_scaffold.reader.homes import module_name

if TYPE_CHECKING:
    from mlax_scaffold.spec.layer import Layer


def called_of_base(
    cls: type[Layer], own: Mapping[str, Callable[..., Any]]
) -> dict[str, Callable[..., Any]]:
    """The methods of the base that a class's own ones may call, by their other names."""
    theirs = getattr(cls, "_methods_", {})
    asked = {
        name
        for function in own.values()
        if "super" in function.__code__.co_names
        for name in function.__code__.co_names
    }
    return {_title(cls, name): theirs[name] for name in asked & set(theirs)}


def without_super(
    owner: type[Layer], name: str, function: Any, definition: ast.FunctionDef
) -> ast.FunctionDef:
    """A method that has a name in a layer, with such calls by their names in it."""
    definition.name = name
    place = function.__qualname__.rpartition(".")[0]
    at = (function.__module__, place)
    for cls in owner.__mro__:
        if (cls.__module__, cls.__qualname__) == at:
            _OfBase(cls).visit(definition)
    return definition


def _title(cls: type[Layer], name: str) -> str:
    return f"_{name}_of_{module_name(cls.__bases__[0].__name__)}"


class _OfBase(ast.NodeTransformer):
    def __init__(self, cls: type[Layer]):
        self.cls = cls

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        self.generic_visit(node)
        match node.value:
            case ast.Call(func=ast.Name(id="super")) if node.attr != "setup":
                owner = ast.copy_location(ast.Name("self", ast.Load()), node)
                made = ast.Attribute(owner, _title(self.cls, node.attr), node.ctx)
                return ast.copy_location(made, node)
        return node
