"""What PyTorch computes without gradients, `with torch.no_grad():`, as results that are detached."""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import literal, self_attribute
from mlax_scaffold.conversion.source.walking import NodeTransformer, located, walk

_WITHOUT = ("torch.no_grad", "torch.inference_mode")
_SILENT = (
    "torch.autocast",
    "torch.amp.autocast",
    "torch.cuda.amp.autocast",
    "torch.enable_grad",
    "warnings.catch_warnings",
)
"""Contexts that change nothing of what is computed here."""
_QUIET = ("warnings.simplefilter", "warnings.filterwarnings")
_NUMBERS = ("shape", "size", "len", "int", "float", "dim", "numel", "item")


def without_no_grad(origin: Origin) -> None:
    """Write them in place; what a constructor does has no gradient anyway."""
    for node in walk(origin.tree):
        if isinstance(node, ast.FunctionDef) and node.name != "__init__":
            decorated = [d for d in node.decorator_list if _is_without(origin, d)]
            node.decorator_list = [
                d
                for d in node.decorator_list
                if d not in decorated and not _is_silent(origin, d)
            ]
            if decorated:
                _Returns().generic_visit(node)
    _Blocks(origin).visit(origin.tree)
    located(origin.tree)


def _is_without(origin: Origin, node: ast.expr) -> bool:
    called = node.func if isinstance(node, ast.Call) else node
    return origin.qualified(called) in _WITHOUT


def _is_silent(origin: Origin, node: ast.expr) -> bool:
    called = node.func if isinstance(node, ast.Call) else node
    return origin.qualified(called) in _SILENT


def _detached(node: ast.expr) -> ast.expr:
    if isinstance(node, ast.Tuple):
        node.elts = [_detached(e) for e in node.elts]
        return node
    if isinstance(node, ast.Constant) or _is_number(node):
        return node
    made = ast.Call(ast.Attribute(node, "detach", ast.Load()), [], [])
    return ast.copy_location(made, node)


def _is_number(node: ast.expr) -> bool:
    """Whether a value is a number, or a shape."""
    inner = node.value if isinstance(node, ast.Subscript) else node
    called = inner.func if isinstance(inner, ast.Call) else inner
    return ast.unparse(called).rpartition(".")[2] in _NUMBERS


class _Returns(NodeTransformer):
    """Detaches what a function returns."""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        return node

    def visit_Lambda(self, node: ast.Lambda) -> ast.Lambda:
        return node

    def visit_Return(self, node: ast.Return) -> ast.Return:
        if node.value is not None:
            node.value = _detached(node.value)
        return node


class _Blocks(NodeTransformer):
    def __init__(self, origin: Origin):
        self.origin = origin

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        if "init" not in node.name and node.name != "reset_parameters":
            self.generic_visit(node)
        return node

    def visit_Expr(self, node: ast.Expr) -> ast.stmt:
        called = node.value.func if isinstance(node.value, ast.Call) else node
        if self.origin.qualified(called) in _QUIET:
            return ast.copy_location(ast.Pass(), node)
        self.generic_visit(node)
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        """`x.data` is x without its gradient; what is changed in place keeps its name."""
        self.generic_visit(node)
        read = node.attr == "data" and isinstance(node.ctx, ast.Load)
        plain = isinstance(node.value, ast.Name | ast.Call) or self_attribute(
            node.value
        )
        return _detached(node.value) if read and plain else node

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        if isinstance(node.ctx, ast.Store):
            node.slice = self.visit(node.slice)
            return node
        self.generic_visit(node)
        return node

    def visit_Call(self, node: ast.Call) -> ast.expr:
        """`x.requires_grad_(False)` of what is computed has no gradient."""
        func = node.func
        changes = isinstance(func, ast.Attribute) and func.attr.endswith("_")
        if changes and getattr(func.value, "attr", "") == "data":  # type: ignore[attr-defined]
            # Numbers that are changed in place.
            node.args = [self.visit(a) for a in node.args]
            return node
        self.generic_visit(node)
        match node:
            case ast.Call(func=ast.Attribute(value=x, attr="requires_grad_")):
                given = [*node.args, *(k.value for k in node.keywords)]
                said = literal(given[0]) if given else True
                if isinstance(said, bool):
                    return x if said else _detached(x)
        return node

    def visit_With(self, node: ast.With) -> ast.AST | list[ast.stmt]:
        self.generic_visit(node)
        contexts = [i.context_expr for i in node.items]
        calls = [c.func if isinstance(c, ast.Call) else c for c in contexts]
        if all(self.origin.qualified(c) in _SILENT for c in calls):
            return node.body
        if not all(_is_without(self.origin, i.context_expr) for i in node.items):
            return node
        bound: dict[str, ast.stmt] = {}
        for part in node.body:
            _Returns().visit(part)
            for inner in walk(part):
                if not isinstance(inner, ast.Assign | ast.AugAssign):
                    continue
                if isinstance(inner.value, ast.Constant) or _is_number(inner.value):
                    continue
                for target in walk(inner):
                    stored = isinstance(target, ast.Name) and target.id != "_"
                    if stored and isinstance(target.ctx, ast.Store):  # type: ignore[attr-defined]
                        bound[target.id] = inner  # type: ignore[attr-defined]
        found = [*node.body]
        for title, part in bound.items():
            value = _detached(ast.Name(title, ast.Load()))
            assign = ast.Assign([ast.Name(title, ast.Store())], value)
            found.append(ast.copy_location(assign, part))
        return found
