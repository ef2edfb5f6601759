"""The cases of leaves that conditions tell apart, with what their locals are."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from mlax_scaffold.model.walking import walk
from mlax_scaffold.reader.source import Source, dotted

NOTHING = "(0,)"
"""The shape of what a leaf has none of."""


@dataclass(frozen=True)
class Case:
    """What a chain of conditions does in one of its cases."""

    test: ast.expr | None
    """None for what is left."""
    body: Sequence[ast.stmt]
    local: dict[str, str]
    """What the locals of this case are, in terms of what is known before."""


def cases_of(statement: ast.If) -> Iterator[Case]:
    """The cases of `if`, `elif` and `else`; the last is what is left."""
    yield Case(statement.test, statement.body, {})
    match statement.orelse:
        case [ast.If() as other]:
            yield from cases_of(other)
        case rest:
            yield Case(None, rest, {})


def values_of(part: ast.stmt, local: Mapping[str, str]) -> dict[str, str] | None:
    """What the locals of `n, m = param.shape`, or of `n = param.shape[0]`, are.

    None for other statements, and for a local that is a moment. `local` are those of before.
    """
    match part:
        case ast.Assign(targets=[ast.Name(id=name)], value=value):
            parts = {name: value}
        case ast.Assign(
            targets=[ast.Tuple(elts=names)], value=ast.Tuple(elts=values)
        ) if len(names) == len(values):
            parts = dict(zip(map(ast.unparse, names), values, strict=True))
        case ast.Assign(targets=[ast.Tuple(elts=names)], value=value):
            whole = ast.unparse(value)
            items = [f"({whole})[{place}]" for place in range(len(names))]
            values = [ast.parse(item, mode="eval").body for item in items]
            parts = dict(zip(map(ast.unparse, names), values, strict=True))
        case _:
            return None
    called = (
        n.func for v in parts.values() for n in ast.walk(v) if isinstance(n, ast.Call)
    )
    if not all(map(str.isidentifier, parts)) or "moment" in map(dotted, called):
        return None
    return {
        n: ast.unparse(Written(local).visit(ast.parse(ast.unparse(v), mode="eval")))
        for n, v in parts.items()
    }


def text_with(source: Source, node: ast.expr, local: Mapping[str, str]) -> str:
    """The text of a shape or an initializer, without what its branch calls its sizes."""
    text = source.text_of(node)
    if not any(isinstance(n, ast.Name) and n.id in local for n in ast.walk(node)):
        return text
    return ast.unparse(Written(local).visit(ast.parse(text, mode="eval")))


class Written(ast.NodeTransformer):
    """Writes what locals are in their places."""

    def __init__(self, local: Mapping[str, str]) -> None:
        self.local = local

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id not in self.local:
            return node
        return ast.parse(self.local[node.id], mode="eval").body


def chosen_text(
    source: Source,
    branches: Sequence[Case],
    texts: Mapping[int, str],
    nothing: str = NOTHING,
) -> str:
    """What the conditions choose; `nothing` in the cases that say nothing."""
    *tested, left = [texts.get(place, nothing) for place in range(len(branches))]
    for branch, text in zip(reversed(branches[:-1]), reversed(tested), strict=True):
        if text == left or branch.test is None:
            continue
        choice = isinstance(ast.parse(text, mode="eval").body, ast.IfExp | ast.Lambda)
        yes = f"({text})" if choice else text
        left = f"{yes} if {source.text_of(branch.test)} else {left}"
    return left


def kept_locals(
    source: Source, statement: ast.If, branches: Sequence[Case]
) -> list[str] | None:
    """The lines that give locals which are read afterwards the values that the conditions choose.

    None where one has no value in some case, or is read by the line of another.
    """
    methods = [n for n in walk(source.tree) if isinstance(n, ast.FunctionDef)]
    around = [m for m in methods if any(n is statement for n in walk(m))]
    names = [n for m in around[-1:] for n in walk(m) if isinstance(n, ast.Name)]
    last = statement.end_lineno or statement.lineno
    after = [s for m in around[-1:] for s in m.body if s.lineno > last]
    later = {name for s in after for name in _needed(s)}
    earlier = {
        n.id
        for n in names
        if n.lineno < statement.lineno and isinstance(n.ctx, ast.Store)
    }
    own = sorted({name for b in branches for name in b.local} & later)
    lines = []
    for place, name in enumerate(own):
        known = {i: b.local[name] for i, b in enumerate(branches) if name in b.local}
        if len(known) < len(branches) and name not in earlier:
            return None
        text = chosen_text(source, branches, known, name)
        read = {n.id for n in ast.walk(ast.parse(text)) if isinstance(n, ast.Name)}
        if read & {*own[:place]}:
            return None
        lines.append(f"{name} = {text}")
    return lines


def _needed(statement: ast.stmt) -> set[str]:
    """The names that a statement reads before it binds them, if it does."""
    order: dict[str, ast.expr_context] = {}

    def visit(node: ast.AST) -> None:
        parts = [*ast.iter_child_nodes(node)]
        for part in reversed(parts) if isinstance(node, ast.Assign) else parts:
            visit(part)
        if isinstance(node, ast.Name):
            order.setdefault(node.id, node.ctx)

    visit(statement)
    return {name for name, context in order.items() if isinstance(context, ast.Load)}


def binds_local(statement: ast.If, branches: Sequence[Case]) -> bool:
    """Whether something inside of an expression has the name of a local that is written out."""
    local = {name for branch in branches for name in branch.local}
    return any(
        (
            isinstance(n, ast.comprehension)
            and any(
                isinstance(t, ast.Name) and t.id in local for t in ast.walk(n.target)
            )
        )
        or (isinstance(n, ast.arg) and n.arg in local)
        for n in ast.walk(statement)
    )
