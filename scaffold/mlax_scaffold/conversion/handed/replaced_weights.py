"""Weights of layers of equinox that take the place of others, `eqx.tree_at`, as what the layer begins with.

def head(n, m, key):
    layer = eqx.nn.Linear(n, m, key=key)
    w = jax.nn.initializers.orthogonal(0.01)(key, (m, n))
    return eqx.tree_at(lambda l: l.weight, layer, w)

self.head = head(8, 2, key)        becomes a layer whose kernel begins by `orthogonal(0.01)`
"""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.handed.layer_functions import bound_arguments
from mlax_scaffold.conversion.lists.key_loops import holds_keys
from mlax_scaffold.conversion.source.arguments_of import method_of
from mlax_scaffold.conversion.source.notes import Notes
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import (
    expression,
    is_name,
    replaced,
    same,
    without_docstring,
)
from mlax_scaffold.conversion.source.vocabulary import BEGUN
from mlax_scaffold.conversion.source.walking import NodeTransformer, located, walk

_REPLACE = "equinox.tree_at"
_WEIGHTS = {"weight": "kernel_initializer", "bias": "bias_initializer"}
_ARRAYS = {
    "zeros": "zeros_(w)",
    "zeros_like": "zeros_(w)",
    "ones": "ones_(w)",
    "ones_like": "ones_(w)",
    "full": "constant_(w, v)",
    "full_like": "constant_(w, v)",
}
_RULES = {
    "orthogonal": "orthogonal_(w, v)",
    "normal": "normal_(w, std=v)",
    "constant": "constant_(w, v)",
}
"""Rules of jax that mean the same for a kernel whose axes are in the other order."""


def without_replaced_weights(origin: Origin, node: ast.ClassDef, notes: Notes) -> None:
    """Write the constructor of a class so, in place; other numbers than those of such rules are told."""
    start = method_of(node, "__init__")
    if start is None or not origin.uses("equinox"):
        return
    _Replaced(origin, notes).visit(start)
    located(start)


class _Replaced(NodeTransformer):
    def __init__(self, origin: Origin, notes: Notes):
        self.origin, self.notes = origin, notes

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        made = _returned(self.origin, node) or node
        layer = self._layer(made, node)
        return node if layer is None else ast.copy_location(layer, node)

    def _layer(self, made: ast.Call, node: ast.Call) -> ast.Call | None:
        """The layer whose weights are replaced, by one call or by several ones around each other."""
        if self.origin.qualified(made.func) != _REPLACE or len(made.args) != 3:
            return None
        where, layer, value = made.args
        if not isinstance(layer, ast.Call):
            return None
        inner = layer
        if self.origin.qualified(layer.func) == _REPLACE:
            inner = self._layer(layer, node)
        if inner is None or not self._begun(where, inner, value, node):
            return None
        return inner

    def generic_visit(self, node: ast.AST) -> ast.AST:
        super().generic_visit(node)
        for field in ("body", "orelse"):
            block = getattr(node, field, None)
            if isinstance(block, list):
                setattr(node, field, self._block(block) or [ast.Pass()] * bool(block))
        return node

    def _block(self, block: list[ast.stmt]) -> list[ast.stmt]:
        """Statements without those that replace weights of what one before them makes."""
        made: list[ast.stmt] = []
        for part in block:
            match part:
                case ast.Assign(
                    targets=[target],
                    value=ast.Call(func=func, args=[where, layer, value]),
                ) if self.origin.qualified(func) == _REPLACE:
                    call = _bound(made, layer)
                    if call and self._begun(where, call, value, part):
                        if _reads(target, layer):
                            continue
                        part.value = layer
            made.append(part)
        return made

    def _begun(
        self, where: ast.expr, layer: ast.Call, value: ast.expr, node: ast.AST
    ) -> bool:
        """Whether all that is replaced are weights, with which the layer begins then, or is said not to."""
        places = _places(where)
        values = value.elts if isinstance(value, ast.Tuple | ast.List) else [value]
        if not places or len(places) != len(values):
            return False
        for place, numbers in zip(places, values, strict=True):
            rule = _rule(self.origin, numbers) if place in _WEIGHTS else None
            if rule is not None:
                layer.keywords.append(ast.keyword(f"{BEGUN}{_WEIGHTS[place]}", rule))
                continue
            self.notes.remark(
                node,
                f"`{place}` of `{ast.unparse(layer.func)}` begins with other numbers here",
                "give the weight an initializer that makes these numbers",
            )
        return True


def _returned(origin: Origin, node: ast.Call) -> ast.Call | None:
    """What a function of the file returns of a layer, where that has weights replaced."""
    function = origin.functions.get(getattr(node.func, "id", ""))
    known = bound_arguments(function, node) if function is not None else None
    if function is None or known is None:
        return None
    *body, last = without_docstring(function.body)
    for part in body:
        match part:
            case ast.Assign(targets=[ast.Name(id=local)], value=value):
                known[local] = _written_out(value, known)
            case ast.Assign(value=value) if holds_keys(origin, value):
                pass
            case _:
                return None
    value = last.value if isinstance(last, ast.Return) else None
    made = _written_out(value, known) if value is not None else None
    if not isinstance(made, ast.Call) or origin.qualified(made.func) != _REPLACE:
        return None
    return made


