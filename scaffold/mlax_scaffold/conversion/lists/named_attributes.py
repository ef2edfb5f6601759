"""Attributes that a loop of known length sets by names that it computes: `setattr(self, f"stage{i}", layer)`.

The passes of the loop stand one after the other then, and each sets the attribute by its name.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import (
    is_name,
    literal,
    replaced,
    self_attribute,
)
from mlax_scaffold.conversion.source.walking import (
    NodeTransformer,
    cloned,
    located,
    walk,
)

_MOST = 12
"""Loops of more passes are not written out."""
_SETS = ("add_module", "register_module")


def without_named_attributes(origin: Origin, node: ast.ClassDef) -> None:
    """Change a class of PyTorch in place."""
    start = next((f for f in node.body if getattr(f, "name", "") == "__init__"), None)
    if "torch.nn" not in origin.imports.values() or not isinstance(
        start, ast.FunctionDef
    ):
        return
    known = {
        part.targets[0].id: part.value
        for part in start.body
        if isinstance(part, ast.Assign) and isinstance(part.targets[0], ast.Name)
    }
    body: list[ast.stmt] = []
    for part in start.body:
        body += _passes(part, known) if isinstance(part, ast.For) else [part]
    start.body = [_named(s) for s in body]
    _unread(start, known)
    for method in node.body:
        if isinstance(method, ast.FunctionDef) and method is not start:
            _Reads().visit(method)
    located(node)


def _passes(loop: ast.For, known: dict[str, ast.expr]) -> list[ast.stmt]:
    sets = [p for p in loop.body if _set(p) is not None]
    if not sets or loop.orelse:
        return [loop]
    found = _values(loop.iter, known)
    if found is None or not 0 < len(found) <= _MOST:
        return [loop]
    made: list[ast.stmt] = []
    for value in found:
        bound = _bound(loop.target, value)
        if bound is None:
            return [loop]
        for part in loop.body:
            one = _Texts().visit(_replaced(part, bound))
            if _set(part) is not None and _set(one)[0] is None:  # type: ignore[index]
                return [loop]
            made.append(one)
    return made


def _replaced(node: ast.stmt, bound: dict[str, ast.expr]) -> ast.stmt:
    class Names(NodeTransformer):
        def visit_Name(self, node: ast.Name) -> ast.expr:
            value = bound.get(node.id) if isinstance(node.ctx, ast.Load) else None
            return cloned(value) if value is not None else node

    return Names().visit(cloned(node))


def _values(node: ast.expr, known: dict[str, ast.expr]) -> list[ast.expr] | None:
    """The elements of what a loop goes over; None where their number is not told."""
    if isinstance(node, ast.Name) and node.id in known:
        node = known[node.id]
    match node:
        case ast.List(elts=elts) | ast.Tuple(elts=elts):
            return None if any(isinstance(e, ast.Starred) for e in elts) else [*elts]
        case ast.Call(func=ast.Name(id="range"), args=args, keywords=[]):
            numbers = [literal(a) for a in args]
            if all(type(n) is int for n in numbers):
                return [ast.Constant(i) for i in range(*numbers)]  # type: ignore[arg-type]
        case ast.ListComp(elt=elt, generators=[one]) if not one.ifs:
            inner = _values(one.iter, known)
            made = [
                replaced(elt, bound)
                for v in inner or ()
                if (bound := _bound(one.target, v)) is not None
            ]
            return [_Texts().visit(m) for m in made] if inner is not None else None
        case ast.Call(func=ast.Name(id="enumerate"), args=[given], keywords=[]):
            inner = _values(given, known)
            if inner is not None:
                return [
                    ast.Tuple([ast.Constant(i), v], ast.Load())
                    for i, v in enumerate(inner)
                ]
        case ast.Call(func=ast.Name(id="zip"), args=[*args], keywords=[]):
            told = [_values(a, known) for a in args]
            count = min((len(t) for t in told if t is not None), default=None)
            if count is None:
                return None
            rows = [
                t if t is not None else [*_items(a, count)]
                for t, a in zip(told, args, strict=True)
            ]
            return [
                ast.Tuple([row[i] for row in rows], ast.Load()) for i in range(count)
            ]
    return None


def _items(node: ast.expr, count: int) -> Iterator[ast.expr]:
    """The first elements of a list of which nothing else is known."""
    first = 0
    match node:
        case ast.Subscript(
            value=value, slice=ast.Slice(lower=ast.Constant(int(at)), upper=None, step=None)
        ):  # fmt: skip
            node, first = value, at
    for i in range(count):
        yield ast.Subscript(cloned(node), ast.Constant(first + i), ast.Load())


def _bound(target: ast.expr, value: ast.expr) -> dict[str, ast.expr] | None:
    if isinstance(target, ast.Name):
        return {target.id: value}
    if not isinstance(target, ast.Tuple) or not isinstance(value, ast.Tuple):
        return None
    if len(target.elts) != len(value.elts):
        return None
    found: dict[str, ast.expr] = {}
    for one, part in zip(target.elts, value.elts, strict=True):
        inner = _bound(one, part)
        if inner is None:
            return None
        found |= inner
    return found


def _set(node: ast.stmt) -> tuple[str | None, ast.expr] | None:
    """The name that a statement gives a layer, None where it is computed, and the layer."""
    match node:
        case ast.Expr(value=ast.Call(func=ast.Name(id="setattr"), args=[o, title, v])):
            if not is_name(o, "self"):
                return None
        case ast.Expr(value=ast.Call(func=func, args=[title, v])):
            if self_attribute(func) not in _SETS:
                return None
        case _:
            return None
    said = literal(title)
    return (said if isinstance(said, str) else None), v


def _named(node: ast.stmt) -> ast.stmt:
    found = _set(node)
    if found is None or found[0] is None or not found[0].isidentifier():
        return node
    if self_attribute(node.value.func):  # type: ignore[attr-defined]
        # What is added by its name is read by it, too.
        return node
    target = ast.Attribute(ast.Name("self", ast.Load()), found[0], ast.Store())
    return ast.copy_location(ast.Assign([target], found[1]), node)


def _unread(start: ast.FunctionDef, known: dict[str, ast.expr]) -> None:
    """Leave out lists of names that nothing reads any more."""
    read = {
        p.id
        for p in walk(start)
        if isinstance(p, ast.Name) and isinstance(p.ctx, ast.Load)
    }
    start.body = [
        s
        for s in start.body
        if not (
            isinstance(s, ast.Assign)
            and isinstance(s.targets[0], ast.Name)
            and s.targets[0].id not in read
            and isinstance(s.value, ast.List | ast.ListComp)
            and s.value is known.get(s.targets[0].id)
            and _texts_alone(s.value)
        )
    ]


def _texts_alone(node: ast.expr) -> bool:
    parts = node.elts if isinstance(node, ast.List) else [node.elt]  # type: ignore[attr-defined]
    return all(
        isinstance(p, ast.JoinedStr)
        or (isinstance(p, ast.Constant) and isinstance(p.value, str))
        for p in parts
    )


class _Reads(NodeTransformer):
    """`getattr(self, "stage1")` by its name."""

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        match node:
            case ast.Call(func=ast.Name(id="getattr"), args=[owner, title]):
                said = literal(title)
                if is_name(owner, "self") and isinstance(said, str) and said.isidentifier():  # fmt: skip
                    return ast.copy_location(
                        ast.Attribute(owner, said, ast.Load()), node
                    )
        return node


class _Texts(NodeTransformer):
    """Texts that are computed of literals, as literals."""

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.expr:
        self.generic_visit(node)
        parts: list[str] = []
        for part in node.values:
            inner = part.value if isinstance(part, ast.FormattedValue) else part
            plain = not isinstance(part, ast.FormattedValue) or part.format_spec is None
            if not isinstance(inner, ast.Constant) or not plain:
                return node
            parts.append(str(inner.value))
        return ast.copy_location(ast.Constant("".join(parts)), node)

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        self.generic_visit(node)
        left, right = literal(node.left), literal(node.right)
        if not isinstance(left, str) or isinstance(right, ast.AST):
            return node
        if isinstance(node.op, ast.Mod):
            return ast.copy_location(ast.Constant(left % right), node)
        if isinstance(node.op, ast.Add) and isinstance(right, str):
            return ast.copy_location(ast.Constant(left + right), node)
        return node

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        values = [literal(a) for a in node.args]
        if any(isinstance(v, ast.AST) for v in values) or node.keywords:
            return node
        match node.func:
            case ast.Name(id="str") if len(values) == 1:
                return ast.copy_location(ast.Constant(str(values[0])), node)
            case ast.Attribute(value=ast.Constant(value=str(text)), attr="format"):
                return ast.copy_location(ast.Constant(text.format(*values)), node)
        return node
