"""Finds layers that `setup` makes of a class by another name: of a choice, a partial call, a function."""

from __future__ import annotations

import ast
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from mlax_scaffold.errors import Fix
from mlax_scaffold.model.definition import Import
from mlax_scaffold.model.unparsing import unparsed
from mlax_scaffold.model.walking import walk
from mlax_scaffold.reader.remedies.makers import Makers, bound_once, layers_of
from mlax_scaffold.reader.source import Source


def check_makers(
    source: Source, method: ast.FunctionDef, imports: Mapping[str, Import]
) -> ast.FunctionDef:
    """Report the first such layer of `setup`, with an edit that writes the classes at all of them.

    Returns:
        The method as the edit leaves it, to be read on.
    """
    layers = layers_of(imports)
    bound = bound_once(method, source.tree.body)
    makers = Makers(layers, {name: value for name, (value, _) in bound.items()})
    parents = {c: p for p in walk(method) for c in ast.iter_child_nodes(p)}
    written: dict[ast.Call, ast.expr] = {}
    for call in walk(method):
        if not isinstance(call, ast.Call) or _inside(call, bound, parents):
            continue
        if isinstance(call.func, ast.Name) and call.func.id in layers:
            continue
        made = makers.made(call.func, call.args, call.keywords)
        if made is not None:
            written[call] = made
    if not written:
        return method
    edits = []
    for call, made in written.items():
        text = unparsed(made)
        text = text if '"' in text else text.replace("'", '"')
        alone = isinstance(made, ast.Call) or isinstance(
            parents[call], ast.Assign | ast.ListComp | ast.List | ast.Tuple
        )
        edits.append(source.edit(call, text if alone else f"({text})"))
    read = {part for call in written for part in walk(call.func)}
    unused = _unused(source, method, bound, read)
    for statement in unused:
        begin, end = source.start(statement)[0], source.end(statement)[0]
        edits.append(source.replace((begin, 1), (end + 1, 1), ""))
    first = next(iter(written)).func
    source.report(
        first,
        f"`{unparsed(first)}` makes layers of a class by another name",
        "A declaration names the class: `self.name = Linear(...)`, or one of two, "
        "`A(...) if condition else B(...)`.",
        fix=Fix(tuple(edits)),
    )
    return _Written(written, unused).of(method)


def _unused(
    source: Source,
    method: ast.FunctionDef,
    bound: Mapping[str, tuple[ast.AST, ast.stmt]],
    read: Collection[ast.AST],
) -> set[ast.stmt]:
    """The statements that bind names which nothing else than what is written out reads."""
    own = {*walk(method)}
    unused: set[ast.stmt] = set()
    gone = {*read}
    while True:
        more = set()
        for name, (_, statement) in bound.items():
            place = method if statement in own else source.tree
            uses = {n for n in walk(place) if _reads(n, name)} - {*walk(statement)}
            if uses and uses <= gone and statement not in unused:
                more.add(statement)
        if not more:
            return unused
        unused |= more
        gone |= {part for statement in more for part in walk(statement)}


@dataclass(frozen=True)
class _Written:
    """A copy of a tree with other calls, and without some statements: nobody changes that of a text."""

    calls: Mapping[ast.Call, ast.expr]
    unused: Collection[ast.stmt]

    def of(self, node: Any) -> Any:
        if isinstance(node, list):
            return [self.of(part) for part in node if part not in self.unused]
        if not isinstance(node, ast.AST):
            return node
        if isinstance(node, ast.Call) and node in self.calls:
            made = ast.parse(unparsed(self.calls[node]), mode="eval").body
            for part in ast.walk(made):
                ast.copy_location(part, node)
            return made
        made = type(node)(**{name: self.of(v) for name, v in ast.iter_fields(node)})
        return ast.copy_location(made, node)


def _inside(
    node: ast.AST,
    bound: Mapping[str, tuple[ast.AST, ast.stmt]],
    parents: Mapping[ast.AST, ast.AST],
) -> bool:
    """Whether it stands in what a name stands for."""
    statements = {statement for _, statement in bound.values()}
    while node in parents:
        node = parents[node]
        if node in statements and not isinstance(node, ast.If):
            return True
    return False


def _reads(node: ast.AST, name: str) -> bool:
    return (
        isinstance(node, ast.Name)
        and node.id == name
        and isinstance(node.ctx, ast.Load)
    )
