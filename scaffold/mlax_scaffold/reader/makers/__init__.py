"""What functions declare that `setup` calls, written where it calls them: it is read as one text.

A function beside the class or in `setup`, a lambda, `functools.partial` of a layer and a method of one's own
may make weights, states and layers. A method or a property that computes from fields is a local of `setup`.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator

from mlax_scaffold.model.resolved import Resolved
from mlax_scaffold.model.unparsing import unparsed
from mlax_scaffold.model.walking import walk
from mlax_scaffold.reader.imports import BASES
from mlax_scaffold.reader.kinds import ROLES, SPECIAL
from mlax_scaffold.reader.makers.changes import Change, Setup
from mlax_scaffold.reader.makers.functions import Maker, makers_of
from mlax_scaffold.reader.remedies.bindings import target_name
from mlax_scaffold.reader.source import Source, dotted, parsed

_MOST = 200
"""How many calls are written out: more come of functions that call each other."""


def written_out(source: Source, layers: Collection[str]) -> Source:
    """The source with what functions declare in `setup`, itself where they declare nothing.

    Args:
        source: with what it inherits in it.
        layers: the names of what is declared by a call: layers, and the words for arrays.
    """
    before = source.resolved
    lines = [
        (line, before.number(i) if before else i)
        for i, line in enumerate(source.text.split("\n"), 1)
    ]
    made = lines
    for _ in range(_MOST):
        tree = parsed("\n".join(text for text, _ in made))
        change = next(_changes(tree, layers), None)
        if change is None:
            break
        made = change.applied(made)
    tree = parsed("\n".join(text for text, _ in made))
    for decorator in _cached(tree):
        text, number = made[decorator.lineno - 1]
        written = text.replace(unparsed(decorator), "property")
        made = [*made]
        made[decorator.lineno - 1] = written, -abs(number)
    if made is lines:
        return source
    while True:
        text = "\n".join(text for text, _ in made)
        left = next(_left_over(parsed(text), layers), None)
        if left is None:
            break
        start, end = left
        made[start - 1 : end] = [("", number) for _, number in made[start - 1 : end]]
    numbers = tuple(number for _, number in made)
    return Source(source.path, source.written, resolved=Resolved(text, (), numbers))


def _classes(tree: ast.Module) -> Iterator[tuple[ast.ClassDef, ast.FunctionDef]]:
    """The classes of specs, with each method that declares."""
    for node in tree.body:
        if not isinstance(node, ast.ClassDef) or len(node.bases) != 1:
            continue
        kind = BASES.get(unparsed(node.bases[0]))
        declaring = {} if kind is None else ROLES.get(kind, {})
        for method in node.body:
            if isinstance(method, ast.FunctionDef) and method.name in declaring:
                yield node, method


def _cached(tree: ast.Module) -> Iterator[ast.expr]:
    """Decorators of properties that are computed once: so are all that `setup` computes."""
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            for method in node.body:
                for decorator in getattr(method, "decorator_list", []):
                    if (dotted(decorator) or "").split(".")[-1] == "cached_property":
                        yield decorator


def _makers(
    tree: ast.Module,
    node: ast.ClassDef,
    setup: ast.FunctionDef,
    layers: Collection[str],
) -> tuple[dict[str, Maker], dict[str, Maker]]:
    declaring, computing = makers_of(tree, node, setup, layers)
    kind = BASES[unparsed(node.bases[0])]
    special = {f"self.{n}" for n in SPECIAL[kind]}
    # Those of an optimizer, or a schedule, are there before its `setup` runs.
    computing = computing if kind.is_layer else {}
    return (
        {n: m for n, m in declaring.items() if n not in special},
        {n: m for n, m in computing.items() if n not in special},
    )


def _changes(tree: ast.Module, layers: Collection[str]) -> Iterator[Change]:
    for node, setup in _classes(tree):
        declaring, computing = _makers(tree, node, setup, layers)
        if (
            declaring
            or computing
            or any(isinstance(n, ast.Dict | ast.IfExp) for n in walk(setup))
        ):
            yield from Setup(node, setup, layers, declaring, computing).changes()


def _left_over(tree: ast.Module, layers: Collection[str]) -> Iterator[tuple[int, int]]:
    """The lines of functions that nothing calls any more."""
    for node, setup in _classes(tree):
        declaring, computing = _makers(tree, node, setup, layers)
        for maker in (*declaring.values(), *computing.values()):
            private = maker.name.startswith("self._") or maker.name in declaring
            scope = node if maker.is_method else setup if maker.local else tree
            own = {id(n) for n in walk(maker.statement)}
            uses = [
                n
                for n in walk(scope)
                if id(n) not in own and target_name(n) == maker.name
            ]
            if private and not uses:
                decorators = getattr(maker.statement, "decorator_list", [])
                start = min([maker.statement.lineno, *(d.lineno for d in decorators)])
                yield start, maker.statement.end_lineno or maker.statement.lineno
