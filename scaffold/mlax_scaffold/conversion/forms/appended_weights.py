"""Lists of arrays that loops of a constructor fill, each as one comprehension: they are weights.

self.scales = []                                        self.scales = [jnp.ones(()) for _ in range(n)]
for i in range(n):                          becomes     for i in range(n):
    self.layers.append(Layer(width))                        self.layers.append(Layer(width))
    self.scales.append(jnp.ones(()))
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from mlax_scaffold.conversion.lists.key_loops import is_split
from mlax_scaffold.conversion.source.arguments_of import method_of
from mlax_scaffold.conversion.source.kinds import framework_of
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import names, self_attribute, targets
from mlax_scaffold.conversion.source.walking import cloned, walk

_ARRAYS = ("jax.numpy.", "jax.random.", "jax.nn.initializers.", "flax.nnx.Param")


def without_appended_weights(origin: Origin) -> None:
    """Write them so in equinox and nnx, in place."""
    for node in origin.classes.values():
        start = method_of(node, "__init__")
        if start is not None and framework_of(origin, node) in ("equinox", "nnx"):
            for loop in [p for p in start.body if isinstance(p, ast.For)]:
                for appended in [*loop.body]:
                    _write(origin, start, loop, appended)


def _write(
    origin: Origin, start: ast.FunctionDef, loop: ast.For, node: ast.stmt
) -> None:
    match node:
        case ast.Expr(
            value=ast.Call(
                func=ast.Attribute(value=place, attr="append"),
                args=[element],
                keywords=[],
            )
        ) if self_attribute(place):
            attribute = self_attribute(place)
        case _:
            return
    used = [p for s in start.body for p in walk(s) if self_attribute(p) == attribute]
    begun = [s for s in start.body if _begins(s, attribute)]
    if len(used) != 2 or len(begun) != 1 or not _is_array(origin, element):
        return
    if start.body.index(begun[0]) > start.body.index(loop):
        return
    if names(element) & {*_changed(origin, loop)}:
        return
    comprehension = ast.comprehension(cloned(loop.target), cloned(loop.iter), [], 0)
    [first] = begun
    assert isinstance(first, ast.Assign)
    start.body.remove(first)
    made = ast.Assign(first.targets, ast.ListComp(element, [comprehension]))
    for part in walk(made):
        ast.copy_location(part, node)
    start.body.insert(start.body.index(loop) + 1, made)
    loop.body.remove(node)
    if not loop.body:
        start.body.remove(loop)


def _begins(node: ast.stmt, attribute: str | None) -> bool:
    match node:
        case ast.Assign(targets=[target], value=ast.List(elts=[])):
            return self_attribute(target) == attribute
    return False


def _is_array(origin: Origin, node: ast.expr) -> bool:
    """Whether an expression is computed by functions of arrays."""
    match node:
        case ast.Call(func=ast.Call(func=func)) | ast.Call(func=func):
            return origin.qualified(func).startswith(_ARRAYS)
        case ast.BinOp(left=left, right=right):
            return _is_array(origin, left) or _is_array(origin, right)
        case ast.UnaryOp(operand=inner):
            return _is_array(origin, inner)
    return False


def _changed(origin: Origin, loop: ast.For) -> Iterator[str]:
    """What the passes of a loop bind, other than keys."""
    for part in walk(loop):
        if isinstance(part, ast.Assign) and is_split(origin, part.value):
            continue
        if isinstance(part, ast.stmt) and part is not loop:
            yield from _bound(part)


def _bound(node: ast.stmt) -> Iterator[str]:
    match node:
        case ast.Assign(targets=places):
            for place in places:
                yield from targets(place)
        case ast.AugAssign(target=place) | ast.AnnAssign(target=place):
            yield from targets(place)
        case ast.For(target=place):
            yield from targets(place)