def _written_out(value: ast.expr, known: dict[str, ast.expr]) -> ast.expr:
    """An expression without the names that are known; what functions in it call their own stays."""
    own = {
        given.arg
        for part in walk(value)
        if isinstance(part, ast.Lambda)
        for given in part.args.args
    }
    match value:
        case ast.Call(func=func, args=[ast.Lambda() as where, *rest], keywords=named):
            # The first one chooses weights, and calls the layer as it likes.
            inner = ast.Call(func, rest, named)
            made = replaced(inner, known)
            if isinstance(made, ast.Call):
                made.args.insert(0, where)
                return ast.copy_location(made, value)
    free = {title: made for title, made in known.items() if title not in own}
    return replaced(value, free)


def _reads(target: ast.expr, layer: ast.expr) -> bool:
    return ast.unparse(target) == ast.unparse(layer)


def _bound(before: list[ast.stmt], layer: ast.expr) -> ast.Call | None:
    """The call that made what a name or an attribute stands for."""
    for part in reversed(before):
        match part:
            case ast.Assign(targets=[target], value=value) if _reads(target, layer):
                return value if isinstance(value, ast.Call) else None
    return None


def _places(where: ast.expr) -> list[str]:
    """The weights that a function of a layer chooses, by their names in it; none where it chooses others."""
    match where:
        case ast.Lambda(args=ast.arguments(args=[given]), body=body):
            chosen = body.elts if isinstance(body, ast.Tuple | ast.List) else [body]
            found = [_place(part, given.arg) for part in chosen]
            return found if all(found) else []
    return []


def _place(node: ast.expr, layer: str) -> str:
    if not isinstance(node, ast.Attribute) or node.attr not in _WEIGHTS:
        return ""
    inner: ast.expr = node.value
    while isinstance(inner, ast.Attribute | ast.Subscript):
        inner = inner.value
    if not is_name(inner, layer):
        return ""
    return node.attr if same(inner, node.value) else ast.unparse(node)


def _rule(origin: Origin, node: ast.expr) -> ast.expr | None:
    """The function that fills a weight so; None for other numbers."""
    match node:
        case ast.BinOp(
            left=ast.Call(func=func) as drawn, op=ast.Mult() | ast.Div() as op, right=by
        ) if origin.qualified(func) == "jax.random.normal" and len(drawn.args) < 3:
            scale = by if isinstance(op, ast.Mult) else expression("1 / v", v=by)
            return expression("normal_(w, std=v)", v=scale)
        case ast.BinOp(left=by, op=ast.Mult(), right=ast.Call() as drawn):
            return _rule(origin, ast.BinOp(drawn, ast.Mult(), by))
        case ast.Call(func=func, args=given, keywords=named) if (
            origin.qualified(func) in _DRAWN
        ):
            return _drawn(_DRAWN[origin.qualified(func)], given, named)
        case ast.Call(func=ast.Call(func=func, args=given, keywords=named)):
            module, _, title = origin.qualified(func).rpartition(".")
            values = [*given, *(k.value for k in named)]
            if module == "jax.nn.initializers" and title in _RULES and len(values) < 2:
                number = values[0] if values else ast.Constant(_DEFAULTS[title])
                return expression(_RULES[title], v=number)
        case ast.Call(func=func, args=given):
            module, _, title = origin.qualified(func).rpartition(".")
            if module in ("jax.numpy", "numpy") and title in _ARRAYS:
                number = given[1] if len(given) > 1 else ast.Constant(0.0)
                return expression(_ARRAYS[title], v=number)
    return None


def _drawn(
    rule: str, args: list[ast.expr], named: list[ast.keyword]
) -> ast.expr | None:
    """What draws numbers, `jax.random.uniform(key, shape, minval=-a, maxval=a)`, as a rule."""
    given = dict(zip(_PLACES, args, strict=False))
    given |= {str(k.arg): k.value for k in named}
    if len(args) > len(_PLACES) or given.keys() - {*_PLACES}:
        return None
    if rule.startswith("normal") and given.keys() & {"minval", "maxval"}:
        return None
    low = given.get("minval", ast.Constant(0.0))
    high = given.get("maxval", ast.Constant(1.0))
    return expression(rule, a=low, b=high)


_PLACES = ("key", "shape", "dtype", "minval", "maxval")
_DRAWN = {
    "jax.random.uniform": "uniform_(w, a, b)",
    "jax.random.normal": "normal_(w)",
}

_DEFAULTS = {"orthogonal": 1.0, "normal": 0.01, "constant": 0.0}
