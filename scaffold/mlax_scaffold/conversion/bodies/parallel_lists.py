"""Lists of layers that a loop goes over together, of which one has the sizes of another one's passes.

convs = [Conv(f) for f in features]; norms = [Norm() for _ in features]

A norm after each layer is as wide as that one: its list goes over `features` by the same name.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence

from mlax_scaffold.conversion.source.trees import (
    expression,
    is_name,
    name,
    names,
    replaced,
    same,
    self_attribute,
    targets,
)
from mlax_scaffold.conversion.source.walking import cloned, walk


def _numbered(node: ast.For) -> list[str]:
    """The lists that a loop takes an element of in each pass, by the number of the pass: `self.norms[i]`."""
    match node:
        case ast.For(
            target=ast.Name(id=number) | ast.Tuple(elts=[ast.Name(id=number), _]),
            iter=ast.Call(func=ast.Name(id="range" | "enumerate"), args=[_]),
        ):
            pass
        case _:
            return []
    found = [
        self_attribute(part.value)
        for statement in node.body
        for part in walk(statement)
        if isinstance(part, ast.Subscript) and is_name(part.slice, number)
    ]
    return [title for title in dict.fromkeys(found) if title is not None]


def with_shared_passes(
    loop: ast.For,
    setup: Sequence[ast.stmt],
    lists: Sequence[str],
    find: Callable[[ast.expr], ast.expr],
) -> None:
    """Give each of these lists the names of another one's passes that its sizes are told by, in place.

    Args:
        loop: what goes over them.
        setup: what declares them.
        lists: the attributes that the loop goes over together.
        find: the size that another one stands for.
    """
    together = {*lists, *_numbered(loop)}
    declared = [
        part.value.body if isinstance(part.value, ast.IfExp) else part.value
        for part in setup
        if isinstance(part, ast.Assign) and self_attribute(part.targets[0]) in together
    ]
    made = [
        value
        for value in declared
        if isinstance(value, ast.ListComp) and len(value.generators) == 1
    ]
    for one in made:
        generator = one.generators[0]
        for other in made:
            passes = other.generators[0]
            missing = set(targets(passes.target)) - set(targets(generator.target))
            if other is one or not missing & set(names(find(one.elt))):
                continue
            match generator.target, passes.target:
                case ast.Name(id=own), ast.Name(id=theirs) if same(
                    generator.iter, passes.iter
                ):
                    one.elt = replaced(one.elt, {own: name(theirs)})
                    generator.target = cloned(passes.target)
                case _:
                    both = [generator.target, cloned(passes.target)]
                    generator.target = ast.Tuple(both, ast.Store())
                    generator.iter = expression(
                        "zip(a, b)", a=generator.iter, b=passes.iter
                    )
