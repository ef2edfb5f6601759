"""Loops over PRNG keys beside something else, as loops over that alone."""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import (
    is_name,
    replaced,
    self_attribute,
    targets,
    with_names,
)
from mlax_scaffold.conversion.source.vocabulary import KEYS
from mlax_scaffold.conversion.source.walking import walk

_SPLIT = "jax.random.split"
_KEYS = (
    *("random.split", "random.fold_in", "random.PRNGKey", "random.key"),
    *("make_rng", "next_rng_key", "next_rng_keys"),
)
"""What makes keys, as names of it end."""


def splits(origin: Origin, node: ast.AST) -> bool:
    """Whether an expression splits a key."""
    calls = (n for n in walk(node) if isinstance(n, ast.Call))
    return any(origin.qualified(call.func) == _SPLIT for call in calls)


def is_split(origin: Origin, node: ast.expr) -> bool:
    """Whether an expression is one that splits a key, and nothing else."""
    return isinstance(node, ast.Call) and origin.qualified(node.func) == _SPLIT


def number_of_keys(call: ast.Call) -> ast.expr:
    """How many keys a call of `split` makes."""
    named = [k.value for k in call.keywords if k.arg == "num"]
    return next(iter([*call.args[1:], *named]), ast.Constant(2))


def holds_keys(origin: Origin, node: ast.expr) -> bool:
    """Whether a value is a key, or several, and nothing that is computed of them."""
    match node:
        case ast.Subscript(value=value):
            return holds_keys(origin, value)
        case ast.IfExp(body=body, orelse=orelse):
            return holds_keys(origin, body) or holds_keys(origin, orelse)
        case ast.Tuple(elts=[*elts]) if elts:
            return all(holds_keys(origin, e) for e in elts)
        case ast.Call(func=ast.Name(id="iter" | "list" | "tuple"), args=[inner]):
            return holds_keys(origin, inner)
        case ast.Call(func=ast.Attribute(value=owner), args=[]) if self_attribute(
            owner
        ) == "rngs" or is_name(owner, "rngs"):
            return True
        case ast.Call(func=func):
            text = origin.qualified(func) or ast.unparse(func)
            return text.endswith(_KEYS)
    return False


def without_key_loops(origin: Origin, node: ast.ClassDef) -> None:
    """Leave keys out of what loops go over, in place: a layer draws by the key that it has."""
    for method in node.body:
        if isinstance(method, ast.FunctionDef):
            _method(origin, method)


def _method(origin: Origin, method: ast.FunctionDef) -> None:
    given = {a.arg for a in (*method.args.args, *method.args.kwonlyargs)}
    key = next((k for k in KEYS if k in given), None)
    split = {
        t.id
        for part in walk(method)
        if isinstance(part, ast.Assign) and splits(origin, part.value)
        for t in part.targets
        if isinstance(t, ast.Name)
    }
    if key is None or not split:
        return
    gone = _all_left_out(method, split)
    if gone:
        bound = dict.fromkeys(gone, ast.Name(key, ast.Load()))
        method.body = [with_names(part, bound) for part in method.body]


def without_keys_beside(node: ast.expr, split: set[str], key: str) -> ast.expr:
    """An expression that goes over no keys beside something else, which have these names."""
    gone = _all_left_out(node, split)
    return replaced(node, dict.fromkeys(gone, ast.Name(key, ast.Load())))


def _all_left_out(node: ast.AST, split: set[str]) -> set[str]:
    gone: set[str] = set()
    for part in walk(node):
        if isinstance(part, ast.For | ast.comprehension):
            gone |= _left_out(part, split)
    return gone


def _left_out(loop: ast.For | ast.comprehension, split: set[str]) -> set[str]:
    """Leave keys out of a loop; the names that they had."""
    source, target = loop.iter, loop.target
    if not isinstance(source, ast.Call) or not is_name(source.func, "zip"):
        return set()
    if not isinstance(target, ast.Tuple) or len(target.elts) != len(source.args):
        return set()
    pairs = list(zip(target.elts, source.args, strict=True))
    kept = [(t, a) for t, a in pairs if not _is_keys(a, split)]
    if not kept or len(kept) == len(pairs):
        return set()
    if len(kept) == 1:
        loop.target, loop.iter = kept[0]
    else:
        target.elts, source.args = map(list, zip(*kept, strict=True))
    return {n for t, a in pairs if _is_keys(a, split) for n in targets(t)}


def _is_keys(node: ast.expr, split: set[str]) -> bool:
    inner = node.value if isinstance(node, ast.Subscript) else node
    return isinstance(inner, ast.Name) and inner.id in split
