"""Choices that the generator writes as branches, said in one expression again."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence


def with_choices(text: str) -> str:
    """A function in which `if c: return a` before `return b` is `return a if c else b`.

    So are both sides of a branch that assign one local. What holds a comment is left, for it has no
    place in an expression; so is all, where nothing is such a branch.
    """
    lines = text.splitlines(keepends=True)
    found = list(_choices(ast.parse(text), lines))
    for first, last, said in sorted(found, reverse=True):
        line = lines[first - 1]
        margin = line[: len(line) - len(line.lstrip())]
        lines[first - 1 : last] = [f"{margin}{said}\n"]
    return "".join(lines)


def _choices(tree: ast.AST, lines: Sequence[str]) -> Iterator[tuple[int, int, str]]:
    """The lines of each such branch, and the statement that says the same."""
    for node in ast.walk(tree):
        for name in ("body", "orelse"):
            block = getattr(node, name, None)
            if isinstance(block, list) and block:
                yield from _of_block(block, lines)


def _of_block(
    block: Sequence[ast.stmt], lines: Sequence[str]
) -> Iterator[tuple[int, int, str]]:
    for one, two in zip(block, [*block[1:], None], strict=True):
        match one, two:
            case (
                ast.If(
                    test=test, body=[ast.Return(value=ast.expr() as yes)], orelse=[]
                ),
                ast.Return(value=ast.expr() as no),
            ):
                end, start = two, "return "
            case (
                ast.If(
                    test=test,
                    body=[ast.Assign(targets=[ast.Name(id=name)], value=yes)],
                    orelse=[ast.Assign(targets=[ast.Name(id=other)], value=no)],
                ),
                _,
            ) if name == other:
                end, start = one, f"{name} = "
            case _:
                continue
        last = end.end_lineno or one.lineno
        if not any("#" in line for line in lines[one.lineno - 1 : last]):
            chosen = ast.IfExp(test=test, body=yes, orelse=no)
            yield one.lineno, last, start + ast.unparse(chosen)
