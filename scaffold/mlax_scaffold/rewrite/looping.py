"""What loops and comprehensions run over, and how a loop over keys was before it had them."""

from __future__ import annotations

from typing import TypeVar

import libcst as cst

from mlax_scaffold.rewrite.nodes import code, self_attribute
from mlax_scaffold.rewrite.traversal import parts

Loop = TypeVar("Loop", bound=cst.For | cst.CompFor)
Comprehension = cst.ListComp | cst.SetComp | cst.DictComp | cst.GeneratorExp


def looped(loop: cst.For | cst.CompFor) -> list[tuple[str, str]]:
    """The variables of a loop that come from fields, each with its field."""
    pairs = _pairs(loop.target, loop.iter)
    found = [(code(target), self_attribute(iterated)) for target, iterated in pairs]
    return [(variable, name) for variable, name in found if name]


def backwards(loop: cst.For) -> set[str]:
    """The variables of a loop that run over their layers from the last to the first."""
    forth = {code(target) for target, _ in _pairs(loop.target, loop.iter, turned=False)}
    return {code(target) for target, _ in _pairs(loop.target, loop.iter)} - forth


def sliced(loop: cst.For) -> bool:
    """Whether a loop runs over a part of its layers."""
    return any(isinstance(part, cst.Slice) for part in parts(loop.iter))


def _pairs(
    target: cst.BaseExpression, iterated: cst.BaseExpression, turned: bool = True
) -> list[tuple[cst.BaseExpression, cst.BaseExpression]]:
    """`turned` says whether what stands in `reversed` is among them."""
    match target, iterated:
        case (
            cst.Tuple(elements=[_, cst.Element(value=inner)]),
            cst.Call(func=cst.Name("enumerate"), args=[first, *_]),
        ):
            return _pairs(inner, first.value, turned)
        case _, cst.Call(func=cst.Name("reversed"), args=[first]):
            return _pairs(target, first.value, turned) if turned else []
        case _, cst.Subscript(
            value=owner, slice=[cst.SubscriptElement(slice=cst.Slice())]
        ):
            return _pairs(target, owner, turned)
        case (
            cst.Tuple(elements=targets),
            cst.Call(func=cst.Name("zip"), args=iterables),
        ):
            both = zip(targets, iterables, strict=False)
            return [pair for t, i in both for pair in _pairs(t.value, i.value, turned)]
        case cst.Name(), _:
            return [(target, iterated)]
    return []


def generators(node: Comprehension) -> list[cst.CompFor]:
    """The `for`s of a comprehension, from the outside."""
    found = [node.for_in]
    while found[-1].inner_for_in is not None:
        found.append(found[-1].inner_for_in)
    return found


def made(node: Comprehension) -> list[cst.BaseExpression]:
    """What a comprehension evaluates in each pass of its last `for`, in the order of the text."""
    values = [node.key, node.value] if isinstance(node, cst.DictComp) else [node.elt]
    return [*values, *(i.test for i in generators(node)[-1].ifs)]


def unkeyed(loop: Loop) -> tuple[Loop, str, str]:
    """A loop as it was, its key, and the name of that of a pass; both empty where it has none."""
    match loop.target, loop.iter:
        case cst.Tuple(elements=[own, target]), cst.Call(
            func=cst.Attribute(value=cst.Name("arrays"), attr=cst.Name("keyed")),
            args=[key, iterated],
        ):
            bare = loop.with_changes(target=target.value, iter=iterated.value)
            return bare, code(key.value), code(own.value)
    return loop, "", ""
