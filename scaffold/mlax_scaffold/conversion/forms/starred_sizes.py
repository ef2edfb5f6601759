"""Several sizes, or weights of several layers, that are taken apart, as parts of what they are taken from.

*hidden, last = self.sizes
for size in hidden:                becomes         for size in self.sizes[:-1]:
    x = nn.Dense(size)(x)                              x = nn.Dense(size)(x)
return nn.Dense(last)(x)                           return nn.Dense(self.sizes[-1])(x)
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from mlax_scaffold.conversion.source.arguments_of import method_of
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import (
    expression,
    self_attribute,
    targets,
    with_names,
)
from mlax_scaffold.conversion.source.walking import located, walk


def without_starred_sizes(origin: Origin) -> None:
    """Write them so, in place: of fields of a class, and of what a constructor or a function is given."""
    if not origin.uses("jax"):
        return
    for function in _functions(origin.tree):
        taken = {a.arg for a in [*function.args.posonlyargs, *function.args.args]}
        function.body = [s for p in function.body for s in _apart(p, set(), taken)]
    for node in origin.classes.values():
        start = method_of(node, "__init__")
        fields = {
            p.target.id
            for p in node.body
            if isinstance(p, ast.AnnAssign) and isinstance(p.target, ast.Name)
        }
        given = (
            {a.arg for a in start.args.args[1:]} if start is not None else set[str]()
        )
        for method in node.body:
            if not isinstance(method, ast.FunctionDef):
                continue
            named = given if method is start else set[str]()
            kept = fields if start is None else set[str]()
            for part in walk(method):
                for field in ("body", "orelse"):
                    body = getattr(part, field, None)
                    if isinstance(body, list):
                        made = [s for p in body for s in _apart(p, kept, named)]
                        setattr(part, field, _written(method, made) if kept else made)
    located(origin.tree)


def _functions(node: ast.AST) -> Iterator[ast.FunctionDef]:
    """The functions below a node that are methods of no class."""
    for part in ast.iter_child_nodes(node):
        if isinstance(part, ast.FunctionDef):
            yield part
        if not isinstance(part, ast.ClassDef):
            yield from _functions(part)


def _written(method: ast.FunctionDef, body: list[ast.stmt]) -> list[ast.stmt]:
    """Statements with such parts in the place of names that are bound once."""
    stored = [t for part in method.body for t in targets(part)]
    found: list[ast.stmt] = []
    parts: dict[str, ast.expr] = {}
    for node in body:
        match node:
            case ast.Assign(targets=[ast.Name(id=title)], value=value) if (
                getattr(node, _MARK, False) and stored.count(title) == 1
            ):
                parts[title] = value
            case _:
                found.append(with_names(node, parts) if parts else node)
    if body and not found:
        found.append(ast.Pass())
    return found


_MARK = "of_sizes"
"""What tells such an assignment from others."""


def _apart(node: ast.stmt, fields: set[str], given: set[str]) -> list[ast.stmt]:
    match node:
        case ast.Assign(
            targets=[ast.Tuple(elts=elts) | ast.List(elts=elts)], value=value
        ):
            named = isinstance(value, ast.Name) and value.id in given
        case _:
            return [node]
    starred = [i for i, e in enumerate(elts) if isinstance(e, ast.Starred)]
    if len(starred) != 1 or not (named or self_attribute(value) in fields):
        return [node]
    [at] = starred
    last = at - len(elts) + 1
    made: list[ast.stmt] = []
    for i, place in enumerate(elts):
        if isinstance(place, ast.Starred):
            ends = f"{at or ''}:{last or ''}"
            target, part = place.value, expression(f"v[{ends}]", v=value)
        else:
            target, part = (
                place,
                expression(f"v[{i if i < at else i - len(elts)}]", v=value),
            )
        assign = ast.copy_location(ast.Assign([target], part), node)
        setattr(assign, _MARK, True)
        made.append(assign)
    return made
