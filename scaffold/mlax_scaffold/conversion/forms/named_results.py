"""Results that have names, `Output(mean, variance)`, as plain tuples."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from mlax_scaffold.conversion.source.notes import Notes
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import self_attribute
from mlax_scaffold.conversion.source.walking import NodeTransformer, located, walk

_BASES = ("typing.NamedTuple", "typing_extensions.NamedTuple")
_DECORATORS = ("dataclasses.dataclass", "flax.struct.dataclass", "chex.dataclass")
_CALLED = ("__call__", "forward")


def without_named_results(origin: Origin, notes: Notes) -> None:
    """Let what the classes and functions of a file return be tuples, in place."""
    known = {
        n: fields for n, c in origin.classes.items() if (fields := _fields(origin, c))
    }
    if not known:
        return
    returned = {
        name: result
        for name, node in (*origin.classes.items(), *origin.functions.items())
        if (result := _returned(node, known))
    }
    for name, node in (*origin.classes.items(), *origin.functions.items()):
        if name not in known:
            _Tuples(notes, known, returned, _parts(node, returned)).visit(node)


def _fields(origin: Origin, node: ast.ClassDef) -> list[str]:
    """The names of a class that holds values and computes nothing."""
    named = any(origin.qualified(b) in _BASES for b in node.bases)
    decorated = any(
        origin.qualified(d.func if isinstance(d, ast.Call) else d) in _DECORATORS
        for d in node.decorator_list
    )
    if not named and not (decorated and not node.bases):
        return []
    if any(isinstance(part, ast.FunctionDef) for part in node.body):
        return []
    return [
        p.target.id
        for p in node.body
        if isinstance(p, ast.AnnAssign) and isinstance(p.target, ast.Name)
    ]


def _returned(node: ast.AST, known: Mapping[str, list[str]]) -> str:
    """The class of what a class or a function makes when it is called; "" for any other."""
    if isinstance(node, ast.ClassDef):
        node = next(
            (
                f
                for f in node.body
                if isinstance(f, ast.FunctionDef) and f.name in _CALLED
            ),
            node,
        )
    if not isinstance(node, ast.FunctionDef):
        return ""
    for part in walk(node):
        value = part.value if isinstance(part, ast.Return) else None
        if isinstance(value, ast.Call) and _name(value.func) in known:
            return _name(value.func)
    return ""


def _parts(node: ast.AST, returned: Mapping[str, str]) -> dict[str, str]:
    """The attributes that hold what returns such a tuple, and which."""
    return {
        attribute: returned[_name(part.value.func)]
        for part in walk(node)
        if isinstance(part, ast.Assign)
        and isinstance(part.value, ast.Call)
        and _name(part.value.func) in returned
        and (attribute := self_attribute(part.targets[0]))
    }


def _name(node: ast.expr) -> str:
    return node.id if isinstance(node, ast.Name) else ""


class _Tuples(NodeTransformer):
    def __init__(
        self,
        notes: Notes,
        known: Mapping[str, list[str]],
        returned: Mapping[str, str],
        parts: Mapping[str, str],
    ):
        self.notes, self.known = notes, known
        self.returned, self.parts = returned, parts
        self.locals: dict[str, str] = {}

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        before, self.locals = self.locals, dict(self.locals)
        for given in (*node.args.args, *node.args.kwonlyargs):
            text = ast.unparse(given.annotation) if given.annotation else ""
            if text.strip("'\"") in self.known:
                self.locals[given.arg] = text.strip("'\"")
        self.generic_visit(node)
        self.locals = before
        return node

    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        made = self._made(node.value)
        self.generic_visit(node)
        for target in node.targets:
            if isinstance(target, ast.Name):
                self.locals.pop(target.id, None)
                if made:
                    self.locals[target.id] = made
        return node

    def _made(self, value: ast.expr) -> str:
        """The class of a value; "" for any other."""
        if not isinstance(value, ast.Call):
            return ""
        if isinstance(value.func, ast.Call):
            return self.returned.get(_name(value.func.func), "")
        called = _name(value.func)
        if called in self.known:
            return called
        of_self = self.parts.get(self_attribute(value.func) or "", "")
        return of_self or self.returned.get(called, "")

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        if isinstance(node.value, ast.Name) and node.value.id in self.locals:
            fields = self.known[self.locals[node.value.id]]
            if node.attr in fields:
                at = ast.Constant(fields.index(node.attr))
                made = ast.Subscript(node.value, at, node.ctx)
                return ast.copy_location(located(made), node)
        self.generic_visit(node)
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        title = _name(node.func)
        if title not in self.known:
            return node
        fields = self.known[title]
        given = dict(zip(fields, node.args, strict=False))
        given |= {str(k.arg): k.value for k in node.keywords}
        if len(node.args) > len(fields) or not set(given) <= set(fields):
            return node
        self.notes.remark(
            node,
            f"{title} is a tuple of ({', '.join(fields)})",
            "take its parts by place, or give them names where the layer is called",
        )
        values = [given.get(f, ast.Constant(None)) for f in fields]
        return ast.copy_location(ast.Tuple(values, ast.Load()), node)
