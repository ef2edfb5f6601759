"""Methods of a base of the file that `super()` or its name calls, as methods of the class itself.

def forward(self, x):                        def forward(self, x):
    return relu(super().forward(x))   as         return relu(self._forward_of_base(x))

What a constructor calls of its base is read elsewhere.
"""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import is_name
from mlax_scaffold.conversion.source.walking import NodeTransformer, cloned, located
from mlax_scaffold.reader.homes import module_name

_MAKERS = ("__init__", "setup", "__post_init__")


def without_called_bases(origin: Origin) -> None:
    """Write them so, in place."""
    done: set[str] = set()
    for node in origin.classes.values():
        _write(origin, node, done)


def _write(origin: Origin, node: ast.ClassDef, done: set[str]) -> None:
    """Write those of a class, those of what it is built on first."""
    if node.name in done:
        return
    done.add(node.name)
    bases = [
        origin.classes[b.id]
        for b in node.bases
        if isinstance(b, ast.Name) and b.id in origin.classes
    ]
    for base in bases:
        _write(origin, base, done)
    methods = [m for m in node.body if isinstance(m, ast.FunctionDef)]
    known = {m.name for m in methods}
    for method in methods:
        if method.name in _MAKERS:
            continue
        calls = _OfBase(origin, bases)
        calls.visit(method)
        node.body += [m for title, m in calls.found.items() if title not in known]
        known |= {*calls.found}
    located(node)


class _OfBase(NodeTransformer):
    """Calls of methods of the base, by the names that these have in the class itself."""

    def __init__(self, origin: Origin, bases: list[ast.ClassDef]):
        self.origin, self.bases = origin, bases
        self.found: dict[str, ast.FunctionDef] = {}

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Call(func=owner)) as func) if (
                is_name(owner, "super")
            ):
                self._call(func, self.bases)
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id=owner)) as func,
                args=[ast.Name(id="self"), *rest],
            ):
                if self._call(func, [b for b in self.bases if b.name == owner]):
                    node.args = rest
        return node

    def _call(self, func: ast.Attribute, bases: list[ast.ClassDef]) -> bool:
        """Whether a base defines the method, which is then one of `self`, in place."""
        for base in bases:
            if func.attr not in _MAKERS and (
                made := _defined(self.origin, base, func.attr)
            ):
                where, method = made
                title = f"_{func.attr.strip('_')}_of_{module_name(where)}"
                self.found.setdefault(title, _renamed(method, title))
                func.value, func.attr = ast.Name("self", ast.Load()), title
                return True
        return False


def _defined(
    origin: Origin, node: ast.ClassDef, name: str, depth: int = 0
) -> tuple[str, ast.FunctionDef] | None:
    """The method of a class, or of what it is built on, and the class that defines it."""
    for part in node.body:
        if isinstance(part, ast.FunctionDef) and part.name == name:
            return node.name, part
    for base in node.bases:
        own = origin.classes.get(base.id) if isinstance(base, ast.Name) else None
        found = own and depth < 8 and _defined(origin, own, name, depth + 1)
        if found:
            return found
    return None


def _renamed(method: ast.FunctionDef, title: str) -> ast.FunctionDef:
    made = cloned(method)
    made.name = title
    # Layers that a method of linen makes are those of the call that it is part of.
    made.decorator_list = [
        d for d in made.decorator_list if not ast.unparse(d).endswith("compact")
    ]
    return made
