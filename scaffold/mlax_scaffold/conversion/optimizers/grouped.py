"""Groups of weights with a transformation each, as transformations of which each masks the others.

optax.multi_transform({"matrix": a, "other": b}, labels)

becomes

optax.chain(optax.masked(a, is_matrix), optax.masked(b, is_other))
"""

from __future__ import annotations

import ast
from collections.abc import Mapping

from mlax_scaffold.conversion.optimizers.optimizer_chains import mapped_leaf
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import literal, negated
from mlax_scaffold.conversion.source.walking import cloned, located

_GROUPS = ("optax.multi_transform", "optax.partition", "optax.transforms.partition")


def as_chain(
    origin: Origin,
    node: ast.Call,
    known: Mapping[str, ast.expr],
    functions: Mapping[str, ast.FunctionDef],
) -> ast.Call:
    """Groups as a chain, where each weight tells its group; any other call as it is."""
    if origin.qualified(node.func) not in _GROUPS:
        return node
    given = dict(zip(("transforms", "param_labels"), node.args, strict=False))
    given |= {str(k.arg): k.value for k in node.keywords}
    given = {k: known.get(getattr(v, "id", ""), v) for k, v in given.items()}
    groups, labels = given.get("transforms"), given.get("param_labels")
    mapped = mapped_leaf(origin, labels, functions) if labels is not None else None
    if not isinstance(groups, ast.Dict) or mapped is None or len(given) != 2:
        return node
    tree_map, leaf = mapped
    library = getattr(node.func, "value", None)
    if library is None:
        return node
    parts: list[ast.expr] = []
    for key, transformation in zip(groups.keys, groups.values, strict=True):
        name = literal(key) if key is not None else None
        condition = _is(leaf.body, name)
        if condition is None:
            return node
        chosen = ast.Lambda(leaf.args, condition)
        whole = ast.Name("params", ast.Load())
        made = ast.Call(cloned(tree_map), [chosen, whole], [])
        mask = ast.Lambda(_one("params"), made)
        func = ast.Attribute(cloned(library), "masked", ast.Load())
        parts.append(ast.Call(func, [transformation, mask], []))
    chain = ast.Attribute(cloned(library), "chain", ast.Load())
    return located(ast.copy_location(ast.Call(chain, parts, []), node))


def _one(name: str) -> ast.arguments:
    return ast.arguments([], [ast.arg(name)], None, [], [], None, [])


def _is(label: ast.expr, name: object) -> ast.expr | None:
    """Whether a label is this one; None where that is not told by conditions alone."""
    if isinstance(label, ast.Constant):
        return ast.Constant(label.value == name)
    if not isinstance(label, ast.IfExp):
        return None
    body, orelse = _is(label.body, name), _is(label.orelse, name)
    if body is None or orelse is None:
        return None
    known = literal(body), literal(orelse)
    if known == (True, False):
        return cloned(label.test)
    if known == (False, True):
        return negated(cloned(label.test))
    if known in ((True, True), (False, False)):
        return body
    test, other = cloned(label.test), negated(cloned(label.test))
    match known:
        case (True, _):
            return ast.BoolOp(ast.Or(), [test, orelse])
        case (False, _):
            return ast.BoolOp(ast.And(), [other, orelse])
        case (_, True):
            return ast.BoolOp(ast.Or(), [other, body])
        case (_, False):
            return ast.BoolOp(ast.And(), [test, body])
    return ast.IfExp(test, body, orelse)
