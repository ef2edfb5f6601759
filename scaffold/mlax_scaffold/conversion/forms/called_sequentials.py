"""Lists that a call of haiku or flax fills for a sequence, as what the sequence does.

torso = [hk.Conv2D(8, 3), jax.nn.relu]              torso = x
torso += [Block(8) for _ in range(depth)]           torso = hk.Conv2D(8, 3)(torso)
y = hk.Sequential(torso)(x)              becomes    torso = jax.nn.relu(torso)
                                                    for _ in range(depth):
                                                        torso = Block(8)(torso)
                                                    y = torso
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from mlax_scaffold.conversion.source.kinds import framework_of
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import (
    AT_ONCE,
    is_name,
    name,
    names,
    replaced,
    targets,
)
from mlax_scaffold.conversion.source.walking import (
    NodeTransformer,
    cloned,
    located,
    walk,
)

_SEQUENTIAL = ("haiku.Sequential", "flax.linen.Sequential")


def without_called_sequentials(origin: Origin) -> None:
    """Write them so, in place, where a list is filled for one sequence that is called at once."""
    for node in origin.classes.values():
        if framework_of(origin, node) in ("flax", "haiku"):
            for method in node.body:
                if isinstance(method, ast.FunctionDef):
                    method.body = _written(origin, method.body)
    located(origin.tree)


def _written(origin: Origin, body: list[ast.stmt]) -> list[ast.stmt]:
    for at, part in enumerate(body):
        call = _called(origin, part) if isinstance(part, AT_ONCE) else None
        if call is None:
            continue
        local = call.func.args[0].id  # type: ignore[attr-defined]
        before = [s for s in body[:at] if local in names(s)]
        after = [s for s in body[at + 1 :] if local in names(s)]
        used = sum(is_name(p, local) for p in walk(part))
        if after or used != 1 or not before or not _begins(before[0], local):
            continue
        filling = [_filled(s, local) for s in before]
        others = body[body.index(before[0]) : at]
        bound = {t for s in others if s not in before for t in targets(s)}
        if any(f is None for f in filling) or bound & {
            n for s in before for n in names(s)
        }:
            continue
        first = ast.Assign([ast.Name(local, ast.Store())], call.args[0])
        made = [first, *(s for f in filling if f is not None for s in f)]
        for one in made:
            ast.copy_location(one, part)
        kept = [s for s in body[:at] if s not in before]
        written = _Replaced(call, name(local)).visit(part)
        return _written(origin, [*kept, *made, written, *body[at + 1 :]])
    return body


def _called(origin: Origin, node: ast.stmt) -> ast.Call | None:
    """The call of a sequence that is made of a name."""
    for part in walk(node):
        match part:
            case ast.Call(
                func=ast.Call(func=func, args=[ast.Name()]), args=[_], keywords=[]
            ) if origin.qualified(func) in _SEQUENTIAL:
                return part
    return None


def _begins(node: ast.stmt, local: str) -> bool:
    match node:
        case ast.Assign(targets=[ast.Name(id=bound)], value=ast.List()):
            return bound == local
    return False


def _filled(node: ast.stmt, local: str) -> list[ast.stmt] | None:
    """What the layers do that a statement puts into the list; None for one that does anything else."""
    match node:
        case ast.Assign(targets=[ast.Name(id=bound)], value=added) if bound == local:
            return _run(added, local)
        case ast.AugAssign(target=ast.Name(id=bound), op=ast.Add(), value=added) if (
            bound == local
        ):
            return _run(added, local)
        case ast.Expr(
            value=ast.Call(
                func=ast.Attribute(value=ast.Name(id=bound), attr=how), args=[added]
            )
        ) if bound == local and how in ("append", "extend"):
            several = how == "extend"
            return _run(added if several else ast.List([added], ast.Load()), local)
        case ast.For(orelse=[]) | ast.If():
            copied = cloned(node)
            for field in ("body", "orelse"):
                inner = [_filled(s, local) for s in getattr(node, field)]
                if any(i is None for i in inner):
                    return None
                setattr(copied, field, [s for i in inner if i is not None for s in i])
            return [copied]
    return None


def _run(added: ast.expr, local: str) -> list[ast.stmt] | None:
    match added:
        case ast.List(elts=elements) | ast.Tuple(elts=elements):
            if any(local in names(e) for e in elements):
                return None
            return [s for e in elements for s in _applied(e, local)]
        case ast.ListComp(elt=element, generators=[ast.comprehension(ifs=[]) as each]):
            if local in names(added):
                return None
            loop = ast.For(each.target, each.iter, [*_applied(element, local)], [])
            return [loop]
    return None


def _applied(layer: ast.expr, local: str) -> Iterator[ast.stmt]:
    match layer:
        case ast.Starred():
            # Those of another list, one by one.
            inner = ast.Call(name("layer"), [name(local)], [])
            stored = ast.Assign([ast.Name(local, ast.Store())], inner)
            yield ast.For(ast.Name("layer", ast.Store()), layer.value, [stored], [])
            return
        case ast.Lambda(args=ast.arguments(args=[ast.arg(arg=given)]), body=body):
            made = replaced(body, {given: name(local)})
        case _:
            made = ast.Call(cloned(layer), [name(local)], [])
    yield ast.Assign([ast.Name(local, ast.Store())], made)


class _Replaced(NodeTransformer):
    def __init__(self, call: ast.Call, by: ast.expr):
        self.call, self.by = call, by

    def visit_Call(self, node: ast.Call) -> ast.expr:
        if node is self.call:
            return ast.copy_location(self.by, node)
        self.generic_visit(node)
        return node
