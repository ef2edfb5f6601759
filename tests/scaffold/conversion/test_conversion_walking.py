"""Walks, copies and changes of trees, beside those of `ast`, on the sources of the conversion itself."""

from __future__ import annotations

import ast
import copy
from pathlib import Path

import pytest

import mlax_scaffold.conversion
from mlax_scaffold.conversion.source import walking
from mlax_scaffold.conversion.source.walking import cloned, located, walk

ROOM = Path(mlax_scaffold.conversion.__file__).parent
OWN = Path(walking.__file__)
SOURCES = [ROOM / "passes.py", ROOM / "source" / "trees.py", OWN]

AWKWARD = """\
def f[T](a, /, b: int = 1, *args, c=None, **kwargs) -> T: ...
match x:
    case {"a": [1, *rest], **others} | Point(x=0) as p if p: pass
    case None | True: ...
async def g():
    async with a as b, c: return [i async for i in d if await i]
try: raise E from None
except* (A, B) as e: del a[1:2, ::3], b.c
global_ = f"{a!r:>{width}}" if not b else lambda *x, y=2: (yield)
"""


def _trees() -> dict[str, ast.Module]:
    found = {p.name: ast.parse(p.read_text(encoding="utf-8")) for p in SOURCES}
    # Parameters of types are younger than the oldest Python that runs this.
    return found | {"awkward": ast.parse(AWKWARD.replace("[T]", ""))}


@pytest.mark.parametrize("name", _trees())
def test_trees_are_walked_copied_and_located_as_ast_does(name: str) -> None:
    tree = _trees()[name]
    expected = [n for n in ast.walk(tree) if not isinstance(n, ast.expr_context)]
    assert list(walk(tree)) == expected

    copied = cloned(tree)
    assert ast.dump(copied, include_attributes=True) == ast.dump(
        tree, include_attributes=True
    )
    assert not {id(n) for n in walk(copied)} & {id(n) for n in walk(tree)}

    # Every third place is lost.
    for number, node in enumerate(expected):
        if number % 3 == 0:
            for place in ("lineno", "end_lineno", "col_offset", "end_col_offset"):
                node.__dict__.pop(place, None)
    known = ast.fix_missing_locations(copy.deepcopy(tree))
    assert ast.dump(located(tree), include_attributes=True) == ast.dump(
        known, include_attributes=True
    )


class _Changes:
    """Constants are left out of lists, names stand twice in them, and sums are turned."""

    def visit_Constant(self, node: ast.Constant) -> ast.AST | None:
        return None if node.value is Ellipsis else node

    def visit_Expr(self, node: ast.Expr) -> list[ast.AST]:
        return [node, node]

    def visit_Return(self, node: ast.Return) -> None:
        return None

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        self.generic_visit(node)  # type: ignore[attr-defined]
        return ast.BinOp(node.right, node.op, node.left)


class _Own(_Changes, walking.NodeTransformer):
    pass


class _Known(_Changes, ast.NodeTransformer):
    pass


@pytest.mark.parametrize("name", _trees())
def test_trees_are_changed_as_ast_does(name: str) -> None:
    tree = _trees()[name]
    expected = ast.dump(_Known().visit(copy.deepcopy(tree)))
    assert expected != ast.dump(tree)
    assert ast.dump(_Own().visit(tree)) == expected


def test_visitors_see_what_those_of_ast_see() -> None:
    def names(base: type[ast.NodeVisitor]) -> list[str]:
        found: list[str] = []

        class Names(base):
            def visit_Name(self, node: ast.Name) -> None:
                found.append(node.id)

        for tree in _trees().values():
            Names().visit(tree)
        return found

    assert names(walking.NodeVisitor) == names(ast.NodeVisitor)


def test_conversions_use_no_other_walks() -> None:
    slow = ("ast.walk", "ast.fix_missing_locations", "ast.NodeTransformer")
    used = [
        f"{path.relative_to(ROOM)}:{node.lineno}"
        for path in sorted(ROOM.rglob("*.py"))
        if path != OWN
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute)
        and ast.unparse(node) in (*slow, "ast.NodeVisitor", "copy.deepcopy")
    ]
    assert used == []
