"""How a class of layers, or a function, uses the configuration that it is given."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field

from mlax_scaffold.conversion.source.trees import is_name, self_attribute
from mlax_scaffold.conversion.source.walking import NodeVisitor, walk


@dataclass
class Configured:
    """A class of layers, or a function, that is given a configuration."""

    node: ast.ClassDef | ast.FunctionDef
    parameter: str
    place: str
    """The attribute that holds it; "" for none."""
    kind: str
    """The class of the configuration; "" where the file does not tell."""
    is_field: bool
    """Whether it is a field of a dataclass, and no parameter of a constructor."""
    names: dict[str, str] = field(default_factory=dict)
    """What the settings are called that it reads, directly or not."""
    optional: dict[str, ast.expr] = field(default_factory=dict)
    """What settings are that may not be there, as `config.get("width", 8)` says."""
    defaults: dict[str, str] = field(default_factory=dict)
    """What the settings are that the file gives a configuration of no class of its own."""


class Uses(NodeVisitor):
    """How a class uses its configuration."""

    def __init__(self, made: Configured):
        self.made = made
        self.read: list[str] = []
        self.handed: list[ast.Call] = []
        self.others = False
        self.aliases: dict[int, ast.Name] = {}
        """Names of it in methods, by what they are in memory: `cfg = self.cfg`."""
        for method in made.node.body:
            self._name(method)

    def _name(self, method: ast.stmt) -> None:
        """Find the aliases of one method, where a name may be something else in another one."""
        places = [n for n in walk(method) if isinstance(n, ast.Name)]
        for part in walk(method):
            match part:
                case ast.Assign(targets=[ast.Name(id=local)], value=value):
                    if self.whole(value):
                        self.aliases |= {id(n): n for n in places if n.id == local}

    def whole(self, node: ast.AST) -> bool:
        """Whether an expression is the configuration itself."""
        made = self.made
        if made.place and self_attribute(node) == made.place:
            return True
        named = isinstance(node, ast.Name) and (
            (node.id == made.parameter and not made.is_field)
            or id(node) in self.aliases
        )
        return named

    def visit_Attribute(self, node: ast.Attribute) -> None:
        if self.whole(node):
            self.others = self.others or isinstance(node.ctx, ast.Load)
        elif self.whole(node.value):
            self.read.append(node.attr)
            self.others = self.others or not isinstance(node.ctx, ast.Load)
        else:
            self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> None:
        if self.whole(node) and isinstance(node.ctx, ast.Load):
            self.others = True

    def visit_Assign(self, node: ast.Assign) -> None:
        if self.whole(node.value) and len(node.targets) == 1:
            return
        self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        values = [*node.args, *(k.value for k in node.keywords)]
        if isinstance(node.func, ast.Name) and any(map(self.whole, values)):
            self.handed.append(node)
            for value in values:
                if not self.whole(value):
                    self.visit(value)
            return
        if is_name(node.func, "getattr") and node.args and self.whole(node.args[0]):
            self.others = True
        self.generic_visit(node)
