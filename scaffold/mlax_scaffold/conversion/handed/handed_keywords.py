"""What a class of PyTorch hands on to the layer that it is handed, `**kwargs`, and what it is not given."""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.source.arguments_of import (
    defaults_of,
    method_of,
    stored_names,
    with_values,
    without_arguments,
)
from mlax_scaffold.conversion.source.trees import (
    is_name,
    is_none,
    literal,
    self_attribute,
)
from mlax_scaffold.conversion.source.walking import NodeTransformer, cloned, walk


class Unset:
    """Parameters that are None for one of the classes: what they choose is known."""

    def __init__(self, node: ast.ClassDef, values: dict[str, ast.expr]):
        self.node, self.values = node, values

    def run(self) -> None:
        start = method_of(self.node, "__init__")
        assert start is not None
        if not self.values:
            return
        if any(n in self.values for s in start.body for n in stored_names(s)):
            return
        without_arguments(start.args, self.values)
        start.body = [with_values(s, self.values) for s in start.body]
        _Settled(set()).visit(start)
        gone = {
            a
            for s in start.body
            if isinstance(s, ast.Assign)
            and is_none(s.value)
            and (a := self_attribute(s.targets[0]))
        }
        others = [
            self_attribute(p)
            for p in walk(self.node)
            if isinstance(p, ast.Attribute) and isinstance(p.ctx, ast.Store)
        ]
        gone = {a for a in gone if others.count(a) == 1}
        _Settled(gone).visit(self.node)
        read = {
            self_attribute(p)
            for p in walk(self.node)
            if isinstance(p, ast.Attribute) and isinstance(p.ctx, ast.Load)
        }
        start.body = [
            s
            for s in start.body
            if not (
                isinstance(s, ast.Assign)
                and self_attribute(s.targets[0]) in gone - read
            )
        ] or [ast.Pass()]


class _Settled(NodeTransformer):
    """Conditions that ask whether something is None that is known to be."""

    def __init__(self, unset: set[str]):
        self.unset = unset

    def _test(self, node: ast.expr) -> bool | None:
        match node:
            case ast.Compare(left=left, ops=[op], comparators=[right]) if is_none(
                right
            ) and isinstance(op, ast.Is | ast.IsNot):
                if is_none(left) or self_attribute(left) in self.unset:
                    return isinstance(op, ast.Is)
                return None
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                inner = self._test(operand)
                return None if inner is None else not inner
        if is_none(node) or self_attribute(node) in self.unset:
            return False
        return None

    def visit_IfExp(self, node: ast.IfExp) -> ast.expr:
        self.generic_visit(node)
        known = self._test(node.test)
        return node if known is None else (node.body if known else node.orelse)

    def visit_If(self, node: ast.If) -> ast.stmt | list[ast.stmt]:
        self.generic_visit(node)
        known = self._test(node.test)
        if known is None:
            return node
        return (node.body if known else node.orelse) or [ast.copy_location(ast.Pass(), node)]  # fmt: skip


class HandedOn(NodeTransformer):
    """`self.fn(x, **kwargs)`, with the arguments that the layer takes."""

    def __init__(
        self, method: ast.FunctionDef, attribute: str, taken: ast.FunctionDef | None
    ):
        self.method, self.attribute, self.taken = method, attribute, taken
        self.names: list[str] = []

    def run(self) -> None:
        given = self.method.args
        several = given.vararg.arg if given.vararg else ""
        named = given.kwarg.arg if given.kwarg else ""
        self.several, self.named = several, named
        calls = [
            p
            for p in walk(self.method)
            if isinstance(p, ast.Call) and self_attribute(p.func) == self.attribute
        ]
        if not calls:
            return
        first = calls[0]
        count = sum(not isinstance(a, ast.Starred) for a in first.args)
        told = {k.arg for k in first.keywords}
        other = self.taken.args if self.taken is not None else None
        places = [a.arg for a in other.args[1 + count :]] if other else []
        places += [a.arg for a in other.kwonlyargs] if other else []
        defaults = defaults_of(other) if other else {}
        known = [a.arg for a in (*given.args, *given.kwonlyargs)]
        own = [p for p in places if p not in told and p not in known]
        self.names = own
        given.vararg = given.kwarg = None
        late = [p for p in own if p in defaults]
        if len(late) == len(own):
            given.args += [ast.arg(p) for p in own]
            given.defaults += [cloned(defaults[p]) for p in own]
        else:
            had = defaults_of(given)
            given.args += [ast.arg(p) for p in own]
            if not had:
                given.defaults = [cloned(defaults[p]) for p in late]
        self.visit(self.method)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        spread = any(
            isinstance(a, ast.Starred) and is_name(a.value, self.several)
            for a in node.args
        ) or any(k.arg is None and is_name(k.value, self.named) for k in node.keywords)
        if spread:
            node.args = [
                a
                for a in node.args
                if not (isinstance(a, ast.Starred) and is_name(a.value, self.several))
            ]
            node.keywords = [
                k
                for k in node.keywords
                if not (k.arg is None and is_name(k.value, self.named))
            ]
            told = {k.arg for k in node.keywords}
            node.keywords += [
                ast.keyword(n, ast.Name(n, ast.Load()))
                for n in self.names
                if n not in told
            ]
        return node

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        self.generic_visit(node)
        title = literal(node.slice)
        if self.named and is_name(node.value, self.named) and title in self.names:
            return ast.copy_location(ast.Name(str(title), node.ctx), node)
        return node

    def visit_Expr(self, node: ast.Expr) -> ast.stmt | list[ast.stmt]:
        self.generic_visit(node)
        match node.value:
            case ast.Call(func=ast.Attribute(value=owner, attr="update"), args=[]):
                if is_name(owner, self.named):
                    return [
                        ast.copy_location(
                            ast.Assign([ast.Name(str(k.arg), ast.Store())], k.value),
                            node,
                        )
                        for k in node.value.keywords
                    ]
        return node
