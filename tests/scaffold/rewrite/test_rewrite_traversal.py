"""Our visitors do what libcst's do, on syntax of every kind."""

from __future__ import annotations

from typing import Any

import libcst as cst
import pytest

from mlax_scaffold.reader.files import LIBRARY_SPECS
from mlax_scaffold.rewrite.traversal import Transformer, Visitor, children

KINDS = '''\
"""A module."""
import a.b as c, d  # two
from . import (e as f, g,)

@decorated(1)
class C(Base, *more, key=1):
    x: int = 3; y: "str"; z = f"{x}"

    async def f(self, a, /, b: int = 1, *rest: int, c, d=2, **others) -> None:
        async with open(a) as b, c: pass
        async for x, (y, *z) in w: await x
        else: pass
        return (yield)

def g(*, a):
    # a comment
    global b
    try:
        assert a, "why"
    except (A, B) as error:
        raise error from None
    except C: pass
    else:
        del a[1:2, ::3], b.c
    finally:
        x = y = not -a ** 2 if a < b <= c else lambda p, *q, r=1, **s: (p, *q)
    while (n := a()) and b or c:
        x += f"{a!r:>{w}} {{}}" "b" f'{c}'
        break
    for i in [*a, {**b, 1: 2}, {3, *c}]: continue
    match a:
        case {"k": [1, *_], **rest} | C(1, x=y) if z:
            return (i for i in j if k for l in m)
        case _: print(a[0], *b, k=1, **c,) ; return
    if a: ...
    elif b: x = [i async for i in j]; y = {k: v for k, v in z}
    else: return 1, 2.5, 3j, ..., {i for i in j}, await a, (yield from b)
'''


def nodes(node: cst.CSTNode) -> list[cst.CSTNode]:
    return [node, *(below for child in children(node) for below in nodes(child))]


class Noted(cst.CSTVisitor):
    def __init__(self) -> None:
        self.found: list[cst.CSTNode] = []

    def on_visit(self, node: cst.CSTNode) -> bool:
        self.found.append(node)
        return True


def test_nodes_come_in_the_order_of_the_text() -> None:
    specs = sorted((LIBRARY_SPECS / "block").glob("*.py"))
    for text in [KINDS, *(place.read_text() for place in specs)]:
        noted = Noted()
        tree = cst.parse_module(text)
        tree.visit(noted)
        assert list(map(id, nodes(tree))) == list(map(id, noted.found))


class Changes:
    """Removes, replaces by several, and changes; notes what it comes by."""

    seen: list[str]

    def visit_Name(self, node: cst.Name) -> None:
        self.seen.append(f"+{node.value}")

    def visit_Lambda(self, node: cst.Lambda) -> bool:
        return False

    def leave_Name(self, original_node: cst.Name, updated_node: cst.Name) -> cst.Name:
        self.seen.append(f"-{original_node.value}")
        if updated_node.value in "abc":
            return updated_node.with_changes(value=2 * updated_node.value)
        return updated_node

    def leave_Pass(self, original_node: cst.Pass, updated_node: cst.Pass) -> Any:
        return cst.RemoveFromParent()

    def leave_Del(self, original_node: cst.Del, updated_node: cst.Del) -> Any:
        return cst.FlattenSentinel([cst.Break(), cst.Continue()])

    def leave_Comment(self, original_node: Any, updated_node: Any) -> Any:
        return cst.RemoveFromParent()

    def leave_Semicolon(self, original_node: Any, updated_node: Any) -> Any:
        return cst.RemoveFromParent()

    def leave_AugAssign(self, original_node: Any, updated_node: Any) -> Any:
        return cst.RemoveFromParent()


class Ours(Changes, Transformer):
    def __init__(self) -> None:
        super().__init__()
        self.seen = []


class Theirs(Changes, cst.CSTTransformer):
    def __init__(self) -> None:
        super().__init__()
        self.seen = []


def test_changes_are_those_of_libcst() -> None:
    tree = cst.parse_module(KINDS)
    ours, theirs = Ours(), Theirs()
    made, expected = tree.visit(ours), tree.visit(theirs)
    assert isinstance(made, cst.Module)
    assert isinstance(expected, cst.Module)
    assert made.code == expected.code != KINDS
    assert ours.seen == theirs.seen
    assert made.deep_equals(expected)


def test_what_no_method_changes_is_the_same_object() -> None:
    class Nothing(Transformer):
        def leave_Name(
            self, original_node: cst.Name, updated_node: cst.Name
        ) -> cst.Name:
            return updated_node

    tree = cst.parse_module(KINDS)
    assert tree.visit(Nothing()) is tree


@pytest.mark.parametrize(
    "made", [cst.RemoveFromParent(), cst.FlattenSentinel([cst.Name("a")])]
)
def test_what_has_to_be_one_node_is_one(made: Any) -> None:
    class Drop(Transformer):
        def leave_Name(self, original_node: cst.Name, updated_node: cst.Name) -> Any:
            return made

    with pytest.raises(TypeError, match="func of Call has to be one node"):
        cst.parse_module("f()").visit(Drop())


def test_a_visitor_looks_only_where_it_may() -> None:
    found: list[str] = []

    class Names(Visitor):
        def visit_Name(self, node: cst.Name) -> None:
            found.append(node.value)

        def visit_Attribute(self, node: cst.Attribute) -> bool:
            node.value.visit(self)
            return False

        def leave_Call(self, original_node: cst.Call) -> None:
            found.append("()")

    cst.parse_module("f(a.b.c, g(d.e))").visit(Names())
    assert found == ["f", "a", "g", "d", "()", "()"]
