"""Loops whose last line says what a size is in the next pass, as loops over all of these sizes.

d = n_in                                     for d, w in zip((n_in, *widths), widths):
for w in widths:                    becomes      layers.append(dense(key, d, w))
    layers.append(dense(key, d, w))          d_2 = widths[-1]
    d = w
"""

from __future__ import annotations

import ast
from collections.abc import Collection
from dataclasses import dataclass

from mlax_scaffold.conversion.source.trees import expression, is_name, names, targets
from mlax_scaffold.conversion.source.walking import cloned, walk


@dataclass(frozen=True)
class Carried:
    """A size that a loop carries."""

    local: str
    loop: ast.comprehension
    """What goes over the size, too."""
    after: ast.expr
    """What it is behind the loop."""


def carried_size(node: ast.For, begun: Collection[ast.Assign]) -> Carried | None:
    """The size that a loop carries from pass to pass; None where it carries none.

    Args:
        node: the loop.
        begun: what is assigned before it.
    """
    match node.body[-1]:
        case ast.Assign(targets=[ast.Name(id=local)], value=later):
            first = [p.value for p in begun if is_name(p.targets[0], local)]
        case _:
            return None
    bound = {t for part in node.body for t in targets(part)} | {local}
    if not first or names(later) & bound:
        return None
    own = {*targets(node.target)}
    if not names(later) & own:
        return _told(node, local, first[-1], later)
    source = _source(node.target, node.iter, later)
    if source is None:
        return None
    begins = expression("(first, *rest)", first=first[-1], rest=source)
    target = ast.Tuple([ast.Name(local, ast.Store()), node.target], ast.Store())
    over = expression("zip(a, b)", a=begins, b=node.iter)
    made = ast.comprehension(cloned(target), over, [], 0)
    return Carried(local, made, expression("s[-1]", s=cloned(source)))


def _told(
    node: ast.For, local: str, first: ast.expr, later: ast.expr
) -> Carried | None:
    """A size that is one in the first pass, and another one in all others."""
    match node.iter:
        case ast.Call(func=func, args=[count]) if is_name(func, "range"):
            pass
        case _:
            return None
    text = "(first, *[later] * (count - 1))"
    over = expression(text, first=first, later=later, count=count)
    target: ast.expr = ast.Name(local, ast.Store())
    if isinstance(node.target, ast.Name) and _reads(node, node.target.id):
        over = expression("enumerate(s)", s=over)
        target = ast.Tuple([node.target, target], ast.Store())
    made = ast.comprehension(cloned(target), over, [], 0)
    return Carried(local, made, later)


def _reads(node: ast.For, counted: str) -> bool:
    """Whether a loop does more with its number than to choose keys."""
    keys = {
        id(p)
        for part in walk(node)
        if isinstance(part, ast.Subscript) and "key" in ast.unparse(part.value)
        for p in walk(part)
    }
    return any(
        is_name(p, counted) and id(p) not in keys for s in node.body for p in walk(s)
    )


def _source(target: ast.expr, over: ast.expr, wanted: ast.expr) -> ast.expr | None:
    """What a loop goes over under a name."""
    match target, over:
        case ast.Name(), _ if ast.unparse(target) == ast.unparse(wanted):
            return over
        case ast.Tuple(elts=[_, inner]), ast.Call(
            func=ast.Name(id="enumerate"), args=[source]
        ):
            return _source(inner, source, wanted)
        case ast.Tuple(elts=[*inner]), ast.Call(
            func=ast.Name(id="zip"), args=[*sources]
        ) if len(inner) == len(sources):
            for one, source in zip(inner, sources, strict=True):
                found = _source(one, source, wanted)
                if found is not None:
                    return found
    return None
