"""How long the last axes of a method's arrays are, where its statements say it in terms of fields."""

from __future__ import annotations

import ast
from collections.abc import Collection, Mapping, Sequence

from mlax_scaffold.model.walking import walk
from mlax_scaffold.reader.axes.layers import ends_in, keeps, layer_of
from mlax_scaffold.reader.axes.operations import by_element, joined
from mlax_scaffold.reader.axes.sizes import Scope

_Sizes = dict[str, ast.expr]


class LastAxes:
    """Follows the statements of a method in their order, but for those in branches and loops.

    After `x = jnp.concatenate([x, y], axis=-1)` the last axis of `x` is as long as both were.
    """

    def __init__(
        self,
        scope: Scope,
        method: ast.FunctionDef,
        axes: Mapping[str, ast.expr],
        fields: Collection[str],
    ):
        self.scope, self.method, self.fields = scope, method, fields
        self.given = axes
        """The last axes of inputs."""

    def of(self, name: str, node: ast.expr) -> ast.expr | None:
        """That of a local where an expression reads it; None where nothing says it."""
        sizes = dict(self.given)
        self._run(self.method.body, sizes, node)
        return sizes.get(name)

    def _run(
        self, body: Sequence[ast.stmt], sizes: _Sizes, until: ast.expr | None
    ) -> None:
        """What statements set, up to the one that holds an expression."""
        for statement in body:
            inside = until is not None and _holds(statement, until)
            match statement:
                case ast.Assign(targets=[ast.Name(id=target)], value=value):
                    if inside:
                        return
                    found = self._last(value, sizes)
                    sizes.pop(target, None)
                    if found is not None:
                        sizes[target] = found
                case ast.If(body=first, orelse=other):
                    if until and inside:
                        held = any(_holds(part, until) for part in first)
                        self._run(first if held else other, sizes, until)
                        return
                    ways = [dict(sizes), dict(sizes)]
                    self._run(first, ways[0], None)
                    self._run(other, ways[1], None)
                    for name in _stored(statement):
                        kept = [ast.dump(w[name]) for w in ways if name in w]
                        sizes.pop(name, None)
                        if len(kept) == 2 and kept[0] == kept[1]:
                            sizes[name] = ways[0][name]
                case _:
                    plain = isinstance(statement, ast.Return | ast.Expr)
                    if not (inside and plain):
                        for name in _stored(statement):
                            sizes.pop(name, None)
                    if inside:
                        return

    def _last(self, node: ast.expr, sizes: _Sizes) -> ast.expr | None:
        match node:
            case ast.Name(id=name):
                return sizes.get(name)
            case ast.BinOp(op=ast.MatMult()):
                return None
            case ast.BinOp(left=left, right=right):
                found = [self._last(side, sizes) for side in (left, right)]
                if None not in found and len({ast.dump(f) for f in found if f}) > 1:
                    return None
                known = found[0] or found[1]
                # An axis of size 1 is stretched to what is unknown.
                alone = isinstance(known, ast.Constant) and known.value == 1
                return None if alone and None in found else known
            case ast.Call(func=function, args=[first, *_]) if by_element(function):
                return self._last(first, sizes)
            case ast.Call() if (parts := joined(node)) is not None:
                return self._joined(*parts, sizes)
            case ast.Call(func=function, args=[first, *_]):
                return self._of_layer(function, first, sizes)
        return None

    def _joined(
        self, parts: list[ast.expr], axis: int | None, sizes: _Sizes
    ) -> ast.expr | None:
        lengths = [self._last(part, sizes) for part in parts]
        if axis != -1 or None in lengths or not lengths:
            return None
        total, *others = [length for length in lengths if length]
        for other in others:
            total = ast.BinOp(total, ast.Add(), other)
        return total

    def _of_layer(
        self, function: ast.expr, given: ast.expr, sizes: _Sizes
    ) -> ast.expr | None:
        layer = layer_of(self.scope, function)
        if layer is None:
            return None
        if text := ends_in(self.scope, layer):
            return _OfFields(self.fields).visit(ast.parse(text, mode="eval").body)
        return self._last(given, sizes) if keeps(layer) == (0, True) else None


class _OfFields(ast.NodeTransformer):
    """The sizes in the text of a shape as what they are called in the class."""

    def __init__(self, fields: Collection[str]):
        self.fields = fields

    def visit_Name(self, node: ast.Name) -> ast.AST:
        if node.id not in self.fields:
            return node
        return ast.Attribute(ast.Name("self", ast.Load()), node.id, ast.Load())


def _holds(statement: ast.stmt, node: ast.expr) -> bool:
    last = statement.end_lineno or statement.lineno
    return statement.lineno <= node.lineno <= last


def _stored(statement: ast.stmt) -> list[str]:
    return [
        n.id
        for n in walk(statement)
        if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)
    ]
