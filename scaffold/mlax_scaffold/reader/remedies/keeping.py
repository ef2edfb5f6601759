"""Layers that a method is given, or that a name is one of, in a dictionary, of which it is a place."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Mapping
from types import MappingProxyType

from mlax_scaffold.errors import Fix
from mlax_scaffold.model.conditions import ways
from mlax_scaffold.reader.axes.places import bound_by, place_of
from mlax_scaffold.reader.remedies.names import uses_of_self
from mlax_scaffold.reader.source import Source, self_attribute


def in_dictionary(source: Source, layer: ast.AST, parent: ast.AST | None) -> Fix | None:
    """`self.block(self.a, x)`, as `self.layers["a"]`, of which `setup` makes each layer, or list of layers.

    Where another one stands deeper, as in lists of lists, it stands in a list: `self.layers["a"][0]`.
    None where one of those that the method is given for it is declared by more than a statement.
    """
    if not isinstance(parent, ast.Call) or not isinstance(layer, ast.expr):
        return None
    if not _is_place(layer):
        return None
    if layer not in parent.args:
        return None
    place = parent.args.index(layer)
    # What `setup` calls is written out in the text that is read, and not in that which is edited.
    source = Source(source.path, source.written)
    called = self_attribute(parent.func)
    owner = next((c for c in _classes(source) if _is_method(c, called)), None)
    if owner is None:
        return None
    given = [
        call.args[place]
        for call in ast.walk(owner)
        if isinstance(call, ast.Call)
        and self_attribute(call.func) == called
        and len(call.args) > place
    ]
    roots = {_root(owner, g) for g in given}
    names = {name for name, _ in roots}
    if len(roots) > len(names):
        return None
    deepest = max(depth for _, depth in roots)
    lists = {name: deepest - depth for name, depth in roots}
    return _kept(source, owner, names, f"{called}_layers", lists)


def _is_place(node: ast.AST) -> bool:
    while isinstance(node, ast.Subscript):
        node = node.value
    return isinstance(node, ast.Attribute)


def _root(owner: ast.ClassDef, given: ast.expr) -> tuple[str | None, int]:
    """The attribute that a layer stands in, as of `self.a[0]` and what loops over it bind, and how deep."""
    places: dict[str, ast.expr] = {}
    for node in ast.walk(owner):
        match node:
            case ast.For() | ast.comprehension() if given in _names_under(node, owner):
                places |= bound_by(node.target, node.iter, places)
    place, depth = place_of(given, places), 0
    while isinstance(place, ast.Subscript):
        place, depth = place.value, depth + 1
    return place and self_attribute(place), depth


def _names_under(
    loop: ast.For | ast.comprehension, owner: ast.ClassDef
) -> Iterator[ast.AST]:
    """What stands in a loop, or in the comprehension that a part of one belongs to."""
    if isinstance(loop, ast.For):
        yield from ast.walk(loop)
        return
    for node in ast.walk(owner):
        if loop in getattr(node, "generators", ()):
            yield from ast.walk(node)


def chosen_in_dictionary(
    source: Source, layer: ast.AST, method: ast.FunctionDef
) -> Fix | None:
    """`layer = self.a if self.first else self.b`, as `self.layers["a"]`, likewise.

    None where the name may be anything else than a layer.
    """
    if not isinstance(layer, ast.Attribute):
        return None
    source = Source(source.path, source.written)
    for owner in _classes(source):
        for own in _methods(owner, method.name):
            names = [n for n, values in _chosen(own) if _stands(values, layer)]
            if names:
                layers = _together(owner, {layer.attr})
                other = f"{names[0].rpartition(' ')[2]}_layers"
                roots = {*map(self_attribute, layers)}
                return _kept(source, owner, roots, other) if layers else None
    return None


def _together(owner: ast.ClassDef, names: set[str]) -> list[ast.expr]:
    """The layers that stand for one name of a class with these; nothing where that may be anything else."""
    layers: list[ast.expr] = []
    before: set[str] = set()
    while before != names:
        before = {*names}
        for method in owner.body:
            if not isinstance(method, ast.FunctionDef) or method.name == "setup":
                continue
            for name, values in _chosen(method):
                known = [self_attribute(v) for v in values]
                if names.intersection(filter(None, known)):
                    if None in known or not _is_assigned(method, name):
                        return []
                    layers += values
                    names.update(filter(None, known))
    return layers


def _chosen(method: ast.FunctionDef) -> list[tuple[str, list[ast.expr]]]:
    """The names that a method assigns to, with all that each may be, and what each loop chooses."""
    found: dict[str, list[ast.expr]] = {}
    for node in ast.walk(method):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                found.setdefault(name, []).extend(w.value for w in ways(value, ()))
            case (
                ast.For(iter=ast.IfExp() as chosen)
                | ast.comprehension(iter=ast.IfExp() as chosen)
            ):
                found[f"{len(found)} chosen"] = [w.value for w in ways(chosen, ())]
    return [*found.items()]


def _is_assigned(method: ast.FunctionDef, name: str) -> bool:
    """Whether nothing but assignments binds a name."""
    nodes = [*ast.walk(method)]
    stores = [
        n
        for n in nodes
        if isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Store)
    ]
    targets = [t for n in nodes if isinstance(n, ast.Assign) for t in n.targets]
    given = any(isinstance(n, ast.arg) and n.arg == name for n in nodes)
    return not given and all(s in targets for s in stores)


def _stands(values: Collection[ast.expr], layer: ast.Attribute) -> bool:
    return any(
        self_attribute(v) == layer.attr and v.lineno == layer.lineno for v in values
    )


def _kept(
    source: Source,
    owner: ast.ClassDef,
    names: Collection[str | None],
    other: str,
    lists: Mapping[str | None, int] = MappingProxyType({}),
) -> Fix | None:
    """These layers of a class in a dictionary, that of the name `other` where one has the usual name.

    Each stands there in so many lists of one element as `lists` says.
    """
    setup = next(_methods(owner, "setup"), None)
    made = [s for s in setup.body if _declares(s) in names] if setup else []
    if None in names or len(made) != len(names):
        return None
    taken = {n.attr for n in ast.walk(owner) if isinstance(n, ast.Attribute)}
    held = next(n for n in ("layers", other, "all_layers") if n not in taken)
    first = min(made, key=lambda s: s.lineno)
    edits = [source.insert(first, f"self.{held} = {{}}\n{' ' * first.col_offset}")]
    for name in sorted(filter(None, names)):
        for use in uses_of_self(owner, name):
            first_of = "[0]" * lists.get(name, 0) * isinstance(use.ctx, ast.Load)
            edits.append(source.edit(use, f'self.{held}["{name}"]{first_of}'))
    for statement in made:
        count = lists.get(_declares(statement), 0)
        value = getattr(statement, "value", None)
        if count and value is not None:
            start, end = source.start(value), source.end(value)
            edits.append(source.replace(start, start, "[" * count))
            edits.append(source.replace(end, end, "]" * count))
    return Fix(tuple(edits), written=True)


def _classes(source: Source) -> list[ast.ClassDef]:
    return [n for n in ast.walk(source.tree) if isinstance(n, ast.ClassDef)]


def _methods(owner: ast.ClassDef, name: str | None) -> Iterator[ast.FunctionDef]:
    for statement in owner.body:
        if isinstance(statement, ast.FunctionDef) and statement.name == name:
            yield statement


def _is_method(owner: ast.ClassDef, name: str | None) -> bool:
    return any(_methods(owner, name))


def _declares(statement: ast.stmt) -> str | None:
    """The attribute that a statement declares as a layer, or as a container of layers."""
    match statement:
        case ast.Assign(
            targets=[target],
            value=ast.Call() | ast.List() | ast.ListComp() | ast.Tuple() | ast.Dict(),
        ):
            return self_attribute(target)
    return None
