"""Keys of which a method takes all but a few together, `*keys, last = jax.random.split(key, n + 1)`.

*keys, last = jax.random.split(key, depth + 1)
becomes
keys = jax.random.split(key, depth)
last = jax.random.split(key, 1)

Of those that are taken one by one, `keys.pop()`, each is `keys[0]`. How many there are is what counts: a
layer draws by the key that it has.
"""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.lists.key_loops import is_split
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import folded
from mlax_scaffold.conversion.source.walking import (
    NodeTransformer,
    cloned,
    located,
    walk,
)


def without_starred_keys(origin: Origin) -> None:
    """Write them so in methods, in place."""
    for node in origin.classes.values():
        for method in node.body:
            if isinstance(method, ast.FunctionDef):
                apart = [_apart(origin, part) for part in method.body]
                method.body = [made for parts in apart for made in parts]
                pops = _Pops(_split_names(origin, method))
                method.body = [pops.visit(part) for part in method.body]


def _split_names(origin: Origin, method: ast.FunctionDef) -> set[str]:
    """The names that stand for several keys, and for nothing else."""
    kept: dict[str, bool] = {}
    for part in walk(method):
        match part:
            case ast.Assign(targets=[ast.Name(id=local)], value=value):
                split = is_split(origin, value)
                kept[local] = split and kept.get(local, True)
    return {local for local, split in kept.items() if split}


class _Pops(NodeTransformer):
    """Takes no key away from the others."""

    def __init__(self, keys: set[str]):
        self.keys = keys

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        match node:
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id=local) as keys, attr="pop")
            ) if local in self.keys:
                made = ast.Subscript(keys, ast.Constant(0), ast.Load())
                return located(ast.copy_location(made, node))
        return node


def _apart(origin: Origin, node: ast.stmt) -> list[ast.stmt]:
    match node:
        case ast.Assign(
            targets=[ast.Tuple(elts=elements) | ast.List(elts=elements)],
            value=ast.Call() as call,
        ) if is_split(origin, call):
            several = [e for e in elements if isinstance(e, ast.Starred)]
        case _:
            return [node]
    given = [*call.args[1:], *(k.value for k in call.keywords if k.arg == "num")]
    if len(several) != 1 or len(given) != 1 or len(elements) < 2:
        return [node]
    [starred], [count] = several, given
    others = [e for e in elements if e is not starred]
    rest = ast.BinOp(cloned(count), ast.Sub(), ast.Constant(len(others)))
    one = ast.Tuple(others, ast.Store()) if len(others) > 1 else others[0]
    made = [
        ast.Assign([starred.value], _split(call, folded(rest))),
        ast.Assign([one], _split(call, ast.Constant(len(others)))),
    ]
    for part in made:
        for inner in walk(part):
            ast.copy_location(inner, node)
    return [*made]


def _split(call: ast.Call, count: ast.expr) -> ast.Call:
    return ast.Call(call.func, [cloned(call.args[0]), count], [])
